//! Schedulers that a user already has: the same small network as a process, an ONNX file and a TorchScript file.

#[cfg(feature = "toolkit")]
mod agreement;
#[cfg(feature = "toolkit")]
mod breaches;
#[cfg(feature = "cli")]
mod cli;
#[path = "../support/common.rs"]
#[allow(dead_code, reason = "each target uses some of it")]
mod common;
mod contract;
mod files;
#[cfg(feature = "toolkit")]
#[path = "../support/json_schema.rs"]
mod json_schema;
mod levels;
#[cfg(all(feature = "cli", unix))]
mod misbehaves;
mod network;
#[cfg(any(feature = "toolkit", feature = "onnx", feature = "torch"))]
mod network_training;
#[cfg(feature = "cli")]
#[path = "../../examples/new_scenario.rs"]
#[allow(dead_code)]
mod new_scenario;
#[cfg(feature = "onnx")]
mod onnx_file;
#[cfg(all(feature = "cli", feature = "onnx"))]
mod profile;
#[cfg(feature = "cli")]
#[path = "../support/program.rs"]
#[allow(dead_code, reason = "each target uses some of it")]
mod program;
#[cfg(feature = "onnx")]
#[allow(dead_code, reason = "the whole file of the exporter is included")]
#[path = "../../crates/core/src/model/export/protobuf.rs"]
mod protobuf;
#[cfg(feature = "torch")]
#[path = "../support/random_scorer.rs"]
mod random_scorer;
mod script;
#[cfg(feature = "torch")]
mod torchscript_file;
#[cfg(feature = "torch")]
mod training;

use sched_distill::{
    contract::Tabular,
    dag::Dag,
    policy::{Policy, PolicyError},
    registry::Registered,
    scenario::Said,
    simulation::Simulation as _,
    training::Training,
};
use std::path::Path;

/// A scenario with what the tests have for it.
trait Tested: Registered + Tabular {
    /// Prefix of the files in Python and of the workloads on the command line.
    const ARGS: &'static [&'static str];
    /// The small network in Python.
    const NETWORK: &'static str;
    /// The example in Python.
    const EXAMPLE: &'static str;
    /// A few jobs.
    const WORKLOAD: &'static str;
}

impl Tested for Dag {
    const ARGS: &'static [&'static str] = &[];
    const NETWORK: &'static str = "network.py";
    const EXAMPLE: &'static str = "script_policy.py";
    const WORKLOAD: &'static str = "builtin,jobs=5,executors=6,rate=1e-3";
}

impl Tested for Training {
    const ARGS: &'static [&'static str] = &["--scenario", "training"];
    const NETWORK: &'static str = "network_training.py";
    const EXAMPLE: &'static str = "script_policy_training.py";
    const WORKLOAD: &'static str = "builtin,nodes=4,jobs=5,max=4";
}

/// The spec of the scenario's small network in Python, broken in some way.
fn python_of<S: Tested>(fault: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign").join(S::NETWORK);
    format!("script:python3 {} {fault}", script.display()).trim_end().to_owned()
}

/// The same of `dag`.
fn python(fault: &str) -> String {
    python_of::<Dag>(fault)
}

/// The spec of the scenario's example in Python.
fn example<S: Tested>() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(S::EXAMPLE);
    format!("script:python3 {}", script.display())
}

fn open<S: Tested>(spec: &str) -> Result<Box<dyn Policy<S>>, PolicyError> {
    S::open(&spec.parse().unwrap())
}

/// Runs an episode of a few jobs; what stopped it, if anything.
fn episode<S: Tested>(policy: &mut dyn Policy<S>, seed: u64) -> Result<u32, PolicyError> {
    let workload = S::open_workload(&S::WORKLOAD.parse().unwrap()).unwrap();
    let mut sim = S::start(&workload, workload.jobs(seed), seed);
    let (mut p, mut decisions) = (Said::default(), 0);
    policy.reset(seed);
    while let Some(seen) = sim.view() {
        p.clear();
        let decision = policy.decide(&seen, &mut p)?;
        sim.step(decision).unwrap();
        decisions += 1;
    }
    Ok(decisions)
}

/// The error that a policy of this spec ends with, and all the words that it must hold.
fn refused_in<S: Tested>(spec: &str, words: &[&str]) {
    let error = open::<S>(spec).and_then(|policy| episode(&mut *policy.fresh(), 1)).unwrap_err().to_string();
    assert!(words.iter().all(|word| error.contains(word)), "{spec}: {error}\nexpected {words:?}");
}

/// The same in `dag`.
fn refused(spec: &str, words: &[&str]) {
    refused_in::<Dag>(spec, words);
}
