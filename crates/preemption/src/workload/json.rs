//! A fixed list of jobs and their cluster in a JSON file, read and written; `docs/preemption.md` describes the format.

use super::{JOB_EVENTS, PreemptionJob, PreemptionWorkload, WINDOW_JOBS, log};
use crate::{Cluster, NewJob};
use sched_distill_core::{
    spec::Spec,
    workload::{Cut, Ran, WorkloadError, cannot_be_written, most_jobs, read_jobs, read_json, write_list},
};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
};

/// What makes an episode less.
const LESS: &str = "ask for a shorter `window`";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWorkload {
    cluster: Cluster,
    #[serde(deserialize_with = "most_jobs")]
    jobs: Vec<RawJob>,
}

fn one() -> f64 {
    1.0
}

fn is_one(number: &f64) -> bool {
    *number == 1.0
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJob {
    model: String,
    arrival_ms: f64,
    gpus: u32,
    samples: f64,
    batch: u32,
    epochs: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared_epochs: Option<f64>,
    epoch_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counter_ms: Option<f64>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    bias: f64,
    data_gb: f64,
    checkpoint_gb: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ran: Option<[Option<f64>; 2]>,
}

/// Opens `json:FILE`.
pub(super) fn open(spec: &Spec) -> Result<PreemptionWorkload, WorkloadError> {
    let path = spec.require_file("a workload as described in docs/preemption.md")?;
    let mut args = spec.args();
    let cut = Cut::from_args(&mut args)?;
    args.finish()?;
    load(path, &cut)?.checked(spec, LESS)
}

fn load(path: &Path, cut: &Cut) -> Result<PreemptionWorkload, WorkloadError> {
    let raw: RawWorkload = read_json(path, "docs/preemption.md")?;
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    let cluster = raw.cluster;
    cluster.check().map_err(|problem| format(format!("cluster: {problem}")))?;
    if raw.jobs.is_empty() {
        return Err(format("`jobs` has 0 jobs; at least one is needed".to_owned()));
    }
    let read = |raw: &RawJob, above: Option<&PreemptionJob>| read(raw, &cluster, arrival_ms(above));
    let jobs = read_jobs(path, cut, &raw.jobs, read, |job, above| {
        let alone_ms = cluster.alone_ms(job);
        let events = JOB_EVENTS + cluster.events_in(alone_ms, job.arrival_ms - arrival_ms(above) + alone_ms);
        (events, format!("checks and failures in {alone_ms:e} ms of starting, loading, computing and saving alone"))
    })?;
    let history = log::history(jobs, &cluster, cut, WINDOW_JOBS).map_err(format)?;
    Ok(history.on(Arc::new(cluster), vec![path.to_owned()]))
}

/// When the job above one arrives; 0 above the first.
fn arrival_ms(above: Option<&PreemptionJob>) -> f64 {
    above.map_or(0.0, |job| job.arrival_ms)
}

fn read(raw: &RawJob, cluster: &Cluster, earliest_ms: f64) -> Result<PreemptionJob, String> {
    let Some(model) = cluster.models.iter().position(|model| model.name == raw.model) else {
        let known: Vec<&str> = cluster.models.iter().take(8).map(|model| &*model.name).collect();
        return Err(format!("unknown model `{}`; there are {}", raw.model, known.join(", ")));
    };
    let positive = [("epoch_ms", raw.epoch_ms), ("counter_ms", raw.counter_ms.unwrap_or(1.0)), ("bias", raw.bias)];
    for (name, value) in positive {
        if !(value > 0.0 && value <= 1e12) {
            return Err(format!("{name} must be a positive number up to 1e12, got {value}"));
        }
    }
    let mut job = PreemptionJob {
        // There are at most 1000 models.
        model: model as u16,
        arrival_ms: raw.arrival_ms,
        gpus: raw.gpus,
        samples: raw.samples,
        batch: raw.batch,
        epochs: raw.epochs,
        declared_epochs: raw.declared_epochs.unwrap_or(raw.epochs),
        epoch_ms: raw.epoch_ms,
        counter_ms: raw.counter_ms,
        bias: raw.bias,
        data_gb: raw.data_gb,
        checkpoint_gb: raw.checkpoint_gb,
        recorded: None,
    };
    let real = NewJob { epochs: raw.epochs, ..job.declared() };
    for said in [job.declared(), real] {
        said.check(cluster).map_err(|e| format!("{} {}", e.field, e.problem))?;
    }
    if raw.epochs.fract() != 0.0 {
        return Err(format!("epochs must be a whole number, got {}", raw.epochs));
    }
    if raw.arrival_ms < earliest_ms {
        return Err(format!("arrival_ms {} is before the job above it, {earliest_ms}", raw.arrival_ms));
    }
    // The arrival is known to be a time by now.
    job.recorded = raw.ran.map(|ran| Ran::read(ran, raw.arrival_ms)).transpose()?;
    Ok(job)
}

impl RawJob {
    fn of(job: &PreemptionJob, cluster: &Cluster) -> Self {
        Self {
            model: cluster.models[job.model as usize].name.to_string(),
            arrival_ms: job.arrival_ms,
            gpus: job.gpus,
            samples: job.samples,
            batch: job.batch,
            epochs: job.epochs,
            declared_epochs: (job.declared_epochs != job.epochs).then_some(job.declared_epochs),
            epoch_ms: job.epoch_ms,
            counter_ms: job.counter_ms,
            bias: job.bias,
            data_gb: job.data_gb,
            checkpoint_gb: job.checkpoint_gb,
            ran: job.recorded.map(|ran| ran.written(job.arrival_ms)),
        }
    }
}

/// Writes a workload file, job by job.
///
/// # Errors
///
/// What cannot be written, and numbers that are not allowed in such a file.
pub fn write(cluster: &Arc<Cluster>, jobs: &[PreemptionJob], out: &mut dyn Write) -> io::Result<()> {
    cluster.check().map_err(|problem| cannot_be_written(format!("cluster: {problem}")))?;
    out.write_all(b"{\"cluster\": ")?;
    serde_json::to_writer(&mut *out, &**cluster)?;
    out.write_all(b",\n \"jobs\": ")?;
    write_list(jobs, out, |job, above| {
        let raw = RawJob::of(job, cluster);
        read(&raw, cluster, arrival_ms(above))?;
        Ok(raw)
    })?;
    out.write_all(b"}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = r#"{"model": "m", "arrival_ms": 5, "gpus": 2, "samples": 4e4, "batch": 64, "epochs": 7, "epoch_ms": 5e4,
        "data_gb": 20, "checkpoint_gb": 7}"#;

    fn read(jobs: &str) -> Result<PreemptionWorkload, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.json");
        let text = format!(
            r#"{{"cluster": {{"nodes": 1, "node_gpus": 8, "storage_gbps": 2, "link_gbps": 1, "cache_gb": 100, "check_ms": 6e4, "observe": 2,
            "models": [{{"name": "m", "container_ms": 9000, "warm_ms": 3000}}]}}, "jobs": [{jobs}]}}"#
        );
        std::fs::write(&path, text).unwrap();
        load(&path, &Cut::WHOLE).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_left_out_is_as_declared() {
        let [job] = read(JOB).unwrap().jobs(1)[..] else { panic!("one job") };
        assert_eq!((job.declared_epochs, job.counter_ms, job.bias), (7.0, None, 1.0));
    }

    #[test]
    fn mistakes_name_the_job() {
        for (from, to, expected) in [
            ("\"m\"", "\"n\"", "job 0: unknown model `n`; there are m"),
            ("\"epochs\": 7", "\"epochs\": 0", "job 0: epochs must be a positive number up to 1e9, got 0"),
            (
                "\"gpus\": 2",
                "\"gpus\": 9",
                "job 0: gpus must be a whole number in 1..=8, the GPUs of the cluster, got 9",
            ),
            ("5e4", "-1", "job 0: epoch_ms must be a positive number"),
            ("\"batch\"", "\"colour\"", "unknown field `colour`"),
            ("\"data_gb\": 20", "\"data_gb\": -1", "job 0: data_gb must be a number in 0..=1e15"),
        ] {
            let message = read(&JOB.replace(from, to)).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        assert!(read("").unwrap_err().contains("`jobs` has 0 jobs"));
        let later = JOB.replace("\"arrival_ms\": 5", "\"arrival_ms\": 6");
        assert!(
            read(&format!("{later}, {JOB}")).unwrap_err().contains("job 1: arrival_ms 5 is before the job above it, 6")
        );
    }
}
