//! Schedulers of others by name, for the `dag` scenario.

use crate::{ForeignPolicy, Network, ScriptNetwork, open_onnx, open_torchscript};
use sched_distill_core::{
    policy::{self, Policy, PolicyError, PolicyInfo, Sort},
    spec::{Args, Spec},
};
use sched_distill_dag::Dag;
use std::time::Duration;

/// All there are.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        name: "script",
        sort: Sort::Network,
        usage: "script:COMMAND[,timeout=60][,mode=greedy|sample]",
        meaning: "a process that answers questions with scores, one JSON line each (docs/foreign-policies.md)",
    },
    PolicyInfo {
        name: "onnx",
        sort: Sort::Network,
        usage: "onnx:FILE[,mode=greedy|sample]",
        meaning: "a network in an ONNX file (docs/foreign-policies.md; cargo feature `onnx`)",
    },
    PolicyInfo {
        name: "torchscript",
        sort: Sort::Network,
        usage: "torchscript:FILE[,mode=greedy|sample]",
        meaning: "a network in a TorchScript file (docs/foreign-policies.md; cargo feature `torch`)",
    },
];

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file or command that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Dag>>, PolicyError> {
    let mut args = spec.args();
    let samples = |args: &mut Args<'_>| args.word("mode", &["greedy", "sample"]).map(|mode| mode == "sample");
    let (network, sample): (Box<dyn Network>, bool) = match spec.name.as_str() {
        "script" => {
            let command =
                spec.require("COMMAND", "a process as in docs/foreign-policies.md, e.g. python3 policy.py")?;
            let timeout = Duration::from_secs_f64(args.number("timeout", 60.0, 0.001..=1e6)?);
            let sample = samples(&mut args)?;
            (Box::new(ScriptNetwork::new(&command.to_string_lossy(), timeout)?), sample)
        }
        "onnx" => {
            let path = spec.require_file("an ONNX model as in docs/foreign-policies.md")?;
            let sample = samples(&mut args)?;
            (open_onnx(path)?, sample)
        }
        "torchscript" => {
            let path = spec.require_file("a TorchScript module as in docs/foreign-policies.md")?;
            let sample = samples(&mut args)?;
            (open_torchscript(path)?, sample)
        }
        _ => return Err(spec.unknown_name("policy", "policies", &policy::names(POLICIES)).into()),
    };
    args.finish()?;
    Ok(Box::new(ForeignPolicy::new(network, sample)))
}
