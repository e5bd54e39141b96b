#!/usr/bin/env python3
"""Time whole episodes of spark-sched-sim, the public Python Spark scheduling simulator with Decima.

Set-up (Python 3.10 or 3.11, a C++ compiler; the versions are the ones the project pins):

    git clone https://github.com/ArchieGertsman/spark-sched-sim
    pip install gymnasium==0.29.1 networkx==3.1 numpy==1.26.0 PyYAML scipy==1.11.2 \\
        torch==2.0.1 torch-geometric==2.3.1 "setuptools<70" wheel
    FORCE_ONLY_CPU=1 pip install --no-build-isolation torch-scatter==2.1.1 torch-sparse==0.6.17  # compiles long

    python time_peer.py --peer spark-sched-sim --profiles tpch_profiles.json.gz \\
        --scheduler decima --weights spark-sched-sim/models/decima/model.pt --seeds 1234,0,1

The TPC-H profiles are rewritten, in a temporary folder, as the .npy files the simulator reads. One JSON line
is printed for each episode and one with the medians. What is measured:

* One thread. CPU figures are CPU seconds of the whole process, the ones to compare on a busy machine.
* The clock starts after reset (which draws the jobs and cleans their profiles) and stops with the episode;
  reset_cpu_s is reported beside it. Inference is the scheduler's call, environment is the step; both are
  read from the CPU clock, three readings a decision (a few microseconds each).
* Events are not counted while the clock runs: the queue numbers its entries, so the handled events are the
  next number minus the entries left over. The arrivals at time 0, which reset handles, are included.
* `decima` draws its actions from both softmaxes, as the project does, from Python's generator seeded with the
  episode's seed; `decima-greedy` replaces the draw by the maximum. Neither renders.
"""
import argparse
import gzip
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

for variable in ("OMP", "MKL", "OPENBLAS"):  # must be set before numpy and torch are loaded
    os.environ[f"{variable}_NUM_THREADS"] = "1"

WAVES = ("first_wave", "rest_wave", "fresh_durations")
MEDIANS = ("decisions", "events", "wall_s", "cpu_s", "inference_cpu_s", "environment_cpu_s", "reset_cpu_s",
           "events_per_cpu_s", "events_per_environment_cpu_s", "decisions_per_cpu_s")


def fail(message):
    sys.exit(f"time_peer: {message}")


def positive_count(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, not {text!r}")
    return int(text)


def seed_list(text):
    seeds = text.split(",")
    if not all(seed.isdecimal() for seed in seeds):
        raise argparse.ArgumentTypeError(f"must be whole numbers with commas between, not {text!r}")
    return [int(seed) for seed in seeds]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--peer", type=Path, required=True, help="folder of the spark-sched-sim sources")
    parser.add_argument("--profiles", type=Path, required=True, help="tpch_profiles.json.gz")
    parser.add_argument("--weights", type=Path, help="Decima's state dict, model.pt (for decima only)")
    parser.add_argument("--scheduler", choices=("fair", "fifo", "decima", "decima-greedy"), required=True,
                        help="who decides; decima samples its actions, decima-greedy takes the best one")
    parser.add_argument("--executors", type=positive_count, default=10, help="executors in the cluster")
    parser.add_argument("--jobs", type=positive_count, default=50, help="jobs of an episode")
    parser.add_argument("--rate", type=float, default=4e-5, help="job arrivals per millisecond")
    parser.add_argument("--seeds", type=seed_list, default="1234", help="one episode for each, as in 1234,0,1")
    parser.add_argument("--repeats", type=positive_count, default=1, help="times the list of seeds is run")
    parser.add_argument("--episodes-limit", type=positive_count, help="stop after this many episodes")
    arguments = parser.parse_args()
    if not 0 < arguments.rate < float("inf"):
        parser.error(f"--rate must be above 0, not {arguments.rate}")
    if not (arguments.peer / "spark_sched_sim" / "spark_sched_sim.py").is_file():
        parser.error(f"--peer {arguments.peer} holds no spark_sched_sim package")
    if not arguments.profiles.is_file():
        parser.error(f"--profiles {arguments.profiles} is not a file")
    if arguments.scheduler.startswith("decima") and not (arguments.weights and arguments.weights.is_file()):
        parser.error(f"--scheduler {arguments.scheduler} needs --weights and a file there, not {arguments.weights}")
    return arguments


def write_profiles(profiles, folder):
    """Write one adjacency matrix and one pickled table of task durations for each query and size."""
    import numpy as np

    try:
        with gzip.open(profiles, "rt") as file:
            data = json.load(file)
        if data["format"] != "tpch-stage-profiles-v1":
            fail(f"{profiles} has the unknown format {data['format']!r}")
        for job in data["jobs"]:
            adjacency = np.zeros((job["num_stages"], job["num_stages"]), dtype=int)
            for parent, child in job["edges"]:
                adjacency[parent, child] = 1
            # dict() keeps the order of the executor counts: the first one decides the number of tasks
            durations = {stage_id: {wave: dict(stage[wave]) for wave in WAVES}
                         for stage_id, stage in enumerate(job["stages"])}
            target = folder / job["size"]
            target.mkdir(parents=True, exist_ok=True)
            np.save(target / f"adj_mat_{job['query']}.npy", adjacency)
            np.save(target / f"task_duration_{job['query']}.npy", np.array(durations), allow_pickle=True)
    except (OSError, EOFError, ValueError, KeyError, TypeError, IndexError) as error:
        fail(f"cannot convert {profiles}: {type(error).__name__}: {error}")


def make_scheduler(arguments):
    import torch
    import yaml
    import schedulers

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    if not arguments.scheduler.startswith("decima"):
        return schedulers.RoundRobinScheduler(arguments.executors, dynamic_partition=arguments.scheduler == "fair")
    try:
        settings = yaml.safe_load((arguments.peer / "config" / "decima_tpch.yaml").read_text())["agent"]
        settings |= {"num_executors": arguments.executors, "state_dict_path": str(arguments.weights)}
        scheduler = schedulers.make_scheduler(settings)
    except Exception as error:  # unreadable settings, or weights that do not fit: many exception types
        fail(f"cannot build Decima from {arguments.weights}: {type(error).__name__}: {str(error).splitlines()[0]}")
    if arguments.scheduler == "decima-greedy":
        schedulers.decima.utils.sample = lambda scores: (int(scores.argmax()), 0.0)
    return scheduler


def run_episode(arguments, scheduler, seed):
    import gymnasium

    settings = {"num_executors": arguments.executors, "job_arrival_cap": arguments.jobs,
                "job_arrival_rate": arguments.rate, "moving_delay": 2000.0, "warmup_delay": 1000.0,
                "data_sampler_cls": "TPCHDataSampler"}
    env = gymnasium.make("spark_sched_sim:SparkSchedSimEnv-v0", env_cfg=settings, disable_env_checker=True)
    if scheduler.env_wrapper_cls:
        env = scheduler.env_wrapper_cls(env)
    random.seed(seed)
    cpu_clock = time.process_time
    before_reset = cpu_clock()
    observation, _ = env.reset(seed=seed)
    reset = cpu_clock() - before_reset

    decisions, inference, environment, done = 0, 0.0, 0.0, False
    wall_start, cpu_start = time.perf_counter(), cpu_clock()
    while not done:
        asked = cpu_clock()
        action, _ = scheduler.schedule(observation)
        answered = cpu_clock()
        observation, _, terminated, truncated, _ = env.step(action)
        environment += cpu_clock() - answered
        inference += answered - asked
        decisions += 1
        done = terminated or truncated
    cpu, wall = cpu_clock() - cpu_start, time.perf_counter() - wall_start

    simulator = env.unwrapped
    events = next(simulator.event_queue._counter) - len(simulator.event_queue._pq)
    job_times = [job.t_completed - job.t_arrival for job in simulator.jobs.values()]
    return {"scheduler": arguments.scheduler, "executors": arguments.executors, "jobs": arguments.jobs,
            "rate": arguments.rate, "seed": seed, "decisions": decisions, "events": events,
            "avg_job_duration_s": round(sum(job_times) / len(job_times) / 1000, 6),
            "wall_s": round(wall, 4), "cpu_s": round(cpu, 4), "inference_cpu_s": round(inference, 4),
            "environment_cpu_s": round(environment, 4), "reset_cpu_s": round(reset, 4),
            "events_per_cpu_s": round(events / cpu, 1), "decisions_per_cpu_s": round(decisions / cpu, 1),
            "events_per_environment_cpu_s": round(events / environment, 1)}


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a closed pipe ends the program, quietly
    arguments = parse_arguments()
    for name in ("peer", "profiles", "weights"):  # absolute, because the working folder changes below
        if getattr(arguments, name):
            setattr(arguments, name, getattr(arguments, name).resolve())
    sys.path.insert(0, str(arguments.peer))
    with tempfile.TemporaryDirectory(prefix="time_peer_") as folder:
        try:
            write_profiles(arguments.profiles, Path(folder, "data", "tpch"))
            os.chdir(folder)  # the simulator reads data/tpch from the working folder
            scheduler = make_scheduler(arguments)
            episodes = []
            for seed in (arguments.seeds * arguments.repeats)[: arguments.episodes_limit]:
                episodes.append(run_episode(arguments, scheduler, seed))
                print(json.dumps(episodes[-1]), flush=True)
        except ImportError as error:
            fail(f"cannot load what the simulator needs: {error}")
        finally:
            os.chdir(arguments.peer)  # a temporary folder in use cannot be removed everywhere
    versions = {name: sys.modules[name].__version__ for name in ("numpy", "gymnasium", "torch")}
    summary = {"summary": "medians", "scheduler": arguments.scheduler, "executors": arguments.executors,
               "jobs": arguments.jobs, "rate": arguments.rate, "episodes": len(episodes)}
    summary |= {name: round(statistics.median(episode[name] for episode in episodes), 4) for name in MEDIANS}
    print(json.dumps(summary | {"versions": {"python": sys.version.split()[0]} | versions}))


if __name__ == "__main__":
    main()
