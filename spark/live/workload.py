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


def write(file: Path, arrivals: list[Arrival], jobs: Jobs, slots: int, seed: int) -> None:
    """A workload of these arrivals, each as one of the runs that were measured."""
    stream = random.Random(seed)
    all_jobs = []
    for arrival in arrivals:
        job = stream.choice(jobs[arrival.name])
        stages = [{key: value for key, value in stage.items() if key != "runs"} for stage in job["stages"]]
        all_jobs.append({
            "name": arrival.name,
            "arrival_ms": round(1000 * arrival.at_s, 3),
            "edges": job.get("edges", []),
            "stages": stages,
        })
    workload = {"num_executors": slots, "moving_delay_ms": 0, "warmup_ms": 0, "jobs": all_jobs}
    file.write_text(json.dumps(workload))


def by_name(file: Path) -> Jobs:
    """Runs of a workload file, by the name of the query."""
    jobs = defaultdict(list)
    for job in json.loads(file.read_text())["jobs"]:
        jobs[job["name"]].append(job)
    return dict(jobs)


def simulated(distill: Path, file: Path, policy: str) -> list[float]:
    """How long each query of a workload takes in the simulator, s, in order of arrival."""
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
        return [(end[job] - begin[job]) / 1000 for job in sorted(begin)]
