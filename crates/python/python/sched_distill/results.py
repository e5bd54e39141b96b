"""What commands give back: their JSON (docs/json-output.md) as objects with fields.

A result has the fields of the program's JSON line as attributes, ``to_dict()`` for all of it, and ``table(name)`` for a
list of objects in it, which polars, pandas and pyarrow read. In a notebook it shows itself.
"""

from __future__ import annotations

import base64
import os
import webbrowser
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .table import SHOWN, Table, brief, html_of

if TYPE_CHECKING:
    from .student import Student

#: An object of JSON.
Json = dict[str, Any]


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))


class Result(Mapping[str, Any]):
    """What a command gave back. It is a mapping of the fields of its (last) JSON line."""

    #: Lists of objects that are shown as tables, the most telling first.
    shown: ClassVar[tuple[str, ...]] = ()

    def __init__(self, command: str, lines: list[Json]) -> None:
        self.command = command
        #: All JSON lines of the command, in order.
        self.lines = lines
        own = lines[-1] if lines else {}
        self._own: Json = {key: value for key, value in own.items() if key not in ("type", "schema_version")}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_own"][name]
        except KeyError:
            fields = ", ".join(self.__dict__.get("_own", {}))
            raise AttributeError(f"{type(self).__name__} has no field {name!r}; it has {fields}") from None

    def __getitem__(self, key: str) -> Any:
        return self._own[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._own})

    def to_dict(self) -> Json:
        """The fields, as the program's JSON has them."""
        return dict(self._own)

    def table(self, name: str) -> Table:
        """A list of objects as a table, by its path, e.g. ``"fidelity"`` or ``"closed_loop.policies"``.

        Of an object within a row each field is a column of its own: ``top1.value``. Lists are left out.
        """
        found: Any = self._own
        for part in name.split("."):
            found = found[part]
        return Table.of_rows(found)

    def __repr__(self) -> str:
        parts = [f"{key}={brief(value)}" for key, value in self._own.items() if _plain(value)]
        return f"<{type(self).__name__} {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        title = f"<b>{escape(self.command)}</b>"
        plain = [(key, value) for key, value in self._own.items() if _plain(value) and value is not None]
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(key)}</td><td style='text-align:left'>{escape(brief(value))}</td></tr>"
            for key, value in plain
        )
        tables = "".join(
            f"<div>{escape(name)}</div>{html_of(self._own[name][:SHOWN], len(self._own[name]))}" for name in self._tables()
        )
        return f"{title}<table>{rows}</table>{tables}{self._more_html()}"

    def _more_html(self) -> str:
        return ""

    def _tables(self) -> list[str]:
        return [name for name in self.shown if isinstance(self._own.get(name), list) and self._own[name]]


class Written(Result):
    """A result that a file or folder holds, which takes its place wherever a path is wanted."""

    #: The field that names it.
    at: ClassVar[str] = "output"

    @property
    def path(self) -> Path:
        """The file or folder."""
        return Path(self._own[self.at])

    def __fspath__(self) -> str:
        return str(self.path)


def student_spec(path: str | os.PathLike[str]) -> str:
    """What the program calls a student in a file: a path with a comma stands in quotes, and quotes within it are doubled."""
    file = os.fspath(path)
    if "," in file:
        file = '"' + file.replace('"', '""') + '"'
    return f"student:{file}"


def rules_html(student: Student) -> str:
    """The rules of a student, without the lines that say how they are to be read."""
    return f"<pre>{escape(student.rules().partition(NEWLINES)[2])}</pre>"


NEWLINES = "\n\n"


def page_html(page: Path, verdict: str, rules: str = "") -> str:
    """What a report says first: its verdict, its picture, and where it is."""
    words = "<br>".join(escape(line) for line in verdict.splitlines())
    chart = page.parent / "charts" / "verdict.png"
    picture = ""
    if chart.is_file():
        data = base64.b64encode(chart.read_bytes()).decode()
        picture = f"<img style='max-width:60em' alt='' src='data:image/png;base64,{data}'>"
    return f"<p>{words}</p>{picture}{rules}<p><a href='{escape(page.resolve().as_uri())}'>{escape(str(page))}</a></p>"


class Trace(Written):
    """A recording: a folder with a manifest and a table per level."""

    at = "dir"
    dir: str
    hash: str
    manifest: Json

    @property
    def levels(self) -> list[str]:
        """Names of the levels."""
        return [level["name"] for level in self.manifest["feature_set"]["levels"]]


class OfStudent(Written):
    """A student in a file, which is a policy as well."""

    at = "student"
    hash: str

    def load(self) -> Student:
        """The student itself."""
        from .student import Student

        return Student.load(self.path)

    def __policy__(self) -> str:
        return student_spec(self.path)

    def _more_html(self) -> str:
        return rules_html(self.load())


class Fit(OfStudent):
    """A student that was fitted."""

    shown = ("fidelity",)
    size: int
    fidelity: list[Json]
    skipped: list[str]
    sizes: Json | None


class Augmented(OfStudent):
    """A student with guards and other numbers, and what the search came to."""

    size: int
    guards: list[Json]
    patches: int
    agreement: float
    steps: list[Json]
    closed_loop: Json | None


class Patched(OfStudent):
    """A student with a change, and what that does."""

    at = "written"
    changed_decisions: Json | None
    closed_loop: Json | None


class Loop(Written):
    """Students that were fitted one after the other, each on what the one before met."""

    at = "dir"
    dir: str
    student: str
    best: int


class Evaluation(Result):
    """How faithful a student is, and how it schedules."""

    shown = ("fidelity",)
    same_jobs: bool
    fidelity: list[Json]
    closed_loop: Json | None


class Explanation(Result):
    """What a student goes by, level by level."""

    levels: list[Json]


class Report(Written):
    """A report: a page that any browser shows."""

    at = "page"
    page: str
    card: str
    charts: list[str]
    data: list[str]
    verdict: str
    advice: str | None
    gates_missed: list[str]

    def open(self) -> None:
        """Shows the page in a browser."""
        webbrowser.open(self.path.resolve().as_uri())

    def _repr_html_(self) -> str:
        return page_html(self.path, self.verdict)


class Demo(Written):
    """A run from a scheduler to a report: its run directory, its student and the page."""

    at = "run"
    run: str
    report: str
    student: str
    trace: str
    evaluation: Json
    #: What ``advise`` says to the owner of a log, by sentence.
    history: list[str]
    verdict: str

    def load(self) -> Student:
        """The student that was chosen."""
        from .student import Student

        return Student.load(self.path / "student.json")

    def open(self) -> None:
        """Shows the report in a browser."""
        webbrowser.open(Path(self.report).resolve().as_uri())

    def _repr_html_(self) -> str:
        words = " ".join(self.history)
        return page_html(Path(self.report), f"{words}\n{self.verdict}".strip(), rules_html(self.load()))


class Simulation(Result):
    """Schedulers compared on the same episodes of a workload, or of several."""

    shown = ("policies",)
    workload: str
    episodes: int
    figures: list[Json]
    policies: list[Json]
    comparisons: list[Json]


class Identity(Result):
    """Which known rules a teacher schedules like."""

    shown = ("rows",)
    teacher: str
    rows: list[Json]


class Features(Result):
    """What features are worth, level by level: its `lines` have one object per level."""

    level: str
    selection: Json


class Front(Result):
    """Size against fidelity."""

    levels: list[Json]
    totals: list[Json]


class Diff(Result):
    """What differs between two students."""

    structure: list[Json]
    agreement: list[Json]
    changed_decisions: Json | None


class Attack(Written):
    """What users gain by declaring other jobs than they have."""

    at = "dir"
    shown = ("figures",)
    figures: list[Json]


class Conformance(Result):
    """Whether a policy keeps to the contract."""

    passed: bool
    found: Json


class Inspection(Result):
    """What a file or folder is."""


class Imported(Written):
    """Jobs of a log, as a workload file."""

    at = "output"
    output: str
    scenario: str
    workload: str
    jobs: int
    bytes: int
    survey: Json


class Export(Result):
    """A student in another form: its text, or the files that hold it."""

    levels: list[str]

    def __str__(self) -> str:
        return str(self._own.get("text", ""))


class Shadowed(Result):
    """How a policy would have decided beside the present scheduler."""

    passed: bool
    report: Json


#: Which class a command's result is of.
_CLASSES: dict[str, type[Result]] = {
    "advise": Demo,
    "attack": Attack,
    "augment": Augmented,
    "check-policy": Conformance,
    "demo": Demo,
    "diff": Diff,
    "evaluate": Evaluation,
    "explain": Explanation,
    "export": Export,
    "features": Features,
    "fit": Fit,
    "front": Front,
    "identify": Identity,
    "import": Imported,
    "inspect": Inspection,
    "loop": Loop,
    "patch": Patched,
    "record": Trace,
    "report": Report,
    "shadow": Shadowed,
    "simulate": Simulation,
}


def of(command: str, lines: list[Json]) -> Result:
    """The result of a command."""
    return _CLASSES.get(command, Result)(command, lines)
