//! Practice episodes of a scorer: it schedules, or watches a teacher schedule, and what happens is kept as tables.

use super::moment::{Clock, Moment};
use crate::recorder::{EpisodeCause, EpisodeError};
use sched_distill_core::{
    network::scorer::ScorerPolicy,
    policy::Policy,
    scenario::Scenario,
    simulation::{Outcome, Simulated, Simulation},
};

/// Who decides, and whose decisions are to be learned.
pub enum Driver<'a, S: Scenario> {
    /// The network, both.
    Own,
    /// A teacher's decisions are to be learned, and it schedules.
    Taught(&'a mut dyn Policy<S>),
    /// A teacher's decisions are to be learned, but the network schedules.
    Watched(&'a mut dyn Policy<S>),
}

/// What an episode leaves to learn from.
#[derive(Clone, Debug)]
pub struct Practice {
    /// The choices along the paths of the decisions to learn from, by level.
    pub levels: Vec<PracticeLevel>,
    /// These decisions.
    pub steps: Vec<PracticeStep>,
    /// How it ended; `None` where only some of its decisions are looked at.
    pub outcome: Option<Outcome>,
}

/// Choices of a level, one for each decision that got there.
#[derive(Clone, Debug, PartialEq)]
pub struct PracticeLevel {
    /// Numbers of a row.
    pub width: usize,
    /// Rows of the candidates as the network is given them, choice after choice.
    pub x: Vec<f32>,
    /// First row of each choice, and at last the number of rows.
    pub first: Vec<u32>,
    /// The decision that each choice belongs to, ascending.
    pub step: Vec<u32>,
    /// The candidate to learn from.
    pub taken: Vec<u32>,
}

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PracticeStep {
    /// When, and what came of it.
    pub moment: Moment,
    /// The network's log-probability of it when it decided; 0 where a teacher did.
    pub log_prob: f32,
}

impl PracticeLevel {
    /// No choices yet, of rows of so many numbers.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self { width, x: Vec::new(), first: vec![0], step: Vec::new(), taken: Vec::new() }
    }

    /// Adds the choice of a decision behind those of earlier ones.
    pub fn push(&mut self, rows: &[f32], step: u32, taken: u32) {
        self.x.extend_from_slice(rows);
        self.first.push((self.x.len() / self.width) as u32);
        self.step.push(step);
        self.taken.push(taken);
    }

    /// The choice of a decision, if it got to this level.
    #[must_use]
    pub fn choice_of(&self, step: u32) -> Option<usize> {
        self.step.binary_search(&step).ok()
    }

    /// The rows of a choice.
    #[must_use]
    pub fn rows(&self, choice: usize) -> &[f32] {
        &self.x[self.first[choice] as usize * self.width..self.first[choice + 1] as usize * self.width]
    }
}

/// Plays an episode; `draws` is the seed of the network's draws. Where a decision of a teacher has no path, as that to give nothing,
/// there is nothing to learn from it.
///
/// # Errors
///
/// A policy that cannot answer or answers something illegal.
pub fn play<S: Simulated>(
    workload: &S::Workload,
    network: &mut ScorerPolicy<S>,
    mut driver: Driver<'_, S>,
    (episode, seed, draws): (u32, u64, u64),
    clock: Clock,
) -> Result<Practice, EpisodeError> {
    let mut sim = S::start(workload, S::jobs(workload, seed), seed);
    network.reset(draws);
    if let Driver::Taught(teacher) | Driver::Watched(teacher) = &mut driver {
        teacher.reset(draws);
    }
    let widths = (S::INFO.feature_set)().levels.iter().map(|level| level.features.len());
    let mut levels: Vec<PracticeLevel> = widths.map(PracticeLevel::new).collect();
    let (mut steps, mut silent, mut asked) = (Vec::<PracticeStep>::new(), S::Probabilities::default(), 0);
    let fail = |step, cause| EpisodeError { episode, seed, step, source: Box::new(cause) };
    while let Some(seen) = sim.view() {
        let failed = |e| fail(asked, EpisodeCause::from(e));
        let time_ms = S::time_ms(&seen);
        if let Some(last) = steps.last_mut() {
            last.moment.pass::<S>(&sim, time_ms, clock);
        }
        let mut ask = |teacher: &mut dyn Policy<S>| {
            S::clear(&mut silent);
            teacher.decide(&seen, &mut silent).map_err(failed)
        };
        let (decision, is_lesson) = match &mut driver {
            Driver::Own => (network.act(&seen).map_err(failed)?, true),
            Driver::Taught(teacher) => {
                let lesson = ask(*teacher)?;
                (lesson, network.follow(&seen, lesson).map_err(failed)?)
            }
            Driver::Watched(teacher) => {
                let decision = network.act(&seen).map_err(failed)?;
                let lesson = ask(*teacher)?;
                (decision, network.follow(&seen, lesson).map_err(failed)?)
            }
        };
        if is_lesson {
            let log_prob = if matches!(driver, Driver::Own) { network.log_prob() as f32 } else { 0.0 };
            for ((i, level), &taken) in levels.iter_mut().enumerate().zip(network.taken()) {
                level.push(network.given_at(i), steps.len() as u32, taken as u32);
            }
            steps.push(PracticeStep { moment: Moment::at(time_ms, clock), log_prob });
        }
        sim.step(decision).map_err(|e| fail(asked, EpisodeCause::illegal(e)))?;
        asked += 1;
    }
    let outcome = sim.outcome().expect("no question is open, so the episode has ended");
    if let Some(last) = steps.last_mut() {
        last.moment.pass::<S>(&sim, outcome.final_time_ms, clock);
        if outcome.stalled() {
            last.moment.left::<S>(&sim, outcome.final_time_ms, clock);
        }
    }
    Ok(Practice { levels, steps, outcome: Some(outcome) })
}
