//! Policies of the `training` scenario by name.

#[cfg(feature = "network")]
use crate::network::Dl2Policy;
use crate::{
    Probabilities, Training,
    heuristic::{Drf, Fifo, Optimus, Srtf, Tetris, TrueSrtf},
    state::{Decision, View},
};
#[cfg(feature = "network")]
use sched_distill_core::network::scorer::{SCORER, open_scorer};
use sched_distill_core::{
    policy::{self, Policy, PolicyError, PolicyInfo, STUDENT, Sort, open_student},
    spec::Spec,
};

/// The policy to explain where the user names none.
pub const TEACHER: &str = "dl2";

/// Heuristics to compare it with; the first is the one that all others are measured against.
pub const BASELINES: &[&str] = &["drf", "fifo", "srtf-time", "tetris", "optimus"];

/// All policies there are.
pub const POLICIES: &[PolicyInfo] = &[
    heuristic("drf", "dominant resource fairness: a worker and a server for the job with the smallest dominant share"),
    heuristic("fifo", "jobs in order of arrival, each as many workers and servers as allowed"),
    heuristic(
        "srtf",
        "as fifo, by the remaining share of epochs, as the DL2 simulator has it; nearly first in, first out",
    ),
    heuristic("srtf-time", "as fifo, by the time that a job still needs at its best speed"),
    heuristic("tetris", "node after node, the job whose request fits the free slots best and that has much left"),
    heuristic(
        "optimus",
        "one worker or server at a time, where it saves most remaining time; closes the slot when none saves any",
    ),
    #[cfg(feature = "network")]
    PolicyInfo {
        name: "dl2",
        sort: Sort::Network,
        usage: "dl2[:FILE][,window=N][,mode=greedy|sample]",
        meaning: "the DL2 network with the weights of a .safetensors file or a PyTorch .pt state dict, or with those that come with the program",
    },
    #[cfg(feature = "network")]
    SCORER,
    STUDENT,
];

const fn heuristic(name: &'static str, meaning: &'static str) -> PolicyInfo {
    PolicyInfo { name, sort: Sort::Heuristic, usage: name, meaning }
}

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Training>>, PolicyError> {
    let takes_file = matches!(spec.name.as_str(), "dl2" | "scorer" | "student");
    if !takes_file && POLICIES.iter().any(|p| p.name == spec.name) {
        spec.refuse_file()?;
    }
    let policy: Box<dyn Policy<Training>> = match spec.name.as_str() {
        "drf" => Box::new(Drf),
        "fifo" => Box::new(Fifo),
        "srtf" => Box::new(Srtf),
        "srtf-time" => Box::new(TrueSrtf),
        "tetris" => Box::new(Tetris::default()),
        "optimus" => Box::new(Optimus::default()),
        #[cfg(feature = "network")]
        "dl2" => return open_dl2(spec),
        #[cfg(feature = "network")]
        "scorer" => return open_scorer(spec),
        "student" => return open_student(spec),
        _ => return Err(spec.unknown_name("policy", "policies", &policy::names(POLICIES)).into()),
    };
    spec.args().finish()?;
    Ok(policy)
}

#[cfg(feature = "network")]
fn open_dl2(spec: &Spec) -> Result<Box<dyn Policy<Training>>, PolicyError> {
    let mut args = spec.args();
    let window = args.optional_count("window", 1..=10_000)?.map(|n| n as usize);
    let sample = args.word("mode", &["greedy", "sample"])? == "sample";
    args.finish()?;
    Ok(Box::new(match &spec.file {
        Some(path) => Dl2Policy::load(path, window, sample)?,
        None => Dl2Policy::builtin(window, sample)?,
    }))
}

/// A heuristic as a policy: it begins each episode anew, and is sure of what it does.
macro_rules! deterministic {
    ($($heuristic:ty),*) => {
        $(impl Policy<Training> for $heuristic {
            fn fresh(&self) -> Box<dyn Policy<Training>> {
                Box::new(Self::default())
            }

            fn reset(&mut self, _: u64) {
                *self = Self::default();
            }

            fn decide(&mut self, seen: &View<'_>, _: &mut Probabilities) -> Result<Decision, PolicyError> {
                Ok(self.decide(seen))
            }
        })*
    };
}

deterministic!(Drf, Fifo, Srtf, TrueSrtf, Tetris, Optimus);
