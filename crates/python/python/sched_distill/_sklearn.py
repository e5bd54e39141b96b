"""What estimators take from scikit-learn, and checks that they share."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "RegressorMixin",
    "check_classification_targets",
    "check_consistent_length",
    "check_is_fitted",
    "column_or_1d",
    "compute_sample_weight",
    "names_of",
    "needed",
    "validate_data",
    "weights_of",
    "whole",
]

#: What it says of the types that it takes is guessed from its defaults.
validate_data: Any = _validate_data


def whole(name: str, value: Any, least: int = 1) -> int | None:
    """A whole number, or none for no limit."""
    if value is None:
        return None
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be None or a whole number of at least {least}, got {value!r}")
    return int(value)


def needed(name: str, value: Any, least: int = 1) -> int:
    """A whole number."""
    number = whole(name, value, least)
    if number is None:
        raise ValueError(f"{name} must be a whole number of at least {least}, got None")
    return number


def names_of(model: Any) -> list[str]:
    """Names of the features; ``x0``, ``x1``, ... where the data had none."""
    known = getattr(model, "feature_names_in_", None)
    return [f"x{i}" for i in range(model.n_features_in_)] if known is None else [str(name) for name in known]


def weights_of(sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
    """Weights of rows, checked; none for 1 each."""
    return None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
