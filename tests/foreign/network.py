"""The small network of the tests, and what a broken one would do: `network.py [FAULT]`."""

import json
import math
import os
import sys
import time

WIDTH = 6


def weights(seed, rows, columns):
    return [[((7 * r + 13 * c + 5 * seed) % 19 - 9) / 32 for c in range(columns)] for r in range(rows)]


def product(row, matrix):
    return [sum(x * w[c] for x, w in zip(row, matrix)) for c in range(len(matrix[0]))]


def tanh(*terms):
    return [math.tanh(sum(values)) for values in zip(*terms)]


def scores(question):
    nodes = [tanh(product(list(map(math.log1p, row)), NODE), BIAS[0]) for row in question["nodes"]]
    jobs = [tanh(product(list(map(math.log1p, row)), JOB)) for row in question["jobs"]]
    below = [[0.0] * WIDTH for _ in nodes]
    for parent, child in zip(*question["edges"]):
        below[parent] = [a + b for a, b in zip(below[parent], nodes[child])]
    stage = []
    for own, children, job in zip(nodes, below, question["node_job"]):
        z = tanh(product(own, OWN), product(children, CHILD), jobs[job])
        stage.append(8 * product(z, STAGE)[0])
    amount = []
    for job in jobs:
        terms = [[8 * r * k / question["cluster"][0] for r in AMOUNT[0]] for k in question["amounts"]]
        amount.append([8 * product(tanh(job, term), SCORE)[0] for term in terms])
    return stage, amount


def answer(question, fault, asked):
    """The line to write; the fault shows from the third question on."""
    stage, amount = scores(question)
    if asked > 2 or fault in ("forgets", "remembers"):
        if fault == "crash":
            print("loading weights", file=sys.stderr)
            raise ValueError("no such layer")
        if fault == "silent":
            time.sleep(1000)
        if fault == "malformed":
            return "step 3 done"
        if fault == "short":
            stage.pop()
        if fault == "narrow":
            amount = [[] for _ in amount]
        if fault == "rows":
            amount.append(amount[0])
        if fault == "nan":
            stage = [math.nan] * len(stage)
        if fault == "null":
            stage = [None] * len(stage)
        if fault == "twice":
            return json.dumps({"stage_scores": stage, "amount_scores": amount}) + "\n{}"
        if fault == "old":
            return json.dumps({"id": question["id"] - 1, "stage_scores": stage, "amount_scores": amount})
        if fault == "refuses":
            return json.dumps({"error": "the cluster is too large"})
        if fault == "closes":
            os.close(1)
            time.sleep(1000)
        if fault == "remembers":
            stage = [s * (1 + asked) for s in stage]
    return json.dumps({"id": question["id"], "stage_scores": stage, "amount_scores": amount})


def main(fault):
    asked = episodes = 0
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            reply = json.dumps({"protocol": 2 if fault == "version" else 1})
        elif message["type"] == "reset":
            episodes += 1
            # As if the machine failed in the sixth episode: while the file is there.
            if episodes == 6 and os.path.exists("failing"):
                sys.exit("out of memory")
            continue
        else:
            asked += 1
            reply = answer(message, fault, asked)
        print(reply, flush=True)


NODE, BIAS, JOB = weights(1, 7, WIDTH), weights(2, 1, WIDTH), weights(3, 6, WIDTH)
OWN, CHILD, STAGE = weights(4, WIDTH, WIDTH), weights(5, WIDTH, WIDTH), weights(6, WIDTH, 1)
AMOUNT, SCORE = weights(7, 1, WIDTH), weights(8, WIDTH, 1)

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
