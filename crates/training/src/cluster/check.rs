//! Checks of a cluster's description, the same in workloads and in cluster states.

use super::{AnalyticFacts, JobType, SpeedFormula};
use std::sync::Arc;

/// Most slots of a node, of a request, and tasks of one part of a job.
const MOST_SLOTS: u32 = 1024;
const MOST_TASKS: u32 = 256;

/// What is wrong with the sizes of a cluster, if anything. `limits` are the most workers and parameter servers of a job.
pub(crate) fn check_sizes(nodes: u32, node_slots: [u32; 2], limits: [u32; 2], slot_s: f64) -> Result<(), String> {
    for (name, value, most) in [
        ("nodes", nodes, 10_000),
        ("node_slots of CPU", node_slots[0], MOST_SLOTS),
        ("max_workers", limits[0], MOST_TASKS),
        ("max_servers", limits[1], MOST_TASKS),
    ] {
        if !(1..=most).contains(&value) {
            return Err(format!("{name} must be in 1..={most}, got {value}"));
        }
    }
    if node_slots[1] > MOST_SLOTS {
        return Err(format!("node_slots of GPU must be in 0..={MOST_SLOTS}, got {}", node_slots[1]));
    }
    if !(1e-3..=1e7).contains(&slot_s) {
        return Err(format!("slot_s must be a number in 0.001..=1e7 s, got {slot_s}"));
    }
    Ok(())
}

/// Types that a file brings.
pub(crate) fn own_types(types: Vec<JobType>) -> Result<Arc<[JobType]>, String> {
    if !(1..=255).contains(&types.len()) {
        return Err(format!("`types` must have 1 to 255 entries, got {}", types.len()));
    }
    for (place, own) in types.iter().enumerate() {
        if types[..place].iter().any(|t| t.name == own.name) {
            return Err(format!("type `{}` is given twice", own.name));
        }
        check_type(own).map_err(|problem| format!("type `{}`: {problem}", own.name))?;
    }
    Ok(types.into())
}

fn check_type(own: &JobType) -> Result<(), String> {
    let positive = |name: &str, value: f64| match (1e-12..=1e12).contains(&value) {
        true => Ok(()),
        false => Err(format!("{name} must be a number in 1e-12..=1e12, got {value}")),
    };
    for (name, request) in [("worker", own.worker), ("server", own.server)] {
        if request.iter().any(|slots| *slots > MOST_SLOTS) {
            return Err(format!("{name} must ask for at most {MOST_SLOTS} slots of CPU and GPU, got {request:?}"));
        }
    }
    if let Some(SpeedFormula { batch, coefficients }) = own.formula {
        match ["a", "b", "c", "d", "e"].iter().zip(coefficients).find(|(_, v)| !(0.0..=1e12).contains(v)) {
            Some((name, value)) => return Err(format!("formula.{name} must be a number in 0..=1e12 s, got {value}")),
            None => positive("the sum of formula.a to formula.e", coefficients.iter().sum())?,
        }
        positive("formula.batch", batch)?;
    }
    if let Some(AnalyticFacts { compute_s, model_mb, inter_mb_s, intra_mb_s }) = own.analytic {
        positive("analytic.compute_s", compute_s)?;
        positive("analytic.model_mb", model_mb)?;
        positive("analytic.inter_mb_s", inter_mb_s)?;
        positive("analytic.intra_mb_s", intra_mb_s)?;
    }
    positive("epoch_size", own.epoch_size)
}
