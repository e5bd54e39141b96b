//! Policies of the `dag` scenario by name.

#[cfg(feature = "network")]
use crate::network::DecimaPolicy;
use crate::{
    Dag,
    heuristic::{Capped, Random, Rule, Soft, Softness},
};
#[cfg(feature = "network")]
use sched_distill_core::network::scorer::{SCORER, open_scorer};
use sched_distill_core::{
    policy::{self, Policy, PolicyError, PolicyInfo, STUDENT, Sort, open_student},
    spec::Spec,
};

/// The policy to explain where the user names none.
pub const TEACHER: &str = "decima";

/// Heuristics to compare it with; the first is the one that all others are measured against.
pub const BASELINES: &[&str] = &["fair", "fifo", "sjf", "srpt-fair", "srpt-fair,cap=2"];

/// All policies there are.
pub const POLICIES: &[PolicyInfo] = &[
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
    #[cfg(feature = "network")]
    PolicyInfo {
        name: "decima",
        sort: Sort::Network,
        usage: "decima[:FILE][,mode=greedy|sample]",
        meaning: "the Decima network with the weights of a .safetensors file or a PyTorch .pt state dict, or with those that come with the program",
    },
    #[cfg(feature = "network")]
    SCORER,
    STUDENT,
];

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Dag>>, PolicyError> {
    let takes_file = matches!(spec.name.as_str(), "decima" | "scorer" | "student");
    if !takes_file && POLICIES.iter().any(|p| p.name == spec.name) {
        spec.refuse_file()?;
    }
    let mut args = spec.args();
    let policy: Box<dyn Policy<Dag>> = match spec.name.as_str() {
        "random" => Box::new(Random::default()),
        "fifo" => Box::new(Capped::Fifo),
        "fair" => Box::new(Capped::Fair),
        "weighted-fair" => Box::new(Capped::Weighted { alpha: args.number("alpha", -1.0, -10.0..=10.0)? }),
        "sjf" => {
            let source_first = args.word("source", &["any", "first"])? == "first";
            let softness = Softness::from_args(&mut args)?;
            Box::new(Soft::new(Rule::Sjf { source_first }, softness))
        }
        "sjf-cp" => {
            let softness = Softness::from_args(&mut args)?;
            Box::new(Soft::new(Rule::SjfCp, softness))
        }
        "srpt-fair" => {
            let cap = args.number("cap", 1.0, 0.01..=1000.0)?;
            let softness = Softness::from_args(&mut args)?;
            Box::new(Soft::new(Rule::SrptFair { cap }, softness))
        }
        #[cfg(feature = "network")]
        "decima" => {
            let sample = args.word("mode", &["greedy", "sample"])? == "sample";
            Box::new(match &spec.file {
                Some(path) => DecimaPolicy::load(path, sample)?,
                None => DecimaPolicy::builtin(sample)?,
            })
        }
        #[cfg(feature = "network")]
        "scorer" => return open_scorer(spec),
        "student" => return open_student(spec),
        _ => return Err(spec.unknown_name("policy", "policies", &policy::names(POLICIES)).into()),
    };
    args.finish()?;
    Ok(policy)
}
