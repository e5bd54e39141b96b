#!/usr/bin/env python3
"""Write what scikit-learn and shap say about small trees, for tests/integration/explainer_reference.rs.

    cargo run --release --example synthetic_data -- DIR small=2000
    pip install numpy==2.4.6 scikit-learn==1.9.1 shap==0.51.0
    python scripts/explainer_reference.py DIR tests/explainer_reference

One JSON file for each of three trees: an 8-class classifier, a regressor, and a weighted regressor. The test makes the same
rows again from their seed, so the files hold no features. Numbers are rounded to 13 significant digits but for the trees'.
"""
import json
import sys
from pathlib import Path

import numpy as np
import shap
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import accuracy_score, r2_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_random_state

BACKGROUND = slice(0, 100)  # rows
PERMUTED = slice(0, 300)
REPEATS = 3


def numbers(array):
    return [float(f"{v:.13g}") for v in np.asarray(array, dtype=float).ravel()]


def arrays(model):
    """The tree as it is: every digit counts."""
    t = model.tree_
    return {
        "feature": t.feature.tolist(),
        "threshold": t.threshold.tolist(),
        "left": t.children_left.tolist(),
        "right": t.children_right.tolist(),
        "missing_go_to_left": [bool(m) for m in t.missing_go_to_left],
        "outputs": int(t.value.shape[1] * t.value.shape[2]),
        "value": t.value.ravel().tolist(),
        "impurity": t.impurity.tolist(),
        "n_node_samples": t.n_node_samples.tolist(),
        "weighted_n_node_samples": t.weighted_n_node_samples.tolist(),
    }


def shap_values(model, X, path_rows, background_rows, interaction_rows):
    path = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    against = shap.TreeExplainer(model, data=X[BACKGROUND], feature_perturbation="interventional")
    return {
        "path_rows": path_rows,
        "path_base": numbers(path.expected_value),
        "path": numbers(path.shap_values(X[path_rows])),
        "background_rows": background_rows,
        "background_base": numbers(against.expected_value),
        "background": numbers(against.shap_values(X[background_rows])),
        "interaction_rows": interaction_rows,
        "interaction": numbers(path.shap_interaction_values(X[interaction_rows])),
    }


def dependence(model, X, feature, weight):
    column = X[:, feature].astype(np.float64)
    grid = np.unique(np.quantile(column, np.linspace(0, 1, 9)).astype(np.float32))
    result = partial_dependence(
        model, X, [feature], method="brute", kind="average", sample_weight=weight,
        custom_values={feature: grid},
    )
    average = result["average"]  # shape (outputs, grid)
    return {"feature": feature, "grid": grid.tolist(), "average": [float(v) for v in average.T.ravel()]}


def permutation(model, X, y, weight, seed):
    X, y = X[PERMUTED], y[PERMUTED]
    weight = None if weight is None else weight[PERMUTED]
    found = permutation_importance(model, X, y, n_repeats=REPEATS, random_state=seed, sample_weight=weight)
    # scikit-learn starts every column from the same seed, shuffles one list again and again, and applies it to the column as
    # the time before left it.
    state = check_random_state(check_random_state(seed).randint(np.iinfo(np.int32).max + 1))
    order, lists = np.arange(len(X)), [np.arange(len(X))]
    for _ in range(REPEATS):
        state.shuffle(order)
        lists.append(lists[-1][order])
    lists = lists[1:]
    score = accuracy_score if hasattr(model, "predict_proba") else r2_score
    baseline = score(y, model.predict(X), sample_weight=weight)
    for column in range(X.shape[1]):
        for repeat, shuffled in enumerate(lists):
            changed = X.copy()
            changed[:, column] = X[shuffled, column]
            drop = baseline - score(y, model.predict(changed), sample_weight=weight)
            assert abs(drop - found.importances[column, repeat]) < 1e-12, "these are the permutations"
    return {
        "rows": len(X),
        "repeats": REPEATS,
        "permutations": np.concatenate(lists).tolist(),
        "baseline": float(baseline),
        "drops": [float(v) for v in found.importances.ravel()],
    }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    X, y, target, w = (np.load(data / f"small_{name}.npy") for name in ("X", "y", "yreg", "w"))
    cases = {
        "classifier": (DecisionTreeClassifier(max_leaf_nodes=40, random_state=0), y, None, [3, 700, 1999], [5, 1500], [42]),
        "regressor": (DecisionTreeRegressor(max_leaf_nodes=40, random_state=0), target, None,
                      list(range(0, 2000, 100)), list(range(150, 2000, 150)), [7, 1234]),
        "weighted": (DecisionTreeRegressor(max_leaf_nodes=25, random_state=0), target, w,
                     list(range(50, 2000, 100)), list(range(100, 2000, 150)), [8, 1235]),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, (model, goal, weight, *rows) in cases.items():
        model.fit(X, goal, sample_weight=weight)
        used = np.argsort(-model.feature_importances_)[:3]
        text = {
            "tree": arrays(model),
            "shap": shap_values(model, X, *rows),
            "partial_dependence": [dependence(model, X, int(f), weight) for f in used],
            "permutation": permutation(model, X, goal, weight, seed=17),
        }
        path = out / f"{name}.json"
        path.write_text(json.dumps(text, separators=(",", ":")) + "\n")
        print(path, path.stat().st_size, "bytes", model.get_n_leaves(), "leaves, depth", model.get_depth())


if __name__ == "__main__":
    main()
