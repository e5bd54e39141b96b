"""The scenarios there are, with their levels and features."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass

from . import _core


@dataclass(frozen=True)
class Level:
    """A question that a decision answers."""

    name: str
    question: str
    #: Names of the features, in the order of the columns.
    features: list[str]
    #: What each of them says, with its unit.
    meanings: dict[str, str]
    #: Features that are the same for all candidates.
    shared: list[str]


@dataclass(frozen=True)
class Scenario:
    """A kind of cluster."""

    name: str
    meaning: str
    levels: dict[str, Level]
    #: Policies as one writes them.
    policies: list[str]
    #: Workloads as one writes them.
    workloads: list[str]
    #: The policy that is explained where nobody names one.
    teacher: str
    #: The workload that is meant where nobody names one.
    workload: str
    #: Heuristics to compare with.
    baselines: list[str]
    #: What schedulers are judged by: its name, label and unit, and whether less or more of it is better.
    objective: dict[str, str]

    @property
    def cluster(self) -> list[str]:
        """Features that all candidates share, of all levels."""
        return list(dict.fromkeys(name for level in self.levels.values() for name in level.shared))


@functools.cache
def scenarios() -> dict[str, Scenario]:
    """All scenarios by name."""
    found: dict[str, Scenario] = {}
    for told in json.loads(_core.describe()):
        levels = {
            level["name"]: Level(
                level["name"],
                level["question"],
                [feature["name"] for feature in level["features"]],
                {feature["name"]: f"{feature['meaning']} [{feature['unit']}]" for feature in level["features"]},
                level["shared"],
            )
            for level in told["levels"]
        }
        workload = told["workloads"][0].split("[")[0].split(",")[0]
        found[told["name"]] = Scenario(
            told["name"],
            told["meaning"],
            levels,
            told["policies"],
            told["workloads"],
            told["teacher"],
            workload,
            told["baselines"],
            told["objective"],
        )
    return found
