"""Sends back what it reads, as it comes.

    python3 echo.py SEED

The writes are cut in places that depend on the seed alone.
"""
import os
import signal
import sys

signal.alarm(120)
state = int(sys.argv[1])
while data := os.read(0, 1 << 16):
    while data:
        # A generator of our own: loading Python's takes longer than all the rest.
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        cut = (1, 3, 50, 1000, 1 << 16)[(state >> 33) % 5]
        data = data[os.write(1, data[:cut]):]
