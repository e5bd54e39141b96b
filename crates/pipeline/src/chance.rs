//! What is a choice worth? The student schedules with the choices of one level and kind left to chance.

use super::{Caller, Entry, PipelineError};
use sched_distill_core::{
    level::ALL_KINDS,
    model::Student,
    policy::StudentPolicy,
    rng::Split,
    simulation::{Simulated, Workload},
};
use sched_distill_judge::evaluator::{ClosedLoop, FidelityRow, RANDOM, Role, Stake, paired};
use sched_distill_trace::recorder::{EpisodeRun, Episodes, rollouts};
use std::path::Path;

/// Episodes that are scheduled so, at most.
const EPISODES: u32 = 12;

/// The stakes of all levels and kinds of choice of `rows`, on the first episodes of a closed loop in which the student took part.
///
/// # Errors
///
/// A workload that cannot be opened, a student on other features, a failing episode.
pub(super) fn stakes<S: Simulated>(
    scenario: &Entry<S>,
    student: &Student,
    rows: &[FidelityRow],
    (closed_loop, seed): (&ClosedLoop, u64),
    caller: Caller<'_>,
) -> Result<Vec<Stake>, PipelineError> {
    let split = Split::ALL.into_iter().find(|split| split.name() == closed_loop.split);
    let (Some(split), Some(own)) = (split, closed_loop.first(Role::Student)) else { return Ok(Vec::new()) };
    let count = EPISODES.min(u32::try_from(closed_loop.episodes).unwrap_or(EPISODES));
    let own = closed_loop.told(&own.episode_objective[..count as usize]);
    let workload: Workload<S> = scenario.workload_for(&closed_loop.workload, caller)?;
    let policy = StudentPolicy::<S>::new(student, Path::new("student"), None)?;
    let place = |names: &[&str], name: &str| names.iter().position(|known| *known == name);
    let levels: Vec<&str> = student.feature_set.levels.iter().map(|level| level.name.as_str()).collect();
    let told = rows.iter().filter(|row| row.scorer == RANDOM && row.kind != ALL_KINDS && row.choices > 0);
    let told: Vec<_> =
        told.filter_map(|row| Some((row, place(&levels, &row.level)?, place(S::INFO.kinds, &row.kind)?))).collect();
    caller.watch.episodes("choices left to chance", u64::from(count) * told.len() as u64);
    let stake = |(row, level, kind): (&FidelityRow, usize, usize)| -> Result<Stake, PipelineError> {
        let policy = policy.copy().by_chance(level, kind as u8);
        let episodes = Episodes { seed, split, first: 0, count, timelines: 0 };
        let runs = rollouts(&workload, "the student by chance", &policy, episodes, caller.watch, caller.stop)?;
        let objective: Vec<Option<f64>> = runs.iter().map(|run| EpisodeRun::figures(run).of(0)).collect();
        Ok(Stake {
            level: row.level.clone(),
            kind: row.kind.clone(),
            episodes: count as usize,
            objective: paired(closed_loop.objective().compared, &closed_loop.told(&objective), &own, seed),
        })
    };
    let stakes = told.into_iter().map(stake).collect();
    caller.watch.done();
    stakes
}
