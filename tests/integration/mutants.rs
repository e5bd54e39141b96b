//! Damaged files of every kind: whatever is wrong with them, readers return, and say so without a panic. `scripts/fuzz.sh`
//! tries for hours what is tried here for seconds.

use crate::{
    mutate::each_mutant,
    numbers::files,
    program::{TINY, command, done, record, text},
    random_scorer::random_scorer,
};
use flate2::{Compression, write::GzEncoder};
use sched_distill::{
    dag::Dag,
    deadlines::Deadlines,
    model::{Guard, Rule, Student},
    network::scorer::ScorerPolicy,
    preemption::Preemption,
    registry::Registered as _,
    report,
    serving::Serving,
    trace::{self, Trace},
};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

/// Every file below a folder, in order.
fn all_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

fn contents(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Damages one file of a folder at a time, and has the folder read.
fn each_damaged(dir: &Path, paths: &[PathBuf], read: impl Fn()) -> u64 {
    let sound = contents(paths);
    let count = each_mutant(&sound, |which, bytes| {
        fs::write(&paths[which], bytes).unwrap();
        read();
        fs::write(&paths[which], &sound[which]).unwrap();
    });
    assert!(dir.exists());
    count
}

fn a_file(name: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    (dir, path)
}

#[test]
fn weights() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let mut seeds = contents(&[data.join("decima-builtin.safetensors"), data.join("dl2-builtin.safetensors")]);
    seeds.push(random_scorer(sched_distill::dag::feature::feature_set(), 1).to_safetensors().unwrap());
    let (_dir, path) = a_file("weights.safetensors");
    let count = each_mutant(&seeds, |which, bytes| {
        fs::write(&path, bytes).unwrap();
        match which {
            0 => drop(sched_distill::dag::network::DecimaPolicy::load(&path, false)),
            1 => drop(sched_distill::training::network::Dl2Policy::load(&path, None, false)),
            _ => drop(ScorerPolicy::<Dag>::load(&path, false)),
        }
    });
    println!("{count} mutants");
    assert!(count > 0);
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn checkpoints_of_pytorch() {
    let seeds = contents(&[crate::common::reference("decima-model/model.pt")]);
    let (_dir, path) = a_file("model.pt");
    let count = each_mutant(&seeds, |_, bytes| {
        fs::write(&path, bytes).unwrap();
        drop(sched_distill::dag::network::DecimaPolicy::load(&path, false));
    });
    println!("{count} mutants");
    assert!(count > 0);
}

#[test]
fn students() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "4", "train");
    let learners = ["--learner", "tree,linear-tree,logit,spline-logit,pairwise-tree"];
    done(dir, &[&["fit", "train", "-o", "a.json", "--max-leaves", "6"][..], &learners].concat());
    done(
        dir,
        &["patch", "a.json", "--guard", "job: age > 60s first", "-w", TINY, "-n", "2", "-o", "b.json", "-q", "--force"],
    );
    let path = dir.join("mutant.json");
    let set = sched_distill::dag::feature::feature_set();
    let count = each_mutant(&contents(&[dir.join("a.json"), dir.join("b.json")]), |_, bytes| {
        fs::write(&path, bytes).unwrap();
        let Ok(student) = Student::load(&path) else { return };
        // What is accepted can be used.
        drop(student.to_json());
        if student.feature_set.difference(set).is_none() {
            drop(Dag::open(&format!("student:{}", path.display()).parse().unwrap()));
        }
    });
    println!("{count} mutants");
    assert!(count > 0);
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn workloads() {
    let json = r#"{"num_executors": 3, "moving_delay_ms": 100, "warmup_ms": 5, "jobs": [
        {"name": "a", "arrival_ms": 5, "stages": [{"num_tasks": 1, "durations": 7}]},
        {"arrival_ms": 0, "edges": [[0, 1], [0, 2], [1, 2]], "stages": [
            {"num_tasks": 2, "durations": [1, 2]}, {"num_tasks": 3, "durations": 4.5},
            {"num_tasks": 2, "rough_ms": 9, "durations": {"fresh": 3, "rest": [1, 1]}}]}]}"#;
    let stage =
        r#"{"num_tasks": 2, "first_wave": [[5, [1.5, 2]]], "rest_wave": [[5, [1]]], "fresh_durations": [[5, [3]]]}"#;
    let tpch = format!(
        r#"{{"format": "tpch-stage-profiles-v1", "jobs": [{{"query": 1, "size": "2g", "edges": [[0, 1]], "stages": [{stage}, {stage}]}}]}}"#
    );
    let training = r#"{"nodes": 4, "slot_s": 600, "max_workers": 4, "max_servers": 4, "speed": "formula", "jobs": [
        {"type": "resnet-50", "arrival_slot": 0, "epochs": 5}, {"type": "vgg-16", "arrival_slot": 2, "epochs": 3, "real_epochs": 4}]}"#;
    let mut seeds = vec![json.into(), tpch.clone().into_bytes(), packed(tpch.as_bytes()), training.into()];
    let first = seeds.len();
    let others: Vec<_> = files().into_iter().filter(|(of, _, _)| !["dag", "training"].contains(of)).collect();
    seeds.extend(others.iter().map(|(_, _, text)| text.clone().into_bytes()));
    let (_dir, path) = a_file("jobs.json");
    let count = each_mutant(&seeds, |which, bytes| {
        fs::write(&path, bytes).unwrap();
        let spec = |name: &str| format!("{name}:{}", path.display()).parse().unwrap();
        match which {
            0 => {
                if let Ok(workload) = sched_distill::dag::workload::open(&spec("json")) {
                    drop(workload.jobs(1));
                }
            }
            3 => drop(sched_distill::training::workload::TrainingWorkload::open(&spec("json"))),
            other if other >= first => {
                let (scenario, spec, _) = others[other - first];
                let spec = spec.replace("FILE", &path.display().to_string());
                match scenario {
                    "deadlines" => drop(Deadlines::entry().workload(&spec)),
                    "preemption" => drop(Preemption::entry().workload(&spec)),
                    _ => drop(Serving::entry().workload(&spec)),
                }
            }
            _ => {
                if let Ok(workload) = sched_distill::dag::workload::open(&spec("tpch")) {
                    drop(workload.jobs(1));
                }
            }
        }
    });
    println!("{count} mutants");
    assert!(count > 0);
}

#[test]
fn histories_and_speeds_of_training_jobs() {
    let seeds = [
        &b"id,submit_s\n1,0\n2,25.5\n3,21\n\n4, 1e3\n"[..],
        br#"{"format": "dl2-speed-grid/1", "grid": {"m": [[1, 2.5], [3, 4]]}}"#,
    ];
    let (_dir, path) = a_file("jobs");
    let count = each_mutant(&seeds.map(<[u8]>::to_vec), |which, bytes| {
        fs::write(&path, bytes).unwrap();
        match which {
            0 => drop(sched_distill::training::workload::ArrivalTrace::load(&path, 600.0)),
            _ => drop(sched_distill::training::cluster::SpeedGrid::load(&path)),
        }
    });
    println!("{count} mutants");
    assert!(count > 0);
}

#[test]
fn rules_and_guards() {
    let set = sched_distill::dag::feature::feature_set();
    let seeds = [
        &b"job: age > 60s first"[..],
        b"remaining_work_rank <= 0.5 and age >= 1e3 last",
        b"stage: task_ms < 5 never",
        b"job: age > 300s first, smallest remaining_work_rank",
    ];
    let count = each_mutant(&seeds.map(<[u8]>::to_vec), |_, bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(guard) = Guard::parse(&text, set) {
            drop(Guard::parse(&guard.to_string(), set).expect("what is written is read"));
        }
        drop(Rule::parse("rule", &text, set));
    });
    println!("{count} mutants");
    assert!(count > 0);
}

#[test]
fn sealed_traces() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), "trace", "3", "train");
    let trace = dir.path().join("trace");
    let count = each_damaged(&trace, &all_files(&trace), || {
        drop(trace::inspect(&trace));
        let Ok(opened) = Trace::open(&trace) else { return };
        for level in &opened.manifest.feature_set.levels {
            drop(opened.level(&level.name));
            drop(opened.outlines(&level.name));
        }
        drop((opened.episodes(), opened.items(), opened.timeline()));
    });
    println!("{count} mutants");
    assert!(count > 0);
}

#[test]
fn recordings_that_are_not_finished() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), "trace", "9", "train");
    let trace = dir.path().join("trace");
    fs::remove_file(trace.join("manifest.json")).unwrap();
    let json: Vec<PathBuf> =
        all_files(&trace).into_iter().filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    let count = each_damaged(&trace, &json, || {
        drop(trace::inspect(&trace));
        drop(Trace::open(&trace));
    });
    println!("{count} mutants");
    assert!(count > 0);
}

/// Tables that no hash vouches for may end a process that decodes them: the program has another one do it.
#[test]
fn traces_without_hashes() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "trace", "2", "train");
    let trace = dir.join("trace");
    let manifest = fs::read_to_string(trace.join("manifest.json")).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    manifest["tables"] = serde_json::json!([]);
    fs::write(trace.join("manifest.json"), manifest.to_string()).unwrap();
    fs::remove_file(trace.join("plan.json")).unwrap();
    fs::remove_dir_all(trace.join("parts")).unwrap();
    let files = all_files(&trace);
    let count = each_damaged(&trace, &files, || {
        let before = fs::read(trace.join("manifest.json")).unwrap();
        let output = command(dir, &["inspect", "--seal", "-q", "trace"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 2)), "{:?}: {said}", output.status);
        for words in ["panicked", "memory allocation", "not enough memory", "RUST_BACKTRACE"] {
            assert!(!said.contains(words), "{said}");
        }
        assert_eq!(
            said.lines().filter(|line| line.starts_with("error: ")).count(),
            usize::from(!output.status.success())
        );
        // A sealed trace is one of another kind; it is not sealed twice.
        fs::write(trace.join("manifest.json"), before).unwrap();
    });
    println!("{count} mutants");
    assert!(count > 0 && text(&command(dir, &["inspect", "-q", "trace"]).output().unwrap().stdout).contains("trace"));
}

#[test]
fn run_directories() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    done(dir, &["demo", "-o", "run", "-n", "4", "--workload", TINY, "-q"]);
    let run = dir.join("run");
    let json: Vec<PathBuf> = all_files(&run)
        .into_iter()
        .filter(|path| path.parent() == Some(run.as_path()) && path.extension().is_some_and(|e| e == "json"))
        .collect();
    let count = each_damaged(&run, &json, || drop(report::write_report(&run, &dir.join("report"))));
    println!("{count} mutants");
    assert!(count > 0);
}
