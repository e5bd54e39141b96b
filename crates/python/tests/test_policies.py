"""Callables as schedulers."""

import functools
import threading
from pathlib import Path

import numpy as np
import pytest
import sched_distill as sd
from conftest import TINY, files, shortest
from sched_distill.policies import fingerprint


def record(policy: object, path: Path, **more: object) -> sd.results.Trace:
    return sd.record(policy=policy, workload=TINY, episodes=3, output=path, **more)


def test_a_callable_schedules_as_the_heuristic_that_it_is(tmp_path: Path) -> None:
    def by_work(choice: sd.Choice) -> object:
        match choice.level:
            case "job":
                return -choice["remaining_work"] / 1e2
            case "amount":
                return choice["executors_given"] * 1e3
        return None

    trace = record(by_work, tmp_path / "trace")
    assert trace.manifest["driver"]["id"] == "python:by_work"
    fitted = sd.fit(trace, max_size=4).load()
    features = np.zeros((2, len(fitted.features("job"))), np.float32)
    features[:, fitted.features("job").index("remaining_work")] = [5e5, 1e5]
    features[:, fitted.features("job").index("remaining_work_rank")] = [1, 0]
    features[:, fitted.features("job").index("remaining_work_ratio")] = [5, 1]
    scores = fitted.score("job", features)
    assert scores[1] > scores[0], fitted.rules()


def test_batches_and_threads_change_nothing(tmp_path: Path) -> None:
    def score(choice: sd.Choice) -> np.ndarray:
        assert choice.starts[0] == 0 and choice.starts[-1] == len(choice)
        return choice.features[:, 3] * 0.1 - choice.features[:, 1] * 0.01

    policy = sd.Policy(score, "scored", asked="choice")
    one = record(policy, tmp_path / "one", threads=1)
    two = record(policy, tmp_path / "two", threads=2)
    assert files(one.path) == files(two.path)
    del policy
    batched = record(sd.Policy(score, "scored", asked="batch"), tmp_path / "batched")
    assert files(one.path) == files(batched.path)


def test_all_choices_of_a_level_come_in_one_batch(tmp_path: Path) -> None:
    seen: set[tuple[str, int]] = set()

    def score(choice: sd.Choice) -> None:
        seen.add((choice.level, len(choice.starts) - 1))

    record(sd.Policy(score, asked="batch"), tmp_path / "trace")
    assert max(choices for level, choices in seen if level == "stage") > 1
    assert {choices for level, choices in seen if level != "stage"} == {1}


def test_probabilities_are_recorded_as_they_are(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")

    def sure(choice: sd.Choice) -> np.ndarray:
        chances = np.full(len(choice), 0.25 / max(len(choice) - 1, 1))
        chances[-1] = 0.75
        return chances

    trace = record(sd.Policy(sure, answers="probabilities"), tmp_path / "trace")
    jobs = polars.read_parquet(tmp_path / "trace/job/*.parquet").filter(polars.len().over("choice") > 1)
    last = jobs.filter(polars.col("candidate") == polars.col("candidate").max().over("choice"))
    assert np.allclose(np.exp(last["log_prob"]), 0.75, atol=1e-6) and last["chosen"].all()
    assert trace.levels[0] == "job"


def test_tables_are_those_of_the_contract(tmp_path: Path) -> None:
    def network(question: sd.Question) -> dict[str, np.ndarray]:
        nodes, jobs, amounts = question["nodes"], question["jobs"], question["amounts"]
        assert nodes.shape[1] == 7 and question["cluster"].shape == (7,)
        return {"stage_scores": -nodes[:, 0], "amount_scores": np.tile(amounts, (len(jobs), 1))}

    record(sd.Policy(network, asked="tables"), tmp_path / "trace")
    with pytest.raises(KeyError, match="the answer lacks `amount_scores`; it needs `stage_scores`, `amount_scores`"):
        record(sd.Policy(lambda q: {"stage_scores": q["nodes"][:, 0]}, asked="tables"), tmp_path / "other")


@pytest.mark.parametrize("scenario", sd.scenarios())
def test_every_scenario_takes_callables(scenario: str, tmp_path: Path) -> None:
    def first(choice: sd.Choice) -> np.ndarray:
        assert choice.scenario == scenario and choice.features.shape == (len(choice), len(choice.names))
        return -np.arange(len(choice), dtype=float)

    workload = "builtin,seconds=0.1" if scenario == "serving" else "builtin,jobs=5"
    policy = sd.Policy(first, asked="batch")
    trace = sd.record(policy=policy, workload=workload, scenario=scenario, episodes=2, output=tmp_path / "trace")
    assert trace.manifest["scenario"] == scenario


def test_an_exception_is_raised_as_it_is(tmp_path: Path) -> None:
    def fails(choice: sd.Choice) -> object:
        return choice["colour"]

    with pytest.raises(KeyError, match="the level `.*` has no feature `colour`; it has "):
        record(fails, tmp_path / "trace")
    with pytest.raises(ValueError, match="answered 1 numbers for . candidates of the level"):
        record(lambda choice: [0.0], tmp_path / "short")
    with pytest.raises(sd.DistillError, match="gave a score that is not finite"):
        record(lambda choice: np.full(len(choice), np.nan), tmp_path / "nan")
    record(shortest, tmp_path / "sound")


def test_episodes_have_copies_of_their_own_where_these_are_made(tmp_path: Path) -> None:
    class Counting:
        def __init__(self) -> None:
            self.asked, self.seeds = 0, []

        def fresh(self) -> "Counting":
            return Counting()

        def reset(self, seed: int) -> None:
            self.asked = 0
            self.seeds.append(seed)

        def __call__(self, choice: sd.Choice) -> np.ndarray:
            assert len(self.seeds) >= 1
            self.asked += 1
            return np.sin(self.asked + np.arange(len(choice)))

    policy = sd.Policy(Counting(), "counting")
    one = record(policy, tmp_path / "one", threads=1)
    two = record(policy, tmp_path / "two", threads=2)
    assert files(one.path) == files(two.path)


def test_a_policy_begins_no_command(tmp_path: Path) -> None:
    def nested(choice: sd.Choice) -> None:
        sd.simulate(policy="fair")

    with pytest.raises(RuntimeError, match="cannot begin another command"):
        record(nested, tmp_path / "trace")


def test_another_function_of_the_same_name_does_not_go_on_with_a_recording(tmp_path: Path) -> None:
    policy = sd.Policy(lambda choice: -choice.features[:, 0], "mine")
    sd.record(policy=policy, workload=TINY, episodes=2, output=tmp_path / "trace")
    del policy
    other = sd.Policy(lambda choice: -choice.features[:, 1], "mine")
    with pytest.raises(sd.DistillError, match="python:mine"):
        sd.record(policy=other, workload=TINY, episodes=2, output=tmp_path / "trace")


def test_names_tell_policies_apart_and_are_free_again() -> None:
    policy = sd.Policy(shortest)
    other = sd.Policy(shortest)
    assert [policy.spec, other.spec] == ["python:shortest", "python:shortest-2"]
    del policy, other
    assert sd.Policy(shortest).spec == "python:shortest"


def test_commands_of_two_threads_take_turns(tmp_path: Path) -> None:
    def work(number: int) -> None:
        record(shortest, tmp_path / str(number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((tmp_path / str(number) / "manifest.json").is_file() for number in range(2))


@pytest.mark.parametrize(("words", "wrong"), [({"answers": "probs"}, "scores or probabilities"), ({"mode": "smaple"}, "greedy or sample")])
def test_misspelt_words_are_refused(words: dict[str, str], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        sd.Policy(shortest, **words)


@pytest.mark.parametrize("number", [np.nan, -0.5])
def test_what_is_no_probability_is_refused(number: float) -> None:
    policy = sd.Policy(lambda choice: np.full(len(choice), number), "odd", answers="probabilities")
    with pytest.raises(sd.DistillError):
        sd.simulate(policy=policy, workload=TINY, episodes=1)
    rules_out = sd.Policy(lambda choice: np.eye(len(choice))[0], "first", answers="probabilities")
    sd.simulate(policy=rules_out, workload=TINY, episodes=1)


def test_the_hash_of_a_callable_tells_it_from_others() -> None:
    def weighted(choice: sd.Choice, weight: float) -> object:
        return weight * choice.features[:, 0]

    def around(weight: float) -> object:
        return lambda choice: weight * choice.features[:, 0]

    made: list[object] = [functools.partial(weighted, weight=weight) for weight in (1, -1)]
    made += [around(weight) for weight in (1, -1)]
    scope: dict[str, object] = {}
    exec("a = lambda c: c['age']\nb = lambda c: c['progress']", scope)
    made += [scope["a"], scope["b"], weighted]
    hashes = [fingerprint(function) for function in made]
    assert len(set(hashes)) == len(made)
    assert hashes == [fingerprint(function) for function in made]
    assert fingerprint(functools.partial(weighted, weight=1)) == hashes[0] and fingerprint(around(1)) == hashes[2]
