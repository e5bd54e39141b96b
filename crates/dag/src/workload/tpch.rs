//! TPC-H queries with task durations measured on Spark (the profiles published with Decima, SIGCOMM 2019).

use super::{
    Arrivals, DagWorkload, Drawn, DurationTable, JobTemplate, LESS, StageTemplate, Waves, history::Believed, job::Pairs,
};
use crate::graph::JobError;
use sched_distill_core::{
    spec::Spec,
    workload::{WorkloadError, read_text},
};
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path, sync::Arc};

/// Input sizes of the profiles, in file order.
pub const SIZES: [&str; 7] = ["2g", "5g", "10g", "20g", "50g", "80g", "100g"];

type Measured = Vec<(u32, Vec<f64>)>;

#[derive(Deserialize)]
struct RawProfiles {
    format: String,
    jobs: Vec<RawJob>,
}

#[derive(Deserialize)]
struct RawJob {
    query: u32,
    size: String,
    edges: Vec<[u32; 2]>,
    stages: Vec<RawStage>,
}

#[derive(Deserialize)]
struct RawStage {
    num_tasks: u32,
    first_wave: Measured,
    rest_wave: Measured,
    fresh_durations: Measured,
}

/// The cleaned profiles of all queries and sizes.
#[derive(Clone, Debug)]
pub struct TpchProfiles {
    jobs: Vec<Arc<JobTemplate>>,
}

impl TpchProfiles {
    /// Reads and cleans `tpch_profiles.json.gz` (plain JSON is accepted too). `warmup_ms` as in [`DurationTable::new`].
    ///
    /// # Errors
    ///
    /// An unreadable or truncated file, another format, or a query that makes no sense.
    pub fn load(path: &Path, warmup_ms: f64) -> Result<Self, WorkloadError> {
        let text = read_text(path)?;
        let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
        let raw: RawProfiles =
            serde_json::from_str(&text).map_err(|e| format(format!("not a file of TPC-H profiles: {e}")))?;
        if raw.format != "tpch-stage-profiles-v1" {
            return Err(format(format!("format is `{}`, expected `tpch-stage-profiles-v1`", raw.format)));
        }
        let (mut jobs, mut pairs) = (Vec::with_capacity(raw.jobs.len()), Pairs::default());
        for (position, job) in raw.jobs.iter().enumerate() {
            let (query, size) = (1 + position / SIZES.len(), SIZES[position % SIZES.len()]);
            if (job.query as usize, job.size.as_str()) != (query, size) {
                let found = format!("entry {position} is query {} at {}", job.query, job.size);
                return Err(format(format!("{found}, expected query {query} at {size} (ordered by query, then size)")));
            }
            let bad = |stage, problem| WorkloadError::Job { path: path.to_owned(), job: position, stage, problem };
            let refused = |error: JobError| bad(error.stage, error.problem);
            let mut stages = Vec::with_capacity(job.stages.len());
            for (i, stage) in job.stages.iter().enumerate() {
                let stage = clean(stage, warmup_ms).ok_or_else(|| bad(Some(i), "has no durations".to_owned()))?;
                stages.push(stage);
            }
            let template = JobTemplate::new(format!("q{query}-{size}"), stages, &job.edges)
                .and_then(|template| pairs.add(&template).map(|()| template));
            jobs.push(Arc::new(template.map_err(refused)?));
        }
        if jobs.is_empty() {
            return Err(format("holds no jobs".to_owned()));
        }
        Ok(Self { jobs })
    }

    /// The job of a query (1..=22) at a size (`2g` .. `100g`).
    #[must_use]
    pub fn job(&self, query: u32, size: &str) -> Option<&Arc<JobTemplate>> {
        let size = SIZES.iter().position(|&s| s == size)?;
        self.jobs.get((query.checked_sub(1)? as usize) * SIZES.len() + size)
    }

    /// All jobs, ordered by query, then size.
    #[must_use]
    pub fn jobs(&self) -> &[Arc<JobTemplate>] {
        &self.jobs
    }
}

/// Removes from each first wave the durations that were measured on fresh executors, fills emptied lists from the next
/// smaller parallelism, and derives the rough duration: the mean over everything that is then there.
fn clean(stage: &RawStage, warmup_ms: f64) -> Option<StageTemplate> {
    let by_key = |list: &Measured| list.iter().cloned().collect::<BTreeMap<u32, Vec<f64>>>();
    let (mut first, mut rest, mut fresh) =
        (by_key(&stage.first_wave), by_key(&stage.rest_wave), by_key(&stage.fresh_durations));
    let mut previous: Vec<f64> = Vec::new();
    for (key, list) in &mut first {
        for value in fresh.get(key).into_iter().flatten() {
            if let Some(i) = list.iter().position(|v| v == value) {
                list.remove(i);
            }
        }
        if list.is_empty() {
            list.clone_from(&previous);
        }
        previous.clone_from(list);
    }
    let (mut sum, mut count) = (0.0, 0usize);
    for list in fresh.values().chain(first.values()).chain(rest.values()) {
        sum += list.iter().sum::<f64>();
        count += list.len();
    }
    let measured = first.into_iter().map(|(key, first)| {
        let take = |map: &mut BTreeMap<u32, Vec<f64>>| map.remove(&key).unwrap_or_default();
        (key, Waves { fresh: take(&mut fresh), first, rest: take(&mut rest) })
    });
    let durations = DurationTable::new(measured.collect(), warmup_ms)?;
    Some(StageTemplate { num_tasks: stage.num_tasks, rough_ms: sum / count as f64, durations })
}

/// Opens `tpch:FILE`: queries and sizes are uniform, independently.
pub(super) fn open(spec: &Spec) -> Result<DagWorkload, WorkloadError> {
    let path = spec.require_file("tpch_profiles.json.gz")?;
    let mut args = spec.args();
    let (arrivals, believed) = (Arrivals::from_args(&mut args)?, Believed::from_args(&mut args)?);
    args.finish()?;
    let source = Drawn::new(TpchProfiles::load(path, arrivals.warmup_ms)?.jobs, arrivals, "queries");
    let workload = DagWorkload::new(source.cluster(), source, vec![path.to_owned()]);
    Ok(believed.of(workload.checked(spec, LESS)?))
}
