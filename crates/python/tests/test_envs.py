"""Environments: the contract of Gymnasium, rewards, and many side by side."""

import threading
import time

import numpy as np
import pytest
import sched_distill as sd

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from sched_distill.envs import JOINT_ROWS, ROWS, Observer, SchedEnv, SchedVectorEnv  # noqa: E402

SMALL = {"serving": "builtin,seconds=0.2", "training": "builtin,jobs=12,nodes=12", "preemption": "builtin,jobs=30"}


def small(scenario: str) -> str:
    return SMALL.get(scenario, "builtin,jobs=10")


@pytest.mark.filterwarnings("ignore:.*A Box observation space")
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("scenario", ROWS)
def test_the_checker_of_gymnasium_is_content(scenario: str, joint: bool) -> None:
    env = gymnasium.make(f"SchedDistill/{scenario.capitalize()}-v0", joint=joint)
    check_env(env.unwrapped, skip_render_check=True)
    observation, info = env.reset(seed=5)
    assert env.observation_space.contains(observation)
    assert (info["action_mask"] == observation["action_mask"]).all()
    assert (env.unwrapped.action_masks() == observation["action_mask"].astype(bool)).all()


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("scenario", ROWS)
def test_rewards_add_up_to_the_objective(scenario: str, joint: bool) -> None:
    """For two policies: what these sums differ by is what their objectives differ by, to rounding."""
    told = sd.scenarios()[scenario]
    env = SchedEnv(scenario, small(scenario), joint=joint, abstain=True, safe=False)
    sums, objectives = [], []
    for policy in (told.baselines[0], told.baselines[-1]):
        env.reset(seed=2)
        total, over = 0.0, False
        while not over:
            action = env.advice(policy)
            assert action is not None
            _, reward, over, cut, info = env.step(action)
            assert not cut and "invalid_action" not in info
            total += reward
        assert info["stall"] is None
        sums.append(total)
        objectives.append(info["figures"][told.objective["name"]])
    sign = 1 if told.objective["better"] == "more" else -1
    assert np.isclose(sums[0] - sums[1], sign * (objectives[0] - objectives[1]), rtol=1e-9, atol=1e-9)
    # With these workloads no policy changes nothing: the sums tell them apart.
    assert sums[0] != sums[1]


def test_an_episode_is_that_of_the_program() -> None:
    env = SchedEnv("dag", "builtin,jobs=10", split="test", abstain=True, safe=False)
    objectives = []
    for episode in range(3):
        env.reset(seed=7 if episode == 0 else None)
        over = False
        while not over:
            action = env.advice("fair")
            assert action is not None
            _, _, over, _, info = env.step(action)
        objectives.append(info["figures"]["mean_jct_ms"])
    told = sd.simulate(policy="fair", workload="builtin,jobs=10", episodes=3, split="test", seed=7)
    assert np.allclose(told.policies[0]["episode_objective"], objectives, rtol=1e-12)


def test_actions_that_the_mask_rules_out_change_nothing() -> None:
    env = SchedEnv("dag", "builtin,jobs=10")
    observation, _ = env.reset(seed=1)
    for action in (env.action_space.n - 1, -1):
        again, reward, over, cut, info = env.step(int(action))
        assert info["invalid_action"] and reward == 0 and not over and not cut
        assert all((again[name] == observation[name]).all() for name in observation)


def test_more_candidates_than_rows_truncate_and_say_so() -> None:
    env = SchedEnv("dag", "builtin,jobs=30,rate=1e-2", rows=4)
    env.reset(seed=1)
    cut = over = False
    info: dict = {}
    while not cut and not over:
        _, _, over, cut, info = env.step(int(np.flatnonzero(env.action_masks())[0]))
    assert cut and info["overflow"]["rows"] == 4 < info["overflow"]["candidates"]
    _, reward, _, cut, _ = env.step(0)
    assert cut and reward == 0


@pytest.mark.parametrize("scenario", ROWS)
def test_the_usual_room_is_enough_for_what_ships(scenario: str) -> None:
    """Even for who always takes the last candidate, and lets the queue grow."""
    edges = {"dag": "wide", "training": "bursts", "deadlines": "burst", "preemption": "burst", "serving": "burst"}
    for workload in ("builtin", f"builtin,edge={edges[scenario]}"):
        for joint, rows in ((False, ROWS), (True, JOINT_ROWS)):
            env = SchedEnv(scenario, workload, joint=joint)
            assert env.action_space.n == rows[scenario]
            env.reset(seed=1)
            over, cut, steps = False, False, 0
            while not over and not cut and steps < (150 if joint else 1500):
                _, _, over, cut, _ = env.step(int(np.flatnonzero(env.action_masks())[-1]))
                steps += 1
            assert not cut, (workload, joint)


@pytest.mark.parametrize("scenario", ROWS)
def test_many_episodes_are_as_one_and_one(scenario: str) -> None:
    many = SchedVectorEnv(scenario, small(scenario), num_envs=3)
    single = [SchedEnv(scenario, small(scenario)) for _ in range(3)]
    observed, _ = many.reset(seed=11)
    ones = [env.reset(seed=11 + i)[0] for i, env in enumerate(single)]
    draws = np.random.default_rng(0)
    fresh = [False] * 3
    for _ in range(400):
        for i, one in enumerate(ones):
            assert all((observed[name][i] == one[name]).all() for name in one)
        actions = np.array([draws.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in observed["action_mask"]])
        observed, rewards, ended, _, info = many.step(actions)
        for i, env in enumerate(single):
            if fresh[i]:
                ones[i], told = env.reset()[0], 0.0
                fresh[i] = False
            else:
                ones[i], told, fresh[i], _, _ = env.step(int(actions[i]))
            assert told == rewards[i] and fresh[i] == ended[i]
        if ended.any():
            assert all(info["outcome"][i]["figures"] for i in np.flatnonzero(ended))


def test_threads_change_nothing() -> None:
    """So many that several threads step them, beside the same ones in parts that one thread steps; episodes end all the time."""
    workload, count = "builtin,jobs=3,executors=4", 80
    many = SchedVectorEnv("dag", workload, num_envs=count)
    parts = [SchedVectorEnv("dag", workload, num_envs=count // 4) for _ in range(4)]
    observed, _ = many.reset(seed=5)
    apart = [env.reset(seed=5 + i * count // 4)[0] for i, env in enumerate(parts)]
    ends = 0
    for step in range(120):
        for name, of_all in observed.items():
            assert (of_all == np.concatenate([one[name] for one in apart])).all()
        if step == 60:  # some of them begin anew
            chosen = np.arange(count) % 3 == 0
            observed, _ = many.reset(options={"reset_mask": chosen})
            apart = [env.reset(options={"reset_mask": part})[0] for env, part in zip(parts, np.split(chosen, 4), strict=True)]
            continue
        actions = observed["action_mask"].argmax(axis=1)
        observed, rewards, ended, _, info = many.step(actions)
        told = [env.step(part) for env, part in zip(parts, np.split(actions, 4), strict=True)]
        apart = [one[0] for one in told]
        assert (rewards == np.concatenate([one[1] for one in told])).all()
        assert (ended == np.concatenate([one[2] for one in told])).all()
        assert ("outcome" in info) == ended.any() == any("outcome" in one[4] for one in told)
        ends += int(ended.sum())
    assert ends > count // 4


def test_gymnasium_makes_the_environment_of_many() -> None:
    env = gymnasium.make_vec("SchedDistill/Serving-v0", num_envs=2, vectorization_mode="vector_entry_point")
    observed, _ = env.reset(seed=1)
    assert env.observation_space.contains(observed)
    assert observed["candidates"].shape == (2, ROWS["serving"], env.unwrapped.single_observation_space["candidates"].shape[1])


def test_errors_say_what_there_is() -> None:
    with pytest.raises(ValueError, match="unknown scenario 'dga'; there are dag, training"):
        SchedEnv("dga")
    with pytest.raises(ValueError, match="unknown workload `bultin`"):
        SchedEnv("dag", "bultin")
    with pytest.raises(ValueError, match="split must be one of train, validation, test, final"):
        SchedEnv("dag", split="training")
    with pytest.raises(ValueError, match="no episode has begun; call reset|the episode has ended"):
        SchedEnv("dag").step(0)


def test_others_run_while_environments_do() -> None:
    """The GIL is not held: a thread of Python's goes on counting while episodes are simulated."""
    env = SchedVectorEnv("dag", "builtin,jobs=200,rate=1e-2", num_envs=32, rows=256, copy=False)
    observed, _ = env.reset(seed=1)
    counted, done = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before, steps, inside = counted, 0, 0
    start = time.monotonic()
    while time.monotonic() - start < 1.0:
        actions = observed["action_mask"].argmax(axis=1)
        at = counted
        observed = env.step(actions)[0]
        inside += counted > at
        steps += 1
    done.set()
    thread.join()
    assert counted > before and inside > steps / 4, (counted, inside, steps)


@pytest.mark.parametrize("scenario", ROWS)
def test_a_model_is_asked_what_it_was_trained_on(scenario: str) -> None:
    """Observations that are made of a policy's questions are those of the environment, one by one."""
    env = SchedEnv(scenario, small(scenario), split="test")
    observer, any_mask, asked = Observer(env.observation_space), Observer(env.observation_space, safe=False), []

    def first(choice: sd.Choice) -> object:
        if len(choice) > 1:
            asked.append(observer(choice)[0])
        assert any_mask(choice)[1].sum() == len(choice)
        return np.where(choice.allowed, 0.0, -1e8)

    sd.simulate(policy=sd.Policy(first), workload=small(scenario), scenario=scenario, episodes=1, split="test", seed=4)
    observation, _ = env.reset(seed=4)
    seen, over = [], False
    while not over:
        seen.append(observation)
        observation, _, over, _, _ = env.step(int(observation["action_mask"].argmax()))
    assert len(seen) == len(asked) > 20
    for mine, theirs in zip(seen, asked, strict=True):
        assert mine.keys() == theirs.keys()
        assert all((mine[name] == theirs[name]).all() for name in mine)


def test_a_model_of_other_observations_is_refused() -> None:
    choice: list[sd.Choice] = []
    sd.simulate(policy=sd.Policy(choice.append), workload="builtin,jobs=10", episodes=1)
    with pytest.raises(ValueError, match="joint=True"):
        Observer(SchedEnv("dag", joint=True).observation_space)(choice[0])
    with pytest.raises(ValueError, match="columns"):
        Observer(SchedEnv("deadlines").observation_space)(choice[0])
    with pytest.raises(TypeError, match="other observations"):
        Observer(gymnasium.spaces.Box(0, 1, (2,)))


def test_seeds_are_whole_numbers_of_any_type() -> None:
    env, other = (SchedVectorEnv("dag", "builtin,jobs=4", num_envs=3) for _ in range(2))
    assert (env.reset(seed=np.int64(0))[0]["candidates"] == other.reset(seed=[0, 1, 2])[0]["candidates"]).all()
    assert (env.reset(seed=np.uint8(7))[0]["candidates"] == other.reset(seed=7)[0]["candidates"]).all()
    fresh = SchedVectorEnv("dag", "builtin,jobs=4", num_envs=3).reset(seed=[None] * 3)[0]["candidates"]
    assert not (fresh[0] == fresh[1]).all()
    single = SchedEnv("dag", "builtin,jobs=4")
    observed, _ = single.reset(seed=np.int32(7))
    assert (observed["candidates"] == other.reset(seed=7)[0]["candidates"][0]).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"seed": -1}, "at least 0 and below 2.64, got -1"),
        ({"seed": 1 << 64}, "at least 0 and below 2.64"),
        ({"options": {"episode": 1 << 32}}, "below 2.32"),
    ],
)
def test_what_cannot_be_a_seed_is_refused_and_forgotten(wrong: dict[str, object], words: str) -> None:
    env = SchedEnv("dag", "builtin,jobs=4")
    env.reset(seed=1)
    with pytest.raises(ValueError, match=words):
        env.reset(**wrong)
    mine, theirs = env.reset()[0], SchedEnv("dag", "builtin,jobs=4")
    theirs.reset(seed=1)
    assert (mine["candidates"] == theirs.reset()[0]["candidates"]).all()


def test_misuse_of_many_says_what_is_wanted() -> None:
    for count in (0, -1, 1 << 40):
        with pytest.raises(ValueError, match="num_envs must be at least 1"):
            SchedVectorEnv("dag", num_envs=count)
    env = SchedVectorEnv("dag", "builtin,jobs=4", num_envs=3)
    with pytest.raises(ValueError, match="2 seeds for 3 environments"):
        env.reset(seed=[1, 2])
    for mask in ([0, 2], np.array([True, False])):
        with pytest.raises(ValueError, match="reset_mask must be 3 booleans"):
            env.reset(seed=1, options={"reset_mask": mask})
    first = env.reset(seed=1)[0]["candidates"].copy()
    for actions in (np.zeros(2, np.int64), np.zeros(3), np.array([[0, 0, 0]])):
        with pytest.raises(ValueError, match=r"actions must be whole numbers of shape \(3,\)"):
            env.step(actions)
    assert (env.reset(seed=1)[0]["candidates"] == first).all()
    single = SchedEnv("dag", "builtin,jobs=4")
    single.reset(seed=1)
    for action in (1.7, float("nan"), np.zeros(2, np.int64), "0"):
        with pytest.raises(ValueError, match="actions must be whole numbers"):
            single.step(action)


def test_wrappers_of_gymnasium_work_on_many() -> None:
    env = gymnasium.make_vec(
        "SchedDistill/Dag-v0", num_envs=4, vectorization_mode="vector_entry_point", workload="builtin,jobs=2,executors=4"
    )
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(env)
    observed, _ = env.reset(seed=0)
    for _ in range(60):
        observed, _, _, _, info = env.step(observed["action_mask"].argmax(axis=1))
        if "episode" in info:
            break
    assert (info["_episode"] == info["_outcome"]).all() and info["outcome"][info["_outcome"]][0]["figures"]


def test_too_many_candidates_from_the_start_are_an_episode_cut_short() -> None:
    env = SchedEnv("preemption", "builtin,jobs=30", rows=1)
    _, info = env.reset(seed=0)
    assert info["overflow"]["rows"] == 1
    _, reward, over, cut, info = env.step(0)
    assert cut and not over and reward == 0 and info["overflow"]["candidates"] > 1
