//! Students that are sound and say next to nothing go through every step: no panic, and a whole page.

use crate::{
    degenerate_student::{KINDS, degenerate},
    program::{TINY, command, record, text},
};
use sched_distill::{
    dag::{Dag, feature::feature_set},
    evaluator::{Role, Scorer},
    model::{
        Additive, Model, Structure, Student, Term,
        export::{ExportError, Language, Target, export, export_student, parts},
    },
    pipeline::{
        AnyScenario as _, Caller, ClosedLoopParams, EvaluateParams, ExplainParams, RunDir, Visit, agreement_of,
        evaluate, explain, explain_choice,
    },
    registry,
    report::write_report,
    rng::Split,
    scenario::Scenario as _,
    trace::Trace,
};
use std::{error::Error, ops::ControlFlow, path::Path, sync::atomic::AtomicBool};

type Outcome = Result<(), Box<dyn Error>>;

/// Explained, measured and reported, the whole page; whether it could be explained.
fn reported(dir: &Path, student: &Student, trace: &Trace, stop: &AtomicBool) -> Result<bool, Box<dyn Error>> {
    let caller = Caller { watch: &(), stop };
    let params = ExplainParams { scenario: Some(&Dag::INFO), choices: 40, decisions: 6, seed: 1, ..Default::default() };
    let found = explain(student, trace, &params, caller);
    for level in &student.levels {
        let first = trace.level(&level.level)?.choices[0].id;
        explain_choice(student, (None, trace), (Some(&level.level), first), None, 1)?;
    }
    let visit = Visit { scenario: Some(&registry::DAG), seed: 1, command: "distill explain" };
    let run = RunDir::enter(dir, student, [trace], visit)?;
    // What no float holds cannot be explained, and all else can be said of such a student too.
    let is_explained = found.is_ok();
    match found {
        Ok(found) => run.write_explanation(&found)?,
        Err(error) => assert!(error.to_string().contains("beyond what a 64-bit float holds"), "{error}"),
    }
    let closed_loop = ClosedLoopParams {
        teacher: "fair".to_owned(),
        student: "student".to_owned(),
        beside: None,
        others: Vec::new(),
        workloads: vec![TINY.to_owned()],
        split: Split::Test,
        episodes: 2.into(),
    };
    let params = EvaluateParams {
        trace: Some(trace),
        selection: Some(trace),
        regions: Some(3),
        closed_loop: Some(closed_loop),
        seed: 1,
    };
    let go_on = &mut |_: sched_distill::pipeline::Part<'_>| ControlFlow::Continue(());
    run.write_evaluation(&evaluate(Some(&registry::DAG), student, &params, go_on, caller)?)?;
    let summary = write_report(dir, &dir.join("report"))?;
    assert!(summary.page_bytes > 10_000 && summary.card.is_file() && !summary.charts.is_empty());
    Ok(is_explained)
}

/// Written in every format, or refused in words where a format has none for a model.
fn exported(student: &Student) -> Outcome {
    for model in [None, Some("other")] {
        let parts = parts(student, None, model)?;
        for target in [Target::Rules, Target::Dot, Target::Rust, Target::C, Target::Onnx, Target::Json] {
            for part in &parts {
                match export(student, std::slice::from_ref(part), target) {
                    Ok(bytes) => assert!(!bytes.is_empty()),
                    Err(ExportError::Unsupported { .. }) => {
                        assert!(matches!(target, Target::Rules | Target::Dot | Target::Onnx))
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        for language in [Language::Rust, Language::C] {
            export_student(student, &parts, language)?;
        }
    }
    Ok(())
}

#[test]
fn students_that_say_nothing_are_explained_reported_exported_and_compared() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (dir, stop) = (dir.path(), AtomicBool::new(false));
    record(dir, "test", "2", "test");
    let trace = Trace::open(&dir.join("test"))?;
    let set = feature_set();
    let (mut before, mut failed, mut explained) = (None::<Student>, Vec::new(), 0);
    for number in 0..KINDS.div_ceil(set.levels.len()) {
        let path = dir.join(format!("{number}.json"));
        degenerate(set, number).save(&path)?;
        let student = Student::load(&path)?;
        let page = reported(&dir.join(format!("run{number}")), &student, &trace, &stop);
        explained += u32::from(matches!(page, Ok(true)));
        failed.extend(page.and_then(|_| exported(&student)).err().map(|e| format!("{number}: {e:?}")));
        for level in &student.levels {
            let (scorer, table) = (Scorer::student(&student, level, Role::Student), trace.level(&level.level)?);
            assert!(table.iter().all(|choice| scorer.choose(&choice, &mut Vec::new()) < choice.len()));
        }
        if let Some(before) = before.replace(student.clone()) {
            agreement_of(&before, &student, &trace, 1)?;
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(explained >= 5, "{explained} of 8 were explained");
    Ok(())
}

/// A flat student whose every choice of jobs has a score that is no number decides as one that asks level by level (as
/// `docs/student-format.md` says).
#[test]
fn where_scores_are_no_numbers_a_flat_student_asks_its_levels_one_after_the_other() -> Outcome {
    let set = feature_set();
    // Of all numbers this one has sums of ∞ and −∞ at the level `job`.
    let with = |structure| {
        let mut student = degenerate(set, 0);
        student.guards.clear();
        student.structure = structure;
        let column = set.levels[0].features.iter().position(|f| f.name == "remaining_work").ok_or("a feature")? as u32;
        let of = |coefficient| Term::linear(column, coefficient, 0.0);
        let terms = vec![of(1e308), of(-1e308)];
        student.set_scheduler(0, Model::Additive(Additive { intercept: 0.0, terms }));
        student.set_scheduler(1, Model::Additive(Additive { intercept: 0.0, terms: vec![Term::linear(3, -1.0, 0.0)] }));
        Ok::<_, &str>(student)
    };
    let [flat, hierarchical] = [with(Structure::Flat)?, with(Structure::Hierarchical)?];
    let caller = Caller { watch: &(), stop: &AtomicBool::new(false) };
    let episodes = (1, Split::Test, 2);
    assert_eq!(registry::DAG.departures(&flat, &hierarchical, TINY, episodes, caller)?, 0.0);
    Ok(())
}

#[test]
fn the_program_reads_compares_and_changes_students_that_say_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let set = feature_set();
    for number in 0..KINDS.div_ceil(set.levels.len()) {
        degenerate(set, number).save(&dir.join(format!("{number}.json"))).unwrap();
    }
    for number in 1..KINDS.div_ceil(set.levels.len()) {
        let [a, b] = [number - 1, number].map(|number| format!("{number}.json"));
        let guard = ["patch", &a, "--guard", "job: age > 60s first", "-w", TINY, "-n", "1", "-o", "p.json", "--force"];
        for args in [&["inspect", &a][..], &["diff", &a, &b, "-w", TINY, "-n", "1"], &guard] {
            let output = command(dir, args).args(["-q", "-j1"]).output().unwrap();
            let said = text(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{args:?}: {said}");
            assert!(!said.contains("panicked"), "{args:?}: {said}");
        }
    }
}
