#!/usr/bin/env python3
"""Compares batchers on a server that runs a real model, and says whether the simulator had it right.

    cargo build --release --features onnx && cargo build --release -p sched-distill-batcher
    scripts/live_batching.py runs/live

Writes a recurrent model (scripts/onnx_models.py), measures its batches, and has three applications share it. Every policy serves the same
episodes at every load: `distill-batcher serve` on the first core, `distill-batcher load` on the second. `distill simulate` plays the same
episodes by the measured times. The table has the mean slowdown of each policy relative to the first with 95 % intervals over the same
episodes: simulated (bootstrap) and live (Student's t of the logarithms of paired ratios). Where they differ by more than 15 % in the
simulator, the live sign is the same, another, or open if its interval has both. With the usual 3 policies x 3 loads x 5 runs of 60 s it takes some 50 minutes,
and the machine should do nothing else. Runs that are in RESULTS.jsonl of the folder already are not made again. Standard library alone.
"""

import argparse
import json
import math
import signal
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
# Least and largest sizes of what three applications ask of the model.
APPLICATIONS = {"note": [2, 4], "chat": [2, 12], "mail": [6, 16]}
SIZES, BATCHES = "2,4,6,8,12,16", "1,2,4,8,16"
# Student's t, 97.5 %, by degrees of freedom.
T = [math.nan, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]
ADDRESS = "127.0.0.1:7499"
PATIENCE_S = 300


def on_core(core, command):
    """A command that runs on one core, where the system lets one choose."""
    return ["taskset", "-c", str(core), *command] if sys.platform == "linux" else command


def models(args):
    """The list of models, measured once."""
    path = args.folder / "models.json"
    if not path.exists():
        model, measured = args.folder / "recurrent.onnx", args.folder / "measured.json"
        subprocess.run([sys.executable, SCRIPTS / "onnx_models.py", "recurrent", model], check=True)
        profile = [args.distill, "profile-model", model, "--sizes", SIZES, "--batches", BATCHES, "-o", measured, "--force"]
        subprocess.run(on_core(0, profile), check=True)
        one = json.loads(measured.read_text())["models"][0]
        listed = [{**one, "name": name, "sizes": sizes} for name, sizes in APPLICATIONS.items()]
        path.write_text(json.dumps({"models": listed}))
    return path


def simulated(args, workload):
    """By policy the ratio to the first, and its interval."""
    command = [args.distill, "simulate", "--scenario", "serving", "-w", workload, "-n", str(args.runs)]
    command += [part for policy in args.policy for part in ("-p", policy)] + ["--seed", str(args.seed), "--json"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    loop = next(line for line in map(json.loads, lines) if "comparisons" in line)
    of_first = (one for one in loop["comparisons"] if one["baseline"] == args.policy[0])
    return {one["policy"]: one["figures"]["slowdown"] for one in of_first}


def live(args, workload, policy, episode):
    """What the load generator measured of one run."""
    serve = [args.batcher, "serve", "-w", workload, "-p", policy, "--listen", ADDRESS, "--answer-within", str(PATIENCE_S)]
    server = subprocess.Popen(on_core(0, serve), stdout=subprocess.PIPE, text=True)
    try:
        if not server.stdout.readline().startswith("listening"):
            raise SystemExit(f"{policy} does not serve")
        load = [args.batcher, "load", "-w", workload, "--to", ADDRESS, "--seed", str(args.seed), "--episode", str(episode)]
        load += ["--patience", str(PATIENCE_S), "--json"]
        done = subprocess.run(on_core(1, load), check=True, capture_output=True, text=True)
        played = json.loads(done.stdout)
        if played["answered"] + played["refused"] < played["tasks"]:
            raise SystemExit(f"{policy}, episode {episode}: tasks without an answer: {played}")
        return played
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=60)


def ratio(ours, theirs):
    """The mean of paired ratios and its 95 % interval, over logarithms."""
    logs = [math.log(a / b) for a, b in zip(ours, theirs)]
    mean = sum(logs) / len(logs)
    spread = math.sqrt(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1) / len(logs)) if len(logs) > 1 else math.nan
    half = T[min(len(logs), len(T)) - 1] * spread
    return [math.exp(x) for x in (mean, mean - half, mean + half)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the model, what was measured of it and the runs go")
    parser.add_argument("-p", "--policy", action="append", help="at least two [tf-serving, dybatch, dybatch,fair=off]")
    parser.add_argument("--load", type=float, action="append", help="[0.5, 0.8, 1.0]")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--distill", default="target/release/distill")
    parser.add_argument("--batcher", default="target/release/distill-batcher")
    args = parser.parse_args()
    args.policy = args.policy or ["tf-serving", "dybatch", "dybatch,fair=off"]
    args.load = args.load or [0.5, 0.8, 1.0]
    if len(args.policy) < 2 or args.runs < 2:
        parser.error("it takes two policies and two runs at least")
    args.folder.mkdir(parents=True, exist_ok=True)
    listed, results = models(args), args.folder / "RESULTS.jsonl"
    known = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    found = {(run["workload"], run["policy"], run["seed"], run["episode"]): run["played"] for run in known}
    rows = []
    for load in args.load:
        workload = f"models:{listed},load={load:g},seconds={args.seconds:g},mix=work,timeout=10"
        # Policies take turns, so that whatever slows the machine down meets all.
        for episode in range(args.runs):
            first = episode % len(args.policy)
            for policy in args.policy[first:] + args.policy[:first]:
                key = (workload, policy, args.seed, episode)
                if key in found:
                    continue
                played = found[key] = live(args, workload, policy, episode)
                with results.open("a") as file:
                    names = ("workload", "policy", "seed", "episode")
                    file.write(json.dumps({**dict(zip(names, key)), "played": played}) + "\n")
                print(f"load {load:g}, run {episode + 1}, {policy}: slowdown {played['slowdown']:.2f}", file=sys.stderr)
        expected = simulated(args, workload)
        runs = lambda policy: [found[workload, policy, args.seed, episode] for episode in range(args.runs)]
        slowdowns = lambda policy: [run["slowdown"] for run in runs(policy)]
        for policy in args.policy[1:]:
            live_ratio = ratio(slowdowns(policy), slowdowns(args.policy[0]))
            rows.append((load, policy, expected[policy], live_ratio))
        refused = sum(run["refused"] for policy in args.policy for run in runs(policy))
        late = max(run["late_ms"] for policy in args.policy for run in runs(policy))
        print(f"load {load:g}: {refused} tasks refused; requests at most {late:.1f} ms late", file=sys.stderr)
    print(f"{'load':>5}  {'mean slowdown, relative to ' + args.policy[0]:<40} {'simulated':>22} {'live':>22}  sign")
    wrong = 0
    for load, policy, sim, real in rows:
        matters = abs(math.log(sim["value"])) > math.log(1.15)
        is_open = real[1] < 1 < real[2]
        agrees = (sim["value"] < 1) == (real[0] < 1)
        wrong += matters and not (agrees or is_open)
        word = "-" if not matters else "open" if is_open else "same" if agrees else "OTHER"
        shown = lambda v, low, high: f"{v:.3f} [{low:.3f}, {high:.3f}]"
        print(f"{load:>5g}  {policy:<40} {shown(sim['value'], sim['low'], sim['high']):>22} {shown(*real):>22}  {word}")
    print("\nsign: of differences that are above 15 % in the simulator")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
