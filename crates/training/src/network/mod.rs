//! DL2: a window of training jobs in, a score for each task of each job and for closing the slot out.

mod flat;
mod policy;
mod pooled;
mod weights;

#[cfg(test)]
mod tests;

pub use policy::{BUILT_IN, Dl2Policy};
pub use pooled::POOL;
pub use weights::{Dl2Form, Dl2Shape, Dl2Weights, WINDOW};

use crate::{
    heuristic::window::{self, ROWS, Window},
    state::View,
};
use sched_distill_core::network::{NeuralError, dense::Kernel};
use std::sync::Arc;
use weights::Pass;

/// Evaluates a DL2 network on one question after the other.
#[derive(Clone, Debug)]
pub struct Dl2 {
    weights: Arc<Dl2Weights>,
    kernel: Kernel,
    columns: Vec<[f32; ROWS]>,
    x: Vec<f32>,
    policy: Pass,
    value: Pass,
    scores: Vec<f32>,
    values: Vec<f32>,
}

impl Dl2 {
    /// An evaluator of these weights that has not seen a question yet.
    #[must_use]
    pub fn new(weights: Arc<Dl2Weights>) -> Self {
        Self {
            weights,
            kernel: Kernel::detect(),
            columns: Vec::new(),
            x: Vec::new(),
            policy: Pass::default(),
            value: Pass::default(),
            scores: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Takes in the columns of a window that has looked at the question.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Input`] if a job is of a type beyond those that the network tells apart, or if the window is wider than a
    /// flat network's.
    pub fn read(&mut self, seen: &View<'_>, window: &Window) -> Result<(), NeuralError> {
        let shape = self.weights.shape();
        let fail = |reason: String| Err(NeuralError::Input { network: "dl2", reason });
        if shape.form == Dl2Form::Flat && window.jobs().len() > shape.window {
            return fail(format!("{} jobs in the window, this network sees {}", window.jobs().len(), shape.window));
        }
        self.columns.clear();
        self.x.clear();
        for &job in window.jobs() {
            let view = seen.job(job);
            let column = window::column(view, view.dominant_share());
            if let Dl2Form::Pooled { types } = shape.form
                && usize::from(view.kind()) >= types
            {
                let (kind, name) = (view.kind() + 1, &view.job_type().name);
                return fail(format!("job {job} is of type {kind} (`{name}`), this network knows {types} types"));
            }
            shape.write_inputs(&column, &mut self.x);
            self.columns.push(column);
        }
        Ok(())
    }

    /// The columns that were read last, rows as in [`Window::write_state`].
    #[must_use]
    pub fn columns(&self) -> &[[f32; ROWS]] {
        &self.columns
    }

    /// Scores (logits) of the actions that [`Window`] numbers, those of empty columns left out: three per column, then closing.
    pub fn scores(&mut self) -> &[f32] {
        let Self { weights, kernel, x, policy, scores, .. } = self;
        policy.run(&weights.policy, *kernel, x, scores);
        scores
    }

    /// What the value network says of the state.
    pub fn value(&mut self) -> f64 {
        let Self { weights, kernel, x, value, values, .. } = self;
        value.run(&weights.value, *kernel, x, values);
        values.iter().map(|&v| f64::from(v)).sum()
    }
}
