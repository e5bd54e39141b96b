//! Parts of a cluster's description in JSON, the same in workloads and in cluster states.

use super::{AnalyticFacts, JobType, SpeedFormula};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, sync::Arc};

/// Most slots of a node, of a request, and tasks of one part of a job.
const MOST_SLOTS: u32 = 1024;
const MOST_TASKS: u32 = 256;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawType {
    name: String,
    epoch_size: f64,
    worker: [u32; 2],
    server: [u32; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    formula: Option<RawFormula>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    analytic: Option<RawAnalytic>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFormula {
    batch: f64,
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    e: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAnalytic {
    compute_s: f64,
    model_mb: f64,
    inter_mb_s: f64,
    intra_mb_s: f64,
}

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
pub(crate) fn own_types(types: Vec<RawType>) -> Result<Arc<[JobType]>, String> {
    if !(1..=255).contains(&types.len()) {
        return Err(format!("`types` must have 1 to 255 entries, got {}", types.len()));
    }
    let mut read: Vec<JobType> = Vec::with_capacity(types.len());
    for raw in types {
        let name = raw.name.clone();
        if read.iter().any(|t| t.name == name) {
            return Err(format!("type `{name}` is given twice"));
        }
        read.push(own_type(raw).map_err(|problem| format!("type `{name}`: {problem}"))?);
    }
    Ok(read.into())
}

fn own_type(raw: RawType) -> Result<JobType, String> {
    let positive = |name: &str, value: f64| match (1e-12..=1e12).contains(&value) {
        true => Ok(value),
        false => Err(format!("{name} must be a number in 1e-12..=1e12, got {value}")),
    };
    for (name, request) in [("worker", raw.worker), ("server", raw.server)] {
        if request.iter().any(|slots| *slots > MOST_SLOTS) {
            return Err(format!("{name} must ask for at most {MOST_SLOTS} slots of CPU and GPU, got {request:?}"));
        }
    }
    let formula = raw.formula.map(|f| {
        let coefficients = [f.a, f.b, f.c, f.d, f.e];
        match ["a", "b", "c", "d", "e"].iter().zip(coefficients).find(|(_, v)| !(0.0..=1e12).contains(v)) {
            Some((name, value)) => Err(format!("formula.{name} must be a number in 0..=1e12 s, got {value}")),
            None => {
                positive("the sum of formula.a to formula.e", coefficients.iter().sum())?;
                Ok(SpeedFormula { batch: positive("formula.batch", f.batch)?, coefficients })
            }
        }
    });
    let analytic = raw.analytic.map(|f| {
        Ok::<_, String>(AnalyticFacts {
            compute_s: positive("analytic.compute_s", f.compute_s)?,
            model_mb: positive("analytic.model_mb", f.model_mb)?,
            inter_mb_s: positive("analytic.inter_mb_s", f.inter_mb_s)?,
            intra_mb_s: positive("analytic.intra_mb_s", f.intra_mb_s)?,
        })
    });
    Ok(JobType {
        name: Cow::Owned(raw.name),
        epoch_size: positive("epoch_size", raw.epoch_size)?,
        epoch_share: 1.0,
        worker: raw.worker,
        server: raw.server,
        formula: formula.transpose()?,
        analytic: analytic.transpose()?,
    })
}

impl From<&JobType> for RawType {
    fn from(job_type: &JobType) -> Self {
        let formula = job_type.formula.map(|SpeedFormula { batch, coefficients: [a, b, c, d, e] }| RawFormula {
            batch,
            a,
            b,
            c,
            d,
            e,
        });
        let analytic = job_type.analytic.map(|AnalyticFacts { compute_s, model_mb, inter_mb_s, intra_mb_s }| {
            RawAnalytic { compute_s, model_mb, inter_mb_s, intra_mb_s }
        });
        Self {
            name: job_type.name.to_string(),
            epoch_size: job_type.epoch_size,
            worker: job_type.worker,
            server: job_type.server,
            formula,
            analytic,
        }
    }
}
