//! Policies of the `dag` scenario by name.

mod heuristic;
mod soft;

use super::{Policies, Policy, PolicyError, PolicyInfo, STUDENT, Sort, foreign, neural, open_student};
use crate::{
    scenario::{Dag, dag::Probabilities},
    spec::Spec,
};
use std::time::Duration;

/// All policies there are.
pub const POLICIES: [PolicyInfo; 12] = [
    PolicyInfo {
        name: "random",
        sort: Sort::Heuristic,
        usage: "random",
        meaning: "a random active job, a stage of it by the common rule, a random number of executors",
    },
    PolicyInfo {
        name: "fifo",
        sort: Sort::Heuristic,
        usage: "fifo",
        meaning: "the source's job first, then jobs in order of arrival, as many executors as there are",
    },
    PolicyInfo {
        name: "fair",
        sort: Sort::Heuristic,
        usage: "fair",
        meaning: "as fifo, but no job gets more than its fair share, ceil(executors / active jobs)",
    },
    PolicyInfo {
        name: "weighted-fair",
        sort: Sort::Heuristic,
        usage: "weighted-fair[,alpha=-1]",
        meaning: "as fair, with shares in proportion to remaining work^alpha",
    },
    PolicyInfo {
        name: "sjf",
        sort: Sort::Heuristic,
        usage: "sjf[,source=any|first][,temperature=T][,mode=greedy|sample]",
        meaning: "the job with least remaining work (source=first: after the source's), all executors; temperature makes it soft",
    },
    PolicyInfo {
        name: "sjf-cp",
        sort: Sort::Heuristic,
        usage: "sjf-cp[,temperature=T][,mode=greedy|sample]",
        meaning: "as sjf, and within the job the stage with the longest remaining critical path; temperature makes it soft",
    },
    PolicyInfo {
        name: "srpt-fair",
        sort: Sort::Heuristic,
        usage: "srpt-fair[,cap=1][,temperature=T][,mode=greedy|sample]",
        meaning: "the source's job first, then least remaining work below cap × fair share; temperature makes it soft",
    },
    PolicyInfo {
        name: "decima",
        sort: Sort::Network,
        usage: "decima[:FILE][,mode=greedy|sample]",
        meaning: "the Decima network with the weights of a .safetensors file or a PyTorch .pt state dict, or with those that come with the program",
    },
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
    STUDENT,
];

impl Policies for Dag {
    const POLICIES: &'static [PolicyInfo] = &POLICIES;
    const TEACHER: &'static str = "decima";
    const BASELINES: &'static [&'static str] = &["fair", "fifo", "sjf", "srpt-fair", "srpt-fair,cap=2"];

    fn open(spec: &Spec) -> Result<Box<dyn Policy>, PolicyError> {
        open(spec)
    }
}

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy>, PolicyError> {
    let takes_file = matches!(spec.name.as_str(), "decima" | "student" | "script" | "onnx" | "torchscript");
    if !takes_file && POLICIES.iter().any(|p| p.name == spec.name) {
        spec.refuse_file()?;
    }
    let mut args = spec.args();
    let policy: Box<dyn Policy> = match spec.name.as_str() {
        "random" => Box::new(heuristic::Random::default()),
        "fifo" => Box::new(heuristic::Capped::Fifo),
        "fair" => Box::new(heuristic::Capped::Fair),
        "weighted-fair" => Box::new(heuristic::Capped::Weighted { alpha: args.number("alpha", -1.0, -10.0..=10.0)? }),
        "sjf" => {
            let source_first = args.word("source", &["any", "first"])? == "first";
            let softness = soft::Softness::from_args(&mut args)?;
            Box::new(soft::Soft::new(soft::Rule::Sjf { source_first }, softness))
        }
        "sjf-cp" => {
            let softness = soft::Softness::from_args(&mut args)?;
            Box::new(soft::Soft::new(soft::Rule::SjfCp, softness))
        }
        "srpt-fair" => {
            let cap = args.number("cap", 1.0, 0.01..=1000.0)?;
            let softness = soft::Softness::from_args(&mut args)?;
            Box::new(soft::Soft::new(soft::Rule::SrptFair { cap }, softness))
        }
        "decima" => {
            let sample = args.word("mode", &["greedy", "sample"])? == "sample";
            Box::new(match &spec.file {
                Some(path) => neural::DecimaPolicy::load(path, sample)?,
                None => neural::DecimaPolicy::builtin(sample)?,
            })
        }
        "script" => {
            let command =
                spec.require("COMMAND", "a process as in docs/foreign-policies.md, e.g. python3 policy.py")?;
            let seconds = args.number("timeout", 60.0, 0.001..=1e6)?;
            let sample = args.word("mode", &["greedy", "sample"])? == "sample";
            let timeout = Duration::from_secs_f64(seconds);
            let network = foreign::ScriptNetwork::new(&command.to_string_lossy(), timeout)?;
            Box::new(foreign::ForeignPolicy::new(Box::new(network), sample))
        }
        "onnx" => {
            let path = spec.require_file("an ONNX model as in docs/foreign-policies.md")?;
            let sample = args.word("mode", &["greedy", "sample"])? == "sample";
            Box::new(foreign::ForeignPolicy::new(foreign::open_onnx(path)?, sample))
        }
        "torchscript" => {
            let path = spec.require_file("a TorchScript module as in docs/foreign-policies.md")?;
            let sample = args.word("mode", &["greedy", "sample"])? == "sample";
            Box::new(foreign::ForeignPolicy::new(foreign::open_torchscript(path)?, sample))
        }
        "student" => return open_student(spec),
        _ => return Err(spec.unknown_name("policy", "policies", &POLICIES.map(|p| p.name)).into()),
    };
    args.finish()?;
    Ok(policy)
}
