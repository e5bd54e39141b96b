"""Learning works: a policy gradient in numpy, without any library of deep learning."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from sched_distill.envs import SchedVectorEnv  # noqa: E402

#: Steps of all episodes together within which the learner must be better than chance.
STEPS = 60_000


class Softmax:
    """A linear score for the candidates of each level."""

    def __init__(self, levels: int, width: int) -> None:
        self.weights = np.zeros((levels, width))

    def chances(self, x: np.ndarray, mask: np.ndarray, levels: np.ndarray) -> np.ndarray:
        scores = np.einsum("erw,ew->er", x, self.weights[levels])
        scores = np.where(mask, scores, -np.inf)
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)


def scaled(candidates: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Features within a choice: less their mean, by their spread."""
    count = mask.sum(axis=1)[:, None, None]
    inside = mask[:, :, None]
    mean = (candidates * inside).sum(axis=1, keepdims=True) / count
    centred = (candidates - mean) * inside
    spread = np.sqrt((centred**2).sum(axis=1, keepdims=True) / count)
    return centred / np.maximum(spread, 1e-6)


def drawn(chances: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """A candidate in each place, by its chance."""
    return (chances.cumsum(axis=1) > draws.random((len(chances), 1))).argmax(axis=1)


def returns(model: Softmax | None, episodes: int, seed: int) -> list[float]:
    """Sums of rewards of test episodes, drawn from the model, or by chance."""
    env = SchedVectorEnv("dag", "builtin,jobs=10", num_envs=episodes, split="test", copy=False)
    observed, _ = env.reset(seed=seed)
    draws = np.random.default_rng(seed)
    sums, open_ = np.zeros(episodes), np.ones(episodes, bool)
    while open_.any():
        mask = observed["action_mask"].astype(bool)
        mask[~mask.any(axis=1), 0] = True
        chances = mask / mask.sum(axis=1, keepdims=True)
        if model is not None:
            chances = model.chances(scaled(observed["candidates"], mask), mask, observed["level"])
        actions = drawn(chances, draws)
        observed, rewards, ended, _, _ = env.step(actions)
        sums += rewards * open_
        open_ &= ~ended
    return sums.tolist()


def test_a_policy_gradient_beats_chance() -> None:
    """REINFORCE: the same jobs in all places, so that what one gains over the others is its own doing, not the jobs'."""
    places = 16
    env = SchedVectorEnv("dag", "builtin,jobs=10", num_envs=places, copy=False)
    model = Softmax(3, env.single_observation_space["candidates"].shape[1])
    draws = np.random.default_rng(1)
    taken = iteration = 0
    while taken < STEPS:
        observed, _ = env.reset(seed=[iteration] * places)
        gradients = np.zeros((places, *model.weights.shape))
        sums, open_ = np.zeros(places), np.ones(places, bool)
        while open_.any():
            mask = observed["action_mask"].astype(bool)
            mask[~mask.any(axis=1), 0] = True
            x, levels = scaled(observed["candidates"], mask), observed["level"].copy()
            chances = model.chances(x, mask, levels)
            actions = drawn(chances, draws)
            gradient = x[np.arange(places), actions] - np.einsum("er,erw->ew", chances, x)
            observed, rewards, ended, _, _ = env.step(actions)
            gradients[np.arange(places), levels] += gradient * open_[:, None]
            sums += rewards * open_
            taken += int(open_.sum())
            open_ &= ~ended
        gains = (sums - sums.mean()) / max(sums.std(), 1e-9)
        step = np.einsum("e,elw->lw", gains, gradients) / places
        model.weights += 0.3 * step / max(np.sqrt((step**2).sum()), 1e-9)
        iteration += 1
    learnt, chance = returns(model, 24, 5), returns(None, 24, 5)
    better = np.mean(np.array(learnt) > np.array(chance))
    assert np.mean(learnt) > np.mean(chance) and better > 0.6, (np.mean(learnt), np.mean(chance), better)
