#!/usr/bin/env python3
"""Makes tests/learner_reference/trees.json: scikit-learn's trees on the synthetic data, for `cargo test`.

    cargo run --release --example synthetic_data -- DIR small=3000
    pip install numpy==2.4.6 scikit-learn==1.9.1
    python scripts/learner_reference.py DIR

The tests make the same rows themselves; they compare partitions, impurities, features, thresholds and the path of
cost-complexity pruning.
"""
import json
import pathlib
import sys

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

LIMITS = {"depth5": dict(max_depth=5), "leaves64": dict(max_leaf_nodes=64),
          "leaves64_min": dict(max_leaf_nodes=64, min_samples_leaf=20, min_impurity_decrease=5e-4)}


def arrays(model):
    tree = model.tree_
    return {"feature": tree.feature.tolist(), "threshold": np.minimum(tree.threshold, np.finfo(np.float32).max).tolist(),
            "left": tree.children_left.tolist(), "right": tree.children_right.tolist(),
            "missing_go_to_left": tree.missing_go_to_left.astype(bool).tolist(), "impurity": tree.impurity.tolist(),
            "n_node_samples": tree.n_node_samples.tolist(),
            "weighted_n_node_samples": tree.weighted_n_node_samples.tolist(),
            "outputs": tree.value.shape[1] * tree.value.shape[2], "value": tree.value.reshape(-1).tolist()}


def main():
    data = pathlib.Path(sys.argv[1])
    x, y, target, weight = (np.load(data / f"small_{part}.npy") for part in ("X", "y", "yreg", "w"))
    shares = np.eye(8)[y] * 0.7 + 0.3 / 8 * (1 + (x[:, 3:4] % 3 - 1) * np.linspace(-1, 1, 8))
    missing = x.copy()
    # Deterministic holes that the tests make too: where the row number and the column agree modulo 11.
    rows, columns = np.indices(x.shape)
    missing[(rows * 7 + columns * 5) % 11 == 0] = np.nan
    cases = []
    for criterion in ("gini", "entropy", "squared_error", "shares", "missing_gini", "missing_squared_error"):
        for weighted in (False, True):
            for name, limits in LIMITS.items():
                if (criterion.startswith("missing") or criterion == "shares") and name == "leaves64":
                    continue
                kind = criterion.removeprefix("missing_")
                classify = kind in ("gini", "entropy")
                model = (DecisionTreeClassifier(criterion=kind, random_state=0, **limits) if classify
                         else DecisionTreeRegressor(random_state=0, **limits))
                model.fit(missing if criterion.startswith("missing") else x,
                          y if classify else shares if kind == "shares" else target,
                          sample_weight=weight if weighted else None)
                tree = arrays(model)
                if kind != "squared_error":
                    tree["value"] = []
                cases.append({"criterion": criterion, "weighted": weighted, "limits": name, "tree": tree})
    constrained = DecisionTreeRegressor(max_leaf_nodes=32, random_state=0, monotonic_cst=[1, -1] + [0] * 22)
    constrained.fit(x, target)
    cases.append({"criterion": "monotone", "weighted": False, "limits": "leaves32", "tree": arrays(constrained)})
    absolute = DecisionTreeRegressor(max_leaf_nodes=16, random_state=0, criterion="absolute_error", min_samples_leaf=10)
    absolute.fit(x[:600], target[:600], sample_weight=weight[:600])
    cases.append({"criterion": "absolute_error", "weighted": True, "limits": "leaves16_min10_rows600",
                  "tree": arrays(absolute)})
    full = DecisionTreeClassifier(random_state=0, max_leaf_nodes=150).fit(x, y, sample_weight=weight)
    path = DecisionTreeClassifier(random_state=0, max_leaf_nodes=150).cost_complexity_pruning_path(x, y, weight)
    pruning = {"tree": arrays(full), "alphas": path.ccp_alphas.tolist(), "impurities": path.impurities.tolist(),
               "leaves": {}}
    for alpha in (1e-4, 1e-3, 5e-3):
        pruned = DecisionTreeClassifier(random_state=0, max_leaf_nodes=150, ccp_alpha=alpha).fit(x, y, weight)
        pruning["leaves"][str(alpha)] = int(pruned.get_n_leaves())
    out = pathlib.Path(__file__).parents[1] / "tests" / "learner_reference" / "trees.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"cases": cases, "pruning": pruning}, separators=(",", ":")) + "\n")
    print(out, out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
