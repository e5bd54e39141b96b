//! Logs that `scripts/make-spark-logs.sh` made with Spark 3.5 and 4.3, in each way in which Spark writes them, against figures that the
//! script read from the same files with Spark's own codecs.

mod support;

use sched_distill_histories::spark::{Application, DagJob, Job, JobResult, TaskEnd};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    path::{Path, PathBuf},
};
use support::{Outcome, read, read_one};

fn logs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs")
}

/// What is to be found in a log.
#[derive(Debug, Deserialize)]
struct Expected {
    path: String,
    version: String,
    has_ended: bool,
    is_cut: bool,
    jobs: usize,
    failed_jobs: usize,
    stages_run: usize,
    sql_executions: usize,
    tasks_started: u64,
    task_ends: usize,
    failed_tasks: usize,
    run_time_ms: i64,
    skipped: usize,
    matched: usize,
    outside_edges: usize,
    dags: Vec<Dag>,
}

/// A DAG, whose edges lead from the id of a stage to that of another.
#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Dag {
    /// Ids of stages with numbers of tasks that succeeded.
    tasks: Vec<(u32, u32)>,
    name: String,
    jobs: usize,
    edges: Vec<(u32, u32)>,
    assumed: Vec<(u32, u32)>,
}

impl Dag {
    fn of(dag: &DagJob) -> Self {
        let by_id = |edges: &[[u32; 2]]| {
            let mut edges: Vec<_> = edges.iter().map(|edge| edge.map(|place| dag.stages[place as usize].id)).collect();
            edges.sort_unstable();
            edges.into_iter().map(|[parent, child]| (parent, child)).collect()
        };
        let mut tasks: Vec<_> = dag.stages.iter().map(|stage| (stage.id, stage.num_tasks)).collect();
        tasks.sort_unstable();
        Self {
            tasks,
            name: dag.name.clone(),
            jobs: dag.job_ids.len(),
            edges: by_id(&dag.edges),
            assumed: by_id(&dag.assumed_edges),
        }
    }
}

fn expected() -> Result<BTreeMap<String, Expected>, Box<dyn Error>> {
    let logs: BTreeMap<String, Expected> = serde_json::from_str(&fs::read_to_string(logs().join("expected.json"))?)?;
    assert_eq!(logs.len(), 8);
    Ok(logs)
}

/// Each log with what is to be found in it.
fn each(mut check: impl FnMut(&str, &Expected, Application) -> Outcome) -> Outcome {
    for (name, expected) in expected()? {
        check(&name, &expected, read_one(&logs().join(&expected.path))?)?;
    }
    Ok(())
}

#[test]
fn jobs_stages_and_tasks_are_those_of_an_independent_reading() -> Outcome {
    each(|name, expected, app| {
        assert_eq!((app.spark_version.as_deref(), app.id.as_deref()), (Some(&*expected.version), Some(name)), "{name}");
        assert_eq!((app.name.as_deref(), app.user.as_deref()), (Some("own"), Some("user")), "{name}");
        assert_eq!((app.end_ms.is_some(), app.reading.malformed), (expected.has_ended, 0), "{name}");
        assert_eq!((app.scheduling_mode.as_deref(), app.task_cpus), (Some("FIFO"), Some(1)), "{name}");
        assert_eq!((app.most_executors(), app.executors[0].host.as_deref()), ((1, 2), Some("host-1")), "{name}");
        let submitted = app.stages.iter().filter(|stage| stage.was_submitted).count();
        assert_eq!((app.jobs.len(), submitted), (expected.jobs, expected.stages_run), "{name}");
        let has_failed = |job: &&Job| matches!(job.result, Some(JobResult::Failed(Some(_))));
        assert_eq!(app.jobs.iter().filter(has_failed).count(), expected.failed_jobs, "{name}");
        assert_eq!(app.sql_executions.len(), expected.sql_executions, "{name}");
        let failed = app.tasks.iter().filter(|task| task.end == TaskEnd::Failed).count();
        assert_eq!((app.tasks.len(), failed), (expected.task_ends, expected.failed_tasks), "{name}");
        assert_eq!(app.reading.tasks_started, expected.tasks_started, "{name}");
        let run_time_ms: i64 = app.tasks.iter().map(|task| task.run_time_ms).sum();
        assert_eq!(run_time_ms, expected.run_time_ms, "{name}");
        Ok(())
    })
}

#[test]
fn dags_are_those_that_the_lineage_of_rdds_gives() -> Outcome {
    each(|name, expected, app| {
        let queries = app.queries();
        assert_eq!(
            (queries.rebuilding.skipped_stages, queries.rebuilding.matched_stages),
            (expected.skipped, expected.matched),
            "{name}"
        );
        // A job that was killed as it ran lists stages that it had no time to submit.
        let is_running = |job: &&Job| job.result.is_none();
        let unfinished: BTreeSet<u32> =
            app.jobs.iter().filter(is_running).flat_map(|job| job.stage_ids.clone()).collect();
        let waiting = app.stages.iter().filter(|stage| !stage.was_submitted && unfinished.contains(&stage.id)).count();
        assert_eq!(queries.rebuilding.skipped_stages - queries.rebuilding.matched_stages, waiting, "{name}");
        assert_eq!(
            (queries.rebuilding.outside_edges, queries.rebuilding.odd_edges, queries.rebuilding.passed_stages),
            (expected.outside_edges, 0, 0),
            "{name}"
        );
        let mut dags: Vec<Dag> = queries.jobs.iter().map(Dag::of).collect();
        dags.sort();
        assert_eq!(dags, expected.dags, "{name}");
        assert_eq!(queries.num_runs() + queries.rebuilding.outside_runs, expected.task_ends, "{name}");
        Ok(())
    })
}

/// A stage by its tasks, and by those of the stages that it waits for, recorded and assumed.
type Shape = (u32, Vec<u32>, Vec<u32>);

fn shapes(dag: &DagJob) -> Vec<Shape> {
    let tasks = |place: u32| dag.stages[place as usize].num_tasks;
    let parents = |edges: &[[u32; 2]], of: u32| {
        let mut parents: Vec<u32> =
            edges.iter().filter(|&&[_, child]| child == of).map(|&[parent, _]| tasks(parent)).collect();
        parents.sort_unstable();
        parents
    };
    let places = 0..dag.stages.len() as u32;
    let mut shapes: Vec<Shape> =
        places.map(|place| (tasks(place), parents(&dag.edges, place), parents(&dag.assumed_edges, place))).collect();
    shapes.sort();
    shapes
}

#[test]
fn every_way_of_writing_gives_the_same_dags() -> Outcome {
    // By version and name of the query; what fails leaves more or less undone.
    let mut seen: BTreeMap<(String, String), (Vec<Shape>, usize)> = BTreeMap::new();
    each(|name, expected, app| {
        for dag in app.queries().jobs.iter().filter(|dag| dag.is_complete) {
            let of = shapes(dag);
            let known = seen.entry((expected.version.clone(), dag.name.clone())).or_insert_with(|| (of.clone(), 0));
            known.1 += 1;
            assert_eq!(known.0, of, "{name}: {:?}", dag.name);
        }
        Ok(())
    })?;
    // Five logs of 3.5 and three of 4.3, thirteen queries in each.
    let counts = |version: &str| {
        let of_version = seen.iter().filter(|((of, _), _)| of == version);
        of_version
            .map(|((_, name), &(_, n))| (name.as_str(), n))
            .filter(|(name, _)| !["rolled", "after"].contains(name))
            .collect::<Vec<_>>()
    };
    let (older, newer) = (counts("3.5.3"), counts("4.3.0"));
    assert_eq!((older.len(), newer.len()), (13, 13));
    assert!(older.iter().all(|&(_, n)| n >= 4) && newer.iter().all(|&(_, n)| n == 3), "{older:?} {newer:?}");
    Ok(())
}

#[test]
fn adaptive_queries_are_one_dag_each() -> Outcome {
    // What follows from the queries: three parts of the large table, two of the small one, one of regions.
    let alone = |tasks| (tasks, vec![], vec![]);
    let queries: [(&str, Vec<Shape>); 3] = [
        // The large table waits for the small one, which is broadcast.
        ("broadcast join", vec![alone(2), (3, vec![], vec![2])]),
        ("merge join", vec![alone(2), alone(3)]),
        ("three tables", vec![alone(1), alone(2), alone(3)]),
    ];
    each(|name, _, app| {
        let dags = app.queries().jobs;
        for (query, sources) in &queries {
            let dag = dags.iter().find(|dag| dag.name == *query).ok_or(*query)?;
            let of: Vec<Shape> = shapes(dag).into_iter().filter(|(_, parents, _)| parents.is_empty()).collect();
            assert_eq!(&of, sources, "{name}: {query}");
            // All ends in one stage.
            let all = dag.all_edges();
            let ends = (0..dag.stages.len() as u32).filter(|place| all.iter().all(|[parent, _]| parent != place));
            assert_eq!(ends.count(), 1, "{name}: {query}");
        }
        // The join reads both that are shuffled, and waits for the regions, which are broadcast.
        let joined = dags.iter().find(|dag| dag.name == "three tables").map(shapes).ok_or("no join")?;
        let join = joined.iter().find(|(_, parents, _)| parents.len() == 2).ok_or("no join")?;
        assert_eq!((&*join.1, &*join.2), (&[2, 3][..], &[1][..]), "{name}");
        Ok(())
    })
}

#[test]
fn what_a_killed_driver_leaves_is_read_to_its_end() -> Outcome {
    each(|name, expected, app| {
        let notes = app.notes();
        let says = |text: &str| notes.iter().any(|note| note.contains(text));
        assert_eq!(
            says("the log ends before the application did, with 1 jobs running"),
            !expected.has_ended,
            "{notes:?}"
        );
        assert_eq!(says("it ends within a line"), expected.is_cut, "{notes:?}");
        assert_eq!(name.starts_with("killed"), !expected.has_ended, "{name}");
        Ok(())
    })
}

#[test]
fn the_folder_of_all_is_as_a_history_server_has_it() -> Outcome {
    let log = read(&logs())?;
    assert_eq!(log.applications.len(), expected()?.len());
    // The figures.
    assert_eq!(log.left_out.len(), 1);
    let rolled = log.applications.iter().find(|app| app.id.as_deref() == Some("rolling-35")).ok_or("not there")?;
    assert!(rolled.files.len() > 2, "{:?}", rolled.files);
    Ok(())
}
