//! A fixed list of tasks and their server in a JSON file, read and written; `docs/serving.md` describes the format.

use super::{
    Service, ServingTask, ServingWorkload, TASK_BYTES,
    requests::{CUT_LESS, NOBODY_WAITS, WINDOW_TASKS},
};
use crate::Server;
use sched_distill_core::{
    simulation::{Costs, History},
    spec::Spec,
    workload::{Cut, WorkloadError, cannot_be_written, most_jobs, read_json, write_list},
};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWorkload {
    server: Server,
    horizon_ms: Option<f64>,
    #[serde(deserialize_with = "most_jobs")]
    tasks: Vec<RawTask>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTask {
    application: u32,
    arrival_ms: f64,
    size: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared_size: Option<u32>,
}

/// Opens `json:FILE`.
pub(super) fn open(spec: &Spec) -> Result<ServingWorkload, WorkloadError> {
    let path = spec.require_file("a workload as described in docs/serving.md")?;
    let mut args = spec.args();
    let cut = Cut::from_args(&mut args)?;
    args.finish()?;
    load(path, &cut)?.checked(spec, CUT_LESS)
}

fn load(path: &Path, cut: &Cut) -> Result<ServingWorkload, WorkloadError> {
    let raw: RawWorkload = read_json(path, "docs/serving.md")?;
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    raw.server.check().map_err(|problem| format(format!("server: {problem}")))?;
    if raw.tasks.is_empty() {
        return Err(format("`tasks` has 0 tasks; at least one is needed".to_owned()));
    }
    let mut tasks: Vec<ServingTask> = Vec::with_capacity(raw.tasks.len());
    for (number, raw_task) in raw.tasks.iter().enumerate() {
        let task = read(raw_task, &raw.server).map_err(|problem| format(format!("task {number}: {problem}")))?;
        if let Some(last) = tasks.last().filter(|last| last.arrival_ms > task.arrival_ms) {
            let problem = format!("arrival_ms {} is before the task above it, {}", task.arrival_ms, last.arrival_ms);
            return Err(format(format!("task {number}: {problem}")));
        }
        tasks.push(task);
    }
    let last_ms = tasks.last().map_or(0.0, |task| task.arrival_ms);
    let horizon_ms = raw.horizon_ms.unwrap_or(last_ms.max(1.0));
    if !(horizon_ms > 0.0 && horizon_ms <= 1e15) {
        return Err(format(format!("horizon_ms must be a positive number up to 1e15, got {horizon_ms}")));
    }
    let costs = Costs { events: &|_: &ServingTask| super::events(1.0), bytes: TASK_BYTES };
    let history = History::new(tasks, cut, WINDOW_TASKS, &costs).map_err(format)?;
    let horizon_ms = history.window_ms().unwrap_or(horizon_ms / cut.rate());
    let service = Service { server: Arc::new(raw.server), horizon_ms, tail_ms: f64::INFINITY, models: Vec::new() };
    let said = (!cut.is_whole()).then(|| NOBODY_WAITS.to_owned());
    Ok(history.on(service, vec![path.to_owned()]).with_notes(said))
}

fn read(raw: &RawTask, server: &Server) -> Result<ServingTask, String> {
    if !(0.0..=1e15).contains(&raw.arrival_ms) {
        return Err(format!("arrival_ms must be a number in 0..=1e15, got {}", raw.arrival_ms));
    }
    let declared_size = raw.declared_size.unwrap_or(raw.size);
    for size in [raw.size, declared_size] {
        server.check_task(raw.application, size).map_err(|e| format!("{} {}", e.field, e.problem))?;
    }
    Ok(ServingTask { application: raw.application, arrival_ms: raw.arrival_ms, size: raw.size, declared_size })
}

/// Writes a workload file, task by task.
///
/// # Errors
///
/// What cannot be written, costs of age (`tail`), and models that are run from a file.
pub fn write(service: &Service, tasks: &[ServingTask], out: &mut dyn Write) -> io::Result<()> {
    let lacks =
        |what: &str| Err(cannot_be_written(format!("has {what}, which a workload file cannot say: leave it out")));
    if service.tail_ms.is_finite() {
        return lacks("a `tail`");
    }
    if service.models.iter().any(Option::is_some) {
        return lacks("models with a `file`");
    }
    out.write_all(b"{\"server\": ")?;
    serde_json::to_writer(&mut *out, &*service.server)?;
    // All tasks of a history that is cut arrive for longer than an episode of it lasts.
    let horizon_ms = tasks.iter().map(|task| task.arrival_ms).fold(service.horizon_ms, f64::max);
    write!(out, ",\n \"horizon_ms\": {horizon_ms}, \"tasks\": ")?;
    write_list(tasks, out, |&ServingTask { application, arrival_ms, size, declared_size }, _| {
        let declared_size = (declared_size != size).then_some(declared_size);
        Ok(RawTask { application, arrival_ms, size, declared_size })
    })?;
    out.write_all(b"}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = r#"{"application": 0, "arrival_ms": 5, "size": 12}"#;

    fn read(tasks: &str) -> Result<ServingWorkload, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tasks.json");
        let text = format!(
            r#"{{"server": {{"applications": [{{"name": "text", "law": {{"padded": {{"alpha_ms": 3, "beta_ms": 0.03}}}},
            "objective_ms": 50, "most_units": 100}}]}}, "tasks": [{tasks}]}}"#
        );
        std::fs::write(&path, text).unwrap();
        load(&path, &Cut::WHOLE).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let workload = read(TASK).unwrap();
        let [task] = workload.jobs(1)[..] else { panic!("one task") };
        assert_eq!((task.declared_size, workload.cluster().horizon_ms), (12, 5.0));
        let application = &workload.cluster().server.applications[0];
        assert_eq!((application.most, application.queue, application.timeout_ms), (16, 10_000, 5.0));
        assert_eq!((workload.cluster().server.accelerators, workload.cluster().server.half_life_ms), (1, 500.0));
    }

    #[test]
    fn mistakes_name_the_task() {
        for (from, to, expected) in [
            ("\"application\": 0", "\"application\": 1", "task 0: application must be in 0..=0, got 1"),
            ("12", "0", "task 0: size must be in 1..=16777216, got 0"),
            ("12", "101", "task 0: size 101 is more than memory holds (`most_units`)"),
            ("5", "-1", "task 0: arrival_ms must be a number in 0..=1e15, got -1"),
            ("\"size\"", "\"colour\"", "unknown field `colour`"),
        ] {
            let message = read(&TASK.replace(from, to)).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        assert!(read("").unwrap_err().contains("`tasks` has 0 tasks"));
        let later = TASK.replace('5', "6");
        assert!(
            read(&format!("{later}, {TASK}"))
                .unwrap_err()
                .contains("task 1: arrival_ms 5 is before the task above it, 6")
        );
    }
}
