//! What must hold of whatever a log holds.

use super::{read, whole};
use proptest::{prelude::*, test_runner::TestCaseError};
use sched_distill_histories::spark::{SparkLog, TaskEnd};
use std::fs;

/// Reads bytes as a log, makes all of it that can be made, and checks what must hold.
pub(crate) fn check(bytes: &[u8], name: &str) -> Result<(), TestCaseError> {
    let fail = |error: std::io::Error| TestCaseError::fail(error.to_string());
    let dir = tempfile::tempdir().map_err(fail)?;
    let path = dir.path().join(name);
    fs::write(&path, bytes).map_err(fail)?;
    match read(&path) {
        Ok(log) => sound(&log),
        Err(error) => {
            let message = whole(&error);
            prop_assert!(message.contains(name) && !message.contains(char::is_control), "{message}");
            Ok(())
        }
    }
}

fn sound(log: &SparkLog) -> Result<(), TestCaseError> {
    prop_assert!(log.notes().iter().all(|note| !note.is_empty()));
    for application in &log.applications {
        let (stages, jobs) = (application.stage_totals(), application.job_totals());
        let of_stages: u64 = stages.values().map(|totals| totals.num_tasks).sum();
        prop_assert!(of_stages <= application.tasks.len() as u64);
        prop_assert!(jobs.values().map(|totals| totals.num_tasks).sum::<u64>() <= of_stages);
        prop_assert!(application.executor_changes().is_sorted_by_key(|change| change.time_ms));
        let queries = application.queries();
        let rebuilding = &queries.rebuilding;
        prop_assert!(rebuilding.notes().iter().all(|note| !note.is_empty()));
        prop_assert!(rebuilding.matched_stages <= rebuilding.skipped_stages);
        prop_assert!(application.tasks.iter().is_sorted_by_key(|task| (task.launch_ms, task.id)));
        let stages = || queries.jobs.iter().flat_map(|dag| &dag.stages);
        let ran = application.tasks.iter().filter(|task| task.end != TaskEnd::Resubmitted).count();
        prop_assert_eq!(queries.num_runs() + rebuilding.outside_runs, ran);
        prop_assert!(stages().all(|stage| stage.runs.is_sorted_by_key(|run| run.launch_ms)));
        for dag in &queries.jobs {
            prop_assert!(!dag.stages.is_empty());
            prop_assert!(dag.stages.is_sorted_by_key(|stage| stage.submission_ms));
            for stage in &dag.stages {
                prop_assert!(stage.num_tasks > 0 && stage.durations().len() == stage.num_tasks as usize);
            }
            let edges = dag.all_edges();
            prop_assert!(edges.windows(2).all(|two| two[0] < two[1]));
            prop_assert!(edges.iter().all(|&[parent, child]| parent < child && (child as usize) < dag.stages.len()));
        }
    }
    Ok(())
}
