#!/usr/bin/env python3
"""How fast the Python package is beside its peers, each figure and its peer's in turn, medians of several rounds.

    cargo run --release --example synthetic_data -- DATA 100k=100000 test100k=100000
    pip install 'gymnasium==1.4.0' lightgbm==4.7.0 numpy==2.4.6 onnxruntime==1.31.1 scikit-learn==1.9.1 shap==0.51.0 maturin==1.16.0
    (cd crates/python && maturin develop --release)
    python scripts/time_python.py --data DATA [--rounds 5] [environments] [scores] [learners]

Environments and scores use as many threads as there are cores, learners and explainers one; each part is a process of its own.
Seconds are CPU seconds of the whole process, unless it says so. Fits and rows of `learners` are those of scripts/time_learners.py
and scripts/time_explainers.py, whose ratios are those of the Rust library.
"""
import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

# Decisions per CPU second of spark-sched-sim under its fair scheduler, resets excluded, on a machine of this kind
# (scripts/time_peer.py); it is on no registry, so that it is not run here.
PEER = 410.0
LEAVES = 200


def cpu_seconds(work):
    """CPU seconds of one run; short work is done over and over."""
    start = time.process_time()
    for runs in itertools.count(1):
        work()
        spent = time.process_time() - start
        if spent >= 0.2:
            return spent / runs


def clock_seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def environments(rounds, _):
    """Decisions of `Dag-v0` under `fair`: one environment, and several side by side."""
    import gymnasium
    import sched_distill.envs

    words = {"abstain": True, "safe": False}  # `fair` is free to do all that it does in the program
    env = gymnasium.make("SchedDistill/Dag-v0", disable_env_checker=True, **words).unwrapped

    def alone(seconds, with_resets):
        decisions, spent, passed, seed = 0, 0.0, 0.0, 0
        while spent < seconds:
            begun, clock = time.process_time(), time.perf_counter()
            env.reset(seed=seed)
            if not with_resets:
                begun, clock = time.process_time(), time.perf_counter()
            seed, over = seed + 1, False
            while not over:
                _, _, over, _, info = env.step(env.advice("fair"))
            spent, passed = spent + time.process_time() - begun, passed + time.perf_counter() - clock
            decisions += info["decisions"]
        return decisions / spent, decisions / passed

    def beside(count, seconds):
        envs = gymnasium.make_vec(
            "SchedDistill/Dag-v0", num_envs=count, vectorization_mode="vector_entry_point", copy=False, **words
        )
        envs.reset(seed=0)
        decisions = sum(told["decisions"] for told in envs.unwrapped.questions())
        decisions, begun, clock = -decisions, time.process_time(), time.perf_counter()
        while time.process_time() - begun < seconds:
            *_, infos = envs.step(envs.unwrapped.advice("fair"))
            decisions += sum(told["decisions"] for told in infos.get("outcome", ()) if told)
        spent, passed = time.process_time() - begun, time.perf_counter() - clock
        # And those of episodes that go on.
        decisions += sum(told["decisions"] for told in envs.unwrapped.questions())
        return decisions / spent, decisions / passed

    counts = (4, 16, 64, 256)
    turns = [[alone(2, False), alone(2, True), *(beside(count, 2) for count in counts)] for _ in range(rounds)]
    print(f"{'Dag-v0 under fair':36} {'/CPU s':>12} {'/s':>12} {'to peer':>8}")
    for i, name in enumerate(["one, resets excluded", "one, resets included", *(f"{count} side by side, resets included" for count in counts)]):
        cpu, clock = (statistics.median(turn[i][of] for turn in turns) for of in range(2))
        print(f"{name:36} {cpu:12,.0f} {clock:12,.0f} {cpu / PEER:8.0f}")


def scores(rounds, _):
    """Scores of a million rows, beside the exported ONNX in onnxruntime, seconds of the clock."""
    import numpy as np
    import onnxruntime
    import sched_distill as sd

    print(f"{'scores, million rows/s':36} {'onnxruntime':>14} {'ours':>14} {'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        trace = sd.record(policy="sjf,temperature=0.5,mode=sample", workload="builtin,jobs=20", episodes=8, output=Path(folder, "t"))
        for learner in ("tree", "logit"):
            student = sd.fit(trace, learner=learner, use=learner).load()
            x = np.random.default_rng(0).gamma(1, 100, (1_000_000, len(student.features("job")))).astype(np.float32)
            path = Path(folder, f"{learner}.onnx")
            sd.export(student, to="onnx", output=path, level="job")
            session = onnxruntime.InferenceSession(str(path), onnxruntime.SessionOptions())
            name = session.get_inputs()[0].name
            works = lambda: session.run(None, {name: x}), lambda: student.score("job", x)
            turns = [[clock_seconds(work) for work in works] for _ in range(rounds)]
            theirs, ours = (statistics.median(turn[i] for turn in turns) for i in range(2))
            print(f"{learner:36} {1 / theirs:14.1f} {1 / ours:14.1f} {theirs / ours:8.1f}")


def learners(rounds, data):
    """Fits beside scikit-learn and LightGBM, Shapley values beside shap."""
    import lightgbm
    import numpy as np
    import shap
    from sched_distill.estimators import TreeClassifier, TreeRegressor
    from sched_distill.explainers import TreeExplainer
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    warnings.filterwarnings("ignore")
    X, y, target, weight = (np.load(data / f"100k_{part}.npy") for part in ("X", "y", "yreg", "w"))
    rows = np.load(data / "test100k_X.npy")
    ours = {"classes": TreeClassifier(max_leaf_nodes=LEAVES, round_thresholds=False),
            "regression": TreeRegressor(max_leaf_nodes=LEAVES, round_thresholds=False)}
    peers = {"classes": DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0),
             "regression": DecisionTreeRegressor(max_leaf_nodes=LEAVES, random_state=0)}
    cases = {}
    for kind, goal in (("classes", y), ("regression", target)):
        for name, w in (("", None), (" weighted", weight)):
            fit = lambda model, goal=goal, w=w: lambda: model.fit(X, goal, w)
            cases[f"scikit-learn, fit {kind}{name}"] = (len(X), fit(peers[kind]), fit(ours[kind]))
    boosting = dict(num_leaves=LEAVES, learning_rate=1.0, min_data_in_leaf=5, num_threads=1, verbose=-1, seed=0,
                    deterministic=True, force_col_wise=True, max_bin=255, objective="regression")
    binned = TreeRegressor(max_leaf_nodes=LEAVES, min_samples_leaf=5, max_bins=255, round_thresholds=False)
    cases["LightGBM, fit regression, 255 bins"] = (
        len(X), lambda: lightgbm.train(boosting, lightgbm.Dataset(X, label=target, params=boosting), 1), lambda: binned.fit(X, target)
    )
    for kind, goal in (("classes", y), ("regression", target)):
        model = peers[kind].fit(X, goal)
        for name, background, count in (("path", None, 10_000), ("100 background rows", X[:100], 1000)):
            how = "tree_path_dependent" if background is None else "interventional"
            a, b = shap.TreeExplainer(model, background, feature_perturbation=how), TreeExplainer(model, background)
            few = rows[:count]
            apart = np.abs(a.shap_values(few[:100], check_additivity=False) - b.shap_values(few[:100])).max()
            assert apart < (1e-10 if background is None else 1e-6), apart  # shap's weights are 32-bit floats there
            cases[f"shap, {name}, {kind}"] = (
                count, lambda a=a, few=few: a.shap_values(few, check_additivity=False), lambda b=b, few=few: b.shap_values(few)
            )
    figures = {case: ([], []) for case in cases}
    for _ in range(rounds):
        for case, (_, *both) in cases.items():
            for list_, work in zip(figures[case], both):
                list_.append(cpu_seconds(work))
    print(f"{'one thread, rows per CPU s':36} {'theirs':>14} {'ours':>14} {'ratio':>8}")
    for case, (count, *_) in cases.items():
        a, b = (statistics.median(list_) for list_ in figures[case])
        print(f"{case:36} {count / a:14,.0f} {count / b:14,.0f} {a / b:8.1f}")


PARTS = {"environments": environments, "scores": scores, "learners": learners}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--data", type=Path, help="folder that synthetic_data wrote; `learners` needs it")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    parts = args.parts or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"unknown part {unknown[0]}; there are {', '.join(PARTS)}")
    if "learners" in parts and not args.data:
        parser.error("learners: --data is missing")
    if len(parts) == 1 and (parts != ["learners"] or os.environ.get("RAYON_NUM_THREADS") == "1"):
        return PARTS[parts[0]](args.rounds, args.data)
    for part in parts:
        one = {f"{name}_NUM_THREADS": "1" for name in ("RAYON", "OMP", "MKL", "OPENBLAS")} if part == "learners" else {}
        words = [part, f"--rounds={args.rounds}", *([f"--data={args.data}"] if args.data else [])]
        subprocess.run([sys.executable, __file__, *words], env=os.environ | one, check=True)


if __name__ == "__main__":
    main()
