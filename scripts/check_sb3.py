"""MaskablePPO on `SchedDistill/Dag-v0`, from training to report: what `scripts/check-sb3.sh` runs.

    python scripts/check_sb3.py STEPS FOLDER
"""

import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import sched_distill as sd
import sched_distill.envs  # noqa: F401
from gymnasium.wrappers import TransformReward
from sb3_contrib import MaskablePPO

WORKLOAD = "builtin,jobs=10"


def made() -> gymnasium.Env:
    """The environment with rewards of about 1 an episode."""
    return TransformReward(gymnasium.make("SchedDistill/Dag-v0", workload=WORKLOAD), lambda reward: reward / 1e5)


def main() -> None:
    """Trains, compares, distils."""
    steps, folder = int(sys.argv[1]), Path(sys.argv[2])
    model = MaskablePPO("MultiInputPolicy", made(), n_steps=1024, batch_size=256, gamma=1.0, ent_coef=0.01, seed=0, verbose=0)
    start = time.monotonic()
    model.learn(steps)
    print(f"{steps} steps in {time.monotonic() - start:.0f} s")
    model.save(folder / "ppo.zip")
    policy = sd.from_sb3(MaskablePPO.load(folder / "ppo.zip"), "ppo")
    chance = sd.Policy(lambda choice: np.zeros(len(choice)), "chance", mode="sample", asked="batch")
    told = sd.simulate(policy=[policy, chance, "fair", "fifo"], workload=WORKLOAD, episodes=40, split="test")
    for row, compared in zip(told.policies[1:], told.comparisons, strict=False):
        print(row["policy"], compared["figures"])
    run = sd.demo(teacher=policy, workload=WORKLOAD, fast=True, output=folder / "run", force=True)
    print(run.verdict)


main()
