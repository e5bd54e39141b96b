//! The table of a scan, and the node that reads its parts.
//!
//! The node has a child that holds the numbers of the parts, one row each. It could hold them itself, but `Ballista`
//! gives each task its share of the partitions by cutting the leaves that it knows, such as a table in memory, and
//! leaves others whole: then every task would read everything.

use crate::{failure::WorkFailure, work};
use anyhow::anyhow;
use arrow::{
    array::{AsArray, UInt32Array},
    datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type},
    record_batch::RecordBatch,
};
use async_trait::async_trait;
use datafusion::{
    catalog::{Session, TableProvider},
    common::{Result, internal_err, not_impl_err, tree_node::TreeNodeRecursion},
    datasource::{TableType, memory::MemorySourceConfig},
    execution::TaskContext,
    logical_expr::Expr,
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_plan::{
        ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
        PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
        execution_plan::{Boundedness, EmissionType, SchedulingType},
        stream::RecordBatchReceiverStream,
    },
};
use futures::TryStreamExt;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::mpsc::Sender;

/// Batches that may wait between the reader of a partition and its sums.
const WAITING: usize = 2;

/// The table of a scan, in partitions of parts.
#[derive(Debug)]
pub struct PartTable {
    scan: Arc<[u8]>,
    schema: SchemaRef,
    partitions: Vec<Vec<u32>>,
}

impl PartTable {
    /// The table.
    ///
    /// # Errors
    ///
    /// If the scan is none.
    pub fn new(scan: Arc<[u8]>, partitions: Vec<Vec<u32>>) -> anyhow::Result<Self> {
        Ok(Self { schema: work::schema(&scan)?, scan, partitions })
    }
}

#[async_trait]
impl TableProvider for PartTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if projection.is_some_and(|columns| !columns.iter().copied().eq(0..self.schema.fields().len())) {
            return not_impl_err!("a scan sends all of its columns in their order, not {projection:?}");
        }
        let schema = Arc::new(Schema::new(vec![Field::new("part", DataType::UInt32, false)]));
        let batch = |parts: &Vec<u32>| {
            let numbers = Arc::new(UInt32Array::from_iter_values(parts.iter().copied()));
            Ok(vec![RecordBatch::try_new(schema.clone(), vec![numbers])?])
        };
        let numbers = self.partitions.iter().map(batch).collect::<Result<Vec<_>>>()?;
        let numbers = MemorySourceConfig::try_new_exec(&numbers, schema.clone(), None)?;
        Ok(Arc::new(PartScan::new(Ok(self.scan.clone()), self.schema.clone(), numbers)))
    }
}

/// Reads the parts whose numbers its child gives, one after the other, each partition on a thread of its own.
#[derive(Debug)]
pub struct PartScan {
    /// Or why it cannot be read here.
    scan: Result<Arc<[u8]>, String>,
    numbers: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl PartScan {
    /// The node. A scan that cannot be read here fails with its text when it is run.
    #[must_use]
    pub fn new(scan: Result<Arc<[u8]>, String>, schema: SchemaRef, numbers: Arc<dyn ExecutionPlan>) -> Self {
        let partitions = numbers.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        // The channel gives way by itself, so that no node need be put above.
        let properties = Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative));
        Self { scan, numbers, properties }
    }

    /// The scan.
    ///
    /// # Errors
    ///
    /// If it cannot be read here.
    pub fn scan(&self) -> Result<&Arc<[u8]>> {
        self.scan.as_ref().map_err(|text| WorkFailure::text(text.clone()))
    }
}

impl DisplayAs for PartScan {
    fn fmt_as(&self, _form: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "PartScan: partitions={}", self.properties.partitioning.partition_count())
    }
}

impl ExecutionPlan for PartScan {
    fn name(&self) -> &'static str {
        "PartScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.numbers]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    /// Its partitions are balanced already.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(numbers), true) => Ok(Arc::new(Self::new(self.scan.clone(), self.schema(), numbers))),
            _ => internal_err!("PartScan has one child"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let scan = self.scan()?.clone();
        let numbers = self.numbers.execute(partition, context)?;
        let mut stream = RecordBatchReceiverStream::builder(self.schema(), WAITING);
        let to = stream.tx();
        stream.spawn(async move {
            let numbers: Vec<RecordBatch> = numbers.try_collect().await?;
            let parts = numbers.iter().flat_map(|batch| batch.column(0).as_primitive::<UInt32Type>().values().iter());
            let parts: Vec<u32> = parts.copied().collect();
            let reading = tokio::task::spawn_blocking(move || read(&scan, &parts, &to));
            reading.await.unwrap_or_else(|failure| match failure.try_into_panic() {
                Ok(payload) => Err(WorkFailure::panicked("reading a part", payload.as_ref())),
                Err(failure) => Err(WorkFailure::text(format!("reading a part was stopped: {failure}"))),
            })
        });
        Ok(stream.build())
    }
}

/// Rows that this process has read, for whoever shows how far it is.
static READ: AtomicU64 = AtomicU64::new(0);

/// Rows that this process has read so far, in all passes together.
#[must_use]
pub fn rows_read() -> u64 {
    READ.load(Ordering::Relaxed)
}

fn read(scan: &[u8], parts: &[u32], to: &Sender<Result<RecordBatch>>) -> Result<()> {
    let mut send = |batch: RecordBatch| {
        READ.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        to.blocking_send(Ok(batch)).map_err(|_| anyhow!("nobody waits for these parts any more"))
    };
    work::read(scan, parts, &mut send).map_err(|failure| WorkFailure::wrap(&failure))
}
