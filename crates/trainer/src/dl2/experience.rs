//! What a rollout leaves to learn from.

use sched_distill_training::{heuristic::window::ROWS, network::Dl2Policy};
use std::ops::Range;

/// Decisions of one rollout.
#[derive(Debug, Default)]
pub(super) struct Experience {
    pub(super) steps: Vec<Step>,
    columns: Vec<[f32; ROWS]>,
    legal: Vec<u32>,
}

/// One decision of the network's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    columns: Range<u32>,
    legal: Range<u32>,
    /// Place of the action to learn from among the legal ones.
    pub(super) chosen: u32,
    /// Its log-probability when it was decided.
    pub(super) log_prob: f32,
    /// What the value network expected.
    pub(super) value: f64,
    /// What came before the next decision.
    pub(super) reward: f64,
    /// By what things after the next decision are multiplied; less than 1 if the slot ended.
    pub(super) discount: f64,
    /// What the state turned out to be worth (λ-return).
    pub(super) target: f64,
}

impl Experience {
    /// Adds the question that the network saw last.
    pub(super) fn push(&mut self, policy: &mut Dl2Policy, chosen: usize) {
        let (legal, log_prob) = policy.legal_actions();
        let (first, log_prob) = (self.legal.len() as u32, log_prob[chosen] as f32);
        self.legal.extend_from_slice(legal);
        let legal = first..self.legal.len() as u32;
        let network = policy.network();
        let first = self.columns.len() as u32;
        self.columns.extend_from_slice(network.columns());
        self.steps.push(Step {
            columns: first..self.columns.len() as u32,
            legal,
            chosen: chosen as u32,
            log_prob,
            value: network.value(),
            reward: 0.0,
            discount: 1.0,
            target: 0.0,
        });
    }

    /// A slot has ended; what it was worth goes to the last decision before.
    pub(super) fn close(&mut self, reward: f64, discount: f64) {
        if let Some(step) = self.steps.last_mut() {
            step.reward += step.discount * reward;
            step.discount *= discount;
        }
    }

    /// Works the targets out, once the episode has ended (J. Schulman et al., *High-Dimensional Continuous Control Using
    /// Generalized Advantage Estimation*, 2016).
    pub(super) fn settle(&mut self, trace_decay: f64) {
        let (mut advantage, mut next) = (0.0, 0.0);
        for step in self.steps.iter_mut().rev() {
            let surprise = step.reward + step.discount * next - step.value;
            advantage = surprise + step.discount * trace_decay * advantage;
            step.target = step.value + advantage;
            next = step.value;
        }
    }

    pub(super) fn columns(&self, step: &Step) -> &[[f32; ROWS]] {
        &self.columns[step.columns.start as usize..step.columns.end as usize]
    }

    /// Numbers of the actions that could be chosen.
    pub(super) fn legal(&self, step: &Step) -> &[u32] {
        &self.legal[step.legal.start as usize..step.legal.end as usize]
    }
}
