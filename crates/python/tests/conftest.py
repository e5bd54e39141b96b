"""What tests share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

#: A workload of seconds.
TINY = "builtin,jobs=8,executors=5"


def shortest(choice):
    """The job with the least work left; no opinion on stages and amounts."""
    return -choice["remaining_work"] / 1e4 if choice.level == "job" else None


def program() -> list[str]:
    """The program: the one that the tests of the root have built, or the package's own."""
    built = ROOT / "target/debug/distill"
    return [str(built)] if built.is_file() else [sys.executable, "-m", "sched_distill"]


def distill(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the program."""
    return subprocess.run([*program(), *map(str, words)], capture_output=True, text=True, cwd=cwd)


def shared(name: str) -> Path:
    """Reference data; missing, the test is skipped, or fails in CI."""
    path = ROOT.parent / "shared" / name
    if not path.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{path} is missing")
        pytest.skip(f"{path} is missing")
    return path


def files(folder: Path) -> dict[str, bytes]:
    """All files of a folder by their names."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
