//! Jobs of a log as a workload file: what is written, read again and cut.

#[path = "../../../tests/support/job_files.rs"]
mod job_files;

use job_files::{Outcome, have_the_same_windows, open, refused, swf, write};
use sched_distill_core::rng::{EpisodeId, Split};
use sched_distill_training::{
    Training,
    cluster::{JobType, TrainingCluster},
};
use std::fs;

/// All of a cluster that episodes depend on: not how long the jobs of a type are beside those of others, by which jobs are generated, nor
/// which law its speeds come from.
fn told(cluster: &TrainingCluster) -> impl PartialEq {
    let types: Vec<JobType> = cluster.types.iter().map(|t| JobType { epoch_share: 1.0, ..t.clone() }).collect();
    let best: Vec<f64> = (0..cluster.types.len() as u8).map(|kind| cluster.speed.best(kind)).collect();
    let numbers = (cluster.nodes, cluster.node_slots, cluster.slot_s, cluster.max_workers, cluster.max_servers);
    (types, numbers, cluster.speed.rows(), best, cluster.speed_error)
}

/// A log as a workload, and the file that it is written as, have the same cluster and jobs, whole and cut.
#[test]
fn a_log_and_the_workload_file_that_it_becomes_are_the_same() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (log, file) = (dir.path().join("log.swf"), dir.path().join("jobs.json"));
    fs::write(&log, swf(2000))?;
    let log = format!("swf:{},epoch-error=0.3,slot=700,dips=0.2,speed-error=0.1", log.display());
    let file_spec = format!("json:{}", file.display());
    let id = EpisodeId::new(3, Split::Train, 0);
    let whole = open::<Training>(&format!("{log},split=none"))?;
    write(&whole, &whole.jobs(id), &file)?;
    let read = open::<Training>(&file_spec)?;
    assert!(told(read.cluster()) == told(whole.cluster()));
    assert_eq!(read.jobs(id), whole.jobs(id));
    for cut in ["split=time", "split=interleaved,window=6h,stride=2h,gap=1h,rate=3"] {
        let (from_log, from_file) =
            (open::<Training>(&format!("{log},{cut}"))?, open::<Training>(&format!("{file_spec},{cut}"))?);
        have_the_same_windows(&from_log, &from_file, |job| job.recorded.is_some_and(|r| r.arrival_ms == 0.0));
    }
    let fast = open::<Training>(&format!("{file_spec},rate=2"))?.jobs(id);
    assert_eq!((fast.len(), fast[7].recorded.map(|recorded| recorded.arrival_ms)), (2000, Some(6.3e6)));
    let message = refused::<Training>(&format!("{file_spec},window=6h"));
    assert!(message.contains("window must be given with split=time"), "{message}");
    Ok(())
}

/// Jobs of which nothing is recorded, speeds of all kinds, and jobs that come in slots, cut by time.
#[test]
fn jobs_of_all_workloads_are_written() -> Outcome {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("jobs.json");
    let id = EpisodeId::new(5, Split::Test, 1);
    for spec in [
        "builtin",
        "builtin,jobs=500,slot=0.7,epoch-error=0.2,speed-error=0.3,max=5",
        "builtin,speed=analytic,nodes=9",
        "builtin,dips=0.3,types=3",
    ] {
        let workload = open::<Training>(spec)?;
        write(&workload, &workload.jobs(id), &file)?;
        let read = open::<Training>(&format!("json:{}", file.display()))?;
        assert!(told(read.cluster()) == told(workload.cluster()), "{spec}");
        assert_eq!(read.jobs(id), workload.jobs(id), "{spec}");
        let text = fs::read_to_string(&file)?;
        assert_eq!(text.contains(r#""speed": {"table":[[["#), spec.contains("dips"), "{spec}");
    }
    let workload = open::<Training>("builtin,jobs=900,rate=0.3")?;
    let mut jobs = workload.jobs(id);
    write(&workload, &jobs, &file)?;
    let cut = open::<Training>(&format!("json:{},split=time,window=1d", file.display()))?;
    // Three slots an hour: an episode has those of its day, from its beginning on.
    let day = cut.jobs(EpisodeId::new(1, Split::Test, 0));
    let first = jobs.iter().position(|job| (job.kind, job.epochs) == (day[0].kind, day[0].epochs));
    assert!(first.is_some() && (15..30).contains(&day.len()) && day.iter().all(|job| job.arrival_slot < 72), "{day:?}");
    jobs[2].real_epochs = f64::NAN;
    let says = write(&workload, &jobs, &file).map_err(|error| error.to_string());
    assert_eq!(says, Err("job 2: real_epochs must be a number in 1e-9..=1e12, got NaN".to_owned()));
    Ok(())
}

#[test]
fn what_is_wrong_with_a_recorded_job_is_said() -> Outcome {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("jobs.json");
    let jobs = |more: &str| {
        format!(
            r#"{{"jobs": [{{"type": "vgg-16", "epochs": 5, "arrival_ms": 7}}, {{"type": "vgg-16", "epochs": 5, {more}}}]}}"#
        )
    };
    for (more, says) in [
        (r#""arrival_ms": 9, "ran": [12, 10]"#, "job 1: ran must be a start"),
        (r#""arrival_ms": 9, "ran": [8, 10]"#, "both in 9..=1e15 ms, got [8, 10]"),
        (r#""arrival_slot": 1, "ran": [1100000, 1300000]"#, "both in 1200000..=1e15 ms, got [1100000, 1300000]"),
        (r#""arrival_ms": 9, "ran": [10, null]"#, "got [10, null]"),
        (r#""arrival_ms": 9, "arrival_slot": 1"#, "job 1: has both `arrival_slot` and `arrival_ms`"),
        (r#""real_epochs": 5"#, "job 1: has neither `arrival_slot` nor `arrival_ms`"),
        (r#""arrival_ms": 6"#, "job 1: arrives at 6 ms, before the job above it, which arrives at 7 ms"),
        (r#""arrival_slot": 0"#, "job 1: arrives at slot 0, before the job above it, which arrives at slot 0"),
        (r#""arrival_ms": 1e13"#, "job 1: arrival_ms must be a number in 0..=1200000000000, up to slot 1000000"),
        (r#""arrival_slot": 1000001"#, "job 1: arrival_slot must be in 0..=1000000, got 1000001"),
    ] {
        fs::write(&file, jobs(more))?;
        let message = refused::<Training>(&format!("json:{}", file.display()));
        assert!(message.contains("jobs.json") && message.contains(says), "{more}: {message}");
    }
    fs::write(&file, jobs(r#""arrival_ms": 1300000, "ran": [null, 1500000]"#))?;
    let read = open::<Training>(&format!("json:{}", file.display()))?.jobs(1);
    assert_eq!((read[1].arrival_slot, read[1].recorded.map(|recorded| recorded.ran.end_ms)), (1, Some(2e5)));
    for (speed, says) in [
        (r#"{"table": [[[1, 2]]]}"#, "a table of speeds is needed for each of the 8 types, got 1"),
        (r#"{"rows": []}"#, "speed must be formula, analytic, a grid file"),
    ] {
        let text = jobs(r#""arrival_ms": 9"#).replacen('{', &format!(r#"{{"speed": {speed}, "#), 1);
        fs::write(&file, text)?;
        let message = refused::<Training>(&format!("json:{}", file.display()));
        assert!(message.contains("jobs.json") && message.contains(says), "{speed}: {message}");
    }
    Ok(())
}
