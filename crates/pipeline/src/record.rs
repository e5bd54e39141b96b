//! From a policy and a workload to a trace.

use super::{Caller, Entry, PipelineError};
use sched_distill_core::{policy::identity, rng::Split, simulation::Simulated};
use sched_distill_trace::{
    Shard,
    recorder::{RecordRequest, Recording, record as record_parts},
};
use std::path::PathBuf;

/// What is recorded, and where.
#[derive(Clone, Debug)]
pub struct RecordParams {
    /// The policy that decides, as a spec.
    pub policy: String,
    /// The one whose opinion is recorded, if that is another: what a student meets, as its teacher sees it.
    pub teacher: Option<String>,
    /// The workload, as a spec.
    pub workload: String,
    /// Seed of the episodes.
    pub seed: u64,
    /// What the episodes are for.
    pub split: Split,
    /// Number of the first one.
    pub first_episode: u32,
    /// How many.
    pub episodes: u32,
    /// The share of them that is recorded.
    pub shard: Shard,
    /// Whether to remove a trace that was made with other arguments.
    pub force: bool,
    /// Directory of the trace.
    pub dir: PathBuf,
}

/// Records a policy's decisions as a trace. What is finished is kept: the same call goes on from there.
///
/// # Errors
///
/// A policy or workload that cannot be opened, a teacher beside a policy of which one may abstain, a failing episode, a folder that cannot be written or holds another
/// trace.
pub fn record<S: Simulated>(
    scenario: &Entry<S>,
    params: &RecordParams,
    caller: Caller<'_>,
) -> Result<Recording, PipelineError> {
    let (policy, workload) = (scenario.policy(&params.policy)?, scenario.workload_for(&params.workload, caller)?);
    let policy_id = identity(&params.policy);
    let teacher = params.teacher.as_ref().map(|spec| Ok::<_, PipelineError>((identity(spec), scenario.policy(spec)?)));
    let teacher = teacher.transpose()?;
    if let Some((id, teacher)) = &teacher
        && let Some(abstains) = [(id, teacher), (&policy_id, &policy)].into_iter().find(|(_, p)| p.abstains())
    {
        return Err(PipelineError::Abstains(abstains.0.clone()));
    }
    if params.first_episode.checked_add(params.episodes).is_none() {
        return Err(PipelineError::TooManyEpisodes { first: params.first_episode, episodes: params.episodes });
    }
    let end = params.first_episode + params.episodes;
    let end =
        Entry::<S>::episodes((&params.workload, &workload), params.split, end, caller).max(params.first_episode + 1);
    let request = RecordRequest::<S> {
        policy_id: &policy_id,
        policy: &*policy,
        labeller: teacher.as_ref().map(|(id, teacher)| (id.as_str(), &**teacher)),
        workload_id: &params.workload,
        workload: &workload,
        seed: params.seed,
        split: params.split,
        first_episode: params.first_episode,
        episodes: end - params.first_episode,
        shard: params.shard,
        force: params.force,
    };
    let what = format!("recording {}", params.split.name());
    caller.watch.episodes(&what, u64::from(request.shard_episodes()));
    let recorded = record_parts(&params.dir, &request, caller.watch, caller.stop)?;
    caller.watch.done();
    Ok(recorded)
}
