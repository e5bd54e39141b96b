//! Decisions as index lists: which rows of the network's inputs meet where.

use super::experience::Experience;
use sched_distill_training::network::Dl2Shape;

/// A decision in the memory: its rollout and step.
pub(super) type Place = (u32, u32);

/// Decisions and everything that the networks need to know of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Batch {
    pub(super) decisions: i64,
    /// Inputs of the columns of all decisions, shape `(columns, inputs)`.
    pub(super) x: Vec<f32>,
    /// Decision of each column, and its place in that decision's window.
    pub(super) decision: Vec<i64>,
    pub(super) column: Vec<i64>,
    /// Where each legal action's score is: three per column of all columns, then closing, one per decision.
    pub(super) score: Vec<i64>,
    /// Where it goes in a table of a line per decision, row-major.
    pub(super) place: Vec<i64>,
    /// Length of a line.
    pub(super) width: i64,
    /// Place in its line of each decision's action.
    pub(super) target: Vec<i64>,
    /// Its log-probability when it was decided.
    pub(super) old: Vec<f32>,
    /// How much better than expected it came out.
    pub(super) advantage: Vec<f32>,
    /// What the state turned out to be worth.
    pub(super) worth: Vec<f32>,
    /// How much the decision counts.
    pub(super) weight: Vec<f32>,
}

impl Batch {
    /// Gathers decisions, each with its weight; advantages are divided by `scale`.
    pub(super) fn new(shape: Dl2Shape, memory: &[Experience], drawn: &[(Place, f32)], scale: f64) -> Self {
        let mut batch = Self { decisions: drawn.len() as i64, ..Self::default() };
        let steps = || {
            drawn.iter().map(|((rollout, step), _)| {
                let rollout = &memory[*rollout as usize];
                (rollout, &rollout.steps[*step as usize])
            })
        };
        batch.width = steps().map(|(rollout, step)| rollout.legal(step).len()).max().unwrap_or(1) as i64;
        let columns: usize = steps().map(|(rollout, step)| rollout.columns(step).len()).sum();
        for (d, ((rollout, step), (_, weight))) in steps().zip(drawn).enumerate() {
            let (d, first) = (d as i64, batch.decision.len() as i64);
            let own = rollout.columns(step);
            for (place, column) in own.iter().enumerate() {
                shape.write_inputs(column, &mut batch.x);
                batch.decision.push(d);
                batch.column.push(place as i64);
            }
            for (i, &action) in rollout.legal(step).iter().enumerate() {
                let closes = action as usize == 3 * own.len();
                batch.score.push(if closes { 3 * columns as i64 + d } else { 3 * first + i64::from(action) });
                batch.place.push(d * batch.width + i as i64);
            }
            batch.target.push(i64::from(step.chosen));
            batch.old.push(step.log_prob);
            batch.advantage.push(((step.target - step.value) / scale) as f32);
            batch.worth.push(step.target as f32);
            batch.weight.push(*weight);
        }
        batch
    }
}
