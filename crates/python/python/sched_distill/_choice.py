"""Models of choice: which candidate of a group is taken."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._core import ModelCore
from ._sklearn import (
    BaseEstimator,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    names_of,
    needed,
    validate_data,
    weights_of,
)
from ._terms import Term, terms_of


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
        knots = needed("knots", self.knots)
        if knots > 255:
            raise ValueError(f"knots must be at most 255, got {knots}")
        return {
            "ridge": self.ridge,
            "interactions": [[self._column(f) for f in pair] for pair in self.interactions or []],
            "leave_out_constant": self.constant == "leave_out",
            "max_terms": needed("max_terms", self.max_terms) if self.kind == "additive" else None,
            "products": bool(self.products),
            "bounded": bool(self.bounded),
            "knots": knots,
            "sharpness": float(self.sharpness),
        }

    def _column(self, feature: int | str) -> int:
        names = names_of(self)
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
        of_rows = weights_of(sample_weight, rows)
        weight = np.ones(len(by.sizes)) if of_rows is None else by.sums(of_rows) / by.sizes
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
        self.terms_: list[Term] = terms_of(json.loads(self.model_.json()), names_of(self))
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
        weight = weights_of(sample_weight, scores)
        of_groups = None if weight is None else by.sums(weight) / by.sizes
        return float(np.average(goals[taken] >= by.best(goals), weights=of_groups))
