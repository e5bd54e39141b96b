//! Policies of the `serving` scenario by name.

use crate::{
    Serving,
    heuristic::{BestBatch, Clipper, DyBatch, Lazy, TfServing, Triton},
};
#[cfg(feature = "network")]
use sched_distill_core::network::scorer::{open_scorer_or, scorer_or};
use sched_distill_core::{
    policy::{self, Policy, PolicyDef, PolicyError, of_episode, stateless},
    spec::{Args, Spec, SpecError},
};

/// The policy to explain where the user names none.
pub const TEACHER: &str = "scorer";

/// The network that comes with the program (`data/README.md` tells how it was trained): a checkpoint of `distill train scorer`.
#[cfg(feature = "network")]
pub static BUILT_IN: &[u8] = include_bytes!("../data/serving-builtin.safetensors");

/// Heuristics to compare it with; the first is the one that all others are measured against.
pub const BASELINES: &[&str] = &["tf-serving", "triton", "clipper", "lazy", "dybatch,fair=off", "best-batch"];

/// All policies there are.
pub static POLICIES: &[PolicyDef<Serving>] = &[
    PolicyDef::rule(
        "tf-serving[,max=N][,timeout=0]",
        "TensorFlow Serving: in order of arrival, a batch is ready when full or after a timeout (ms); applications take turns",
    )
    .is(|args| {
        let max = args.optional_count("max", 1..=4096)?;
        let rule = TfServing { max, timeout_ms: args.number("timeout", 0.0, 0.0..=1e9)? };
        Ok(stateless(move |seen| rule.decide(seen)))
    }),
    PolicyDef::rule(
        "triton[,preferred=4/8][,delay=0]",
        "Triton: the largest preferred batch that can be had; tasks are delayed for one (ms)",
    )
    .is(|args| {
        let preferred = preferred(args)?;
        let rule = Triton { preferred, delay_ms: args.number("delay", 0.0, 0.0..=1e9)? };
        Ok(stateless(move |seen| rule.decide(seen)))
    }),
    PolicyDef::rule(
        "clipper",
        "Clipper: batches grow by one while they are within the objective, and shrink by a tenth when not",
    )
    .is(|_| Ok(of_episode::<Serving, _>(Clipper::default(), Clipper::decide))),
    PolicyDef::rule("lazy", "the least slack first; tasks join as long as that makes no task of the batch late")
        .is(|_| Ok(stateless(|seen| Lazy.decide(seen)))),
    PolicyDef::rule(
        "dybatch[,fair=on|off][,by-size=on|off][,age=N]",
        "the application that has had the least; tasks of like size join as long as nobody is worse off",
    )
    .is(|args| {
        let rule = DyBatch {
            fair: args.word("fair", &["on", "off"])? == "on",
            by_size: args.word("by-size", &["on", "off"])? == "on",
            age: args.optional_count("age", 0..=1_000_000)?,
        };
        Ok(stateless(move |seen| rule.decide(seen)))
    }),
    PolicyDef::rule(
        "best-batch",
        "of all batches that can be formed the one that answers the most tasks per time, efficiently, and has waited",
    )
    .is(|_| Ok(stateless(|seen| BestBatch.decide(seen)))),
    #[cfg(feature = "network")]
    PolicyDef::new(scorer_or(BUILT_IN, "serving-net"), |spec| open_scorer_or(spec, BUILT_IN)),
    PolicyDef::student(),
];

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Serving>>, PolicyError> {
    policy::open(spec, POLICIES)
}

fn preferred(args: &mut Args<'_>) -> Result<Vec<u32>, SpecError> {
    let Some(text) = args.text("preferred") else { return Ok(Vec::new()) };
    let sizes: Option<Vec<u32>> = text.split('/').map(|x| x.parse().ok().filter(|x| (1..=4096).contains(x))).collect();
    sizes.filter(|sizes| sizes.is_sorted_by(|a, b| a < b)).ok_or_else(|| {
        args.conflict("preferred", &text, "ascending numbers in 1..=4096 with / between them, such as 4/8")
    })
}
