"""Environments of Gymnasium, one per scenario: `SchedDistill/Dag-v0`, `Training-v0`, `Deadlines-v0`, `Preemption-v0`, `Serving-v0`.

A decision is taken level by level (which job, which of its stages, how many executors), and each level with more than one
candidate is a step. An observation has a row of features per candidate, padded with zeros to a fixed number of rows, a mask
of the rows that may be taken, what all candidates share, and the level. With ``joint=True`` a step is a whole decision, and
a row has the features of all levels.

Rewards add up to minus the objective (plus, where more is better), up to what no policy changes.

    import gymnasium
    import sched_distill.envs  # makes the environments known to Gymnasium

    env = gymnasium.make("SchedDistill/Dag-v0")
"""

from __future__ import annotations

import operator
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from . import _core
from ._core import Choice, Episodes
from .scenarios import scenarios

#: An observation: `candidates` (rows, width), `action_mask` (rows,), `cluster` (shared,) and `level`.
Observation = dict[str, Any]

Split = Literal["train", "validation", "test", "final"]

#: Candidates that an observation has room for where nobody says: more than any built-in workload has, whoever decides.
ROWS = {"dag": 64, "training": 64, "deadlines": 64, "preemption": 160, "serving": 128}

#: The same of whole decisions.
JOINT_ROWS = {"dag": 2048, "training": 192, "deadlines": 3072, "preemption": 1024, "serving": 256}

#: Environments of a vector at most: an episode of `dag` takes about 1 MB.
_MOST_ENVS = 1 << 20

#: How often in a row an episode without a choice is passed over.
_EMPTY = 1000


def _open(
    scenario: str, workload: str | None, split: Split, count: int, rows: int | None, plays: tuple[bool, bool, bool]
) -> Episodes:
    known = scenarios()
    if scenario not in known:
        raise ValueError(f"unknown scenario {scenario!r}; there are {', '.join(known)}")
    if rows is None:
        rows = (JOINT_ROWS if plays[0] else ROWS)[scenario]
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    if not 1 <= count <= _MOST_ENVS:
        raise ValueError(f"num_envs must be at least 1 and at most {_MOST_ENVS}, got {count}")
    return Episodes(scenario, workload or known[scenario].workload, split, count, rows, plays)


def _seed(seed: Any) -> int:
    """A seed of episodes, of any type of whole number."""
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"a seed must be a whole number, got {seed!r}") from None
    if not 0 <= number < 1 << 64:
        raise ValueError(f"a seed must be at least 0 and below 2^64, got {number}")
    return number


def _whole(actions: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Actions of that shape."""
    given = np.asarray(actions)
    if given.shape != shape or given.dtype.kind not in "iu":
        raise ValueError(f"actions must be whole numbers of shape {shape}, got {given.dtype} of shape {given.shape}")
    return given.astype(np.int64, order="C", copy=False)


def _spaces(core: Episodes, scenario: str, joint: bool) -> tuple[spaces.Dict, spaces.Discrete[np.int64]]:
    levels = 1 if joint else len(scenarios()[scenario].levels)
    observation: dict[str, spaces.Space[Any]] = {
        "candidates": spaces.Box(-np.inf, np.inf, (core.rows, core.width), np.float32),
        "action_mask": spaces.MultiBinary(core.rows),
        "level": spaces.Discrete(levels),
    }
    if core.cluster:
        observation["cluster"] = spaces.Box(-np.inf, np.inf, (len(core.cluster),), np.float32)
    return spaces.Dict(observation), spaces.Discrete(core.rows)


class SchedEnv(gym.Env[Observation, np.int64]):
    """Episodes of a workload, a choice at a time.

    Args:
        scenario: Kind of cluster: ``dag``, ``training``, ``deadlines``, ``preemption`` or ``serving``.
        workload: Where jobs come from, as on the command line; the scenario's first one where it is left out.
        split: Which episodes: those to train on, or others.
        rows: Candidates that an observation has room for. An episode with more is truncated, and ``info["overflow"]`` says
            how many there were.
        joint: Whether a step is a whole decision instead of one of its levels.
        abstain: Whether to give nothing is a candidate too, the last one of the first level, in scenarios where policies
            differ in that (``dag``).
        safe: Whether the mask rules out candidates after whom nothing need happen any more although jobs are unfinished, as
            students and networks of the program do. Heuristics of the program may take them, and get away with it.

    ``reset(seed=s)`` begins with episode 0 of seed ``s``, the same as the program's ``--seed s``; each further ``reset()``
    goes on with the next, and ``options={"episode": k}`` names one.

    An action that the mask rules out changes nothing: the same choice is open, and ``info["invalid_action"]`` is true.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: str = "dag",
        workload: str | None = None,
        *,
        split: Split = "train",
        rows: int | None = None,
        joint: bool = False,
        abstain: bool = False,
        safe: bool = True,
        render_mode: str | None = None,
    ) -> None:
        self.scenario, self.render_mode = scenario, render_mode
        self._core = _open(scenario, workload, split, 1, rows, (joint, abstain, safe))
        self.observation_space, self.action_space = _spaces(self._core, scenario, joint)
        self._has_cluster = bool(self._core.cluster)
        self._seed: int | None = None
        self._episode = 0
        self._mask: NDArray[np.int8] = np.zeros(self._core.rows, np.int8)

    @property
    def columns(self) -> dict[str, list[str]]:
        """Names of the columns of `candidates`, by level; those beyond are 0."""
        return {level.name: level.features for level in scenarios()[self.scenario].levels.values()}

    @property
    def cluster(self) -> list[str]:
        """Names of what all candidates share; 0 at levels that do not have it."""
        return self._core.cluster

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions may be taken, as MaskablePPO of sb3-contrib asks for it."""
        return self._mask.astype(np.bool_)

    def advice(self, policy: str) -> int | None:
        """What a policy of the program (``"fair"``, ``"student:FILE"``) would take here.

        `None` if that is none of the candidates that may be taken.
        """
        return self._core.advice(0, policy)

    def question(self) -> dict[str, Any]:
        """Of the open choice: the simulated time, the kind of question, how many candidates and decisions there are."""
        return self._core.info(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode."""
        chosen = None if seed is None else _seed(seed)
        first = operator.index((options or {}).get("episode", 0 if seed is not None else self._episode))
        if not 0 <= first < 1 << 32:
            raise ValueError(f"an episode must be at least 0 and below 2^32, got {first}")
        super().reset(seed=chosen)
        if chosen is None:
            chosen = int(self.np_random.integers(1 << 62)) if self._seed is None else self._seed
        self._seed, self._episode = chosen, first
        for _ in range(_EMPTY):
            told = self._core.begin(0, self._seed, self._episode)
            self._episode += 1
            if not told[5]:
                observation, *_, info = self._told(told)
                return observation, info
        raise ValueError(f"none of {_EMPTY} episodes has a choice to be taken")

    def step(self, action: int | np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Takes a candidate."""
        return self._told(self._core.step(action if type(action) is int else int(_whole(action, ()))))

    def _told(self, told: _core._Step) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        candidates, mask, cluster, level, reward, ended, overflows, invalid = told
        self._mask = mask
        observation = {"candidates": candidates, "action_mask": mask, "level": np.int64(level)}
        if self._has_cluster:
            observation["cluster"] = cluster
        info: dict[str, Any] = {"action_mask": mask}
        if invalid:
            info["invalid_action"] = True
        if ended:
            info.update(self._core.info(0))
        elif overflows:
            info["overflow"] = {"candidates": self._core.info(0)["candidates"], "rows": self._core.rows}
        return observation, reward, ended, overflows, info


class SchedVectorEnv(VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """Many episodes side by side, stepped through in threads without the GIL; parameters are those of `SchedEnv`.

    An episode that has ended begins anew at the next step, whose action for it is not looked at (``AutoresetMode.NEXT_STEP``).
    Observations are the same arrays from step to step unless ``copy`` is true, which is the default.
    """

    def __init__(
        self,
        scenario: str = "dag",
        workload: str | None = None,
        *,
        num_envs: int = 1,
        split: Split = "train",
        rows: int | None = None,
        joint: bool = False,
        abstain: bool = False,
        safe: bool = True,
        copy: bool = True,
    ) -> None:
        self.scenario, self.num_envs, self.copy = scenario, num_envs, copy
        self.render_mode = None
        self.metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}
        core = self._core = _open(scenario, workload, split, num_envs, rows, (joint, abstain, safe))
        self.single_observation_space, self.single_action_space = _spaces(core, scenario, joint)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, num_envs)
        self._has_cluster = bool(core.cluster)
        self._candidates = np.zeros((num_envs, core.rows, core.width), np.float32)
        self._mask = np.zeros((num_envs, core.rows), np.int8)
        self._cluster = np.zeros((num_envs, len(core.cluster)), np.float32)
        self._levels = np.zeros(num_envs, np.int64)
        self._rewards = np.zeros(num_envs, np.float64)
        self._ended, self._cut, self._invalid = (np.zeros(num_envs, np.bool_) for _ in range(3))
        self._seeds: list[int | None] = [None] * num_envs
        self._episodes = [0] * num_envs
        #: Places whose episode is over.
        self._over: list[int] = []

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions may be taken: (environments, rows)."""
        return self._mask.astype(np.bool_)

    def advice(self, policy: str) -> NDArray[np.int64]:
        """What a policy of the program would take in each episode; -1 where that is no candidate."""
        return self._core.advice_all(policy)

    def questions(self) -> list[dict[str, Any]]:
        """Of the open choice of each episode, what `SchedEnv.question` says."""
        return [self._core.info(index) for index in range(self.num_envs)]

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode in every place, or in those of ``options["reset_mask"]``, a boolean for each.

        Place ``i`` has seed ``seed + i`` unless seeds are listed, and goes on with its episodes where it is given none.
        """
        count = self.num_envs
        if isinstance(seed, (list, tuple)):
            if len(seed) != count:
                raise ValueError(f"{len(seed)} seeds for {count} environments")
            seeds = [None if one is None else _seed(one) for one in seed]
        else:
            first = None if seed is None else _seed(seed)
            seeds = [None if first is None else _seed(first + place) for place in range(count)]
        chosen = np.ones(count, np.bool_)
        if options and options.get("reset_mask") is not None:
            chosen = np.asarray(options["reset_mask"])
            if chosen.dtype != np.bool_ or chosen.shape != (count,):
                raise ValueError(f"reset_mask must be {count} booleans, got {chosen.dtype} of shape {chosen.shape}")
        super().reset(seed=next((one for one in seeds if one is not None), None))
        for place, (given, old) in enumerate(zip(seeds, self._seeds, strict=True)):
            if given is not None:
                self._seeds[place], self._episodes[place] = given, 0
            elif old is None:
                self._seeds[place] = int(self.np_random.integers(1 << 62))
        self._step(None, np.flatnonzero(chosen).tolist())
        return self._observation(), {"action_mask": self._mask.copy()}

    def _step(self, actions: NDArray[np.int64] | None, places: list[int]) -> bool:
        """Begins the next episode with a choice in these places, and takes a candidate in all others; whether one was not allowed."""
        for _ in range(_EMPTY):
            begins = [(place, self._seeds[place] or 0, self._episodes[place]) for place in places]
            self._over, invalid = self._core.step_all(
                actions,
                begins,
                self._candidates,
                self._mask,
                self._cluster,
                self._levels,
                self._rewards,
                (self._ended, self._cut, self._invalid),
            )
            for place in places:
                self._episodes[place] += 1
            actions, places = None, [place for place in places if self._ended[place]]
            if not places:
                return invalid
        raise ValueError(f"none of {_EMPTY} episodes has a choice to be taken")

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Takes a candidate in every episode."""
        invalid = self._step(_whole(actions, (self.num_envs,)), self._over)
        info: dict[str, Any] = {"action_mask": self._mask.copy()}
        if invalid:
            info["invalid_action"] = self._invalid.copy()
        if self._over:
            told: NDArray[np.object_] = np.full(self.num_envs, None, object)
            for place in self._over:
                told[place] = self._core.info(place)
            info["outcome"], info["_outcome"] = told, self._ended | self._cut
        return self._observation(), self._rewards.copy(), self._ended.copy(), self._cut.copy(), info

    def _observation(self) -> Observation:
        observation: dict[str, NDArray[Any]] = {
            "candidates": self._candidates,
            "action_mask": self._mask,
            "level": self._levels,
        }
        if self._has_cluster:
            observation["cluster"] = self._cluster
        return {name: array.copy() for name, array in observation.items()} if self.copy else observation


class Observer:
    """Makes observations of what a policy is asked, for models that were trained on an environment, ``safe`` or not."""

    def __init__(self, space: gym.Space[Any], *, safe: bool = True) -> None:
        if not isinstance(space, spaces.Dict) or not {"candidates", "level"} <= set(space.spaces):
            raise TypeError("the model was trained on other observations than those of this package's environments")
        shape, level = space.spaces["candidates"].shape, space.spaces["level"]
        assert shape is not None and isinstance(level, spaces.Discrete)
        self.levels, self.safe = int(level.n), safe
        self.rows, self.width = shape
        self.has_cluster = "cluster" in space.spaces

    def __call__(self, choice: Choice) -> tuple[Observation, NDArray[np.bool_]]:
        """The observation of a choice, and which rows may be taken."""
        if len(choice) > self.rows:
            raise ValueError(f"{len(choice)} candidates; the model was trained on {self.rows} at most")
        known = scenarios()[choice.scenario]
        names = list(known.levels)
        if len(names) != self.levels:
            raise ValueError(
                f"the model was trained on questions of {self.levels} level(s), {choice.scenario} asks at {len(names)}; "
                "one that was trained with joint=True takes whole decisions, and cannot be asked level by level"
            )
        width = max(len(level.features) for level in known.levels.values())
        if width != self.width:
            raise ValueError(f"the model was trained on {self.width} columns; {choice.scenario} has {width}")
        candidates = np.zeros((self.rows, self.width), np.float32)
        candidates[: len(choice), : choice.features.shape[1]] = choice.features
        mask = np.zeros(self.rows, np.bool_)
        mask[: len(choice)] = choice.allowed if self.safe else True
        observation: Observation = {
            "candidates": candidates,
            "action_mask": mask.astype(np.int8),
            "level": np.int64(names.index(choice.level)),
        }
        if self.has_cluster:
            shared = set(known.levels[choice.level].shared)
            observation["cluster"] = np.array(
                [choice[name][0] if name in shared else 0.0 for name in known.cluster], np.float32
            )
        return observation, mask


def _register() -> None:
    for scenario in ROWS:
        name = f"SchedDistill/{scenario.capitalize()}-v0"
        if name not in gym.registry:
            gym.register(
                name,
                entry_point="sched_distill.envs:SchedEnv",
                vector_entry_point="sched_distill.envs:SchedVectorEnv",
                kwargs={"scenario": scenario},
            )


_register()
