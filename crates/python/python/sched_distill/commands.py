"""The commands of the program as functions. Written by `generate.py`: see there."""

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

__all__ = [
    "advise",
    "attack",
    "augment",
    "check_policy",
    "demo",
    "diff",
    "evaluate",
    "explain",
    "export",
    "features",
    "fit",
    "front",
    "identify",
    "import_history",
    "inspect",
    "loop",
    "patch",
    "record",
    "report",
    "shadow",
    "simulate",
]


def demo(
    *,
    teacher: PolicyLike | None = None,
    teacher_name: str | None = None,
    workload: str | None = None,
    episodes: int | None = None,
    fast: bool = False,
    max_choices: int | None = None,
    output: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Demo:
    """Do all of it, from a scheduler to a report, on the built-in workload or on yours.

    ``distill demo --help-all`` says more.

    Without ``output`` it goes to a folder that is removed when the interpreter ends.

    Args:
        teacher: Policy to explain [default: the network that comes with the program]
        teacher_name: What the teacher is called in the report [default: the name of the network that comes with the
            program, or of its file]
        workload: Workload (see `distill list workloads`). [default: builtin]
        episodes: Episodes to learn from [default: 40; 16 with --fast] A third as many more are recorded to choose on,
            and a quarter as many to measure and explain. In half as many others a first student decides and the
            teacher says what it would have done. Where 40 hold more than 100,000 decisions, by default fewer
            are learnt from, 16 at least, and as many as of 40 are measured on.
        fast: Seconds instead of a minute. Fewer episodes and choices, and no search for a better schedule or
            proofs.
        max_choices: Choices learnt from per level at most, and about as many to choose, measure and explain on: for less
            memory [default: 30000; 3000 with --fast] Fewer where these have more than 13 million numbers. With
            this option fewer episodes are recorded to choose and to measure on, and rules are not fitted again
            on other episodes.
        output: Run directory; the report goes to its `report` folder.
        force: Replace a run that was made with other arguments.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("demo", results.Demo, locals())


def advise(
    history: str,
    *,
    fast: bool = False,
    output: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Demo:
    """Say which scheduler would have served a cluster's users better, from its logs.

    ``distill advise --help-all`` says more.

    Without ``output`` it goes to a folder that is removed when the interpreter ends.

    Args:
        history: Log of a cluster, or a folder of logs; or a workload with parameters (`distill list workloads`).
        fast: Fewer episodes and choices, and no search for a better schedule.
        output: Run directory; the report goes to its `report` folder.
        force: Replace a run that was made with other arguments.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("advise", results.Demo, locals())


def simulate(
    *,
    policy: PolicyLike | Sequence[PolicyLike],
    workload: str | Sequence[str] | None = None,
    edge_cases: bool = False,
    episodes: int | None = None,
    split: Literal["train", "validation", "test", "final"] | None = None,
    event_log: Path | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Simulation:
    """Run one or more policies on the same arrivals with the same luck, and compare them.

    ``distill simulate --help-all`` says more.

    Args:
        policy: Policy, repeatable; the first is the baseline (`distill list policies`).
        workload: Workload, repeatable [default: that of the student, else builtin] The default is the one that the
            student was fitted on, where a student schedules. `distill list workloads` shows what there is.
        edge_cases: Run every edge case of these workloads too (docs/edge-cases.md).
        episodes: Number of episodes in closed loop. [default: 20]
        split: Their seeds: train, validation, test or final. Fitting sees train, searching sees validation,
            development looks at test. What is kept for closing figures, final, is read only where it is asked
            for. [default: test]
        event_log: Write each episode of each policy as the log that a cluster would leave of it, into this folder. Of
            `dag` that is an event log of Spark, which its history server shows and `distill inspect` reads.
            Policies are not compared then.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("simulate", results.Simulation, locals())


def record(
    *,
    policy: PolicyLike,
    teacher: PolicyLike | None = None,
    workload: str | None = None,
    episodes: int | None = None,
    first_episode: int | None = None,
    split: Literal["train", "validation", "test", "final"] | None = None,
    output: Path | None = None,
    force: bool = False,
    shard: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Trace:
    """Record what a scheduler is asked and what it decides, as a trace to learn from.

    ``distill record --help-all`` says more.

    Without ``output`` it goes to a folder that is removed when the interpreter ends.

    Args:
        policy: Policy to record (see `distill list policies`).
        teacher: Teacher whose opinion is recorded where another policy decides [default: the policy itself] What a
            student meets when it decides, as its teacher sees it: `distill fit` learns from such a trace beside
            one of the teacher's own.
        workload: Workload (see `distill list workloads`). [default: builtin]
        episodes: Number of episodes. [default: 40]
        first_episode: Number of the first episode: other ones than those of an earlier recording. [default: 0]
        split: Seeds: train, validation, test or final. Fitting sees train, searching sees validation, development
            looks at test; final is for closing figures. [default: train]
        output: Directory to write.
        force: Replace a trace that was made with other arguments.
        shard: Record only part I of N of the episodes; other processes record the rest.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("record", results.Trace, locals())


def fit(
    traces: Path | Sequence[Path],
    *,
    validation: Path | None = None,
    output: Path | None = None,
    run: Path | None = None,
    force: bool = False,
    max_size: int | None = None,
    min_fidelity: str | Sequence[str] | None = None,
    teacher: PolicyLike | None = None,
    workload: str | None = None,
    episodes: int | None = None,
    learner: Literal["tree", "linear-tree", "linear", "logit", "spline-logit", "bounded-logit", "pairwise-tree", "linfa-trees"] | Sequence[Literal["tree", "linear-tree", "linear", "logit", "spline-logit", "bounded-logit", "pairwise-tree", "linfa-trees"]] | None = None,
    max_leaves: int | None = None,
    max_choices: int | None = None,
    use: str | None = None,
    features: str | Sequence[str] | None = None,
    trust: str | Sequence[str] | None = None,
    structure: Literal["hierarchical", "flat"] | None = None,
    params: Path | Mapping[str, Any] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Fit:
    """Fit a student to a trace: rules that decide as the recorded scheduler does.

    ``distill fit --help-all`` says more.

    Without ``output`` and ``run`` it goes to a folder that is removed when the interpreter ends.

    Args:
        traces: Trace to learn from, or several with the same teacher. Other workloads, other episodes, or what a
            student met when it decided (`distill record -p student:FILE -t TEACHER`).
        validation: Trace to choose and measure on [default: the last fifth of a single TRACE] None of its episodes may
            be one of TRACE.
        output: Student file to write.
        run: Run directory to put the student into, for `distill report`. How it was made is noted beside it.
        force: Replace a student file with other content.
        max_size: Largest size over all levels, leaves and terms together [default: 32] Where --learner or --max-
            leaves names what is fitted, no size is chosen unless this is given.
        min_fidelity: Fidelity that a level must reach with the smallest models that do, repeatable. On the validation
            choices, e.g. job/free/top1=0.7. Figures are top1, top3, regret and cross-entropy.
        teacher: Recorded scheduler: prefer the student that schedules best beside it. Of students that are as
            faithful as the best, the one is taken that schedules best beside this policy.
        workload: Workload for --teacher [default: that of the trace]
        episodes: Validation episodes for --teacher. [default: 40]
        learner: Models to fit, e.g. tree,spline-logit (docs/learner.md). Models to fit, comma-separated or repeated
            (docs/learner.md): tree, linear-tree, linear, logit, spline-logit, bounded-logit, pairwise-tree,
            linfa-trees. Those of linfa are there for comparison.
        max_leaves: Largest number of leaves per level, of terms for spline-logit [default: 64]
        max_choices: Choices learnt from per level at most, drawn by their weights [default: all]
        use: Which of the fitted models schedules [default: the first learner]
        features: Features that logits may use alone [default: all that differ within a choice]
        trust: Whom to trust: `measured` leaves out what users declare, `LEVEL=measured` at that level [default:
            all] Who controls a feature says `distill list features`.
        structure: Whether the student takes the most probable stage of the most probable job (hierarchical) or of all
            jobs, as Decima does (flat) [default: hierarchical]
        params: JSON file with what studies vary besides: target, engine, min_gain, balance, ridge, interactions and
            others (docs/learner.md).
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("fit", results.Fit, locals())


def front(
    trace: Path,
    *,
    validation: Path | None = None,
    max_size: int | None = None,
    learner: Literal["tree", "linear-tree", "linear", "logit", "spline-logit", "bounded-logit", "pairwise-tree", "linfa-trees"] | Sequence[Literal["tree", "linear-tree", "linear", "logit", "spline-logit", "bounded-logit", "pairwise-tree", "linfa-trees"]] | None = None,
    by: Literal["top1", "top3", "regret", "cross-entropy"] | None = None,
    max_choices: int | None = None,
    balance: float | None = None,
    structure: Literal["hierarchical", "flat"] | None = None,
    teacher: PolicyLike | None = None,
    workload: str | None = None,
    episodes: int | None = None,
    output: Path | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Front:
    """Compare learners and sizes, and combine them into students of a given total size.

    ``distill front --help-all`` says more.

    Without ``output`` it goes to a folder that is removed when the interpreter ends.

    Args:
        trace: Trace to learn from.
        validation: Trace to choose and measure on [default: the last fifth of TRACE] None of its episodes may be one of
            TRACE.
        max_size: Largest size over all levels, leaves and terms together. [default: 64]
        learner: Learners to compare, e.g. tree,logit [default: five of them] Models to fit, comma-separated or
            repeated (docs/learner.md): tree, linear-tree, linear, logit, spline-logit, bounded-logit, pairwise-
            tree, linfa-trees. Those of linfa are there for comparison. [default: logit, spline-logit, tree,
            linear-tree, pairwise-tree]
        by: The figure that decides, as the mean over the kinds of choice [default: as in `distill fit`, the
            least regret among those whose top-1 is as good as the best, up to noise]
        max_choices: Choices learnt from per level at most, drawn by their weights. [default: 30000]
        balance: How far kinds of choices are balanced: 0 counts choices, 1 gives every kind the same weight.
            [default: 0.8]
        structure: Whether students take the most probable stage of the most probable job (hierarchical) or of all jobs
            (flat). [default: hierarchical]
        teacher: Teacher to compare with in closed loop, on validation seeds.
        workload: Workload of the closed loop [default: that of the trace]
        episodes: Episodes of the closed loop. [default: 20]
        output: Directory to write to.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("front", results.Front, locals())


def loop(
    method: Literal["dagger", "viper"],
    *,
    teacher: PolicyLike,
    workload: str | None = None,
    iterations: int | None = None,
    episodes: int | None = None,
    validation_episodes: int | None = None,
    beta: float | None = None,
    weights: Literal["gap", "regret"] | None = None,
    regret_states: int | None = None,
    horizon: float | None = None,
    learner: Literal["tree", "linear-tree", "linear", "logit", "spline-logit", "bounded-logit", "pairwise-tree", "linfa-trees"] | Sequence[Literal["tree", "linear-tree", "linear", "logit", "spline-logit", "bounded-logit", "pairwise-tree", "linfa-trees"]] | None = None,
    max_leaves: int | None = None,
    max_choices: int | None = None,
    use: str | None = None,
    features: str | Sequence[str] | None = None,
    trust: str | Sequence[str] | None = None,
    structure: Literal["hierarchical", "flat"] | None = None,
    params: Path | Mapping[str, Any] | None = None,
    output: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Loop:
    """Improve a student on the states that it visits itself (DAgger, VIPER).

    ``distill loop --help-all`` says more.

    Without ``output`` it goes to a folder that is removed when the interpreter ends.

    Args:
        method: Which loop.
        teacher: Teacher that labels (see `distill list policies`).
        workload: Workload (see `distill list workloads`). [default: builtin]
        iterations: Number of fits after the first one. [default: 4]
        episodes: New training episodes of each iteration. [default: 40]
        validation_episodes: Validation episodes to choose the best iteration on. [default: 40]
        beta: The teacher drives the share X^i of episodes. Here i is the number of the iteration. [default: 0]
        weights: What viper weighs choices by: the teacher's log-probability gap, or simulated regret [default: gap]
        regret_states: Most states per iteration whose regret is simulated. [default: 1000]
        horizon: Simulated seconds over which regret adds up. [default: 500]
        learner: Models to fit, e.g. tree,spline-logit (docs/learner.md). Models to fit, comma-separated or repeated
            (docs/learner.md): tree, linear-tree, linear, logit, spline-logit, bounded-logit, pairwise-tree,
            linfa-trees. Those of linfa are there for comparison.
        max_leaves: Largest number of leaves per level, of terms for spline-logit [default: 64]
        max_choices: Choices learnt from per level at most, drawn by their weights [default: all]
        use: Which of the fitted models schedules [default: the first learner]
        features: Features that logits may use alone [default: all that differ within a choice]
        trust: Whom to trust: `measured` leaves out what users declare, `LEVEL=measured` at that level [default:
            all] Who controls a feature says `distill list features`.
        structure: Whether the student takes the most probable stage of the most probable job (hierarchical) or of all
            jobs, as Decima does (flat) [default: hierarchical]
        params: JSON file with what studies vary besides: target, engine, min_gain, balance, ridge, interactions and
            others (docs/learner.md).
        output: Directory to write.
        force: Remove a loop that was made with other arguments.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("loop", results.Loop, locals())


def attack(
    trace: Path | None = None,
    *,
    policy: PolicyLike | Sequence[PolicyLike] | None = None,
    certify: Path | None = None,
    tries: int | None = None,
    workload: str | None = None,
    proxy: Path | None = None,
    edits_of: Path | None = None,
    method: Literal["gradient", "gradient-path", "query", "proxy", "random"] | Sequence[Literal["gradient", "gradient-path", "query", "proxy", "random"]] | None = None,
    budget: str | Sequence[str] | None = None,
    edits: str | Sequence[str] | None = None,
    trials: int | None = None,
    questions: int | None = None,
    episodes: int | None = None,
    targets: int | None = None,
    split: Literal["train", "validation", "test", "final"] | None = None,
    run: Path | None = None,
    output: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Attack:
    """Try whether a user is served sooner who describes her job differently.

    ``distill attack --help-all`` says more.

    Without ``output`` and ``run`` it goes to a folder that is removed when the interpreter ends.

    Args:
        policy: The scheduler that is attacked (`distill list policies`); with --run repeatable.
        certify: Certify this student instead: of which choices no edit can take what it gives. At the questions of
            TRACE, by other declared numbers of any job within `--budget duration=SHARE`, repeatable [default:
            0.05, 0.1 and 0.25]; with `--edits split,edge` by any one of these. Where the questions cannot be
            made again, over boxes of what rows say. With --run the report of a run shows it.
        trace: Trace whose questions are looked at.
        tries: Random edits of each job of each choice that are tried, to contradict certificates. [default: 2]
        workload: Workload [default: that of the student, else builtin]
        proxy: Student that stands in for the scheduler; makes `proxy` a method. Where the method is named and no
            student is, one is fitted on 20 recorded episodes.
        edits_of: Folder of an attack on another scheduler, whose edits are made against this one. The jobs, methods
            and budgets are those of that attack.
        method: Methods, with commas between [default: all that can be]
        budget: How much may be edited, repeatable: `edits=N` and by how much a number may change [default:
            edits=1,duration=0.5] Shares of numbers are 0.5 where nothing is said: a duration may be half or one
            and a half of what it was.
        edits: Sorts of edits, with commas between [default: duration,split,edge in `dag`, epochs in `training`]
        trials: Edits that a method may try out in the episode before it keeps the best. With 1 the first counts,
            whatever it brings. [default: 1]
        questions: Questions at which a method asks what an edit would change. [default: 16]
        episodes: Number of episodes. [default: 20]
        targets: Jobs of each episode that are attacked, one at a time. [default: 5]
        split: Seeds of the episodes: train, validation, test or final. [default: test]
        run: Run directory for whose report it is. Where no scheduler is named, its teacher, student and
            augmented student and the two best heuristics are attacked on its workload, with budgets of 1, 2 and
            4 edits (of numbers, within 10, 25 and 50 %).
        output: Folder for what comes of it [default with --run: RUN_DIR/attacks]
        force: Begin anew where the folder holds another attack.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("attack", results.Attack, locals())


def augment(
    student: Path,
    *,
    workload: str | Sequence[str] | None = None,
    edge_cases: bool = False,
    policy: PolicyLike | Sequence[PolicyLike] | None = None,
    trace: Path | None = None,
    episodes: int | None = None,
    under_attack: str | None = None,
    budget: int | None = None,
    max_edits: int | None = None,
    min_agreement: float | None = None,
    validation_episodes: int | None = None,
    max_guards: int | None = None,
    max_size: int | None = None,
    polish: float | None = None,
    step: float | None = None,
    population: int | None = None,
    polish_episodes: int | None = None,
    output: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Augmented:
    """Search guards, patches and numbers that make a student schedule better.

    ``distill augment --help-all`` says more.

    Without ``output`` it goes to a folder that is removed when the interpreter ends.

    Args:
        student: Student to begin with.
        workload: Workload, repeatable [default: that of the student, else builtin] The default is the one that the
            student was fitted on, where a student schedules. `distill list workloads` shows what there is.
        edge_cases: Run every edge case of these workloads too (docs/edge-cases.md).
        policy: Policy to compare with in the end; the first is the baseline. Repeatable.
        trace: Trace of the teacher on which fidelity is measured before and after. Of another split than the
            student was fitted on.
        episodes: Test episodes of the comparison in the end. [default: 100]
        under_attack: Also make it harder to game: users may edit so much of their jobs, e.g. edits=1,duration=0.5. What
            they gain, as a share of their completion times, counts as much as the objective. Every episode is
            then run several times, each time with another job described as serves it best.
        budget: Episodes that the search may run in all. Racing, moving numbers, confirming, and measuring what each
            edit does. The comparison in the end comes on top. A budget that is too small is refused with the
            smallest that is not. [default: 40000]
        max_edits: Most edits: guards, moved numbers and regimes together. [default: 12]
        min_agreement: Least share of the student's decisions that stay as they were. 0 lets the search change any of them.
            [default: 0.5]
        validation_episodes: Validation episodes that confirm every change [default: a 150th of the budget, from 20 to 100]
        max_guards: Most guards. [default: 6]
        max_size: Largest size [default: 64, or the student's if larger] Leaves and terms of all levels together.
        polish: Share of the budget for moving several numbers at once (CMA-ES); the rest is for guards and patches.
            [default: 0.7]
        step: First step of that search, in the scale of each number. [default: 0.1]
        population: Candidates per generation of that search. [default: 20]
        polish_episodes: Training episodes per candidate of that search. [default: 4]
        output: Folder for the augmented student and the journal of the search.
        force: Begin anew where the folder holds another search.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("augment", results.Augmented, locals())


def patch(
    student: Path,
    *,
    set: str | Sequence[str] | None = None,
    guard: str | Sequence[str] | None = None,
    drop_guard: int | Sequence[int] | None = None,
    structure: Literal["hierarchical", "flat"] | None = None,
    reason: str | None = None,
    trace: Path | None = None,
    gate: float | None = None,
    workload: str | None = None,
    episodes: int | None = None,
    output: Path | None = None,
    force: bool = False,
    split: Literal["train", "validation", "test", "final"] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Patched:
    """Edit a student by hand, and see what the edit costs before it is written.

    ``distill patch --help-all`` says more.

    Without ``output`` it goes to a folder that is removed when the interpreter ends.

    Args:
        student: Student to edit.
        set: Change a number of the rules, e.g. job.coefficient[age]=0, repeatable.
        guard: Add a guard after the existing ones, repeatable.
        drop_guard: Take out a guard, by its number from 0; repeatable. Guards are taken out before others are added.
        structure: Take the most probable stage of the most probable job (hierarchical) or of all jobs (flat) [default:
            as it is]
        reason: Why, for whoever reads the student. [default: by hand]
        trace: Trace on which the change of fidelity is measured [default: not measured]
        gate: Worst objective against that before the edit [default: 2 % worse] Nothing is written if it is
            missed, and the exit code is 1.
        workload: Workload [default: the one that the student was fitted on]
        episodes: Number of episodes in closed loop. [default: 20]
        output: File for the edited student.
        force: Write it whatever it costs, and in place of a file with other content.
        split: Their seeds: train, validation, test or final. Fitting sees train, searching sees validation,
            development looks at test. What is kept for closing figures, final, is read only where it is asked
            for. [default: validation]
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("patch", results.Patched, locals())


def diff(
    a: Path,
    b: Path,
    *,
    trace: Path | None = None,
    workload: str | None = None,
    episodes: int | None = None,
    split: Literal["train", "validation", "test", "final"] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Diff:
    """Compare two students: structure, agreement, completion times.

    ``distill diff --help-all`` says more.

    Args:
        a: First student.
        b: Second student.
        trace: Trace on whose choices they are compared [default: none]
        workload: Workload [default: the one that A was fitted on]
        episodes: Number of episodes in closed loop. [default: 20]
        split: Their seeds: train, validation, test or final. Fitting sees train, searching sees validation,
            development looks at test. What is kept for closing figures, final, is read only where it is asked
            for. [default: test]
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("diff", results.Diff, locals())


def features(
    trace: Path,
    *,
    level: str | Sequence[str] | None = None,
    families: int | None = None,
    folds: int | None = None,
    max_choices: int | None = None,
    balance: float | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Features:
    """Say what every feature and family of features adds.

    ``distill features --help-all`` says more.

    Args:
        trace: Trace to learn from.
        level: Levels, comma-separated [default: all]
        families: Most families that may enter. [default: 8]
        folds: Parts that the episodes are divided into. [default: 5]
        max_choices: Choices per fold at most, drawn by their weights. [default: 5000]
        balance: How far kinds of choices are balanced: 0 counts choices, 1 gives every kind the same weight.
            [default: 0.8]
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("features", results.Features, locals())


def evaluate(
    student: Path,
    trace: Path | None = None,
    *,
    selection: Path | None = None,
    disagreement: bool = False,
    max_regions: int | None = None,
    teacher: PolicyLike | None = None,
    policy: PolicyLike | Sequence[PolicyLike] | None = None,
    workload: str | Sequence[str] | None = None,
    edge_cases: bool = False,
    episodes: int | None = None,
    split: Literal["train", "validation", "test", "final"] | None = None,
    output: Path | None = None,
    run: Path | None = None,
    force: bool = False,
    min_fidelity: float | None = None,
    gate: float | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Evaluation:
    """Measure how faithful a student is, and how it schedules beside the teacher.

    ``distill evaluate --help-all`` says more.

    Args:
        student: Student file.
        trace: Trace to measure fidelity on; of another split than it was fitted on.
        selection: Trace on which the best single-feature rule is chosen [default: none is shown]
        disagreement: Show where the student departs from the teacher. Regions of choices are found on half of the trace's
            episodes; what the departures cost there is measured on the other half.
        max_regions: Most regions that are shown per level. [default: 8]
        teacher: Teacher to compare with in closed loop.
        policy: Another policy to compare with, repeatable [default: fair, or drf] The default is fair for jobs of
            stages, drf for training clusters.
        workload: Workload, repeatable [default: that of the student, else builtin] The default is the one that the
            student was fitted on, where a student schedules. `distill list workloads` shows what there is.
        edge_cases: Run every edge case of these workloads too (docs/edge-cases.md).
        episodes: Number of episodes in closed loop [default: as many as it takes] Without it, it is looked at the
            figures after 40, 80, 160 and 320 episodes of the first workload and after 20, 40 and 80 of each
            further one, and stopped when no interval has a limit, or equality, inside. Intervals then hold at
            all looks and for all gates together. Limits are those of the report's verdict and --gate.
        split: Their seeds: train, validation, test or final. Fitting sees train, searching sees validation,
            development looks at test. What is kept for closing figures, final, is read only where it is asked
            for. [default: test]
        output: Write all figures to this file.
        run: Run directory to write the figures to, for `distill report`. It gets evaluation.json and
            schedules.json.
        force: Replace an output file with other content.
        min_fidelity: Least top-1 fidelity of the first level, over all kinds.
        gate: Worst objective against the teacher's, e.g. 1.05 times its mean JCT.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("evaluate", results.Evaluation, locals())


def explain(
    student: Path,
    trace: Path,
    *,
    choices: int | None = None,
    decisions: int | None = None,
    regime: str | None = None,
    rule: str | Sequence[str] | None = None,
    train: Path | Sequence[Path] | None = None,
    resamples: int | None = None,
    gradients: int | None = None,
    choice: str | None = None,
    why_not: int | None = None,
    html: Path | None = None,
    run: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Explanation:
    """Say what a student goes by, why it took a decision, and what would have changed it.

    ``distill explain --help-all`` says more.

    Args:
        student: Student file.
        trace: Trace to explain it on; of another split than it was fitted on.
        choices: Choices per level and kind that are looked at, drawn at random. [default: 1500]
        decisions: Decisions that are kept one by one for the report. [default: 300]
        regime: Feature by which the agreement with heuristics is divided into three regimes [default: the
            scenario's own, e.g. jobs_in_system]
        rule: One more rule to compare with, repeatable (see `distill list rules`).
        train: Its training trace, repeatable: would other episodes have given the same rules? The student is
            fitted again on draws of the trace's episodes, to say how alike the rules come out.
        resamples: How often it is fitted again for --train. [default: 8]
        gradients: Attribute this many of the network's own decisions to its inputs (needs libtorch). By integrated
            gradients.
        choice: Explain this choice alone.
        why_not: What would have made this candidate (a job's number) the student's? A candidate with several numbers
            (a job's and a stage's) goes by the last one.
        html: Write the explanation of the choice as a page of its own.
        run: Run directory to write the explanation to, for `distill report`. It gets explanation.json,
            decisions.json and what_if.json.
        force: Replace a page with other content.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("explain", results.Explanation, locals())


def identify(
    trace: Path,
    *,
    regime: str | None = None,
    rule: str | Sequence[str] | None = None,
    exceptions: str | Sequence[str] | None = None,
    validation: Path | None = None,
    kind: str | None = None,
    max_exceptions: int | None = None,
    min_gain: float | None = None,
    min_fidelity: float | None = None,
    max_choices: int | None = None,
    output: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Identity:
    """Compare a teacher with named heuristics, or describe it as one with exceptions.

    ``distill identify --help-all`` says more.

    Args:
        trace: Recorded trace.
        regime: Feature by which decisions are divided into three regimes; the same for all candidates of a choice
            [default: the scenario's own, e.g. jobs_in_system]
        rule: One more rule, repeatable (see `distill list rules`).
        exceptions: Search exceptions to this rule; `best` for every level's best rule. Repeatable.
        validation: Trace to choose exceptions on [default: the last fifth of TRACE] None of its episodes may be one of
            TRACE.
        kind: Only choices of this kind count [default: all kinds alike] By default each kind has the same weight.
        max_exceptions: Exceptions per level at most. [default: 8]
        min_gain: Agreement that an exception must add on validation choices. [default: 0.002]
        min_fidelity: Agreement on validation choices that is enough. [default: 1]
        max_choices: Choices learnt from per level at most, drawn by their weights. [default: 20000]
        output: Write the rules with their exceptions as a student.
        force: Replace a student file with other content.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("identify", results.Identity, locals())


def export(
    student: Path,
    *,
    to: Literal["rules", "dot", "rust", "c", "java", "go", "onnx", "json"],
    level: str | None = None,
    model: str | None = None,
    output: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Export:
    """Write a student as source code, its models as rules, drawings or ONNX.

    ``distill export --help-all`` says more.

    Args:
        student: Student file.
        to: Format.
        level: Only this level, its scores alone [default: all]
        model: This model of the level [default: the one that schedules]
        output: File or folder [default: stdout]
        force: Replace files with other content.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("export", results.Export, locals())


def report(
    run: Path,
    *,
    output: Path,
    with_: Path | Sequence[Path] | None = None,
    trace: Path | None = None,
    gate: str | Sequence[str] | None = None,
    teacher_name: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Report:
    """Write the report of a run directory: one HTML page, and a model card.

    ``distill report --help-all`` says more.

    Args:
        run: Run directory.
        output: Directory to write the report to.
        with_: Another student to compare with, repeatable. It is measured on the episodes of the run, and what was
            measured is kept in the run directory.
        trace: Trace to measure the fidelity of other students on [default: RUN/traces/test]
        gate: Limit of a gate of the verdict, e.g. teacher=1.02, repeatable; fails if it is not kept. The worst
            that the objective may be: `teacher`, against the teacher's with the whole interval (by default 5 %
            worse); `heuristic`, against that of the best heuristic (no worse); `elsewhere`, against the
            teacher's on other workloads (25 % worse). The report is written in any case; the exit code is 1 if
            a gate that is named is not kept or not measured.
        teacher_name: What the teacher is called on the page [default: the name that the run gives it, or its file's]
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("report", results.Report, locals())


def inspect(
    path: Path,
    *,
    replay: bool = False,
    seal: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Inspection:
    """Describe a trace, student, network, workload or log, and check that it is sound.

    ``distill inspect --help-all`` says more.

    Args:
        path: Trace directory, student file, checkpoint of a network, workload, or log of a cluster; of another
            file it says which command takes it.
        replay: Carry the schedule that a log records out again, and say how far the simulator's times are from the
            recorded ones.
        seal: Fill in row counts and hashes of a trace that another program wrote.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("inspect", results.Inspection, locals())


def import_history(
    history: str,
    *,
    output: Path | None = None,
    force: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Imported:
    """Turn a history of a real cluster into a workload file.

    ``distill import --help-all`` says more.

    Without ``output`` it goes to a folder that is removed when the interpreter ends.

    Args:
        history: Log of a cluster, or a folder of logs; or a workload (`distill list workloads`).
        output: Workload file to write; one that ends with .gz is packed.
        force: Replace a file with other content.
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("import", results.Imported, locals())


def shadow(
    log: Path,
    *,
    train: Path | None = None,
    student: Path | None = None,
    max_drift: float | None = None,
    max_regions: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Shadowed:
    """Report a shadow's log: agreement with the present scheduler, and drift.

    ``distill shadow --help-all`` says more.

    Args:
        log: Log that `distill serve --shadow` has written.
        train: Trace that the policy was fitted on.
        student: Student that the log is of; drift is told of what it reads [default: the one that the log names, if
            its file is there]
        max_drift: Gate: the largest index that a feature may have, where it is beyond chance.
        max_regions: Most regions of choices that are shown per level; 0 for none. [default: 4]
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("shadow", results.Shadowed, locals())


def check_policy(
    *,
    policy: PolicyLike,
    workload: str | Sequence[str] | None = None,
    against: PolicyLike | None = None,
    tolerance: float | None = None,
    episodes: int | None = None,
    decisions: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    scenario: Literal["dag", "training", "deadlines", "preemption", "serving"] | None = None,
    progress: Progress | None = None,
) -> results.Conformance:
    """Check that a policy keeps its contract, and whether it decides as another one.

    ``distill check-policy --help-all`` says more.

    Args:
        policy: Policy to check (see `distill list policies`).
        workload: Workload, repeatable [default: a battery of built-in ones]
        against: Another policy that must decide the same. Near ties, below 1e-4 in log-probability, are counted
            apart.
        tolerance: The largest difference of log-probabilities to the other policy that passes. [default: 0.00001]
        episodes: Episodes of each workload. [default: 1]
        decisions: End an episode after so many decisions. [default: 300]
        seed: Seed of everything random; the same seed gives the same bytes. [default: 0]
        threads: Worker threads; results do not depend on it [default: all cores]
        scenario: Kind of cluster: dag or training or deadlines or preemption or serving [default: that of the files,
            else dag]
        progress: Is told how far it is.
    """
    return call("check-policy", results.Conformance, locals())
