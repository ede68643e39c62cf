"""A host that a test can kill: starts a command with pipes, calls it once, and waits to be ended.

    python3 host.py NOTES COMMAND...
"""
import os
import signal
import subprocess
import sys

signal.alarm(120)
NOTES, COMMAND = sys.argv[1], sys.argv[2:]


def note(text):
    with open(NOTES, "a", encoding="utf-8") as notes:
        notes.write(text + "\n")


note("host %d" % os.getpid())
child = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
note("proxy %d" % child.pid)
child.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}\n')
child.stdin.flush()
note("answer %s" % child.stdout.readline().decode().strip())
while True:
    signal.pause()
