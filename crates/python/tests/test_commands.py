"""Commands as functions: the bytes, the words and the parameters of the program."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sched_distill as sd
from conftest import ROOT, TINY, distill, files
from sched_distill._run import _words


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> sd.results.Trace:
    path = tmp_path_factory.mktemp("recorded") / "trace"
    return sd.record(policy="sjf,temperature=0.5,mode=sample", workload=TINY, episodes=6, output=path, seed=3)


@pytest.fixture(scope="module")
def fit(trace: sd.results.Trace) -> sd.results.Fit:
    return sd.fit(trace, output=trace.path.parent / "student.json", max_size=8)


def test_bytes_are_those_of_the_program(trace: sd.results.Trace, fit: sd.results.Fit, tmp_path: Path) -> None:
    policy = "sjf,temperature=0.5,mode=sample"
    assert distill("record", "-p", policy, "-w", TINY, "-n", 6, "-o", tmp_path / "trace", "--seed", 3).returncode == 0
    assert files(tmp_path / "trace") == files(trace.path)
    assert distill("fit", tmp_path / "trace", "-o", tmp_path / "student.json", "--max-size", 8).returncode == 0
    assert (tmp_path / "student.json").read_bytes() == fit.path.read_bytes()
    for command in (sd.evaluate, sd.explain):
        own = command(fit, trace)
        theirs = distill(command.__name__, fit.path, trace.path, "--json")
        assert json.loads(theirs.stdout.splitlines()[-1]) == own.lines[-1]


def test_functions_are_the_commands_that_there_are() -> None:
    generate = [sys.executable, ROOT / "crates/python/generate.py", "--check"]
    done = subprocess.run(generate, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_results_have_fields_tables_and_pictures(trace: sd.results.Trace, fit: sd.results.Fit) -> None:
    assert trace.levels == ["job", "stage", "amount"] and trace.manifest["episodes"] == 6
    found = sd.evaluate(fit, trace)
    table = found.table("fidelity")
    assert table.height == len(found.fidelity) > 0
    assert isinstance(table["level"], list) and table["top1.value"].dtype == float
    assert found.to_dict()["fidelity"] is found.fidelity and "fidelity" in dir(found)
    assert "<table>" in found._repr_html_() and "<pre>" in fit._repr_html_()
    with pytest.raises(AttributeError, match="has no field 'fidelty'; it has"):
        _ = found.fidelty


def test_other_libraries_read_tables(trace: sd.results.Trace, fit: sd.results.Fit) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(sd.evaluate(fit, trace).table("fidelity"))
    assert frame.height > 0 and frame["scorer"].dtype == polars.String and frame["choices"].dtype == polars.Int64


def test_errors_have_the_words_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(sd.DistillError, match="nowhere: cannot read: there is no such folder"):
        sd.fit("nowhere")
    with pytest.raises(sd.DistillError, match="unknown policy `fiar`"):
        sd.simulate(policy="fiar")
    with pytest.raises(sd.DistillError, match="invalid value '0'"):
        sd.fit("trace", max_size=0)
    assert not any(tmp_path.iterdir())


def test_a_gate_that_fails_says_what_was_measured(trace: sd.results.Trace, fit: sd.results.Fit) -> None:
    with pytest.raises(sd.GateError) as failed:
        sd.evaluate(fit, trace, min_fidelity=1.01)
    assert failed.value.result.fidelity
    other = pickle.loads(pickle.dumps(failed.value))
    assert str(other) == str(failed.value) and other.result == failed.value.result


def test_numbers_of_numpy_and_flags_are_words_of_the_program() -> None:
    assert _words("patch", {"gate": np.float64(1.05)}, []) == ["patch", "--json", "--gate=1.05"]
    for value in (False, 0, np.False_):
        assert _words("demo", {"fast": value}, []) == ["demo", "--json"]
    for value in (True, 1, np.True_):
        assert _words("demo", {"fast": value}, []) == ["demo", "--json", "--fast"]


def test_a_name_may_have_what_looks_like_the_end_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "one\u2028two\u0085three"
    assert sd.record(policy="fair", workload=TINY, episodes=1, output=path).path == path


def test_what_is_wrong_with_a_trace_is_told(tmp_path: Path) -> None:
    trace = sd.record(policy="fair", workload=TINY, episodes=1, output=tmp_path / "trace")
    next(trace.path.glob("job/*.parquet")).write_bytes(b"nothing")
    with pytest.raises(sd.DistillError, match=r"1 problem\(s\) found\njob/part-00000.parquet: has SHA-256 "):
        sd.inspect(trace)
    (trace.path / "manifest.json").unlink()
    with pytest.raises(sd.DistillError, match="incomplete: 1 of 1 parts") as found:
        sd.inspect(trace)
    assert str(found.value).count("incomplete") == 1


def test_a_policy_is_forgotten_while_its_exception_is_kept(tmp_path: Path) -> None:
    def fails(choice: sd.Choice) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as kept:
        sd.record(policy=fails, workload=TINY, episodes=1, output=tmp_path / "trace")
    assert kept.tb is not None and sd.Policy(fails).spec == "python:fails"


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[sd.Event] = []
    sd.record(policy="fair", workload=TINY, episodes=12, output=tmp_path / "trace", progress=told.append)
    assert told and told[-1].command == "record"
    assert max(event.done for event in told) == 12 == max(event.total for event in told)


def test_an_exception_of_who_is_told_ends_the_command(tmp_path: Path) -> None:
    def tell(event: sd.Event) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        sd.record(policy="decima", workload="builtin", episodes=4000, output=tmp_path / "trace", progress=tell)
    sd.record(policy="fair", workload=TINY, episodes=2, output=tmp_path / "other")


def test_who_is_told_begins_no_command(fit: sd.results.Fit, tmp_path: Path) -> None:
    student = fit.load()
    with pytest.raises(RuntimeError, match="`progress`, cannot begin another command"):
        sd.record(policy="fair", workload=TINY, episodes=2, output=tmp_path / "trace", progress=lambda event: str(student))
    assert str(student)


def test_what_nobody_names_goes_to_a_folder_of_the_process() -> None:
    code = f"import sched_distill as sd; print(sd.record(policy='fair', workload='{TINY}', episodes=2).path)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not Path(done.stdout.strip()).exists()
