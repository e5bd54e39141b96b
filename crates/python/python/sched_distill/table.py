"""Tables that other libraries read, by the Arrow PyCapsule interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core

#: A column: numbers, or text with `None` for what is missing.
Column = NDArray[Any] | list[str | None]

#: Rows that a notebook shows.
SHOWN = 20


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            yield prefix + key, value


def _column(values: list[Any]) -> Column:
    """Numbers with NaN for what is missing; everything else is text."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known) and len(known) == len(values):
        return np.array(values, dtype=np.bool_)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in known) and len(known) == len(values):
        return np.array(values, dtype=np.int64)
    if known and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return [None if value is None else str(value) for value in values]


class Table(Mapping[str, Column]):
    """Columns by name, all of one length: ``polars.DataFrame(table)``, ``pyarrow.table(table)``."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self.columns = dict(columns)

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Table:
        """Objects of JSON, a row each."""
        flat = [dict(_flat(row)) for row in rows]
        names = dict.fromkeys(name for row in flat for name in row)
        # What is an object in some rows is nothing at all in others.
        objects = {name.rpartition(".")[0] for name in names}
        names = dict.fromkeys(name for name in names if name not in objects)
        columns = {name: _column([row.get(name) for row in flat]) for name in names}
        # What says what a row is comes before its figures.
        return cls(dict(sorted(columns.items(), key=lambda column: not isinstance(column[1], list))))

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), []))

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def to_dict(self) -> dict[str, list[Any]]:
        """Lists by name."""
        return {name: list(values) for name, values in self.columns.items()}

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return _core.arrow_stream(
            [(name, values if isinstance(values, list) else np.ascontiguousarray(values)) for name, values in self.items()]
        )

    def __repr__(self) -> str:
        return f"<Table {self.height} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        rows = [{name: self[name][i] for name in self} for i in range(min(self.height, SHOWN))]
        return html_of(rows, self.height)


def brief(value: Any) -> str:
    """A value in a few words: a figure with its interval as ``0.97 [0.95, 0.98]``."""
    if isinstance(value, Mapping):
        known, low, high = (brief(value[key]) for key in ("value", "low", "high"))
        return known if low == high else f"{known} [{low}, {high}]"
    if value is None or value != value:
        return ""
    return f"{value:.3g}" if isinstance(value, (float, np.floating)) else str(value)


def is_brief(value: Any) -> bool:
    """Whether a value is one, or a figure with its interval."""
    return not isinstance(value, (list, Mapping)) or set(value) == {"value", "low", "high"}


def html_of(rows: Sequence[Mapping[str, Any]], height: int) -> str:
    """The first rows of a table for a notebook: text before figures, and columns that say something."""
    values = {name: [row.get(name) for row in rows] for row in rows for name in row}
    names = [name for name, column in values.items() if all(map(is_brief, column)) and any(map(brief, column))]
    names.sort(key=lambda name: not any(isinstance(value, str) for value in values[name]))
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(brief(row.get(name)))}</td>" for name in names) + "</tr>" for row in rows)
    more = f"<div>{height - len(rows)} more rows</div>" if height > len(rows) else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"
