//! Episodes in parallel, results in order.

use super::episode::{EpisodeError, EpisodeRun, Kept, try_episode};
use rayon::prelude::*;
use sched_distill_core::{
    policy::Policy,
    rng::{EpisodeId, Split},
    simulation::{Simulated, Workload},
};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a long run tells while it goes on. Called from several threads.
pub trait Progress: Sync {
    /// An episode has ended after so many decisions.
    fn episode(&self, decisions: u64);
}

/// Says nothing.
impl Progress for () {
    fn episode(&self, _decisions: u64) {}
}

/// Why a run over many episodes did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RolloutError {
    /// An episode failed.
    #[error("{policy}: cannot run")]
    Episode {
        /// The policy.
        policy: String,
        /// The cause.
        #[source]
        source: EpisodeError,
    },
    /// There is nothing to compare with.
    #[error(
        "{policy} completes none of {episodes} validation episodes of workload number {workload}, so there is nothing to compare \
         with; name another policy"
    )]
    NoReference {
        /// The policy.
        policy: String,
        /// The workload, counted from 1.
        workload: usize,
        /// How many episodes it was tried on.
        episodes: u32,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// Episodes of a split that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Episodes {
    /// The user's seed.
    pub seed: u64,
    /// What they are for.
    pub split: Split,
    /// The first one.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Of a split's episodes the first so many keep their task runs.
    pub timelines: u32,
}

/// Runs a policy, which errors call `name`; the result is in episode order for any number of threads.
///
/// # Errors
///
/// A failing episode, or an interruption through `stop`.
pub fn rollouts<S: Simulated>(
    workload: &Workload<S>,
    name: &str,
    policy: &dyn Policy<S>,
    episodes: Episodes,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Vec<EpisodeRun>, RolloutError> {
    // The first error ends it: no further episode is begun.
    let Episodes { seed, split, first, count, timelines } = episodes;
    (first..first.saturating_add(count))
        .into_par_iter()
        .map(|episode| {
            if stop.load(Ordering::Relaxed) {
                return Err(RolloutError::Interrupted);
            }
            let id = EpisodeId::new(seed, split, episode);
            let kept = if episode < timelines { Kept::Timeline } else { Kept::Outcome };
            let run = try_episode(workload, &mut *policy.fresh(), id, kept, |_, _, _| {
                if stop.load(Ordering::Relaxed) { Err(RolloutError::Interrupted) } else { Ok(()) }
            })
            .map_err(|source| RolloutError::Episode { policy: name.to_owned(), source })??;
            progress.episode(run.outcome.decisions);
            Ok(run)
        })
        .collect()
}
