//! Schedulers of others by name, for every scenario that says how its questions look as tables.

use crate::{ForeignError, ForeignPolicy, Network, ScriptNetwork, open_onnx, open_torchscript, script::named};
use sched_distill_core::{
    contract::Tabular,
    policy::{self, Policy, PolicyDef, PolicyError, PolicyInfo, Sort},
    scenario::Scenario,
    spec::{Args, Spec},
};
use std::time::Duration;

/// All there are.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo::new(
        Sort::Network,
        "script:[NAME=]COMMAND[,timeout=60][,mode=greedy|sample]",
        "a process that answers questions with scores, one JSON line each (docs/foreign-policies.md)",
    ),
    PolicyInfo::new(
        Sort::Network,
        "onnx:FILE[,mode=greedy|sample]",
        "a network in an ONNX file (docs/foreign-policies.md; cargo feature `onnx`)",
    ),
    PolicyInfo::new(
        Sort::Network,
        "torchscript:FILE[,mode=greedy|sample]",
        "a network in a TorchScript file (docs/foreign-policies.md; cargo feature `torch`)",
    ),
];

/// A scenario's own policies, of which the last is the student, with those of others before that.
#[must_use]
pub fn beside<S: Scenario>(own: &[PolicyDef<S>]) -> Vec<PolicyInfo> {
    let mut all: Vec<PolicyInfo> = own.iter().map(|def| def.info).collect();
    let student = all.len().saturating_sub(1);
    all.splice(student..student, POLICIES.iter().copied());
    all
}

fn names(policies: &[PolicyInfo]) -> Vec<&'static str> {
    policies.iter().map(|policy| policy.name).collect()
}

/// Opens the policy that a spec names: one of others, or one of the scenario's own.
///
/// # Errors
///
/// An unknown name or parameter, or a file or command that cannot be used.
pub fn open_beside<S: Tabular>(spec: &Spec, own: &[PolicyDef<S>]) -> Result<Box<dyn Policy<S>>, PolicyError> {
    let all = beside(own);
    if !all.iter().any(|policy| policy.is(spec)) {
        return Err(spec.unknown_name("policy", "policies", &names(&all)).into());
    }
    match POLICIES.iter().any(|policy| policy.is(spec)) {
        true => open(spec),
        false => policy::open(spec, own),
    }
}

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file or command that cannot be used.
pub fn open<S: Tabular>(spec: &Spec) -> Result<Box<dyn Policy<S>>, PolicyError> {
    let mut args = spec.args();
    let samples = |args: &mut Args<'_>| args.word("mode", &["greedy", "sample"]).map(|mode| mode == "sample");
    let (network, sample): (Box<dyn Network>, bool) = match spec.name.as_str() {
        "script" => {
            let command =
                spec.require("COMMAND", "a process as in docs/foreign-policies.md, e.g. python3 policy.py")?;
            let command = command.to_string_lossy();
            let timeout = Duration::from_secs_f64(args.number("timeout", 60.0, 0.001..=1e6)?);
            let sample = samples(&mut args)?;
            let network = match (args.text(named::HASH), named::split(&command)) {
                (None, None) => ScriptNetwork::new(&command, timeout, S::contract())?,
                (None, Some((name, command))) => ScriptNetwork::named(name, command, timeout, S::contract())?,
                (Some(hash), _) => {
                    let kept = named::command(&command, &hash);
                    let kept = kept.ok_or_else(|| ForeignError::NameAlone { name: command.to_string(), hash })?;
                    ScriptNetwork::named(&command, &kept, timeout, S::contract())?
                }
            };
            (Box::new(network), sample)
        }
        "onnx" => {
            let path = spec.require_file("an ONNX model as in docs/foreign-policies.md")?;
            let sample = samples(&mut args)?;
            (open_onnx(path, S::contract())?, sample)
        }
        "torchscript" => {
            let path = spec.require_file("a TorchScript module as in docs/foreign-policies.md")?;
            let sample = samples(&mut args)?;
            (open_torchscript(path, S::contract())?, sample)
        }
        _ => return Err(spec.unknown_name("policy", "policies", &names(POLICIES)).into()),
    };
    args.finish()?;
    Ok(Box::new(ForeignPolicy::<S>::new(network, sample)))
}
