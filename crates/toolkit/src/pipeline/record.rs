//! From a policy and a workload to a trace.

use super::{Caller, Entry, PipelineError};
use crate::{
    recorder::{RecordRequest, Recording, record as record_parts},
    trace::Shard,
};
use sched_distill_core::{policy::identity, rng::Split, simulation::Simulated};
use std::path::PathBuf;

/// What is recorded, and where.
#[derive(Clone, Debug)]
pub struct RecordParams {
    /// The policy, as a spec.
    pub policy: String,
    /// The workload, as a spec.
    pub workload: String,
    /// Seed of the episodes.
    pub seed: u64,
    /// What the episodes are for.
    pub split: Split,
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
/// A policy or workload that cannot be opened, a failing episode, a folder that cannot be written or holds another
/// trace.
pub fn record<S: Simulated>(
    scenario: &Entry<S>,
    params: &RecordParams,
    caller: Caller<'_>,
) -> Result<Recording, PipelineError> {
    let (policy, workload) = (scenario.policy(&params.policy)?, scenario.workload(&params.workload)?);
    let policy_id = identity(&params.policy);
    let request = RecordRequest::<S> {
        policy_id: &policy_id,
        policy: &*policy,
        workload_id: &params.workload,
        workload: &*workload,
        seed: params.seed,
        split: params.split,
        episodes: params.episodes,
        shard: params.shard,
        force: params.force,
    };
    let what = format!("recording {}", params.split.name());
    caller.watch.episodes(&what, u64::from(request.shard_episodes()));
    let recorded = record_parts(&params.dir, &request, caller.watch, caller.stop)?;
    caller.watch.done();
    Ok(recorded)
}
