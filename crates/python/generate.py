"""Writes `python/sched_distill/commands.py`: a function for every command, from the program's own description of it.

    python crates/python/generate.py            # writes it
    python crates/python/generate.py --check    # says whether it is as it should be
"""

import argparse
import re
import sys
import textwrap
from pathlib import Path

from sched_distill import results
from sched_distill._run import SCRATCH, described, python_name

TARGET = Path(__file__).parent / "python/sched_distill/commands.py"

#: What is no function: it needs a terminal, a socket, libtorch or ONNX, or says in text what `describe` says.
LEFT_OUT = ("serve", "train", "profile-model", "list")

#: Options of every command that a function has.
COMMON = ("scenario", "seed", "threads")

HEAD = '''"""The commands of the program as functions. Written by `generate.py`: see there."""

# ruff: noqa: E501

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import results
from ._progress import Progress
from ._run import call
from .policies import PolicyLike

#: A file or folder: a path, or the result or object that is one.
Path = str | os.PathLike[str]
'''

TYPES = {"int": "int", "float": "float", "path": "Path", "str": "str", "flag": "bool"}


def type_of(parameter: dict) -> str:
    """The type of a parameter in Python."""
    if parameter["kind"] == "flag":
        return "int" if parameter["repeated"] else "bool"
    if parameter["value"] == "POLICY":
        single = "PolicyLike"
    elif parameter["choices"]:
        single = "Literal[" + ", ".join(f'"{choice}"' for choice in parameter["choices"]) + "]"
    elif parameter["id"] == "params":
        single = "Path | Mapping[str, Any]"
    else:
        single = TYPES[parameter["kind"]]
    return f"{single} | Sequence[{single}]" if parameter["repeated"] else single


def name_of(command: dict) -> str:
    """What its function is called: `import` is a word of Python's."""
    name = command["name"].replace("-", "_")
    return {"import": "import_history"}.get(name, name)


def function_of(command: dict, common: list[dict]) -> str:
    """The source of a function."""
    name = name_of(command)
    own = [p for p in command["parameters"] if p["option"] != "--json"]
    own += [p for p in common if python_name(p) in COMMON]
    positional, named, docs = [], [], []
    for parameter in own:
        python = python_name(parameter)
        is_scratch = python == "output" and command["name"] in SCRATCH
        is_required = parameter["required"] and not is_scratch
        kind = type_of(parameter)
        default = "" if is_required else (" = False" if kind == "bool" else " = 0" if parameter["kind"] == "flag" else " = None")
        shown = kind if is_required or parameter["kind"] == "flag" else f"{kind} | None"
        target = positional if parameter["option"] is None or (is_required and not parameter["option"]) else named
        target.append(f"    {python}: {shown}{default},")
        short = parameter["help"]
        if is_scratch:
            # What the program does without it is not what a function does.
            short = re.sub(r" \[default: [^]]*\]|; this or --run is needed", "", short)
        help_text = " ".join(filter(None, [sentence(short), rest_of(parameter)]))
        if parameter["defaults"] and not is_scratch and "[default" not in help_text:
            help_text += f" [default: {', '.join(parameter['defaults'])}]"
        docs.append(f"        {python}: " + textwrap.indent(textwrap.fill(help_text, 100), "            ").strip())
    named.sort(key=lambda line: " = " in line)
    lines = [f"def {name}("]
    lines += positional + (["    *,"] if named else []) + named
    lines += ["    progress: Progress | None = None,"]
    result = results._CLASSES[command["name"]].__name__
    about = command["about"].rstrip(".")
    lines += [f") -> results.{result}:", f'    """{about}.', "", f"    ``distill {command['name']} --help-all`` says more.", ""]
    if command["name"] in SCRATCH:
        # A run has a place for it.
        needed = "``output`` and ``run``" if any(python_name(p) == "run" for p in own) else "``output``"
        lines += [f"    Without {needed} it goes to a folder that is removed when the interpreter ends.", ""]
    lines += ["    Args:", *docs, "        progress: Is told how far it is.", '    """']
    lines += [f'    return call("{command["name"]}", results.{result}, locals())', "", ""]
    return "\n".join(lines)


def sentence(text: str | None) -> str | None:
    """A text that others may follow."""
    return f"{text}." if text and text[-1] not in ".?!]" else text


def rest_of(parameter: dict) -> str | None:
    """What the long help says beyond the short one."""
    more, short = parameter["more"], parameter["help"]
    if not more or not short or more == short:
        return None
    return re.sub(r"\s+", " ", more.removeprefix(short)).strip()


def source() -> str:
    """The module."""
    commands = [c for c in described()["commands"] if c["name"] not in LEFT_OUT]
    functions = "\n".join(function_of(command, described()["common"]) for command in commands)
    names = "".join(f'    "{name_of(command)}",\n' for command in sorted(commands, key=name_of))
    return f"{HEAD}\n__all__ = [\n{names}]\n\n\n{functions.rstrip()}\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if another content is there")
    arguments = parser.parse_args()
    text = source()
    if arguments.check:
        sys.exit(0 if TARGET.read_text(encoding="utf-8") == text else f"{TARGET} is not up to date: run generate.py")
    TARGET.write_text(text, encoding="utf-8")
