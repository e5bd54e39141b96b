"""Traces of schedulers and simulators that are somebody else's."""

from pathlib import Path

import numpy as np
import pytest
import sched_distill as sd
from conftest import files

LEVELS = {
    "job": [{"name": "wait_s", "unit": "s", "meaning": "Time since it arrived."}, "gpus"],
    "node": ["free_gpus", {"name": "is_near", "unit": "0/1", "whole": True}],
}


def record(path: Path, episodes: int = 12) -> sd.results.Trace:
    draws = np.random.default_rng(0)
    with sd.Recorder(path, LEVELS, scenario="two-level", policy="mine", workload="my cluster") as recorder:
        for _ in range(episodes):
            for step in range(25):
                jobs = draws.integers(1, 20, (4, 2)).astype(np.float32)
                chances = np.exp(-jobs[:, 1]) / np.exp(-jobs[:, 1]).sum()
                taken = int(chances.argmax())
                recorder.log("job", jobs, chances, taken, time_ms=step * 1e3)
                for job in range(4):
                    if chances[job] > 1e-6:
                        nodes = draws.integers(0, 2, (3, 2)).astype(np.float32)
                        near = np.exp(2 * nodes[:, 1]) / np.exp(2 * nodes[:, 1]).sum()
                        chosen = int(near.argmax()) if job == taken else None
                        recorder.log("node", nodes, near, chosen, parent=job, time_ms=step * 1e3)
            recorder.end_episode()
    return sd.recorder.open_trace(path)


def rows(trace: sd.results.Trace) -> dict[str, int]:
    """Rows of the tables that have some."""
    found: dict[str, int] = {}
    for table in trace.manifest["tables"]:
        name = table["path"].split("/")[0]
        found[name] = found.get(name, 0) + table["rows"]
    return {name: count for name, count in found.items() if count}


def episode(recorder: sd.Recorder, count: int = 1) -> None:
    recorder.log("job", np.zeros((count, 2)), chosen=0)
    recorder.log("node", [[1, 0]], chosen=0)
    recorder.end_episode()


def test_every_command_takes_it(tmp_path: Path) -> None:
    trace = record(tmp_path / "trace")
    assert trace.levels == ["job", "node"] and trace.manifest["episodes"] == 12
    assert sd.inspect(trace).manifest["scenario"] == "two-level"
    fit = sd.fit(trace)
    student = fit.load()
    assert student.scenario == "two-level"
    low, high = student.score("job", [[5, 2], [5, 15]])
    assert low > high, student.rules()
    found = sd.evaluate(fit, trace)
    best = max(row["top1"]["value"] for row in found.fidelity if row["role"] == "student" and row["level"] == "job")
    assert best > 0.9
    assert sd.explain(fit, trace).levels
    assert sd.front(trace).levels
    assert sd.identify(trace, rule="small=job: smallest gpus").rows


def test_the_same_log_is_the_same_bytes(tmp_path: Path) -> None:
    one, two = record(tmp_path / "one"), record(tmp_path / "two")
    assert files(one.path) == files(two.path)


def test_a_recording_goes_on_where_it_ended(tmp_path: Path) -> None:
    record(tmp_path / "trace", 3)
    assert record(tmp_path / "trace", 2).manifest["episodes"] == 5


def test_a_scheduler_without_probabilities(tmp_path: Path) -> None:
    recorder = sd.Recorder(tmp_path / "trace", {"job": ["a", "b"]})
    for step in range(40):
        recorder.log("job", [[step, 1], [1, step]], chosen=int(step % 2))
    assert recorder.close().manifest["episodes"] == 1
    with pytest.raises(ValueError, match="the recorder is closed"):
        recorder.log("job", [[1, 2]], chosen=0)


def test_what_cannot_be_is_refused_and_nothing_is_noted(tmp_path: Path) -> None:
    recorder = sd.Recorder(tmp_path / "trace", LEVELS, kinds=["free"])
    refused = [
        (dict(level="jobs", features=[[1, 2]], chosen=0), "unknown level 'jobs'; there are job, node"),
        (dict(level="job", features=[[1, 2, 3]], chosen=0), r"have shape \(1, 3\); wanted are \(candidates, 2\)"),
        (dict(level="job", features=[[1, np.nan]], chosen=0), "row 0, column 1 is nan; all must be finite"),
        (dict(level="job", features=[[1, 2]], chosen=3), "chosen is 3; level 'job' has 1 candidates"),
        (dict(level="job", features=[[1, 2]], chosen=None), "the first level always has a chosen candidate"),
        (dict(level="job", features=[[1, 2]], probabilities=[0.5], chosen=0), "1 that add up to 0.5; wanted are 1"),
        (dict(level="job", features=[[1, 2]], chosen=0, kind="late"), "unknown kind 'late'; there are free"),
        (dict(level="node", features=[[1, 2]], chosen=0), "level 'job' comes first"),
        (dict(level="job", features=[[1, 2]], probabilities=[np.nan], chosen=0), "1 that add up to nan; wanted are 1"),
        (dict(level="job", features=[[1, 2]], chosen=0, time_ms=np.nan), "time_ms of level 'job' is nan; it must be finite"),
        (dict(level="job", features=[[1, 2]], chosen=0, entities=[1, 2]), "entities of level 'job': 2; wanted are 1"),
        *(
            (dict(level="job", features=[[1, 2]], chosen=0, entities=[entity]), f"1, {entity} among them; wanted are 1, each a whole")
            for entity in (-1, 1 << 40, 3.7, np.nan, np.inf)
        ),
    ]
    for arguments, words in refused:
        with pytest.raises(ValueError, match=words):
            recorder.log(**arguments)
    with pytest.raises(ValueError, match="no episode was recorded"):
        recorder.close()


def test_two_recorders_do_not_write_into_one_folder(tmp_path: Path) -> None:
    first = sd.Recorder(tmp_path / "trace", LEVELS)
    with pytest.raises(RuntimeError, match="another recorder writes here"):
        sd.Recorder(tmp_path / "trace", LEVELS)
    del first


def test_a_candidate_without_a_weight_has_no_choices_below(tmp_path: Path) -> None:
    recorder = sd.Recorder(tmp_path / "trace", LEVELS)
    recorder.log("job", [[1, 2], [3, 4]], [1, 1e-60], 0, entities=np.array([0, 2**32 - 1], object))
    for parent, words in [(-1, "parent is -1; level 'job' has 2 candidates"), (2, "parent is 2;"), (1, "has no probability")]:
        with pytest.raises(ValueError, match=words):
            recorder.log("node", [[1, 0]], chosen=0, parent=parent)
    recorder.log("node", [[1, 0]], chosen=0)
    assert rows(recorder.close()) == {"job": 2, "node": 1, "episodes": 1}


def test_the_scenarios_of_the_program_are_refused(tmp_path: Path) -> None:
    for scenario in sd.scenarios():
        with pytest.raises(ValueError, match=f"scenario '{scenario}' is the program's.*none of {', '.join(sd.scenarios())}"):
            sd.Recorder(tmp_path / "trace", LEVELS, scenario=scenario)
    assert not (tmp_path / "trace").exists()


def test_what_ended_before_an_exception_stays(tmp_path: Path) -> None:
    # The exception is held, and with it all that its frames hold.
    with pytest.raises(KeyError) as raised, sd.Recorder(tmp_path / "trace", LEVELS) as recorder:
        for _ in range(3):
            episode(recorder)
        recorder.log("job", [[1, 2], [3, 4]], chosen=0)
        raise KeyError("a mistake in the simulator")
    assert not hasattr(raised.value, "__notes__")
    with pytest.raises(ValueError, match="the recorder is closed"):
        recorder.end_episode()
    with sd.Recorder(tmp_path / "trace", LEVELS) as recorder:
        episode(recorder)
    trace = sd.recorder.open_trace(tmp_path / "trace")
    assert rows(trace) == {"job": 4, "node": 4, "episodes": 4} and trace.manifest["episodes"] == 4
    sd.inspect(trace)


def test_a_write_that_fails_is_tried_again(tmp_path: Path) -> None:
    recorder, many = sd.Recorder(tmp_path / "trace", LEVELS), 1 << 15
    parts = tmp_path / "trace/parts"
    parts.rmdir()
    for count in (many, 1):
        with pytest.raises(ValueError, match="part-00000.json: cannot be written"):
            episode(recorder, count)
    parts.mkdir()
    trace = recorder.close()
    assert rows(trace) == {"job": many + 1, "node": 2, "episodes": 2} and trace.manifest["episodes"] == 2
    sd.inspect(trace)


def test_the_folder_is_free_after_a_failure(tmp_path: Path) -> None:
    parts = tmp_path / "trace/parts"
    recorder = sd.Recorder(tmp_path / "trace", LEVELS)
    episode(recorder)
    parts.rmdir()
    with pytest.raises(ValueError, match="cannot be written") as refused:
        recorder.close()
    with pytest.raises(ValueError, match="the recorder is closed"):
        recorder.close()
    with pytest.raises(KeyError) as raised, sd.Recorder(tmp_path / "trace", LEVELS) as recorder:
        episode(recorder)
        parts.rmdir()
        raise KeyError("a mistake in the simulator")
    assert "could be written" in raised.value.__notes__[0] and "part-00000.json" in raised.value.__notes__[0]
    with sd.Recorder(tmp_path / "trace", LEVELS) as recorder:
        episode(recorder)
    assert rows(sd.recorder.open_trace(tmp_path / "trace")) == {"job": 1, "node": 1, "episodes": 1}
    assert refused.tb and raised.tb, "they hold the recorders up to here"
