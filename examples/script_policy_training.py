#!/usr/bin/env python3
"""A scheduler of training jobs that `distill` asks: one JSON line in, one JSON line out.

    distill check-policy --scenario training -p "script:python3 examples/script_policy_training.py"
    distill record --scenario training -p "script:python3 examples/script_policy_training.py,mode=sample" -o trace

Put your own network in place of `Policy`; `docs/foreign-policies.md` says what the numbers are. Standard output is for
answers alone: notes go to standard error.
"""

import json
import math
import sys

LEAST = 1e-9


class Policy:
    """Starts jobs first; then gives the task that speeds its job up most, and more so if little is left of the job."""

    def __init__(self, columns):
        # Look columns up by name, so that new ones do no harm.
        self.job = {name: place for place, name in enumerate(columns["jobs"])}
        self.cluster = {name: place for place, name in enumerate(columns["cluster"])}

    def reset(self, seed):
        """An episode begins. What was learnt from earlier ones must be forgotten here; this policy learns nothing."""

    def scores(self, question):
        """By job a logit for a worker, a parameter server and one of each; and a logit for closing the slot."""
        task_scores = []
        for row, fits in zip(question["jobs"], question["mask"]):
            left, now = max(row[self.job["remaining_epochs"]], LEAST), row[self.job["speed"]]
            speeds = [row[self.job["speed_with_" + task]] for task in ("worker", "server", "both")]
            # Slots that the task would save; a job that does not train yet comes before all that do.
            saved = [left / max(now, LEAST) - left / max(then, LEAST) if then > now else 0.0 for then in speeds]
            urgent = -0.1 * math.log1p(left)
            # Scores of what may not be chosen are not looked at.
            task_scores.append([urgent + math.log1p(slots) if may else None for slots, may in zip(saved, fits)])
        free = 1 - question["cluster"][self.cluster["used_gpu"]] / max(question["cluster"][self.cluster["gpu"]], 1)
        return task_scores, [-2 * free]


def main():
    policy = None
    for line in sys.stdin:  # ends when distill closes the pipe
        message = json.loads(line)
        if message["type"] == "hello":
            if message.get("scenario") != "training":
                sys.exit("this policy is for --scenario training")
            policy = Policy(message["columns"])
            answer = {"protocol": 1}
        elif message["type"] == "reset":
            policy.reset(message["seed"])
            continue  # a reset is not answered
        else:
            task_scores, close_score = policy.scores(message)
            answer = {"id": message["id"], "task_scores": task_scores, "close_score": close_score}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
