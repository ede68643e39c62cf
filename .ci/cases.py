#!/usr/bin/env python3
"""Runs fault cases against the built proxy, each in four ways.

    python3 .ci/cases.py CASES-FOLDER BINARIES-FOLDER [NAME...]

CASES-FOLDER holds scripts c01_*.py ...: `python3 cNN_name.py PATH-OF-PROXY` exits with 0 when the
proxy behaves rightly. BINARIES-FOLDER is Cargo's, such as target/debug: hoist-mcp, and
examples/hoist-mcp-acting. Both must have been built:

    cargo build -p hoist-bins --bins --examples

Without a NAME (c01 ...), every case of the folder is run; one that is not listed here is an error.

The four ways:
  passive    hoist-mcp as it is
  recorded   through a wrapper that adds --record, relays every byte, and afterwards compares each
             line that crossed with the log: all there, exact, in order; where hosts connect by URL,
             each line that crossed between the proxy and each of the servers it started
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

CASES = ["c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08", "c09", "c10", "c11", "c12", "c13", "c14"]
TIMEOUT_S = 40
# So many lines of one side a killed proxy may not have written: more than the cases send in one go.
LAST_BURST = 8


def relay(source, sink, copy):
    """Copies bytes from one descriptor to another, and to a file first; returns at the end."""
    while True:
        try:
            data = os.read(source, 65536)
        except OSError:
            break
        if not data:
            break
        os.write(copy, data)
        try:
            while data:
                data = data[os.write(sink, data):]
        except OSError:
            break
    try:
        os.close(sink)
    except OSError:
        pass


def logged(logs, side):
    """The lines of one side as the logs have them: exact bytes, or lossy text."""
    lines = []
    for path in logs:
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


def headers(logs):
    """The first lines of the logs."""
    return [json.loads(path.read_bytes().split(b"\n", 1)[0]) for path in logs]


def is_json_rpc(kind, text):
    message = json.loads(text) if kind == "message" else None
    parts = message if isinstance(message, list) else [message]
    return all(isinstance(part, dict) and part.keys() & {"method", "result", "error"} for part in parts)


def passed_on(lines, entries):
    """The entries without those that a server by URL sent and that are no JSON-RPC: they are in the
    log, and not passed on."""
    kept = []
    for kind, text in entries:
        line = lines[len(kept)] if len(kept) < len(lines) else None
        same = line == text if kind == "message" else line is not None and line.decode("utf-8", "replace") == text
        if same or is_json_rpc(kind, text):
            kept.append((kind, text))
    return kept


def compare(wire, entries, whole, by_url=False):
    """What is wrong with the log of one side, or None. Unless `whole`, the proxy was killed: the
    last lines may be missing on either side, since it may have read a line it did not pass on, or
    not have written those of the last fraction of a millisecond."""
    lines = wire.split(b"\n")
    if lines[-1] == b"" or not whole:
        lines.pop()
    lines = [l[:-1] if l.endswith(b"\r") else l for l in lines]
    if by_url:
        entries = passed_on(lines, entries)
    missing = len(lines) - len(entries)
    if (whole and missing) or missing > LAST_BURST:
        return "%d lines crossed, %d are in the log" % (len(lines), len(entries))
    for n, (line, (kind, text)) in enumerate(zip(lines, entries), 1):
        if kind == "message" and line != text:
            return "line %d is not exact in the log" % n
        if kind == "raw" and line.decode("utf-8", "replace") != text:
            return "line %d (raw) is not exact in the log" % n
    return None


def judge_sessions(wires, logs, whole):
    """The verdict on a proxy that started a server for each session: each needs a log of its own."""
    left = sorted(pathlib.Path(logs).glob("*.jsonl"))
    if len(left) != len(wires):
        return "%d logs of %d sessions" % (len(left), len(wires))
    for wire in wires:
        problems = {log: judge_sides(wire, [log], whole) for log in left}
        log = next((log for log in left if problems[log] == "ok"), None)
        if log is None:
            return "no log is of %s: %s" % (wire.name, "; ".join(problems.values()))
        left.remove(log)
    return "ok"


def judge(folder, logs, whole):
    """Compares what a wrapper relayed with the logs; the verdict is "ok" or what is wrong."""
    wires = sorted(pathlib.Path(folder).glob("wire-*"))
    if wires:
        return judge_sessions(wires, logs, whole)
    if not list(pathlib.Path(logs).glob("*.jsonl")):
        return "there is no log"
    return judge_sides(folder, sorted(pathlib.Path(logs).glob("*.jsonl")), whole)


def judge_sides(folder, logs, whole):
    for side, name in (("server", "received"), ("client", "sent")):
        wire = pathlib.Path(folder, name).read_bytes()
        # What the host still sent while the server was ending need not have been read.
        by_url = side == "server" and any("server_url" in header for header in headers(logs))
        problem = compare(wire, logged(logs, side), whole and side == "server", by_url)
        if problem:
            return "%s: %s" % (side, problem)
    return "ok"


def wrapper(proxy, folder, args):
    """Plays the proxy for one case: adds --record, relays, and keeps what crossed."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=folder))
    # A server by URL has no command.
    at = args.index("--") if "--" in args else len(args)
    given = "--record" in args[:at]
    logs = args[args.index("--record") + 1] if given else str(folder / "logs")
    if "--listen" in args[:at]:
        args[at + 1:at + 1] = [sys.executable, str(pathlib.Path(__file__).resolve()), "tap", str(folder)]
    command = [proxy] + args if given else [proxy, "--record", logs] + args
    status, told = between(command, folder)
    # A case may remove the folder it asked for as soon as the proxy has ended.
    (folder / "verdict").write_text(judge(folder, logs, not told))
    os._exit(status if status >= 0 else 128 - status)


def tap(folder, command):
    """Plays a server that a listening proxy starts: runs the real one, and keeps what crosses."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wire-", dir=folder))
    status, _ = between(command, folder)
    os._exit(status if status >= 0 else 128 - status)


def between(command, folder):
    """Runs a command between this process's standard input and output, and keeps what crosses; its
    status, and the signals it was sent meanwhile."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    told = []

    def pass_on(number, _frame):
        told.append(number)
        child.send_signal(number)

    signal.signal(signal.SIGTERM, pass_on)
    signal.signal(signal.SIGINT, pass_on)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    sent, received = (os.open(folder / n, flags, 0o600) for n in ("sent", "received"))
    # The descriptors themselves: a buffered file would keep bytes back.
    into, out = os.dup(child.stdin.fileno()), child.stdout.fileno()
    child.stdin.close()
    threading.Thread(target=relay, args=(0, into, sent), daemon=True).start()
    back = threading.Thread(target=relay, args=(out, 1, received), daemon=True)
    back.start()
    status = child.wait()
    back.join(5)
    return status, told


def verdicts_of(folder):
    """One verdict for each time the case started the proxy."""
    found = []
    for run in sorted(pathlib.Path(folder).glob("run-*")):
        said = run / "verdict"
        found.append(said.read_text() if said.exists() else judge(run, run / "logs", False))
    return found


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


def unlisted(cases):
    """What is wrong with the list above for this folder."""
    found = {path.name[:3] for path in pathlib.Path(cases).glob("c[0-9][0-9]_*.py")}
    listed = set(CASES)
    return (["%s is in the folder, and is not listed" % name for name in sorted(found - listed)]
            + ["%s is not in the folder" % name for name in sorted(listed - found)])


def main():
    if any(word in ("-h", "--help") for word in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(0)
    if len(sys.argv) < 3:
        sys.exit("two folders are needed\n\n" + __doc__.strip())
    cases, binaries, only = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    hoist, acting = binaries / "hoist-mcp", binaries / "examples" / "hoist-mcp-acting"
    for binary in (hoist, acting):
        if not binary.is_file():
            sys.exit("%s is not there; build it: cargo build -p hoist-bins --bins --examples" % binary)
    failed = 0
    for problem in [] if only else unlisted(cases):
        print("FAIL %s" % problem)
        failed += 1
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
                runs = pathlib.Path(tmp, "runs-%s-%s" % (name, way))
                runs.mkdir()
                counted = pathlib.Path(tmp, "acted-%s-%s" % (name, way))
                inner = {"passive": hoist, "recorded": hoist, "acting": acting, "control": bare}[way]
                if way in ("recorded", "control"):
                    me = pathlib.Path(__file__).resolve()
                    proxy = script(tmp, "wrap-%s-%s" % (name, way), '#!/bin/sh\nexec "%s" "%s" wrap "%s" "%s" "$@"\n'
                                   % (sys.executable, me, inner, runs))
                elif way == "acting":
                    proxy = script(tmp, "act-%s" % name, '#!/bin/sh\nexport HOIST_ACTED="%s"\nexec "%s" "$@"\n'
                                   % (counted, inner))
                else:
                    proxy = str(inner)
                code, said = run(case, proxy)
                verdicts = verdicts_of(runs)
                if way == "control":
                    ok = code != 0 or any(v != "ok" for v in verdicts)
                    why = "a script that records nothing passes"
                elif way == "recorded":
                    bad = [v for v in verdicts if v != "ok"]
                    ok, why = code == 0 and verdicts and not bad, "%s; log: %s" % (said, "; ".join(verdicts) or "none")
                elif way == "acting":
                    acted = len(counted.read_text().split()) if counted.exists() else 0
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
    if len(sys.argv) > 3 and sys.argv[1] == "tap":
        tap(sys.argv[2], sys.argv[3:])
    main()
