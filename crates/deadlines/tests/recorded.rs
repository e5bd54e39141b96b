//! Jobs of a log as a workload file: what is written, read again, cut and replayed.

use sched_distill_core::{
    rng::{EpisodeId, Split},
    scenario::Said,
    simulation::{Simulated, Simulation as _},
};
use sched_distill_deadlines::{
    Deadlines,
    workload::{DeadlineJob, DeadlineWorkload},
};
use std::{error::Error, fs, fs::File, io::Write as _, path::Path};

type Outcome = Result<(), Box<dyn Error>>;

fn open(spec: &str) -> Result<DeadlineWorkload, Box<dyn Error>> {
    Ok(DeadlineWorkload::open(&spec.parse()?)?)
}

fn refused(spec: &str) -> String {
    open(spec).map_or_else(|error| error.to_string(), |workload| format!("opened: {workload:?}"))
}

/// A log in the Standard Workload Format of jobs that run on 64 cores from a while after their submission on; of every fortieth it is not
/// known since when.
fn swf(jobs: u32) -> String {
    let line = |i: u32| {
        let (submit, cores, takes) = (1800 * i, 1 << (i % 5), 3600 + 977 * (i % 13));
        let wait = if i % 40 == 7 { -1 } else { (i % 3) as i32 * 600 };
        format!("{} {submit} {wait} {takes} {cores} -1 -1 {cores} -1 -1 1 1 1 1 1 -1 -1 -1\n", i + 1)
    };
    std::iter::once("; MaxNodes: 8\n; MaxProcs: 64\n".to_owned()).chain((0..jobs).map(line)).collect()
}

fn write(workload: &DeadlineWorkload, jobs: &[DeadlineJob], path: &Path) -> Outcome {
    let write = Deadlines::WRITE_JOBS.ok_or("jobs are written")?;
    let mut out = File::create(path)?;
    write(workload.cluster(), jobs, &mut out)?;
    Ok(out.flush()?)
}

/// When jobs are completed, and of how many it is not known when they ran.
type Replayed = (Vec<Option<f64>>, usize);

/// Carries the recorded order out again.
fn replayed(workload: &DeadlineWorkload, id: EpisodeId) -> Result<Replayed, Box<dyn Error>> {
    let jobs = workload.jobs(id);
    let mut replay = Deadlines::replay(&jobs).ok_or("a schedule is recorded")?;
    let mut episode = Deadlines::start(workload, jobs.clone(), id.seed);
    while let Some(seen) = episode.view() {
        let decision = replay.policy.decide(&seen, &mut Said::default())?;
        episode.step(decision)?;
    }
    let done = (0..jobs.len() as u32).map(|job| episode.completed_ms(job)).chain(replay.completed_ms);
    Ok((done.collect(), replay.unknown))
}

/// A log as a workload, and the file that it is written as, have the same cluster and jobs, whole and cut.
#[test]
fn a_log_and_the_workload_file_that_it_becomes_are_the_same() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (log, file) = (dir.path().join("log.swf"), dir.path().join("jobs.json"));
    fs::write(&log, swf(2000))?;
    let errors = "inflated=0.3,prediction-error=0.2,refuse=1";
    let log = format!("swf:{},{errors}", log.display());
    let file_spec = format!("json:{}", file.display());
    let id = EpisodeId::new(3, Split::Train, 0);
    let whole = open(&format!("{log},split=none"))?;
    write(&whole, &whole.jobs(id), &file)?;
    let read = open(&file_spec)?;
    assert_eq!((read.cluster(), read.jobs(id)), (whole.cluster(), whole.jobs(id)));
    assert_eq!(replayed(&read, id)?, replayed(&whole, id)?);
    assert_eq!(replayed(&read, id)?.1, 50);
    for cut in ["split=time", "split=interleaved,window=6h,stride=2h,gap=1h,rate=3"] {
        let (from_log, from_file) = (open(&format!("{log},{cut}"))?, open(&format!("{file_spec},{cut}"))?);
        assert_eq!(from_file.notes().first(), from_log.notes().iter().find(|note| note.starts_with("windows of ")));
        let mut left = 0;
        assert_eq!(from_file.cluster(), from_log.cluster());
        for split in Split::ALL {
            assert_eq!(from_file.most_episodes(split), from_log.most_episodes(split));
            assert_eq!(from_file.period(split), from_log.period(split));
            for episode in 0..from_log.most_episodes(split).unwrap_or(40) {
                let id = EpisodeId::new(7, split, episode);
                assert_eq!(from_file.jobs(id), from_log.jobs(id), "{cut} {split:?}");
                left += from_log.jobs(id).iter().filter(|job| job.arrival_ms == 0.0).count();
            }
        }
        // Windows begin with what ran or waited then.
        assert!(left > 100, "{left}");
        let id = EpisodeId::new(1, Split::Test, 2);
        assert_eq!(replayed(&from_file, id)?, replayed(&from_log, id)?);
    }
    assert_eq!(open(&format!("{file_spec},rate=2"))?.jobs(id)[1].arrival_ms, 9e5);
    let message = refused(&format!("{file_spec},window=6h"));
    assert!(message.contains("window must be given with split=time"), "{message}");
    Ok(())
}

/// Jobs of which nothing is recorded, and those of other logs.
#[test]
fn jobs_of_all_workloads_are_written() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (table, file) = (dir.path().join("jobs.csv"), dir.path().join("jobs.json"));
    fs::write(&table, "submit_s,duration_s,num_gpus,vc\n50,600,4,a\n10,0,1,b\n70,7200,32,a\n")?;
    let id = EpisodeId::new(5, Split::Test, 1);
    // Models that were measured, and deadlines of the log's own.
    let chronus = dir.path().join("chronus.csv");
    fs::write(dir.path().join("model_info.json"), r#"{"a": {"2": {"1": 1, "2": 0.9}}, "b": {"4": {"1": 0.9}}}"#)?;
    let rows = (0..20)
        .map(|i| format!("{i},u,{},{},100,{},{},8,90,10,0,strict\n", 1 + i % 4, 7 * i, ["a", "b"][i % 2], 20 + i));
    let header = "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type\n";
    fs::write(&chronus, std::iter::once(header.to_owned()).chain(rows).collect::<String>())?;
    for spec in [
        "builtin".to_owned(),
        "builtin,edge=misdeclared,prediction-error=0.3,refuse=1,nodes=3".to_owned(),
        format!("philly:{}", table.display()),
        format!("chronus:{},size=16,split=none", chronus.display()),
        // Without starts a schedule cannot be carried out again.
        format!("csv:{},submit=submit_s,duration=duration_s,gpus=num_gpus,size=64,split=none", table.display()),
    ] {
        let workload = open(&spec)?;
        write(&workload, &workload.jobs(id), &file)?;
        let read = open(&format!("json:{}", file.display()))?;
        assert_eq!((read.cluster(), read.jobs(id)), (workload.cluster(), workload.jobs(id)), "{spec}");
        let unknown = |workload: &DeadlineWorkload| Deadlines::replay(&workload.jobs(id)).map(|replay| replay.unknown);
        assert_eq!(unknown(&read), unknown(&workload), "{spec}");
    }
    let workload = open("builtin")?;
    let mut jobs = workload.jobs(id);
    jobs[2].bias = f64::NAN;
    let says = write(&workload, &jobs, &file).map_err(|error| error.to_string());
    assert_eq!(says, Err("job 2: bias must be in 1e-3..=1e3, got NaN".to_owned()));
    assert_eq!(
        write(&workload, &[], &file).map_err(|error| error.to_string()),
        Err("there are no jobs to write".to_owned())
    );
    Ok(())
}

#[test]
fn what_is_wrong_with_a_recorded_job_is_said() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (log, file) = (dir.path().join("log.swf"), dir.path().join("jobs.json"));
    fs::write(&log, swf(3))?;
    let workload = open(&format!("swf:{},split=none", log.display()))?;
    write(&workload, &workload.jobs(1), &file)?;
    let text = fs::read_to_string(&file)?;
    let good = r#""ran":[2400000.0,6977000.0]"#;
    assert!(text.contains(good), "{text}");
    for (ran, says) in [
        ("[2400000, 2300000]", "job 1: ran must be a start"),
        ("[1700000, 2400000]", "both in 1800000..=1e15 ms, got [1700000, 2400000]"),
        ("[null, 1700000]", "job 1: ran must be a start, null if it is not known, and an end"),
        ("[2400000, null]", "got [2400000, null]"),
        ("[2400000, 2e15]", "got [2400000, 2000000000000000]"),
        ("[2400000]", "invalid length 1"),
        ("[NaN, 1]", "expected"),
    ] {
        fs::write(&file, text.replace(good, &format!(r#""ran": {ran}"#)))?;
        let message = refused(&format!("json:{}", file.display()));
        assert!(message.contains("jobs.json") && message.contains(says), "{ran}: {message}");
    }
    Ok(())
}
