//! Traces of DAGs: workflows that are published, against another reading of them, and small ones with what goes wrong in them.

use sched_distill_histories::{
    HistoryError,
    dags::{self, Dag, DagLog, Format},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

type Outcome = Result<(), Box<dyn Error>>;

/// A file of the reference data (`../shared/histories`, not part of the repository). A test that calls this carries
/// `#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]`.
fn shared(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories").join(path)
}

fn read_bytes(bytes: &[u8], name: &str, format: Format) -> Result<DagLog, HistoryError> {
    let dir = tempfile::tempdir().expect("there is room for a file");
    let path = dir.path().join(name);
    fs::write(&path, bytes).expect("there is room for a file");
    dags::read(&path, format, &mut |read, of| assert!(read <= of))
}

fn read(text: &str, format: Format) -> Result<DagLog, HistoryError> {
    read_bytes(text.as_bytes(), "file", format)
}

fn refusal(text: &str, format: Format) -> String {
    match read(text, format) {
        Ok(log) => format!("read: {log:?}"),
        Err(error) => error.to_string(),
    }
}

/// Edges by the names of their stages.
fn edges(dag: &Dag) -> BTreeSet<(&str, &str)> {
    let name = |stage: u32| &*dag.stages[stage as usize].name;
    dag.edges.iter().map(|&[parent, child]| (name(parent), name(child))).collect()
}

fn of<'a>(value: &'a Value, path: &[&str]) -> Result<&'a Vec<Value>, Box<dyn Error>> {
    let array = path.iter().try_fold(value, |value, name| value.get(name)).and_then(Value::as_array);
    array.ok_or_else(|| format!("no array {path:?}").into())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn published_workflows_are_read() -> Outcome {
    let mut totals = [0; 3];
    for entry in fs::read_dir(shared("wfcommons"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        assert_eq!(dags::recognise_file(&path)?, Some(Format::WfCommons));
        let log = dags::read(&path, Format::WfCommons, &mut |_, _| {})?;
        assert_eq!((log.dags.len(), log.skipped.len(), log.missing_parents), (1, 0, 0), "{}", path.display());
        let dag = &log.dags[0];
        // Another reading: children of all tasks, and run times by id.
        let json: Value = serde_json::from_slice(&fs::read(&path)?)?;
        let tasks = of(&json, &["workflow", "specification", "tasks"])?;
        let mut expected = BTreeSet::new();
        for task in tasks {
            for child in of(task, &["children"])? {
                expected.insert((task["id"].as_str().ok_or("id")?, child.as_str().ok_or("child")?));
            }
        }
        assert_eq!(edges(dag), expected, "{}", path.display());
        assert!(dag.is_complete && dag.edges.iter().all(|&[parent, child]| parent < child));
        let runs = of(&json, &["workflow", "execution", "tasks"])?;
        let runs = runs.iter().map(|run| (run["id"].as_str(), run["runtimeInSeconds"].as_f64()));
        let runs: BTreeMap<Option<&str>, Option<f64>> = runs.collect();
        assert_eq!((dag.stages.len(), runs.len()), (tasks.len(), tasks.len()));
        for stage in &dag.stages {
            let runtime_s = runs.get(&Some(&*stage.name)).copied().flatten().ok_or("no run time")?;
            let duration_ms = stage.duration_ms.ok_or("no duration")? as f64;
            assert!((duration_ms - 1000.0 * runtime_s).abs() <= 0.5 && stage.num_tasks == 1);
        }
        totals = [totals[0] + 1, totals[1] + dag.stages.len(), totals[2] + dag.edges.len()];
    }
    assert_eq!(totals, [40, 2525, 3897]);
    Ok(())
}

const TASKS: &str = "\
R2_1,3,j_1,1,Terminated,120,150,50,0.2
task_LTg0MTUwNTA5Mjg4MDkwNjIzMA==,1,j_2,1,Terminated,100,107,100,0.5
M1,8,j_1,1,Terminated,110,120,100,0.2
MergeTask,1,j_2,1,Terminated,101,101,,
J5_2_3_Stg7,1,j_1,1,Running,150,0,100,0.2
M3,2,j_1,1,Terminated,110,130,100,0.2
R2_1,3,j_1,1,Terminated,120,150,50,0.2
M1_2,1,j_3,1,Terminated,100,107,100,0.5
M2_1,1,j_3,1,Terminated,100,107,100,0.5
R4_9,1,j_4,1,Waiting,,,100,0.5
M1,none,j_5,1,Terminated,100,107,100,0.5
M1,1,j_5,1,Terminated,107,100,100,0.5
M1,1,j_5,1,Terminated
";

#[test]
fn tasks_of_alibaba_become_dags() -> Outcome {
    assert_eq!(dags::recognise(TASKS.as_bytes(), "tasks"), Some(Format::AlibabaTasks));
    let log = read(TASKS, Format::AlibabaTasks)?;
    let ids: Vec<_> = log.dags.iter().map(|dag| (&*dag.id, dag.start_ms, dag.is_complete)).collect();
    assert_eq!(ids, [("j_2", Some(0), true), ("j_1", Some(10_000), false), ("j_4", None, false)]);
    let stages = |dag: &Dag| {
        let stages = dag.stages.iter();
        stages.map(|stage| (stage.name.to_string(), stage.num_tasks, stage.duration_ms)).collect::<Vec<_>>()
    };
    let name = str::to_owned;
    assert_eq!(
        stages(&log.dags[1]),
        [
            (name("M1"), 8, Some(10_000)),
            (name("R2_1"), 3, Some(30_000)),
            (name("M3"), 2, Some(20_000)),
            (name("J5_2_3_Stg7"), 1, None),
        ]
    );
    assert_eq!(log.dags[1].edges, [[0, 1], [1, 3], [2, 3]]);
    assert_eq!(log.dags[1].stages[1].cores, Some(0.5));
    assert_eq!((log.dags[0].stages.len(), log.dags[0].edges.len()), (2, 0));
    assert_eq!((log.missing_parents, log.circular), (1, 1));
    let skipped: Vec<_> = log.skipped.iter().map(|skipped| (&*skipped.reason, skipped.count, skipped.first)).collect();
    assert_eq!(
        skipped,
        [
            ("its instances are no whole number from 1 on", 1, 11),
            ("it ends before it starts", 1, 12),
            ("it has not 9 cells", 1, 13),
            ("its job has a task of this number already", 1, 7),
        ]
    );
    assert_eq!(log.notes().len(), 9);
    Ok(())
}

const WORKFLOW: &str = r#"{"name":"w","schemaVersion":"1.5","workflow":{"specification":{"tasks":[
 {"name":"c","id":"c","parents":["a","b"],"children":["x"]},
 {"name":"a","id":"a","parents":[],"children":["c"]},
 {"name":"b","id":"b","children":[]},
 {"name":"a","id":"a","parents":[],"children":[]}]},
 "execution":{"tasks":[{"id":"a","runtimeInSeconds":1.2345,"coreCount":4.0},{"id":"b","runtimeInSeconds":-1},{"id":"c","runtimeInSeconds":2}]}}}"#;

#[test]
fn workflows_become_dags() -> Outcome {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(format!("\u{feff}{WORKFLOW}").as_bytes())?;
    for bytes in [WORKFLOW.as_bytes().to_vec(), packed.finish()?] {
        let log = read_bytes(&bytes, "file", Format::WfCommons)?;
        let dag = &log.dags[0];
        assert_eq!((&*dag.id, log.dags.len(), log.missing_parents, dag.is_complete), ("w", 1, 1, false));
        let durations: Vec<_> = dag.stages.iter().map(|stage| (&*stage.name, stage.duration_ms, stage.cores)).collect();
        assert_eq!(durations, [("a", Some(1235), Some(4.0)), ("b", None, None), ("c", Some(2000), None)]);
        assert_eq!(dag.edges, [[0, 2], [1, 2]]);
        assert_eq!((&*log.skipped[0].reason, log.skipped[0].first), ("there is a task of this id already", 4));
    }
    assert_eq!(dags::recognise(WORKFLOW.as_bytes(), ""), Some(Format::WfCommons));
    Ok(())
}

/// Counts: `python3 -c 'import gzip,json; j=json.load(gzip.open("dags.json.gz"))["jobs"]; print(len(j), sum(len(x[0]) for x in j),
/// sum(len(x[1]) for x in j), sum(s[0] for x in j for s in x[0]))'` prints `28957 107035 83395 11685050`.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn published_shapes_are_read() -> Outcome {
    let path = shared("alibaba/dags.json.gz");
    assert_eq!(dags::recognise_file(&path)?, Some(Format::Shapes));
    let log = dags::read(&path, Format::Shapes, &mut |_, _| {})?;
    let stages = || log.dags.iter().flat_map(|dag| &dag.stages);
    let edges: usize = log.dags.iter().map(|dag| dag.edges.len()).sum();
    assert_eq!((log.dags.len(), stages().count(), edges), (28_957, 107_035, 83_395));
    assert_eq!(stages().map(|stage| u64::from(stage.num_tasks)).sum::<u64>(), 11_685_050);
    assert_eq!(log.notes(), Vec::<String>::new());
    Ok(())
}

const SHAPES: &str = r#"{"columns": ["stages", "edges"], "jobs": [
 [[[3, 1.5], [1, 0], [2, 7]], [[2, 0], [0, 1], [2, 0]]],
 [[], []],
 [[[0, 1]], []],
 [[[1, -1]], []],
 [[[1, 1]], [[0, 1]]],
 [[[1, 1], [1, 1]], [[0, 1], [1, 0]]]]}"#;

#[test]
fn shapes_become_dags() -> Outcome {
    assert_eq!(dags::recognise(SHAPES.as_bytes(), ""), Some(Format::Shapes));
    let log = read(SHAPES, Format::Shapes)?;
    let [dag] = &log.dags[..] else { panic!("one DAG") };
    let stages: Vec<_> = dag.stages.iter().map(|stage| (&*stage.name, stage.num_tasks, stage.duration_ms)).collect();
    assert_eq!(stages, [("2", 2, Some(7000)), ("0", 3, Some(1500)), ("1", 1, Some(0))]);
    assert_eq!((&*dag.id, &*dag.edges, dag.start_ms), ("dag-1", &[[0, 1], [1, 2]][..], None));
    let skipped: Vec<_> = log.skipped.iter().map(|skipped| (&*skipped.reason, skipped.first)).collect();
    assert_eq!(
        skipped,
        [
            ("it has no stage", 2),
            ("a stage has no instance, or too many", 3),
            ("a stage takes a time that is not in 0..=1e12 s", 4),
            ("an edge names a stage that is not there", 5),
            ("its stages wait for each other in a circle", 6),
        ]
    );
    Ok(())
}

#[test]
fn files_of_another_form_are_refused() -> Outcome {
    let old = "1,2,j,t,5,Terminated,100,0.5\n";
    assert_eq!(dags::recognise(old.as_bytes(), "x.csv"), None);
    assert_eq!(dags::recognise(old.as_bytes(), "batch_task.csv"), Some(Format::AlibabaTasks));
    for (text, format, says) in [
        (old, Format::AlibabaTasks, "line 1: a line has 8 cells, as in the trace of 2017"),
        ("1,2,3,4,5,6,7,8,9,10,11,12,13,14\n", Format::AlibabaTasks, "as in `batch_instance.csv`"),
        ("", Format::AlibabaTasks, "to its end: there is no row; a row is a task"),
        (WORKFLOW, Format::AlibabaTasks, "is a job; here"),
        (TASKS, Format::WfCommons, "line 1: expected value at line 1 column 1; a workflow has"),
        ("{\"jobs\": [[[[1, 1]]]]}", Format::Shapes, "line 1, column 20: invalid length 1"),
        (
            "{\"jobs\": [[[], []]]}",
            Format::Shapes,
            "row 1: none of 1 rows is a DAG; here it has no stage; a row is [stages, edges]",
        ),
        ("{}", Format::WfCommons, "the object: there is no `workflow`"),
        (
            r#"{"schemaVersion":"1.4","workflow":{"tasks":[]}}"#,
            Format::WfCommons,
            "`workflow`: there is no `specification`; this is WfFormat in version \"1.4\"",
        ),
        (r#"{"workflow":{"specification":{"tasks":[]}}}"#, Format::WfCommons, "there is no task"),
        (
            r#"{"workflow":{"specification":{"tasks":[{"id":"a","parents":["a"]}]}}}"#,
            Format::WfCommons,
            "tasks wait for each other in a circle",
        ),
    ] {
        let message = refusal(text, format);
        assert!(message.contains(says), "{message}");
    }
    Ok(())
}
