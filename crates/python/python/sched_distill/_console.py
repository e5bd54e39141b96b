"""The command ``distill``: the program itself, within this interpreter's process."""

import sys

from . import _core
from ._decoder import command


def main() -> None:
    """Carries out the command line and ends the process with its exit code."""
    sys.exit(_core.main(["distill", *sys.argv[1:]], command()))
