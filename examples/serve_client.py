#!/usr/bin/env python3
"""Asks `distill serve` who gets the executors that are free.

    distill serve -p student:student.json --listen unix:distill.sock &
    python3 examples/serve_client.py distill.sock

Over TCP it says the token that the server asks for, which is in a file:

    (umask 077 && openssl rand -hex 32 > token)
    distill serve -p student:student.json --listen tcp:127.0.0.1:7400 --token-file token &
    python3 examples/serve_client.py 127.0.0.1:7400 token

`docs/serve.md` has the lines, `docs/cluster-state.md` the state.
"""

import json
import socket
import sys

address, token_file = sys.argv[1], sys.argv[2:]
hello = {"type": "hello", "protocol": 1, "seed": 7}
if token_file:
    host, port = address.rsplit(":", 1)
    stream = socket.create_connection((host, int(port)))
    with open(token_file[0]) as file:
        hello["token"] = file.read().strip()
else:
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(address)
stream.settimeout(5)  # when no answer comes, let your own scheduler decide
lines = stream.makefile("rw")


def ask(message):
    print(json.dumps(message), file=lines, flush=True)
    answer = json.loads(lines.readline())
    if answer["type"] == "error":
        raise RuntimeError(answer["error"])
    return answer


ready = ask(hello)
print("asked", ready["policy"], "of", ready["scenario"])
scan = {"tasks": 8, "rough_ms": 1500, "completed": 2, "running": 3, "recent_ms": 1320}
total = {"tasks": 4, "rough_ms": 400, "parents": [0]}
job = {"id": 7, "arrival_ms": 42000, "stages": [scan, total]}
state = {"num_executors": 10, "time_ms": 60000, "offered": 6, "jobs": [job]}
for decision in ask({"id": 1, "state": state, "scores": False})["decisions"]:
    print(decision["executors"], "executors for stage", decision["stage"], "of job", decision["job"])
# Later only what has changed: the scan is done, and its executors are busy with the rest.
change = {"time_ms": 61500, "jobs": [{"id": 7, "stages": [{"stage": 0, "completed": 8, "running": 0, "promised": 0}]}]}
print("nothing to decide" if not ask({"id": 2, "change": change})["decisions"] else "more to do")
