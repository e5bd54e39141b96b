"""``python -m sched_distill`` is ``distill``."""

from ._console import main

main()
