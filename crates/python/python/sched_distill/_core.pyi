"""The extension: what is fast, or the program's own. What people call is in the package."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

class Choice:
    """A choice that a policy is asked about: candidates of a level, a row of features each."""

    @property
    def level(self) -> str:
        """The level that is asked about: ``job``, ``stage``, ..."""
    @property
    def scenario(self) -> str:
        """The scenario."""
    @property
    def kind(self) -> str:
        """The kind of the question."""
    @property
    def time_ms(self) -> float:
        """Simulated time, ms."""
    @property
    def features(self) -> NDArray[np.float32]:
        """Features: (candidates, features)."""
    @property
    def names(self) -> list[str]:
        """Names of the features, in the order of the columns."""
    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Which candidates may be taken: after the others nothing need happen any more although jobs are unfinished."""
    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each of the choices begins, and the number of candidates."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> NDArray[np.float32]:
        """The column of a feature."""

class Question:
    """A question in the tables of the scenario's contract, as networks see it."""

    @property
    def tables(self) -> dict[str, NDArray[Any]]: ...
    def __getitem__(self, name: str, /) -> NDArray[Any]:
        """A table."""

_Step = tuple[NDArray[np.float32], NDArray[np.int8], NDArray[np.float32], int, float, bool, bool, bool]

class Episodes:
    def __new__(cls, scenario: str, workload: str, split: str, count: int, rows: int, plays: tuple[bool, bool, bool]) -> Episodes: ...
    @property
    def rows(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def cluster(self) -> list[str]: ...
    def begin(self, index: int, seed: int, episode: int) -> _Step: ...
    def step(self, action: int) -> _Step: ...
    def step_all(
        self,
        actions: NDArray[np.int64] | None,
        begins: list[tuple[int, int, int]],
        candidates: NDArray[np.float32],
        mask: NDArray[np.int8],
        cluster: NDArray[np.float32],
        levels: NDArray[np.int64],
        rewards: NDArray[np.float64],
        ends: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]],
    ) -> tuple[list[int], bool]: ...
    def advice(self, index: int, policy: str) -> int | None: ...
    def advice_all(self, policy: str) -> NDArray[np.int64]: ...
    def info(self, index: int) -> dict[str, Any]: ...

class StudentCore:
    @staticmethod
    def load(path: str | PathLike[str]) -> StudentCore: ...
    @staticmethod
    def read(text: str) -> StudentCore: ...
    def json(self) -> str: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @property
    def hash(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def scenario(self) -> str: ...
    @property
    def levels(self) -> list[str]: ...
    def features(self, level: str) -> list[str]: ...
    def edited(self, change: str, reason: str) -> StudentCore: ...
    def score(
        self, level: str, features: NDArray[np.float32], starts: NDArray[np.int64] | None, guards: bool
    ) -> NDArray[np.float64]: ...
    def why(self, level: str, features: NDArray[np.float32], against: int | None) -> str: ...
    def decide(self, state: str) -> str: ...

class ModelCore:
    def __new__(cls, json: str, width: int) -> ModelCore: ...
    def json(self) -> str: ...
    @staticmethod
    def classify(
        x: NDArray[np.float32],
        class_: NDArray[np.uint32],
        classes: int,
        weight: NDArray[np.float64] | None,
        recipe: dict[str, Any],
        /,
    ) -> ModelCore: ...
    @staticmethod
    def regress(
        x: NDArray[np.float32], y: NDArray[np.float64], weight: NDArray[np.float64] | None, recipe: dict[str, Any], /
    ) -> ModelCore: ...
    @staticmethod
    def choose(
        x: NDArray[np.float32],
        probability: NDArray[np.float64],
        bounds: NDArray[np.uint64],
        weight: NDArray[np.float64],
        cluster: NDArray[np.uint64],
        recipe: dict[str, Any],
        /,
    ) -> ModelCore: ...
    def predict(self, x: NDArray[np.float32]) -> NDArray[np.float64]: ...
    def apply(self, x: NDArray[np.float32]) -> NDArray[np.int64]: ...

class ShapCore:
    def __new__(
        cls,
        parts: Sequence[tuple[ModelCore, int | None]],
        outputs: int,
        width: int,
        background: NDArray[np.float32] | None,
    ) -> ShapCore: ...
    @property
    def base_value(self) -> list[float]: ...
    def explain(self, x: NDArray[np.float32]) -> NDArray[np.float64]: ...

class RecorderCore:
    def __new__(cls, dir: str | PathLike[str], manifest: str, force: bool) -> RecorderCore: ...
    @property
    def episode(self) -> int: ...
    @property
    def figures(self) -> int: ...
    @property
    def decisions(self) -> int: ...
    def log(
        self,
        level: int,
        features: NDArray[np.float32],
        entities: NDArray[np.uint32],
        log_prob: NDArray[np.float32],
        chosen: int,
        at: tuple[float, int],
        above: tuple[int | None, float],
    ) -> None: ...
    def end_episode(self, seed: int, stalled: bool, figures: list[float | None]) -> bool: ...
    def flush(self) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> dict[str, int]: ...

def explain_against(
    parts: Sequence[tuple[ModelCore, int | None]],
    outputs: int,
    x: NDArray[np.float32],
    background: NDArray[np.float32],
) -> NDArray[np.float64]: ...
def arrow_stream(columns: Sequence[tuple[str, NDArray[Any] | list[str | None]]]) -> object: ...
def keep_policy(name: str, function: Callable[..., Any], asked: str, says_probabilities: bool, hash: str) -> str: ...
def forget_policy(name: str) -> None: ...
def describe() -> str: ...
def commands() -> str: ...
def run(
    args: Sequence[str], decoder: Sequence[str] | None, heard: Callable[[str, str, int], object] | None
) -> tuple[int, str, str]: ...
def main(args: Sequence[str], decoder: Sequence[str] | None) -> int: ...
def decode_table(path: str) -> int: ...
