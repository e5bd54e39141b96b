#!/usr/bin/env python3
"""What the features of a trace can tell at most: gradient boosting beside the best single-feature rule.

Needs numpy, pyarrow and lightgbm. Fits on TRAIN, chooses rules on TRAIN, judges on TEST, as `distill evaluate` weighs it:
choices with two or more candidates, each with its weight, those of weight below 0.001 left out.

    distill record -p $T -w $W -n 300 -o train
    distill record -p $T -w $W -n 80 --split test -o test
    scripts/ceiling.py train test

Levels and kinds of another scenario are named, each fitted and judged on its own: `--of job/start --of amount/resize`.

Target: ln(p / best p) of each candidate, not below -6. The job level is fitted on free choices alone.

With --amount also the cross-entropy of amounts, for a trace of a teacher that draws them: of one distribution over shares of the
cap for all choices, and of gradient boosting of the choice's softmax.
"""

import argparse
import glob
import json

import lightgbm
import numpy as np
import pyarrow.parquet as parquet

LEAST_WEIGHT = 1e-3
LOG_FLOOR = -6.0


class Choices:
    """Choices of one level with two or more candidates."""

    def __init__(self, trace, level, only_free, kind="free"):
        manifest = json.load(open(f"{trace}/manifest.json", encoding="utf-8"))
        spec = next(l for l in manifest["feature_set"]["levels"] if l["name"] == level)
        self.names = [f["name"] for f in spec["features"]]
        parts = []
        for file in sorted(glob.glob(f"{trace}/{level}/*.parquet")) or [f"{trace}/{level}.parquet"]:
            table = parquet.read_table(file)
            choice, weight = table["choice"].to_numpy(), table["weight"].to_numpy()
            free = np.array(table["kind"].to_pylist()) == kind
            sizes = np.diff(np.r_[np.flatnonzero(np.r_[True, choice[1:] != choice[:-1]]), len(choice)])
            keep = (np.repeat(sizes, sizes) > 1) & (weight >= LEAST_WEIGHT) & (free | (not only_free))
            x = np.stack([table[name].to_numpy()[keep].astype(np.float32) for name in self.names], 1)
            parts.append((x, table["log_prob"].to_numpy()[keep].astype(float), choice[keep], free[keep], weight[keep]))
        self.x, self.log_prob, choice, free, weight = (np.concatenate(column) for column in zip(*parts))
        start = np.flatnonzero(np.r_[True, choice[1:] != choice[:-1]])
        self.bounds = np.r_[start, len(choice)]
        self.free, self.weight = free[start], weight[start].astype(float)
        self.sizes = np.diff(self.bounds)
        self.group = np.repeat(np.arange(len(start)), self.sizes)

    def select(self, keep):
        rows, out = np.repeat(keep, self.sizes), object.__new__(Choices)
        out.names, out.x, out.log_prob = self.names, self.x[rows], self.log_prob[rows]
        out.free, out.weight, out.sizes = self.free[keep], self.weight[keep], self.sizes[keep]
        out.bounds = np.r_[0, np.cumsum(out.sizes)]
        out.group = np.repeat(np.arange(len(out.sizes)), out.sizes)
        return out

    def thin(self, most, seed):
        """At most so many choices of each kind."""
        draw, keep = np.random.default_rng(seed), np.zeros(len(self.weight), bool)
        for kind in (self.free, ~self.free):
            which = np.flatnonzero(kind)
            keep[draw.permutation(which)[:most]] = True
        return self.select(keep)

    def best(self, values):
        """The first candidate of largest value, per choice."""
        top = np.flatnonzero(values == np.maximum.reduceat(values, self.bounds[:-1])[self.group])
        return top[np.r_[True, self.group[top][1:] != self.group[top][:-1]]]

    def figures(self, scores, kind):
        """Top-1, top-3 and probability regret on a kind of choices."""
        target, taken, rows = self.best(self.log_prob), self.best(scores), np.arange(len(scores))
        mine, place = scores[target][self.group], target[self.group]
        before = (scores > mine) | ((scores == mine) & (rows < place))
        ahead = np.add.reduceat(before.astype(int), self.bounds[:-1])
        regret = np.exp(self.log_prob[target]) - np.exp(self.log_prob[taken])
        mean = lambda v: float((v[kind] * self.weight[kind]).sum() / self.weight[kind].sum())
        return {"choices": int(kind.sum()), "top1": mean(ahead == 0), "top3": mean(ahead < 3), "regret": mean(regret)}


def boost(train, args):
    ratio = train.log_prob - np.maximum.reduceat(train.log_prob, train.bounds[:-1])[train.group]
    data = lightgbm.Dataset(train.x, np.maximum(ratio, LOG_FLOOR), weight=(train.weight / train.sizes)[train.group])
    recipe = {"objective": "l2", "learning_rate": 0.1, "num_leaves": 63, "min_data_in_leaf": 50, "verbose": -1}
    return lightgbm.train(recipe | {"num_threads": args.threads, "seed": args.seed}, data, args.trees)


def softmax(scores, choices):
    """Probabilities within each choice."""
    raised = np.exp(scores - np.maximum.reduceat(scores, choices.bounds[:-1])[choices.group])
    return raised / np.add.reduceat(raised, choices.bounds[:-1])[choices.group]


def cross_entropy(scores, choices, kind):
    """Of the teacher's probabilities under a softmax of scores, in nats."""
    of_choice = np.add.reduceat(-np.exp(choices.log_prob) * np.log(softmax(scores, choices)), choices.bounds[:-1])
    return float((of_choice[kind] * choices.weight[kind]).sum() / choices.weight[kind].sum())


def constant_share(train, test, bins=20):
    """Scores of the best single distribution over shares of the cap, by Newton steps on its diagonal."""
    share = lambda c: np.minimum((c.x[:, c.names.index("amount_of_cap")] * bins - 1e-6).astype(int), bins - 1)
    place, score = share(train), np.zeros(bins)
    weight, p = train.weight[train.group], np.exp(train.log_prob)
    for _ in range(200):
        q = softmax(score[place], train)
        slope = np.bincount(place, weight * (p - q), bins)
        score += 0.5 * slope / np.maximum(np.bincount(place, weight * q, bins), 1e-9)
    return score[share(test)]


def boost_softmax(train, test, args):
    """Scores by gradient boosting of the softmax of each choice."""
    p, weight = np.exp(train.log_prob), train.weight[train.group]

    def slopes(scores, _):
        q = softmax(scores, train)
        return weight * (q - p), weight * np.maximum(q * (1 - q), 1e-6)

    recipe = {"objective": slopes, "learning_rate": 0.1, "num_leaves": 63, "min_data_in_leaf": 50, "verbose": -1}
    model = lightgbm.train(recipe | {"num_threads": args.threads, "seed": args.seed}, lightgbm.Dataset(train.x, p), args.trees)
    return model.predict(test.x, num_threads=args.threads)


def amounts(args):
    train = Choices(args.train, "amount", False).thin(args.choices // 5, args.seed)
    test = Choices(args.test, "amount", False)
    scores = {"one distribution of shares": constant_share(train, test), "boosting": boost_softmax(train, test, args)}
    kinds = {"free": test.free, "affinity": ~test.free, "all": np.ones(len(test.free), bool)}
    for kind, where in kinds.items():
        for model, values in scores.items():
            figure = cross_entropy(values, test, where)
            print(f"{'amount':8}{kind:9} {model:28} cross-entropy {figure:.3f}  {int(where.sum())} test choices")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--of", action="append", metavar="LEVEL/KIND", help="which choices, repeatable; those of `dag` if left out")
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--choices", type=int, default=100_000, help="training choices of each kind at most")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--amount", action="store_true", help="cross-entropy of amounts instead of the other levels")
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    if args.amount:
        return amounts(args)
    rows = []
    for level, one in [of.split("/") for of in args.of or ()] or [("job", None), ("stage", None)]:
        alone = one is not None or level == "job"
        train = Choices(args.train, level, alone, one or "free").thin(args.choices, args.seed)
        test = Choices(args.test, level, alone, one or "free")
        boosted = boost(train, args).predict(test.x, num_threads=args.threads)
        kinds = [(one or "free", lambda c: c.free)] + ([] if alone else [("affinity", lambda c: ~c.free)])
        for kind, where in kinds:
            part = train.select(where(train))
            everywhere = np.ones(len(part.weight), bool)
            rules = [(column, sign) for column in range(len(train.names)) for sign in (1.0, -1.0)]
            top1 = [part.figures(s * part.x[:, c].astype(float), everywhere)["top1"] for c, s in rules]
            column, sign = rules[int(np.argmax(top1))]
            rule = test.figures(sign * test.x[:, column].astype(float), where(test))
            name = ("largest " if sign > 0 else "smallest ") + train.names[column]
            trained = {"training_choices": len(part.weight)}
            rows.append({"level": level, "kind": kind, "model": name} | trained | rule)
            rows.append({"level": level, "kind": kind, "model": "boosting"} | trained | test.figures(boosted, where(test)))
    for r in rows:
        print(f"{r['level']:6}{r['kind']:9} {r['model']:28} top-1 {r['top1']:.3f}  top-3 {r['top3']:.3f}  "
              f"regret {r['regret']:.4f}  {r['choices']} test choices, {r['training_choices']} training choices")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
