//! The flat form: all columns of the window in one row, through dense layers, as DL2 is published.

use crate::heuristic::window::ROWS;
use sched_distill_core::network::dense::{Identity, Kernel, Layer, Relu};

/// One of the two networks.
#[derive(Clone, Debug)]
pub(super) struct Flat {
    /// Columns of the window.
    pub(super) window: usize,
    /// Scores per column, besides the one of no column.
    pub(super) scores: usize,
    pub(super) first: Layer,
    pub(super) second: Layer,
    pub(super) score: Layer,
}

/// Buffers of a network's forward pass.
#[derive(Clone, Debug, Default)]
pub(super) struct FlatPass {
    x: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
    scores: Vec<f32>,
}

impl FlatPass {
    /// Writes the scores of the columns that are not empty, and that of no column last; `x` has shape `(columns, inputs)`, empty
    /// columns left out.
    pub(super) fn run(&mut self, network: &Flat, kernel: Kernel, x: &[f32], out: &mut Vec<f32>) {
        self.x.clear();
        self.x.extend_from_slice(x);
        self.x.resize(network.window * ROWS, 0.0);
        self.first.resize(network.first.width(), 0.0);
        kernel.run::<Relu>(network.first.whole(), &self.x, &mut self.first);
        self.second.resize(network.second.width(), 0.0);
        kernel.run::<Relu>(network.second.whole(), &self.first, &mut self.second);
        self.scores.resize(network.score.width(), 0.0);
        kernel.run::<Identity>(network.score.whole(), &self.second, &mut self.scores);
        out.clear();
        out.extend_from_slice(&self.scores[..network.scores * (x.len() / ROWS)]);
        out.push(self.scores[network.scores * network.window]);
    }
}
