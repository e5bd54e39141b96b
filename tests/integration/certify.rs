//! Certificates: no edit contradicts them, neither at random nor on a grid of all that small jobs can declare.

use crate::program;
use sched_distill::{
    attack::certify::Certifier,
    dag::{ClusterState, Dag, edit::JobEdit, policies, workload},
    model::Student,
    rng::Stream,
    scenario::{Questions, State},
    simulation::{Editable, Simulated, Simulation as _},
};
use serde_json::Value;
use std::{error::Error, path::Path, sync::atomic::AtomicBool};

type Outcome = Result<(), Box<dyn Error>>;

/// A student of each learner, fitted on decisions of a rule that goes by declared work.
fn students(dir: &Path) -> Result<Vec<Student>, Box<dyn Error>> {
    let record = ["record", "-p", "sjf-cp,temperature=0.3", "-w", "builtin,jobs=12", "-n", "8", "-o", "trace"];
    program::done(dir, &record);
    let learners: [&[&str]; 3] = [
        &["--learner", "tree", "--max-leaves", "16"],
        &["--learner", "spline-logit", "--max-leaves", "8"],
        &["--learner", "linear-tree", "--max-leaves", "6"],
    ];
    let fit = |(i, learner): (usize, &&[&str])| {
        let name = format!("student-{i}.json");
        program::done(dir, &[&["fit", "trace", "-o", &name][..], learner].concat());
        Ok(Student::load(&dir.join(name))?)
    };
    learners.iter().enumerate().map(fit).collect()
}

/// Questions of an episode.
fn questions(spec: &str, seed: u64) -> Result<Vec<ClusterState>, Box<dyn Error>> {
    let workload = workload::open(&spec.parse()?)?;
    let mut sim = Dag::start(&workload, workload.jobs(seed), seed);
    let mut policy = policies::open(&"srpt-fair".parse()?)?;
    let mut all = Vec::new();
    while let Some(seen) = sim.view() {
        all.push(ClusterState::of(&seen));
        let decision = policy.decide(&seen, &mut Default::default())?;
        sim.step(decision)?;
    }
    Ok(all)
}

/// All that a job can declare on a grid, as long as few of its stages have not begun.
fn grid(state: &ClusterState, job: u32, share: f64) -> Result<Vec<ClusterState>, Box<dyn Error>> {
    let seen = state.view().ok_or("a question")?;
    let open: Vec<(u32, f64)> = seen
        .job(job)
        .stages()
        .filter(|stage| stage.remaining() == stage.num_tasks())
        .map(|stage| (stage.id(), seen.job(job).graph().stages()[stage.id() as usize].rough_ms))
        .collect();
    if open.len() > 4 {
        return Ok(Vec::new());
    }
    let mut all = vec![state.clone()];
    for (stage, was_ms) in open {
        let mut next = Vec::new();
        for state in &all {
            for factor in [1.0 - share, 1.0 - share / 3.0, 1.0, 1.0 + share / 3.0, 1.0 + share] {
                next.push(Dag::edited_state(state, job, &[JobEdit::Duration { stage, was_ms, factor }])?);
            }
        }
        all = next;
    }
    Ok(all)
}

#[test]
fn no_edit_on_a_grid_takes_a_certified_choice() -> Outcome {
    let dir = tempfile::tempdir()?;
    let students = students(dir.path())?;
    let questions = questions("builtin,jobs=14,rate=2e-4", 5)?;
    let (mut certified, mut tried, mut taken) = (0, 0, 0);
    for student in &students {
        let mut certifier = Certifier::<Dag>::new(student)?;
        for state in questions.iter().step_by(7) {
            for share in [0.1, 0.5] {
                let Some(choice) = certifier.choice(state, share)? else { continue };
                let seen = state.view().ok_or("a question")?;
                let jobs: Vec<u32> = {
                    let mut extractor = <Dag as sched_distill::scenario::Scenario>::Questions::default();
                    extractor.update(&seen);
                    extractor.snapshot().candidate_jobs().collect()
                };
                for &(candidate, safe) in &choice.safe {
                    let job = jobs[candidate];
                    for edited in grid(state, job, share)? {
                        let is_taken = certifier.taken(&edited)? == Some(job);
                        assert!(!(safe && is_taken), "job {job} was certified never to be taken at {share}");
                        (certified, tried) = (certified + usize::from(safe), tried + usize::from(!safe));
                        taken += usize::from(is_taken);
                    }
                }
            }
        }
    }
    assert!(certified > 2_000 && tried > 200 && taken > 20, "{certified} {tried} {taken}: nothing was put to the test");
    Ok(())
}

/// All splits and dependencies of a job at a question, by trying out every pair of stages.
fn structures(state: &ClusterState, job: u32) -> Vec<ClusterState> {
    let seen = state.view().expect("a question");
    let stages: Vec<u32> = seen.job(job).graph().stages().iter().map(|s| s.num_tasks).collect();
    let ids = || 0..stages.len() as u32;
    let splits = ids().flat_map(|stage| {
        let tasks = stages[stage as usize];
        (1..tasks).map(move |first| JobEdit::Split { stage, first, tasks })
    });
    let graph = seen.job(job).graph();
    let needs = |a: u32, b: u32| a == b || graph.descendants(a).contains(&b);
    let edges = ids().flat_map(|parent| ids().map(move |child| (parent, child)));
    let edges = edges.filter(|&(parent, child)| !needs(parent, child) && !needs(child, parent));
    let edges = edges.map(|(parent, child)| JobEdit::Edge { parent, child, implied: false });
    splits.chain(edges).filter_map(|edit| Dag::edited_state(state, job, std::slice::from_ref(&edit)).ok()).collect()
}

#[test]
fn what_one_split_or_dependency_takes_is_known_exactly() -> Outcome {
    let dir = tempfile::tempdir()?;
    let sorts = ["split".to_owned(), "edge".to_owned()];
    let (mut safe_ones, mut others) = (0, 0);
    // Who goes by the work of whole jobs minds no such edit; the network does.
    program::done(dir.path(), &["record", "-p", "decima", "-w", "builtin,jobs=12", "-n", "8", "-o", "of-decima"]);
    program::done(dir.path(), &["fit", "of-decima", "-o", "of-decima.json", "--learner", "tree", "--max-leaves", "16"]);
    let of_decima = Student::load(&dir.path().join("of-decima.json"))?;
    for student in students(dir.path())?[..1].iter().chain([&of_decima]) {
        let mut certifier = Certifier::<Dag>::new(student)?;
        for state in questions("builtin,jobs=14,rate=2e-4", 5)?.iter().step_by(4) {
            let Some(choice) = certifier.one_edit(state, &sorts, &AtomicBool::new(false))? else { continue };
            let mut extractor = <Dag as sched_distill::scenario::Scenario>::Questions::default();
            extractor.update(&state.view().ok_or("a question")?);
            let jobs: Vec<u32> = extractor.snapshot().candidate_jobs().collect();
            for &(candidate, safe) in &choice.safe {
                let mut is_taken = false;
                for edited in structures(state, jobs[candidate]) {
                    is_taken |= certifier.taken(&edited)? == Some(jobs[candidate]);
                }
                assert_eq!(safe, !is_taken, "job {}", jobs[candidate]);
                (safe_ones, others) = (safe_ones + usize::from(safe), others + usize::from(!safe));
            }
        }
    }
    assert!(safe_ones > 50 && others > 0, "{safe_ones} {others}: nothing was put to the test");
    Ok(())
}

#[test]
fn every_number_lies_between_its_extremes() -> Outcome {
    let mut stream = Stream::new(7, "extremes");
    let level = &<Dag as sched_distill::scenario::Scenario>::INFO;
    let features = &(level.feature_set)().levels[Dag::JOB_LEVEL].features;
    let mut extractor = <Dag as sched_distill::scenario::Scenario>::Questions::default();
    let mut rows = |state: &ClusterState| {
        let seen = state.view().expect("a question");
        extractor.update(&seen);
        let mut x = Vec::new();
        extractor.rows(&seen, &[], true, &mut x);
        x
    };
    let (mut compared, mut moved) = (0, 0);
    for state in questions("builtin,jobs=14,rate=2e-4", 6)?.iter().step_by(5) {
        let seen = state.view().ok_or("a question")?;
        let jobs: Vec<u32> = seen.active_jobs().iter().copied().filter(|&j| Dag::is_candidate(&seen, j)).collect();
        for job in jobs {
            let Some(ends) = Dag::extremes(state, job, 0.5)? else { continue };
            let ends = ends.map(|s| rows(&s));
            for _ in 0..4 {
                let between = rows(&Dag::somewhere(state, job, 0.5, &mut stream)?);
                for (i, &x) in between.iter().enumerate() {
                    let feature = &features[i % features.len()];
                    if Dag::LOOSE.iter().any(|(loose, _)| feature.name.starts_with(loose)) {
                        continue;
                    }
                    let (low, high) = (ends[0][i].min(ends[1][i]), ends[0][i].max(ends[1][i]));
                    let room = if feature.whole { 0.0 } else { 1e-6 * x.abs() };
                    assert!((low - room..=high + room).contains(&x), "{}: {x} is not in {low}..={high}", feature.name);
                    (compared, moved) = (compared + 1, moved + usize::from(low < high));
                }
            }
        }
    }
    assert!(compared > 100_000 && moved > 10_000, "{compared} {moved}");
    Ok(())
}

#[test]
fn certificates_are_made_at_the_questions_of_a_trace() -> Outcome {
    let dir = tempfile::tempdir()?;
    students(dir.path())?;
    let of = ["attack", "--certify", "student-1.json", "trace", "--budget", "duration=0.1", "--budget", "duration=0.4"];
    let said = program::done(dir.path(), &of);
    assert!(said.contains("± 10 %") && said.contains("± 40 %") && said.contains("no other job can take"), "{said}");
    let lines = program::done(dir.path(), &[&of[..], &["--json", "--threads", "1", "--tries", "6"]].concat());
    assert_eq!(lines, program::done(dir.path(), &[&of[..], &["--json", "--threads", "2", "--tries", "6"]].concat()));
    let found: Value = serde_json::from_str(lines.lines().last().ok_or("a line")?)?;
    assert_eq!(found["type"], "certificates");
    // More may be declared, less is certain; a certificate is never contradicted, and what has none may be.
    let certified = |kind: &str, share: f64| {
        let rows = found["shares"].as_array().cloned().unwrap_or_default();
        let row = rows.into_iter().find(|r| r["kind"] == kind && r["share"] == share);
        row.and_then(|r| r["certified"]["value"].as_f64()).unwrap_or(f64::NAN)
    };
    for kind in ["affinity", "free"] {
        assert!(certified(kind, 0.1) >= certified(kind, 0.4), "{found}");
    }
    let sum = |field: &str| found["tried"].as_array().map_or(0, |t| t.iter().filter_map(|t| t[field].as_u64()).sum());
    assert_eq!(sum("contradicted"), 0);
    assert!(sum("of_safe") > 10_000u64 && sum("taken") > 0u64, "{found}");

    let of = ["attack", "--certify", "student-1.json", "trace", "--edits", "edge,split"];
    let said = program::done(dir.path(), &of);
    assert!(said.contains("one edge or split") && !said.contains('±'), "{said}");
    let both = program::done(dir.path(), &[&of[..5], &["duration,edge", "--budget", "duration=0.4"]].concat());
    assert!(both.contains("± 40 %") && both.contains("one edge ") && !both.contains("± 10 %"), "{both}");

    for wrong in [&["student-1.json"][..], &["student-1.json", "trace", "-p", "fair"]] {
        let output = program::run(dir.path(), &[&["attack", "--certify"][..], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
    for (budget, says) in [
        ("edits=2", "--budget edits=2: certificates are of any number of edits"),
        ("edits=2,duration=0.1", "such as `--budget duration=0.25`"),
        ("edits=1", "such as `--budget duration=0.25`"),
        ("split=0.1", "it does not say `split`"),
    ] {
        program::refused(dir.path(), &["attack", "--certify", "student-1.json", "trace", "--budget", budget], &[says]);
    }
    Ok(())
}

/// Jobs of a file, the later ones smaller and larger than those before.
fn jobs_in_a_file() -> Value {
    let mut stream = Stream::new(11, "file");
    let mut stage = |parents: bool| {
        let tasks = 1 + stream.below(9);
        let ms = 500.0 * (1 + stream.below(12)) as f64;
        (serde_json::json!({"num_tasks": tasks, "durations": ms}), parents)
    };
    let job = |i: u32| {
        let stages: Vec<Value> = [false, true, true].map(|parents| stage(parents).0).into();
        serde_json::json!({"arrival_ms": 2000.0 * f64::from(i), "stages": stages, "edges": [[0, 1], [0, 2]]})
    };
    serde_json::json!({"num_executors": 4, "jobs": (0..16).map(job).collect::<Vec<_>>()})
}

#[test]
fn rows_of_what_cannot_be_made_again_are_certified_over_boxes() -> Outcome {
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("jobs.json"), serde_json::to_vec(&jobs_in_a_file())?)?;
    let record = ["record", "-p", "sjf-cp,temperature=0.3", "-w", "json:jobs.json", "-n", "12", "-o", "trace"];
    program::done(dir.path(), &record);
    program::done(dir.path(), &["fit", "trace", "-o", "student.json", "--learner", "tree", "--max-leaves", "12"]);
    let of = ["attack", "--certify", "student.json", "trace", "--tries", "20", "--json"];
    let found = |of: &[&str]| -> Result<Value, Box<dyn Error>> {
        let lines = program::done(dir.path(), of);
        Ok(serde_json::from_str(lines.lines().last().ok_or("a line")?)?)
    };
    assert!(found(&of)?["in_boxes"].is_null(), "the file is there");
    std::fs::remove_file(dir.path().join("jobs.json"))?;
    let boxed = found(&of)?;
    assert!(boxed["in_boxes"].as_str().is_some_and(|why| why.contains("jobs.json")), "{boxed}");
    let rows = boxed["shares"].as_array().cloned().unwrap_or_default();
    let certified = |share: f64| {
        let of = |r: &&Value| r["kind"] == "free" && r["share"] == share;
        rows.iter().find(of).and_then(|r| r["certified"]["value"].as_f64()).unwrap_or(f64::NAN)
    };
    assert!(certified(0.05) >= certified(0.25) && certified(0.05) > 0.0, "{boxed}");
    let sum = |field: &str| boxed["tried"].as_array().map_or(0, |t| t.iter().filter_map(|t| t[field].as_u64()).sum());
    assert_eq!(sum("contradicted"), 0);
    assert!(sum("of_safe") > 1_000u64 && sum("taken") > 0u64, "{boxed}");
    let said = program::done(dir.path(), &of[..4]);
    assert!(said.contains("cannot be made again") && said.contains("bounds over boxes"), "{said}");
    assert!(said.contains("as far as recorded rows tell") && !said.contains("in that one state"), "{said}");
    program::refused(dir.path(), &[&of[..4], &["--edits", "split"]].concat(), &["split", "rows do not tell"]);
    // Rows of another scenario are no rows of its own.
    program::done(dir.path(), &["record", "--scenario", "training", "-p", "fifo", "-n", "2", "-o", "other"]);
    program::refused(dir.path(), &["attack", "--certify", "student.json", "other"], &["other", "training"]);
    Ok(())
}
