"""Turn a black-box deep-RL cluster scheduler into rules that a person can read, check, edit and deploy.

    import sched_distill as sd

    def shortest(choice):
        return -choice["remaining_work"] if choice.level == "job" else None

    sd.demo(teacher=shortest, fast=True, output="runs/shortest").open()

`record`, `fit`, `evaluate`, `explain`, `report` and their kin are the commands of the program, with its parameters; `Policy` makes a
scheduler of any callable; `Student` is what is distilled; `sched_distill.envs` has environments of Gymnasium to train in.
"""

from . import commands
from ._core import Choice, Question, __version__
from ._errors import DistillError, DistillWarning, GateError
from ._progress import Event
from .commands import *  # noqa: F403
from .policies import Policy, from_sb3, from_torch
from .recorder import Recorder
from .scenarios import Scenario, scenarios
from .student import Student, Term, Why
from .table import Table

__all__ = [
    "Choice",
    "DistillError",
    "DistillWarning",
    "Event",
    "GateError",
    "Policy",
    "Question",
    "Recorder",
    "Scenario",
    "Student",
    "Table",
    "Term",
    "Why",
    "__version__",
    "from_sb3",
    "from_torch",
    "scenarios",
]
__all__ += commands.__all__
