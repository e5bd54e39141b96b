"""How fast the Python package is, beside its peers, in one run.

    python scripts/time_python.py [--seconds 5] [--rows 1000000]

In a virtual environment with the package, of a release build, and gymnasium, onnxruntime; what is not installed is left out.
CPU seconds are those of the whole process, all threads; medians of several turns.
"""

import argparse
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sched_distill as sd

#: Decisions per CPU second of spark-sched-sim under its fair scheduler, resets excluded, on a machine of this kind
#: (`scripts/time_peer.py`); it is on no registry, so that it is not run here.
PEER = 410.0

TURNS = 5


def has(*modules: str) -> bool:
    """Whether these are installed."""
    return all(importlib.util.find_spec(module) for module in modules)


def median(work: Callable[[], float]) -> float:
    """The median of several turns."""
    return statistics.median(work() for _ in range(TURNS))


def single(seconds: float) -> float:
    """Decisions per CPU second of `SchedDistill/Dag-v0` under `fair`, resets excluded."""
    import gymnasium
    import sched_distill.envs  # noqa: F401

    env = gymnasium.make("SchedDistill/Dag-v0", abstain=True, safe=False, disable_env_checker=True).unwrapped
    decisions, spent, seed = 0, 0.0, 0
    while spent < seconds:
        env.reset(seed=seed)
        seed += 1
        over = False
        begun = time.process_time()
        while not over:
            _, _, over, _, info = env.step(env.advice("fair"))
        spent += time.process_time() - begun
        decisions += info["decisions"]
    return decisions / spent


def many(seconds: float, count: int = 256) -> tuple[float, float]:
    """The same of so many episodes side by side, resets included, and per second of the clock."""
    import gymnasium
    import sched_distill.envs  # noqa: F401

    envs = gymnasium.make_vec(
        "SchedDistill/Dag-v0",
        num_envs=count,
        vectorization_mode="vector_entry_point",
        abstain=True,
        safe=False,
        copy=False,
    )
    envs.reset(seed=0)
    decisions = 0
    begun, clock = time.process_time(), time.perf_counter()
    while time.process_time() - begun < seconds:
        *_, infos = envs.step(envs.advice("fair"))
        decisions += sum(told["decisions"] for told in infos.get("episode", ()) if told)
    spent, passed = time.process_time() - begun, time.perf_counter() - clock
    # And those of episodes that go on.
    decisions += sum(told["decisions"] for told in envs.unwrapped.questions())
    return decisions / spent, decisions / passed


def scores(rows: int) -> None:
    """Scores of a student, a tree and a sum of terms, beside its ONNX in onnxruntime on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        trace = sd.record(policy="sjf,temperature=0.5,mode=sample", workload="builtin,jobs=20", episodes=8, output=Path(folder, "t"))
        for learner in ("tree", "logit"):
            student = sd.fit(trace, learner=learner, use=learner).load()
            x = np.random.default_rng(0).gamma(1, 100, (rows, len(student.features("job")))).astype(np.float32)

            def own(student: sd.Student = student, x: np.ndarray = x) -> float:
                begun = time.perf_counter()
                student.score("job", x)
                return time.perf_counter() - begun

            took = median(own)
            line = f"scores, {learner}: {rows / took / 1e6:.1f} million rows/s, {x.nbytes / took / 1e9:.2f} GB/s"
            if has("onnxruntime"):
                import onnxruntime

                sd.export(student, to="onnx", output=Path(folder, learner), level="job")
                options = onnxruntime.SessionOptions()
                path = next(path for path in [Path(folder, learner), *Path(folder, learner).glob("*.onnx")] if path.is_file())
                session = onnxruntime.InferenceSession(str(path), options)
                name = session.get_inputs()[0].name

                def theirs(session: "onnxruntime.InferenceSession" = session, name: str = name, x: np.ndarray = x) -> float:
                    begun = time.perf_counter()
                    session.run(None, {name: x})
                    return time.perf_counter() - begun

                other = median(theirs)
                line += f"; onnxruntime {rows / other / 1e6:.1f} million rows/s: {other / took:.1f} times as fast"
            print(line)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="CPU seconds of each turn [default: 5]")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows to score [default: 1000000]")
    arguments = parser.parse_args()
    if has("gymnasium"):
        alone = median(lambda: single(arguments.seconds))
        print(f"Dag-v0 under fair: {alone:.0f} decisions/CPU s, {alone / PEER:.0f} times the peer's {PEER:.0f}")
        turns = [many(arguments.seconds) for _ in range(TURNS)]
        cpu, clock = (statistics.median(turn[i] for turn in turns) for i in range(2))
        print(f"256 side by side:  {cpu:.0f} decisions/CPU s, {clock:.0f} decisions/s")
    scores(arguments.rows)


main()
