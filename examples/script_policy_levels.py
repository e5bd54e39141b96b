#!/usr/bin/env python3
"""A scheduler that `distill` asks, for scenarios that are seen level by level: one JSON line in, one JSON line out.

    distill check-policy --scenario serving -p "script:python3 examples/script_policy_levels.py application:-slack task:-size"
    distill simulate --scenario preemption -p "script:python3 examples/script_policy_levels.py job:-time victim:+left" -p srtf

Each argument is a level, a sign and a column: of the candidates of that level the one with most (+) or least (-) of it is taken, and
nothing is done only if nothing else can be. `distill list features --scenario NAME` shows the columns. Put your own network in place of
`Policy`. Standard output is for answers alone: notes go to standard error.
"""

import json
import sys


class Policy:
    """Goes by one column of each level."""

    def __init__(self, columns, rules):
        self.columns = columns
        self.rules = {}
        for rule in rules:
            level, _, column = rule.partition(":")
            if column[:1] not in ("+", "-") or column[1:] not in columns.get(level, []):
                sys.exit(f"{rule}: expected LEVEL:+COLUMN or LEVEL:-COLUMN, one of {sorted(columns)}")
            self.rules[level] = (columns[level].index(column[1:]), 1 if column[0] == "+" else -1)

    def reset(self, seed):
        """An episode begins. What was learnt from earlier ones must be forgotten here; this policy learns nothing."""

    def scores(self, level, rows):
        """A logit per candidate."""
        column, sign = self.rules.get(level, (None, 0))
        none = self.columns[level].index("is_none") if "is_none" in self.columns[level] else None
        best = max((abs(row[column]) for row in rows), default=0.0) if column is not None else 0.0
        scores = []
        for row in rows:
            score = sign * row[column] / max(best, 1e-9) if column is not None else 0.0
            scores.append(-100.0 if none is not None and row[none] == 1 else 10 * score)
        return scores


def main():
    policy = None
    for line in sys.stdin:  # ends when distill closes the pipe
        message = json.loads(line)
        if message["type"] == "hello":
            policy = Policy(message["columns"], sys.argv[1:])
            answer = {"protocol": 1}
        elif message["type"] == "reset":
            policy.reset(message["seed"])
            continue  # a reset is not answered
        else:
            # `LEVEL_ptr` says which rows belong together; a policy that scores each candidate by itself has no need of it.
            answer = {level + "_scores": policy.scores(level, message[level]) for level in policy.columns}
            answer["id"] = message["id"]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
