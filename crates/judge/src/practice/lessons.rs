//! Where a warm start learns from: a policy that is asked, or a trace of what one did.

use sched_distill_core::{
    policy::{Policy, PolicyError},
    rng::EpisodeId,
    scenario::{Questions, Said},
    simulation::{Simulated, Simulation, Workload},
    spec::Spec,
};
use sched_distill_trace::{
    Source, Trace, TraceError,
    recorder::{RecordError, policy_source, workload_source},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Why a trace cannot be learned from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LessonsError {
    /// It cannot be read.
    #[error("the trace to learn from cannot be used")]
    Trace(#[from] TraceError),
    /// A file that it names cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It does not fit.
    #[error("{}: {reason}", path.display())]
    Unfit {
        /// The trace.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// A teacher.
pub enum Lessons<S: Simulated> {
    /// A policy. Half of the rollouts are its own; in the others the network schedules and the policy says what it would
    /// have done (S. Ross et al., *A Reduction of Imitation Learning and Structured Prediction to No-Regret Online
    /// Learning*, AISTATS 2011).
    Policy(Box<dyn Policy<S>>),
    /// The episodes of a trace, played again, as DL2 begins from the logs of the scheduler at work.
    Trace(RecordedLessons<S>),
}

impl<S: Simulated> Lessons<S> {
    /// What it is, with the hashes of its files; `id` is the policy's spec, or the folder of the trace.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn source(&self, id: &str) -> Result<Source, RecordError> {
        match self {
            Self::Policy(policy) => policy_source(id, &**policy),
            Self::Trace(recorded) => {
                Ok(Source { id: id.to_owned(), files: [("manifest.json".to_owned(), recorded.hash.clone())].into() })
            }
        }
    }
}

/// The decisions of a trace.
pub struct RecordedLessons<S: Simulated> {
    /// The trace's hash.
    pub hash: String,
    /// The workload that they were made on.
    pub workload: Workload<S>,
    /// Its episodes.
    pub episodes: Vec<RecordedEpisode<S>>,
}

/// One episode of a trace.
pub struct RecordedEpisode<S: Simulated> {
    /// Which one.
    pub id: EpisodeId,
    /// What was decided.
    pub decisions: Arc<[S::Decision]>,
}

impl<S: Simulated> RecordedLessons<S> {
    /// Reads a trace that this program recorded on a workload that can be opened again, and plays its decisions once.
    ///
    /// # Errors
    ///
    /// A trace that cannot be read, whose workload is not there or has changed, or that lacks decisions.
    pub fn open(dir: &Path) -> Result<Self, LessonsError> {
        let fail = |reason: String| LessonsError::Unfit { path: dir.to_owned(), reason };
        let trace = Trace::open(dir)?.as_executed();
        let found = &trace.manifest.feature_set.scenario;
        if found != S::INFO.name {
            return Err(fail(format!("a trace of the scenario {found}, the network is for {}", S::INFO.name)));
        }
        let recorded = &trace.manifest.workload;
        let spec: Spec = recorded.id.parse().map_err(|e| fail(format!("its workload cannot be opened: {e}")))?;
        let workload = S::open_workload(&spec).map_err(|e| fail(format!("its workload cannot be opened: {e}")))?;
        if workload_source::<S>(&recorded.id, &workload)? != *recorded {
            let reason = format!("the files of its workload `{}` have changed since; record it again", recorded.id);
            return Err(fail(reason));
        }
        // Per episode and decision, the places of what was chosen, level by level.
        let mut paths: Vec<(u32, u64, Vec<Vec<usize>>)> = Vec::new();
        for row in trace.episodes()? {
            paths.push((row.episode, row.seed, vec![Vec::new(); row.decisions as usize]));
        }
        for level in &trace.manifest.feature_set.levels {
            for choice in trace.level(&level.name)?.iter() {
                let Some(chosen) = choice.chosen.iter().position(|&c| c) else { continue };
                let (episode, step) = (choice.header.episode, choice.header.step as usize);
                let place = paths.binary_search_by_key(&episode, |e| e.0).ok();
                match place.and_then(|place| paths[place].2.get_mut(step)) {
                    Some(path) => path.push(chosen),
                    None => {
                        return Err(fail(format!(
                            "level {} has a decision {step} of episode {episode}, which the trace has not",
                            level.name
                        )));
                    }
                }
            }
        }
        let mut episodes = Vec::new();
        for (episode, seed, paths) in paths {
            let id = EpisodeId { seed, episode };
            let decisions = decisions::<S>(&workload, id, &paths, trace.abstains());
            let decisions =
                decisions.map_err(|reason| fail(format!("episode {episode} cannot be played again: {reason}")))?;
            episodes.push(RecordedEpisode { id, decisions: decisions.into() });
        }
        match episodes.is_empty() {
            true => Err(fail("it has no episodes".to_owned())),
            false => Ok(Self { hash: trace.hash, workload, episodes }),
        }
    }
}

/// What the paths of an episode's decisions come to.
fn decisions<S: Simulated>(
    workload: &Workload<S>,
    id: EpisodeId,
    paths: &[Vec<usize>],
    abstains: bool,
) -> Result<Vec<S::Decision>, String> {
    let levels = (S::INFO.feature_set)().levels.len();
    let (mut sim, mut questions, mut rows) =
        (S::start(workload, workload.jobs(id), id.seed), S::Questions::default(), Vec::new());
    let mut decisions = Vec::new();
    for (step, path) in paths.iter().enumerate() {
        let seen = sim.view().ok_or_else(|| format!("it ends after {step} of {} decisions", paths.len()))?;
        questions.update(&seen);
        rows.clear();
        if path.len() < levels && questions.rows(&seen, path, abstains, &mut rows) > 0 {
            return Err(format!("decision {step} lacks its choice at level {}", path.len() + 1));
        }
        let decision = questions.decision(&seen, path);
        sim.step(decision).map_err(|e| format!("decision {step}: {e}"))?;
        decisions.push(decision);
    }
    match sim.view() {
        None => Ok(decisions),
        Some(_) => Err(format!("it goes on after its {} decisions", paths.len())),
    }
}

/// Does again what was recorded.
pub struct Replay<S: Simulated> {
    decisions: Arc<[S::Decision]>,
    next: usize,
}

impl<S: Simulated> Replay<S> {
    /// A policy for that episode alone.
    #[must_use]
    pub fn new(episode: &RecordedEpisode<S>) -> Self {
        Self { decisions: Arc::clone(&episode.decisions), next: 0 }
    }
}

impl<S: Simulated> Policy<S> for Replay<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        Box::new(Self { decisions: Arc::clone(&self.decisions), next: 0 })
    }

    fn decide(&mut self, _: &S::View<'_>, _: &mut Said) -> Result<S::Decision, PolicyError> {
        self.next += 1;
        Ok(*self.decisions.get(self.next - 1).expect("the episode was played to its end when the trace was opened"))
    }

    fn abstains(&self) -> bool {
        true
    }
}
