//! Recorded requests as the Mooncake project published those of its chats: an object per request.

use super::{ServingWorkload, requests};
use sched_distill_core::{spec::Spec, workload::WorkloadError};
use sched_distill_histories::requests as traces;

/// Opens `mooncake:FILE`.
pub(super) fn open(spec: &Spec) -> Result<ServingWorkload, WorkloadError> {
    let path = spec.require_file("a trace of Mooncake: JSON lines with timestamp, input_length, output_length")?;
    requests::open(spec, path, |path| {
        let log = traces::read(path, &mut |_, _| {}).map_err(|error| WorkloadError::History(Box::new(error)))?;
        let notes = log.notes();
        Ok((log.requests, notes))
    })
}
