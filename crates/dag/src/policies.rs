//! Policies of the `dag` scenario by name.

#[cfg(feature = "network")]
use crate::network::{BUILT_IN, DecimaPolicy};
use crate::{
    Dag,
    heuristic::{Capped, Ordered, Random, Rule, Soft, Softness},
};
#[cfg(feature = "network")]
use sched_distill_core::network::scorer::{SCORER, open_scorer};
#[cfg(feature = "network")]
use sched_distill_core::policy::{PolicyInfo, Sort};
use sched_distill_core::{
    policy::{self, Policy, PolicyDef, PolicyError},
    spec::{Args, Spec, SpecError},
};

/// The policy to explain where the user names none.
pub const TEACHER: &str = "decima";

/// Heuristics to compare it with; the first is the one that all others are measured against.
pub const BASELINES: &[&str] = &["fair", "fifo", "sjf", "srpt-fair", "srpt-fair,cap=2"];

/// All policies there are.
pub static POLICIES: &[PolicyDef<Dag>] = &[
    PolicyDef::rule("random", "a random active job, a stage of it by the common rule, a random number of executors")
        .is(|_| Ok(Box::new(Random::default()))),
    PolicyDef::rule(
        "fifo[,by=source|arrival|stage]",
        "the source's job first, then jobs in order of arrival, all executors (by=arrival: the source's not first; by=stage: the stage that could start first)",
    )
    .is(|args| {
        let policy: Box<dyn Policy<Dag>> = match args.word("by", &["source", "arrival", "stage"])? {
            "arrival" => Box::new(Ordered::Arrival),
            "stage" => Box::new(Ordered::ready()),
            _ => Box::new(Capped::Fifo),
        };
        Ok(policy)
    }),
    PolicyDef::rule(
        "fair[,by=share|running]",
        "as fifo, but no job gets more than its fair share, ceil(executors / active jobs) (by=running: the job with the fewest tasks running, all executors)",
    )
    .is(|args| {
        let policy: Box<dyn Policy<Dag>> = match args.word("by", &["share", "running"])? {
            "running" => Box::new(Ordered::Running),
            _ => Box::new(Capped::Fair),
        };
        Ok(policy)
    }),
    PolicyDef::rule("weighted-fair[,alpha=-1]", "as fair, with shares in proportion to remaining work^alpha")
        .is(|args| Ok(Box::new(Capped::Weighted { alpha: args.number("alpha", -1.0, -10.0..=10.0)? }))),
    PolicyDef::rule(
        "sjf[,source=any|first][,by=work|tasks][,temperature=T][,mode=greedy|sample]",
        "the job with least remaining work (by=tasks: fewest tasks not launched; source=first: after the source's), all executors; temperature makes it soft",
    )
    .is(|args| {
        let source_first = args.word("source", &["any", "first"])? == "first";
        let by_tasks = args.word("by", &["work", "tasks"])? == "tasks";
        soft(Rule::Sjf { source_first, by_tasks }, args)
    }),
    PolicyDef::rule(
        "sjf-cp[,temperature=T][,mode=greedy|sample]",
        "as sjf, and within the job the stage with the longest remaining critical path; temperature makes it soft",
    )
    .is(|args| soft(Rule::SjfCp, args)),
    PolicyDef::rule(
        "srpt-fair[,cap=1][,temperature=T][,mode=greedy|sample]",
        "the source's job first, then least remaining work below cap × fair share; temperature makes it soft",
    )
    .is(|args| {
        let cap = args.number("cap", 1.0, 0.01..=1000.0)?;
        soft(Rule::SrptFair { cap }, args)
    }),
    #[cfg(feature = "network")]
    PolicyDef::new(
        PolicyInfo::new(
            Sort::Network,
            "decima[:FILE][,mode=greedy|sample]",
            "the Decima network with the weights of a .safetensors file or a PyTorch .pt state dict, or with those that come with the program",
        )
        .with_built_in(BUILT_IN),
        open_decima,
    ),
    #[cfg(feature = "network")]
    PolicyDef::new(SCORER, open_scorer),
    PolicyDef::student(),
];

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Dag>>, PolicyError> {
    policy::open(spec, POLICIES)
}

fn soft(rule: Rule, args: &mut Args<'_>) -> Result<Box<dyn Policy<Dag>>, SpecError> {
    Ok(Box::new(Soft::new(rule, Softness::from_args(args)?)))
}

#[cfg(feature = "network")]
fn open_decima(spec: &Spec) -> Result<Box<dyn Policy<Dag>>, PolicyError> {
    let mut args = spec.args();
    let sample = args.word("mode", &["greedy", "sample"])? == "sample";
    args.finish()?;
    Ok(Box::new(match &spec.file {
        Some(path) => DecimaPolicy::load(path, sample)?,
        None => DecimaPolicy::builtin(sample)?,
    }))
}
