//! `distill explain` and the run directory, on a recorded trace: what it says is recomputed from the trace.

use crate::program::{TINY, done, record, refused};
use sched_distill::{
    evaluator::{Evaluation, Role, Scorer},
    explainer::{ChoiceColumns, Decisions, Explanation, WhatIf},
    model::Student,
    pipeline::RunInfo,
    trace::Trace,
};
use serde::de::DeserializeOwned;
use std::{fs, path::Path};

fn read<T: DeserializeOwned>(path: &Path) -> T {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A recorded, fitted, evaluated and explained run in `run`.
fn explained(dir: &Path) {
    for (name, episodes, split) in [("train", "12", "train"), ("test", "8", "test")] {
        record(dir, name, episodes, split);
    }
    done(dir, &["fit", "train", "-o", "student.json", "--max-leaves", "12", "--run", "run"]);
    let workload = ["-w", TINY, "-t", "sjf-cp,temperature=0.3,mode=sample", "-n", "4"];
    done(dir, &[&["evaluate", "student.json", "test", "--selection", "train", "--run", "run"], &workload[..]].concat());
    done(dir, &["explain", "student.json", "test", "--run", "run", "--decisions", "30"]);
}

#[test]
fn what_is_written_can_be_recomputed_from_the_trace() {
    let dir = tempfile::tempdir().unwrap();
    explained(dir.path());
    let run = dir.path().join("run");
    let (explanation, evaluation): (Explanation, Evaluation) =
        (read(&run.join("explanation.json")), read(&run.join("evaluation.json")));
    let (student, trace) =
        (Student::load(&run.join("student.json")).unwrap(), Trace::open(&dir.path().join("test")).unwrap());
    assert_eq!((&explanation.student, &evaluation.student), (&student.hash(), &student.hash()));
    assert_eq!(explanation.trace, trace.hash);
    for level in &explanation.levels {
        let models = student.level(&level.level).unwrap();
        let scorer = Scorer::student(&student, models, Role::Student);
        let table = trace.level(&level.level).unwrap();
        // The sample is all there is, so figures are those of the whole table.
        let choices: Vec<_> = table.iter().filter(|c| !c.is_forced()).collect();
        assert_eq!(level.sample.iter().map(|k| k.sampled).sum::<usize>(), choices.len());
        let (mut agreed, mut weight) = (0.0, 0.0);
        let mut standing = [0.0; 2];
        let base = level.families[0].features[0].clone();
        let column = table.spec.features.iter().position(|f| f.name == base).unwrap();
        for c in &choices {
            let (w, taken) = (f64::from(c.header.weight), scorer.choose(c, &mut Vec::new()));
            weight += w;
            agreed += if taken == c.target() { w } else { 0.0 };
            let values: Vec<f64> = (0..c.len()).map(|i| f64::from(c.row(i)[column])).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
            for (sum, candidate) in standing.iter_mut().zip([c.target(), taken]) {
                *sum += if sd > 0.0 { w * (values[candidate] - mean) / sd } else { 0.0 };
            }
        }
        let row =
            evaluation.fidelity.iter().find(|r| r.level == level.level && r.kind == "all" && r.role == Role::Student);
        assert!((row.unwrap().top1.value - agreed / weight).abs() < 1e-9, "{}", level.level);
        let all = level.families[0].by_kind.last().unwrap();
        assert!((all.teacher - standing[0] / weight).abs() < 1e-6 && (all.student - standing[1] / weight).abs() < 1e-6);
        assert_eq!(level.nodes[0].sampled, choices.iter().map(|c| c.len()).sum::<usize>());
        for l in evaluation
            .fidelity
            .iter()
            .filter(|r| r.role == Role::Heuristic && r.level == level.level && r.kind != "all")
        {
            let same = level.likeness.iter().find(|known| (&known.rule, &known.kind) == (&l.scorer, &l.kind)).unwrap();
            assert_eq!((same.teacher, same.choices), (l.top1, l.choices), "the sample is all there is");
            assert_eq!(l.cross_entropy, None, "a named rule gives no probabilities");
        }
        for l in &level.likeness {
            let of_kind: f64 = choices.iter().filter(|c| table.kinds[c.header.kind as usize] == l.kind).count() as f64;
            assert_eq!(l.choices as f64, of_kind);
        }
    }
    // The same seed gives the same choices to try changes on, and they are those of the trace.
    let kept = fs::read(run.join("what_if.json")).unwrap();
    let what_if: WhatIf = serde_json::from_slice(&kept).unwrap();
    for level in &what_if.levels {
        let table = trace.level(&level.level).unwrap();
        let columns =
            level.features.iter().map(|name| table.spec.features.iter().position(|f| f.name == *name).unwrap());
        let columns: Vec<usize> = columns.collect();
        assert!(level.choices.iter().filter(|c| c.drawn).count() > 20, "{}", level.level);
        for choice in &level.choices {
            let recorded = table.iter().find(|c| c.header.id == choice.choice).unwrap();
            let rows = level.rows(choice, &table.spec);
            assert_eq!((choice.candidates, choice.best), (recorded.len(), recorded.target()));
            let at = |i: usize, column: usize| i * table.width() + column;
            assert!((0..recorded.len()).all(|i| columns.iter().all(|&c| rows[at(i, c)] == recorded.row(i)[c])));
        }
    }
    // What other fits showed stays when the rest is measured again.
    let again = ["explain", "student.json", "test", "--run", "run", "--decisions", "30"];
    done(dir.path(), &[&again[..], &["--train", "train", "--resamples", "2"]].concat());
    let with_fits: Explanation = read(&run.join("explanation.json"));
    assert_eq!(with_fits.stability.len(), 3);
    done(dir.path(), &again);
    assert_eq!(read::<Explanation>(&run.join("explanation.json")), with_fits);
    assert_eq!(fs::read(run.join("what_if.json")).unwrap(), kept);
    // The report draws from these files alone, and its numbers are theirs.
    fs::rename(dir.path().join("test"), dir.path().join("elsewhere")).unwrap();
    done(dir.path(), &["report", "run", "-o", "report"]);
    let html = fs::read_to_string(dir.path().join("report/report.html")).unwrap();
    let jct = evaluation.closed_loop.as_ref().unwrap().comparisons[0].figure("mean_jct_ms").copied().unwrap();
    assert!(html.contains(&format!("{:.3}", jct.value)));
    let info: RunInfo = read(&run.join("run.json"));
    let firsts: Vec<String> =
        info.commands.iter().map(|c| c.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    let made = ["record", "fit", "record", "evaluate", "explain", "explain"].map(|word| format!("distill {word}"));
    assert_eq!(firsts, made, "commands to make it again: {:?}", info.commands);
    for word in ["-n 12 --split train", "-n 8 --split test", "fit train -o student.json", "--decisions 30"] {
        assert!(info.commands.iter().any(|c| c.contains(word)) && html.contains(word), "{word}: {:?}", info.commands);
    }
    // Another student does not take this one's place.
    refused(dir.path(), &["fit", "train", "--run", "run"], &["student.json: the run directory has a student"]);
}

#[test]
fn what_would_have_changed_a_decision_does_change_it() {
    let dir = tempfile::tempdir().unwrap();
    explained(dir.path());
    let run = dir.path().join("run");
    let decisions: Decisions = read(&run.join("decisions.json"));
    let (student, trace) =
        (Student::load(&run.join("student.json")).unwrap(), Trace::open(&dir.path().join("test")).unwrap());
    let mut changed = 0;
    for of in &decisions.levels {
        let table = trace.level(&of.level).unwrap();
        let scorer = Scorer::student(&student, student.level(&of.level).unwrap(), Role::Student);
        let columns = ChoiceColumns::new(&table.spec).unwrap();
        for explained in decisions.choices.iter().filter(|c| c.level == of.level) {
            let choice = table.iter().find(|c| c.header.id == explained.choice).unwrap();
            let taken = scorer.choose(&choice, &mut Vec::new());
            assert_eq!(explained.candidates[explained.taken].candidate, taken);
            for why in explained.why_not.iter().filter(|w| !w.changes.is_empty()) {
                let candidate = explained.candidates[why.candidate].candidate;
                let mut x = choice.x.to_vec();
                for change in &why.changes {
                    let column = table.spec.features.iter().position(|f| f.name == change.feature).unwrap();
                    assert_eq!(x[candidate * choice.width + column], change.from);
                    x[candidate * choice.width + column] = change.to;
                    columns.recompute_column(&mut x, column).unwrap();
                }
                let other = sched_distill::trace::Choice { x: &x, ..choice };
                assert_eq!(scorer.choose(&other, &mut Vec::new()), candidate);
                changed += 1;
            }
        }
    }
    assert!(changed > 20, "{changed}");
}

#[test]
fn one_decision_is_told_in_words() {
    let dir = tempfile::tempdir().unwrap();
    explained(dir.path());
    let decisions: Decisions = read(&dir.path().join("run/decisions.json"));
    let choice = decisions.choices.iter().find(|c| c.level == "job" && c.taken != c.best).unwrap();
    let rival = choice.candidates[choice.rival].entity[0].to_string();
    let id = format!("job:{}", choice.choice);
    let said = done(
        dir.path(),
        &["explain", "student.json", "test", "--choice", &id, "--why-not", &rival, "--html", "one.html"],
    );
    for words in ["The student takes job", "the teacher finds job", "rather than job", "path of job"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(
        said.contains(&format!("job {rival} would have been taken if")) || said.contains("No change of one or two")
    );
    assert!(fs::read_to_string(dir.path().join("one.html")).unwrap().contains("decisions-data"));
    let explain = |more: &[&'static str]| [&["explain", "student.json", "test"], more].concat();
    refused(dir.path(), &explain(&["--choice", "99"]), &["has no choice 99", "numbers run from"]);
    refused(dir.path(), &explain(&["--choice", "colour:1"]), &["no level `colour`", "job, stage, amount"]);
    refused(dir.path(), &explain(&["--choice", "job:x"]), &["expected a number, or LEVEL:NUMBER"]);
    let ask = ["explain", "student.json", "test", "--choice", &id, "--why-not", "4000"];
    refused(dir.path(), &ask, &["no candidate of this choice is job 4000"]);
    refused(dir.path(), &["explain", "student.json", "nowhere"], &["nowhere"]);
    done(dir.path(), &["fit", "train", "-o", "other.json", "--max-leaves", "4"]);
    refused(
        dir.path(),
        &["explain", "other.json", "test", "--run", "run"],
        &["the run directory holds another student"],
    );
}

#[test]
fn pieces_are_the_level_whatever_their_length() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), "train", "9", "train");
    let trace = Trace::open(&dir.path().join("train")).unwrap();
    let mut together: Vec<Vec<u32>> = Vec::new();
    for level in ["job", "stage", "amount"] {
        let whole = trace.level(level).unwrap();
        let pieces: Vec<_> = trace.pieces(level).unwrap().collect::<Result<_, _>>().unwrap();
        let mut joined = trace.pieces(level).unwrap().empty();
        pieces.into_iter().for_each(|p| joined.append(p));
        assert_eq!(joined, whole);
    }
    for tables in trace.pieces_together(&["job", "stage", "amount"]).unwrap() {
        for table in tables.unwrap() {
            let mut episodes: Vec<u32> = table.choices.iter().map(|c| c.episode).collect();
            episodes.dedup();
            together.push(episodes);
        }
    }
    assert!(together.chunks(3).all(|levels| levels[0] == levels[1] && levels[0] == levels[2]));
}
