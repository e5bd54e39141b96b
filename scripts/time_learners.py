#!/usr/bin/env python3
"""Times the tree learner beside scikit-learn and LightGBM: one thread, in turn, medians of CPU seconds.

    cargo build --release --example synthetic_data --example time_tree
    target/release/examples/synthetic_data DIR
    pip install numpy==2.4.6 scikit-learn==1.9.1 lightgbm==4.7.0
    python scripts/time_learners.py DIR [--sets 100k,1m] [--rounds 3]

Ours runs as `target/release/examples/time_tree`, which times the fit alone, as the others are timed. All learn trees of
200 leaves. Two threads and weights are compared with our own single thread and unit weights.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

os.environ["OMP_NUM_THREADS"] = "1"
import lightgbm
import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

ROOT = pathlib.Path(__file__).parents[1]
LEAVES = 200


def ours(directory, name, *options, threads=1):
    program = ROOT / "target/release/examples/time_tree"
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    line = subprocess.run([program, directory, name, *options, "repeats=1"], env=environment, check=True,
                          capture_output=True, text=True).stdout
    result = json.loads(line)
    return result["cpu_s"], result["wall_s"], result["score"]


def timed(work, score):
    cpu, wall = time.process_time(), time.perf_counter()
    model = work()
    return time.process_time() - cpu, time.perf_counter() - wall, score(model)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--sets", default="100k,1m")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    load = lambda name, part: np.load(pathlib.Path(args.directory) / f"{name}_{part}.npy")
    test = {part: load("test100k", part) for part in ("X", "y", "yreg")}
    variance = test["yreg"].var()
    accuracy = lambda model: float((model.predict(test["X"]) == test["y"]).mean())
    r2 = lambda model: 1 - float(((model.predict(test["X"]) - test["yreg"]) ** 2).mean()) / variance
    boosting = dict(num_leaves=LEAVES, learning_rate=1.0, min_data_in_leaf=5, num_threads=1, verbose=-1, seed=0,
                    deterministic=True, force_col_wise=True, max_bin=255, objective="regression")
    for name in args.sets.split(","):
        x, y, target, weight = (load(name, part) for part in ("X", "y", "yreg", "w"))
        classifier = lambda: DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0)
        regressor = lambda: DecisionTreeRegressor(max_leaf_nodes=LEAVES, random_state=0)
        boost = lambda: lightgbm.train(boosting, lightgbm.Dataset(x, label=target, params=boosting), 1)
        cases = {
            "scikit-learn gini": lambda: timed(lambda: classifier().fit(x, y), accuracy),
            "ours gini": lambda: ours(args.directory, name, "classes", "exact"),
            "scikit-learn squared error": lambda: timed(lambda: regressor().fit(x, target), r2),
            "ours squared error": lambda: ours(args.directory, name, "values", "exact"),
            "ours squared error weighted": lambda: ours(args.directory, name, "values", "exact", "weighted"),
            "ours gini weighted": lambda: ours(args.directory, name, "classes", "exact", "weighted"),
            "ours squared error 2 threads": lambda: ours(args.directory, name, "values", "exact", threads=2),
            "ours gini 2 threads": lambda: ours(args.directory, name, "classes", "exact", threads=2),
            "LightGBM with binning": lambda: timed(boost, r2),
            "ours histogram": lambda: ours(args.directory, name, "values", "histogram"),
            "ours histogram weighted": lambda: ours(args.directory, name, "values", "histogram", "weighted"),
            "ours histogram 2 threads": lambda: ours(args.directory, name, "values", "histogram", threads=2),
        }
        results = {case: [] for case in cases}
        for _ in range(args.rounds):
            for case, run in cases.items():
                results[case].append(run())
        median = lambda case, i: statistics.median(r[i] for r in results[case])
        print(f"{name}: CPU s, wall s, accuracy or R2")
        for case in cases:
            print(f"  {case:30} {median(case, 0):8.3f} {median(case, 1):8.3f} {median(case, 2):8.4f}")
        ratio = lambda a, b, i=0: f"{median(a, i) / median(b, i):.2f}"
        print("  scikit-learn / ours: gini", ratio("scikit-learn gini", "ours gini"), "squared error",
              ratio("scikit-learn squared error", "ours squared error"))
        print("  LightGBM / ours:", ratio("LightGBM with binning", "ours histogram"))
        for case in ("ours gini", "ours squared error", "ours histogram"):
            print(f"  {case}: weighted / unit", ratio(f"{case} weighted", case) if f"{case} weighted" in cases else "-",
                  "wall of 1 / 2 threads", ratio(case, f"{case} 2 threads", 1))


if __name__ == "__main__":
    main()
