//! Training of neural schedulers: reinforcement learning in the simulator, from random weights, from a checkpoint, or
//! from what a heuristic does (cargo feature `torch`). [`decima`] and [`dl2`] teach the two networks, [`Session`] is what they
//! have in common.
//!
//! Rollouts run the forward pass in plain Rust on all threads; libtorch computes gradients only. The same parameters, seed
//! and files give the same bits on one machine, for any number of threads and across interruptions, unless training is
//! limited by time.

mod adam;
mod checkpoint;
pub mod decima;
pub mod dl2;
mod lessons;
mod libtorch;
mod metrics;
mod schedule;
mod session;
mod update;
mod validation;
mod weights;

pub use adam::Adam;
pub use checkpoint::{Best, Checkpoint, IterationRow};
pub use lessons::{Lessons, RecordedLessons};
pub use metrics::metrics;
pub use schedule::{Judge, ParamError, Ramp, Schedule};
pub use session::{End, Phase, Session, Trainee};
pub use update::UpdateStats;
pub use validation::{ModeResult, Validation};
pub use weights::{Layout, Weights};

/// What gradients are computed on.
pub use tch::Device;

use sched_distill_core::network::NeuralError;
use sched_distill_toolkit::{
    attack::AttackError,
    recorder::{EpisodeError, RecordError, RolloutError},
    trace::TraceError,
};
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
    Rollout(#[from] RolloutError),
    /// Jobs could not be edited as users would who game the network.
    #[error("jobs could not be edited")]
    Attack(#[from] AttackError),
    /// The trace of a warm start cannot be read.
    #[error("the trace to learn from cannot be used")]
    Trace(#[from] TraceError),
    /// A file that a trace names cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The trace of a warm start does not fit.
    #[error("{}: {reason}", path.display())]
    Lessons {
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

impl From<tch::TchError> for TrainError {
    /// The first line of what libtorch says; pages of addresses follow it.
    fn from(error: tch::TchError) -> Self {
        let text = error.to_string();
        Self::Torch(text.lines().next().unwrap_or_default().chars().take(300).collect())
    }
}
