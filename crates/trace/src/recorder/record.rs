//! From a policy and a workload to a trace on disk.

use super::{
    EpisodeId, EpisodeRun, Progress,
    episode::{ChoiceLog, EpisodeError, Kept, try_episode},
    labelled::Labelled,
};
use crate::{
    EpisodeRow, ItemRow, Manifest, PartWriter, RecordPlan, STALLED, Shard, Source, TimelineRow, TraceError, TraceWriter,
};
use rayon::prelude::*;
use sched_distill_core::{
    level::sha256_hex,
    policy::Policy,
    rng::Split,
    simulation::{Simulated, Workload},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// Episodes per part. A part is the unit that is written, lost and resumed, and that shards share out.
const EPISODES_PER_PART: u32 = 4;

/// Rows of a level that are collected before they are written as one row group. This bounds memory, however long an
/// episode is: a row group has at most this many rows, plus those of one decision. Four times as many make the files 1 % smaller.
const ROWS_PER_GROUP: usize = 1 << 15;

/// What to record.
pub struct RecordRequest<'a, S: Simulated> {
    /// Policy as named by the user.
    pub policy_id: &'a str,
    /// The policy, which decides.
    pub policy: &'a dyn Policy<S>,
    /// Another one, as named by the user, that is asked at every decision and whose opinion is recorded; `None` for the policy
    /// itself. Neither may abstain then.
    pub labeller: Option<(&'a str, &'a dyn Policy<S>)>,
    /// Workload as named by the user.
    pub workload_id: &'a str,
    /// The workload.
    pub workload: &'a Workload<S>,
    /// The user's seed.
    pub seed: u64,
    /// What the episodes are for.
    pub split: Split,
    /// Number of the first episode.
    pub first_episode: u32,
    /// Number of episodes.
    pub episodes: u32,
    /// Which of the trace's parts are recorded; the others are left to other recorders.
    pub shard: Shard,
    /// Whether to remove a trace that was made with other arguments.
    pub force: bool,
}

impl<S: Simulated> RecordRequest<'_, S> {
    /// Number of episodes of the shard.
    #[must_use]
    pub fn shard_episodes(&self) -> u32 {
        (0..self.parts()).filter(|&part| self.shard.contains(part)).map(|part| self.part(part).len() as u32).sum()
    }

    /// Number of parts of the whole trace.
    fn parts(&self) -> u32 {
        self.episodes.div_ceil(EPISODES_PER_PART)
    }

    /// The episodes of a part.
    fn part(&self, part: u32) -> std::ops::Range<u32> {
        let from = part * EPISODES_PER_PART;
        from..from.saturating_add(EPISODES_PER_PART).min(self.episodes)
    }
}

/// What is there after a recording.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Numbers of the parts of the shard, all of them done.
    pub parts: Vec<u32>,
    /// Number of episodes of the shard.
    pub episodes: u32,
    /// Number of parts of the whole trace.
    pub planned: u32,
    /// Numbers of the parts that other shards have yet to record. Whether those that are there are sound is looked at only
    /// when none is missing.
    pub missing: Vec<u32>,
    /// The trace, if no part is missing.
    pub manifest: Option<Manifest>,
}

/// Who drives and who labels.
pub(super) struct Driving<'a, S: Simulated> {
    /// Who labels.
    pub(super) labeller: Source,
    /// Whether decisions may be to give nothing.
    pub(super) abstains: bool,
    /// What the manifest says.
    pub(super) source: Source,
    /// By place of the episode: its driver, which answers with the labeller's probabilities, and the driver's name.
    pub(super) policy: &'a (dyn Fn(u32) -> (Box<dyn Policy<S>>, String) + Sync),
}

/// Why nothing, or not everything, was recorded. Finished parts are kept; the same request goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// An episode failed.
    #[error("{policy}: cannot record")]
    Episode {
        /// The policy.
        policy: String,
        /// The cause.
        #[source]
        source: EpisodeError,
    },
    /// The trace cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A file that defines the policy or workload cannot be read.
    #[error("{path}: cannot read")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The user stopped it.
    #[error("interrupted; finished parts are kept, the same command goes on from there")]
    Interrupted,
}

/// Records a shard of the episodes as a trace in `dir`, and completes the trace if this was the last shard. The bytes
/// written do not depend on the number of threads or shards, nor on interruptions.
///
/// # Errors
///
/// See [`RecordError`].
pub fn record<S: Simulated>(
    dir: &Path,
    request: &RecordRequest<'_, S>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Recording, RecordError> {
    let RecordRequest { policy_id, policy, labeller, .. } = request;
    let (by, labels) = labeller.unwrap_or((policy_id, *policy));
    let driver = || -> Box<dyn Policy<S>> {
        match labeller {
            Some((_, labeller)) => Box::new(Labelled::new(policy.fresh(), labeller.fresh())),
            None => policy.fresh(),
        }
    };
    let driving = Driving {
        labeller: policy_source(by, labels)?,
        abstains: labels.abstains(),
        source: policy_source(policy_id, *policy)?,
        policy: &|_| (driver(), (*policy_id).to_owned()),
    };
    record_driven(dir, request, &driving, progress, stop)
}

/// The same, driven by other policies.
pub(super) fn record_driven<S: Simulated>(
    dir: &Path,
    request: &RecordRequest<'_, S>,
    driving: &Driving<'_, S>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Recording, RecordError> {
    let workload = workload_source::<S>(request.workload_id, request.workload)?;
    let manifest = Manifest {
        seed: request.seed,
        split: request.split,
        episodes: request.episodes,
        first_episode: request.first_episode,
        kinds: S::INFO.kinds.iter().map(|&kind| kind.to_owned()).collect(),
        abstains: driving.abstains,
        figures: S::INFO.figures.to_vec(),
        ..Manifest::new((S::INFO.feature_set)().clone(), driving.source.clone(), driving.labeller.clone(), workload)
    };
    let planned = request.parts();
    let writer = TraceWriter::create(dir, RecordPlan { manifest, parts: planned, open_ended: false }, request.force)?;
    let failed = AtomicBool::new(false);
    let results: Vec<Result<(), RecordError>> = writer
        .missing_parts(request.shard)
        .into_par_iter()
        .map(|part| {
            // What has begun is finished and kept; nothing is begun that would hold up the error.
            if failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let result = match stop.load(Ordering::Relaxed) {
                true => Err(RecordError::Interrupted),
                false => record_part(&writer, part, request, driving, progress, stop),
            };
            match result {
                // Another recorder has finished the part meanwhile, and perhaps cleaned up behind it.
                Err(RecordError::Trace(_)) if writer.is_finished(part) => Ok(()),
                result => result.inspect_err(|_| failed.store(true, Ordering::Relaxed)),
            }
        })
        .collect();
    results.into_iter().collect::<Result<(), _>>()?;

    let parts: Vec<u32> = (0..planned).filter(|&part| request.shard.contains(part)).collect();
    let (manifest, missing) = match writer.finish() {
        Ok(manifest) => (Some(manifest), Vec::new()),
        Err(TraceError::Incomplete { missing, .. }) if missing.iter().all(|&part| !request.shard.contains(part)) => {
            (None, missing)
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Recording { parts, episodes: request.shard_episodes(), planned, missing, manifest })
}

fn record_part<S: Simulated>(
    writer: &TraceWriter,
    part: u32,
    request: &RecordRequest<'_, S>,
    driving: &Driving<'_, S>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<(), RecordError> {
    let mut log = ChoiceLog::<S>::new(driving.abstains);
    let mut file = writer.part(part)?;
    for place in request.part(part) {
        let episode = request.first_episode + place;
        let (mut policy, driver) = (driving.policy)(place);
        let id = EpisodeId::new(request.seed, request.split, episode);
        let mut step = 0;
        // The first episode is the sample that pictures are drawn from.
        let kept = if place == 0 { Kept::All } else { Kept::Said };
        let run = try_episode(request.workload, &mut *policy, id, kept, |seen, decision, p| {
            if stop.load(Ordering::Relaxed) {
                return Err(RecordError::Interrupted);
            }
            log.push(episode, step, seen, decision, p);
            step += 1;
            Ok(log.flush(ROWS_PER_GROUP, |level, table| file.write_level(level, table))?)
        })
        .map_err(|source| RecordError::Episode { policy: driver.clone(), source })??;
        progress.episode(run.outcome.decisions);
        add_episode(&mut file, request, &driver, &run);
    }
    log.flush(1, |level, table| file.write_level(level, table))?;
    Ok(file.finish()?)
}

fn add_episode<S: Simulated>(
    file: &mut PartWriter<'_>,
    request: &RecordRequest<'_, S>,
    driver: &str,
    run: &EpisodeRun,
) {
    let (episode, outcome) = (run.episode, &run.outcome);
    let row = EpisodeRow {
        episode,
        seed: run.seed,
        split: request.split.name().to_owned(),
        policy: driver.to_owned(),
        outcome: if outcome.stalled() { STALLED } else { "completed" }.to_owned(),
        decisions: u32::try_from(outcome.decisions).unwrap_or(u32::MAX),
        events: outcome.events,
        figures: outcome.figures.iter().map(|&(_, value)| value).collect(),
    };
    let completion = outcome.jobs.iter().map(|end| end.completion_ms());
    let items = (0..).zip(run.arrivals_ms.iter().zip(completion)).map(|(item, (&arrival_ms, completion_ms))| ItemRow {
        episode,
        item,
        arrival_ms,
        completion_ms,
    });
    let timeline = run.timeline.iter().map(|r| TimelineRow {
        episode,
        lane: r.lane,
        item: r.job,
        part: r.part,
        start_ms: r.start_ms,
        end_ms: r.end_ms,
    });
    file.add_episode(row, items, timeline);
}

/// A policy with the hashes of what defines it.
///
/// # Errors
///
/// A file that cannot be read.
pub fn policy_source<S: Simulated>(id: &str, policy: &dyn Policy<S>) -> Result<Source, RecordError> {
    let mut source = source(id, &policy.files())?;
    source.files.extend(policy.fingerprint());
    Ok(source)
}

/// A workload with the hashes of its files.
///
/// # Errors
///
/// A file that cannot be read.
pub fn workload_source<S: Simulated>(id: &str, workload: &Workload<S>) -> Result<Source, RecordError> {
    source(id, workload.files())
}

fn source(id: &str, files: &[PathBuf]) -> Result<Source, RecordError> {
    let hash = |path: &PathBuf| {
        let bytes = std::fs::read(path).map_err(|source| RecordError::Io { path: path.clone(), source })?;
        Ok((path.display().to_string(), sha256_hex(&bytes)))
    };
    Ok(Source { id: id.to_owned(), files: files.iter().map(hash).collect::<Result<BTreeMap<_, _>, RecordError>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::{policy::PolicyError, scenario::Said};
    use sched_distill_dag::{Dag, Decision, View};
    use std::sync::{Arc, atomic::AtomicUsize};

    /// The largest number of episodes that were run but not yet part of a finished part.
    struct InMemory<'a> {
        dir: &'a Path,
        run: AtomicUsize,
        most: AtomicUsize,
    }

    impl Progress for InMemory<'_> {
        fn episode(&self, _decisions: u64) {
            let run = 1 + self.run.fetch_add(1, Ordering::Relaxed);
            let parts = std::fs::read_dir(self.dir.join("parts")).map_or(0, Iterator::count);
            self.most.fetch_max(run - parts * EPISODES_PER_PART as usize, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_worker_has_one_part_in_memory_at_a_time() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let (policy, workload) = (
            sched_distill_dag::policies::open(&"fifo".parse()?)?,
            sched_distill_dag::workload::open(&"builtin,jobs=2,executors=2".parse()?)?,
        );
        let request = RecordRequest {
            policy_id: "fifo",
            policy: &*policy,
            labeller: None,
            workload_id: "builtin,jobs=2,executors=2",
            workload: &workload,
            seed: 0,
            split: Split::Train,
            first_episode: 0,
            episodes: 40,
            shard: Shard::WHOLE,
            force: false,
        };
        let progress = InMemory { dir: dir.path(), run: AtomicUsize::new(0), most: AtomicUsize::new(0) };
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        one.install(|| record(dir.path(), &request, &progress, &AtomicBool::new(false)))?;
        assert_eq!(progress.most.into_inner(), EPISODES_PER_PART as usize);
        Ok(())
    }

    /// A rule that raises a flag at its tenth decision, as somebody who presses Ctrl-C in the middle of an episode.
    struct Interrupting {
        rule: Box<dyn Policy<Dag>>,
        decisions: Arc<AtomicUsize>,
        stop: Arc<AtomicBool>,
    }

    impl Policy<Dag> for Interrupting {
        fn fresh(&self) -> Box<dyn Policy<Dag>> {
            let (decisions, stop) = (Arc::clone(&self.decisions), Arc::clone(&self.stop));
            Box::new(Self { rule: self.rule.fresh(), decisions, stop })
        }

        fn decide(&mut self, seen: &View<'_>, p: &mut Said) -> Result<Decision, PolicyError> {
            if self.decisions.fetch_add(1, Ordering::Relaxed) == 9 {
                self.stop.store(true, Ordering::Relaxed);
            }
            self.rule.decide(seen, p)
        }
    }

    #[test]
    fn an_interruption_ends_the_running_episode_and_leaves_no_part() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let (decisions, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let rule = sched_distill_dag::policies::open(&"fifo".parse()?)?;
        let policy = Interrupting { rule, decisions: Arc::clone(&decisions), stop: Arc::clone(&stop) };
        let workload = sched_distill_dag::workload::open(&"builtin,jobs=50".parse()?)?;
        let request = RecordRequest {
            policy_id: "fifo",
            policy: &policy,
            labeller: None,
            workload_id: "builtin,jobs=50",
            workload: &workload,
            seed: 0,
            split: Split::Train,
            first_episode: 0,
            episodes: 1,
            shard: Shard::WHOLE,
            force: false,
        };
        let result = record(dir.path(), &request, &(), &stop);
        assert!(matches!(result, Err(RecordError::Interrupted)), "{result:?}");
        assert_eq!(decisions.load(Ordering::Relaxed), 10);
        assert_eq!(std::fs::read_dir(dir.path().join("parts"))?.count(), 0);
        assert_eq!(std::fs::read_dir(dir.path().join("job"))?.count(), 0);
        Ok(())
    }

    #[test]
    fn row_groups_are_bounded_however_long_a_part_is() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        // Jobs that arrive at once and stay long: many candidates per decision.
        let (name, workload_id) = ("sjf,temperature=1", "builtin,jobs=120,executors=4,rate=1e-2");
        let (policy, workload) = (
            sched_distill_dag::policies::open(&name.parse()?)?,
            sched_distill_dag::workload::open(&workload_id.parse()?)?,
        );
        let request = RecordRequest {
            policy_id: name,
            policy: &*policy,
            labeller: None,
            workload_id,
            workload: &workload,
            seed: 0,
            split: Split::Train,
            first_episode: 0,
            episodes: 2,
            shard: Shard::WHOLE,
            force: false,
        };
        record(dir.path(), &request, &(), &AtomicBool::new(false))?;
        for level in ["job", "stage"] {
            let mut file = std::fs::File::open(dir.path().join(format!("{level}/part-00000.parquet")))?;
            let groups = polars_parquet::parquet::read::read_metadata(&mut file)?.row_groups;
            let rows: Vec<usize> = groups.iter().map(|group| group.num_rows()).collect();
            let (last, full) = rows.split_last().ok_or("row groups")?;
            assert!(!full.is_empty() && *last < 2 * ROWS_PER_GROUP, "{level}: {rows:?}");
            // A job has at most some ten stages that can run.
            assert!(
                full.iter().all(|rows| (ROWS_PER_GROUP..ROWS_PER_GROUP + 120 * 10).contains(rows)),
                "{level}: {rows:?}"
            );
        }
        Ok(())
    }
}
