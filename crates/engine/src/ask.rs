//! Asking a question about all rows, of this machine or of a cluster.

use crate::{
    codec::Codec,
    failure::{WorkFailure, told},
    plan, settings,
};
use anyhow::{Context, Result, anyhow, ensure};
use arrow::{
    array::{Array, AsArray},
    record_batch::RecordBatch,
};
use ballista_core::{execution_plans::execute_physical_plan, extension::SessionConfigExt};
use datafusion::{
    common::DataFusionError,
    physical_plan::{ExecutionPlan, collect},
    prelude::SessionContext,
};
use datafusion_proto::protobuf::PhysicalPlanNode;
use futures::{FutureExt, TryStreamExt};
use std::{panic::AssertUnwindSafe, sync::Arc};

pub use crate::plan::Part;

/// Answers questions.
pub struct Engine {
    context: SessionContext,
    partitions: usize,
    /// None: this process.
    scheduler: Option<String>,
}

impl Engine {
    /// This process. All partitions run at once, each on a thread and with sums of its own, so there are no more of them
    /// than threads: a partition reads its parts one after the other.
    #[must_use]
    pub fn local(threads: usize) -> Self {
        Self::new(threads, None)
    }

    /// A cluster, by the address of its scheduler, such as `df://127.0.0.1:50050`. A partition is a task, so more
    /// partitions spread better and are lost in smaller pieces, but each sends its own sums.
    ///
    /// # Errors
    ///
    /// If this is no such address.
    pub fn cluster(address: &str, partitions: usize) -> Result<Self> {
        let scheduler = address.strip_prefix("df://").filter(|rest| rest.contains(':'));
        let scheduler = scheduler.with_context(|| {
            format!("{address} is no address of a scheduler: give one as `distill-engine scheduler` prints it, df://HOST:PORT")
        })?;
        Ok(Self::new(partitions, Some(format!("http://{scheduler}"))))
    }

    fn new(partitions: usize, scheduler: Option<String>) -> Self {
        let partitions = partitions.max(1);
        Self { context: SessionContext::new_with_config(settings::session(partitions)), partitions, scheduler }
    }

    /// The answer to a question about the rows of these parts of a scan.
    ///
    /// # Errors
    ///
    /// If the work fails, with its own text, or the engine does.
    pub async fn ask(&self, scan: &[u8], parts: &[Part], question: &[u8]) -> Result<Vec<u8>> {
        let partitions = plan::split(parts, self.partitions);
        let plan = plan::pass(&self.context, scan.into(), partitions, question.into()).await?;
        let batches = match &self.scheduler {
            // An executor catches panics by itself.
            None => AssertUnwindSafe(collect(plan, self.context.task_ctx()))
                .catch_unwind()
                .await
                .unwrap_or_else(|payload| Err(WorkFailure::panicked("adding up", payload.as_ref()))),
            Some(scheduler) => self.send(scheduler, plan).await,
        };
        let batches = batches.map_err(|failure| told(&failure))?;
        only_answer(&batches)
    }

    async fn send(&self, scheduler: &str, plan: Arc<dyn ExecutionPlan>) -> Result<Vec<RecordBatch>, DataFusionError> {
        let config = self.context.copied_config();
        let (session, ballista) = (self.context.session_id(), config.ballista_config());
        let scheduler = scheduler.to_owned();
        execute_physical_plan::<PhysicalPlanNode>(scheduler, &ballista, plan, &Codec::new(), session, config)
            .await?
            .try_collect()
            .await
    }
}

pub(crate) fn only_answer(batches: &[RecordBatch]) -> Result<Vec<u8>> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    ensure!(rows == 1, "the engine gave {rows} answers, not one");
    let answer = batches.iter().find(|batch| batch.num_rows() == 1).and_then(|batch| batch.column(0).as_binary_opt());
    let answer: Option<&arrow::array::BinaryArray> = answer;
    let answer =
        answer.filter(|answer| answer.is_valid(0)).ok_or_else(|| anyhow!("the engine's answer has no bytes"))?;
    Ok(answer.value(0).to_vec())
}
