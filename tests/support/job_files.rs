//! Jobs of a log as a workload file: what is written, read again, cut and replayed, for tests of the scenarios that read such logs.

use sched_distill_core::{
    rng::{EpisodeId, Split},
    scenario::Said,
    simulation::{Simulated, Simulation as _, Workload},
};
use std::{error::Error, fmt::Debug, fs, fs::File, io::Write as _, path::Path};

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

pub(crate) fn open<S: Simulated>(spec: &str) -> Result<Workload<S>, Box<dyn Error>> {
    Ok(Workload::open(&spec.parse()?)?)
}

/// Why a workload is not opened.
pub(crate) fn refused<S: Simulated>(spec: &str) -> String {
    open::<S>(spec).map_or_else(|error| error.to_string(), |_| "opened".to_owned())
}

/// A log in the Standard Workload Format of jobs that run on 64 cores from a while after their submission on; of every fortieth it is not
/// known since when.
pub(crate) fn swf(jobs: u32) -> String {
    let line = |i: u32| {
        let (submit, cores, takes) = (1800 * i, 1 << (i % 5), 3600 + 977 * (i % 13));
        let wait = if i % 40 == 7 { -1 } else { (i % 3) as i32 * 600 };
        format!("{} {submit} {wait} {takes} {cores} -1 -1 {cores} -1 -1 1 1 1 1 1 -1 -1 -1\n", i + 1)
    };
    std::iter::once("; MaxNodes: 8\n; MaxProcs: 64\n".to_owned()).chain((0..jobs).map(line)).collect()
}

pub(crate) fn write<S: Simulated>(workload: &Workload<S>, jobs: &[S::Job], path: &Path) -> Outcome {
    let write = S::WRITE_JOBS.ok_or("jobs are written")?;
    let mut out = File::create(path)?;
    write(workload.cluster(), jobs, &mut out)?;
    Ok(out.flush()?)
}

/// When jobs are completed, and of how many it is not known when they ran.
type Replayed = (Vec<Option<f64>>, usize);

/// Carries the recorded order out again.
#[allow(dead_code, reason = "not every scenario has a recorded order")]
pub(crate) fn replayed<S: Simulated>(workload: &Workload<S>, id: EpisodeId) -> Result<Replayed, Box<dyn Error>> {
    let jobs = workload.jobs(id);
    let count = jobs.len() as u32;
    let mut replay = S::replay(&jobs).ok_or("a schedule is recorded")?;
    let mut episode = S::start(workload, jobs, id.seed);
    while let Some(seen) = episode.view() {
        let decision = replay.policy.decide(&seen, &mut Said::default())?;
        episode.step(decision)?;
    }
    let done = (0..count).map(|job| episode.completed_ms(job)).chain(replay.completed_ms);
    Ok((done.collect(), replay.unknown))
}

/// Checks that a log and its file are cut into the same windows, which begin with what ran or waited then; `is_left` tells such a job.
pub(crate) fn have_the_same_windows<S: Simulated>(
    from_log: &Workload<S>,
    from_file: &Workload<S>,
    is_left: impl Fn(&S::Job) -> bool,
) where
    S::Job: PartialEq + Debug,
{
    assert_eq!(from_file.notes().first(), from_log.notes().iter().find(|note| note.starts_with("windows of ")));
    let mut left = 0;
    for split in Split::ALL {
        assert_eq!(from_file.most_episodes(split), from_log.most_episodes(split));
        assert_eq!(from_file.period(split), from_log.period(split));
        for episode in 0..from_log.most_episodes(split).unwrap_or(40) {
            let id = EpisodeId::new(7, split, episode);
            let jobs = from_log.jobs(id);
            assert_eq!(from_file.jobs(id), jobs, "{split:?}");
            left += jobs.iter().filter(|job| is_left(job)).count();
        }
    }
    assert!(left > 100, "{left}");
}

/// Checks what is said of a job whose recorded run cannot be. The log is that of [`swf`].
#[allow(dead_code, reason = "a scenario may have other words for it")]
pub(crate) fn refuse_runs_that_cannot_be<S: Simulated>() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (log, file) = (dir.path().join("log.swf"), dir.path().join("jobs.json"));
    fs::write(&log, swf(3))?;
    let workload = open::<S>(&format!("swf:{},split=none", log.display()))?;
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
        let message = refused::<S>(&format!("json:{}", file.display()));
        assert!(message.contains("jobs.json") && message.contains(says), "{ran}: {message}");
    }
    Ok(())
}
