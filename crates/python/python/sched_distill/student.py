"""Students: what was distilled, to decide with, to look at and to change."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._core import StudentCore
from ._run import run, scratch
from .results import rules_html, student_spec


@dataclass(frozen=True)
class Term:
    """What a feature says for the best candidate against another one."""

    feature: str
    unit: str
    #: Its value of the best candidate, and of the other.
    value: float
    other: float
    #: By how much it raises the score of the best over that of the other.
    share: float


@dataclass(frozen=True)
class Why:
    """Why a candidate is taken and not another: the shares of all terms add up to the difference of the scores."""

    level: str
    #: Places of the candidate that is taken, and of the one that it is held against.
    taken: int
    against: int
    scores: list[float | None]
    #: The largest first.
    terms: list[Term]

    def __str__(self) -> str:
        head = f"{self.level}: candidate {self.taken} rather than {self.against}"
        lines = [f"  {t.share:+10.4g}  {t.feature} {t.value:g} against {t.other:g} {t.unit}" for t in self.terms]
        return "\n".join([head, *lines])


class Student:
    """A distilled student.

    It is a policy wherever one is wanted, pickles as its JSON, and equal students are equal.
    """

    def __init__(self, core: StudentCore, path: Path | None = None) -> None:
        self._core, self._path = core, path

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Student:
        """Reads a student file."""
        return cls(StudentCore.load(path), Path(path))

    @classmethod
    def from_json(cls, text: str) -> Student:
        """Reads what a student file holds."""
        return cls(StudentCore.read(text))

    def to_json(self) -> str:
        """What a student file holds; equal students have equal text."""
        return self._core.json()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a student file, complete or not at all."""
        self._core.save(path)
        return Path(path)

    @property
    def hash(self) -> str:
        """SHA-256 of its JSON."""
        return self._core.hash

    @property
    def size(self) -> int:
        """Leaves and terms of the models that schedule."""
        return self._core.size

    @property
    def scenario(self) -> str:
        """The scenario that it is for."""
        return self._core.scenario

    @property
    def levels(self) -> list[str]:
        """Names of the levels."""
        return self._core.levels

    def features(self, level: str) -> list[str]:
        """Names of the features of a level, in the order of the columns."""
        return self._core.features(level)

    def __fspath__(self) -> str:
        """The file that holds it; one is written where it was made or changed here."""
        if self._path is None or not self._path.is_file() or StudentCore.load(self._path).hash != self.hash:
            self._path = self.save(scratch("student.json"))
        return str(self._path)

    def __policy__(self) -> str:
        return student_spec(self)

    def decide(self, state: Mapping[str, Any] | str) -> list[Any]:
        """What it decides at a state of the cluster (docs/cluster-state.md), one after the other as long as something is to be decided."""
        told: list[Any] = json.loads(self._core.decide(state if isinstance(state, str) else json.dumps(state)))
        return told

    def score(
        self, level: str, features: ArrayLike, *, starts: ArrayLike | None = None, guards: bool = False
    ) -> NDArray[np.float64]:
        """Scores of candidates of a level, by the model that schedules.

        Args:
            features: Rows of candidates: (candidates, features). A float32 array in row order is read where it is; anything
                else is copied once.
            starts: Where each choice begins, and the number of candidates; all rows are one choice without it. That matters
                to models that compare candidates, and to guards.
            guards: Whether candidates that guards rule out have minus infinity.
        """
        ends = None if starts is None else np.asarray(starts, np.int64, order="C")
        if ends is not None and ends.ndim != 1:
            raise ValueError(f"starts must have shape (choices + 1,), got {ends.shape}")
        return self._core.score(level, self._rows(level, features), ends, guards)

    def why(self, level: str, features: ArrayLike, against: int | None = None) -> Why:
        """Why the best of these candidates is taken and not another one: the next best, or that at the place ``against``."""
        told = json.loads(self._core.why(level, self._rows(level, features), against))
        terms = [Term(**term) for term in told["terms"]]
        return Why(told["level"], told["taken"], told["against"], told["scores"], terms)

    def _rows(self, level: str, features: ArrayLike) -> NDArray[np.float32]:
        """Rows of candidates as the extension reads them."""
        rows = np.asarray(features, np.float32, order="C")
        if rows.ndim != 2:
            raise ValueError(f"features must have shape (candidates, {len(self.features(level))}), got {rows.shape}")
        return rows

    def rules(self, level: str | None = None) -> str:
        """It as text to read: guards as sentences, then a line per leaf or term."""
        return self._exported("rules", level)

    def edit(self, place: str, value: float | str, reason: str = "") -> Student:
        """A copy in which a number is another one, e.g. ``edit("job.node[0].threshold", "300s")``; it notes the change and its reason."""
        return Student(self._core.edited(f"{place}={value}", reason))

    def plot(self, level: str | None = None) -> Drawing:
        """Its trees as drawings of Graphviz, which a notebook shows where the package ``graphviz`` is installed."""
        return Drawing(self._exported("dot", level))

    def _exported(self, to: str, level: str | None) -> str:
        text: str = run("export", {"student": self, "to": to, "level": level})[-1]["text"]
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Student) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.hash)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Student.from_json, (self.to_json(),)

    def __str__(self) -> str:
        return self.rules()

    def __repr__(self) -> str:
        return f"<Student of {self.scenario}, size {self.size}, {self.hash[:12]}>"

    def _repr_html_(self) -> str:
        return rules_html(self)


class Drawing(str):
    """A drawing in the language of Graphviz."""

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        try:
            import graphviz  # pyright: ignore[reportMissingImports]

            return {"image/svg+xml": graphviz.Source(self).pipe(format="svg").decode()}
        except Exception:  # without the package or its program the text is what there is
            return {"text/plain": str(self)}
