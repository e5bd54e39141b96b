//! Recording by several jobs: whoever writes which part when, the trace has the same bytes.

use std::{
    error::Error,
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

use sched_distill::{
    dag::{Dag, workload::DagWorkload},
    policy::Policy,
    recorder::{Progress, RecordError, RecordRequest, Recording, record},
    registry::Registered as _,
    rng::Split,
    trace::{Shard, Trace, TraceError, inspect},
};

use crate::common::files;

type Outcome = Result<(), Box<dyn Error>>;

/// A recording of 27 episodes in seven parts, the last one shorter.
const EPISODES: u32 = 27;
const POLICY: &str = "sjf,temperature=0.5,mode=sample";
const WORKLOAD: &str = "builtin,jobs=3,executors=3";

struct Fixture {
    policy: Box<dyn Policy<Dag>>,
    workload: DagWorkload,
}

/// Counts the episodes that were run.
#[derive(Default)]
struct Run(AtomicU32);

impl Progress for Run {
    fn episode(&self, _decisions: u64) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Fixture {
    fn new() -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            policy: Dag::open(&POLICY.parse()?)?,
            workload: sched_distill::dag::workload::open(&WORKLOAD.parse()?)?,
        })
    }

    /// Records a shard with some seed; also returns the number of episodes that were run for it.
    fn seeded(&self, dir: &Path, shard: &str, seed: u64) -> Result<(Recording, u32), RecordError> {
        let request = RecordRequest {
            policy_id: POLICY,
            policy: &*self.policy,
            labeller: None,
            workload_id: WORKLOAD,
            workload: &self.workload,
            seed,
            split: Split::Train,
            first_episode: 0,
            episodes: EPISODES,
            shard: shard.parse().expect("a shard"),
            force: false,
        };
        let run = Run::default();
        let recording = record(dir, &request, &run, &AtomicBool::new(false))?;
        Ok((recording, run.0.into_inner()))
    }

    fn record(&self, dir: &Path, shard: &str) -> Result<(Recording, u32), RecordError> {
        self.seeded(dir, shard, 0)
    }
}

/// Copies the files of one directory over those of another.
fn copy(from: &Path, to: &Path) {
    for (name, bytes) in files(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn three_shards_give_the_bytes_of_the_whole() -> Outcome {
    let (whole, shared) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let fixture = Fixture::new()?;
    let (recording, run) = fixture.record(whole.path(), "1/1")?;
    assert_eq!((recording.parts.len(), recording.missing.len(), run), (7, 0, EPISODES));
    let expected = files(whole.path());

    let (last, run) = fixture.record(shared.path(), "3/3")?;
    assert_eq!((last.parts, last.missing, run), (vec![2, 5], vec![0, 1, 3, 4, 6], 8));
    assert!(last.manifest.is_none());
    let dir = shared.path();
    assert!(
        matches!(Trace::open(dir), Err(TraceError::Incomplete { ref missing, parts: 7, .. }) if missing.len() == 5)
    );
    let recordings = std::thread::scope(|scope| {
        let running = ["2/3", "1/3"].map(|shard| {
            let fixture = &fixture;
            scope.spawn(move || fixture.record(dir, shard))
        });
        running.map(|thread| thread.join().expect("recording does not panic"))
    });
    let mut completed = 0;
    for recording in recordings {
        completed += u32::from(recording?.0.manifest.is_some());
    }
    assert!(completed > 0, "the last one writes the manifest");
    assert_eq!(files(dir), expected);
    Trace::open(dir)?;

    // Once more: nothing is run, nothing is written.
    for shard in ["2/3", "1/1", "9/9"] {
        let (again, run) = fixture.record(dir, shard)?;
        assert_eq!((again.manifest.is_some(), again.missing.len(), run), (true, 0, 0), "{shard}");
    }
    assert_eq!(files(dir), expected);
    Ok(())
}

#[test]
fn shards_of_separate_directories_are_copied_together() -> Outcome {
    let (whole, merged) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let fixture = Fixture::new()?;
    fixture.record(whole.path(), "1/1")?;
    let dir = merged.path();
    for shard in ["2/3", "3/3"] {
        let own = tempfile::tempdir()?;
        fixture.record(own.path(), shard)?;
        copy(own.path(), dir);
    }
    // Somebody was killed at part 3 on the way, and a file was damaged by the copy.
    fs::write(dir.join("job/part-00003.parquet.0123456789abcdef-7.tmp"), "half")?;
    fs::write(dir.join("manifest.json.0123456789abcdef-8.tmp"), "half")?;
    fs::write(dir.join("notes.tmp"), "mine")?;
    let damaged = dir.join("stage/part-00004.parquet");
    fs::write(&damaged, &fs::read(&damaged)?[1..])?;

    let unfinished = inspect(dir).unfinished.expect("it is not complete");
    assert_eq!((unfinished.parts, unfinished.done, unfinished.missing), (7, vec![1, 2, 5], vec![0, 3, 6]));
    assert_eq!(unfinished.episodes, (4..12).chain(20..24).collect::<Vec<_>>());
    assert_eq!(unfinished.damaged.len(), 1);
    assert_eq!((unfinished.damaged[0].part, &*unfinished.damaged[0].problem.file), (4, "stage/part-00004.parquet"));

    // A shard does not touch the part of another, and does not take it for complete either.
    let (first, run) = fixture.record(dir, "1/3")?;
    assert_eq!((first.parts, first.missing, run), (vec![0, 3, 6], vec![4], 4 + 4 + 3));
    assert!(first.manifest.is_none() && !dir.join("manifest.json").exists());
    let (all, run) = fixture.record(dir, "1/1")?;
    assert_eq!((all.manifest.is_some(), run), (true, 4), "only the damaged part is recorded again");
    let mut left = files(dir);
    assert_eq!(left.remove("notes.tmp").as_deref(), Some(&b"mine"[..]));
    assert_eq!(left, files(whole.path()));
    Ok(())
}

#[test]
fn recorders_of_the_same_parts_do_not_disturb_each_other() -> Outcome {
    let (whole, shared) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let fixture = Fixture::new()?;
    fixture.record(whole.path(), "1/1")?;
    let expected = files(whole.path());
    for _ in 0..4 {
        let dir = shared.path().join("trace");
        let recordings = std::thread::scope(|scope| {
            let running = ["1/1", "2/2", "1/1", "1/2"].map(|shard| {
                let (fixture, dir) = (&fixture, &dir);
                scope.spawn(move || fixture.record(dir, shard))
            });
            running.map(|thread| thread.join().expect("recording does not panic"))
        });
        for recording in recordings {
            recording?;
        }
        assert_eq!(files(&dir), expected);
        fs::remove_dir_all(&dir)?;
    }
    Ok(())
}

#[test]
fn a_shard_of_another_recording_is_refused() -> Outcome {
    let dir = tempfile::tempdir()?;
    let fixture = Fixture::new()?;
    fixture.record(dir.path(), "1/3")?;
    let before = files(dir.path());
    let error = fixture.seeded(dir.path(), "2/3", 5).map(|(recording, _)| recording).unwrap_err();
    assert!(error.to_string().contains("`manifest.seed` is 0 there and 5 now"), "{error}");
    assert_eq!(files(dir.path()), before);
    Ok(())
}

#[test]
fn of_two_recordings_begun_at_once_one_is_refused() -> Outcome {
    let fixture = Fixture::new()?;
    for _ in 0..8 {
        let dir = tempfile::tempdir()?;
        let results = std::thread::scope(|scope| {
            let running = [1, 2].map(|seed| {
                let (fixture, dir) = (&fixture, dir.path());
                scope.spawn(move || fixture.seeded(dir, "1/1", seed).is_ok())
            });
            running.map(|thread| thread.join().expect("recording does not panic"))
        });
        assert_eq!(results.iter().filter(|&&done| done).count(), 1, "{results:?}");
        let seed = if results[0] { 1 } else { 2 };
        assert_eq!(Trace::open(dir.path())?.manifest.seed, seed);
        assert_eq!(inspect(dir.path()).problems, vec![]);
    }
    Ok(())
}

#[test]
fn a_shard_may_have_no_parts() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (recording, run) = Fixture::new()?.record(dir.path(), "8/8")?;
    assert_eq!((recording.parts.len(), recording.missing.len(), run), (0, 7, 0));
    assert!("8/8".parse::<Shard>().is_ok_and(|shard| !shard.contains(6)));
    Ok(())
}
