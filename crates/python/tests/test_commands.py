"""Commands as functions: the bytes, the words and the parameters of the program."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import sched_distill as sd
from conftest import ROOT, TINY, distill, files


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


def test_what_nobody_names_goes_to_a_folder_of_the_process() -> None:
    code = f"import sched_distill as sd; print(sd.record(policy='fair', workload='{TINY}', episodes=2).path)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not Path(done.stdout.strip()).exists()
