#!/usr/bin/env python3
"""Lines that scenarios repeat: runs of eight lines of code or more that stand in two of their crates, equal but for names and values.

    python scripts/count_repeats.py [REVISION] [--list N]     # of a commit instead of the working tree; the N longest runs

Comments, blank lines, attributes and tests do not count, nor do lines without a name (`}`), which are alike everywhere. Names
become one name and values one value; words of the language stay. A line counts once, however often it is repeated.
"""
import argparse
import collections
import re

import count_lines

SCENARIOS = ["dag", "training", "deadlines", "preemption", "serving"]
RUN = 8
WORDS = set(
    "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return "
    "self Self static struct super trait true type unsafe use where while u8 u16 u32 u64 usize i64 f32 f64 bool str".split()
)
TOKEN = re.compile(r'b?"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'|[A-Za-z_]\w*!?|\d[\w.]*|\s+|.')


def shape(line):
    """A line with one name for all names and one value for all values; empty if it has no name."""
    parts, named = [], False
    for token in TOKEN.findall(line.split("//")[0]):
        if token.isspace():
            continue
        if token[0] in "\"'" and len(token) > 1 or token.startswith('b"') or token[0].isdigit():
            token = "0"
        elif re.match(r"[A-Za-z_]", token) and token not in WORDS:
            token, named = "x", True
        parts.append(token)
    return " ".join(parts) if named else ""


def code(text):
    """Numbers and shapes of the lines of code that stand before the tests of a file."""
    rows = text.splitlines()
    for number, row in enumerate(rows):
        if row.strip() == "#[cfg(test)]" and rows[number + 1 : number + 2] and rows[number + 1].startswith("mod "):
            return
        if row.strip() and not row.strip().startswith(("//", "#[", "#![")) and (found := shape(row)):
            yield number + 1, found


def sources(revision):
    for path, text in count_lines.files(revision):
        parts = path.split("/")
        if parts[0] == "crates" and parts[1] in SCENARIOS and parts[2] == "src" and not re.search(r"tests\.rs$|/tests/", path):
            yield parts[1], path, list(code(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--list", type=int, default=0, metavar="N")
    args = parser.parse_args()
    places = collections.defaultdict(set)
    found = list(sources(args.revision))
    for scenario, path, lines in found:
        for start in range(len(lines) - RUN + 1):
            places[tuple(shape for _, shape in lines[start : start + RUN])].add(scenario)
    repeated, of_scenario, runs = collections.Counter(), collections.Counter(), []
    for scenario, path, lines in found:
        of_scenario[scenario] += len(lines)
        again = [False] * len(lines)
        for start in range(len(lines) - RUN + 1):
            if len(places[tuple(shape for _, shape in lines[start : start + RUN])]) > 1:
                again[start : start + RUN] = [True] * RUN
        repeated[scenario] += sum(again)
        start = None
        for at, flag in enumerate([*again, False]):
            if flag and start is None:
                start = at
            elif not flag and start is not None:
                runs.append((at - start, f"{path}:{lines[start][0]}-{lines[at - 1][0]}"))
                start = None
    print(f"{'':12}{'lines':>8}{'repeated':>10}")
    for scenario in SCENARIOS:
        print(f"{scenario:12}{of_scenario[scenario]:>8,}{repeated[scenario]:>10,}")
    print(f"{'all':12}{of_scenario.total():>8,}{repeated.total():>10,}")
    for length, place in sorted(runs, key=lambda run: (-run[0], run[1]))[: args.list]:
        print(f"{length:>5}  {place}")


if __name__ == "__main__":
    main()
