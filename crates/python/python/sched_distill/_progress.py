"""What goes on while a command runs: told to a callback, or shown as a bar in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class Event:
    """How far a command is."""

    command: str
    #: The step at hand, e.g. the policy that is being recorded.
    what: str
    #: Steps or episodes that are done.
    done: int
    #: How many there are; 0 where that is not known.
    total: int
    #: A line for people, if this is one.
    note: str | None = None


#: Is told what goes on. An exception ends the command.
Progress = Callable[[Event], object]


class _Listener:
    """Makes events of what the extension calls back with."""

    def __init__(self, command: str, tell: Progress) -> None:
        self.command, self.tell = command, tell
        self.what, self.done, self.total = "", 0, 0
        self.begun = False

    def __call__(self, event: str, text: str, number: int) -> None:
        note = None
        match event:
            case "begin":
                self.what, self.done, self.total, self.begun = text, 0, number, False
            case "step":
                self.done += int(self.begun)
                self.what, self.begun = text, True
            case "episodes":
                self.done += number
            case "done":
                self.done = self.total
            case _:
                note = text
        self.tell(Event(self.command, self.what, self.done, self.total, note))


class _Bar:
    """A bar in the output of a notebook's cell, redrawn at most ten times a second."""

    def __init__(self, display: Any, html: Any) -> None:
        self.html = html
        self.handle = display(html(""), display_id=True)
        self.start = self.drawn = time.monotonic()

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        if event.note is not None or (now - self.drawn < 0.1 and event.done < event.total):
            return
        self.drawn = now
        share = event.done / event.total if event.total else 0.0
        spent = now - self.start
        self.handle.update(
            self.html(
                f"<progress value='{share:.3f}' max='1'></progress> {escape(event.command)} {escape(event.what)} "
                f"{event.done}/{event.total}, {spent:.0f} s"
            )
        )

    def close(self) -> None:
        self.handle.update(self.html(""))


def _notebook() -> _Bar | None:
    """A bar, if this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

    return _Bar(display, HTML)


@contextmanager
def listener(command: str, progress: Progress | None) -> Iterator[_Listener | None]:
    """What the extension calls; none where nobody wants to know."""
    bar = _notebook() if progress is None else None
    tell = progress if progress is not None else bar
    try:
        yield _Listener(command, tell) if tell is not None else None
    finally:
        if bar is not None:
            bar.close()
