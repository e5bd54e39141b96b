//! Published traces of DAGs as workloads.

use sched_distill_core::{
    rng::{EpisodeId, Split},
    simulation::Simulated,
};
use sched_distill_dag::{
    Dag,
    workload::{self, DagWorkload, JobTemplate},
};
use std::{collections::BTreeMap, error::Error, fs, io::Write as _, path::Path, sync::Arc};

type Outcome = Result<(), Box<dyn Error>>;

/// A published trace (not part of the repository). A test that calls this carries
/// `#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]`.
fn shared(file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories").join(file).display().to_string()
}

fn open(spec: &str) -> Result<DagWorkload, Box<dyn Error>> {
    Ok(workload::open(&spec.parse()?)?)
}

fn refused(spec: &str) -> String {
    open(spec).map_or_else(|error| error.to_string(), |workload| format!("opened: {workload:?}"))
}

/// All jobs that some episodes of a split draw, by their names.
fn drawn(workload: &DagWorkload, split: Split, episodes: u32) -> BTreeMap<String, Arc<JobTemplate>> {
    let jobs = (0..episodes).flat_map(|episode| workload.jobs(EpisodeId::new(1, split, episode)));
    jobs.map(|job| (job.template.graph().name().to_owned(), job.template)).collect()
}

/// What a job is, but for its name.
fn shape(job: &JobTemplate) -> String {
    format!("{:?} {:?}", job.graph().stages(), job.graph().edges().collect::<Vec<_>>())
}

/// Counts as `crates/histories/tests/dag_traces.rs` has them by another reading.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn published_workflows_are_drawn_and_none_for_two_splits() -> Outcome {
    let workload = open(&format!("wfcommons:{},jobs=200", shared("wfcommons")))?;
    assert_eq!((workload.files().len(), workload.cluster().num_executors), (40, 10));
    let mut totals = [0, 0, 0];
    let mut kinds: BTreeMap<String, Split> = BTreeMap::new();
    for split in Split::ALL {
        let jobs = drawn(&workload, split, 5);
        for (name, job) in &jobs {
            let kind = name.trim_end_matches(|char: char| char.is_ascii_digit()).to_owned();
            assert_eq!(*kinds.entry(kind).or_insert(split), split, "{name}");
            let graph = job.graph();
            totals = [totals[0] + 1, totals[1] + graph.stages().len(), totals[2] + graph.edges().count()];
        }
    }
    assert_eq!(totals, [40, 2525, 3897]);
    let said = "no two splits draw from the same workflows: 20 for train, 6 for validation, 8 for test, 6 for final";
    assert!(workload.notes().iter().any(|note| note == said), "{:#?}", workload.notes());
    assert!(workload.notes().iter().any(|note| note == "1 of 41 files are no workflows, and are left out"));
    Ok(())
}

/// Counts: `python3 -c 'import gzip,json; j=json.load(gzip.open("dags.json.gz"))["jobs"]; print(len(j), sum(len(x[0]) for x in j),
/// sum(len(x[1]) for x in j), sum(s[1] < 1 for x in j for s in x[0]))'` prints `28957 107035 83395 7394`.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn shapes_of_alibaba_are_drawn_and_none_for_two_splits() -> Outcome {
    let workload = open(&format!("shapes:{},jobs=20000", shared("alibaba/dags.json.gz")))?;
    let said =
        "no two splits draw from the same DAGs: 14478 for train, 4344 for validation, 5791 for test, 4344 for final";
    assert!(workload.notes().iter().any(|note| note == said), "{:#?}", workload.notes());
    assert!(
        workload
            .notes()
            .iter()
            .any(|note| note
                == "7394 of 107035 stages have tasks that took less than a second, and are taken to take one")
    );
    let (mut totals, mut shapes) = ([0, 0, 0], BTreeMap::<String, Split>::new());
    for split in Split::ALL {
        let jobs = drawn(&workload, split, 12);
        for job in jobs.values() {
            let graph = job.graph();
            totals = [totals[0] + 1, totals[1] + graph.stages().len(), totals[2] + graph.edges().count()];
            if graph.stages().len() > 1 {
                assert_eq!(*shapes.entry(shape(job)).or_insert(split), split);
            }
        }
    }
    assert_eq!(totals, [28_957, 107_035, 83_395]);
    Ok(())
}

/// Two jobs of one stage, a chain beside a stage that stands alone, and one that did not end.
const TASKS: &str = "\
M1,2,j_1,1,Terminated,110,120,100,0.2
R2_1,3,j_1,1,Terminated,120,150,50,0.2
M3,1,j_1,1,Terminated,110,130,100,0.2
M1,4,j_2,1,Terminated,115,115,100,0.2
M1,1,j_3,1,Running,130,0,100,0.2
M1,6,j_4,1,Terminated,160,170,100,0.2
";

#[test]
fn jobs_of_alibaba_come_when_their_first_stage_started() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("tasks.csv");
    fs::write(&path, TASKS)?;
    let workload = open(&format!("alibaba:{}", path.display()))?;
    // Two and one run from 110 on, four more from 115 to 116.
    assert_eq!((workload.cluster().num_executors, workload.cluster().moving_delay_ms), (7, 0.0));
    let jobs = workload.jobs(EpisodeId::new(1, Split::Train, 0));
    let arrivals: Vec<_> = jobs.iter().map(|job| (job.template.graph().name(), job.arrival_ms)).collect();
    assert_eq!(arrivals, [("j_1", 0.0), ("j_2", 5000.0), ("j_4", 50_000.0)]);
    assert_eq!(jobs[0].template.graph().edges().collect::<Vec<_>>(), [[0, 1]]);
    let runs = &jobs[0].template.recorded().ok_or("a record")?.runs;
    let expected = [vec![[0.0, 10_000.0]; 2], vec![[10_000.0, 40_000.0]; 3], vec![[0.0, 20_000.0]]];
    assert_eq!(runs, &expected.into_iter().collect());
    for note in [
        "when jobs were submitted is not in the trace: their first task starts some time later",
        "1 of 4 DAGs are left out, as nobody knows how long all of their stages take",
        "1 of 5 stages have tasks that took less than a second, and are taken to take one",
        "there are 7 executors, as many as instances ran at once at most if those of a stage all run from its start to its end (`executors=N` sets another number)",
    ] {
        assert!(workload.notes().iter().any(|said| said == note), "{note}: {:#?}", workload.notes());
    }
    let replay = Dag::replay(&jobs).ok_or("a schedule is recorded")?;
    assert_eq!(replay.completed_ms, [Some(40_000.0), Some(1000.0), Some(10_000.0)]);
    assert_eq!(open(&format!("alibaba:{},executors=3", path.display()))?.cluster().num_executors, 3);
    fs::write(&path, "M1,200000,j_1,1,Terminated,110,120,100,0.2\n")?;
    let message = refused(&format!("alibaba:{}", path.display()));
    assert!(
        message.contains(
            "has 200000 instances at once, and at most 100000 executors are possible: `executors=N` names fewer"
        ),
        "{message}"
    );
    fs::write(&path, "M1,2,j_1,1,Running,110,0,100,0.2\n")?;
    assert!(refused(&format!("alibaba:{}", path.display())).contains("has no job whose stages all ran to their end"));
    Ok(())
}

#[test]
fn a_trace_of_alibaba_is_cut_by_time_plain_or_packed() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (plain, packed) = (dir.path().join("tasks"), dir.path().join("batch_task.csv.gz"));
    let line = |i: u32| {
        format!(
            "M1,{},j_{i},1,Terminated,{},{},100,0.2\nR2_1,1,j_{i},1,Terminated,{},{},100,0.2\n",
            1 + i % 3,
            100 + 7 * i,
            120 + 7 * i,
            120 + 7 * i,
            133 + 7 * i
        )
    };
    let text: String = (0..900).map(line).collect();
    fs::write(&plain, &text)?;
    let mut packing = sched_distill_core::workload::packing(fs::File::create(&packed)?);
    packing.write_all(text.as_bytes())?;
    packing.finish()?;
    for cut in ["split=time", "split=interleaved,window=30s"] {
        let [a, b] = [&plain, &packed].map(|path| open(&format!("alibaba:{},{cut}", path.display())));
        let (a, b) = (a?, b?);
        let mut used: BTreeMap<String, Split> = BTreeMap::new();
        for split in Split::ALL {
            for episode in 0..a.most_episodes(split).unwrap_or(60) {
                let id = EpisodeId::new(1, split, episode);
                let jobs = a.jobs(id);
                assert_eq!(jobs, b.jobs(id));
                for job in jobs {
                    assert_eq!(*used.entry(job.template.graph().name().to_owned()).or_insert(split), split, "{cut}");
                }
            }
        }
        assert!(used.len() > 700, "{cut}: {}", used.len());
        // A window begins with what ran then: a job takes 33 s, and one comes each 7 s.
        let first = a.jobs(EpisodeId::new(1, Split::Test, 1));
        assert!(first.iter().filter(|job| job.arrival_ms == 0.0).count() >= 4, "{cut}");
    }
    Ok(())
}

#[test]
fn files_tell_which_workload_reads_them() -> Outcome {
    let dir = tempfile::tempdir()?;
    let folder = dir.path().join("workflows");
    fs::create_dir(&folder)?;
    let path = folder.join("a.json");
    let reads = |text: &str, path: &Path, at: &Path| -> Result<Vec<&'static str>, std::io::Error> {
        fs::File::create(path)?.write_all(text.as_bytes())?;
        let defs = Dag::WORKLOADS.iter().filter(|def| def.reads.is_some_and(|reads| reads(at)));
        Ok(defs.map(|def| def.info.name).collect())
    };
    let workflow = r#"{"name":"w","schemaVersion":"1.5","workflow":{"specification":{"tasks":[{"id":"a"}]},"execution":{"tasks":[{"id":"a","runtimeInSeconds":1.5}]}}}"#;
    assert_eq!(reads(workflow, &path, &path)?, ["wfcommons"]);
    assert_eq!(reads(workflow, &path, &folder)?, ["wfcommons"]);
    let workload = open(&format!("wfcommons:{}", folder.display()))?;
    assert_eq!(workload.jobs(1)[0].template.graph().name(), "a");
    assert!(
        workload.notes().iter().any(|note| note.starts_with("there are fewer than 20 different workflows")),
        "{:?}",
        workload.notes()
    );
    assert_eq!(reads(TASKS, &path, &path)?, ["alibaba"]);
    assert!(
        refused(&format!("wfcommons:{}", folder.display()))
            .contains("has 1 files, none of which is a workflow in WfFormat 1.5")
    );
    assert_eq!(reads("{\"columns\": {}, \"jobs\" : [ [ [[1, 2]], [] ] ]}", &path, &path)?, ["shapes"]);
    for text in ["", r#"{"jobs": [{"arrival_ms": 0, "stages": []}]}"#, "a,b\n", "[[[1, 2]]]"] {
        assert!(reads(text, &path, &path)?.is_empty(), "{text}");
    }
    Ok(())
}

#[test]
fn shapes_without_a_rate_come_at_full_load() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("dags.json");
    // A second and four tasks of two, in half of them the other way round; and one that is none.
    let job =
        |i: u32| if i.is_multiple_of(2) { "[[[1, 1], [4, 2]], [[0, 1]]]" } else { "[[[4, 2], [1, 0.0]], [[1, 0]]]" };
    let jobs: Vec<&str> = (0..20).map(job).chain(["[[[1, 1]], [[0, 0]]]"]).collect();
    fs::write(&path, format!("{{\"jobs\": [{}]}}", jobs.join(",\n")))?;
    let workload = open(&format!("shapes:{},executors=18", path.display()))?;
    let notes = [
        "row 21 is left out: its stages wait for each other in a circle",
        "10 of 40 stages have tasks that took less than a second, and are taken to take one",
        "when DAGs came is not recorded: they are drawn, and come at a rate of 2.000e-3 a ms, which is a load of 1.00 on 18 executors (`rate` and `executors` set others)",
        // They are all the same.
        "there are fewer than 20 different DAGs, too few to be divided: every split draws from all",
    ];
    assert_eq!(workload.notes(), notes);
    let jobs = workload.jobs(1);
    let last_ms = jobs.last().map_or(0.0, |job| job.arrival_ms);
    assert!(jobs.len() == 50 && (10_000.0..60_000.0).contains(&last_ms), "{last_ms}");
    let stages = jobs[0].template.graph().stages();
    assert_eq!((stages[0].num_tasks, stages[1].num_tasks, stages[0].rough_ms), (1, 4, 1000.0));
    let other = open(&format!("shapes:{},executors=18,rate=4e-5,jobs=3,edge=giant,durations=median", path.display()))?;
    assert!(
        other.jobs(1).len() == 3 && other.notes()[2].contains("4.000e-5 a ms, which is a load of 0.02"),
        "{:?}",
        other.notes()
    );
    fs::write(&path, "{\"jobs\": []}")?;
    let message = refused(&format!("shapes:{}", path.display()));
    assert!(message.contains("dags.json: to its end: there is no row; a row is [stages, edges] of a DAG"), "{message}");
    Ok(())
}
