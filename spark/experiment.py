#!/usr/bin/env python3
"""Queries of TPC-H in Apache Spark as they come, under Spark's own orders, rules, a network and students.

    pip install pyspark==3.5.9 tpchgen-cli
    python spark/experiment.py WORK --distill target/release/distill

makes, in the folder WORK: tables, what tasks take (an event log of Spark and a profile), a student that is fitted to it, one file for each run, and
`WORK/run`, of which `distill report WORK/run` draws the section "Live". It says beforehand how long the runs take. What is there is not done again, so
that it goes on where it was stopped. Nothing else should run on the machine meanwhile.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import pyspark  # noqa: E402

from live import outcome, workload  # noqa: E402
from live.engine import Arrival, Engine  # noqa: E402
from live.policies import FEWEST, FIFO, FITTED, PLAIN, Policy, counts, plugin, policies  # noqa: E402
from live.tpch import PARTS, QUERIES, SCALES, SHARES, generate  # noqa: E402

@dataclass(frozen=True)
class Mode:
    """How many tasks may run at once, and how many times the time of a core that they take they last longer than that."""

    slots: int
    factor: float


MODES = {"real": Mode(os.cpu_count() or 2, 0.0), "dilated": Mode(8, 15.0)}
# Share of the time of slots that is asked for. Where they are the machine's own cores, planning of queries has to go on beside them.
LOADS = {("dilated", "lower"): 0.5, ("dilated", "higher"): 0.8, ("real", "lower"): 0.3, ("real", "higher"): 0.5}


@dataclass(frozen=True)
class Cell:
    """A mode at a load."""

    mode: str
    load: str

    @property
    def name(self) -> str:
        return f"{self.mode}-{self.load}"

    @property
    def slots(self) -> int:
        return MODES[self.mode].slots

    @property
    def share(self) -> float:
        return LOADS[self.mode, self.load]


# Each query at each size.
EVERY = [Arrival(query, size, 0.0) for size in SCALES for query in QUERIES]

CELLS = [Cell(mode, load) for mode in ("dilated", "real") for load in ("higher", "lower")]


# Seeds of arrivals that are not measured: those that the student is fitted to, and those at which it is seen how long a driver takes while it is busy.
TRAIN, BUSY = 1_000_000, 1_000_001

# So often each query runs to see what its tasks take of a core, where they are dilated.
REPEATS = 2


class Experiment:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.work: Path = options.work.resolve()
        self.distill: Path = options.distill.resolve()
        self.data = {size: self.work / "data" / size for size in SCALES}
        self.policies = policies(self.work)
        self.cells_wanted = [cell for cell in CELLS if not options.cell or cell.name in options.cell]
        self.is_warm = False
        # The student is fitted to the first cell.
        self.modes = list(dict.fromkeys(cell.mode for cell in [CELLS[0], *self.cells_wanted]))

    def build(self) -> Engine:
        """The plugin, and what makes tasks sleep."""
        home, classes, jar = Path(pyspark.__file__).parent, self.work / "classes", self.work / "distill-spark.jar"
        subprocess.run([HERE / "build.sh", home, jar], check=True)
        dilate = HERE / "tests/distill/experiment/Dilate.java"
        subprocess.run(["javac", "--release", "11", "-nowarn", "-cp", f"{home}/jars/*", "-d", classes, dilate], check=True)
        return Engine(self.data, [jar, classes], HERE / "tests/log4j2.properties")

    def calibrate_times(self, engine: Engine, mode: str) -> None:
        """What tasks take of a core, where they are dilated: each query at each size, alone and some times, with plans that change while they run and with
        fixed ones, which have other tasks."""
        for plans in ({}, PLAIN):
            times = self.times(mode, adaptive=not plans)
            if times is None or times.exists():
                continue
            say(f"{mode}: what tasks take of a core, {len(EVERY)} queries {1 + REPEATS} times")
            times.parent.mkdir(parents=True, exist_ok=True)
            part = times.with_suffix(".part")
            part.unlink(missing_ok=True)
            # Java takes a turn to get going.
            with engine.application(MODES[mode].slots, 0.0, plans) as application:
                for arrival in EVERY:
                    application.ask(arrival)
            with engine.application(MODES[mode].slots, 0.0, plans, part) as application:
                for _ in range(REPEATS):
                    for arrival in EVERY:
                        application.ask(arrival)
            part.rename(times)

    def calibrate(self, engine: Engine, mode: str) -> None:
        """Each query at each size, alone and in turn, as it runs from now on."""
        folder = self.calibration(mode)
        if (folder / "jobs.json").exists():
            return
        say(f"{mode}: what tasks take, {len(EVERY)} queries")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "profile.json").unlink(missing_ok=True)
        self.warm(engine)
        settings = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": str(folder),
            "spark.plugins": "distill.Plugin",
            "spark.distill.student": "rule:fifo",
            "spark.distill.mode": "shadow",
            "spark.distill.profile": str(folder / "profile.json"),
        }
        alone = {}
        with engine.application(*asdict(MODES[mode]).values(), settings, self.times(mode)) as application:
            for arrival in random.Random(0).sample(EVERY, len(EVERY)):
                done = application.ask(arrival)
                alone[arrival.name] = {"took_s": done.took_s, "rows": done.rows}
            log = folder / application.context.applicationId
        (folder / "alone.json").write_text(json.dumps(alone, indent=1))
        workload.imported(self.distill, log, folder / "jobs.json")

    def calibration(self, mode: str) -> Path:
        """What was measured beforehand, of tasks that last so long and no longer."""
        return self.work / "calibration" / f"{mode}-{MODES[mode].slots}-slots-{1 + MODES[mode].factor:g}-fold"

    def busy(self, cell: Cell) -> Path:
        """What ran while others did too."""
        return self.calibration(cell.mode) / f"busy-{cell.load}.json"

    def calibrate_busy(self, engine: Engine, cell: Cell) -> None:
        """Queries as they come, in Spark's own order, to see what drivers take from stage to stage while others run."""
        if self.busy(cell).exists():
            return
        say(f"{cell.name}: what drivers take from stage to stage, {self.options.queries} queries as they come")
        self.warm(engine)
        folder = self.busy(cell).with_suffix("")
        folder.mkdir(exist_ok=True)
        settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(folder)}
        with engine.application(*asdict(MODES[cell.mode]).values(), settings, self.times(cell.mode)) as application:
            application.run(workload.draw(BUSY, self.options.queries, self.gap_s(cell), SHARES), pools=False)
            log = folder / application.context.applicationId
        workload.imported(self.distill, log, self.busy(cell))

    def times(self, mode: str, adaptive: bool = True) -> Path | None:
        """What tasks take of a core, where they are dilated."""
        name = "times.tsv" if adaptive else "times-not-adaptive.tsv"
        return self.calibration(mode) / name if MODES[mode].factor > 0 else None

    def jobs(self, mode: str) -> workload.Jobs:
        """Runs of each query, alone."""
        return workload.by_name(self.calibration(mode) / "jobs.json")

    def gap_s(self, cell: Cell) -> float:
        """Time from query to query, in the mean, at which this share of the slots' time is asked for."""
        jobs = self.jobs(cell.mode)
        each = {name: sum(map(workload.slot_seconds, runs)) / len(runs) for name, runs in jobs.items()}
        mean = sum(SHARES[name.split()[1]] * work / len(QUERIES) for name, work in each.items())
        return mean / (cell.slots * cell.share)

    def arrivals(self, cell: Cell, seed: int) -> list[Arrival]:
        return workload.draw(seed, self.options.queries, self.gap_s(cell), SHARES)

    def fit(self) -> None:
        """A student that is fitted, and augmented, to queries of what was measured; and the one of the network that comes with distill."""
        if not (self.work / "builtin/student.json").exists():
            say("the student of the network that comes with distill")
            subprocess.run([self.distill, "demo", "--fast", "--quiet", "-o", self.work / "builtin"], check=True)
        cell, file = CELLS[0], self.work / "train.json"
        # Times are what a demo writes last.
        before = file.read_bytes() if file.exists() and (self.work / "run/timings.json").exists() else None
        # Other arrivals than those that are measured, whose seeds are small; of the same queries.
        drawn = workload.draw(TRAIN, 12_000, self.gap_s(cell), SHARES)
        workload.write(file, drawn, self.jobs(cell.mode), cell.slots, workload.submit_ms(self.busy(cell)), TRAIN)
        if file.read_bytes() == before:
            return
        say("a student, fitted to what was measured")
        command = [self.distill, "demo", "--force", "-o", self.work / "run", "-w", f"json:{file},split=time,window=1m,offers=task", "-t", self.options.teacher]
        subprocess.run(command, check=True)

    def result(self, cell: Cell, seed: int, policy: Policy) -> Path:
        return self.work / "cells" / cell.name / f"seed-{seed}" / f"{policy.name.replace(' ', '-').replace(',', '')}.json"

    def conditions(self, cell: Cell, seed: int, policy: Policy) -> dict[str, str | None]:
        """What a run was made under, and is not comparable without: how long tasks last, what was measured beforehand, what comes when, the student."""
        folder = self.calibration(cell.mode)
        files = (folder / "jobs.json", folder / "profile.json", self.busy(cell), self.times(cell.mode, policy.adaptive))
        measured = hash_of(repr(MODES[cell.mode]).encode(), *(file.read_bytes() for file in files if file is not None))
        return {"calibration": measured, "arrivals": hash_of(repr(self.arrivals(cell, seed)).encode()), "student": policy.student_hash()}

    def is_there(self, cell: Cell, seed: int, policy: Policy) -> bool:
        """Whether a run of as many queries was measured, under these very conditions."""
        file = self.result(cell, seed, policy)
        if not file.exists():
            return False
        run = json.loads(file.read_text())
        return len(run["queries"]) == self.options.queries and run.get("conditions") == self.conditions(cell, seed, policy)

    def left(self) -> list[tuple[Cell, int, Policy]]:
        """Runs that are not there, by seed, so that what is there is paired; within a seed in random order."""
        todo = []
        for seed in range(self.options.seeds):
            block = [
                (cell, seed, policy)
                for cell in self.cells_wanted
                for policy in self.policies
                if (cell == CELLS[0] or policy.name in (FIFO, FEWEST, FITTED))
                and (not self.options.policy or policy.name in self.options.policy)
            ]
            random.Random(seed).shuffle(block)
            todo += [one for one in block if not self.is_there(*one)]
        return todo

    def expected_s(self, cell: Cell) -> float:
        """About how long a run takes: queries come, the last ones end, an application starts."""
        return self.options.queries * self.gap_s(cell) * 1.15 + 8.0

    def run(self, engine: Engine, cell: Cell, seed: int, policy: Policy) -> None:
        arrivals, mode, folder = self.arrivals(cell, seed), MODES[cell.mode], self.calibration(cell.mode)
        with plugin(policy, self.distill, folder / "profile.json") as settings:
            with engine.application(mode.slots, mode.factor, settings, self.times(cell.mode, policy.adaptive)) as application:
                for size in SCALES:
                    application.ask(Arrival(6, size, 0.0))
                done = application.run(arrivals, policy.pools)
            counted = counts(settings)
        alone = json.loads((folder / "alone.json").read_text())
        wrong = [one.name for one in done if one.rows != alone[one.name]["rows"]]
        if wrong:
            sys.exit(f"{policy.name}, {cell.name}, seed {seed}: other results than without the plugin: {', '.join(wrong)}")
        file = self.result(cell, seed, policy)
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(json.dumps({"queries": [asdict(one) for one in done], "counts": counted, "conditions": self.conditions(cell, seed, policy)}))
        part.rename(file)

    def warm(self, engine: Engine) -> None:
        """Lets Java compile what queries take, which makes the first ones ten times as long: plans that change while they run, and fixed ones."""
        if self.is_warm:
            return
        self.is_warm = True
        for plans in ({}, PLAIN):
            with engine.application(MODES["real"].slots, 0.0, plans) as application:
                for arrival in EVERY:
                    application.ask(arrival)

    def measure(self, engine: Engine) -> None:
        todo = self.left()
        total = sum(self.expected_s(cell) for cell, _, _ in todo)
        say(f"{len(todo)} runs of {self.options.queries} queries, about {total / 60:.0f} min")
        if self.options.plan:
            return
        if todo:
            self.warm(engine)
        begin, gone = time.monotonic(), 0.0
        for number, (cell, seed, policy) in enumerate(todo, 1):
            self.run(engine, cell, seed, policy)
            gone += self.expected_s(cell)
            left = (time.monotonic() - begin) / gone * (total - gone)
            mean = outcome.mean_s(self.result(cell, seed, policy))
            say(f"{number}/{len(todo)} {cell.name} seed {seed} {policy.name}: mean {mean:.2f} s; {left / 60:.0f} min left")

    def driver(self, mode: str) -> dict[str, float]:
        """Time of the driver by query, s."""
        folder = self.calibration(mode)
        alone = {name: one["took_s"] for name, one in json.loads((folder / "alone.json").read_text()).items()}
        return workload.driver_s(self.distill, self.jobs(mode), alone, MODES[mode].slots, workload.submit_ms(folder / "jobs.json"))

    def predict(self) -> None:
        """The same queries in the simulator, each from when the driver has done its part."""
        drivers = {mode: self.driver(mode) for mode in self.modes}
        program = hash_of(self.distill.read_bytes()).encode()
        for cell in self.cells_wanted:
            for seed in range(self.options.seeds):
                there = [policy for policy in self.policies if policy.simulated is not None and self.is_there(cell, seed, policy)]
                if there:
                    self.predict_seed(cell, seed, there, drivers[cell.mode], program)

    def predict_seed(self, cell: Cell, seed: int, there: list[Policy], driver: dict[str, float], program: bytes) -> None:
        drawn, arrivals = self.result(cell, seed, there[0]).with_name("workload.json"), self.arrivals(cell, seed)
        workload.write(drawn, arrivals, self.jobs(cell.mode), cell.slots, workload.submit_ms(self.busy(cell)), seed, driver)
        for policy in there:
            made_of = hash_of(program, drawn.read_bytes(), policy.simulated.encode(), (policy.student_hash() or "").encode())
            predicted = self.result(cell, seed, policy).with_suffix(".simulated")
            if predicted.exists() and json.loads(predicted.read_text())["made_of"] == made_of:
                continue
            took = workload.simulated(self.distill, drawn, policy.simulated)
            took_s = [s + driver[arrival.name] for s, arrival in zip(took, arrivals, strict=True)]
            predicted.write_text(json.dumps({"made_of": made_of, "took_s": took_s}))

    def cells(self) -> list[dict]:
        """What is there, cell by cell, of seeds of which all policies of the cell are there."""
        cells = []
        for cell in CELLS:
            seeds = range(self.options.seeds)
            taking_part = [p for p in self.policies if any(self.is_there(cell, seed, p) for seed in seeds)]
            seeds = [seed for seed in seeds if all(self.is_there(cell, seed, p) for p in taking_part)]
            if not taking_part or not seeds or taking_part[0].name != FIFO:
                continue
            cells.append({
                "name": cell.name,
                "slots": cell.slots,
                "load": cell.share,
                "dilated": MODES[cell.mode].factor,
                "policies": [self.measured(cell, seeds, policy) for policy in taking_part],
            })
        return cells

    def measured(self, cell: Cell, seeds: list[int], policy: Policy) -> dict:
        runs = []
        for seed in seeds:
            file = self.result(cell, seed, policy)
            run, predicted = json.loads(file.read_text()), file.with_suffix(".simulated")
            queries = [[one["name"], round(one["took_s"] * 1000)] for one in run["queries"]]
            simulated = [round(s * 1000) for s in json.loads(predicted.read_text())["took_s"]] if predicted.exists() else None
            runs.append({"seed": seed, "queries": queries, "simulated_ms": simulated, "counts": run["counts"]})
        return {"name": policy.name, "kind": policy.kind, "runs": runs}


def hash_of(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part)
    return whole.hexdigest()


def say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder of the experiment; it goes on with what is there")
    parser.add_argument("--distill", type=Path, default=HERE.parent / "target/release/distill", help="the program (default: %(default)s)")
    parser.add_argument("--teacher", default="decima", help="whom the student is fitted to (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=10, help="runs of each policy, each with other arrivals (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=40, help="queries of a run (default: %(default)s)")
    parser.add_argument("--cell", action="append", choices=[cell.name for cell in CELLS], help="only this cell; repeatable")
    parser.add_argument("--policy", action="append", help="only this policy; repeatable")
    parser.add_argument("--plan", action="store_true", help="say how long the runs take, and end")
    options = parser.parse_args()
    if not options.distill.is_file():
        parser.error(f"{options.distill} is no file: name the program with --distill, or build it with `cargo build --release`")
    if not shutil.which("tpchgen-cli"):
        parser.error("tpchgen-cli is not in PATH, which makes the tables: `pip install tpchgen-cli`")
    experiment = Experiment(options)
    names = [policy.name for policy in experiment.policies]
    if unknown := [name for name in options.policy or () if name not in names]:
        parser.error(f"--policy {unknown[0]!r} is none of them: {', '.join(map(repr, names))}")
    for size, scale in SCALES.items():
        generate(experiment.data[size], scale, PARTS)
    engine = experiment.build()
    for mode in experiment.modes:
        experiment.calibrate_times(engine, mode)
        experiment.calibrate(engine, mode)
    for cell in {cell.name: cell for cell in [CELLS[0], *experiment.cells_wanted]}.values():
        experiment.calibrate_busy(engine, cell)
    experiment.fit()
    experiment.measure(engine)
    experiment.predict()
    if cells := experiment.cells():
        file = outcome.write(experiment.work / "run", cells)
        say(f"{file}; `distill report {file.parent}` draws it")


if __name__ == "__main__":
    main()
