#!/usr/bin/env python3
"""Copies a corpus of trajectories with `hoist redact`, and looks for what got out.

    python3 benches/redact_corpus.py FOLDER HOIST [--limit N] [--keep DIR]

FOLDER holds runs of tau2-bench or tau-bench (*.json, however deep). Each run is written as a session
log, as `hoist-mcp --record` would have left it, the conversation included; HOIST, the program, copies
them under two keys. With --direct the files are copied as they are, and episodes are compared. Then,
for every line:

- No value of the input stands in both copies at the same place: no word, number or text of 4
  characters and 20 bits or more, in any letter case. Bits are length times the bits of the classes
  of characters in it. A word that the report lists as clear is no value. What stands in one copy
  alone is a token that is a value by chance; those are counted, too.
- What was equal is equal, what was different is different, text by text.
- `hoist validate` says the same of log and copy, `hoist show --json` shows the same turns, calls,
  times and errors.

Exits with 1 where one of them does not hold.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time

WORD = re.compile(r"[^\W]+")


def runs(path):
    """The lists of messages in a file of either benchmark."""
    try:
        data = json.loads(path.read_text())
    except (ValueError, UnicodeDecodeError):
        return
    entries = data if isinstance(data, list) else [data]
    if isinstance(data, dict):
        entries = data.get("simulations") or [data.get("simulation") or data]
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        messages = entry.get("messages") or entry.get("traj") or entry.get("trajectory")
        if isinstance(messages, list) and messages and isinstance(messages[0], dict):
            yield messages


def log(messages, number):
    """A run as a session log."""
    session = f"20260923T2120{number % 60:02}.{number % 1000:03}Z-{4242 + number}"
    lines = [{"hoist_mcp_log": 2, "session": session, "started_unix_ms": 1790198400123 + number,
              "server_command": ["npx", "tau2"], "domain": "retail", "agent_model": None,
              "host_session": f"host-{4000 + number}"}]
    t_ms = 0
    ids, waiting = {}, []

    def add(origin, message):
        lines.append({"t_ms": t_ms, "from": origin, "message": message})

    for message in messages:
        t_ms += 700
        role, content = message.get("role"), message.get("content")
        if role in ("user", "assistant", "system") and isinstance(content, str) and content:
            add("context", {"role": role, "content": content})
        for call in message.get("tool_calls") or []:
            function = call.get("function") or call
            arguments = function.get("arguments")
            if isinstance(arguments, str):
                try:
                    arguments = json.loads(arguments)
                except ValueError:
                    arguments = {"text": arguments}
            ids[call.get("id")] = len(ids) + 3
            waiting.append(call.get("id"))
            add("client", {"jsonrpc": "2.0", "id": ids[call.get("id")], "method": "tools/call",
                           "params": {"name": function.get("name"), "arguments": arguments}})
        if role in ("tool", "function"):
            for part in message.get("tool_messages") or [message]:
                call = part.get("tool_call_id") or part.get("id")
                call = call if call in waiting else (waiting[0] if waiting else None)
                if call in waiting:
                    waiting.remove(call)
                    result = {"content": [{"type": "text", "text": part.get("content") or ""}],
                              "isError": bool(part.get("error"))}
                    add("server", {"jsonrpc": "2.0", "id": ids[call], "result": result})
    return session, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def bits(value):
    classes = [(r"[a-z]", 26), (r"[A-Z]", 26), (r"[0-9]", 10), (r"[^\W\x00-\x7f]", 100)]
    size = sum(size for pattern, size in classes if re.search(pattern, value))
    return len(re.findall(r"[^\W_]", value)) * math.log2(size) if size else 0


def stays(word, clear):
    """Whether a word is clear, or a digit among zeros, with up to three digits of an exponent."""
    mantissa, _, exponent = word.partition("e")
    is_number = mantissa.isascii() and mantissa.isdigit() and re.fullmatch(r"\d{0,3}", exponent)
    return word in clear or bool(is_number) and (len(mantissa.strip("0")) <= 1 or mantissa in clear)


def parts(word):
    word = word.lower()
    return [word] if any(c.isnumeric() for c in word) else [part for part in word.split("_") if part]


def leaves(value, found):
    """The texts and numbers of a JSON value, those of JSON in texts too, in order."""
    if isinstance(value, dict):
        for key, inner in value.items():
            found.append(key)
            leaves(inner, found)
    elif isinstance(value, list):
        for inner in value:
            leaves(inner, found)
    elif isinstance(value, str):
        try:
            inner = json.loads(value) if value.lstrip()[:1] in "{[" and value.strip() else None
        except ValueError:
            inner = None
        if inner is None:
            found.append(value)
        else:
            leaves(inner, found)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        found.append(json.dumps(value))
    return found


def written(episode):
    """An episode without what is counted, timed or set by the reader, which stays."""
    for member in ("hoist_episode", "source", "started_unix_ms", "duration_ms", "reward", "usage"):
        episode.pop(member, None)
    for event in episode["events"]:
        for part in [event] + event.get("calls", []):
            for member in ("turn", "seq", "t_ms"):
                part.pop(member, None)
    return episode


def common_runs(one, other):
    """The pieces of two lines that are the same at the same place."""
    run = []
    for a, b in zip(one, other):
        if a == b:
            run.append(a)
        elif run:
            if len(run) >= 4:
                yield "".join(run)
            run = []
    if len(run) >= 4:
        yield "".join(run)


def shown(hoist, folder):
    """What each session's episode has besides values."""
    out = subprocess.run([hoist, "show", "--json", folder], capture_output=True, text=True).stdout
    found = []
    for line in out.splitlines():
        episode = json.loads(line)
        events = []
        for event in episode["events"]:
            calls = [(call["name"], call["seq"], call["t_ms"], call["turn"]) for call in event.get("calls", [])]
            events.append((event["role"], event["seq"], event["t_ms"], event.get("turn"),
                           event.get("is_error"), len(event.get("text") or ""), calls))
        found.append((episode["started_unix_ms"], episode["duration_ms"], events))
    return found


def validated(hoist, folder):
    out = subprocess.run([hoist, "validate", "--json", folder], capture_output=True, text=True).stdout
    return [(row.get("line"), row["kind"]) for row in map(json.loads, out.splitlines())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("hoist")
    parser.add_argument("--limit", type=int, default=10**9)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--direct", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        logs = folder / "logs"
        logs.mkdir(parents=True)
        count = 0
        for path in sorted(options.folder.rglob("*.json")) if not options.direct else []:
            for messages in runs(path):
                if count < options.limit:
                    session, text = log(messages, count)
                    count += 1
                    (logs / f"{session}.jsonl").write_text(text)
        if options.direct:
            logs = options.folder
            count = len(subprocess.run([options.hoist, "show", "--json", logs], stdout=subprocess.PIPE).stdout.splitlines())
        size = sum(path.stat().st_size for path in logs.rglob("*.json*") if path.is_file())
        print(f"{count} sessions, {size / 1e6:.1f} MB")
        copies, orders = [], []
        for name in ("one", "other"):
            key = folder / f"{name}.key"
            key.write_text(name * 20)
            key.chmod(0o600)
            began = time.monotonic()
            said = subprocess.run([options.hoist, "redact", "--json", "--sessions", logs, "--out", folder / name,
                                   "--key-file", key], stdout=subprocess.PIPE, text=True, check=not options.direct).stdout
            took = time.monotonic() - began
            report = json.loads(said)
            copies.append(folder / name)
            orders.append([folder / name / copy["copy"] for copy in report["copies"]])
        print(f"{took:.1f} s, {size / 1e6 / took:.1f} MB/s (two passes); changed {report['changed']}, "
              f"replaced {report['replaced']}")
        for kept in report["kept"]:
            print(f"  {kept['rule']}: {kept['times']} times, {len(kept['words'])} words: "
                  f"{', '.join(kept['words'][:12])}")
        for kept in report["constants"]:
            print(f"    {kept['rule']} {kept['path']}: {len(kept['kept'])} of {kept['distinct']}: {', '.join(kept['kept'][:10])}")
        clear = {word for kept in report["kept"] for word in kept["words"]}

        values, became, was, faults = set(), {}, {}, []

        def hidden(text):
            """The text with a dot for each letter of words that are clear."""
            def dots(word):
                pieces = [word[0]] if any(c.isnumeric() for c in word[0]) else word[0].split("_")
                return "_".join("." * len(piece) if stays(piece.lower(), clear) else piece
                                for piece in pieces)
            return WORD.sub(dots, text)

        phrases = set()
        same, alone, lines, longer = set(), [set(), set()], 0, 0
        if options.direct:
            shown_lines = subprocess.run([options.hoist, "show", "--json", logs], stdout=subprocess.PIPE, text=True).stdout
            groups = [(logs, [shown_lines] + ["".join(path.read_text() for path in order) for order in orders])]
            # Names of members of an episode.
            clear.update(re.findall(r"[a-z]+", " ".join(re.findall(r'"([a-z_]+)":', shown_lines[:100000]))))
        else:
            groups = ((path, [path.read_text()] + [(copy / path.name).read_text() for copy in copies])
                      for path in sorted(logs.iterdir()))
        for path, texts in groups:
            rows = [text.split("\n") for text in texts]
            if len({len(row) for row in rows}) != 1:
                faults.append(f"{path.name}: lines are missing")
            for number, (line, one, other) in enumerate(zip(*rows)):
                if not line:
                    continue
                read = (lambda text: written(json.loads(text))) if options.direct else json.loads
                before, after = leaves(read(line), []), leaves(read(one), [])
                if len(before) != len(after):
                    faults.append(f"{path.name}:{number + 1}: another shape")
                for a, b in zip(before, after):
                    if became.setdefault(a, b) != b:
                        faults.append(f"{path.name}:{number + 1}: {a!r} became two things")
                    if was.setdefault(b, a) != a:
                        faults.append(f"{path.name}:{number + 1}: {a!r} and {was[b]!r} became one")
                if options.direct:
                    one, other = [json.dumps(read(text), ensure_ascii=False) for text in (one, other)]
                elif number == 0:
                    before = leaves(list(json.loads(line).values())[3:], [])
                    # Its times and its name stay.
                    line, one, other = [re.sub(r'"(session|started_unix_ms)":[^,]*,', "", text.replace(": ", ":").replace(", ", ",")) for text in (line, one, other)]
                else:
                    one, other = [text.partition('"message":')[2] for text in (one, other)]
                    # What is behind "message" alone was written by somebody.
                    before = before[5:]
                for leaf in before:
                    for value in [leaf] + WORD.findall(leaf):
                        if len(value) >= 4 and len(value) <= 200 and value not in values and bits(value) >= 20 and not all(
                                stays(part, clear) for word in WORD.findall(value) for part in parts(word)):
                            values.add(value)
                # Letters of escapes are part of no word.
                one, other = [re.sub(r"\\+[nrtbf]", lambda found: " " * len(found[0]), text) for text in (one, other)]
                lines += 1
                longer += len(one) != len(other)
                phrases.update(run.lower() for run in common_runs(one, other))
                # A clear word may have a value in it by its spelling; several words do not.
                one, other = hidden(one), hidden(other)
                same.update(run.lower() for run in common_runs(one, other) if run.strip(".") )
                for words, text in zip(alone, (one, other)):
                    words.update(word.lower() for word in WORD.findall(text))
        lower = {value.lower() for value in values}
        leaks = set()
        for runs_of, is_searched in ((same, str.isalnum), (phrases, lambda value: not value.isalnum())):
            starts = {}
            for value in filter(is_searched, lower):
                starts.setdefault(value[:4], []).append(value)
            for run in runs_of:
                for at in range(len(run) - 3):
                    for value in starts.get(run[at:at + 4], ()):
                        # Several words are not cut out of several clear ones.
                        end = at + len(value)
                        cut = not value.isalnum() and run[end:end + 1].isalnum()
                        if run.startswith(value, at) and not cut:
                            leaks.add(value)
        chance = [len(words & lower) for words in alone]
        print(f"{lines} lines, {len(became)} different texts and numbers, {len(values)} values of 20 bits; "
              f"{len(leaks)} in both copies, whole words in one by chance: {chance}; {longer} lines of two lengths")
        for leak in sorted(leaks)[:20]:
            print(f"  LEAK {leak!r}")
        if options.direct:
            print(f"{len(faults)} faults")
            for fault in faults[:20]:
                print(f"  {fault[:300]}")
            sys.exit(1 if leaks or faults else 0)
        before, after = shown(options.hoist, logs), shown(options.hoist, copies[0])
        if before != after:
            # Escapes in texts may count differently; nothing else may.
            strip = lambda found: [(a, b, [event[:5] + event[6:] for event in c]) for a, b, c in found]
            faults.append("hoist show tells them apart" if strip(before) != strip(after) else "lengths of texts differ")
        if validated(options.hoist, logs) != validated(options.hoist, copies[0]):
            faults.append("hoist validate tells them apart")
        for fault in faults[:20]:
            print(f"  {fault}")
        print(f"{len(faults)} faults")
        sys.exit(1 if leaks or faults else 0)


main()
