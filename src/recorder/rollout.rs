//! Episodes in parallel, results in order.

use super::episode::{EpisodeError, EpisodeId, EpisodeRun, try_episode};
use crate::{policy::Policy, rng::Split, scenario::Scenario};
use rayon::prelude::*;
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
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// Runs a policy over episodes `0..episodes` of a split; the result is in episode order for any number of threads.
/// Episodes below `timelines` keep their task runs.
///
/// # Errors
///
/// A failing episode, or an interruption through `stop`.
pub fn rollouts<S: Scenario>(
    workload: &S::Workload,
    (name, policy): (&str, &dyn Policy<S>),
    (seed, split, episodes): (u64, Split, u32),
    timelines: u32,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Vec<EpisodeRun>, RolloutError> {
    // The first error ends it: no further episode is begun.
    (0..episodes)
        .into_par_iter()
        .map(|episode| {
            if stop.load(Ordering::Relaxed) {
                return Err(RolloutError::Interrupted);
            }
            let id = EpisodeId { seed, split, episode };
            let run = try_episode(workload, &mut *policy.fresh(), id, episode < timelines, |_, _, _| {
                if stop.load(Ordering::Relaxed) { Err(RolloutError::Interrupted) } else { Ok(()) }
            })
            .map_err(|source| RolloutError::Episode { policy: name.to_owned(), source })??;
            progress.episode(run.outcome.decisions);
            Ok(run)
        })
        .collect()
}
