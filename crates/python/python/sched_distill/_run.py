"""Commands of the program, called with the parameters of Python."""

from __future__ import annotations

import atexit
import functools
import json
import keyword
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from . import _core, _decoder, results
from ._errors import DistillError, DistillWarning, GateError
from ._progress import Progress, listener
from .policies import Policy, named

#: What a command writes where nobody says where to: in a folder that goes with the process.
SCRATCH = {
    "record": "trace",
    "fit": "student.json",
    "front": "front",
    "loop": "loop",
    "augment": "augmented.json",
    "patch": "patched.json",
    "attack": "attack",
    "demo": "run",
    "advise": "run",
    "import": "jobs.json.gz",
}


@functools.cache
def described() -> dict[str, Any]:
    """All commands with their parameters, as the program has them."""
    return cast(dict[str, Any], json.loads(_core.commands()))


@functools.cache
def parameters(command: str) -> dict[str, dict[str, Any]]:
    """The parameters of a command by their names in Python."""
    own = next(c for c in described()["commands"] if c["name"] == command)["parameters"]
    return {python_name(p): p for p in [*own, *described()["common"]]}


def python_name(parameter: Mapping[str, Any]) -> str:
    """What Python calls a parameter: its option without dashes, or with `_` behind a word of Python's."""
    option: str | None = parameter["option"]
    name = (option.removeprefix("--") if option else parameter["id"]).replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


@functools.cache
def _scratch() -> Path:
    folder, owner = Path(tempfile.mkdtemp(prefix="sched-distill-")), os.getpid()

    def remove() -> None:
        # Processes that are forked from this one have the folder too, and end before it.
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def scratch(name: str) -> Path:
    """A path in a folder that is removed when the interpreter ends."""
    return Path(tempfile.mkdtemp(dir=_scratch())) / name


def _word(value: Any, parameter: Mapping[str, Any], kept: list[Policy]) -> str:
    """A value as one writes it on a command line."""
    if parameter["value"] == "POLICY":
        policy = named(value, kept)
        return policy if isinstance(policy, str) else os.fspath(policy)
    # Results are mappings, and some of them paths as well.
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, Mapping):
        path = scratch("params.json")
        path.write_text(json.dumps(value), encoding="utf-8")
        return str(path)
    # Numbers of numpy may be floats, and their `repr` names their type.
    if isinstance(value, float):
        return repr(float(value))
    return str(value)


def _words(command: str, arguments: Mapping[str, Any], kept: list[Policy]) -> list[str]:
    """The command line. Positional words come last, behind ``--``, so that none is taken for an option."""
    options: list[str] = []
    positional: list[str] = []
    for name, parameter in parameters(command).items():
        value = arguments.get(name)
        if value is None or value is False:
            continue
        is_one = isinstance(value, (str, os.PathLike, Mapping)) or not isinstance(value, Iterable)
        values = list(value) if parameter["repeated"] and not is_one else [value]
        option = parameter["option"]
        if parameter["kind"] == "flag":
            options += [option] * (int(value) if parameter["repeated"] else bool(value))
        elif option:
            options += [f"{option}={_word(v, parameter, kept)}" for v in values]
        else:
            positional += [_word(v, parameter, kept) for v in values]
    return [command, "--json", *options, *(["--", *positional] if positional else [])]


def _told(stderr: str) -> list[str]:
    """The lines of standard error, each once."""
    return list(dict.fromkeys(_lines(stderr)))


def _lines(text: str) -> list[str]:
    """The lines that are not empty. Paths and names may have what `splitlines` divides at too."""
    return [line for line in text.split("\n") if line]


def _problems(inspection: Mapping[str, Any]) -> list[str]:
    """What is wrong with a trace, as the program says it where it does not write JSON."""

    def words(problem: Mapping[str, Any]) -> str:
        place = ", ".join(f"{kind} {problem[kind]}" for kind in ("column", "row") if problem[kind] is not None)
        return ": ".join(filter(None, [problem["file"], place, problem["message"]]))

    return [words(problem) for problem in inspection.get("problems", [])]


def run(command: str, arguments: Mapping[str, Any], progress: Progress | None = None) -> list[dict[str, Any]]:
    """Carries a command out; the objects of its JSON lines.

    Raises what a policy in Python raised, ``KeyboardInterrupt``, ``MemoryError``, or a `DistillError`.
    """
    kept: list[Policy] = []
    try:
        words = _words(command, arguments, kept)
        with listener(command, progress) as heard:
            code, out, err = _core.run(words, _decoder.command(), heard)
    finally:
        # An exception keeps this frame, and with it the policies: their names are to be free all the same.
        for policy in kept:
            policy._forget()
    lines: list[dict[str, Any]] = [json.loads(line) for line in _lines(out)]
    told = _told(err)
    if code == 2:
        text = "\n".join(line.removeprefix("error: ") for line in told if not line.startswith(("note:", "warning:")))
        # What clap says of how a command line is written is nothing to a function.
        text = re.split(r"\n*(?:Usage: |For more information)", text)[0].strip()
        found = [words for line in lines if command == "inspect" for words in _problems(line)]
        raise DistillError("\n".join([text, *(words for words in found if words not in text)]))
    if code == 130:
        raise KeyboardInterrupt
    for line in told:
        if code == 0:
            warnings.warn(line.removeprefix("note: ").removeprefix("warning: "), DistillWarning, stacklevel=4)
    if code == 1:
        raise GateError("; ".join(told) or f"{command}: a gate failed", results.of(command, lines))
    return lines


R = TypeVar("R", bound=results.Result)


def call(command: str, kind: type[R], arguments: dict[str, Any]) -> R:
    """What the functions of the package do: ``arguments`` are those of the function, by name."""
    progress = arguments.pop("progress", None)
    if command in SCRATCH and "output" in arguments and arguments["output"] is None and not arguments.get("run"):
        arguments["output"] = scratch(SCRATCH[command])
    return kind(command, run(command, arguments, progress))
