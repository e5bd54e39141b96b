//! How plans travel from the client to the scheduler and on to the executors.
//!
//! The client plans by itself and sends the physical plan, so only that has a form on the wire.

use crate::{aggregate::DistillSums, failure::WorkFailure, scan::PartScan, work};
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::{
    common::{Result, internal_err},
    execution::TaskContext,
    logical_expr::AggregateUDF,
    physical_plan::ExecutionPlan,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::sync::Arc;

/// What our bytes begin with. No message of `Ballista` begins with a zero.
const MARK: &[u8] = b"\0distill";

/// Writes and reads our nodes, and leaves all others to `Ballista`.
#[derive(Debug)]
pub struct Codec {
    ballista: BallistaPhysicalExtensionCodec,
    version: &'static str,
    refuses_late: bool,
}

impl Codec {
    /// For clients and schedulers.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ballista: BallistaPhysicalExtensionCodec::default(),
            version: env!("CARGO_PKG_VERSION"),
            refuses_late: false,
        }
    }

    /// For executors. `Ballista` does not tell why an executor could not read a plan, so a plan of another version is
    /// read there, and fails when it is run.
    #[must_use]
    pub fn of_executor() -> Self {
        Self { refuses_late: true, ..Self::new() }
    }

    fn seal(&self, payload: &[u8], buffer: &mut Vec<u8>) -> Result<()> {
        let Ok(length) = u8::try_from(self.version.len()) else {
            return internal_err!("the version {} is too long", self.version);
        };
        buffer.extend_from_slice(MARK);
        buffer.push(length);
        buffer.extend_from_slice(self.version.as_bytes());
        buffer.extend_from_slice(payload);
        Ok(())
    }

    /// None if these are not our bytes. The inner error is why this version does not read them.
    fn open<'a>(&self, buffer: &'a [u8]) -> Result<Option<Result<&'a [u8], String>>> {
        let Some((length, rest)) = buffer.strip_prefix(MARK).and_then(<[u8]>::split_first) else {
            return Ok(None);
        };
        let Some((version, payload)) = rest.split_at_checked(usize::from(*length)) else {
            return internal_err!("a plan ends within its version");
        };
        if version == self.version.as_bytes() {
            return Ok(Some(Ok(payload)));
        }
        let text = format!(
            "a plan of distill-engine {} came to {} of distill-engine {}: start client, scheduler and executors from \
             the same build",
            String::from_utf8_lossy(version),
            if self.refuses_late { "an executor" } else { "a scheduler" },
            self.version,
        );
        if self.refuses_late { Ok(Some(Err(text))) } else { Err(WorkFailure::text(text)) }
    }
}

impl Default for Codec {
    fn default() -> Self {
        Self::new()
    }
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        buffer: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(opened) = self.open(buffer)? else {
            return self.ballista.try_decode(buffer, inputs, context, converter);
        };
        let [numbers] = inputs else {
            return internal_err!("PartScan came with {} children, not one", inputs.len());
        };
        let schema = match &opened {
            Ok(scan) => work::schema(scan).map_err(|failure| WorkFailure::wrap(&failure))?,
            Err(_) => numbers.schema(),
        };
        Ok(Arc::new(PartScan::new(opened.map(Arc::from), schema, numbers.clone())))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buffer: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        match node.downcast_ref::<PartScan>() {
            Some(scan) => self.seal(scan.scan()?, buffer),
            None => self.ballista.try_encode(node, buffer, converter),
        }
    }

    fn try_decode_udaf(&self, name: &str, buffer: &[u8]) -> Result<Arc<AggregateUDF>> {
        match self.open(buffer)? {
            Some(Ok(question)) => Ok(Arc::new(DistillSums::answering(question.into()))),
            Some(Err(text)) => Ok(Arc::new(DistillSums::refusing(text))),
            None => self.ballista.try_decode_udaf(name, buffer),
        }
    }

    fn try_encode_udaf(&self, function: &AggregateUDF, buffer: &mut Vec<u8>) -> Result<()> {
        match (function.inner().as_ref() as &dyn std::any::Any).downcast_ref::<DistillSums>() {
            Some(sums) => self.seal(sums.question()?, buffer),
            None => self.ballista.try_encode_udaf(function, buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{failure::told, plan, settings, toy};
    use datafusion::{physical_plan::collect, prelude::SessionContext};
    use datafusion_proto::{physical_plan::AsExecutionPlan, protobuf::PhysicalPlanNode};

    async fn sent(from: &Codec, to: &Codec) -> Result<Vec<u8>, String> {
        let context = SessionContext::new_with_config(settings::session(2));
        let scan = toy::Scan::default().to_bytes().unwrap();
        let question = toy::question(0, b"own");
        let plan = plan::pass(&context, scan.into(), vec![vec![0, 2], vec![1]], question.into()).await.unwrap();
        let message = PhysicalPlanNode::try_from_physical_plan(plan, from).unwrap();
        let task = context.task_ctx();
        let plan = message.try_into_physical_plan(&task, to).map_err(|failure| told(&failure).to_string())?;
        let batches = collect(plan, task).await.map_err(|failure| told(&failure).to_string())?;
        Ok(crate::ask::only_answer(&batches).unwrap())
    }

    #[tokio::test]
    async fn a_plan_arrives() {
        for to in [Codec::new(), Codec::of_executor()] {
            assert_eq!(sent(&Codec::new(), &to).await, Ok(toy::answer(&[0, 1, 2], &toy::question(0, b"own"))));
        }
    }

    #[tokio::test]
    async fn a_plan_of_another_version_says_so() {
        let old = Codec { version: "0.0.7", ..Codec::new() };
        for (to, place) in [(Codec::new(), "a scheduler"), (Codec::of_executor(), "an executor")] {
            let expected = format!(
                "a plan of distill-engine 0.0.7 came to {place} of distill-engine {}: start client, scheduler and \
                 executors from the same build",
                env!("CARGO_PKG_VERSION"),
            );
            assert_eq!(sent(&old, &to).await, Err(expected));
        }
    }
}
