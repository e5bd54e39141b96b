#!/usr/bin/env python3
"""Time explanations against shap and scikit-learn, on the same trees and rows, in alternation, one thread each.

    cargo run --release --example synthetic_data -- DATA 100k=100000 test100k=100000
    cargo build --release --example explain_speed
    pip install numpy==2.4.6 scikit-learn==1.9.1 shap==0.51.0
    python scripts/time_explainers.py DATA target/release/examples/explain_speed [ROUNDS]

The trees have 200 leaves and are fitted by scikit-learn on 100,000 rows: a classifier of 8 classes and a regressor. Figures
are medians of CPU seconds over the rounds (default 5). Making an explainer is left out on both sides and shown apart.
Partial dependence is that of one feature on a grid of 50 values.
"""
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

for variable in ("OMP", "MKL", "OPENBLAS"):  # must be set before numpy is loaded
    os.environ[f"{variable}_NUM_THREADS"] = "1"

import numpy as np
import shap
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

sys.path.insert(0, str(Path(__file__).parent))
from explainer_reference import arrays  # noqa: E402

warnings.filterwarnings("ignore")


def cpu_seconds(work):
    """CPU seconds of one run; short work is done over and over, as on the other side."""
    start = time.process_time()
    for runs in itertools.count(1):
        work()
        spent = time.process_time() - start
        if spent >= 0.2:
            return spent / runs


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    data, program = Path(sys.argv[1]), sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) == 4 else 5
    load = lambda name: np.load(data / f"{name}.npy")
    X, rows = load("100k_X"), load("test100k_X")
    y, target = load("test100k_y"), load("test100k_yreg")
    c = DecisionTreeClassifier(max_leaf_nodes=200, random_state=0).fit(X, load("100k_y"))
    g = DecisionTreeRegressor(max_leaf_nodes=200, random_state=0).fit(X, load("100k_yreg"))
    few, some, many = rows[:300], rows[:1000], rows[:10_000]

    def path(model):
        return shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")

    def against(model):
        return shap.TreeExplainer(model, data=X[:100], feature_perturbation="interventional")

    path_c, path_g, against_c, against_g = path(c), path(g), against(c), against(g)
    values = lambda explainer, rows: lambda: explainer.shap_values(rows, check_additivity=False)
    permute = lambda model, rows, goal: lambda: permutation_importance(model, rows, goal, n_repeats=5, random_state=0, n_jobs=1)
    depend = lambda model, kind: lambda: partial_dependence(model, many, [1], method="brute", kind=kind, grid_resolution=50)
    cases = {  # rows, theirs
        "shap path, 8 classes": (10_000, values(path_c, many)),
        "shap path, regression": (10_000, values(path_g, many)),
        "shap path, 8 classes, one row": (1, values(path_c, rows[:1])),
        "shap 100 background rows, 8 classes": (1000, values(against_c, some)),
        "shap 100 background rows, regression": (1000, values(against_g, some)),
        "shap interactions, regression": (300, lambda: path_g.shap_interaction_values(few)),
        "set-up, path, 8 classes": (0, lambda: path(c)),
        "set-up, 100 background rows, 8 classes": (0, lambda: against(c)),
        "set-up, interactions, regression": (0, lambda: path(g)),
        "permutation, accuracy, 10k rows": (0, permute(c, many, y[:10_000])),
        "permutation, R2, 10k rows": (0, permute(g, many, target[:10_000])),
        "permutation, accuracy, 100k rows": (0, permute(c, rows, y)),
        "permutation, R2, 100k rows": (0, permute(g, rows, target)),
        "partial dependence, regression": (0, depend(g, "average")),
        "partial dependence and rows, 8 classes": (0, depend(c, "both")),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, model in (("classifier", c), ("regressor", g)):
            (Path(folder) / f"{name}.json").write_text(json.dumps(arrays(model)))
        ours = subprocess.Popen([program, data, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def answer(case):
            print(case, file=ours.stdin, flush=True)
            return float(ours.stdout.readline())

        figures = {case: ([], []) for case in cases}
        for _ in range(rounds):
            for case, (_, work) in cases.items():
                figures[case][0].append(cpu_seconds(work))
                figures[case][1].append(answer(case))
        ours.stdin.close()
        ours.wait()
    print(f"trees: {c.get_n_leaves()} leaves of depth {c.get_depth()}, {g.get_n_leaves()} of depth {g.get_depth()}; {rounds} rounds")
    print(f"{'case':42} {'theirs':>12} {'ours':>12} {'ratio':>8}")
    for case, (count, _) in cases.items():
        theirs, mine = (statistics.median(list_) for list_ in figures[case])
        shown = [f"{count / t:,.0f}/s" if count else f"{t * 1000:,.2f} ms" for t in (theirs, mine)]
        print(f"{case:42} {shown[0]:>12} {shown[1]:>12} {theirs / mine:8.1f}")


if __name__ == "__main__":
    main()
