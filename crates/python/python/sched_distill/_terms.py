"""Models in words: terms of sums, and trees as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: The largest 32-bit float, which no present value is above.
_MOST = 3.4028234e38


@dataclass(frozen=True)
class Term:
    """A term of a model of choice."""

    #: E.g. ``wait``, ``ln(1 + wait)``, ``[wait > 5]``, ``(wait - 5)+``; factors of a product with `` * `` between them.
    words: str
    #: Columns of its factors.
    features: tuple[int, ...]
    #: In score per unit of the term.
    coefficient: float
    #: Its deviation around the group's mean: coefficient times deviation is how much it moves scores.
    sd: float
    #: Of the coefficient; none where there is one cluster alone. A search for terms is not in it.
    standard_error: float | None


def _factor(factor: dict[str, Any], names: Sequence[str]) -> str:
    name, threshold = names[int(factor["feature"])], float(factor.get("threshold") or 0.0)
    match factor["shape"]:
        case "log":
            return f"ln(1 + {name})"
        case "above":
            return f"[{name} > {threshold:g}]"
        case "excess":
            return f"({name} {'+' if threshold < 0 else '-'} {abs(threshold):g})+"
        case _:
            return name


def terms_of(model: dict[str, Any], names: Sequence[str]) -> list[Term]:
    """The terms of a sum."""
    return [
        Term(
            " * ".join(_factor(factor, names) for factor in term["factors"]),
            tuple(factor["feature"] for factor in term["factors"]),
            term["coefficient"],
            term["sd"],
            term.get("standard_error"),
        )
        for term in model["terms"]
    ]


def text_of(tree: dict[str, Any], names: Sequence[str], classes: Sequence[Any] | None, missing: bool) -> str:
    """A tree as text: a line for each test, what is below it further to the right, and leaves behind the last one."""
    outputs, linear = tree.get("outputs", 1), tree.get("linear")

    def leaf(node: int) -> str:
        value: list[float] = tree["value"][node * outputs : (node + 1) * outputs]
        if classes is not None:
            best = max(range(outputs), key=lambda k: (value[k], -k))
            return f"{classes[best]} ({value[best]:.3g} of {tree['weight'][node]:g})"
        if linear is None:
            return ", ".join(f"{v:.6g}" for v in value)
        terms = range(linear["start"][node], linear["start"][node + 1])
        parts = [f"{linear['coefficient'][i]:+.6g} * {names[linear['feature'][i]]}" for i in terms]
        return " ".join([f"{linear['intercept'][node]:.6g}", *parts])

    lines: list[str] = []
    # Nodes still to be told, with what comes before them.
    todo = [(0, 0, "")]
    while todo:
        node, depth, test = todo.pop()
        left, right = tree["left"][node], tree["right"][node]
        is_leaf = left >= len(tree["left"])
        said = [test] * bool(test) + [leaf(node)] * is_leaf
        if said:
            lines.append("|   " * (depth - 1) + ": ".join(said))
        if not is_leaf:
            name, threshold, takes = names[tree["feature"][node]], tree["threshold"][node], tree["default_left"][node]
            if threshold >= _MOST:
                # All present values against the missing ones.
                low, high = f"{name} is there", f"{name} is missing"
            else:
                low = f"{name} <= {threshold:.9g}{' or missing' * (missing and takes)}"
                high = f"{name} > {threshold:.9g}{' or missing' * (missing and not takes)}"
            todo += [(right, depth + 1, high), (left, depth + 1, low)]
    return "\n".join(lines)
