//! What a present scheduler did, beside what a policy would have done, as a trace that grows while a server runs.

use sched_distill_core::{
    rng::Split,
    scenario::{Said, Scenario, ScenarioInfo},
};
use sched_distill_trace::{
    EpisodeRow, LevelTable, Manifest, PlanLock, RecordPlan, Source, TraceError, TraceWriter, recorder::ChoiceLog,
};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// What a log calls the scheduler whose decisions were carried out, and the cluster that it ran.
pub const PRESENT_SCHEDULER: &str = "present scheduler";

/// Rows after which an episode of a log is cut, and time after which it is.
const ROWS_PER_EPISODE: usize = 1 << 14;
const LONGEST_EPISODE: Duration = Duration::from_secs(600);
/// Rows after which a part is written, time after which it is, and rows beyond which nothing more is taken in.
const ROWS_PER_PART: usize = 1 << 15;
const LONGEST_PART: Duration = Duration::from_secs(60);
const MOST_ROWS: usize = 1 << 18;

/// Why nothing could be noted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShadowError {
    /// The log cannot be written.
    #[error("cannot be noted")]
    Trace(#[from] TraceError),
    /// Two servers would write over each other.
    #[error("{}: another server notes here; give this one a log of its own", .0.display())]
    Taken(PathBuf),
    /// Too much waits for a disk that takes nothing.
    #[error("cannot be noted: {MOST_ROWS} rows wait to be written")]
    Full,
}

/// What one client has told so far: an episode of a log.
pub(super) struct Episode<S: Scenario> {
    log: ChoiceLog<S>,
    decisions: u32,
    /// When it was first told something.
    since: Option<Instant>,
}

/// An episode that has ended.
pub(super) struct Notes {
    tables: Vec<LevelTable>,
    decisions: u32,
    seed: u64,
}

impl<S: Scenario> Episode<S> {
    pub(super) fn new() -> Self {
        // A present scheduler may leave open what the policy would not.
        Self { log: ChoiceLog::new(S::INFO.may_abstain), decisions: 0, since: None }
    }

    pub(super) fn push(&mut self, seen: &S::View<'_>, decision: S::Decision, probabilities: &Said) {
        self.since.get_or_insert_with(Instant::now);
        self.log.push(0, self.decisions, seen, decision, probabilities);
        self.decisions += 1;
    }

    pub(super) fn is_long(&self) -> bool {
        self.log.rows() >= ROWS_PER_EPISODE || self.since.is_some_and(|since| since.elapsed() > LONGEST_EPISODE)
    }

    /// Ends the episode and begins the next.
    pub(super) fn take(&mut self, seed: u64) -> Notes {
        let ended = std::mem::replace(self, Self::new());
        Notes { tables: ended.log.into_tables(), decisions: ended.decisions, seed }
    }
}

/// A growing trace. Clients add episodes; a part is written whenever enough of them have come together.
pub struct ShadowLog {
    writer: TraceWriter,
    pending: Mutex<Pending>,
    /// Held as long as this server may write here.
    _lock: PlanLock,
}

struct Pending {
    tables: Vec<LevelTable>,
    episodes: Vec<EpisodeRow>,
    /// The next part and episode.
    part: u32,
    episode: u32,
    /// When the first of the episodes came.
    since: Instant,
}

impl ShadowLog {
    /// Begins a log in `dir`, or goes on with one of the same policy, which may give nothing if it `abstains`.
    ///
    /// # Errors
    ///
    /// A directory that cannot be written, or that holds something else.
    pub fn create(
        dir: &Path,
        info: &ScenarioInfo,
        labeller: &Source,
        abstains: bool,
        seed: u64,
    ) -> Result<Self, ShadowError> {
        let set = (info.feature_set)();
        let present = || Source { id: PRESENT_SCHEDULER.to_owned(), ..Source::default() };
        let manifest = Manifest {
            seed,
            split: Split::Test,
            kinds: info.kinds.iter().map(|&kind| kind.to_owned()).collect(),
            abstains: info.may_abstain,
            labeller_abstains: (info.may_abstain && !abstains).then_some(false),
            figures: info.figures.to_vec(),
            ..Manifest::new(set.clone(), present(), labeller.clone(), present())
        };
        let kinds = manifest.kinds.clone();
        let writer = TraceWriter::create(dir, RecordPlan::open_ended(manifest), false)?;
        let lock = writer.lock()?.ok_or_else(|| ShadowError::Taken(dir.to_owned()))?;
        let (part, episode) = writer.so_far()?;
        let tables = set.levels.iter().map(|spec| LevelTable::new(spec.clone(), kinds.clone())).collect();
        let pending = Pending { tables, episodes: Vec::new(), part, episode, since: Instant::now() };
        Ok(Self { writer, pending: Mutex::new(pending), _lock: lock })
    }

    /// Takes in an episode.
    ///
    /// # Errors
    ///
    /// If it cannot be written; it is kept for the next time. If too much waits already, the episode is lost.
    pub(super) fn add(&self, notes: Notes) -> Result<(), ShadowError> {
        if notes.decisions == 0 {
            return Ok(());
        }
        let mut pending = self.pending();
        if pending.rows() + notes.tables.iter().map(LevelTable::rows).sum::<usize>() > MOST_ROWS {
            return Err(ShadowError::Full);
        }
        if pending.episodes.is_empty() {
            pending.since = Instant::now();
        }
        let episode = pending.episode;
        pending.episode += 1;
        for (all, mut table) in pending.tables.iter_mut().zip(notes.tables) {
            for choice in &mut table.choices {
                choice.episode = episode;
                choice.id |= u64::from(episode) << 32;
            }
            all.append(table);
        }
        pending.episodes.push(EpisodeRow {
            episode,
            seed: notes.seed,
            split: Split::Test.name().to_owned(),
            policy: PRESENT_SCHEDULER.to_owned(),
            outcome: "completed".to_owned(),
            decisions: notes.decisions,
            events: 0,
            figures: vec![None; self.writer.figures()],
        });
        match pending.rows() >= ROWS_PER_PART || pending.since.elapsed() > LONGEST_PART {
            true => self.write(&mut pending),
            false => Ok(()),
        }
    }

    /// Writes what has waited long enough.
    ///
    /// # Errors
    ///
    /// If it cannot be written; it is kept for the next time.
    pub(super) fn write_what_is_due(&self) -> Result<(), ShadowError> {
        let mut pending = self.pending();
        match !pending.episodes.is_empty() && pending.since.elapsed() > LONGEST_PART {
            true => self.write(&mut pending),
            false => Ok(()),
        }
    }

    /// Writes what is left, and the manifest; `None` if nothing has ever been noted.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(&self) -> Result<Option<Manifest>, ShadowError> {
        let mut pending = self.pending();
        if !pending.episodes.is_empty() {
            self.write(&mut pending)?;
        }
        Ok(self.writer.finish_so_far()?)
    }

    fn write(&self, pending: &mut Pending) -> Result<(), ShadowError> {
        let mut part = self.writer.part(pending.part)?;
        for (level, table) in pending.tables.iter().enumerate().filter(|(_, table)| table.rows() > 0) {
            part.write_level(level, table)?;
        }
        for row in &pending.episodes {
            part.add_episode(row.clone(), [], []);
        }
        part.finish()?;
        pending.tables.iter_mut().for_each(LevelTable::clear);
        pending.episodes.clear();
        pending.part += 1;
        Ok(())
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // A thread that died within has at most lost an episode.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    fn rows(&self) -> usize {
        self.tables.iter().map(LevelTable::rows).sum()
    }
}
