#!/usr/bin/env python3
"""Times a tree of 255 leaves beyond one machine's memory beside the histogram engine in memory and LightGBM: on one core, in turn.

    cargo build --release
    cargo build --release --manifest-path crates/engine/Cargo.toml
    cargo test --release --no-run -p sched-distill-learn
    target/release/distill record -p decima -n 300 -o DIR/train
    target/release/distill record -p decima -n 40 --split validation -o DIR/held
    pip install lightgbm==4.7.0 numpy==2.4.6 pyarrow
    python scripts/time_engine.py DIR/train DIR/held [--levels job,stage] [--rounds 3]

Times are those of the tree with its bins, of the engine with two passes over the trace's files; memory and LightGBM have their rows already. Each
round checks that the tree of the engine is the one that memory gives in the same bins.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
import lightgbm
import numpy as np
import pyarrow.parquet

ROOT = pathlib.Path(__file__).parents[1]
ENGINE = ROOT / "crates/engine/target/release/distill-engine"
LEAVES = 255
BOOSTING = dict(num_leaves=LEAVES, learning_rate=1.0, min_data_in_leaf=5, num_threads=1, verbose=-1, seed=0, max_bin=255,
                deterministic=True, force_col_wise=True, objective="regression")


def on_one_core(command, **environment):
    return subprocess.run(["taskset", "-c", "0", *map(str, command)], env={**os.environ, **environment}, check=True,
                          capture_output=True, text=True, cwd=ROOT)


def engine(trace, held, folder):
    """Seconds of each level's tree, by level, and the student."""
    student, params = folder / "student.json", folder / "params.json"
    params.write_text(json.dumps({"min_gain": 0.0, "engine": {"histogram": {"max_bins": 255}}}))
    said = on_one_core([ENGINE, "fit", trace, "--validation", held, "-o", student, "--force", "--learner", "tree",
                        "--max-leaves", LEAVES, "--params", params, "-j", 1]).stderr
    seconds, begun = {}, None
    for at, level, what in re.findall(r"^ *([\d.]+) s  level ([\w-]+)(?:, validation)?: (.*)$", said, re.M):
        if what.startswith("tree, round 1") and not what.startswith("tree, round 1,") and begun is None:
            begun = float(at)
        if what.startswith("temperature") and begun is not None:
            seconds[level], begun = float(at) - begun, None
    return seconds, student


def in_memory(trace, student, levels):
    """The same of the engine that has its rows in memory."""
    tests = list((ROOT / "target/release/deps").glob("sched_distill_learn-*"))
    test = max((path for path in tests if path.suffix == "" and os.access(path, os.X_OK)), key=os.path.getmtime)
    said = on_one_core([test, "--ignored", "--nocapture", "million"], STUDY_TRACES=str(trace),
                       STUDY_STUDENT=str(student), STUDY_LEVELS=levels, RAYON_NUM_THREADS="1").stdout
    levels = re.findall(r"(?:^|\.\.\. )([\w-]+): \d+ choices, (\d+) candidates$\s+tree: .* in memory ([\d.]+) s", said, re.M)
    return {level: float(seconds) for level, _, seconds in levels}, {level: int(rows) for level, rows, _ in levels}


def rows_of(trace, level):
    """Features and the probability of each candidate beside that of the most probable one."""
    files = sorted((trace / level).glob("*.parquet"))
    table = pyarrow.parquet.read_table(files)
    choice, log_prob, weight = (table[column].to_numpy() for column in ("choice", "log_prob", "weight"))
    first = np.flatnonzero(np.r_[True, choice[1:] != choice[:-1]])
    sizes = np.diff(np.r_[first, len(choice)])
    best = np.repeat(np.maximum.reduceat(log_prob, first), sizes)
    names = json.loads((trace / "manifest.json").read_text())["feature_set"]["levels"]
    names = next(of for of in names if of["name"] == level)["features"]
    x = np.column_stack([table[feature["name"]].to_numpy() for feature in names])
    # As a fit has them: choices that are none, or weigh next to nothing, are left out.
    usable = np.repeat(sizes > 1, sizes) & (weight >= 1e-3)
    return x[usable], np.exp(log_prob - best)[usable], len(x)


def light(x, y):
    began = time.perf_counter()
    model = lightgbm.train(BOOSTING, lightgbm.Dataset(x, label=y, params=BOOSTING), 1)
    assert model.num_trees() == 1
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("held", type=pathlib.Path)
    parser.add_argument("--levels", default="job,stage")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    os.sched_setaffinity(0, {0})
    levels = args.levels.split(",")
    peers = {level: rows_of(args.trace, level) for level in levels}
    seconds = {(who, level): [] for who in ("engine", "memory", "LightGBM") for level in levels}
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory(dir=args.trace.parent) as folder:
            ours, student = engine(args.trace, args.held, pathlib.Path(folder))
            here, rows = in_memory(args.trace, student, args.levels)
        for level in levels:
            seconds["engine", level].append(ours[level])
            seconds["memory", level].append(here[level])
            seconds["LightGBM", level].append(light(*peers[level][:2]))
    for level in levels:
        x, _, read = peers[level]
        assert len(x) == rows[level], (len(x), rows[level])
        print(f"level {level}: {len(x):,} rows of {read:,} are learnt from, {x.shape[1]} features; medians of {args.rounds}")
        for who in ("engine", "memory", "LightGBM"):
            median = statistics.median(seconds[who, level])
            print(f"  {who:10} {median:8.2f} s  {rows[level] / median:12,.0f} rows/s on one core, with binning")


if __name__ == "__main__":
    main()
