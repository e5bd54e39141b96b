//! Students from traces on an S3-compatible store.

#[path = "support/cluster.rs"]
mod cluster;
#[path = "support/refused.rs"]
mod refused;
#[path = "support/store.rs"]
mod store;
#[path = "support/trace.rs"]
mod trace;

use anyhow::{Context, Result, ensure};
use cluster::Cluster;
use refused::is_refused;
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};
use store::{KEYS, Store};
use tempfile::TempDir;
use trace::write_trace;

const MODELS: [&str; 4] = ["--learner", "tree,logit", "--max-leaves", "24"];

fn fit(trace: &str, output: &Path, more: &[&str], environment: &[(String, String)]) -> Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_distill-engine"))
        .args(["fit", trace, "-o", &output.display().to_string()])
        .args(MODELS)
        .args(more)
        .envs(environment.iter().cloned())
        .output()
        .context("the program starts")
}

fn fitted(trace: &str, output: &Path, more: &[&str], environment: &[(String, String)]) -> Result<Vec<u8>> {
    let said = fit(trace, output, more, environment)?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    ensure!(!Path::new(&format!("{}.work", output.display())).exists(), "copies are deleted");
    Ok(fs::read(output)?)
}

#[test]
fn students_are_those_of_the_same_trace_in_a_folder() -> Result<()> {
    let dir = TempDir::new()?;
    let out = |name: &str| dir.path().join(name);
    fs::create_dir_all(out("buckets/logs"))?;
    let [trace, held] = ["runs/train", "runs/held"].map(|name| out("buckets/logs").join(name));
    write_trace(&trace, 5, 100, 1)?;
    write_trace(&held, 2, 100, 2)?;
    let store = Store::of(&out("buckets"))?;
    let environment = store.environment(KEYS);
    let held_here = held.display().to_string();
    let here = fitted(&trace.display().to_string(), &out("here.json"), &["--validation", &held_here], &[])?;
    let there = ["--validation", "s3://logs/runs/held/"];
    ensure!(fitted("s3://logs/runs/train", &out("store.json"), &there, &environment)? == here, "in one process");
    let cluster = Cluster::start_with(2, &environment);
    let shared = [&there[..], &["--cluster", &cluster.address]].concat();
    ensure!(fitted("s3://logs/runs/train", &out("two.json"), &shared, &environment)? == here, "by two executors");
    Ok(())
}

#[test]
fn what_a_store_has_not_or_does_not_give_is_said_in_one_error() -> Result<()> {
    let dir = TempDir::new()?;
    let buckets = dir.path().join("buckets");
    fs::create_dir_all(buckets.join("logs"))?;
    let trace = buckets.join("logs/trace");
    write_trace(&trace, 3, 40, 1)?;
    let store = Store::of(&buckets)?;
    let output = dir.path().join("student.json");
    let refused = |trace: &str, environment: &[(String, String)], words: &[&str]| -> Result<()> {
        let said = fit(trace, &output, &[], environment)?;
        is_refused(&said, &output, words)
    };
    let good = store.environment(KEYS);
    for keys in [["nobody", KEYS[1]], [KEYS[0], "a guess"]] {
        refused("s3://logs/trace", &store.environment(keys), &["s3://logs/trace/manifest.json", "AWS_ACCESS_KEY_ID"])?;
    }
    refused("s3://logs/nothing", &good, &["s3://logs/nothing/manifest.json", "not in the store"])?;
    refused("s3://logs", &good, &["s3://BUCKET/PREFIX"])?;
    // A part that is not what it was, and one that is gone.
    let part = trace.join("job/part-00001.parquet");
    let whole = fs::read(&part)?;
    let mut bytes = whole.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&part, &bytes)?;
    refused("s3://logs/trace", &good, &["s3://logs/trace/job/part-00001.parquet", "has SHA-256"])?;
    fs::remove_file(&part)?;
    refused("s3://logs/trace", &good, &["s3://logs/trace/job/part-00001.parquet", "not in the store"])?;
    // Once it is back, the same command goes on.
    fs::write(&part, whole)?;
    fitted("s3://logs/trace", &output, &[], &good)?;
    drop(store);
    fs::remove_file(&output)?;
    refused("s3://logs/trace", &good, &["s3://logs/trace/manifest.json", "AWS_ENDPOINT_URL"])?;
    Ok(())
}
