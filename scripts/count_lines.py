#!/usr/bin/env python3
"""Lines of Rust by crate and module: code, comments, tests.

    python scripts/count_lines.py [REVISION]      # of a commit instead of the working tree

A line with code counts as code, whatever else it has. Tests are files of a folder `tests`, files called `tests.rs` or `*_tests.rs`,
and what follows `#[cfg(test)]` before a module in a file. Blank lines do not count.
"""
import collections
import pathlib
import re
import subprocess
import sys

COLUMNS = ["code", "comments", "tests"]


def files(revision):
    """Path and text of every Rust file that git knows."""
    if revision is None:
        for path in git("ls-files", "-co", "--exclude-standard", "*.rs").split():
            yield path, pathlib.Path(path).read_text()
    else:
        for path in git("ls-tree", "-r", "--name-only", revision).split():
            if path.endswith(".rs"):
                yield path, git("show", f"{revision}:{path}")


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def room(path):
    """The crate, and its module where it has several."""
    parts = pathlib.PurePath(path).parts
    if "src" not in parts:
        return parts[0]
    at = parts.index("src")
    module = parts[at + 1].removesuffix(".rs") if len(parts) > at + 1 else ""
    return "/".join([*parts[:at], "src", module])


def count(path, text):
    lines = collections.Counter()
    parts = pathlib.PurePath(path).parts
    is_test = "tests" in parts[:-1] or re.fullmatch(r"(.*_)?tests\.rs", parts[-1]) is not None
    rows = text.splitlines()
    for place, row in enumerate(rows):
        row = row.strip()
        opens_module = place + 1 < len(rows) and rows[place + 1].startswith("mod ") and rows[place + 1].endswith("{")
        is_test = is_test or (row == "#[cfg(test)]" and opens_module)
        if row:
            lines["tests" if is_test else "comments" if row.startswith("//") else "code"] += 1
    return lines


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    rooms = collections.defaultdict(collections.Counter)
    for path, text in files(sys.argv[1] if len(sys.argv) > 1 else None):
        rooms[room(path)] += count(path, text)
    width = max(map(len, rooms))
    print(f"{'':{width}}" + "".join(f"{column:>10}" for column in COLUMNS))
    for name, lines in [*sorted(rooms.items()), ("all", sum(rooms.values(), collections.Counter()))]:
        print(f"{name:{width}}" + "".join(f"{lines[column]:>10,}" for column in COLUMNS))


if __name__ == "__main__":
    main()
