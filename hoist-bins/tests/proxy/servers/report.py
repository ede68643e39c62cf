"""Answers its first line with what it was started with: arguments, folder, environment."""
import json
import os
import signal
import sys

signal.alarm(120)
sys.stdin.readline()
print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]), flush=True)
