//! A fixed list of jobs from a JSON file; the format is described in `docs/workload-format.md`.

use super::{
    Cluster, DagWorkload, HISTORY_LESS, JobArrival, WINDOW_JOBS, file::RawWorkload, history::Believed, job::Pairs,
};
use crate::graph::{JobError, TIMES_MS};
use sched_distill_core::{
    simulation::{Costs, History},
    spec::Spec,
    workload::{Cut, Needed, WorkloadError, read_json},
};
use std::path::Path;

/// Opens `json:FILE`.
pub(super) fn open(spec: &Spec) -> Result<DagWorkload, WorkloadError> {
    let path = spec.require_file("a workload as described in docs/workload-format.md")?;
    let mut args = spec.args();
    let executors = args.optional_count("executors", 1..=100_000)?;
    let cut = Cut::from_args(&mut args)?;
    let believed = Believed::from_args(&mut args)?;
    args.finish()?;
    Ok(believed.of(load(path, executors, &cut)?.checked(spec, HISTORY_LESS)?))
}

/// Reads a workload file. `num_executors` replaces the file's number.
fn load(path: &Path, num_executors: Option<u32>, cut: &Cut) -> Result<DagWorkload, WorkloadError> {
    let raw: RawWorkload = read_json(path, "docs/workload-format.md")?;
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    let num_executors = num_executors.or(raw.num_executors).unwrap_or(10);
    let cluster = Cluster {
        submit_ms: raw.submit_ms.unwrap_or(0.0),
        ..Cluster::new(num_executors, raw.moving_delay_ms.unwrap_or(2000.0))
    };
    let warmup_ms = raw.warmup_ms.unwrap_or(0.0);
    if !(1..=100_000).contains(&cluster.num_executors) {
        return Err(format(format!("num_executors must be in 1..=100000, got {}", cluster.num_executors)));
    }
    let times =
        [("moving_delay_ms", cluster.moving_delay_ms), ("submit_ms", cluster.submit_ms), ("warmup_ms", warmup_ms)];
    for (name, value) in times {
        if !TIMES_MS.contains(&value) {
            return Err(format(format!("{name} must be a number in 0..=1e15 ms, got {value}")));
        }
    }
    if raw.jobs.is_empty() {
        return Err(format("`jobs` is empty; at least one job is needed".to_owned()));
    }
    let (mut jobs, mut pairs) = (Vec::with_capacity(raw.jobs.len()), Pairs::default());
    let mut needed = Needed::default();
    for (position, job) in raw.jobs.into_iter().enumerate() {
        let bad = |stage, problem| WorkloadError::Job { path: path.to_owned(), job: position, stage, problem };
        let refused = |error: JobError| bad(error.stage, error.problem);
        let job = job.read(position, warmup_ms).map_err(refused)?;
        pairs.add(&job.template).map_err(refused)?;
        let tasks = job.template.tasks() as f64;
        needed.add(super::events(1.0, tasks), &format!("of {tasks} tasks")).map_err(|problem| bad(None, problem))?;
        jobs.push(job);
    }
    // A job's number is its place in arrival order; the sort is stable, so jobs of one instant keep the file's order.
    jobs.sort_by(|a, b| a.arrival_ms.total_cmp(&b.arrival_ms));
    let costs = Costs { events: &|job: &JobArrival| super::events(1.0, job.template.tasks() as f64), bytes: 0.0 };
    let history = History::new(jobs, cut, WINDOW_JOBS, &costs).map_err(format)?;
    Ok(history.on(cluster, vec![path.to_owned()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<DagWorkload, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("workload.json");
        std::fs::write(&path, text).unwrap();
        super::load(&path, None, &Cut::WHOLE).map_err(|e| e.to_string())
    }

    #[test]
    fn durations_may_be_a_number_a_list_or_waves() {
        let workload = load(
            r#"{"num_executors": 3, "jobs": [
                {"arrival_ms": 5, "stages": [{"num_tasks": 1, "durations": 7}]},
                {"arrival_ms": 0, "edges": [[0, 1]], "stages": [
                    {"num_tasks": 2, "durations": [1, 2]},
                    {"num_tasks": 2, "rough_ms": 9, "durations": {"fresh": 3, "rest": [1, 1]}}]}]}"#,
        )
        .unwrap();
        let jobs = workload.jobs(0);
        assert_eq!(workload.cluster().num_executors, 3);
        assert_eq!(jobs[0].template.graph().name(), "job-1");
        assert_eq!(jobs[0].template.stages()[1].rough_ms, 9.0);
        assert_eq!(jobs[1].template.stages()[0].rough_ms, 7.0);
    }

    #[test]
    fn mistakes_name_file_job_and_stage() {
        let job = |stages: &str, edges: &str| {
            format!(r#"{{"jobs": [{{"arrival_ms": 0, "edges": {edges}, "stages": [{stages}]}}]}}"#)
        };
        let good = r#"{"num_tasks": 1, "durations": 1}"#;
        for (text, expected) in [
            (String::new(), "the file is empty"),
            ("{}".to_owned(), "missing field `jobs`"),
            (r#"{"jobs": []}"#.to_owned(), "`jobs` is empty"),
            (job("", "[]"), "job 0: has no stages"),
            (job(&format!("{good},{good}"), "[[0,1],[1,0]]"), "job 0, stage 0: lies on a cycle"),
            (job(good, "[[0,3]]"), "names stage 3"),
            (
                job(r#"{"num_tasks": 1, "durations": -2}"#, "[]"),
                "job 0, stage 0: durations must be numbers in 0..=1e15",
            ),
            (job(r#"{"num_tasks": 1, "durations": []}"#, "[]"), "has no durations"),
            (job(r#"{"num_tasks": 0, "durations": 1}"#, "[]"), "job 0, stage 0: has 0 tasks"),
            (job(r#"{"num_tasks": 1, "durations": "x"}"#, "[]"), "durations must be a number, a list"),
            (job(r#"{"num_tasks": 1, "durations": 1, "colour": 1}"#, "[]"), "unknown field `colour`"),
        ] {
            let message = load(&text).unwrap_err();
            assert!(message.contains("workload.json") && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn tasks_are_counted_over_all_jobs() {
        let stage = r#"{"num_tasks":1000000,"durations":1}"#;
        let job = format!(r#"{{"arrival_ms":0,"stages":[{}]}}"#, [stage; 20].join(","));
        let jobs = |n: usize| format!(r#"{{"jobs":[{}]}}"#, vec![job.as_str(); n].join(","));
        assert!(load(&jobs(2)).is_ok());
        let message = load(&jobs(3)).unwrap_err();
        let expected =
            "job 2: needs 40000001 events (of 20000000 tasks), with those above it 120000003; at most 100000000";
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn long_chains_are_counted_over_all_jobs() {
        let edges: Vec<String> = (1..2_800).map(|child| format!("[{},{child}]", child - 1)).collect();
        let stages = vec![r#"{"num_tasks":1,"durations":1}"#; 2_800].join(",");
        let job = format!(r#"{{"arrival_ms":0,"edges":[{}],"stages":[{stages}]}}"#, edges.join(","));
        let jobs = |n: usize| format!(r#"{{"jobs":[{}]}}"#, vec![job.as_str(); n].join(","));
        assert!(load(&jobs(1)).is_ok());
        // 2,800 × 2,799 / 2 pairs each.
        let message = load(&jobs(17)).unwrap_err();
        assert!(message.contains("job 16: ") && message.contains("66616200 pairs"), "{message}");
    }
}
