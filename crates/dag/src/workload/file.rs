//! The form of a workload file, read and written: `docs/workload-format.md`.

use super::{Cluster, DurationTable, JobArrival, JobTemplate, Recorded, StageTemplate, Waves, duration::LEVELS};
use crate::graph::{JobError, TIMES_MS};
use sched_distill_core::workload::{most_jobs, write_list};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Write},
    sync::Arc,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorkload {
    pub(super) num_executors: Option<u32>,
    pub(super) moving_delay_ms: Option<f64>,
    pub(super) submit_ms: Option<f64>,
    pub(super) warmup_ms: Option<f64>,
    #[serde(deserialize_with = "most_jobs")]
    pub(super) jobs: Vec<RawJob>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJob {
    name: Option<String>,
    arrival_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completed_ms: Option<f64>,
    #[serde(default)]
    edges: Vec<[u32; 2]>,
    stages: Vec<RawStage>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStage {
    num_tasks: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    rough_ms: Option<f64>,
    durations: RawDurations,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<[f64; 2]>>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "durations must be a number, a list of numbers, or {fresh, first, rest} of either")]
enum RawDurations {
    Same(OneOrMany),
    Waves(RawWaves),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWaves {
    #[serde(skip_serializing_if = "Option::is_none")]
    fresh: Option<OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<OneOrMany>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(f64),
    Many(Vec<f64>),
}

impl OneOrMany {
    fn into_vec(self) -> Vec<f64> {
        match self {
            OneOrMany::One(value) => vec![value],
            OneOrMany::Many(values) => values,
        }
    }
}

impl RawJob {
    /// The job, which stands at this place in its file.
    pub(super) fn read(self, place: usize, warmup_ms: f64) -> Result<JobArrival, JobError> {
        let bad = |problem: String| JobError { stage: None, problem };
        let arrival_ms = self.arrival_ms;
        if !TIMES_MS.contains(&arrival_ms) {
            return Err(bad(format!("arrival_ms must be a number in 0..=1e15 ms, got {arrival_ms}")));
        }
        if let Some(completed_ms) = self.completed_ms.filter(|at_ms| !(arrival_ms..=1e15).contains(at_ms)) {
            return Err(bad(format!("completed_ms must be a number in {arrival_ms}..=1e15 ms, got {completed_ms}")));
        }
        let (mut stages, mut runs) = (Vec::with_capacity(self.stages.len()), Vec::new());
        for (i, mut stage) in self.stages.into_iter().enumerate() {
            if let Some(found) = stage.runs.take() {
                if runs.len() < i {
                    return Err(JobError::stage(
                        i,
                        "has `runs`, and a stage before it has none; give them of all or of none",
                    ));
                }
                runs.push(
                    read_runs(found, stage.num_tasks, arrival_ms).map_err(|problem| JobError::stage(i, problem))?,
                );
            }
            stages.push(stage.read(warmup_ms).map_err(|problem| JobError::stage(i, problem))?);
        }
        if !runs.is_empty() && runs.len() < stages.len() {
            return Err(JobError::stage(
                runs.len(),
                "has no `runs`, and a stage before it has; give them of all or of none",
            ));
        }
        let template = JobTemplate::new(self.name.unwrap_or_else(|| format!("job-{place}")), stages, &self.edges)?;
        let template = match runs.is_empty() {
            true => template,
            false => template.with_record(Recorded {
                completed_ms: self.completed_ms.map(|ms| ms - arrival_ms),
                runs: runs.into_iter().collect(),
            }),
        };
        Ok(JobArrival { arrival_ms, template: Arc::new(template) })
    }

    /// A job as it is written; `None` if what its tasks take depends on how many executors it has.
    fn of(job: &JobArrival) -> Option<Self> {
        let recorded = job.template.recorded();
        let stage = |(i, stage): (usize, StageTemplate)| {
            Some(RawStage {
                num_tasks: stage.num_tasks,
                rough_ms: (stage.rough_ms != stage.durations.mean()).then_some(stage.rough_ms),
                durations: RawDurations::of(&stage.durations)?,
                runs: recorded.map(|r| r.runs.of_stage(i).map(|run| run.map(|at_ms| job.arrival_ms + at_ms)).collect()),
            })
        };
        Some(Self {
            name: Some(job.template.graph().name().to_owned()),
            arrival_ms: job.arrival_ms,
            completed_ms: recorded.and_then(|recorded| recorded.completed_ms).map(|at_ms| job.arrival_ms + at_ms),
            edges: job.template.graph().edges().collect(),
            stages: job.template.stages().into_iter().enumerate().map(stage).collect::<Option<_>>()?,
        })
    }
}

/// When the tasks of a stage ran, relative to the arrival of their job.
fn read_runs(runs: Vec<[f64; 2]>, num_tasks: u32, arrival_ms: f64) -> Result<Vec<[f64; 2]>, String> {
    if runs.len() != num_tasks as usize {
        return Err(format!("has {} `runs` for {num_tasks} tasks; one each is needed", runs.len()));
    }
    let wrong = |&&[from_ms, to_ms]: &&[f64; 2]| !TIMES_MS.contains(&from_ms) || !(from_ms..=1e15).contains(&to_ms);
    match runs.iter().find(wrong) {
        Some(run) => Err(format!("`runs` must be pairs of start and end in 0..=1e15 ms, got {run:?}")),
        None => Ok(runs.into_iter().map(|run| run.map(|at_ms| at_ms - arrival_ms)).collect()),
    }
}

impl RawStage {
    fn read(self, warmup_ms: f64) -> Result<StageTemplate, String> {
        let checked = |wave: &str, list: OneOrMany| {
            let list = list.into_vec();
            match list.is_empty() {
                true => Err(format!("has no durations in `{wave}`; at least one number is needed")),
                false => Ok(list),
            }
        };
        let durations = match self.durations {
            RawDurations::Same(list) => DurationTable::uniform(checked("durations", list)?, warmup_ms),
            RawDurations::Waves(waves) => {
                let list = |wave, list: Option<OneOrMany>| list.map_or(Ok(Vec::new()), |list| checked(wave, list));
                let waves = Waves {
                    fresh: list("fresh", waves.fresh)?,
                    first: list("first", waves.first)?,
                    rest: list("rest", waves.rest)?,
                };
                DurationTable::new(vec![(LEVELS[0], waves)], warmup_ms)
            }
        };
        let durations = durations.ok_or("has no durations; at least one number is needed")?;
        let rough_ms = self.rough_ms.unwrap_or_else(|| durations.mean());
        Ok(StageTemplate { num_tasks: self.num_tasks, rough_ms, durations })
    }
}

impl RawDurations {
    fn of(table: &DurationTable) -> Option<Self> {
        let Waves { fresh, first, rest } = table.waves()?;
        let list = |list: Vec<f64>| match list[..] {
            [] => None,
            [one] => Some(OneOrMany::One(one)),
            _ => Some(OneOrMany::Many(list)),
        };
        Some(Self::Waves(RawWaves { fresh: list(fresh), first: list(first), rest: list(rest) }))
    }
}

/// Writes a workload file, job by job.
///
/// # Errors
///
/// What cannot be written, and jobs whose tasks take the longer the more executors there are.
pub fn write(cluster: &Cluster, jobs: &[JobArrival], out: &mut dyn Write) -> io::Result<()> {
    let Cluster { num_executors, moving_delay_ms, submit_ms, .. } = cluster;
    write!(out, "{{\"num_executors\": {num_executors}, \"moving_delay_ms\": {moving_delay_ms},")?;
    if *submit_ms > 0.0 {
        write!(out, " \"submit_ms\": {submit_ms},")?;
    }
    out.write_all(b" \"jobs\": ")?;
    let problem = "what its tasks take depends on how many executors it has, which a workload file cannot say";
    write_list(jobs, out, |job, _| RawJob::of(job).ok_or_else(|| problem.to_owned()))?;
    out.write_all(b"}\n")
}
