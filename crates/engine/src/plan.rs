//! The plan of one pass: all rows of a scan, added up.

use crate::{
    aggregate::DistillSums,
    scan::{PartScan, PartTable},
};
use anyhow::{Context, Result, bail};
use datafusion::{
    common::Column,
    logical_expr::Expr,
    physical_plan::{
        ExecutionPlan,
        aggregates::{AggregateExec, AggregateMode},
        displayable,
    },
    prelude::SessionContext,
};
use std::sync::Arc;

/// A share of what there is to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number.
    pub number: u32,
    /// How long it takes, in any unit.
    pub weight: u64,
}

/// Splits parts into as many partitions, or fewer, of about the same weight. There is always one.
#[must_use]
pub fn split(parts: &[Part], partitions: usize) -> Vec<Vec<u32>> {
    let mut heaviest: Vec<Part> = parts.to_vec();
    heaviest.sort_by_key(|part| (u64::MAX - part.weight, part.number));
    let mut shares = vec![(0_u64, Vec::new()); partitions.min(parts.len()).max(1)];
    for part in heaviest {
        // Partitions without parts come first, so that parts without weight are spread too.
        if let Some((weight, share)) = shares.iter_mut().min_by_key(|(weight, share)| (*weight, share.len())) {
            *weight = weight.saturating_add(part.weight);
            share.push(part.number);
        }
    }
    let in_order = |(_, mut share): (u64, Vec<u32>)| {
        share.sort_unstable();
        share
    };
    shares.into_iter().map(in_order).collect()
}

/// Plans a pass.
///
/// # Errors
///
/// If the scan is none, or the plan would not bring batches to the sums as they are read ([`check`]).
pub async fn pass(
    context: &SessionContext,
    scan: Arc<[u8]>,
    partitions: Vec<Vec<u32>>,
    question: Arc<[u8]>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let rows = context.read_table(Arc::new(PartTable::new(scan, partitions)?))?;
    let columns = rows.schema().fields().iter().map(|field| Expr::Column(Column::from_name(field.name()))).collect();
    let sums = rows.aggregate(Vec::new(), vec![DistillSums::answering(question).call(columns).alias("sums")])?;
    let plan = sums.create_physical_plan().await?;
    check(&plan)?;
    Ok(plan)
}

/// Refuses a plan in which anything stands between the reader of a partition and its sums.
///
/// # Errors
///
/// If something does, with the plan.
pub fn check(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    check_below(plan, None).with_context(|| format!("this plan:\n{}", displayable(plan.as_ref()).indent(false)))
}

fn check_below(plan: &Arc<dyn ExecutionPlan>, above: Option<&Arc<dyn ExecutionPlan>>) -> Result<()> {
    if plan.is::<PartScan>() {
        let mode = above.and_then(|node| node.downcast_ref::<AggregateExec>()).map(AggregateExec::mode);
        if !matches!(mode, Some(AggregateMode::Partial | AggregateMode::Single | AggregateMode::SinglePartitioned)) {
            bail!(
                "{} would stand between a PartScan and its sums, and could change its batches: check the settings of \
                 the session",
                above.map_or("nothing", |node| node.name()),
            );
        }
        return Ok(());
    }
    plan.children().into_iter().try_for_each(|child| check_below(child, Some(plan)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{settings, toy};

    fn shown(plan: &Arc<dyn ExecutionPlan>) -> String {
        displayable(plan.as_ref()).indent(false).to_string()
    }

    async fn planned(context: &SessionContext, partitions: usize) -> Result<Arc<dyn ExecutionPlan>> {
        let scan = toy::Scan::default().to_bytes()?;
        let partitions = (0..partitions).map(|part| vec![part as u32]).collect();
        pass(context, scan.into(), partitions, toy::question(0, &[]).into()).await
    }

    #[tokio::test]
    async fn nothing_stands_between_scan_and_sums() {
        let context = SessionContext::new_with_config(settings::session(3));
        let expected = "\
AggregateExec: mode=Final, gby=[], aggr=[distill_sums(?table?.Number) as sums]
  CoalescePartitionsExec
    AggregateExec: mode=Partial, gby=[], aggr=[distill_sums(?table?.Number) as sums]
      PartScan: partitions=3
        DataSourceExec: partitions=3, partition_sizes=[1, 1, 1]
";
        assert_eq!(shown(&planned(&context, 3).await.unwrap()), expected);
        let single = shown(&planned(&context, 1).await.unwrap());
        assert!(single.starts_with("AggregateExec: mode=Single"), "{single}");
    }

    #[tokio::test]
    async fn a_repartition_is_refused() {
        let config = settings::session(8).with_round_robin_repartition(true);
        let context = SessionContext::new_with_config(config);
        let refusal = format!("{:#}", planned(&context, 3).await.unwrap_err());
        assert!(refusal.contains("RepartitionExec would stand between a PartScan and its sums"), "{refusal}");
    }

    #[test]
    fn parts_are_split_by_weight() {
        let parts: Vec<Part> =
            [5, 1, 1, 4, 1].iter().zip(0..).map(|(weight, number)| Part { number, weight: *weight }).collect();
        assert_eq!(split(&parts, 2), [vec![0, 2], vec![1, 3, 4]]);
        assert_eq!(split(&parts, 9).len(), 5);
        assert_eq!(split(&[], 3), [Vec::<u32>::new()]);
        let weightless: Vec<Part> = (0..4).map(|number| Part { number, weight: 0 }).collect();
        assert_eq!(split(&weightless, 2), [vec![0, 2], vec![1, 3]]);
    }
}
