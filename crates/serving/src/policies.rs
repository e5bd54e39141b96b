//! Policies of the `serving` scenario by name.

use crate::{
    Probabilities, Serving,
    heuristic::{BestBatch, Clipper, DyBatch, Lazy, TfServing, Triton},
    state::{Decision, View},
};
#[cfg(feature = "network")]
use sched_distill_core::network::scorer::{SCORER_OR_BUILT_IN, open_scorer_or};
use sched_distill_core::{
    policy::{self, Policy, PolicyError, PolicyInfo, STUDENT, Sort, open_student},
    spec::{Args, Spec, SpecError},
};

/// The policy to explain where the user names none.
pub const TEACHER: &str = "scorer";

/// The network that comes with the program (`data/README.md` tells how it was trained): a checkpoint of `distill train scorer`.
#[cfg(feature = "network")]
pub static BUILT_IN: &[u8] = include_bytes!("../../../data/serving-builtin.safetensors");

/// Heuristics to compare it with; the first is the one that all others are measured against.
pub const BASELINES: &[&str] = &["tf-serving", "triton", "clipper", "lazy", "dybatch,fair=off", "best-batch"];

/// All policies there are.
pub const POLICIES: &[PolicyInfo] = &[
    heuristic(
        "tf-serving",
        "tf-serving[,max=N][,timeout=0]",
        "TensorFlow Serving: in order of arrival, a batch is ready when full or after a timeout (ms); applications take turns",
    ),
    heuristic(
        "triton",
        "triton[,preferred=4/8][,delay=0]",
        "Triton: the largest preferred batch that can be had; tasks are delayed for one (ms)",
    ),
    heuristic(
        "clipper",
        "clipper",
        "Clipper: batches grow by one while they are within the objective, and shrink by a tenth when not",
    ),
    heuristic("lazy", "lazy", "the least slack first; tasks join as long as that makes no task of the batch late"),
    heuristic(
        "dybatch",
        "dybatch[,fair=on|off][,by-size=on|off][,age=N]",
        "the application that has had the least; tasks of like size join as long as nobody is worse off",
    ),
    heuristic(
        "best-batch",
        "best-batch",
        "of all batches that can be formed the one that answers the most tasks per time, efficiently, and has waited",
    ),
    #[cfg(feature = "network")]
    SCORER_OR_BUILT_IN,
    STUDENT,
];

const fn heuristic(name: &'static str, usage: &'static str, meaning: &'static str) -> PolicyInfo {
    PolicyInfo { name, sort: Sort::Heuristic, usage, meaning }
}

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Serving>>, PolicyError> {
    let takes_file = matches!(spec.name.as_str(), "scorer" | "student");
    if !takes_file && POLICIES.iter().any(|p| p.name == spec.name) {
        spec.refuse_file()?;
    }
    let mut args = spec.args();
    let policy: Box<dyn Policy<Serving>> = match spec.name.as_str() {
        "tf-serving" => Box::new(TfServing {
            max: args.optional_count("max", 1..=4096)?,
            timeout_ms: args.number("timeout", 0.0, 0.0..=1e9)?,
        }),
        "triton" => {
            Box::new(Triton { preferred: preferred(&mut args)?, delay_ms: args.number("delay", 0.0, 0.0..=1e9)? })
        }
        "clipper" => Box::new(Clipper::default()),
        "lazy" => Box::new(Lazy),
        "dybatch" => Box::new(DyBatch {
            fair: args.word("fair", &["on", "off"])? == "on",
            by_size: args.word("by-size", &["on", "off"])? == "on",
            age: args.optional_count("age", 0..=1_000_000)?,
        }),
        "best-batch" => Box::new(BestBatch),
        #[cfg(feature = "network")]
        "scorer" => return open_scorer_or(spec, BUILT_IN),
        "student" => return open_student(spec),
        _ => return Err(spec.unknown_name("policy", "policies", &policy::names(POLICIES)).into()),
    };
    args.finish()?;
    Ok(policy)
}

fn preferred(args: &mut Args<'_>) -> Result<Vec<u32>, SpecError> {
    let Some(text) = args.text("preferred") else { return Ok(Vec::new()) };
    let sizes: Option<Vec<u32>> = text.split('/').map(|x| x.parse().ok().filter(|x| (1..=4096).contains(x))).collect();
    sizes.filter(|sizes| sizes.is_sorted_by(|a, b| a < b)).ok_or_else(|| {
        args.conflict("preferred", &text, "ascending numbers in 1..=4096 with / between them, such as 4/8")
    })
}

/// A heuristic as a policy that needs the question alone.
macro_rules! stateless {
    ($($heuristic:ty),*) => {
        $(impl Policy<Serving> for $heuristic {
            fn fresh(&self) -> Box<dyn Policy<Serving>> {
                Box::new(self.clone())
            }

            fn decide(&mut self, seen: &View<'_>, _: &mut Probabilities) -> Result<Decision, PolicyError> {
                Ok(<$heuristic>::decide(&*self, seen))
            }

            fn forgets(&self) -> bool {
                true
            }
        })*
    };
}

stateless!(TfServing, Triton, Lazy, DyBatch, BestBatch);

impl Policy<Serving> for Clipper {
    fn fresh(&self) -> Box<dyn Policy<Serving>> {
        Box::new(Self::default())
    }

    fn reset(&mut self, _: u64) {
        self.reset();
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Probabilities) -> Result<Decision, PolicyError> {
        Ok(self.decide(seen))
    }
}
