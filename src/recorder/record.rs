//! From a policy and a workload to a trace on disk.

use super::{
    EpisodeId, EpisodeRun, Progress,
    episode::{ChoiceLog, EpisodeError, run_episode},
};
use crate::{
    level::sha256_hex,
    policy::Policy,
    rng::Split,
    scenario::dag::{KINDS, feature_set},
    trace::{EpisodeRow, ItemRow, Manifest, Part, RecordPlan, Source, TimelineRow, TraceError, TraceWriter},
    workload::Workload,
};
use rayon::prelude::*;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// Episodes per part. A part is the unit that is written, lost and resumed; it bounds memory.
const EPISODES_PER_PART: u32 = 4;

/// What to record.
pub struct RecordRequest<'a> {
    /// Policy as named by the user.
    pub policy_id: &'a str,
    /// The policy.
    pub policy: &'a dyn Policy,
    /// Workload as named by the user.
    pub workload_id: &'a str,
    /// The workload.
    pub workload: &'a dyn Workload,
    /// The user's seed.
    pub seed: u64,
    /// What the episodes are for.
    pub split: Split,
    /// Number of episodes.
    pub episodes: u32,
    /// Whether to remove a trace that was made with other arguments.
    pub force: bool,
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

/// Records episodes as a trace in `dir`. The bytes written do not depend on the number of threads, nor on interruptions.
///
/// # Errors
///
/// See [`RecordError`].
pub fn record(
    dir: &Path,
    request: &RecordRequest<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Manifest, RecordError> {
    let policy = source(request.policy_id, &request.policy.files())?;
    let workload = source(request.workload_id, &request.workload.files())?;
    let manifest = Manifest {
        seed: request.seed,
        split: request.split,
        episodes: request.episodes,
        kinds: KINDS.map(str::to_owned).to_vec(),
        abstains: request.policy.abstains(),
        ..Manifest::new(feature_set().clone(), policy.clone(), policy, workload)
    };
    let plan = RecordPlan { manifest, parts: request.episodes.div_ceil(EPISODES_PER_PART) };
    let writer = TraceWriter::create(dir, plan, request.force)?;
    let results: Vec<Result<(), RecordError>> = writer
        .missing_parts()
        .into_par_iter()
        .map(|part| {
            let from = part * EPISODES_PER_PART;
            let to = (from + EPISODES_PER_PART).min(request.episodes);
            let rows = run_part(request, from..to, progress, stop)?;
            // On a thread of its own: to write, polars waits for its own pool, and a worker of ours that waits would begin
            // another part, and another within that, until all parts lie in memory or the stack is full.
            let written = std::thread::scope(|scope| scope.spawn(|| writer.write_part(part, &rows)).join());
            Ok(written.expect("writing a part does not panic")?)
        })
        .collect();
    results.into_iter().collect::<Result<(), _>>()?;
    Ok(writer.finish()?)
}

fn run_part(
    request: &RecordRequest<'_>,
    episodes: std::ops::Range<u32>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Part, RecordError> {
    let mut log = ChoiceLog::new(request.policy.abstains());
    let mut part = Part::default();
    for episode in episodes {
        if stop.load(Ordering::Relaxed) {
            return Err(RecordError::Interrupted);
        }
        let id = EpisodeId { seed: request.seed, split: request.split, episode };
        let mut step = 0;
        // The first episode is the sample that pictures are drawn from.
        let run = run_episode(request.workload, &mut *request.policy.fresh(), id, episode == 0, |seen, decision, p| {
            log.push(episode, step, seen, decision, p);
            step += 1;
        })
        .map_err(|source| RecordError::Episode { policy: request.policy_id.to_owned(), source })?;
        progress.episode(run.outcome.decisions);
        append(&mut part, request, &run);
    }
    part.tables = log.into_tables().into();
    Ok(part)
}

fn append(part: &mut Part, request: &RecordRequest<'_>, run: &EpisodeRun) {
    let (episode, outcome) = (run.episode, &run.outcome);
    part.episodes.push(EpisodeRow {
        episode,
        seed: run.seed,
        split: request.split.name().to_owned(),
        policy: request.policy_id.to_owned(),
        outcome: if outcome.completed { "completed" } else { "stalled" }.to_owned(),
        makespan_ms: outcome.makespan_ms,
        mean_jct_ms: outcome.mean_jct_ms,
        decisions: u32::try_from(outcome.decisions).unwrap_or(u32::MAX),
        events: outcome.events,
        utilisation: outcome.utilisation,
        jobs_in_system: outcome.jobs_in_system,
    });
    let completion = outcome.completion_ms.iter().map(|&c| (!c.is_nan()).then_some(c));
    part.items.extend(
        (0..).zip(run.arrivals_ms.iter().zip(completion)).map(|(item, (&arrival_ms, completion_ms))| ItemRow {
            episode,
            item,
            arrival_ms,
            completion_ms,
        }),
    );
    part.timeline.extend(run.timeline.iter().map(|r| TimelineRow {
        episode,
        lane: r.executor,
        item: r.stage.job,
        part: r.stage.stage,
        start_ms: r.start_ms,
        end_ms: r.end_ms,
    }));
}

/// A policy or workload with the hashes of its files.
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
    use crate::{policy, workload};
    use std::sync::atomic::AtomicUsize;

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
        let (policy, workload) =
            (policy::open(&"fifo".parse()?)?, workload::open(&"builtin,jobs=2,executors=2".parse()?)?);
        let request = RecordRequest {
            policy_id: "fifo",
            policy: &*policy,
            workload_id: "builtin,jobs=2,executors=2",
            workload: &*workload,
            seed: 0,
            split: Split::Train,
            episodes: 40,
            force: false,
        };
        let progress = InMemory { dir: dir.path(), run: AtomicUsize::new(0), most: AtomicUsize::new(0) };
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        one.install(|| record(dir.path(), &request, &progress, &AtomicBool::new(false)))?;
        assert_eq!(progress.most.into_inner(), EPISODES_PER_PART as usize);
        Ok(())
    }
}
