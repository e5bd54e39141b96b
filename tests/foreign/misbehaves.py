"""A scheduler that does what it is asked until the third question, and then something else: misbehaves.py HOW MARK.

What it starts carries MARK as its last argument, so that the test finds what is left of it.
"""

import json
import os
import signal
import subprocess
import sys
import time

how, mark = sys.argv[1], sys.argv[2]
FOREVER = "import sys, time; time.sleep(1000)"


def child(**options):
    subprocess.Popen([sys.executable, "-c", FOREVER, mark], **options)


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def answer(question):
    """An answer that is right."""
    rows = [[0.0] * len(question["amounts"])] * len(question["jobs"])
    return {"id": question["id"], "stage_scores": [0.0] * len(question["nodes"]), "amount_scores": rows}


def misbehave(question):
    good = answer(question)
    if how == "hangs":
        time.sleep(1000)
    elif how == "ignores signals":
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        time.sleep(1000)
    elif how == "floods":
        while True:
            say("x" * 65536)
    elif how == "complains without end":
        while True:
            sys.stderr.write("e" * 65536 + "\n")
    elif how == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "is killed beside a worker":
        child()
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "is killed beside a worker of its own session":
        child(start_new_session=True)
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "stops in the middle":
        say('{"id":')
        sys.exit(0)
    elif how == "hangs with children":
        child()
        child(start_new_session=True)
        time.sleep(1000)
    elif how == "closes its output":
        os.close(1)
        time.sleep(1000)
    elif how == "closes its input":
        os.close(0)
        time.sleep(1000)
    elif how == "drips":
        for c in json.dumps(good):
            say(c)
            time.sleep(0.05)
    elif how == "nests":
        say("[" * 1_000_000 + "\n")
    elif how == "paints":
        say(json.dumps({"error": "\u001b[31mno\u001b[2J\r more"}) + "\n")
    elif how == "overflows":
        say(json.dumps(good | {"stage_scores": [1e300] * len(question["nodes"])}) + "\n")
    elif how == "is too wide":
        say(json.dumps(good | {"amount_scores": [[0.0] * 100_000] * len(question["jobs"])}) + "\n")
    elif how == "is no text":
        sys.stdout.buffer.write(b"\xff\x00\xfe\n")
        sys.stdout.flush()


if how == "says nothing":
    child()
    time.sleep(1000)
if how == "leaves children":
    child()
    child(start_new_session=True)
asked = 0
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        say('{"protocol": 1}\n')
    elif message["type"] == "question":
        asked += 1
        if asked == 3 and how != "leaves children":
            misbehave(message)
            continue
        say(json.dumps(answer(message)) + "\n")
