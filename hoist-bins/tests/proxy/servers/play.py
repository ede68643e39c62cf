"""Plays a script as a server on standard input and output.

    python3 play.py STEPS GOT

STEPS is a file with one step a line: a JSON array of a word and its arguments. Bytes are given as
text, a character for each byte. Every byte that is read is added to the file GOT before the next
step is taken. After the last step the server reads to the end of its input and exits with 0.
"""
import fcntl
import json
import os
import select
import signal
import struct
import sys
import termios
import time


class Player:
    def __init__(self, got):
        self.got = os.open(got, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.unread = bytearray()
        self.over = False

    def fill(self):
        data = os.read(0, 1 << 20)
        self.over = not data
        if data:
            os.write(self.got, data)
            self.unread += data

    def step_read(self, lines):
        """Waits for so many lines; the end of the input ends the last one."""
        start = 0
        for _ in range(lines):
            seen = start
            while (at := self.unread.find(b"\n", seen)) < 0:
                if self.over:
                    self.unread.clear()
                    return
                seen = len(self.unread)
                self.fill()
            start = at + 1
        del self.unread[:start]

    def step_drain(self):
        """Waits for the end of the input."""
        while not self.over:
            self.fill()
            self.unread.clear()

    def step_write(self, text):
        data = memoryview(text.encode("latin-1"))
        while data:
            data = data[os.write(1, data):]

    def step_drip(self, text):
        """Writes byte after byte, each once the one before has been read."""
        for byte in text.encode("latin-1"):
            os.write(1, bytes([byte]))
            while struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD, b"\0" * 4))[0]:
                os.sched_yield()

    def step_flood(self, before, fill, count, after):
        """Writes one long stretch of the same character."""
        self.step_write(before)
        block = fill * (1 << 20)
        while count > 0:
            self.step_write(block[:count])
            count -= len(block)
        self.step_write(after)

    def step_complain(self, text):
        """Writes to standard error."""
        data = memoryview(text.encode("latin-1"))
        while data:
            data = data[os.write(2, data):]

    def step_close_input(self):
        os.close(0)

    def step_close_output(self):
        os.close(1)

    def step_write_until_stuck(self, path, text, most):
        """Writes the text again and again, and notes how often once nobody takes more of it."""
        data, count = text.encode("latin-1"), 0
        while count < most and select.select([], [1], [], 0.5)[1]:
            os.write(1, data)
            count += 1
        self.step_note(path, "written %d" % count)
        while count < most:
            self.step_write(text)
            count += 1

    def step_note_parent(self, path):
        """Notes the most memory that the parent ever had, in KiB."""
        with open("/proc/%d/status" % os.getppid(), encoding="ascii") as status:
            peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
        self.step_note(path, "parent " + peak)

    def step_note(self, path, text):
        """Adds a line to a file; `{pid}` in it stands for this process."""
        note = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(note, (text.replace("{pid}", str(os.getpid())) + "\n").encode())
        os.close(note)

    def step_ignore(self, *names):
        """Ignores these signals from now on."""
        for name in names:
            signal.signal(getattr(signal, name), signal.SIG_IGN)

    def step_obey(self, name, path, code):
        """Notes this signal when it comes, and exits with this code."""
        def obey(_number, _frame):
            self.step_note(path, name)
            os._exit(code)
        signal.signal(getattr(signal, name), obey)

    def step_fork(self, *steps):
        """Starts another process that plays steps of its own and then waits to be ended."""
        if os.fork() == 0:
            signal.alarm(LONGEST_S)
            for word, *arguments in steps:
                getattr(self, "step_" + word)(*arguments)
            self.step_linger()

    def step_fill_stderr(self, path):
        """Writes to standard error until it takes no more, and notes that."""
        while select.select([], [2], [], 0)[1]:
            os.write(2, b"x" * 4096)
        self.step_note(path, "stderr is full")

    def step_leave_group(self):
        """Leaves the process group it was started in."""
        os.setsid()

    def step_dawdle(self, seconds):
        """Takes its time."""
        time.sleep(seconds)

    def step_linger(self):
        """Neither reads nor writes again, until it is ended."""
        while True:
            signal.pause()

    def step_die(self, name):
        """Ends this process by a signal."""
        os.kill(os.getpid(), getattr(signal, name))
        self.step_linger()

    def step_exit(self, code):
        os._exit(code)


# What a test that failed has left running ends by itself.
LONGEST_S = 120

if __name__ == "__main__":
    signal.alarm(LONGEST_S)
    player = Player(sys.argv[2])
    with open(sys.argv[1], encoding="utf-8") as steps:
        script = [json.loads(line) for line in steps]
    for word, *arguments in script:
        getattr(player, "step_" + word)(*arguments)
    player.step_drain()
    os._exit(0)
