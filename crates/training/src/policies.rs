//! Policies of the `training` scenario by name.

#[cfg(feature = "network")]
use crate::network::{BUILT_IN, Dl2Policy};
use crate::{
    Training,
    heuristic::{Drf, Fifo, Optimus, Srtf, Tetris, TrueSrtf},
};
#[cfg(feature = "network")]
use sched_distill_core::network::scorer::{SCORER, open_scorer};
#[cfg(feature = "network")]
use sched_distill_core::policy::{PolicyInfo, Sort};
use sched_distill_core::{
    policy::{self, Policy, PolicyDef, PolicyError, of_episode},
    spec::Spec,
};

/// The policy to explain where the user names none.
pub const TEACHER: &str = "dl2";

/// Heuristics to compare it with; the first is the one that all others are measured against.
pub const BASELINES: &[&str] = &["drf", "fifo", "srtf-time", "tetris", "optimus"];

/// All policies there are.
pub static POLICIES: &[PolicyDef<Training>] = &[
    PolicyDef::rule(
        "drf",
        "dominant resource fairness: a worker and a server for the job with the smallest dominant share",
    )
    .is(|_| Ok(of_episode::<Training, _>(Drf, Drf::decide))),
    PolicyDef::rule("fifo", "jobs in order of arrival, each as many workers and servers as allowed")
        .is(|_| Ok(of_episode::<Training, _>(Fifo, Fifo::decide))),
    PolicyDef::rule(
        "srtf",
        "as fifo, by the remaining share of epochs, as the DL2 simulator has it; nearly first in, first out",
    )
    .is(|_| Ok(of_episode::<Training, _>(Srtf, Srtf::decide))),
    PolicyDef::rule("srtf-time", "as fifo, by the time that a job still needs at its best speed")
        .is(|_| Ok(of_episode::<Training, _>(TrueSrtf, TrueSrtf::decide))),
    PolicyDef::rule("tetris", "node after node, the job whose request fits the free slots best and that has much left")
        .is(|_| Ok(of_episode::<Training, _>(Tetris::default(), Tetris::decide))),
    PolicyDef::rule(
        "optimus",
        "one worker or server at a time, where it saves most remaining time; closes the slot when none saves any",
    )
    .is(|_| Ok(of_episode::<Training, _>(Optimus::default(), Optimus::decide))),
    #[cfg(feature = "network")]
    PolicyDef::new(
        PolicyInfo::new(
            Sort::Network,
            "dl2[:FILE][,window=N][,mode=greedy|sample]",
            "the DL2 network with the weights of a .safetensors file or a PyTorch .pt state dict, or with those that come with the program",
        )
        .with_built_in(BUILT_IN),
        open_dl2,
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
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Training>>, PolicyError> {
    policy::open(spec, POLICIES)
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
