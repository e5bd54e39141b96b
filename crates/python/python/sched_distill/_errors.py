"""Exceptions, with the words of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results import Result


class DistillError(Exception):
    """A command could not be carried out: what was found, where, what is allowed and what to do."""


class GateError(DistillError):
    """A gate that was asked for failed. ``result`` is what was measured."""

    def __init__(self, words: str, result: Result) -> None:
        super().__init__(words)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        # Pools of processes hand exceptions on by pickling them.
        return type(self), (*self.args, self.result)


class DistillWarning(UserWarning):
    """What changes the meaning of a result."""
