"""Networks as schedulers. PyTorch and Stable-Baselines3 are not installed by the tests: `scripts/check-sb3.sh` runs these."""

from pathlib import Path

import numpy as np
import pytest
import sched_distill as sd
from conftest import TINY, files

torch = pytest.importorskip("torch")


def test_a_module_schedules_as_the_function_that_it_is(tmp_path: Path) -> None:
    """A linear layer, and the same sum in numpy."""
    width = len(sd.scenarios()["dag"].levels["job"].features)
    layer = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(width, 1))
    weights = np.random.default_rng(0).normal(0, 1e-3, width).astype(np.float32)
    with torch.no_grad():
        layer[1].weight[:] = torch.from_numpy(weights)
        layer[1].bias[:] = 0.25

    def summed(choice: sd.Choice) -> object:
        if choice.level != "job":
            return None
        with torch.no_grad():
            return (torch.from_numpy(choice.features) @ layer[1].weight.T + 0.25).reshape(-1)

    network = sd.from_torch({"job": layer}, "linear")
    assert network.name == "linear" and not layer.training
    traces = [
        sd.record(policy=policy, workload=TINY, episodes=3, output=tmp_path / name)
        for name, policy in (("torch", network), ("numpy", sd.Policy(summed, "other", asked="batch")))
    ]
    tables = ("job/", "stage/", "amount/")
    mine, theirs = ({name: data for name, data in files(trace.path).items() if name.startswith(tables)} for trace in traces)
    assert mine == theirs and mine
    # What it has learnt is part of what it is.
    with torch.no_grad():
        layer[1].bias += 1
    del network
    other = sd.record(policy=sd.from_torch({"job": layer}, "linear"), workload=TINY, episodes=1, output=tmp_path / "other")
    before, after = (trace.manifest["driver"]["files"] for trace in (traces[0], other))
    assert before.keys() == after.keys() == {"python:linear"} and before != after


def test_a_model_acts_in_the_program_as_in_the_environment(tmp_path: Path) -> None:
    """Its greedy actions give the episode that it gives when the program asks it."""
    pytest.importorskip("stable_baselines3")
    contrib = pytest.importorskip("sb3_contrib")
    from sched_distill.envs import SchedEnv

    env = SchedEnv("dag", TINY, split="test")
    model = contrib.MaskablePPO("MultiInputPolicy", env, n_steps=64, batch_size=32, seed=0)
    model.learn(128)
    model.save(tmp_path / "ppo")
    model = contrib.MaskablePPO.load(tmp_path / "ppo")
    told = sd.simulate(policy=sd.from_sb3(model), workload=TINY, episodes=2, split="test", seed=3)
    objectives = []
    for episode in range(2):
        observation, _ = env.reset(seed=3 if episode == 0 else None)
        over = False
        while not over:
            action, _ = model.predict(observation, action_masks=env.action_masks(), deterministic=True)
            observation, _, over, _, info = env.step(int(action))
        objectives.append(info["figures"]["mean_jct_ms"])
    assert np.allclose(told.policies[0]["episode_objective"], objectives, rtol=1e-12)


def test_a_model_without_masks_is_taken() -> None:
    baselines = pytest.importorskip("stable_baselines3")
    from sched_distill.envs import SchedEnv

    model = baselines.PPO("MultiInputPolicy", SchedEnv("serving", "builtin,seconds=0.2"), n_steps=64, batch_size=32, seed=0)
    told = sd.simulate(policy=sd.from_sb3(model), scenario="serving", workload="builtin,seconds=0.2", episodes=1)
    assert told.policies[0]["policy"] == "python:PPO"
