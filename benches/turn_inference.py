#!/usr/bin/env python3
"""How many turns of the model are recovered exactly from the times of its calls.

    python3 benches/turn_inference.py FOLDER HOIST

FOLDER holds recorded tau2 runs, one folder each, one JSON file a task, with a time stamp on every
message (codesque16-retail). HOIST is the built program. Each trajectory is written as the session
log that a proxy would have made of it, with the model's own pauses, and read by `hoist show --json`;
the messages say which calls really were one turn. A turn is recovered when some turn of the episode
has exactly its calls.

The log is made as hosts make it: the calls of a turn all at once, or one after another. The models'
pauses also stand divided by 2, 4 and 10, as a faster model would have made them. Beside it stands a
plain rule: a call belongs to the turn if a call of it is unanswered, or its last answer is no older
than the gap.
"""
import argparse
import datetime
import json
import pathlib
import subprocess
import tempfile

GAPS_MS = [250, 500, 1000]
DIVISORS = [1, 2, 4, 10]


def is_agents(call):
    return call.get("requestor", "assistant") == "assistant"


def times(messages, divisor):
    """When each message was made, in ms after the first, the model's pauses divided."""
    at, made, last = 0.0, [], None
    for message in messages:
        now = datetime.datetime.fromisoformat(message["timestamp"]).timestamp() * 1000
        if last is not None:
            pause = now - last
            at += pause / divisor if message["role"] == "assistant" else pause
        last = now
        made.append(at)
    return made


class Log:
    """A session log in the making."""

    def __init__(self, session):
        header = {"hoist_mcp_log": 2, "session": session, "started_unix_ms": 0}
        self.lines = [json.dumps(header)]
        self.t_ms = 0

    def add(self, t_ms, origin, message):
        self.t_ms = max(self.t_ms, int(t_ms))
        self.lines.append(json.dumps({"t_ms": self.t_ms, "from": origin, "message": message}))

    def call(self, t_ms, number, call):
        params = {"name": call["name"], "arguments": call["arguments"]}
        self.add(t_ms, "client", {"id": number, "method": "tools/call", "params": params})

    def answer(self, t_ms, number, result):
        content = [{"type": "text", "text": result.get("content") or ""}]
        self.add(t_ms, "server", {"id": number, "result": {"content": content, "isError": bool(result.get("error"))}})


def log_of(trajectory, session, at_once, divisor):
    """The log of one trajectory, and the ids of each turn's calls."""
    messages = trajectory["messages"]
    made = times(messages, divisor)
    results = {m["id"]: (m, at) for m, at in zip(messages, made) if m["role"] == "tool"}
    log, turns, number = Log(session), [], 0
    for message, at in zip(messages, made):
        calls = [call for call in message.get("tool_calls") or [] if is_agents(call)]
        if message["role"] != "assistant" or not calls:
            continue
        answered = [(number + n, call, *results.get(call["id"], ({}, at))) for n, call in enumerate(calls, 1)]
        number += len(calls)
        turns.append(tuple(str(id) for id, *_ in answered))
        if at_once:
            for id, call, _, _ in answered:
                log.call(at, id, call)
        for id, call, result, came in answered:
            if not at_once:
                log.call(at, id, call)
            log.answer(came, id, result)
            at = max(at, came)
    return log.lines, turns


def by_gap(lines, gap_ms):
    """The turns by the plain rule."""
    turns, unanswered, last_ms = [], set(), None
    for line in lines[1:]:
        entry = json.loads(line)
        id = str(entry["message"]["id"])
        if entry["from"] == "server":
            unanswered.discard(id)
            last_ms = entry["t_ms"]
            continue
        if unanswered or (last_ms is not None and entry["t_ms"] - last_ms <= gap_ms):
            turns[-1].append(id)
        else:
            turns.append([id])
        unanswered.add(id)
    return turns


def by_hoist(hoist, folder):
    """The turns of every session in a folder, by session."""
    shown = subprocess.run([hoist, "show", "--json", folder], stdout=subprocess.PIPE, check=True).stdout
    episodes = (json.loads(line) for line in shown.split(b"\n") if line)
    return {
        episode["id"]: [
            [call["id"] for call in event["calls"]] for event in episode["events"] if event["role"] == "assistant"
        ]
        for episode in episodes
    }


def recovered(real, inferred):
    found = {tuple(turn) for turn in inferred}
    return sum(turn in found for turn in real)


def measure(runs, hoist, at_once, divisor):
    """Turns, those of several calls, and how many each rule recovers."""
    total, several, right = 0, 0, dict.fromkeys(["hoist", *GAPS_MS], 0)
    with tempfile.TemporaryDirectory() as folder:
        real = {}
        for session, trajectory in runs.items():
            lines, turns = log_of(trajectory, session, at_once, divisor)
            pathlib.Path(folder, f"{session}.jsonl").write_text("\n".join(lines) + "\n")
            real[session] = turns
            total += len(turns)
            several += sum(len(turn) > 1 for turn in turns)
            for gap_ms in GAPS_MS:
                right[gap_ms] += recovered(turns, by_gap(lines, gap_ms))
        inferred = by_hoist(hoist, folder)
    for session, turns in real.items():
        right["hoist"] += recovered(turns, inferred[session])
    return total, several, right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("hoist", type=pathlib.Path)
    arguments = parser.parse_args()
    runs = {}
    for path in sorted(arguments.folder.glob("*/*.json")):
        trajectory = json.loads(path.read_text())
        if trajectory.get("messages"):
            runs[f"{path.parent.name}--{path.stem}"] = trajectory
    if not runs:
        parser.error(f"{arguments.folder} holds no trajectories")
    print(f"{len(runs)} trajectories\n")
    columns = ["calls of a turn", "pauses", "turns", "of several calls", "Hoist"]
    columns += [f"gap {gap_ms / 1000} s" for gap_ms in GAPS_MS]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for at_once in [True, False]:
        for divisor in DIVISORS:
            total, several, right = measure(runs, arguments.hoist, at_once, divisor)
            pauses = "as they were" if divisor == 1 else f"a {divisor}th" if divisor > 2 else "half"
            row = ["at once" if at_once else "one by one", pauses, total, several]
            row += [f"{100 * count / total:.1f} %" for count in right.values()]
            print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
