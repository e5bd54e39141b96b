//! Who stands in for a scheduler of which nothing is known but recorded decisions: a student fitted on them.

use super::{AttackRequest, Caller, Entry, FitPlan, PipelineError, RecordParams, fit, record};
use sched_distill_core::{model::Student, rng::Split, simulation::Editable};
use sched_distill_trace::{Shard, Trace};
use std::path::PathBuf;

/// Training episodes in which the scheduler is watched.
const EPISODES: u32 = 20;

/// Records the scheduler's decisions and fits a student as `distill fit` does, in the folder `proxy` of the attack; the student's file.
///
/// # Errors
///
/// As of [`record`](super::record()) and [`fit`].
pub(super) fn stand_in<S: Editable>(
    scenario: &Entry<S>,
    request: &AttackRequest,
    caller: Caller<'_>,
) -> Result<PathBuf, PipelineError> {
    let dir = request.dir.join("proxy");
    let params = RecordParams {
        policy: request.policy.clone(),
        teacher: None,
        workload: request.workload.clone(),
        seed: request.params.seed,
        split: Split::Train,
        first_episode: 0,
        episodes: EPISODES,
        shard: Shard::WHOLE,
        force: request.force,
        dir: dir.join("trace"),
    };
    record(scenario, &params, caller)?;
    let (trace, path) = (Trace::open(&params.dir)?, dir.join("student.json"));
    let known = Student::load(&path).is_ok_and(|known| known.provenance.trace_hash == trace.hash);
    if !known {
        fit((&trace).into(), None, &FitPlan::default(), caller)?.student.save(&path)?;
    }
    Ok(path)
}
