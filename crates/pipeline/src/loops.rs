//! Fit, let the student drive, have the teacher label, fit again.

use super::{Caller, Entry, PipelineError};
use sched_distill_core::{policy::identity, simulation::Simulated};
use sched_distill_learn::{IterationResult, LoopPlan, LoopResult, LoopSettings, run_loop as run};
use sched_distill_trace::recorder::LabelledRollouts;
use std::path::PathBuf;

/// A loop, and where it is kept.
#[derive(Clone, Debug)]
pub struct LoopParams {
    /// The teacher that labels, as a spec.
    pub teacher: String,
    /// The workload, as a spec.
    pub workload: String,
    /// What is done with them.
    pub settings: LoopSettings,
    /// Directory of the loop.
    pub dir: PathBuf,
    /// Whether to remove a loop that was made with other arguments.
    pub force: bool,
}

/// Improves a student on the states that it visits itself (DAgger, VIPER); `each` hears of every iteration. What is
/// finished is kept: the same call goes on from there.
///
/// # Errors
///
/// Parameters out of range, a teacher that abstains, a policy or workload that cannot be opened, a failing episode or
/// fit, a folder that cannot be written or holds another loop.
pub fn run_loop<S: Simulated>(
    scenario: &Entry<S>,
    params: &LoopParams,
    each: &mut dyn FnMut(&IterationResult),
    caller: Caller<'_>,
) -> Result<LoopResult, PipelineError> {
    let settings = &params.settings;
    settings.fit.check().map_err(PipelineError::Params)?;
    let teacher = scenario.policy(&params.teacher)?;
    if teacher.abstains() {
        return Err(PipelineError::Abstains(params.teacher.clone()));
    }
    let workload = scenario.workload_for(&params.workload, caller)?;
    // Training and validation episodes of every iteration, and those of the teacher.
    let each_one = u64::from(settings.episodes) + u64::from(settings.validation_episodes);
    let total = (u64::from(settings.iterations) + 1) * each_one + u64::from(settings.validation_episodes);
    caller.watch.episodes("loop", total);
    let teacher_id = identity(&params.teacher);
    let rollouts = LabelledRollouts::<S> {
        teacher_id: &teacher_id,
        teacher: &*teacher,
        workload_id: &params.workload,
        workload: &workload,
        seed: settings.seed,
        progress: caller.watch,
        stop: caller.stop,
    };
    let (teacher, workload) = rollouts.sources()?;
    let plan = LoopPlan { format_version: 1, teacher, workload, settings: settings.clone() };
    let result = run(&params.dir, &plan, &rollouts, params.force, each)?;
    caller.watch.done();
    Ok(result)
}
