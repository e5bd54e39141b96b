"""Shapley values and pairs: beside brute force, shap, LightGBM and XGBoost."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sched_distill.estimators import ChoiceModel, LinearTree, TreeClassifier, TreeRegressor
from sched_distill.explainers import Explanation, TreeExplainer, explain_pair, shap_trees

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
Y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * RNG.normal(size=300)
CLASSES = np.digitize(Y, [0.0, 1.0])
GROUPS = np.arange(300) // 6
FEW, BACKGROUND = X[:8], X[100:130]
HOLES = np.where(RNG.random(X.shape) < 0.15, np.nan, X).astype(np.float32)


def shapley(worth: Callable[[tuple[int, ...]], Any], width: int = 4) -> Any:
    """Shapley values of a game by its definition: (players, ...)."""
    values = []
    for player in range(width):
        others = [p for p in range(width) if p != player]
        sets = [s for size in range(width) for s in itertools.combinations(others, size)]
        weight = [math.factorial(len(s)) * math.factorial(width - len(s) - 1) / math.factorial(width) for s in sets]
        values.append(sum(w * (worth((*s, player)) - worth(s)) for w, s in zip(weight, sets, strict=True)))
    return np.array(values)


def against(predict: Callable[[Any], Any], row: Any, background: Any) -> Any:
    def worth(known: tuple[int, ...]) -> Any:
        mixed = np.array(background)
        mixed[:, list(known)] = row[list(known)]
        return predict(mixed).mean(axis=0)

    return shapley(worth)


def by_paths(model: Any, row: Any) -> Any:
    """Path-dependent values of one of our trees."""
    tree = json.loads(model.tree_.json())
    outputs = tree.get("outputs", 1)

    def worth(known: tuple[int, ...], node: int = 0) -> Any:
        if tree["left"][node] >= len(tree["left"]):
            return np.array(tree["value"][node * outputs : (node + 1) * outputs])
        left, right, column = tree["left"][node], tree["right"][node], tree["feature"][node]
        if column in known:
            goes_left = tree["default_left"][node] if np.isnan(row[column]) else row[column] <= np.float32(tree["threshold"][node])
            return worth(known, left if goes_left else right)
        share = tree["weight"][left] / (tree["weight"][left] + tree["weight"][right])
        return share * worth(known, left) + (1 - share) * worth(known, right)

    return shapley(worth)


OURS = {
    "classes": TreeClassifier(max_leaf_nodes=12).fit(X, CLASSES),
    "numbers": TreeRegressor(max_leaf_nodes=12).fit(X, Y, np.arange(300) % 3),
    "several": TreeRegressor(max_leaf_nodes=12).fit(X, np.column_stack([Y, -X[:, 3]])),
    "deep": TreeRegressor().fit(X, Y),
    "missing": TreeRegressor(max_leaf_nodes=12).fit(HOLES, Y),
}


def say(model: Any) -> Callable[[Any], Any]:
    return model.predict_proba if hasattr(model, "classes_") else model.predict


@pytest.mark.parametrize("name", OURS)
def test_our_trees_beside_brute_force(name: str) -> None:
    model, rows = OURS[name], HOLES[:8] if name == "missing" else FEW
    path, many = TreeExplainer(model), TreeExplainer(model, BACKGROUND)
    values, others = path.shap_values(rows), many.shap_values(rows)
    for row, value, other in zip(rows, values, others, strict=True):
        np.testing.assert_allclose(value, by_paths(model, row).reshape(value.shape), rtol=0, atol=1e-10)
        np.testing.assert_allclose(other, against(say(model), row, BACKGROUND), rtol=0, atol=1e-10)
    for explainer, found in ((path, values), (many, others)):
        np.testing.assert_allclose(found.sum(axis=1) + explainer.expected_value, say(model)(rows), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", OURS)
def test_our_trees_beside_shap(name: str) -> None:
    shap = pytest.importorskip("shap")
    model, rows = OURS[name], FEW
    theirs = shap.TreeExplainer(shap_trees(model))
    np.testing.assert_allclose(TreeExplainer(model).shap_values(rows), theirs.shap_values(rows), rtol=0, atol=1e-10)
    np.testing.assert_allclose(TreeExplainer(model).expected_value, theirs.expected_value, rtol=0, atol=1e-10)
    explained = TreeExplainer(model)(rows)
    assert isinstance(explained, shap.Explanation) and explained[0].base_values.shape == theirs(rows)[0].base_values.shape


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_leaf_nodes=15, random_state=0),
        DecisionTreeRegressor(random_state=0),
        RandomForestClassifier(10, max_depth=5, random_state=0),
        ExtraTreesRegressor(10, max_depth=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees_of_scikit_learn_beside_shap(model: Any) -> None:
    shap = pytest.importorskip("shap")
    model.fit(X, CLASSES if hasattr(model, "predict_proba") else Y)
    for background in (None, BACKGROUND):
        theirs = shap.TreeExplainer(model, background)
        ours = TreeExplainer(model, background)
        expected = theirs.shap_values(FEW, check_additivity=False)
        # Against background rows, shap's weights are 32-bit floats: brute force has the last word there.
        np.testing.assert_allclose(ours.shap_values(FEW), expected, rtol=0, atol=1e-10 if background is None else 1e-6)
        np.testing.assert_allclose(ours.expected_value, np.squeeze(theirs.expected_value), rtol=0, atol=1e-10)
    for row, value in zip(FEW, ours.shap_values(FEW), strict=True):
        np.testing.assert_allclose(value, against(say(model), row, BACKGROUND), rtol=0, atol=1e-10)


def test_missing_values_of_scikit_learn() -> None:
    model = DecisionTreeRegressor(max_leaf_nodes=15, random_state=0).fit(HOLES, Y)
    ours = TreeExplainer(model, BACKGROUND)
    for row, value in zip(HOLES[:8], ours.shap_values(HOLES[:8]), strict=True):
        np.testing.assert_allclose(value, against(model.predict, row, BACKGROUND), rtol=0, atol=1e-10)


# Rows whose values 32-bit floats cannot tell apart, and thresholds between them.
FINE = 1e6 + np.round(RNG.normal(size=(300, 4)), 2)


@pytest.mark.parametrize(
    ("params", "rows", "goals"),
    [
        ({"objective": "regression"}, FINE, Y),
        ({"objective": "binary"}, np.float64(HOLES), CLASSES > 1),
        ({"objective": "regression", "use_missing": False}, np.float64(HOLES), Y),
        ({"objective": "regression", "zero_as_missing": True}, np.float64(np.where(HOLES > 0, HOLES, 0)), Y),
        ({"objective": "multiclass", "num_class": 3}, np.float64(X), CLASSES),
        ({"objective": "regression", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}, np.float64(X), Y),
    ],
    ids=["fine", "missing", "missing as zero", "zero as missing", "classes", "forest"],
)
def test_lightgbm_beside_itself(params: dict[str, Any], rows: Any, goals: Any) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    usual = {"verbose": -1, "num_leaves": 8, "min_data_in_leaf": 5, "num_threads": 1}
    model = lightgbm.train({**usual, **params}, lightgbm.Dataset(rows, goals), 12)
    theirs = model.predict(rows[:20], pred_contrib=True).reshape(20, -1, 5)
    if "boosting" in params:
        # What it predicts is the mean of the trees, and yet what it says of them is the sum.
        theirs /= 12
    for source in (model, json.loads(json.dumps(model.dump_model()))):
        ours = TreeExplainer(source)
        values = ours.shap_values(rows[:20]).reshape(20, 4, -1)
        np.testing.assert_allclose(values, theirs[:, :, :4].transpose(0, 2, 1), rtol=0, atol=1e-8)
        np.testing.assert_allclose(np.ravel(ours.expected_value), theirs[0, :, 4], rtol=0, atol=1e-8)

    def predict(x: Any) -> Any:
        return model.predict(x, raw_score="boosting" not in params)

    against_ours = TreeExplainer(model, rows[100:130]).shap_values(rows[:3])
    for row, value in zip(rows[:3], against_ours, strict=True):
        np.testing.assert_allclose(value, against(predict, row, rows[100:130]), rtol=0, atol=1e-8)


def test_a_ranker_of_lightgbm_explains_a_pair() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rows, goals = np.float64(X), np.argsort(np.argsort(Y.reshape(-1, 6), axis=1), axis=1).ravel()
    model = lightgbm.LGBMRanker(n_estimators=10, num_leaves=8, verbose=-1).fit(rows, goals, group=[6] * 50)
    group = GROUPS == 7
    pair = explain_pair(model, rows, group, 4, 1)
    expected = [against(model.predict, rows[group][i], rows[group]) for i in (4, 1)]
    np.testing.assert_allclose(pair.values, expected[0] - expected[1], rtol=0, atol=1e-8)


def test_what_lightgbm_has_beyond_trees_of_thresholds_is_refused() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    usual = {"verbose": -1, "num_leaves": 4, "min_data_in_leaf": 5, "min_data_per_group": 1}
    rows = np.column_stack([RNG.integers(0, 5, 300), X[:, 1]])
    model = lightgbm.train(usual, lightgbm.Dataset(rows, rows[:, 0] % 2, categorical_feature=[0]), 2)
    with pytest.raises(ValueError, match="feature 0 is a category"):
        TreeExplainer(model)
    linear = lightgbm.train({**usual, "linear_tree": True}, lightgbm.Dataset(np.float64(X), Y), 2)
    with pytest.raises(ValueError, match="linear leaves"):
        TreeExplainer(linear)


@pytest.mark.parametrize(
    ("params", "goals"),
    [
        ({"objective": "reg:squarederror"}, Y),
        ({"objective": "binary:logistic", "base_score": 0.3}, CLASSES > 1),
        ({"objective": "binary:logistic"}, CLASSES > 1),
        ({"objective": "multi:softprob", "num_class": 3}, CLASSES),
        ({"objective": "count:poisson"}, CLASSES),
        ({"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5}, Y),
        ({"objective": "reg:squarederror"}, np.column_stack([Y, -Y])),
    ],
    ids=["numbers", "base score", "logistic", "classes", "counts", "dart", "targets"],
)
def test_xgboost_beside_itself(params: dict[str, Any], goals: Any, tmp_path: Any) -> None:
    xgboost = pytest.importorskip("xgboost")
    usual = {"max_depth": 3, "nthread": 1, "seed": 0}
    model = xgboost.train({**usual, **params}, xgboost.DMatrix(HOLES, goals), 10)
    theirs = model.predict(xgboost.DMatrix(HOLES[:20]), pred_contribs=True).reshape(20, -1, 5)
    file = tmp_path / "model.json"
    model.save_model(file)
    for source in (model, file, json.loads(file.read_text())):
        ours = TreeExplainer(source)
        values = ours.shap_values(HOLES[:20]).reshape(20, 4, -1)
        np.testing.assert_allclose(values, theirs[:, :, :4].transpose(0, 2, 1), rtol=0, atol=1e-5)
        np.testing.assert_allclose(np.ravel(ours.expected_value), theirs[0, :, 4], rtol=0, atol=1e-5)

    def predict(x: Any) -> Any:
        return model.predict(xgboost.DMatrix(x), output_margin=True)

    value = TreeExplainer(model, BACKGROUND).shap_values(HOLES[:1])[0]
    np.testing.assert_allclose(value, against(predict, HOLES[0], BACKGROUND), rtol=0, atol=1e-5)


def test_models_of_xgboost_with_early_stopping_and_another_sign_of_missing() -> None:
    xgboost = pytest.importorskip("xgboost")
    rows = np.nan_to_num(HOLES, nan=-999.0)
    model = xgboost.XGBRegressor(n_estimators=60, learning_rate=1.0, early_stopping_rounds=3, missing=-999.0, n_jobs=1)
    model.fit(rows[:200], Y[:200], eval_set=[(rows[200:], Y[200:])], verbose=False)
    assert model.best_iteration < 50
    ours = TreeExplainer(model)
    said = ours.shap_values(rows).sum(axis=1) + ours.expected_value
    np.testing.assert_allclose(said, model.predict(rows), rtol=0, atol=1e-5)


CHOSEN = np.exp(Y)
PAIRS: dict[str, Any] = {
    "logit": ChoiceModel(interactions=[(0, 1)]).fit(X, CHOSEN, GROUPS),
    "additive": ChoiceModel("additive", max_terms=10).fit(X, CHOSEN, GROUPS),
    "linear": LinearTree(max_leaf_nodes=8).fit(X, Y),
    "sklearn": RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, CLASSES),
    **OURS,
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_beside_brute_force(name: str) -> None:
    model, rows = PAIRS[name], HOLES if name == "missing" else X
    members = np.flatnonzero(GROUPS == 3)
    group = rows[members]
    expected = [against(say(model), group[i], group) for i in (2, 5)]
    said = say(model)(group[[2, 5]])
    outputs = 1 if said.ndim == 1 else said.shape[1]
    for output in range(outputs):
        for which in (members, GROUPS == 3, slice(18, 24)):
            pair = explain_pair(model, rows, which, 2, 5, output=output)
            difference = (expected[0] - expected[1]).reshape(4, outputs)[:, output]
            np.testing.assert_allclose(pair.values, difference, rtol=0, atol=1e-10)
            np.testing.assert_allclose(pair.values.sum(), np.subtract(*said.reshape(2, -1)[:, output]), rtol=0, atol=1e-10)
    last = explain_pair(model, group, None, 2, 5)
    np.testing.assert_array_equal(last.values, explain_pair(model, group, None, 2, 5, output=outputs - 1).values)
    values = TreeExplainer(model, group).shap_values(group[[2, 5]]).reshape(2, 4, -1)[..., -1]
    np.testing.assert_allclose(last.values, values[0] - values[1], rtol=0, atol=1e-10)


def test_a_pair_in_a_large_group_is_exact() -> None:
    group = np.random.default_rng(5).normal(size=(1000, 4)).astype(np.float32)
    for name in ("additive", "numbers", "linear"):
        model = PAIRS[name]
        pair = explain_pair(model, group, None, 999, 1)
        expected = [against(say(model), group[i], group) for i in (999, 1)]
        np.testing.assert_allclose(pair.values, expected[0] - expected[1], rtol=0, atol=1e-10)


def test_the_same_for_any_number_of_rows_and_without_shap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    explainer = TreeExplainer(OURS["classes"], feature_names=["a", "b", "c", "d"])
    found = explainer(X)
    assert isinstance(found, Explanation) and found.feature_names == ["a", "b", "c", "d"]
    assert found.values.shape == (300, 4, 3) and found.base_values.shape == (300, 3) and found.data.shape == (300, 4)
    np.testing.assert_array_equal(found.values[[7]], explainer.shap_values(X[[7]]))
    assert explainer.shap_values(X[:0]).shape == (0, 4, 3)
    one = TreeExplainer(OURS["numbers"])(X)
    assert one.values.shape == (300, 4) and one.base_values.shape == (300,) and one.feature_names[0] == "x0"


def test_what_cannot_be_explained_is_refused_in_words() -> None:
    for model, error, words in (
        (object(), TypeError, "no trees are known in object"),
        (TreeRegressor(), TypeError, "wanted is a fitted tree"),
        (GradientBoostingRegressor().fit(X, Y), TypeError, "no trees are known in GradientBoostingRegressor"),
        (PAIRS["linear"], ValueError, "LinearTree has values against background rows alone: give data"),
        (PAIRS["logit"], ValueError, "ChoiceModel has values against background rows alone: give data"),
    ):
        with pytest.raises(error, match=words):
            TreeExplainer(model)
    explainer = TreeExplainer(OURS["numbers"])
    with pytest.raises(ValueError, match=r"X has the shape \(300, 3\); wanted are \(rows, 4\)"):
        explainer.shap_values(X[:, :3])
    with pytest.raises(ValueError, match="data has no rows"):
        TreeExplainer(OURS["numbers"], X[:0])
    with pytest.raises(ValueError, match="feature_names has 1 names"):
        TreeExplainer(OURS["numbers"], feature_names=["a"])(X)
    with pytest.raises(IndexError, match="b is 6, but the group has 6 candidates"):
        explain_pair(OURS["numbers"], X, GROUPS == 3, 0, 6)
    with pytest.raises(IndexError, match="output is 3, but the model has 3"):
        explain_pair(OURS["classes"], X, GROUPS == 3, 0, 1, output=3)
    with pytest.raises(ValueError, match="shap takes scikit-learn's as they are"):
        shap_trees(DecisionTreeRegressor().fit(X, Y))
