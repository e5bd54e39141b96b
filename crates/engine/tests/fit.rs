//! Students from a trace: the same as in memory, and the same whoever sums up.

#[path = "support/cluster.rs"]
mod cluster;
#[path = "support/refused.rs"]
mod refused;
#[path = "support/trace.rs"]
mod trace;

use anyhow::{Context, Result, ensure};
use cluster::Cluster;
use refused::is_refused;
use sched_distill_core::model::{Model, NamedModel, Student};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
    time::Duration,
};
use tempfile::TempDir;
use trace::write_trace;

fn engine(arguments: &[&str]) -> Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_distill-engine")).args(arguments).output().context("the program starts")
}

fn fit(trace: &Path, output: &Path, more: &[&str]) -> Result<Student> {
    let (trace, file) = (trace.display().to_string(), output.display().to_string());
    let said = engine(&[&["fit", &trace, "-o", &file], more].concat())?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    ensure!(!PathBuf::from(format!("{file}.work")).exists(), "what was kept between passes is deleted");
    Ok(Student::load(output)?)
}

fn model<'a>(student: &'a Student, name: &str) -> &'a NamedModel {
    student.levels[0].models.iter().find(|model| model.name == name).expect("a model of that name")
}

#[test]
fn students_are_those_of_a_fit_in_memory_and_the_same_for_any_threads() -> Result<()> {
    let dir = TempDir::new()?;
    let trace = dir.path().join("trace");
    write_trace(&trace, 7, 120, 1)?;
    let out = |name: &str| dir.path().join(name);
    let models = ["--learner", "tree,logit,spline-logit", "--max-leaves", "24"];
    let one = fit(&trace, &out("one.json"), &[&models[..], &["-j", "1"]].concat())?;
    fit(&trace, &out("three.json"), &[&models[..], &["-j", "3"]].concat())?;
    ensure!(fs::read(out("one.json"))? == fs::read(out("three.json"))?, "the same bytes for any number of threads");

    // In memory, with the same histograms: there are fewer rows than are drawn for bins, so that these are the same.
    let params = sched_distill_learn::FitParams {
        max_choices: None,
        ..serde_json::from_value(one.provenance.parameters.clone())?
    };
    let opened = sched_distill_trace::Trace::open(&trace)?;
    let plan = sched_distill_pipeline::FitPlan { params, size: None };
    let stop = std::sync::atomic::AtomicBool::new(false);
    let caller = sched_distill_pipeline::Caller { watch: &(), stop: &stop };
    let expected = sched_distill_pipeline::fit((&opened).into(), None, &plan, caller)?.student;
    let (Model::Tree(found), Model::Tree(tree)) = (&model(&one, "tree").model, &model(&expected, "tree").model) else {
        panic!("trees")
    };
    assert_eq!((&found.feature, &found.threshold, &found.left), (&tree.feature, &tree.threshold, &tree.left));
    assert_eq!(found.n_samples, tree.n_samples);
    assert!(found.leaves() > 12, "{}", found.leaves());
    assert!(found.value.iter().zip(&tree.value).all(|(a, b)| (a - b).abs() < 1e-12));
    for name in ["tree", "logit"] {
        let [a, b] = [&one, &expected].map(|student| model(student, name).temperature);
        assert!((a / b - 1.0).abs() < 1e-9, "{name}: {a} {b}");
    }
    let (Model::Additive(found), Model::Additive(logit)) =
        (&model(&one, "logit").model, &model(&expected, "logit").model)
    else {
        panic!("sums")
    };
    for (a, b) in found.terms.iter().zip(&logit.terms) {
        assert_eq!(a.factors, b.factors);
        assert!((a.coefficient - b.coefficient).abs() < 1e-8);
    }
    assert_eq!(one.provenance.trace_hash, expected.provenance.trace_hash);
    Ok(())
}

#[test]
fn without_options_learner_and_size_are_chosen() -> Result<()> {
    let dir = TempDir::new()?;
    let (trace, held) = (dir.path().join("trace"), dir.path().join("held"));
    write_trace(&trace, 4, 100, 1)?;
    write_trace(&held, 2, 100, 2)?;
    let params = dir.path().join("params.json");
    fs::write(&params, r#"{"balance": 1.0}"#)?;
    // A folder that the user names is not emptied of what is his.
    let work = dir.path().join("work");
    fs::create_dir_all(work.join("batches"))?;
    let own = ["mine", "batches/mine"].map(|name| work.join(name));
    own.iter().try_for_each(|path| fs::write(path, "mine"))?;
    let [held, params, place] = [&held, &params, &work].map(|path| path.display().to_string());
    let more = ["--validation", &held, "--params", &params, "--work", &place];
    let student = fit(&trace, &dir.path().join("a.json"), &more)?;
    assert!(own.iter().all(|path| path.exists()));
    assert_eq!(fs::read_dir(&work)?.count() + fs::read_dir(work.join("batches"))?.count(), 3, "nothing else is left");
    assert_eq!(student.levels[0].models.len(), 1);
    assert!(student.size() <= 32);
    assert!(student.provenance.fidelity.values().all(|top1| *top1 > 0.85), "{:?}", student.provenance.fidelity);
    Ok(())
}

#[test]
fn what_is_wrong_is_said_in_one_error() -> Result<()> {
    let dir = TempDir::new()?;
    let trace = dir.path().join("trace");
    write_trace(&trace, 3, 40, 1)?;
    let output = dir.path().join("student.json");
    let refused = |trace: &Path, more: &[&str], words: &[&str]| -> Result<()> {
        let (trace, file) = (trace.display().to_string(), output.display().to_string());
        let said = engine(&[&["fit", &trace, "-o", &file], more].concat())?;
        is_refused(&said, &output, words)
    };
    refused(&dir.path().join("nowhere"), &[], &["nowhere"])?;
    refused(&trace, &["--learner", "pairwise-tree"], &["pairwise-tree", "spline-logit"])?;
    refused(&trace, &["--cluster", "node0"], &["node0", "df://HOST:PORT"])?;
    // A part that is not what it was.
    let part = trace.join("job/part-00001.parquet");
    let mut bytes = fs::read(&part)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&part, &bytes)?;
    refused(&trace, &[], &["job/part-00001.parquet", "has SHA-256", "damaged or replaced"])?;
    fs::remove_file(&part)?;
    refused(&trace, &[], &["job/part-00001.parquet", "cannot be read"])?;
    fs::write(&output, "something else")?;
    let said = engine(&["fit", &trace.display().to_string(), "-o", &output.display().to_string()])?;
    assert!(String::from_utf8_lossy(&said.stderr).contains("--force"), "a file with other content is kept");
    Ok(())
}

/// Fits by one process, by three executors, and by three of whom one is killed while they work, so many times.
fn kill_an_executor(kills: u64) -> Result<()> {
    let dir = TempDir::new()?;
    let trace = dir.path().join("trace");
    write_trace(&trace, 12, 300, 3)?;
    let out = |name: &str| dir.path().join(name);
    let models = ["--learner", "tree,logit,spline-logit", "--max-leaves", "40"];
    fit(&trace, &out("alone.json"), &models)?;
    let alone = fs::read(out("alone.json"))?;
    for kill in 0..kills {
        let cluster = Cluster::start(3);
        let shared = [&models[..], &["--cluster", &cluster.address, "--tasks", "5"]].concat();
        if kill == 0 {
            fit(&trace, &out("three.json"), &shared)?;
            ensure!(fs::read(out("three.json"))? == alone, "three executors give the same bytes");
        }
        let name = format!("two-{kill}.json");
        thread::scope(|scope| -> Result<()> {
            let fitted = scope.spawn(|| fit(&trace, &out(&name), &shared));
            thread::sleep(Duration::from_millis(1500 - 130 * kill));
            ensure!(!fitted.is_finished(), "it is still at work");
            cluster.executors[kill as usize % 3].signal("-KILL");
            fitted.join().expect("no panic")?;
            Ok(())
        })?;
        ensure!(fs::read(out(&name))? == alone, "what a lost executor did is done again");
    }
    Ok(())
}

#[test]
fn three_executors_of_whom_one_is_killed_give_the_same_bytes_as_one_process() -> Result<()> {
    kill_an_executor(1)
}

#[test]
#[ignore = "takes minutes: cargo test --test fit -- --ignored"]
fn the_same_bytes_ten_times_of_ten() -> Result<()> {
    kill_an_executor(10)
}

#[test]
fn an_interrupted_fit_goes_on_where_it_was() -> Result<()> {
    let dir = TempDir::new()?;
    let trace = dir.path().join("trace");
    write_trace(&trace, 12, 300, 4)?;
    let out = |name: &str| dir.path().join(name);
    let models = ["--learner", "tree,logit", "--max-leaves", "40"];
    fit(&trace, &out("at-once.json"), &models)?;
    let (from, to) = (trace.display().to_string(), out("late.json").display().to_string());
    let mut answers = 0;
    for _ in 0..200 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_distill-engine"))
            .args([&["fit", &from, "-o", &to], &models[..]].concat())
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()?;
        // Until it has one more answer.
        let folder = PathBuf::from(format!("{to}.work"));
        let count = || {
            fs::read_dir(&folder)
                .map_or(0, |found| found.flatten().filter(|f| f.path().extension() == Some("answer".as_ref())).count())
        };
        while child.try_wait()?.is_none() && count() <= answers + 4 {
            thread::sleep(Duration::from_millis(5));
        }
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "it ends well");
            break;
        }
        child.kill()?;
        child.wait()?;
        answers = count();
    }
    ensure!(answers > 8, "it was interrupted: {answers} answers");
    ensure!(fs::read(out("late.json"))? == fs::read(out("at-once.json"))?, "the same bytes");
    Ok(())
}
