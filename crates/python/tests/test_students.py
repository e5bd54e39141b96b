"""Students: scores, decisions, reasons, changes."""

import json
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sched_distill as sd
from conftest import ROOT, TINY, distill, program


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> sd.Student:
    folder = tmp_path_factory.mktemp("student")
    trace = sd.record(policy="sjf,temperature=0.5,mode=sample", workload=TINY, episodes=6, output=folder / "trace")
    return sd.fit(trace, output=folder / "student.json", max_size=16).load()


def rows(student: sd.Student, level: str, count: int = 50) -> np.ndarray:
    return np.random.default_rng(0).gamma(1, 100, (count, len(student.features(level)))).astype(np.float32)


def test_files_and_pickles_hold_it(made: sd.Student, tmp_path: Path) -> None:
    assert made.scenario == "dag" and made.levels == ["job", "stage", "amount"] and made.size > 3
    for other in (pickle.loads(pickle.dumps(made)), sd.Student.load(made.save(tmp_path / "s.json"))):
        assert other == made and other.hash == made.hash and hash(other) == hash(made)
    assert sd.Student.from_json(made.to_json()) == made


def test_scores_are_those_of_an_export(made: sd.Student, tmp_path: Path) -> None:
    """The C export is exact; here, beside rules that a reader adds up, only that rows are independent and order is kept."""
    x = rows(made, "job", 40_000)
    scores = made.score("job", x)
    assert scores.dtype == np.float64 and scores.shape == (40_000,)
    assert (made.score("job", x[::-1])[::-1] == scores).all()
    assert (made.score("job", x, starts=[0, 10, 40_000]) == scores).all()
    assert (made.score("job", x.astype(float).tolist()[:5]) == scores[:5]).all()


def test_scores_are_those_of_onnx(made: sd.Student, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    sd.export(made, to="onnx", output=tmp_path)
    x = rows(made, "job", 1000)
    session = onnxruntime.InferenceSession(str(next(tmp_path.glob("*job*.onnx"))))
    theirs = session.run(None, {session.get_inputs()[0].name: x})[0]
    assert np.allclose(theirs.ravel(), made.score("job", x), rtol=1e-5, atol=1e-5)


def test_reasons_add_up_to_the_difference_of_the_scores(made: sd.Student) -> None:
    for level in made.levels:
        x = rows(made, level, 6)
        why = made.why(level, x)
        scores = made.score(level, x)
        assert why.taken == scores.argmax()
        assert np.isclose(sum(t.share for t in why.terms), scores[why.taken] - scores[why.against], rtol=1e-6, atol=1e-9)
        other = (why.taken + 1) % 6
        assert made.why(level, x, against=other).against == other and str(why).startswith(f"{level}: candidate")
    with pytest.raises(ValueError, match="a choice of 1 candidates"):
        made.why("job", rows(made, "job", 1))
    for against in (-1, 2, 5):
        with pytest.raises(ValueError, match=f"against must be the place of a candidate, from 0 to 1, got {against}"):
            made.why("job", rows(made, "job", 2), against=against)


def test_edits_are_those_of_patch(made: sd.Student, tmp_path: Path) -> None:
    place = place_of(made)
    edited = made.edit(place, 1.5, "a trial")
    path = made.save(tmp_path / "student.json")
    set_ = ["--set", f"{place}=1.5", "--reason", "a trial"]
    patched = distill("patch", path, *set_, "-w", TINY, "--gate", 100, "-o", tmp_path / "patched.json")
    assert patched.returncode == 0, patched.stderr
    assert edited == sd.Student.load(tmp_path / "patched.json") != made
    with pytest.raises(ValueError, match="nowhere"):
        made.edit("nowhere.at[0].all", 1)


def place_of(student: sd.Student) -> str:
    """A number that the student has."""
    level = json.loads(student.to_json())["levels"][0]
    model = level["models"][0]["model"]
    return f"{level['level']}.{'node[0].threshold' if model['type'] == 'tree' else 'term[0].coefficient'}"


def test_it_decides_at_a_state_as_a_server_does(made: sd.Student) -> None:
    page = (ROOT / "docs/cluster-state.md").read_text()
    state = json.loads(page.split("```json")[1].split("```")[0])
    decisions = made.decide(state)
    question = json.dumps({"id": 1, "state": state})
    server = subprocess.run(
        [*program(), "serve", "-p", f"student:{made.__fspath__()}"], input=question, capture_output=True, text=True
    )
    assert decisions == json.loads(server.stdout.splitlines()[-1])["decisions"] != []
    with pytest.raises(ValueError, match="the state: "):
        made.decide({"time_ms": 1})



def test_what_does_not_fit_is_refused(made: sd.Student) -> None:
    with pytest.raises(KeyError, match="the student has no level `jobs`; it has job, stage, amount"):
        made.score("jobs", [[0.0]])
    with pytest.raises(ValueError, match="features have 1 columns; the level `job` has"):
        made.score("job", [[0.0]])
    for wrong, shape in ((rows(made, "job")[0], r"\(\d+,\)"), (rows(made, "job")[None], r"\(1, 50, \d+\)"), (0.0, r"\(\)")):
        for ask in (made.score, made.why):
            with pytest.raises(ValueError, match=rf"features must have shape \(candidates, \d+\), got {shape}$"):
                ask("job", wrong)
    with pytest.raises(ValueError, match=r"starts must have shape \(choices \+ 1,\), got \(1, 2\)"):
        made.score("job", rows(made, "job"), starts=[[0, 50]])
    with pytest.raises(ValueError, match="starts must ascend from 0 to the number of rows, 50"):
        made.score("job", rows(made, "job"), starts=[0, 60])
    with pytest.raises(ValueError, match="nowhere.json"):
        sd.Student.load("nowhere.json")


def test_it_is_a_policy_and_a_path(made: sd.Student, tmp_path: Path) -> None:
    told = sd.simulate(policy=[made, "fair"], workload=TINY, episodes=2)
    assert told.policies[0]["policy"].startswith("student:") and told.policies[1]["policy"] == "fair"
    path = tmp_path / 'lr=0.1,"seed"=2/s.json'
    path.parent.mkdir()
    kept = sd.Student.load(made.save(path))
    fitted = sd.results.Fit("fit", [{"student": str(path)}])
    for policy in (kept, fitted):
        told = sd.simulate(policy=policy, workload=TINY, episodes=2)
        assert told.policies[0]["policy"].startswith('student:"')
    changed = made.edit(place_of(made), 2.0)
    assert sd.diff(made, changed).structure


def test_rules_are_text_to_read(made: sd.Student) -> None:
    assert "job" in made.rules("job") and made.rules() == str(made)
    with pytest.raises(sd.DistillError, match="a sum of terms cannot be written as dot; choose a tree, or `rules`"):
        made.plot("job")
