//! Schedulers that a user already has: the same small network as a process, an ONNX file and a TorchScript file.

#[cfg(feature = "toolkit")]
mod agreement;
#[cfg(feature = "cli")]
mod cli;
mod contract;
mod files;
#[cfg(all(feature = "cli", unix))]
mod misbehaves;
#[cfg(any(feature = "toolkit", feature = "onnx", feature = "torch"))]
mod network;
#[cfg(feature = "onnx")]
mod onnx_file;
#[cfg(feature = "onnx")]
#[allow(dead_code, reason = "the whole file of the exporter is included")]
#[path = "../../crates/core/src/model/export/protobuf.rs"]
mod protobuf;
mod script;
#[cfg(feature = "torch")]
mod torchscript_file;

use sched_distill::{
    dag::{Dag, Probabilities, simulator::Simulator},
    policy::{Policy, PolicyError},
    registry::Registered as _,
};
use std::path::Path;

/// The spec of the network in Python, broken in some way.
fn python(fault: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/foreign/network.py");
    format!("script:python3 {} {fault}", script.display()).trim_end().to_owned()
}

fn open(spec: &str) -> Result<Box<dyn Policy<Dag>>, PolicyError> {
    Dag::open(&spec.parse().unwrap())
}

/// Runs an episode of a few jobs; what stopped it, if anything.
fn episode(policy: &mut dyn Policy<Dag>, seed: u64) -> Result<u32, PolicyError> {
    let workload =
        sched_distill::dag::workload::open(&"builtin,jobs=5,executors=6,rate=1e-3".parse().unwrap()).unwrap();
    let mut sim = Simulator::new(workload.cluster(), workload.jobs(seed), seed);
    let (mut p, mut decisions) = (Probabilities::default(), 0);
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
fn refused(spec: &str, words: &[&str]) {
    let error = open(spec).and_then(|policy| episode(&mut *policy.fresh(), 1)).unwrap_err().to_string();
    assert!(words.iter().all(|word| error.contains(word)), "{spec}: {error}\nexpected {words:?}");
}
