//! How much of everything a demo does, and how much of it can be afforded.

use super::DemoArgs;
use crate::{evaluator::Stopping, pipeline::FitPlan, trace::Trace};
use anyhow::Result;

/// Decisions that a search for a better schedule takes at most: where an episode has thousands, it takes fewer episodes.
const DECISIONS_SEARCHED: u64 = 5_000_000;

/// Decisions that a student takes at most when it schedules to be chosen, but in 12 episodes at least.
const DECISIONS_CHOOSING: usize = 70_000;

/// Decisions that are recorded to learn from at most, but in 16 episodes at least: where episodes are long, fewer of them hold more choices
/// than are learnt from.
const DECISIONS_RECORDED: usize = 100_000;

/// How much of everything there is.
pub(super) struct Extent {
    /// Training episodes.
    pub(super) episodes: u32,
    /// Choices learnt from per level.
    pub(super) choices: usize,
    /// Training episodes in which a first student decides and the teacher labels.
    pub(super) own: u32,
    /// Validation episodes in which students that are equally faithful schedule for the choice of one.
    pub(super) choosing: u32,
    /// Fits on draws of the training episodes.
    pub(super) resamples: u32,
    /// Validation episodes on which heuristics are tried.
    pub(super) tried: u32,
    /// After how many test episodes it is looked whether figures are clear.
    pub(super) measured: Stopping,
    /// Episodes of the search for a better schedule, if it can afford them; `None` for no search.
    pub(super) search: Option<u64>,
    /// Test episodes in which users try to be served sooner, and how many in each.
    pub(super) gamed: u32,
    pub(super) targets: u32,
}

impl Extent {
    pub(super) fn of(args: &DemoArgs) -> Self {
        let extent = Self::usual(args);
        match args.max_choices {
            Some(most) => Self { choices: most as usize, resamples: 0, ..extent },
            None => extent,
        }
    }

    fn usual(args: &DemoArgs) -> Self {
        match args.fast {
            false => Self {
                episodes: args.episodes.unwrap_or(40),
                choices: FitPlan::CHOICES,
                own: args.episodes.unwrap_or(40).div_ceil(2),
                choosing: 30,
                resamples: 3,
                tried: 30,
                measured: Stopping::default(),
                search: Some(5000),
                gamed: 20,
                targets: 3,
            },
            true => Self {
                episodes: args.episodes.unwrap_or(16),
                choices: 3000,
                own: 0,
                choosing: 12,
                resamples: 0,
                tried: 8,
                measured: Stopping { usual: vec![30], elsewhere: vec![10], ..Stopping::default() },
                search: None,
                gamed: 10,
                targets: 2,
            },
        }
    }
}

/// Episodes that may be recorded to learn from, of those that should, by what episodes of the same workload are like.
pub(super) fn affordable_episodes(like: &Trace, episodes: u32) -> Result<u32> {
    let affordable = u32::try_from(DECISIONS_RECORDED / decisions_per_episode(like)?).unwrap_or(u32::MAX);
    Ok(episodes.min(affordable.max(16)))
}

/// Decisions of an episode on average, 1 at least.
fn decisions_per_episode(trace: &Trace) -> Result<usize> {
    let Some(first) = trace.manifest.feature_set.levels.first() else { return Ok(1) };
    Ok((trace.outlines(&first.name)?.len() / trace.manifest.episodes.max(1) as usize).max(1))
}

/// Episodes in which students may schedule to be chosen, of those that they should.
pub(super) fn affordable_choosing(train: &Trace, episodes: u32) -> Result<u32> {
    let affordable = u32::try_from(DECISIONS_CHOOSING / decisions_per_episode(train)?).unwrap_or(u32::MAX);
    Ok(episodes.min(affordable.max(12)))
}

/// Episodes that a search may take, of those that it should.
pub(super) fn affordable_search(train: &Trace, episodes: u64) -> Result<u64> {
    Ok(episodes.min(DECISIONS_SEARCHED / decisions_per_episode(train)? as u64).max(1))
}
