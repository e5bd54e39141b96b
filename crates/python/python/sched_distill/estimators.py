"""Trees and models of choice with scikit-learn's conventions (the extra ``sklearn``).

Features are 32-bit floats in the learner, as in scikit-learn's trees: other numbers are rounded to the nearest one, in ``fit`` and
afterwards alike. Fits, predictions and explanations do not keep other threads of Python from running.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

from __future__ import annotations

import json
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._choice import ChoiceModel
from ._core import ModelCore
from ._sklearn import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    check_classification_targets,
    check_is_fitted,
    compute_sample_weight,
    names_of,
    needed,
    validate_data,
    weights_of,
    whole,
)
from ._terms import Term, text_of

__all__ = ["ChoiceModel", "LinearTree", "Term", "TreeClassifier", "TreeRegressor"]


class _Tree(BaseEstimator):  # type: ignore[misc,unused-ignore]
    """What trees have in common. ``tree_`` is the tree as the extension has it, and pickles as its JSON."""

    criterion: str
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    ccp_alpha: float
    monotonic_cst: ArrayLike | None
    max_bins: int | None
    round_thresholds: bool
    tree_: ModelCore
    n_features_in_: int

    #: Whether features may be NaN.
    _missing = True

    def _checked(self, X: Any, *y: Any, **checks: Any) -> Any:
        """Rows, and targets where they are given, which is while it is fitted."""
        finite = "allow-nan" if self._missing else True
        given: dict[str, Any] = {"y": y[0]} if y else {"reset": False}
        return validate_data(self, X, dtype=np.float32, order="C", ensure_all_finite=finite, **given, **checks)

    def _recipe(self, rows: int, weight: NDArray[np.float64] | None, ridge: float | None = None) -> dict[str, Any]:
        signs = [] if self.monotonic_cst is None else np.asarray(self.monotonic_cst).ravel().tolist()
        if any(sign not in (-1, 0, 1) for sign in signs):
            raise ValueError(f"monotonic_cst must hold -1, 0 or 1 for each feature, got {signs}")
        total = float(rows) if weight is None else float(weight.sum())
        return {
            "criterion": self.criterion,
            "max_bins": whole("max_bins", self.max_bins, 2),
            "max_leaf_nodes": whole("max_leaf_nodes", self.max_leaf_nodes),
            "max_depth": whole("max_depth", self.max_depth),
            "min_samples_leaf": needed("min_samples_leaf", self.min_samples_leaf),
            "min_weight_leaf": self.min_weight_fraction_leaf * total,
            "min_impurity_decrease": self.min_impurity_decrease,
            "ccp_alpha": self.ccp_alpha,
            "monotone": [int(sign) for sign in signs],
            "round_thresholds": bool(self.round_thresholds),
            "ridge": ridge,
        }

    def _predicted(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.tree_.predict(self._checked(X))

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """The number of the leaf that each row comes to: (rows,)."""
        check_is_fitted(self)
        return self.tree_.apply(self._checked(X))

    def _nodes(self) -> dict[str, Any]:
        check_is_fitted(self)
        told: dict[str, Any] = json.loads(self.tree_.json())
        return told

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        nodes = self._nodes()
        return (len(nodes["left"]) + 1) // 2

    def get_depth(self) -> int:
        """Number of tests on the longest way to a leaf."""
        nodes = self._nodes()
        depth = [0] * len(nodes["left"])
        for node, (left, right) in enumerate(zip(nodes["left"], nodes["right"], strict=True)):
            if left < len(depth):
                depth[left] = depth[right] = depth[node] + 1
        return max(depth)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each feature in what all splits take away from the impurity, with weights: (features,)."""
        nodes = self._nodes()
        impurity = np.array(nodes["impurity"]) * np.array(nodes["weight"])
        left, right = np.array(nodes["left"]), np.array(nodes["right"])
        inner = np.flatnonzero(left < len(left))
        gain = np.maximum(impurity[inner] - impurity[left[inner]] - impurity[right[inner]], 0.0)
        shares = np.bincount(np.array(nodes["feature"])[inner], gain, minlength=self.n_features_in_).astype(np.float64)
        return shares / (shares.sum() or 1.0)

    def to_text(self, *, missing: bool = False) -> str:
        """It as text to read: a line for each test, with its leaf if it is the last one.

        Args:
            missing: Whether each test says which side takes missing values.
        """
        return text_of(self._nodes(), names_of(self), getattr(self, "classes_", None), missing)


class TreeClassifier(ClassifierMixin, _Tree):  # type: ignore[misc,unused-ignore]
    """A tree for classes: exact or by histograms, weighted, with missing values and monotone constraints.

    Words and meanings are those of ``sklearn.tree.DecisionTreeClassifier``, whose trees these are but for ties, which are decided by
    the lowest feature and then the lowest threshold, and never by chance (docs/learner.md).

    Args:
        criterion: What splits lower: ``"gini"`` or ``"entropy"`` (in bits).
        max_leaf_nodes: Most leaves; the leaf whose split takes away most impurity is split first. None for no limit.
        max_depth: Most tests on the way to a leaf. None for no limit.
        min_samples_leaf: Fewest rows in a leaf; rows of weight 0 do not count.
        min_weight_fraction_leaf: Least share of the weight in a leaf.
        min_impurity_decrease: Least decrease of impurity by a split, times the node's share of the weight.
        ccp_alpha: Cost of a leaf for pruning, in units of the impurity.
        monotonic_cst: For each feature 1 if the probability of the second class must not fall as the feature rises, -1 if it must not
            rise, 0 for no constraint. Two classes only.
        class_weight: Weights of classes by label, or ``"balanced"``.
        max_bins: Bins of a feature between which splits are looked for, 2 to 255. None looks at every gap between two values.
        round_thresholds: Whether a threshold is the shortest decimal in the gap between two values, rather than its middle.

    Features may be NaN: each split learns the side of missing values; where training had none at a split, they go to the heavier side.
    At most 255 classes.
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        criterion: Literal["gini", "entropy"] = "gini",
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: ArrayLike | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        max_bins: int | None = None,
        round_thresholds: bool = True,
    ) -> None:
        self.criterion = criterion
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.max_bins = max_bins
        self.round_thresholds = round_thresholds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grows the tree.

        Args:
            X: Features, (rows, features); NaN is a missing value.
            y: Classes, (rows,).
            sample_weight: Weights of the rows, (rows,), not negative; 1 each if None. A row of weight 0 is as good as absent.
        """
        rows, labels = self._checked(X, y)
        check_classification_targets(labels)
        weight = weights_of(sample_weight, rows)
        if self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, labels)
            weight = of_class if weight is None else weight * of_class
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        recipe = self._recipe(len(rows), weight)
        self.tree_ = ModelCore.classify(rows, numbers.astype(np.uint32), len(self.classes_), weight, recipe)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes: (rows, classes), classes as in ``classes_``."""
        return self._predicted(X)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithms of the probabilities: (rows, classes)."""
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each row, the first of equals: (rows,)."""
        best = self._predicted(X).argmax(axis=1)
        classes: NDArray[Any] = self.classes_[best]
        return classes


class TreeRegressor(RegressorMixin, _Tree):  # type: ignore[misc,unused-ignore]
    """A tree for numbers, one or several of each row.

    Args:
        criterion: What splits lower: ``"squared_error"`` (leaves are means) or ``"absolute_error"`` (leaves are medians; one number).
        monotonic_cst: For each feature 1 if the prediction must not fall as the feature rises, -1 if it must not rise, 0 for no
            constraint. Squared error and one number only.

    The others are those of :class:`TreeClassifier`; with ``"absolute_error"`` there are no bins.
    """

    n_outputs_: int

    def __init__(
        self,
        *,
        criterion: Literal["squared_error", "absolute_error"] = "squared_error",
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: ArrayLike | None = None,
        max_bins: int | None = None,
        round_thresholds: bool = True,
    ) -> None:
        self.criterion = criterion
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.round_thresholds = round_thresholds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grows the tree.

        Args:
            X: Features, (rows, features); NaN is a missing value.
            y: Numbers, (rows,) or (rows, outputs), finite and below 1e140.
            sample_weight: Weights of the rows, (rows,), not negative; 1 each if None.
        """
        rows, goals = self._checked(X, y, y_numeric=True, multi_output=True)
        goals = np.ascontiguousarray(goals, np.float64).reshape(len(rows), -1)
        weight = weights_of(sample_weight, rows)
        self.n_outputs_ = goals.shape[1]
        self.tree_ = ModelCore.regress(rows, goals, weight, self._recipe(len(rows), weight))
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predictions: (rows,), or (rows, outputs) where there are several."""
        found = self._predicted(X)
        return found.ravel() if self.n_outputs_ == 1 else found


class LinearTree(RegressorMixin, _Tree):  # type: ignore[misc,unused-ignore]
    """A tree whose leaves are linear functions of the features that were tested on the way to them.

    It is grown as :class:`TreeRegressor` grows by the squared error; then each leaf is a ridge regression. Features must not be missing.

    Args:
        ridge: Penalty on the squared coefficients of features scaled to deviation 1 within the leaf, per unit of weight; positive.
        max_leaf_nodes: Most leaves. None for no limit.

    The others are those of :class:`TreeClassifier`.
    """

    criterion = "squared_error"
    ccp_alpha = 0.0
    monotonic_cst = None
    _missing = False

    def __init__(
        self,
        *,
        ridge: float = 1e-6,
        max_leaf_nodes: int | None = 16,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_bins: int | None = None,
        round_thresholds: bool = True,
    ) -> None:
        self.ridge = ridge
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_bins = max_bins
        self.round_thresholds = round_thresholds

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grows the tree.

        Args:
            X: Features, (rows, features), finite.
            y: Numbers, (rows,), finite and below 1e140.
            sample_weight: Weights of the rows, (rows,), not negative; 1 each if None.
        """
        rows, goals = self._checked(X, y, y_numeric=True)
        weight = weights_of(sample_weight, rows)
        goals = np.ascontiguousarray(goals, np.float64).reshape(-1, 1)
        self.tree_ = ModelCore.regress(rows, goals, weight, self._recipe(len(rows), weight, float(self.ridge)))
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predictions: (rows,)."""
        return self._predicted(X).ravel()
