//! Where a warm start learns from: a policy that is asked, or a trace of what one did.

use super::TrainError;
use crate::{
    policy::{Policy, PolicyError},
    recorder::workload_source,
    scenario::{Dag, dag::Probabilities},
    simulator::dag::{Decision, Observation, StageRef},
    spec::Spec,
    trace::Trace,
    workload::{self, dag::Workload},
};
use std::{path::Path, sync::Arc};

/// A teacher.
pub enum Lessons {
    /// A policy. Half of the rollouts are its own; in the others the network schedules and the policy says what it would
    /// have done (S. Ross et al., *A Reduction of Imitation Learning and Structured Prediction to No-Regret Online
    /// Learning*, AISTATS 2011).
    Policy(Box<dyn Policy>),
    /// The episodes of a trace, played again, as DL2 begins from the logs of the scheduler at work.
    Trace(RecordedLessons),
}

/// The decisions of a trace.
pub struct RecordedLessons {
    pub(super) workload: Box<dyn Workload>,
    pub(super) episodes: Vec<RecordedEpisode>,
}

/// One episode of a trace.
#[derive(Clone, Debug)]
pub(super) struct RecordedEpisode {
    pub(super) episode: u32,
    pub(super) seed: u64,
    pub(super) decisions: Arc<[Decision]>,
}

impl RecordedLessons {
    /// Reads a trace that this program recorded on a workload that can be opened again.
    ///
    /// # Errors
    ///
    /// A trace that cannot be read, whose workload is not there or has changed, or that lacks decisions.
    pub fn open(dir: &Path) -> Result<Self, TrainError> {
        let fail = |reason: String| TrainError::Lessons { path: dir.to_owned(), reason };
        let trace = Trace::open(dir)?;
        let recorded = &trace.manifest.workload;
        let spec: Spec = recorded.id.parse().map_err(|e| fail(format!("its workload cannot be opened: {e}")))?;
        let workload = workload::dag::open(&spec).map_err(|e| fail(format!("its workload cannot be opened: {e}")))?;
        if workload_source::<Dag>(&recorded.id, &*workload)? != *recorded {
            let reason = format!("the files of its workload `{}` have changed since; record it again", recorded.id);
            return Err(fail(reason));
        }
        let mut episodes: Vec<(u32, u64, Vec<Decision>)> = Vec::new();
        for row in trace.episodes()? {
            episodes.push((row.episode, row.seed, vec![Decision::Abstain; row.decisions as usize]));
        }
        // A row of the last level says it all: job, stage, amount.
        let level = trace.manifest.feature_set.levels.last().map(|l| l.name.clone()).unwrap_or_default();
        let amounts = trace.level(&level)?;
        for choice in amounts.iter() {
            let Some(chosen) = choice.chosen.iter().position(|&c| c) else { continue };
            let (episode, step) = (choice.header.episode, choice.header.step as usize);
            let row = choice.entity.chunks(amounts.spec.entities.len()).nth(chosen);
            let place = episodes.binary_search_by_key(&episode, |e| e.0).ok();
            let decision = place.and_then(|place| episodes[place].2.get_mut(step));
            match (row, decision) {
                (Some(&[job, stage, executors]), Some(decision)) => {
                    *decision = Decision::Assign { stage: StageRef { job, stage }, executors };
                }
                _ => return Err(fail(format!("decision {step} of episode {episode} of level {level} does not fit"))),
            }
        }
        let incomplete = |e: &&(u32, u64, Vec<Decision>)| e.2.contains(&Decision::Abstain);
        if let Some((episode, ..)) = episodes.iter().find(incomplete).filter(|_| !trace.manifest.abstains) {
            return Err(fail(format!(
                "episode {episode} lacks decisions of level {level}, so it cannot be played again"
            )));
        }
        let episodes = episodes.into_iter().map(|(episode, seed, decisions)| RecordedEpisode {
            episode,
            seed,
            decisions: decisions.into(),
        });
        Ok(Self { workload, episodes: episodes.collect() })
    }
}

/// Does again what was recorded.
pub(super) struct Replay {
    decisions: Arc<[Decision]>,
    next: usize,
}

impl Replay {
    pub(super) fn new(episode: &RecordedEpisode) -> Self {
        Self { decisions: Arc::clone(&episode.decisions), next: 0 }
    }
}

impl Policy for Replay {
    fn fresh(&self) -> Box<dyn Policy> {
        Box::new(Self { decisions: Arc::clone(&self.decisions), next: 0 })
    }

    fn decide(&mut self, _: &Observation<'_>, _: &mut Probabilities) -> Result<Decision, PolicyError> {
        self.next += 1;
        // An episode that is longer than the recorded one is another; the next decision that is illegal says so.
        Ok(self.decisions.get(self.next - 1).copied().unwrap_or(Decision::Abstain))
    }

    fn abstains(&self) -> bool {
        true
    }
}
