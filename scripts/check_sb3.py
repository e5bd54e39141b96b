"""MaskablePPO on `SchedDistill/Dag-v0`, from training to report: what `scripts/check-sb3.sh` runs.

    python scripts/check_sb3.py STEPS FOLDER

Features differ by orders of magnitude, and a candidate is as good in one row as in another: the network takes logarithms, and one small
network scores all rows.
"""

import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import sched_distill as sd
import sched_distill.envs  # noqa: F401
import torch
from gymnasium.wrappers import TransformReward
from sb3_contrib import MaskablePPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

WORKLOAD = "builtin,jobs=10"


class Rows(BaseFeaturesExtractor):
    """A score of each row, and what all candidates share."""

    def __init__(self, space: gymnasium.spaces.Dict) -> None:
        rows, width = space["candidates"].shape
        shared, levels = space["cluster"].shape[0], int(space["level"].n)
        super().__init__(space, rows + shared)
        sizes = [width + levels, 64, 32]
        layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (torch.nn.Linear(a, b), torch.nn.Tanh())]
        self.score = torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], 1))

    def forward(self, seen: dict[str, torch.Tensor]) -> torch.Tensor:
        """(observations, rows + shared)."""
        rows, cluster = (seen[name].sign() * seen[name].abs().log1p() / 3 for name in ("candidates", "cluster"))
        level = seen["level"].reshape(len(rows), 1, -1).expand(-1, rows.shape[1], -1)
        return torch.cat([self.score(torch.cat([rows, level], 2)).squeeze(2), cluster], 1)


def made() -> gymnasium.Env:
    """The environment with rewards of about 1 an episode."""
    return TransformReward(gymnasium.make("SchedDistill/Dag-v0", workload=WORKLOAD), lambda reward: reward / 1e5)


def main() -> None:
    """Trains, compares, distils."""
    steps, folder = int(sys.argv[1]), Path(sys.argv[2])
    network = {"features_extractor_class": Rows, "net_arch": {"pi": [], "vf": [64, 64]}}
    model = MaskablePPO(
        "MultiInputPolicy", made(), policy_kwargs=network, n_steps=2048, batch_size=256, learning_rate=1e-3, gamma=1.0, seed=0
    )
    with torch.no_grad():  # the scores of the rows are those of the actions
        last = model.policy.action_net.weight
        last.copy_(torch.eye(*last.shape))
    start = time.monotonic()
    model.learn(steps)
    print(f"{steps} steps in {time.monotonic() - start:.0f} s")
    model.save(folder / "ppo.zip")
    policy = sd.from_sb3(MaskablePPO.load(folder / "ppo.zip"), "ppo")
    chance = sd.Policy(lambda choice: np.zeros(len(choice)), "chance", mode="sample", asked="batch")
    told = sd.simulate(policy=[chance, policy, "fair", "fifo"], workload=WORKLOAD, episodes=40, split="test")
    print("mean completion time against chance:")
    for compared in told.comparisons:
        if compared["baseline"] == told.policies[0]["policy"]:
            print("  {:20} {value:.3f} [{low:.3f}, {high:.3f}]".format(compared["policy"], **compared["figures"]["mean_jct_ms"]))
    run = sd.demo(teacher=policy, workload=WORKLOAD, fast=True, output=folder / "run", force=True)
    print(run.verdict)


main()
