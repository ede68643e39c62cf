#!/usr/bin/env python3
"""Runs fault cases against the built proxy, each in four ways.

    python3 .ci/cases.py CASES-FOLDER BINARIES-FOLDER [NAME...]

CASES-FOLDER holds scripts c01_*.py ...: `python3 cNN_name.py PATH-OF-PROXY` exits with 0 when the
proxy behaves rightly. BINARIES-FOLDER is Cargo's: hoist-mcp, and examples/hoist-mcp-acting.

The four ways:
  passive    hoist-mcp as it is
  recorded   through a wrapper that adds --record, relays every byte, and afterwards compares each
             line that crossed with the log: all there, exact, in order
  acting     hoist-mcp with a layer that acts on every request and passes it on; it must say that it
             acted
  control    a script that only starts the server: must fail the comparison with the log
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

CASES = ["c01", "c02", "c03", "c04", "c05", "c12", "c13", "c14"]
TIMEOUT_S = 40


def relay(source, sink, kept):
    """Copies bytes from one descriptor to another and keeps them; returns at the end."""
    while True:
        try:
            data = os.read(source, 65536)
        except OSError:
            break
        if not data:
            break
        kept += data
        try:
            while data:
                data = data[os.write(sink, data):]
        except OSError:
            break
    try:
        os.close(sink)
    except OSError:
        pass


def logged(folder, side):
    """The lines of one side as the logs in a folder have them: exact bytes, or lossy text."""
    lines = []
    for path in sorted(pathlib.Path(folder).glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n")[1:]:
            if not line:
                continue
            entry = json.loads(line)
            if entry["from"] != side:
                continue
            if "raw" in entry:
                lines.append(("raw", entry["raw"]))
            else:
                start = line.index(b'"message":') + len(b'"message":')
                lines.append(("message", line[start:-1]))
    return lines


def compare(wire, entries, cut):
    """What is wrong with the log of one side, or None. `cut`: the end may be missing on the wire
    (a proxy that was told to stop may have read more than it passed on, and the other way round)."""
    lines = bytes(wire).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    lines = [l[:-1] if l.endswith(b"\r") else l for l in lines]
    if len(lines) != len(entries) and not cut:
        return "%d lines crossed, %d are in the log" % (len(lines), len(entries))
    for n, (line, (kind, text)) in enumerate(zip(lines, entries), 1):
        if kind == "message" and line.strip(b" \t") != text.strip(b" \t"):
            return "line %d is not exact in the log" % n
        if kind == "raw" and line.decode("utf-8", "replace") != text:
            return "line %d (raw) is not exact in the log" % n
    return None


def wrapper(proxy, verdict, args):
    """Plays the proxy for one case: adds --record, relays, and writes what the log lacks."""
    at = args.index("--")
    given = "--record" in args[:at]
    folder = args[args.index("--record") + 1] if given else tempfile.mkdtemp(prefix="hoist-case-")
    command = [proxy] + args if given else [proxy, "--record", folder] + args
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    told = []

    def pass_on(number, _frame):
        told.append(number)
        child.send_signal(number)

    signal.signal(signal.SIGTERM, pass_on)
    signal.signal(signal.SIGINT, pass_on)
    sent, received = bytearray(), bytearray()
    # The descriptors themselves: a buffered file would keep bytes back.
    into, out = os.dup(child.stdin.fileno()), child.stdout.fileno()
    child.stdin.close()
    threading.Thread(target=relay, args=(0, into, sent), daemon=True).start()
    back = threading.Thread(target=relay, args=(out, 1, received), daemon=True)
    back.start()
    status = child.wait()
    back.join(5)
    problem = None
    if not list(pathlib.Path(folder).glob("*.jsonl")):
        problem = "there is no log"
    else:
        problem = compare(received, logged(folder, "server"), bool(told))
        # What the host still sent while the server was ending need not have been read.
        client = logged(folder, "client")
        problem = problem or compare(sent, client, bool(told) or status != 0)
    with open(verdict, "a") as f:
        f.write((problem or "ok") + "\n")
    os._exit(status if status >= 0 else 128 - status)


def script(folder, name, text):
    path = pathlib.Path(folder, name)
    path.write_text(text)
    path.chmod(0o700)
    return str(path)


def run(case, proxy):
    try:
        done = subprocess.run([sys.executable, str(case), proxy], capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        return done.returncode, done.stdout.strip()
    except subprocess.TimeoutExpired:
        return 1, "no end within %d s" % TIMEOUT_S


def main():
    cases, binaries, only = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    hoist, acting = binaries / "hoist-mcp", binaries / "examples" / "hoist-mcp-acting"
    failed = 0
    passed = 0
    with tempfile.TemporaryDirectory(prefix="hoist-cases-") as tmp:
        bare = script(tmp, "bare", '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
        for name in only or CASES:
            case = next(pathlib.Path(cases).glob(name + "*.py"), None)
            if case is None:
                print("FAIL %s: no such case" % name)
                failed += 1
                continue
            for way in ("passive", "recorded", "acting", "control"):
                verdict = pathlib.Path(tmp, "verdict-%s-%s" % (name, way))
                verdict.write_text("")
                counted = pathlib.Path(tmp, "acted-%s-%s" % (name, way))
                inner = {"passive": hoist, "recorded": hoist, "acting": acting, "control": bare}[way]
                if way in ("recorded", "control"):
                    me = pathlib.Path(__file__).resolve()
                    proxy = script(tmp, "wrap-%s-%s" % (name, way), '#!/bin/sh\nexec "%s" "%s" wrap "%s" "%s" "$@"\n'
                                   % (sys.executable, me, inner, verdict))
                elif way == "acting":
                    proxy = script(tmp, "act-%s" % name, '#!/bin/sh\nHOIST_ACTED="%s" exec "%s" "$@"\n'
                                   % (counted, inner))
                else:
                    proxy = str(inner)
                code, said = run(case, proxy)
                verdicts = verdict.read_text().split("\n")[:-1]
                if way == "control":
                    ok = code != 0 or any(v != "ok" for v in verdicts)
                    why = "a script that records nothing passes"
                elif way == "recorded":
                    bad = [v for v in verdicts if v != "ok"]
                    ok, why = code == 0 and verdicts and not bad, said + " " + "; ".join(bad)
                elif way == "acting":
                    acted = sum(int(n) for n in counted.read_text().split()) if counted.exists() else 0
                    ok, why = code == 0 and acted > 0, "%s (acted %d times)" % (said, acted)
                else:
                    ok, why = code == 0, said
                passed += bool(ok)
                failed += not ok
                print("%s %s %s%s" % ("ok  " if ok else "FAIL", name, way, "" if ok else ": " + why), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] == "wrap":
        wrapper(sys.argv[2], sys.argv[3], sys.argv[4:])
    main()
