"""From a scheduler of one's own to a report and rules, in some twenty lines.

    python examples/explain_your_scheduler.py runs/mine
"""

import sys

import numpy as np
import sched_distill as sd
from numpy.typing import NDArray


def scheduler(choice: sd.Choice) -> NDArray[np.float32] | None:
    """The job with the least work left first, and as many executors as its stage can use, up to a fair share."""
    if choice.level == "job":
        return -choice["remaining_work"] / np.float32(1e4)
    if choice.level == "amount":
        return -np.abs(choice["amount_of_fair_share"] - 1)
    return None


def main(folder: str) -> None:
    """Distils it, and says what was found."""
    run = sd.demo(teacher=sd.Policy(scheduler, asked="batch"), fast=True, output=folder)
    print(run.verdict)
    student = run.load()
    print(student.rules("job"))
    print(run.report)


if __name__ == "__main__":
    main(sys.argv[1])
