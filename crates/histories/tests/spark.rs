//! Logs of real clusters, against the tables that the profiling tool of their project published for them, and against their own lines.

mod support;

use sched_distill_histories::spark::{Application, JobResult, TaskEnd, Totals};
use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
};
use support::{Outcome, read, read_one};

/// A file of the reference data (`../shared/histories`, not part of the repository). A test that calls this carries
/// `#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]`.
fn shared(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories").join(path)
}

fn log(name: &str) -> Result<Application, Box<dyn Error>> {
    read_one(&shared(&format!("spark/{name}")))
}

/// A row of a table of totals.
struct Row {
    id: u32,
    duration_ms: i64,
    totals: Totals,
}

fn table(name: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    let text = fs::read_to_string(shared(&format!("spark/{name}_expectation.csv")))?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let mut rows = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name: &str| -> Result<i64, Box<dyn Error>> {
            let column = header.iter().position(|column| *column == name).ok_or(name)?;
            Ok(cells.get(column).ok_or(name)?.parse()?)
        };
        let totals = Totals {
            num_tasks: cell("numTasks")?.try_into()?,
            duration_sum_ms: cell("durationSum")?,
            duration_max_ms: cell("durationMax")?,
            executor_run_time_sum_ms: cell("executorRunTimeSum")?,
        };
        rows.push(Row { id: cell("id")?.try_into()?, duration_ms: cell("duration")?, totals });
    }
    Ok(rows)
}

/// How many rows of the tables of stages and of jobs are met in all columns, and how many there are.
fn equal_rows(app: &Application, stages: &str, jobs: &str) -> Result<[(usize, usize); 2], Box<dyn Error>> {
    let took = |from: Option<i64>, to: Option<i64>| from.zip(to).map(|(from, to)| to - from);
    let of_stages: BTreeMap<u32, Totals> =
        app.stage_totals().into_iter().map(|((id, _), totals)| (id, totals)).collect();
    let of_jobs = app.job_totals();
    let stage_ms = app.stages.iter().map(|stage| (stage.id, took(stage.submission_ms, stage.completion_ms))).collect();
    let job_ms = app.jobs.iter().map(|job| (job.id, took(job.submission_ms, job.completion_ms))).collect();
    let met = |rows: &[Row], totals: &BTreeMap<u32, Totals>, took_ms: BTreeMap<u32, Option<i64>>| {
        let is_met = |row: &&Row| totals.get(&row.id) == Some(&row.totals) && took_ms[&row.id] == Some(row.duration_ms);
        (rows.iter().filter(is_met).count(), rows.len())
    };
    Ok([met(&table(stages)?, &of_stages, stage_ms), met(&table(jobs)?, &of_jobs, job_ms)])
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn totals_are_those_of_the_published_tables() -> Outcome {
    let app = log("nds_q88_photon_db_13_3.zstd")?;
    let name = "nds_q88_photon_db_13_3";
    let rows = equal_rows(&app, &format!("{name}_stage_metrics_agg"), &format!("{name}_job_metrics_agg"))?;
    assert_eq!(rows, [(57, 57), (57, 57)]);
    let app = log("rapids_join_eventlog.zstd")?;
    let rows = equal_rows(&app, "rapids_join_eventlog_stagemetricsagg", "rapids_join_eventlog_jobmetricsagg")?;
    assert_eq!(rows, [(4, 4), (1, 1)]);
    Ok(())
}

/// The first cells of the rows of a table of failures, as far as they are numbers.
fn failures(name: &str) -> Result<Vec<Vec<i64>>, Box<dyn Error>> {
    let text = fs::read_to_string(shared(&format!("spark/{name}_failure_eventlog_expectation.csv")))?;
    Ok(text.lines().skip(1).map(|line| line.split(',').map_while(|cell| cell.parse().ok()).collect()).collect())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn failures_are_those_of_the_published_tables() -> Outcome {
    let app = log("tasks_executors_fail.zstd")?;
    let tasks = app.tasks.iter().filter(|task| task.end == TaskEnd::Failed);
    let tasks: Vec<Vec<i64>> =
        tasks.map(|t| vec![t.stage.into(), t.stage_attempt.into(), t.id, t.attempt.into()]).collect();
    let mut expected = failures("tasks")?;
    expected.sort();
    assert_eq!(tasks.iter().map(|task| task[2]).collect::<Vec<_>>(), [8519, 8560, 8574]);
    assert_eq!(tasks, expected);
    let stages = app.stages.iter().filter(|stage| stage.failure.is_some());
    assert_eq!(stages.map(|s| vec![s.id.into(), s.attempt.into()]).collect::<Vec<Vec<i64>>>(), failures("stages")?);
    let jobs = app.jobs.iter().filter(|job| !matches!(job.result, Some(JobResult::Succeeded)));
    let jobs: Vec<Vec<i64>> = jobs.map(|job| vec![job.id.into(), job.sql_execution.unwrap_or(-1)]).collect();
    assert_eq!((&jobs, jobs.len()), (&failures("jobs")?, 1));
    // Two executors were lost, one of them with a failure.
    assert_eq!(app.executors.iter().filter(|executor| executor.removed_ms.is_some()).count(), 2);
    assert_eq!(app.tasks.iter().filter(|task| task.end == TaskEnd::Resubmitted).count(), 50);
    Ok(())
}

/// Jobs, stages that were submitted, ends of tasks; skipped stages and those that are matched; of the DAG with the most stages, stages,
/// edges, and tasks.
fn counts(app: &Application) -> ([usize; 3], [usize; 2], [usize; 3]) {
    let queries = app.queries();
    let submitted = app.stages.iter().filter(|stage| stage.was_submitted).count();
    let largest = queries.jobs.iter().max_by_key(|dag| (dag.stages.len(), dag.edges.len()));
    let largest = largest.map_or([0; 3], |dag| {
        [dag.stages.len(), dag.edges.len(), dag.stages.iter().map(|stage| stage.num_tasks as usize).sum()]
    });
    (
        [app.jobs.len(), submitted, app.tasks.len()],
        [queries.rebuilding.skipped_stages, queries.rebuilding.matched_stages],
        largest,
    )
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn jobs_stages_tasks_and_dags_are_found() -> Outcome {
    for (name, version, expected) in [
        ("nds_q88_photon_db_13_3.zstd", "3.4.1", ([57, 57, 4896], [51, 51], [26, 39, 3472])),
        ("nds_q66_gpu.zstd", "3.1.3", ([37, 41, 12_987], [0, 0], [10, 4, 924])),
        ("tasks_executors_fail.zstd", "3.1.1", ([75, 135, 8630], [95, 94], [7, 6, 412])),
        ("dynamic_alloc_4nodes.zstd", "3.2.1", ([20, 20, 235], [25, 25], [4, 3, 74])),
        ("rapids_join_eventlog.zstd", "3.0.1", ([1, 4, 213], [0, 0], [4, 3, 213])),
        ("aqeshuffle_eventlog.zstd", "3.2.1", ([4, 4, 26], [5, 5], [4, 3, 26])),
        ("attempt_1.zstd", "3.3.0-amzn-0", ([5, 5, 107], [1, 1], [4, 1, 106])),
        ("eventlog_v2_local-1623876083964", "3.1.1", ([1, 4, 2801], [0, 0], [4, 3, 2801])),
        ("spark2_eventlog.zstd", "2.2.3", ([6, 6, 6], [0, 0], [2, 0, 2])),
        ("malformed_json.zstd", "3.1.1", ([2, 5, 217], [0, 0], [4, 3, 213])),
        ("truncated_eventlog", "3.1.1", ([2, 3, 21], [2, 0], [2, 0, 9])),
        ("minimal_events", "3.1.1", ([6, 10, 10], [0, 0], [2, 1, 2])),
    ] {
        let app = log(name)?;
        assert_eq!((app.spark_version.as_deref(), counts(&app)), (Some(version), expected), "{name}");
    }
    Ok(())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn what_is_wrong_with_logs_is_said() -> Outcome {
    let app = log("malformed_json.zstd")?;
    assert_eq!((app.reading.malformed, app.tasks.len()), (1, 217));
    let first = app.reading.first_malformed.as_ref().ok_or("no malformed line")?;
    assert_eq!((first.line, &*first.problem), (4, "column 43: key must be a string"));
    let app = log("truncated_eventlog")?;
    assert_eq!((app.jobs.len(), app.end_ms), (2, None));
    let notes = app.notes();
    assert!(notes[0].ends_with("the log ends before the application did, with 1 jobs running"), "{notes:?}");
    assert!(notes[1].ends_with("3 tasks were launched and never ended"), "{notes:?}");
    let notes = log("tasks_executors_fail.zstd")?.queries().rebuilding.notes();
    assert!(notes.contains(&"for 1 of 95 skipped stages no stage ran in their place".to_owned()), "{notes:?}");
    Ok(())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn overlapping_jobs_keep_their_order() -> Outcome {
    let app = read_one(&shared("spark-own/overlapping.zstd"))?;
    let run_ms: i64 = app.stage_totals().values().map(|totals| totals.executor_run_time_sum_ms).sum();
    assert_eq!((app.jobs.len(), app.tasks.len(), run_ms), (25, 334, 312_589));
    let submitted = app.stages.iter().filter(|stage| stage.was_submitted).count();
    assert_eq!((submitted, app.stage_totals().len()), (85, 71));
    assert_eq!(app.reading.tasks_started, 342);
    let queries = app.queries();
    assert_eq!(queries.jobs.iter().map(|dag| dag.assumed_edges.len()).sum::<usize>(), 0);
    // Each child was submitted when its parents were complete.
    for dag in queries.jobs.iter().filter(|dag| dag.is_complete) {
        for &[parent, child] in &dag.edges {
            let [parent, child] = [parent, child].map(|place| &dag.stages[place as usize]);
            assert!(parent.completion_ms <= Some(child.submission_ms), "{} and {}", parent.id, child.id);
        }
    }
    assert_eq!(queries.num_runs() + queries.rebuilding.outside_runs, 334);
    // Eight cores: eight tasks find them fresh, and no more run at a time.
    let fresh = queries.jobs.iter().flat_map(|dag| &dag.stages).map(|stage| stage.durations().fresh.len());
    assert_eq!(fresh.sum::<usize>(), 8);
    Ok(())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn a_folder_is_many_applications_and_attempts_are_told() -> Outcome {
    let log = read(&shared("spark"))?;
    assert_eq!(log.applications.len(), 13);
    assert_eq!(log.attempts(), [("application_1724877841851_0016", vec!["1", "2"])]);
    // The licence and the tables.
    assert_eq!(log.left_out.len(), 8);
    let tasks: usize = log.applications.iter().map(|application| application.tasks.len()).sum();
    assert_eq!(tasks, 30_256);
    Ok(())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn executors_come_and_go() -> Outcome {
    let app = log("dynamic_alloc_4nodes.zstd")?;
    let changes = app.executor_changes();
    assert_eq!((app.executors.len(), app.most_executors()), (15, (7, 28)));
    assert_eq!(changes.last().map(|change| change.executors), Some(1));
    let app = log("attempt_1.zstd")?;
    assert_eq!((app.attempt.as_deref(), app.most_executors()), (Some("1"), (10, 30)));
    Ok(())
}
