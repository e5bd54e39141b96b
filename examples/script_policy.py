#!/usr/bin/env python3
"""A scheduler that `distill` asks: one JSON line in, one JSON line out.

    distill check-policy -p "script:python3 examples/script_policy.py"
    distill record -p "script:python3 examples/script_policy.py,mode=sample" -o trace

Put your own network in place of `Policy`; `docs/foreign-policies.md` says what the numbers are. Standard output is for
answers alone: notes go to standard error.
"""

import json
import math
import sys


class Policy:
    """Prefers jobs with little work left and, within a job, stages that many others wait for; shares executors out evenly."""

    def __init__(self, columns):
        # Look columns up by name, so that new ones do no harm.
        self.node = {name: place for place, name in enumerate(columns["nodes"])}
        self.job = {name: place for place, name in enumerate(columns["jobs"])}
        self.cluster = {name: place for place, name in enumerate(columns["cluster"])}

    def reset(self, seed):
        """An episode begins. What was learnt from earlier episodes must be forgotten here; this policy learns nothing."""

    def scores(self, question):
        """A logit per node, and for every job a logit for each number of executors from 1 to those on offer."""
        remaining, task_ms = self.node["remaining_tasks"], self.node["task_ms"]
        nodes, jobs = question["nodes"], question["jobs"]
        work = [0.0] * len(jobs)
        for row, job in zip(nodes, question["node_job"]):
            work[job] += row[remaining] * row[task_ms]
        waiting = [0] * len(nodes)
        for parent in question["edges"][0]:
            waiting[parent] += 1
        stage_scores = [
            # Scores of stages that may not be chosen are not looked at.
            0.5 * waiting[node] - math.log1p(work[job]) if may else None
            for node, (job, may) in enumerate(zip(question["node_job"], question["mask"]))
        ]
        share = math.ceil(question["cluster"][self.cluster["executors"]] / len(jobs))
        amount_scores = []
        for row in jobs:
            wanted = max(1, share - row[self.job["executors"]])
            amount_scores.append([-abs(amount - wanted) / wanted for amount in question["amounts"]])
        return stage_scores, amount_scores


def main():
    policy = None
    for line in sys.stdin:  # ends when distill closes the pipe
        message = json.loads(line)
        if message["type"] == "hello":
            policy = Policy(message["columns"])
            answer = {"protocol": 1}
        elif message["type"] == "reset":
            policy.reset(message["seed"])
            continue  # a reset is not answered
        else:
            stage_scores, amount_scores = policy.scores(message)
            answer = {"id": message["id"], "stage_scores": stage_scores, "amount_scores": amount_scores}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
