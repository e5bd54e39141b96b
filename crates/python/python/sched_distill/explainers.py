"""Shapley values of trees, and why one candidate of a group and not another."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._core import ShapCore, explain_against
from ._trees import Trees, trees_of

__all__ = ["Explanation", "TreeExplainer", "explain_pair", "shap_trees"]


@dataclass
class Explanation:
    """Shapley values, with the fields of shap's class of that name, which takes its place where shap is installed."""

    #: (rows, features), or (rows, features, outputs) where there are several outputs.
    values: NDArray[np.float64]
    #: What the model says where nothing is known: (rows,) or (rows, outputs).
    base_values: Any
    #: The rows.
    data: Any
    feature_names: list[str]


def _explanation(shown: Any = None, **fields: Any) -> Any:
    try:
        import shap  # type: ignore[import-untyped,import-not-found,unused-ignore]  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
    except ImportError:
        return Explanation(**fields)
    return shap.Explanation(**fields, display_data=shown)


def _named(trees: Trees, X: Any, given: ArrayLike | None) -> list[str]:
    """Names of the features: those given, the model's, the columns' of a table, or ``x0``, ``x1``, ..."""
    names = given if given is not None else trees.names if trees.names is not None else getattr(X, "columns", None)
    found = [f"x{i}" for i in range(trees.width)] if names is None else [str(name) for name in np.asarray(names)]
    if len(found) != trees.width:
        raise ValueError(f"feature_names has {len(found)} names, but there are {trees.width} features")
    return found


class TreeExplainer:
    """Shapley values of a tree or a sum of trees: exact, for any depth, and the same for any number of threads.

    Args:
        model: A fitted ``TreeClassifier`` or ``TreeRegressor``; a decision tree or a forest of scikit-learn; a model of LightGBM or
            XGBoost, or its JSON: what ``dump_model()`` gives, or a file that ``save_model("model.json")`` wrote. Of boosted models the
            sum of the trees is explained, before any link to probabilities. A ``LinearTree`` or ``ChoiceModel`` with ``data`` only.
        data: Background rows, (rows, features), some 100: a feature that is not known takes the value of one of them, on average. None
            lets it go both ways of a test, by the training weight (shap's ``tree_path_dependent``).
        feature_names: Names of the features; None for the model's or those of the rows' columns.

    Attributes:
        expected_value: What the model says where nothing is known: a number, or one for each output.
    """

    def __init__(self, model: Any, data: ArrayLike | None = None, *, feature_names: ArrayLike | None = None) -> None:
        self._trees = trees = trees_of(model)
        self._names = feature_names
        background = None if data is None else trees.rows(data, "data")
        if background is not None and not len(background):
            raise ValueError("data has no rows; wanted is at least one")
        self._core: ShapCore | None = None
        self._background: NDArray[np.float32] | None = None
        if trees.is_plain:
            self._core = ShapCore(trees.parts, trees.outputs, trees.width, background)
            base = np.array(self._core.base_value)
        elif background is not None:
            self._background = background.copy()
            base = trees.parts[0][0].predict(background).mean(axis=0)
        else:
            raise ValueError(f"{type(model).__name__} has values against background rows alone: give data")
        base = base + trees.offset
        self.expected_value: Any = float(base[0]) if trees.outputs == 1 else base

    def shap_values(self, X: ArrayLike) -> NDArray[np.float64]:
        """What each feature adds to the model's output over ``expected_value``.

        Args:
            X: Rows, (rows, features).

        Returns:
            (rows, features), or (rows, features, outputs) where there are several outputs.
        """
        trees, rows = self._trees, self._trees.rows(X)
        if self._core is not None:
            values = self._core.explain(rows)
        else:
            assert self._background is not None  # checked where it was made
            values = explain_against(trees.parts, trees.outputs, rows, self._background)
        return values[..., 0] if trees.outputs == 1 else values

    def __call__(self, X: ArrayLike) -> Any:
        """The same as an ``Explanation``: shap's where it is installed, so that its plots take it, else one of the same four fields."""
        values = self.shap_values(X)
        return _explanation(
            values=values,
            base_values=np.tile(self.expected_value, (len(values), *(1,) * np.ndim(self.expected_value))),
            data=np.asarray(X),
            feature_names=_named(self._trees, X, self._names),
        )


def explain_pair(
    model: Any,
    X: ArrayLike,
    group: Any,
    a: int,
    b: int,
    *,
    output: int | None = None,
    feature_names: ArrayLike | None = None,
) -> Any:
    """Why candidate ``a`` and not ``b`` in this group: the difference of their Shapley values against the group as background.

    What is the same for all candidates of a group has no part in it, however much it moves all scores together. The values add up to
    the difference of the scores. They are exact for trees, also of linear leaves, and sums of trees or of terms.

    Args:
        model: As of :class:`TreeExplainer`, and ``ChoiceModel`` and ``LinearTree``.
        X: Rows, (rows, features).
        group: The rows of the group: a mask, places, a slice, or None for all of them.
        a: The place of the one candidate in the group, from 0.
        b: The place of the other one.
        output: The output that counts; the last one if None: of two classes, the second.
        feature_names: Names of the features; None for the model's or those of the rows' columns.

    Returns:
        An ``Explanation`` with values of the shape (features,), base value 0 and the features of ``a``; shap shows both candidates'.
    """
    trees = trees_of(model)
    every = np.asarray(X)
    rows = every if group is None else every[group if isinstance(group, slice) else np.asarray(group)]
    seen = trees.rows(rows)
    for name, place in (("a", a), ("b", b)):
        if not 0 <= place < len(seen):
            raise IndexError(f"{name} is {place}, but the group has {len(seen)} candidates, from 0 on")
    which = trees.outputs - 1 if output is None else output
    if not 0 <= which < trees.outputs:
        raise IndexError(f"output is {output}, but the model has {trees.outputs}, from 0 on")
    ours, theirs = explain_against(trees.parts, trees.outputs, seen[[a, b]], seen)[..., which]
    return _explanation(
        shown=np.array([f"{float(x):.4g} against {float(y):.4g}" for x, y in zip(rows[a], rows[b], strict=True)]),
        values=ours - theirs,
        base_values=0.0,
        data=rows[a],
        feature_names=_named(trees, X, feature_names),
    )


def shap_trees(model: Any) -> dict[str, Any]:
    """A fitted ``TreeClassifier`` or ``TreeRegressor`` as ``shap.TreeExplainer`` takes it: a dictionary with its arrays."""
    trees = trees_of(model)
    if not trees.is_plain or not hasattr(model, "tree_") or type(model).__module__.startswith("sklearn."):
        raise ValueError(f"{type(model).__name__} is none of our trees of one value per leaf; shap takes scikit-learn's as they are")
    return {"trees": [_shap_tree(json.loads(core.json())) for core, _ in trees.parts]}


def _shap_tree(tree: dict[str, Any]) -> dict[str, Any]:
    inner = np.array(tree["left"]) < len(tree["left"])
    left, right = (np.where(inner, np.array(tree[side]), -1) for side in ("left", "right"))
    return {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(tree["default_left"], left, right),
        "features": np.where(inner, np.array(tree["feature"]), -2),
        "thresholds": np.where(inner, np.array(tree["threshold"], np.float64), -2.0),
        "values": np.array(tree["value"]).reshape(len(left), -1),
        "node_sample_weight": np.array(tree["weight"]),
    }
