"""The small network of the tests for `training`, and what a broken one would do: `network_training.py [FAULT]`."""

import json
import math
import sys
import time

from network import WIDTH, product, tanh, weights


def logs(row):
    return [math.log1p(abs(x)) for x in row]


def scores(question):
    jobs = [
        tanh(product(logs(row), JOB), BIAS[0], TYPE[kind])
        for row, kind in zip(question["jobs"], question["job_type"])
    ]
    total = [sum(column) for column in zip(*jobs)]
    cluster = tanh(product(total, POOL), product(logs(question["cluster"]), CLUSTER))
    tasks = [[8 * score for score in product(tanh(product(job, OWN), cluster), TASK)] for job in jobs]
    return tasks, [8 * product(cluster, CLOSE)[0]]


def answer(question, fault, asked):
    """The line to write; the fault shows from the third question on."""
    tasks, close = scores(question)
    if asked > 2 or fault == "remembers":
        if fault == "crash":
            print("loading weights", file=sys.stderr)
            raise ValueError("no such layer")
        if fault == "silent":
            time.sleep(1000)
        if fault == "malformed":
            return "step 3 done"
        if fault == "short":
            tasks.pop()
        if fault == "narrow":
            tasks = [row[:2] for row in tasks]
        if fault == "two":
            close = close * 2
        if fault == "nan":
            tasks = [[math.nan] * 3 for _ in tasks]
        if fault == "null":
            close = [None]
        if fault == "missing":
            return json.dumps({"task_scores": tasks})
        if fault == "old":
            return json.dumps({"id": question["id"] - 1, "task_scores": tasks, "close_score": close})
        if fault == "refuses":
            return json.dumps({"error": "the cluster is too large"})
        if fault == "remembers":
            tasks = [[score * (1 + asked) for score in row] for row in tasks]
            close = [score * (1 + asked) for score in close]
    return json.dumps({"id": question["id"], "task_scores": tasks, "close_score": close})


def main(fault):
    asked = 0
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            assert message["scenario"] == "training", message
            reply = json.dumps({"protocol": 2 if fault == "version" else 1})
        elif message["type"] == "reset":
            continue
        else:
            asked += 1
            reply = answer(message, fault, asked)
        print(reply, flush=True)


JOB, BIAS, TYPE = weights(1, 14, WIDTH), weights(2, 1, WIDTH), weights(3, 8, WIDTH)
# Sums over many jobs must stay where 32 bits are as good as 64.
POOL = [[w / 32 for w in row] for row in weights(4, WIDTH, WIDTH)]
CLUSTER, OWN = weights(5, 14, WIDTH), weights(6, WIDTH, WIDTH)
TASK, CLOSE = weights(7, WIDTH, 3), weights(8, WIDTH, 1)

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
