//! What is a choice worth? The student schedules with the choices of one level and kind left to chance.

use super::{Caller, Entry, PipelineError};
use sched_distill_core::{
    model::Student,
    policy::StudentPolicy,
    rng::Split,
    simulation::{Simulated, Workload},
};
use sched_distill_judge::evaluator::{ClosedLoop, Role, Stake, paired};
use sched_distill_trace::recorder::{EpisodeRun, Episodes, rollouts};
use std::path::Path;

/// Episodes that are scheduled so, at most.
const EPISODES: u32 = 12;

/// The stakes of all levels and kinds of choice, on the first episodes of a closed loop in which the student took part. What changes
/// nothing in any episode is no choice that came.
///
/// # Errors
///
/// A workload that cannot be opened, a student on other features, a failing episode.
pub(super) fn stakes<S: Simulated>(
    scenario: &Entry<S>,
    student: &Student,
    (closed_loop, seed): (&ClosedLoop, u64),
    caller: Caller<'_>,
) -> Result<Vec<Stake>, PipelineError> {
    let split = Split::ALL.into_iter().find(|split| split.name() == closed_loop.split);
    let (Some(split), Some(own)) = (split, closed_loop.first(Role::Student)) else { return Ok(Vec::new()) };
    let count = EPISODES.min(u32::try_from(closed_loop.episodes).unwrap_or(EPISODES));
    let own = closed_loop.told(&own.episode_objective[..count as usize]);
    let workload: Workload<S> = scenario.workload_for(&closed_loop.workload, caller)?;
    let policy = StudentPolicy::<S>::new(student, Path::new("student"), None)?;
    let levels = student.feature_set.levels.iter().enumerate();
    let all: Vec<_> = levels.flat_map(|level| S::INFO.kinds.iter().zip(0..).map(move |kind| (level, kind))).collect();
    caller.watch.episodes("choices left to chance", u64::from(count) * all.len() as u64);
    let mut stakes = Vec::new();
    for ((place, level), (kind, number)) in all {
        let policy = policy.copy().by_chance(place, number);
        let episodes = Episodes { seed, split, first: 0, count, timelines: 0 };
        let runs = rollouts(&workload, "the student by chance", &policy, episodes, caller.watch, caller.stop)?;
        let objective: Vec<Option<f64>> = runs.iter().map(|run| EpisodeRun::figures(run).of(0)).collect();
        let objective = closed_loop.told(&objective);
        if objective != own {
            let objective = paired(closed_loop.objective().compared, &objective, &own, seed);
            let (level, kind) = (level.name.clone(), (*kind).to_owned());
            stakes.push(Stake { level, kind, episodes: count as usize, objective });
        }
    }
    caller.watch.done();
    Ok(stakes)
}
