"""Traces of schedulers and simulators that are somebody else's."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import RecorderCore
from .results import Trace
from .scenarios import scenarios

#: A feature: its name alone, or with unit, meaning, scope, whole and control (docs/trace-format.md).
Feature = str | Mapping[str, Any]

#: How far probabilities may be from a sum of 1: a little less than in a trace, which holds their logarithms, rounded.
_SUM = 0.999e-3

#: The largest number of an entity.
_ENTITY = 2**32 - 1


def _feature(feature: Feature) -> dict[str, Any]:
    given = {"name": feature} if isinstance(feature, str) else dict(feature)
    if "name" not in given:
        raise ValueError(f"a feature needs a name: {given}")
    usual = {"unit": "1", "meaning": f"{given['name']}.", "scope": "absolute", "version": 1}
    return {**usual, **given}


def _numbers(level: str, entities: ArrayLike, count: int) -> NDArray[np.uint32]:
    # These numbers are exact in double precision, and what else may come is still told from them there.
    given = np.asarray(entities, np.float64).ravel()
    sound = (given >= 0) & (given <= _ENTITY) & (given == np.floor(given))
    if len(given) != count or not sound.all():
        among = "".join(f", {number:.15g} among them" for number in given[~sound][:1])
        raise ValueError(
            f"entities of level {level!r}: {len(given)}{among}; wanted are {count}, each a whole number from 0 to {_ENTITY}"
        )
    return given.astype(np.uint32)


class Recorder:
    """Writes a trace of your own scheduler, in your own simulator or cluster: every command takes it.

        with Recorder("trace", scenario="my-cluster", levels={"job": ["wait_s", "gpus"]}) as recorder:
            for episode in ...:
                for question in episode:
                    recorder.log("job", features, probabilities, chosen)
                recorder.end_episode()

    Args:
        path: A folder, which is made. A trace of the same recorder that is there already is gone on with.
        levels: Features of each level, from the first question of a decision to the last.
        scenario: What kind of cluster it is. Not one of the program's: those have features of their own.
        policy: What the scheduler is called.
        workload: What the jobs are called.
        kinds: Kinds of questions, if there are several.
        split: What the episodes are for.
        seed: A number that tells this recording from others.
        questions: Each level's question in words, for reports.
        force: Whether another trace in that folder is replaced.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        levels: Mapping[str, Sequence[Feature]],
        *,
        scenario: str = "own",
        policy: str = "policy",
        workload: str = "workload",
        kinds: Sequence[str] = ("decision",),
        split: Literal["train", "validation", "test", "final"] = "train",
        seed: int = 0,
        questions: Mapping[str, str] | None = None,
        force: bool = False,
    ) -> None:
        if scenario in scenarios():
            raise ValueError(
                f"scenario {scenario!r} is the program's, with features of its own; wanted is a name that is none of "
                f"{', '.join(scenarios())}"
            )
        self.path = Path(path)
        self._kinds, self._levels = list(kinds), list(levels)
        self._widths = [len(features) for features in levels.values()]
        self._seed = seed
        described = [
            {
                "name": name,
                "question": (questions or {}).get(name, f"Which {name}?"),
                "entities": [name],
                "features": [_feature(feature) for feature in features],
            }
            for name, features in levels.items()
        ]
        manifest = {
            "format_version": 1,
            "version": f"sched_distill {_core.__version__}",
            "scenario": scenario,
            "driver": {"id": policy},
            "labeller": {"id": policy},
            "workload": {"id": workload},
            "seed": seed,
            "split": split,
            "episodes": 0,
            "kinds": self._kinds,
            "abstains": False,
            "feature_set": {"scenario": scenario, "levels": described},
        }
        self._core: RecorderCore | None = RecorderCore(self.path, json.dumps(manifest), force)
        #: Probabilities and the chosen candidate of the levels above, of the decision at hand.
        self._above: list[tuple[np.ndarray[Any, Any] | None, int | None]] = []

    def log(
        self,
        level: str,
        features: ArrayLike,
        probabilities: ArrayLike | None = None,
        chosen: int | None = None,
        *,
        parent: int | None = None,
        kind: str | None = None,
        time_ms: float = 0.0,
        entities: ArrayLike | None = None,
    ) -> None:
        """Notes a choice. That of the first level begins a decision, and those of levels below follow it.

        Args:
            features: Rows of candidates: (candidates, features), finite.
            probabilities: The scheduler's, of each candidate; left out of a scheduler that gives none.
            chosen: The candidate that was carried out; none only below a candidate that was not.
            parent: The candidate of the level above that this choice is about; the chosen one where it is left out.
            kind: The kind of question; the first one where it is left out.
            time_ms: Time of the question, ms, finite.
            entities: A whole number from 0 to 2**32 - 1 for each candidate that says what it is, e.g. of a job; its place where it is
                left out.
        """
        core = self._open()
        if level not in self._levels:
            raise ValueError(f"unknown level {level!r}; there are {', '.join(self._levels)}")
        if kind is not None and kind not in self._kinds:
            raise ValueError(f"unknown kind {kind!r}; there are {', '.join(self._kinds)}")
        place = self._levels.index(level)
        rows = np.ascontiguousarray(features, np.float32)
        if rows.ndim != 2 or rows.shape[1] != self._widths[place] or not len(rows):
            raise ValueError(
                f"features of level {level!r} have shape {rows.shape}; wanted are (candidates, {self._widths[place]})"
            )
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise ValueError(f"features of level {level!r}: row {row}, column {column} is {rows[row, column]}; all must be finite")
        count = len(rows)
        given: np.ndarray[Any, Any] | None = None
        log_prob = np.full(count, np.nan, np.float32)
        if probabilities is not None:
            given = np.array(probabilities, np.float64).ravel()
            # Said so that a NaN, which nothing is true of, is refused.
            if given.shape != (count,) or not (given >= 0).all() or not abs(given.sum() - 1) <= _SUM:
                raise ValueError(
                    f"probabilities of level {level!r}: {len(given)} that add up to {given.sum():.4g}; wanted are {count}, none "
                    "negative, that add up to 1"
                )
            with np.errstate(divide="ignore"):
                log_prob = np.log(given).astype(np.float32)
        if chosen is not None and not 0 <= chosen < count:
            raise ValueError(f"chosen is {chosen}; level {level!r} has {count} candidates, from 0 on")
        if not math.isfinite(time_ms):
            raise ValueError(f"time_ms of level {level!r} is {time_ms}; it must be finite")
        numbers = np.arange(count, dtype=np.uint32) if entities is None else _numbers(level, entities, count)
        weight, parent = self._under(place, parent, chosen)
        core.log(
            place,
            rows,
            numbers.reshape(count, 1),
            log_prob,
            -1 if chosen is None else chosen,
            (time_ms, 0 if kind is None else self._kinds.index(kind)),
            (parent, weight),
        )
        # Only what was noted has levels below.
        if place == 0 or parent == self._above[place - 1][1]:
            self._above = [*self._above[:place], (given, chosen)]

    def _under(self, place: int, parent: int | None, chosen: int | None) -> tuple[float, int | None]:
        """The weight of a choice: the probability of the candidate above; and that candidate."""
        if place == 0:
            if chosen is None:
                raise ValueError("the first level always has a chosen candidate")
            return 1.0, None
        if len(self._above) < place:
            raise ValueError(f"level {self._levels[place - 1]!r} comes first: it is the one above {self._levels[place]!r}")
        above, taken = self._above[place - 1]
        parent = taken if parent is None else parent
        if parent is None:
            raise ValueError(f"parent: which candidate of level {self._levels[place - 1]!r} is this about?")
        if above is not None and not 0 <= parent < len(above):
            raise ValueError(f"parent is {parent}; level {self._levels[place - 1]!r} has {len(above)} candidates, from 0 on")
        # In single precision, as it is written: 0 is no weight there.
        weight = float(np.float32(above[parent])) if above is not None else float(parent == taken)
        if weight <= 0:
            raise ValueError(f"parent {parent} has no probability, so that nothing is to be noted below it")
        return weight, parent

    def end_episode(self, *, stalled: bool = False, seed: int | None = None) -> None:
        """Ends an episode: figures are averaged, and intervals made, over episodes."""
        core = self._open()
        if self._end(core, stalled, seed):
            # The episode has ended even if this fails: all of it is tried again at the end of the next one.
            core.flush()

    def _end(self, core: RecorderCore, stalled: bool, seed: int | None) -> bool:
        """Ends an episode in memory; whether there is enough to be written."""
        is_enough = core.end_episode(self._seed + core.episode if seed is None else seed, stalled, [None] * core.figures)
        self._above = []
        return is_enough

    def close(self) -> Trace:
        """Ends the episode at hand if something was noted in it, and seals the trace.

        If it cannot be written, the recorder is closed all the same: what was written before stays, and a new one goes on with it.
        """
        core = self._open()
        if core.decisions:
            self._end(core, False, None)
        try:
            core.close()
        finally:
            self._core = None
        return open_trace(self.path)

    def _open(self) -> RecorderCore:
        if self._core is None:
            raise ValueError(f"{self.path}: the recorder is closed")
        return self._core

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        core = self._core
        if core is None:
            return
        if error is None:
            self.close()
            return
        # Episodes that ended before an exception stay, without a manifest: a recorder with the same arguments goes on with them.
        self._core = None
        try:
            core.stop()
        except Exception as failed:
            # What comes out is still the block's exception, which may be of the same cause.
            error.add_note(f"{self.path}: not all episodes that had ended could be written: {failed}")


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """A trace that is there."""
    from hashlib import sha256

    folder = Path(path)
    manifest = (folder / "manifest.json").read_bytes()
    line = {"dir": str(folder), "hash": sha256(manifest).hexdigest(), "manifest": json.loads(manifest)}
    return Trace("record", [line])
