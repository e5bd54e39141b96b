"""What runs: queries that arrive at random, and the same as workloads of distill, made of what tasks took in Spark."""

import json
import random
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from live.engine import Arrival
from live.tpch import QUERIES

Jobs = dict[str, list[dict]]


def draw(seed: int, count: int, gap_s: float, shares: dict[str, float]) -> list[Arrival]:
    """Queries that come on their own (Poisson), `gap_s` apart in the mean: any of the 22, sizes by their shares. The same seed gives the same
    queries at times in proportion to the gap."""
    stream = random.Random(seed)
    arrivals, now = [], 0.0
    for _ in range(count):
        query = stream.choice(list(QUERIES))
        size = stream.choices(list(shares), weights=list(shares.values()))[0]
        arrivals.append(Arrival(query, size, now))
        now += stream.expovariate(1.0) * gap_s
    return arrivals


def imported(distill: Path, log: Path, file: Path) -> None:
    """Writes what ran as a workload: each query with its graph, and what each task took."""
    subprocess.run([distill, "import", f"spark:{log}", "-o", file, "--force", "--quiet"], check=True)


def slot_seconds(job: dict) -> float:
    """Time of slots that a run took."""

    def mean(durations: object) -> float:
        if isinstance(durations, dict):
            durations = [value for part in durations.values() for value in (part if isinstance(part, list) else [part])]
        return sum(durations) / len(durations) if isinstance(durations, list) else durations

    return sum(stage["num_tasks"] * mean(stage["durations"]) for stage in job["stages"]) / 1000


def write(file: Path, arrivals: list[Arrival], jobs: Jobs, slots: int, submit_ms: float, seed: int, driver: dict[str, float] | None = None) -> None:
    """A workload of these arrivals, each as one of the runs that were measured. The first stages can start when the driver has done its part, where that is
    told, s, and each other one `submit_ms` after those that it reads."""
    stream = random.Random(seed)
    all_jobs = []
    for arrival in arrivals:
        job = stream.choice(jobs[arrival.name])
        stages = [{key: value for key, value in stage.items() if key != "runs"} for stage in job["stages"]]
        all_jobs.append({
            "name": arrival.name,
            "arrival_ms": round(1000 * (arrival.at_s + (driver or {}).get(arrival.name, 0.0)), 3),
            "edges": job.get("edges", []),
            "stages": stages,
        })
    workload = {"num_executors": slots, "moving_delay_ms": 0, "submit_ms": submit_ms, "warmup_ms": 0, "jobs": all_jobs}
    file.write_text(json.dumps(workload))


def by_name(file: Path) -> Jobs:
    """Runs of a workload file, by the name of the query."""
    jobs = defaultdict(list)
    for job in json.loads(file.read_text())["jobs"]:
        jobs[job["name"]].append(job)
    return dict(jobs)


def submit_ms(file: Path) -> float:
    """Time from stage to stage of a query, in the mean over what ran."""
    return json.loads(file.read_text()).get("submit_ms", 0.0)


def simulated(distill: Path, file: Path, policy: str) -> list[float]:
    """How long each query of a workload takes in the simulator, s, in the order of the file."""
    with tempfile.TemporaryDirectory() as folder:
        spec = f"json:{file},split=none,offers=task"
        subprocess.run([distill, "simulate", "-w", spec, "-p", policy, "-n", "1", "--event-log", folder, "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        (log,) = (path for path in Path(folder).rglob("*") if path.is_file())
        begin, end = {}, {}
        for line in log.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart":
                begin[event["Job ID"]] = event["Submission Time"]
            elif event["Event"] == "SparkListenerJobEnd":
                end[event["Job ID"]] = event["Completion Time"]
        took = [(end[job] - begin[job]) / 1000 for job in sorted(begin)]
    # The simulator numbers jobs by arrival, those of one instant as they stand in the file.
    arrivals = [job["arrival_ms"] for job in json.loads(file.read_text())["jobs"]]
    order = sorted(range(len(arrivals)), key=arrivals.__getitem__)
    return [s for _, s in sorted(zip(order, took, strict=True))]


def driver_s(distill: Path, jobs: Jobs, alone: dict[str, float], slots: int, submit_ms: float) -> dict[str, float]:
    """What each query takes besides its stages, s: planning it, fetching rows. That is what it took alone, less what it takes alone in the simulator, which
    knows tasks, and the time from stage to stage."""
    names = list(jobs)
    apart = [Arrival(int(name[1:3]), name.split()[1], 1000.0 * i) for i, name in enumerate(names)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "alone.json"
        write(file, apart, jobs, slots, submit_ms, 0)
        tasks = simulated(distill, file, "fifo,by=arrival")
    return {name: max(0.0, alone[name] - s) for name, s in zip(names, tasks, strict=True)}
