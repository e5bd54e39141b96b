//! What a simulated cluster writes down is read again as it was.

use sched_distill_core::{
    rng::{EpisodeId, Split},
    scenario::Said,
    simulation::{Simulated, Simulation as _},
};
use sched_distill_dag::{
    Dag, policies,
    workload::{self, DagWorkload, JobArrival},
};
use sched_distill_histories::spark;
use std::{collections::BTreeMap, error::Error, fs::File, io::BufWriter, path::Path};

type Outcome = Result<(), Box<dyn Error>>;

fn open(spec: &str) -> Result<DagWorkload, Box<dyn Error>> {
    Ok(workload::open(&spec.parse()?)?)
}

fn write(workload: &DagWorkload, policy: &str, id: EpisodeId, path: &Path) -> Outcome {
    let log = Dag::LOG.ok_or("this scenario has a log")?;
    let mut policy = policies::open(&policy.parse()?)?;
    let mut out = BufWriter::new(File::create(path)?);
    (log.write)(workload, &mut *policy, id, "episode", &mut out).map_err(|e| e.to_string())?;
    std::io::Write::flush(&mut out)?;
    Ok(())
}

/// By job and stage, the whole ms that tasks took, ascending.
type Durations = BTreeMap<(u32, u32), Vec<i64>>;

/// What tasks took in an episode.
fn durations(workload: &DagWorkload, policy: &str, id: EpisodeId) -> Result<Durations, Box<dyn Error>> {
    let mut episode = Dag::start(workload, workload.jobs(id), id.seed);
    episode.record_tasks();
    let (mut policy, mut said) = (policies::open(&policy.parse()?)?, Said::default());
    policy.reset(id.seed);
    while let Some(seen) = episode.view() {
        said.clear();
        let decision = policy.decide(&seen, &mut said)?;
        episode.step(decision)?;
    }
    let mut durations = Durations::new();
    for run in episode.task_runs() {
        durations.entry((run.job, run.part)).or_default().push((run.end_ms - run.start_ms).round() as i64);
    }
    durations.values_mut().for_each(|all| all.sort_unstable());
    Ok(durations)
}

/// Of a hundred episodes, with jobs of all shapes and policies that draw and that do not.
#[test]
fn an_event_log_has_the_dags_arrivals_and_durations_of_its_episode() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("log");
    for (episode, policy) in
        (0..100).zip(["fair", "sjf-cp,temperature=0.5,mode=sample", "fifo", "random"].into_iter().cycle())
    {
        let workload =
            open(["builtin,jobs=6,executors=7", "builtin,jobs=5,executors=3,edge=mix"][episode as usize % 2])?;
        let id = EpisodeId::new(5, Split::Test, episode);
        write(&workload, policy, id, &path)?;
        let log = spark::read(&path, &mut |_, _| {})?;
        assert_eq!(log.notes(), Vec::<String>::new());
        let [application] = &log.applications[..] else { panic!("one application") };
        assert_eq!(application.most_executors().1, u64::from(workload.cluster().num_executors));
        let (queries, jobs) = (application.queries(), workload.jobs(id));
        assert_eq!((queries.jobs.len(), queries.rebuilding.notes()), (jobs.len(), Vec::new()));
        let first_ms = queries.jobs.first().map_or(0, |job| job.submission_ms) - jobs[0].arrival_ms.round() as i64;
        let (mut found, mut first_stage) = (Durations::new(), 0);
        for ((read, job), number) in queries.jobs.iter().zip(&jobs).zip(0..) {
            let graph = job.template.graph();
            assert_eq!(
                (read.name.as_str(), read.submission_ms - first_ms),
                (graph.name(), job.arrival_ms.round() as i64)
            );
            assert!(read.is_complete && read.assumed_edges.is_empty());
            // Stages are read in the order in which they were submitted.
            let place = |stage: u32| read.stages[stage as usize].id - first_stage;
            let mut edges: Vec<[u32; 2]> = read.edges.iter().map(|edge| edge.map(place)).collect();
            edges.sort_unstable();
            let mut expected: Vec<[u32; 2]> = graph.edges().collect();
            expected.sort_unstable();
            assert_eq!(edges, expected);
            for stage in &read.stages {
                let spark::Waves { fresh, first, rest } = stage.durations();
                let mut all: Vec<i64> = [fresh, first, rest].into_iter().flatten().map(|ms| ms as i64).collect();
                all.sort_unstable();
                assert_eq!(all.len(), stage.num_tasks as usize);
                found.insert((number, stage.id - first_stage), all);
            }
            first_stage += graph.stages().len() as u32;
        }
        assert_eq!(found, durations(&workload, policy, id)?, "episode {episode} under {policy}");
    }
    Ok(())
}

/// Of jobs whose tasks all take the same time, on executors that need none to move, the simulator does what it recorded. Executors that a
/// scheduler leaves idle, as fair shares do, are used in a replay.
#[test]
fn a_schedule_that_the_simulator_made_is_replayed_without_error() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (jobs, log) = (dir.path().join("jobs.json"), dir.path().join("log"));
    let stage = |tasks: u32, ms: u32| format!(r#"{{"num_tasks": {tasks}, "durations": {ms}}}"#);
    let job = |at_ms: u32, k: u32| {
        let stages = [stage(3 + k, 1000 + 100 * k), stage(2, 500), stage(5 - k, 700)].join(", ");
        format!(r#"{{"arrival_ms": {at_ms}, "edges": [[0, 1], [0, 2]], "stages": [{stages}]}}"#)
    };
    let all: Vec<String> = (0..5).map(|k| job(1500 * k, k)).collect();
    std::fs::write(&jobs, format!(r#"{{"num_executors": 4, "moving_delay_ms": 0, "jobs": [{}]}}"#, all.join(", ")))?;
    let workload = open(&format!("json:{}", jobs.display()))?;
    for policy in ["fifo", "sjf"] {
        let id = EpisodeId::new(1, Split::Train, 0);
        write(&workload, policy, id, &log)?;
        let recorded = open(&format!("spark:{}", log.display()))?;
        let jobs = recorded.jobs(id);
        let mut replay = Dag::replay(&jobs).ok_or("a log has a schedule")?;
        let mut episode = Dag::start(&recorded, jobs.clone(), 9);
        let mut said = Said::default();
        while let Some(seen) = episode.view() {
            let decision = replay.policy.decide(&seen, &mut said)?;
            episode.step(decision)?;
        }
        let took = |(job, arrival): (u32, &JobArrival)| episode.completed_ms(job).map(|ms| ms - arrival.arrival_ms);
        let took: Vec<Option<f64>> = (0..).zip(&jobs).map(took).collect();
        assert_eq!(took, replay.completed_ms, "{policy}");
    }
    Ok(())
}

/// A log as a workload, and the file that it is written as, have the same jobs, whole and cut.
#[test]
fn a_log_and_the_workload_file_that_it_becomes_are_the_same() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (log, file) = (dir.path().join("log"), dir.path().join("jobs.json"));
    let id = EpisodeId::new(3, Split::Train, 0);
    write(&open("builtin,jobs=300,executors=12,rate=1e-4")?, "fair", id, &log)?;
    let recorded = open(&format!("spark:{}", log.display()))?;
    let write_jobs = Dag::WRITE_JOBS.ok_or("jobs are written")?;
    write_jobs(recorded.cluster(), &recorded.jobs(id), &mut File::create(&file)?)?;
    for cut in ["", ",split=time", ",split=interleaved,window=30s,rate=2"] {
        let [a, b] = [format!("spark:{}{cut}", log.display()), format!("json:{}{cut}", file.display())];
        let (a, b) = (open(&a)?, open(&b)?);
        assert_eq!((a.cluster(), a.most_episodes(Split::Test)), (b.cluster(), b.most_episodes(Split::Test)));
        for (split, episode) in Split::ALL.into_iter().zip(0..) {
            let id = EpisodeId::new(7, split, episode);
            assert_eq!(a.jobs(id), b.jobs(id), "{cut} {split:?}");
        }
    }
    let cut = open(&format!("spark:{},split=time", log.display()))?;
    assert!(cut.most_episodes(Split::Test).is_some_and(|n| n >= 8), "{:?}", cut.notes());
    assert!(cut.notes().iter().any(|note| note.starts_with("windows of ")), "{:?}", cut.notes());
    // Windows begin with what ran or waited then.
    let left =
        |episode| cut.jobs(EpisodeId::new(1, Split::Test, episode)).iter().filter(|job| job.arrival_ms == 0.0).count();
    assert!((0..8).map(left).sum::<usize>() > 8);
    Ok(())
}

#[test]
fn what_is_wrong_with_a_recorded_job_is_said() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("jobs.json");
    let refused = |job: &str| -> Result<String, Box<dyn Error>> {
        std::fs::write(&path, format!(r#"{{"jobs": [{job}]}}"#))?;
        Ok(open(&format!("json:{}", path.display())).err().ok_or("it is refused")?.to_string())
    };
    let stage = |runs: &str| format!(r#"{{"num_tasks": 2, "durations": 5{runs}}}"#);
    let job = |stages: &str, more: &str| format!(r#"{{"arrival_ms": 3{more}, "stages": [{stages}]}}"#);
    let [one, two, back] =
        [r#", "runs": [[3, 8]]"#, r#", "runs": [[3, 8], [4, 9]]"#, r#", "runs": [[3, 8], [9, 4]]"#].map(stage);
    for (text, says) in [
        (job(&one, ""), "job 0, stage 0: has 1 `runs` for 2 tasks"),
        (job(&back, ""), "`runs` must be pairs of start and end in 0..=1e15 ms, got [9.0, 4.0]"),
        (job(&format!("{two}, {}", stage("")), ""), "stage 1: has no `runs`, and a stage before it has"),
        (job(&format!("{}, {two}", stage("")), ""), "stage 1: has `runs`, and a stage before it has none"),
        (job(&two, r#", "completed_ms": 2"#), "completed_ms must be a number in 3..=1e15 ms, got 2"),
    ] {
        let message = refused(&text)?;
        assert!(message.contains(says), "{message}");
    }
    let missing = open("spark:there-is-none").err().ok_or("it is refused")?.to_string();
    assert!(missing.contains("there-is-none: cannot read"), "{missing}");
    std::fs::write(&path, "{}")?;
    let other = open(&format!("spark:{}", path.display())).err().ok_or("it is refused")?.to_string();
    assert!(other.contains("has no event of Spark"), "{other}");
    Ok(())
}

/// What a log says of the time from stage to stage is what the simulated cluster had, and holds where executors are offered after each task.
#[test]
fn a_log_tells_how_long_after_their_parents_stages_are_submitted() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("log");
    let id = EpisodeId::new(5, Split::Test, 0);
    for submit in [0, 700] {
        let there = open(&format!("builtin,jobs=20,executors=5,rate=2e-4,delay=0,offers=task,submit={submit}"))?;
        write(&there, "sjf", id, &path)?;
        let log = open(&format!("spark:{}", path.display()))?;
        // Times of a log are whole.
        assert!((log.cluster().submit_ms - f64::from(submit)).abs() <= 1.0, "{}", log.cluster().submit_ms);
        let says =
            |workload: &DagWorkload| workload.notes().iter().any(|note| note.contains("after the last of its parents"));
        assert!(!says(&log));
        let by_task = open(&format!("spark:{},offers=task", path.display()))?;
        assert_eq!((by_task.cluster().submit_ms, says(&by_task)), (log.cluster().submit_ms, submit > 0));
        let other = open(&format!("spark:{},offers=task,submit=5", path.display()))?;
        assert_eq!((other.cluster().submit_ms, says(&other)), (5.0, false));
    }
    Ok(())
}

#[test]
fn a_workload_file_keeps_the_time_from_stage_to_stage() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("workload.json");
    let stage = r#"{"num_tasks": 1, "durations": 100}"#;
    let file = |submit_ms: &str| {
        let job = format!(r#"{{"arrival_ms": 0, "edges": [[0, 1]], "stages": [{stage}, {stage}]}}"#);
        std::fs::write(&path, format!(r#"{{"num_executors": 1, "moving_delay_ms": 0, {submit_ms}"jobs": [{job}]}}"#))
    };
    let completed = |spec: &str| -> Result<Option<f64>, Box<dyn Error>> {
        let workload = open(&format!("json:{},split=none{spec}", path.display()))?;
        let id = EpisodeId::new(0, Split::Test, 0);
        let mut episode = Dag::start(&workload, workload.jobs(id), 0);
        while let Some(seen) = episode.view() {
            let stage = seen.schedulable()[0];
            let executors = seen.committable();
            episode.step(sched_distill_dag::Decision::Assign { stage, executors })?;
        }
        let mut again = Vec::new();
        workload::write(workload.cluster(), &workload.jobs(id), &mut again)?;
        let kept = String::from_utf8(again)?.contains(r#""submit_ms": 30,"#);
        assert_eq!(kept, workload.cluster().submit_ms == 30.0);
        Ok(episode.completed_ms(0))
    };
    file("")?;
    assert_eq!(completed(",offers=task")?, Some(200.0));
    assert_eq!(completed(",offers=task,submit=30")?, Some(230.0));
    file(r#""submit_ms": 30, "#)?;
    assert_eq!(completed(",offers=task")?, Some(230.0));
    assert_eq!(completed(",offers=task,submit=0")?, Some(200.0));
    // Where executors wait for stages that cannot start, none is submitted late.
    assert_eq!(completed("")?, Some(200.0));
    let says = open(&format!("json:{},submit=30", path.display())).unwrap_err().to_string();
    assert!(says.contains("submit=30") && says.contains("offers=task"), "{says}");
    file(r#""submit_ms": -1, "#)?;
    let says = open(&format!("json:{}", path.display())).unwrap_err().to_string();
    assert!(says.contains("submit_ms must be a number in 0..=1e15 ms, got -1"), "{says}");
    Ok(())
}
