#!/usr/bin/env python3
"""Times the estimators and explainers of the Python package beside scikit-learn and shap: one thread, in turn, medians of CPU seconds.

    cargo run --release --example synthetic_data -- DATA 100k=100000 test100k=100000
    pip install numpy==2.4.6 scikit-learn==1.9.1 shap==0.51.0 && (cd crates/python && maturin develop --release)
    python scripts/time_python.py DATA [ROUNDS]

The fits and rows are those of scripts/time_learners.py and scripts/time_explainers.py, whose ratios are those of the Rust library.
"""
import os

for variable in ("RAYON", "OMP", "MKL", "OPENBLAS"):  # must be set before the libraries are loaded
    os.environ[f"{variable}_NUM_THREADS"] = "1"

import itertools
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import shap
from sched_distill.estimators import TreeClassifier, TreeRegressor
from sched_distill.explainers import TreeExplainer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

LEAVES = 200
warnings.filterwarnings("ignore")


def cpu_seconds(work):
    """CPU seconds of one run; short work is done over and over."""
    start = time.process_time()
    for runs in itertools.count(1):
        work()
        spent = time.process_time() - start
        if spent >= 0.2:
            return spent / runs


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    rounds = int(sys.argv[2]) if len(sys.argv) == 3 else 5
    load = lambda name: np.load(Path(sys.argv[1]) / f"{name}.npy")
    X, y, target, rows = load("100k_X"), load("100k_y"), load("100k_yreg"), load("test100k_X")
    weight = load("100k_w")
    theirs = {"classes": DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0),
              "regression": DecisionTreeRegressor(max_leaf_nodes=LEAVES, random_state=0)}
    ours = {"classes": TreeClassifier(max_leaf_nodes=LEAVES, round_thresholds=False),
            "regression": TreeRegressor(max_leaf_nodes=LEAVES, round_thresholds=False)}
    goals = {"classes": y, "regression": target}
    cases = {}
    for kind in goals:
        for name, w in (("", None), (" weighted", weight)):
            fit = lambda model, kind=kind, w=w: lambda: model[kind].fit(X, goals[kind], w)
            cases[f"fit {kind}{name}"] = (len(X), fit(theirs), fit(ours))
        model = theirs[kind].fit(X, goals[kind])
        for name, background, count in (("path", None, 10_000), ("100 background rows", X[:100], 1000)):
            how = "tree_path_dependent" if background is None else "interventional"
            a, b = shap.TreeExplainer(model, background, feature_perturbation=how), TreeExplainer(model, background)
            few = rows[:count]
            apart = np.abs(a.shap_values(few[:100], check_additivity=False) - b.shap_values(few[:100])).max()
            assert apart < (1e-10 if background is None else 1e-6), apart  # shap's weights are 32-bit floats there
            cases[f"shap {name}, {kind}"] = (
                count, lambda a=a, few=few: a.shap_values(few, check_additivity=False), lambda b=b, few=few: b.shap_values(few)
            )
    figures = {case: ([], []) for case in cases}
    for _ in range(rounds):
        for case, (_, *both) in cases.items():
            for list_, work in zip(figures[case], both):
                list_.append(cpu_seconds(work))
    print(f"{'case':36} {'theirs':>14} {'ours':>14} {'ratio':>8}   ({rounds} rounds)")
    for case, (count, *_) in cases.items():
        a, b = (statistics.median(list_) for list_ in figures[case])
        print(f"{case:36} {count / a:>12,.0f}/s {count / b:>12,.0f}/s {a / b:8.1f}")


if __name__ == "__main__":
    main()
