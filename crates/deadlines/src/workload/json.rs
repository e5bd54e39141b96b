//! A fixed list of jobs and their cluster in a JSON file, read and written; `docs/deadlines.md` describes the format.

use super::{DeadlineJob, DeadlineWorkload, WINDOW_JOBS, log};
use crate::{
    Cluster, Law, Model,
    cluster::MOST_CORES,
    prediction::{Estimate, Measurement},
};
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
    nodes: u32,
    node_cores: u32,
    check_ms: f64,
    restart_ms: f64,
    #[serde(default = "window")]
    window: u32,
    #[serde(default)]
    noise: f64,
    #[serde(default)]
    may_refuse: bool,
    models: Vec<RawModel>,
    #[serde(deserialize_with = "most_jobs")]
    jobs: Vec<RawJob>,
}

fn window() -> u32 {
    20
}

fn one() -> f64 {
    1.0
}

fn is_one(number: &f64) -> bool {
    *number == 1.0
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModel {
    name: String,
    /// What is known of it: earlier jobs' measurements, or what they come to.
    #[serde(default)]
    earlier_jobs: Vec<Vec<Measurement>>,
    earlier: Option<Estimate>,
    #[serde(default)]
    cores_used: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJob {
    model: String,
    arrival_ms: f64,
    deadline_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared_deadline_ms: Option<f64>,
    iterations: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared_iterations: Option<f64>,
    requested: u32,
    threads: u32,
    largest: u32,
    law: Law,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    bias: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ran: Option<[Option<f64>; 2]>,
}

/// Opens `json:FILE`.
pub(super) fn open(spec: &Spec) -> Result<DeadlineWorkload, WorkloadError> {
    let path = spec.require_file("a workload as described in docs/deadlines.md")?;
    let mut args = spec.args();
    let cut = Cut::from_args(&mut args)?;
    args.finish()?;
    load(path, &cut)?.checked(spec, LESS)
}

fn load(path: &Path, cut: &Cut) -> Result<DeadlineWorkload, WorkloadError> {
    let raw: RawWorkload = read_json(path, "docs/deadlines.md")?;
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    for model in &raw.models {
        check_earlier(model).map_err(|problem| format(format!("model `{}`: {problem}", model.name)))?;
    }
    let model = |m: RawModel| {
        let earlier = m.earlier.unwrap_or_else(|| Estimate::from_jobs(&m.earlier_jobs, raw.noise));
        Model { name: m.name.into(), earlier, cores_used: m.cores_used }
    };
    let cluster = Cluster {
        nodes: raw.nodes,
        node_cores: raw.node_cores,
        check_ms: raw.check_ms,
        restart_ms: raw.restart_ms,
        window: raw.window,
        noise: raw.noise,
        may_refuse: raw.may_refuse,
        models: raw.models.into_iter().map(model).collect(),
    };
    cluster.check().map_err(format)?;
    if raw.jobs.is_empty() {
        return Err(format("`jobs` is empty; at least one job is needed".to_owned()));
    }
    let read = |raw: &RawJob, above: Option<&DeadlineJob>| read_job(raw, &cluster, arrival_ms(above));
    let jobs = read_jobs(path, cut, &raw.jobs, read, |job, _| {
        (cluster.events_of(job), "checks and measurements in its time on one core or on its most".to_owned())
    })?;
    let history = log::history(jobs, &cluster, cut, WINDOW_JOBS).map_err(format)?;
    Ok(history.on(Arc::new(cluster), vec![path.to_owned()]))
}

/// When the job above one arrives; 0 above the first.
fn arrival_ms(above: Option<&DeadlineJob>) -> f64 {
    above.map_or(0.0, |job| job.arrival_ms)
}

fn check_earlier(model: &RawModel) -> Result<(), String> {
    if model.earlier.is_some() && !model.earlier_jobs.is_empty() {
        return Err("has both `earlier` and `earlier_jobs`; one of them says what is known".to_owned());
    }
    let wrong =
        |(cores, time_ms): &&Measurement| !((1..=MOST_CORES).contains(cores) && *time_ms > 0.0 && *time_ms <= 1e12);
    match model.earlier_jobs.iter().flatten().find(wrong) {
        Some((cores, time_ms)) => Err(format!(
            "`earlier_jobs` has {time_ms} ms on {cores} cores; times are positive numbers up to 1e12, cores whole numbers in 1..={MOST_CORES}"
        )),
        None => Ok(()),
    }
}

fn read_job(raw: &RawJob, cluster: &Cluster, earliest: f64) -> Result<DeadlineJob, String> {
    let Some(model) = cluster.models.iter().position(|m| m.name == raw.model) else {
        let known: Vec<&str> = cluster.models.iter().map(|m| &*m.name).collect();
        return Err(format!("unknown model `{}`; there are {}", raw.model, known.join(", ")));
    };
    raw.law.check()?;
    if raw.arrival_ms < earliest {
        return Err(format!("arrival_ms {} is before the job above it, {earliest}", raw.arrival_ms));
    }
    if !(1e-3..=1e3).contains(&raw.bias) {
        return Err(format!("bias must be in 1e-3..=1e3, got {}", raw.bias));
    }
    let mut job = DeadlineJob {
        model: model as u16,
        arrival_ms: raw.arrival_ms,
        deadline_ms: raw.deadline_ms,
        declared_deadline_ms: raw.declared_deadline_ms.unwrap_or(raw.deadline_ms),
        iterations: raw.iterations,
        declared_iterations: raw.declared_iterations.unwrap_or(raw.iterations),
        requested: raw.requested,
        threads: raw.threads,
        largest: raw.largest,
        law: raw.law,
        bias: raw.bias,
        recorded: None,
    };
    let real = crate::state::NewJob { deadline_ms: raw.deadline_ms, iterations: raw.iterations, ..job.declared() };
    for said in [job.declared(), real] {
        said.check(cluster.node_cores).map_err(|e| format!("{} {}", e.field, e.problem))?;
    }
    // The arrival is known to be a time by now.
    job.recorded = raw.ran.map(|ran| Ran::read(ran, raw.arrival_ms)).transpose()?;
    Ok(job)
}

impl RawJob {
    fn of(job: &DeadlineJob, cluster: &Cluster) -> Self {
        let other = |declared: f64, real: f64| (declared != real).then_some(declared);
        Self {
            model: cluster.models[job.model as usize].name.to_string(),
            arrival_ms: job.arrival_ms,
            deadline_ms: job.deadline_ms,
            declared_deadline_ms: other(job.declared_deadline_ms, job.deadline_ms),
            iterations: job.iterations,
            declared_iterations: other(job.declared_iterations, job.iterations),
            requested: job.requested,
            threads: job.threads,
            largest: job.largest,
            law: job.law,
            bias: job.bias,
            ran: job.recorded.map(|ran| ran.written(job.arrival_ms)),
        }
    }
}

/// Writes a workload file, job by job.
///
/// # Errors
///
/// What cannot be written, and numbers that are not allowed in such a file.
pub fn write(cluster: &Arc<Cluster>, jobs: &[DeadlineJob], out: &mut dyn Write) -> io::Result<()> {
    cluster.check().map_err(cannot_be_written)?;
    let Cluster { nodes, node_cores, check_ms, restart_ms, window, noise, may_refuse, models } = &**cluster;
    write!(out, "{{\"nodes\": {nodes}, \"node_cores\": {node_cores}, \"check_ms\": {check_ms}, ")?;
    write!(out, "\"restart_ms\": {restart_ms}, \"window\": {window}, \"noise\": {noise}, ")?;
    write!(out, "\"may_refuse\": {may_refuse},\n \"models\": ")?;
    serde_json::to_writer(&mut *out, models)?;
    out.write_all(b",\n \"jobs\": ")?;
    write_list(jobs, out, |job, above| {
        let raw = RawJob::of(job, cluster);
        read_job(&raw, cluster, arrival_ms(above))?;
        Ok(raw)
    })?;
    out.write_all(b"}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = r#"{"model": "m", "arrival_ms": 5, "deadline_ms": 9e4, "iterations": 30, "requested": 4, "threads": 2, "largest": 8,
        "law": {"serial_ms": 10, "parallel_ms": 900}}"#;

    fn read(jobs: &str) -> Result<DeadlineWorkload, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.json");
        let text = format!(
            r#"{{"nodes": 1, "node_cores": 8, "check_ms": 6e4, "restart_ms": 1e4, "models": [{{"name": "m", "earlier_jobs": [[[1, 950], [4, 240]]]}}], "jobs": [{jobs}]}}"#
        );
        std::fs::write(&path, text).unwrap();
        load(&path, &Cut::WHOLE).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_left_out_is_as_declared() {
        let workload = read(JOB).unwrap();
        let [job] = workload.jobs(1)[..] else { panic!("one job") };
        assert_eq!((job.declared_deadline_ms, job.declared_iterations, job.bias), (9e4, 30.0, 1.0));
        assert!((workload.cluster().models[0].earlier.time_ms(4) / 240.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn mistakes_name_the_job() {
        for (from, to, expected) in [
            ("\"m\"", "\"n\"", "job 0: unknown model `n`; there are m"),
            ("\"iterations\": 30", "\"iterations\": 0", "job 0: iterations must be a positive number"),
            ("\"requested\": 4", "\"requested\": 9", "job 0: requested must be a whole number in 1..=8, got 9"),
            ("\"serial_ms\": 10", "\"serial_ms\": -1", "job 0: times of an iteration must be numbers"),
            ("\"largest\"", "\"colour\"", "unknown field `colour`"),
            ("9e4", "4", "job 0: deadline_ms must be after the arrival, 5, got 4"),
            ("\"iterations\": 30", "\"iterations\": 1e12", "job 0: needs 30333"),
        ] {
            let message = read(&JOB.replace(from, to)).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        assert!(read("").unwrap_err().contains("`jobs` is empty"));
        let later = JOB.replace("\"arrival_ms\": 5", "\"arrival_ms\": 6");
        assert!(
            read(&format!("{later}, {JOB}")).unwrap_err().contains("job 1: arrival_ms 5 is before the job above it, 6")
        );
    }
}
