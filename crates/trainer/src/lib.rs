//! Training of neural schedulers: reinforcement learning in the simulator, from random weights, from a checkpoint, or
//! from what a heuristic does (cargo feature `torch`). [`decima`] and [`dl2`] teach the two published networks, [`scorer`] one for any
//! scenario; [`Session`] is what they have in common.
//!
//! Rollouts run the forward pass in plain Rust on all threads; libtorch computes gradients only. The same parameters, seed
//! and files give the same bits on one machine, for any number of threads and across interruptions, unless training is
//! limited by time.

mod adam;
mod checkpoint;
pub mod decima;
pub mod dl2;
mod integrated;
mod libtorch;
mod method;
mod metrics;
mod returns;
mod schedule;
pub mod scorer;
mod session;
#[cfg(test)]
mod tests;
mod update;
mod weights;

pub use adam::Adam;
pub use checkpoint::{Best, Checkpoint, IterationRow};
pub use method::{PolicyGradient, Steps};
pub use metrics::metrics;
pub use returns::Returns;
pub use sched_distill_judge::practice::{Judge, Lessons, ModeResult, RecordedLessons, Validation};
pub use schedule::{ParamError, Ramp, Schedule};
pub use session::{End, Examine, Phase, Session, Trainee};
pub use update::{Algorithm, UpdateStats};
pub use weights::{Layout, Weights};

use sched_distill_judge::practice::Replay;

/// What gradients are computed on.
pub use tch::Device;

use sched_distill_core::network::NeuralError;
use sched_distill_judge::{
    attack::AttackError,
    practice::{LessonsError, PracticeError},
};
use sched_distill_trace::recorder::{EpisodeError, RolloutError};
use std::path::PathBuf;

/// Why a training could not begin or go on. What was saved stays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A parameter is out of range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A checkpoint cannot be used, or the weights are no numbers any more.
    #[error(transparent)]
    Neural(#[from] NeuralError),
    /// A rollout failed.
    #[error("a rollout failed")]
    Episode(#[from] EpisodeError),
    /// A validation failed.
    #[error("a validation failed")]
    Rollout(#[source] RolloutError),
    /// Jobs could not be edited as users would who game the network.
    #[error("jobs could not be edited")]
    Attack(#[from] AttackError),
    /// The trace of a warm start does not fit.
    #[error(transparent)]
    Lessons(#[from] LessonsError),
    /// There is nothing to practise on.
    #[error(transparent)]
    Practice(PracticeError),
    /// A trace holds nothing that a network's gradients could be told of.
    #[error("{}: {reason}", path.display())]
    Gradients {
        /// The trace.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The state of a training is damaged.
    #[error("{}: {reason}; begin anew with --force, or in another folder", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The device is not there.
    #[error(
        "device cuda:{asked} is not there: this libtorch sees {found} CUDA devices; use --device cpu, or build with a libtorch \
         that has CUDA (docs/training.md)"
    )]
    Device {
        /// Number of the device.
        asked: usize,
        /// How many there are.
        found: i64,
    },
    /// libtorch failed.
    #[error("libtorch failed: {0}")]
    Torch(String),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl From<PracticeError> for TrainError {
    fn from(error: PracticeError) -> Self {
        match error {
            PracticeError::Episode(error) => Self::Episode(error),
            PracticeError::Rollout(error) => error.into(),
            PracticeError::Lessons(error) => Self::Lessons(error),
            other => Self::Practice(other),
        }
    }
}

impl From<tch::TchError> for TrainError {
    /// The first line of what libtorch says; pages of addresses follow it.
    fn from(error: tch::TchError) -> Self {
        let text = error.to_string();
        Self::Torch(text.lines().next().unwrap_or_default().chars().take(300).collect())
    }
}
