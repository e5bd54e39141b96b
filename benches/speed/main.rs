//! How fast it all is, one file per topic: `cargo bench` runs all, `cargo bench -- simulator` one.
//!
//! Throughputs count events or decisions, so criterion's `elem/s` reads as events/s or decisions/s. The TPC-H profiles and
//! the pretrained Decima network are read from `../shared`; what needs them is skipped, with a word, where they are missing.
//! `docs/performance.md` has the figures and how to time the Python reference beside them.

mod deadlines;
mod features;
mod learner;
mod preemption;
mod queue;
mod recording;
mod serving;
mod simulator;
#[path = "../../tests/support/synthetic.rs"]
mod synthetic;
mod teacher;
mod training;

use criterion::criterion_main;
use sched_distill::{
    dag::{Dag, workload::DagWorkload},
    policy::Policy,
    registry::Registered as _,
};
use std::path::{Path, PathBuf};

/// A file of the reference data, if it is there.
fn reference(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    if !path.exists() {
        eprintln!("skipped: {} is missing", path.display());
    }
    path.exists().then_some(path)
}

/// TPC-H jobs on a cluster. `args` as on the command line, e.g. `executors=10,jobs=50`.
fn tpch(args: &str) -> Option<DagWorkload> {
    let profiles = reference("tpch/tpch_profiles.json.gz")?;
    let spec = format!("tpch:{},{args}", profiles.display()).parse().expect("a well-formed spec");
    Some(sched_distill::dag::workload::open(&spec).expect("the reference profiles are readable"))
}

/// A policy by its spec.
fn policy(spec: &str) -> Box<dyn Policy<Dag>> {
    Dag::open(&spec.parse().expect("a well-formed spec")).expect("a policy that needs no file, or has it")
}

/// Greedy Decima with the pretrained weights.
fn decima() -> Option<Box<dyn Policy<Dag>>> {
    Some(policy(&format!("decima:{}", reference("decima-model/model.pt")?.display())))
}

criterion_main!(
    queue::group,
    simulator::group,
    training::group,
    deadlines::group,
    preemption::group,
    serving::group,
    teacher::group,
    features::group,
    recording::group,
    learner::group
);
