"""Keeps calls until so many have come, and only then answers, in another order than they came.

    python3 crowd.py CALLS

Each call is told of its progress twice, and then answered with its argument `text`. An id or a
progress token that is in use twice is an error.
"""
import json
import signal
import sys

signal.alarm(120)
wanted = int(sys.argv[1])
calls = []


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def text(call):
    return call["params"]["arguments"]["text"]


def token(call):
    return call["params"]["_meta"]["progressToken"]


def progress(call, done):
    params = {"progressToken": token(call), "progress": done, "message": text(call)}
    say({"method": "notifications/progress", "params": params})


def answer():
    clash = len({repr(call["id"]) for call in calls}) < wanted or len({repr(token(call)) for call in calls}) < wanted
    for call in calls:
        progress(call, 1)
    for call in reversed(calls):
        progress(call, 2)
    # Every other one, then the rest.
    for call in calls[::2] + calls[1::2]:
        content = [{"type": "text", "text": text(call)}]
        say({"id": call["id"], "result": {"resultType": "complete", "content": content, "isError": clash}})
    calls.clear()


for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "crowd", "version": "1"}
        say({"id": message["id"], "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}})
    elif message.get("method") == "tools/call":
        calls.append(message)
        if len(calls) == wanted:
            answer()
    sys.stdout.flush()
