"""Trees and models of choice with scikit-learn's conventions (the extra ``sklearn``).

Features are 32-bit floats in the learner, as in scikit-learn's trees: other numbers are rounded to the nearest one, in ``fit`` and
afterwards alike. Fits, predictions and explanations do not keep other threads of Python from running.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

from __future__ import annotations

import json
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        BaseEstimator,
        ClassifierMixin,
        RegressorMixin,
    )
    from sklearn.utils import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        check_consistent_length,
        column_or_1d,
        compute_sample_weight,
    )
    from sklearn.utils.multiclass import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        check_classification_targets,
    )
    from sklearn.utils.validation import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        _check_sample_weight,  # pyright: ignore[reportPrivateUsage]
        check_is_fitted,
        validate_data as _validate_data,
    )
except ImportError as error:
    raise ImportError(
        "sched_distill.estimators needs scikit-learn 1.6 or later: pip install 'sched-distill[sklearn]'"
    ) from error

from ._core import ModelCore
from ._terms import Term, terms_of, text_of

#: What it says of the types that it takes is guessed from its defaults.
validate_data: Any = _validate_data

__all__ = ["ChoiceModel", "LinearTree", "Term", "TreeClassifier", "TreeRegressor"]


def _whole(name: str, value: Any, least: int = 1) -> int | None:
    """A whole number, or none for no limit."""
    if value is None:
        return None
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be None or a whole number of at least {least}, got {value!r}")
    return int(value)


def _needed(name: str, value: Any, least: int = 1) -> int:
    number = _whole(name, value, least)
    if number is None:
        raise ValueError(f"{name} must be a whole number of at least {least}, got None")
    return number


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
            "max_bins": _whole("max_bins", self.max_bins, 2),
            "max_leaf_nodes": _whole("max_leaf_nodes", self.max_leaf_nodes),
            "max_depth": _whole("max_depth", self.max_depth),
            "min_samples_leaf": _needed("min_samples_leaf", self.min_samples_leaf),
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
        return text_of(self._nodes(), _names(self), getattr(self, "classes_", None), missing)


def _names(model: Any) -> list[str]:
    """Names of the features; ``x0``, ``x1``, ... where the data had none."""
    known = getattr(model, "feature_names_in_", None)
    return [f"x{i}" for i in range(model.n_features_in_)] if known is None else [str(name) for name in known]


def _weights(sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
    return None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)


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
        weight = _weights(sample_weight, rows)
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
        weight = _weights(sample_weight, rows)
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
        weight = _weights(sample_weight, rows)
        goals = np.ascontiguousarray(goals, np.float64).reshape(-1, 1)
        self.tree_ = ModelCore.regress(rows, goals, weight, self._recipe(len(rows), weight, float(self.ridge)))
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predictions: (rows,)."""
        return self._predicted(X).ravel()


class _Groups:
    """Rows brought together by group; groups in the order of their labels."""

    def __init__(self, groups: Any, X: Any) -> None:
        if groups is None:
            raise ValueError("groups: which choice each row belongs to is wanted, a label for each row of X")
        labels = column_or_1d(groups)
        check_consistent_length(X, labels)
        self.labels, self.number = np.unique(labels, return_inverse=True)
        self.order = np.argsort(self.number, kind="stable")
        self.sizes = np.bincount(self.number)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])

    def sums(self, of: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of each group."""
        return np.bincount(self.number, of).astype(np.float64)

    def best(self, of: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest of each group."""
        return np.maximum.reduceat(of[self.order], self.starts[:-1])


class ChoiceModel(BaseEstimator):  # type: ignore[misc,unused-ignore]
    """A model of choice: which candidate of a group is taken, or how probable each is.

    A score for each row; within a group, the softmax of the scores gives probabilities. What is minimised is the mean over groups of the
    cross-entropy with the given probabilities, so that differences between candidates of a group count and nothing else.

    Args:
        kind: ``"logit"`` is McFadden's conditional logit: a coefficient for each feature. ``"additive"`` searches for terms: a feature as
            it is, its logarithm, a step or a bend at a threshold, and products of two of these.
        ridge: Penalty: half of it times the squared coefficients of terms scaled to deviation 1 within groups, per unit of weight. 0 for
            none, of a logit alone.
        interactions: Pairs of features, by column or name, whose products a logit has as terms too. That is how what is the same for all
            candidates of a group has a say.
        constant: What a logit does about a feature that never differs within a group: ``"refuse"``, or ``"leave_out"``.
        max_terms: Most terms of an additive model.
        products: Whether its terms may be products.
        bounded: Whether a feature that is never negative counts by its logarithm and by steps alone, so that nothing grows without
            bounds beyond what was seen.
        knots: Thresholds tried for each feature, at most 255.
        sharpness: Power that the probabilities are raised to before an additive model learns them; 1 leaves them as they are. A larger
            one tells the best candidate of a nearly indifferent teacher from the next ones.

    Attributes:
        terms_: The terms with coefficients and standard errors, which allow for any dependence within a cluster.
        coef_: Coefficients of the terms, in score per unit of the term.
    """

    model_: ModelCore
    n_features_in_: int

    def __init__(
        self,
        kind: Literal["logit", "additive"] = "logit",
        *,
        ridge: float = 1e-4,
        interactions: Sequence[tuple[int | str, int | str]] | None = None,
        constant: Literal["refuse", "leave_out"] = "refuse",
        max_terms: int = 32,
        products: bool = True,
        bounded: bool = False,
        knots: int = 15,
        sharpness: float = 1.0,
    ) -> None:
        self.kind = kind
        self.ridge = ridge
        self.interactions = interactions
        self.constant = constant
        self.max_terms = max_terms
        self.products = products
        self.bounded = bounded
        self.knots = knots
        self.sharpness = sharpness

    def _recipe(self) -> dict[str, Any]:
        for name, allowed in (("kind", ("logit", "additive")), ("constant", ("refuse", "leave_out"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be {' or '.join(map(repr, allowed))}, got {getattr(self, name)!r}")
        if self.kind == "additive" and self.interactions:
            raise ValueError("interactions are of a logit; an additive model finds products itself (products=True)")
        if not 0 < self.sharpness < np.inf:
            raise ValueError(f"sharpness must be a positive number, got {self.sharpness!r}")
        knots = _needed("knots", self.knots)
        if knots > 255:
            raise ValueError(f"knots must be at most 255, got {knots}")
        return {
            "ridge": self.ridge,
            "interactions": [[self._column(f) for f in pair] for pair in self.interactions or []],
            "leave_out_constant": self.constant == "leave_out",
            "max_terms": _needed("max_terms", self.max_terms) if self.kind == "additive" else None,
            "products": bool(self.products),
            "bounded": bool(self.bounded),
            "knots": knots,
            "sharpness": float(self.sharpness),
        }

    def _column(self, feature: int | str) -> int:
        names = _names(self)
        if isinstance(feature, str):
            place = names.index(feature) if feature in names else -1
        else:
            place = int(feature)
        if 0 <= place < len(names):
            return place
        raise ValueError(f"interactions: there is no feature {feature!r}; there are {', '.join(names)}")

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fits the model.

        Args:
            X: Features of candidates, (rows, features), finite.
            y: How probable each candidate is, (rows,): 1 for the one taken and 0 for the others, or any numbers that are not negative;
                they are scaled to add up to 1 in each group.
            groups: Which group each row belongs to, (rows,); rows of a group need not stand together.
            sample_weight: Weights, (rows,), not negative; a group has the mean of its rows'. 1 each if None.
            clusters: Which groups belong together, e.g. those of an episode or a person, (rows,), the same for all rows of a group:
                standard errors allow for any dependence among them. Each group is one of its own if None.
        """
        rows, given = validate_data(self, X, y, dtype=np.float32, order="C", y_numeric=True)
        recipe, by = self._recipe(), _Groups(groups, rows)
        probability = np.ascontiguousarray(given, np.float64)
        refused = by.labels[(by.sums(probability) <= 0) | (-by.best(-probability) < 0)]
        if len(refused):
            raise ValueError(f"y of group {refused[0]}: none must be negative, and one must be positive")
        weight = np.ones(len(by.sizes))
        if sample_weight is not None:
            weight = by.sums(_check_sample_weight(sample_weight, rows, dtype=np.float64)) / by.sizes
        cluster = np.arange(len(by.sizes))
        if clusters is not None:
            number = np.unique(column_or_1d(clusters), return_inverse=True)[1]
            check_consistent_length(rows, number)
            cluster = number[by.order[by.starts[:-1]]]
            torn = by.labels[by.number[cluster[by.number] != number]]
            if len(torn):
                raise ValueError(f"clusters: the rows of group {torn[0]} are of several; they must be of one")
        self.model_ = ModelCore.choose(
            rows[by.order],
            probability[by.order],
            by.starts.astype(np.uint64),
            weight,
            cluster.astype(np.uint64),
            recipe,
        )
        self.terms_: list[Term] = terms_of(json.loads(self.model_.json()), _names(self))
        self.coef_ = np.array([term.coefficient for term in self.terms_])
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores: (rows,). The candidate of a group with the highest score is the most probable one."""
        check_is_fitted(self)
        return self.model_.predict(validate_data(self, X, dtype=np.float32, order="C", reset=False)).ravel()

    def predict_proba(self, X: ArrayLike, groups: ArrayLike | None = None) -> NDArray[np.float64]:
        """How probable each candidate of its group is: (rows,), adding up to 1 in each group."""
        scores = self.predict(X)
        by = _Groups(groups, scores)
        parts = np.exp(scores - by.best(scores)[by.number])
        return parts / by.sums(parts)[by.number]

    def score(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
    ) -> float:
        """The share of groups in which the candidate of the highest score (the first of equals) is a most probable one by ``y``."""
        scores = self.predict(X)
        by = _Groups(groups, scores)
        goals = np.asarray(column_or_1d(y), np.float64)
        check_consistent_length(scores, goals)
        order = np.lexsort((np.arange(len(scores)), -scores, by.number))
        taken = order[by.starts[:-1]]
        weight = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        weight = by.sums(weight) / by.sizes
        return float(np.average(goals[taken] >= by.best(goals), weights=weight))
