"""Estimators: all checks of scikit-learn, beside its trees, and models of choice beside plain numpy."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator

from sched_distill.estimators import ChoiceModel, LinearTree, TreeClassifier, TreeRegressor

CHECKED = [TreeClassifier(), TreeRegressor(), LinearTree()]
CHECKS = [pair for estimator in CHECKED for pair in estimator_checks_generator(estimator, expected_failed_checks={})]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[f"{type(e).__name__}-{i}-{c.func.__name__}" for i, (e, c) in enumerate(CHECKS)]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def data(rows: int = 400, features: int = 5, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)).astype(np.float32)
    y = X[:, 0] * 2 + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=rows)
    return X, y, np.digitize(y, [-1, 1]), rng.integers(0, 4, rows).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error"])
def test_trees_are_those_of_scikit_learn(criterion: str, weighted: bool, missing: bool) -> None:
    X, y, classes, w = data()
    if missing:
        if criterion == "absolute_error":
            pytest.skip("scikit-learn has no missing values there")
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    classifies = criterion in ("gini", "entropy")
    ours: Any = (TreeClassifier if classifies else TreeRegressor)(
        criterion=criterion, max_leaf_nodes=12, min_samples_leaf=5, round_thresholds=False
    )
    theirs = (DecisionTreeClassifier if classifies else DecisionTreeRegressor)(
        criterion=criterion, max_leaf_nodes=12, min_samples_leaf=5, random_state=0
    )
    goals, weight = classes if classifies else y, w if weighted else None
    if weighted:
        # Rows of weight 0 count in scikit-learn's least number of rows, and not here.
        X, goals, weight = X[w > 0], goals[w > 0], w[w > 0]
    ours.fit(X, goals, weight)
    theirs.fit(X, goals, weight)
    if criterion == "absolute_error":
        # Medians of few rows are often equally good.
        errors = [np.average(np.abs(model.predict(X) - goals), weights=weight) for model in (ours, theirs)]
        assert errors[0] < 1.01 * errors[1]
        return
    said = [model.predict_proba(X) if classifies else model.predict(X) for model in (ours, theirs)]
    np.testing.assert_allclose(*said, rtol=0, atol=1e-10)
    assert ours.get_n_leaves() == theirs.get_n_leaves() and ours.get_depth() == theirs.get_depth()
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=0, atol=1e-10)


def test_weights_count_as_rows_and_bins_are_nearly_as_good() -> None:
    X, y, classes, w = data()
    several = np.repeat(np.arange(len(X)), w.astype(int))
    for model, goals in ((TreeRegressor(max_leaf_nodes=20), y), (TreeClassifier(max_leaf_nodes=20), classes)):
        weighted, repeated = clone(model).fit(X, goals, w), clone(model).fit(X[several], goals[several])
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-12)
        bins = clone(model).set_params(max_bins=16).fit(X, goals)
        assert bins.score(X, goals) > 0.9 * clone(model).fit(X, goals).score(X, goals)
    balanced = TreeClassifier(max_depth=1, class_weight="balanced").fit(X, classes == 0)
    assert balanced.tree_.json() != TreeClassifier(max_depth=1).fit(X, classes == 0).tree_.json()


def test_monotone_constraints_hold() -> None:
    X, y, classes, _ = data()
    signs = [-1, 0, 1, 0, 0]
    grid = np.linspace(-3, 3, 50)
    for model in (TreeRegressor(monotonic_cst=signs).fit(X, y), TreeClassifier(monotonic_cst=signs).fit(X, classes > 1)):
        for column, sign in ((0, -1), (2, 1)):
            rows = np.repeat(X[:20], len(grid), axis=0)
            rows[:, column] = np.tile(grid, 20)
            said = model.predict_proba(rows)[:, 1] if hasattr(model, "classes_") else model.predict(rows)
            assert (sign * np.diff(said.reshape(20, -1), axis=1) >= -1e-12).all()
    with pytest.raises(ValueError, match="monotone must be empty unless"):
        TreeClassifier(monotonic_cst=signs).fit(X, classes)
    with pytest.raises(ValueError, match="monotonic_cst must hold"):
        TreeRegressor(monotonic_cst=[2, 0, 0, 0, 0]).fit(X, y)


def test_several_outputs_and_linear_leaves() -> None:
    X, y, _, _ = data()
    both = TreeRegressor(max_leaf_nodes=30).fit(X, np.column_stack([y, -y]))
    assert both.predict(X).shape == (400, 2) and both.score(X, np.column_stack([y, -y])) > 0.8
    linear = LinearTree(max_leaf_nodes=8).fit(X, y)
    assert linear.score(X, y) > TreeRegressor(max_leaf_nodes=8).fit(X, y).score(X, y)
    line = LinearTree(max_leaf_nodes=2, ridge=1e-9).fit(X, 3 - 2 * X[:, 1])
    np.testing.assert_allclose(line.predict(X), 3 - 2 * X[:, 1], atol=1e-4)
    with pytest.raises(ValueError, match="NaN"):
        LinearTree().fit(np.full((2, 1), np.nan), [0, 1])


def test_models_pickle_and_copy_to_the_last_bit() -> None:
    X, y, classes, _ = data()
    groups = np.arange(len(X)) // 4
    models = [
        TreeClassifier().fit(X, classes),
        TreeRegressor().fit(X, y),
        LinearTree().fit(X, y),
        ChoiceModel().fit(X, np.exp(y), groups),
    ]
    for model in models:
        for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_text_says_what_the_tree_does() -> None:
    X = np.array([[1.0], [2.0], [3.0], [10.0]])
    tree = TreeClassifier().fit(X, ["a", "a", "b", "b"])
    assert tree.to_text() == "x0 <= 2: a (1 of 2)\nx0 > 2: b (1 of 2)"
    assert tree.to_text(missing=True) == "x0 <= 2 or missing: a (1 of 2)\nx0 > 2: b (1 of 2)"
    tree = TreeRegressor().fit(X, [0.0, 0.0, 1.0, 4.0])
    assert tree.to_text() == "x0 <= 6\n|   x0 <= 2: 0\n|   x0 > 2: 1\nx0 > 6: 4"
    assert TreeRegressor().fit(X, [1.0] * 4).to_text() == "1"
    tree = TreeRegressor().fit([[1.0], [2.0], [np.nan]], [0.0, 0.0, 1.0])
    assert tree.to_text() == "x0 is there: 0\nx0 is missing: 1"
    line = LinearTree(max_leaf_nodes=2, ridge=1e-9).fit(X, [0.0, 1.0, 10.0, 17.0])
    assert line.to_text() == "x0 <= 2: -1 +1 * x0\nx0 > 2: 7 +1 * x0"


def test_parameters_that_cannot_be_are_refused_in_words() -> None:
    X, y, classes, _ = data(50)
    for wrong, words in (
        ({"max_depth": -1}, "max_depth must be None or a whole number of at least 1, got -1"),
        ({"min_samples_leaf": None}, "min_samples_leaf must be a whole number of at least 1, got None"),
        ({"max_bins": 300}, "max_bins must be in 2..=255, got 300"),
        ({"ccp_alpha": float("nan")}, "ccp_alpha must be a number of at least 0"),
        ({"criterion": "gini"}, "criterion must be SquaredError or AbsoluteError for values"),
        ({"criterion": "mse"}, "there is no `mse`"),
    ):
        with pytest.raises(ValueError, match=words):
            TreeRegressor(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="weight is -1 at row 0"):
        TreeClassifier().fit(X, classes, np.full(50, -1.0))
    with pytest.raises(NotFittedError):
        TreeClassifier().apply(X)
    with pytest.raises(ValueError, match="X has 4 features"):
        TreeRegressor().fit(X, y).predict(X[:, :4])


def test_other_threads_run_while_a_tree_grows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 10)).astype(np.float32)
    y = rng.normal(size=100_000)
    fit = threading.Thread(target=lambda: TreeRegressor(max_leaf_nodes=500).fit(X, y))
    fit.start()
    rounds = 0
    while fit.is_alive():
        fit.join(0.001)
        rounds += 1
    assert rounds > 20


SHORT_OF_MEMORY = """
import resource
import time
import numpy as np
from sched_distill.estimators import TreeRegressor
from sched_distill.explainers import TreeExplainer

X, y = np.zeros((3_000_000, 4), np.float32), np.arange(3_000_000.0)
model = TreeRegressor(max_leaf_nodes=4).fit(X[:1000] + y[:1000, None], y[:1000])
explainer = TreeExplainer(model)
explainer.shap_values(X[:100])
# Less than the values or the sums of a fit take; the stack of a thread that has ended is used again.
time.sleep(0.2)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (50 << 20), -1))
try:
    explainer.shap_values(X) if SHAP else model.fit(X, y)
except MemoryError as error:
    assert "no other command is begun here" in str(error), error
    print(sum(range(10)))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux alone says how much is used")
@pytest.mark.parametrize("shap", ["True", "False"])
def test_the_end_of_memory_is_an_exception(shap: str) -> None:
    code = SHORT_OF_MEMORY.replace("SHAP", shap)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "45\n", done.stderr


# Models of choice


def choices(count: int = 2000, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(count), rng.integers(2, 6, count))
    X = rng.normal(size=(len(groups), 3)).astype(np.float32)
    scores = X @ [1.5, -1.0, 0.0] + rng.gumbel(size=len(groups))
    best = np.zeros(count) - np.inf
    np.maximum.at(best, groups, scores)
    return X, (scores == best[groups]).astype(float), groups


def test_a_logit_is_the_most_probable_one() -> None:
    X, y, groups = choices()
    model = ChoiceModel(ridge=0).fit(X, y, groups)

    def slope(coefficients: Any) -> Any:
        parts = np.exp(X @ coefficients)
        return X.T @ (y - parts / np.bincount(groups, parts)[groups]) / len(np.unique(groups))

    assert np.abs(slope(model.coef_)).max() < 1e-6
    np.testing.assert_allclose(model.coef_, [1.5, -1, 0], atol=0.15)
    assert [term.words for term in model.terms_] == ["x0", "x1", "x2"]
    assert all(0.01 < term.standard_error < 0.2 for term in model.terms_)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_, atol=1e-5)
    assert model.score(X, y, groups) > 0.6
    np.testing.assert_allclose(np.bincount(groups, model.predict_proba(X, groups)), 1)


def test_the_order_of_rows_and_the_names_of_groups_do_not_count() -> None:
    X, y, groups = choices()
    order = np.random.default_rng(3).permutation(len(X))
    names = np.array([f"group {g:05}" for g in groups])
    plain, shuffled = ChoiceModel().fit(X, y, groups), ChoiceModel().fit(X[order], y[order], names[order])
    np.testing.assert_allclose(plain.coef_, shuffled.coef_, atol=1e-9)
    assert plain.score(X, y, groups) == pytest.approx(shuffled.score(X[order], y[order], names[order]))
    twice = ChoiceModel().fit(np.vstack([X, X]), np.r_[y, y], np.r_[groups, groups + groups.max() + 1])
    np.testing.assert_allclose(plain.coef_, twice.coef_, atol=1e-9)
    weighted = ChoiceModel().fit(X, y, groups, sample_weight=np.where(groups < 1000, 2.0, 0.0))
    half = groups < 1000
    np.testing.assert_allclose(weighted.coef_, ChoiceModel().fit(X[half], y[half], groups[half]).coef_, atol=1e-9)


def test_an_additive_model_finds_the_step() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(800), 4)
    X = rng.random((3200, 3)).astype(np.float32)
    parts = np.exp(2.0 * (X[:, 0] > 0.5) - 3.0 * X[:, 1])
    y = parts / np.bincount(groups, parts)[groups]
    model = ChoiceModel("additive", max_terms=4).fit(X, y, groups)
    assert any(term.words.startswith("[x0 > 0.") for term in model.terms_)
    np.testing.assert_allclose(model.predict_proba(X, groups), y, atol=0.05)
    assert model.score(X, y, groups) > ChoiceModel().fit(X, y, groups).score(X, y, groups)


def test_choices_that_cannot_be_learnt_from_are_refused_in_words() -> None:
    X, y, groups = choices(50)
    for words, change in (
        ("groups: which choice", {"groups": None}),
        ("y of group 0: none must be negative", {"y": np.where(groups == 0, 0, y)}),
        ("y of group 0: none must be negative", {"y": np.where(np.arange(len(y)) == 0, -1, y)}),
        ("clusters: the rows of group 0", {"clusters": np.arange(len(y))}),
        ("feature 1 never differs within a choice", {"X": np.where([False, True, False], groups[:, None], X)}),
    ):
        with pytest.raises(ValueError, match=words):
            ChoiceModel().fit(**{"X": X, "y": y, "groups": groups, **change})
    with pytest.raises(ValueError, match="kind must be 'logit' or 'additive', got 'probit'"):
        ChoiceModel("probit").fit(X, y, groups)  # type: ignore[arg-type]
    constant = np.where([False, True, False], groups[:, None], X)
    left = ChoiceModel(constant="leave_out", interactions=[(0, 1)]).fit(constant, y, groups)
    assert [term.words for term in left.terms_] == ["x0", "x2", "x0 * x1"]


def test_models_of_choice_are_chosen_by_groups() -> None:
    import sklearn

    X, y, groups = choices(100)
    with sklearn.config_context(enable_metadata_routing=True):
        model = ChoiceModel().set_fit_request(groups=True).set_score_request(groups=True)
        scores = cross_val_score(model, X, y, params={"groups": groups}, cv=GroupKFold(3))
        assert len(scores) == 3 and scores.mean() > 0.5
        search = GridSearchCV(model, {"ridge": [1e-4, 1.0]}, cv=GroupKFold(3)).fit(X, y, groups=groups)
        assert search.best_params_["ridge"] in (1e-4, 1.0)


@pytest.mark.parametrize("page", ["estimators", "shapley"])
def test_examples_of_the_pages_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[3] / "docs" / "python" / f"{page}.md").read_text()
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, f"{page}.md", "exec"), names)
    assert capsys.readouterr().out
