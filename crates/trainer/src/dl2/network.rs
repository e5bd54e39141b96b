//! The two DL2 networks in libtorch, over a whole batch of decisions, so that they can be differentiated.

use super::batch::Batch;
use crate::{
    Weights,
    libtorch::{Layer, Table, entropy, floats, layers, linear, places, row},
    update::Answers,
};
use sched_distill_training::network::{Dl2Form, Dl2Shape, POOL};
use tch::{Device, TchError, Tensor};

/// The networks over one row of weights.
pub(super) struct Network {
    /// All weights; gradients gather here.
    pub(super) weights: Tensor,
    shape: Dl2Shape,
    policy: Layers,
    value: Layers,
}

enum Layers {
    Pooled([Layer; 5]),
    Flat([Layer; 3]),
}

/// A batch on the device.
pub(super) struct Inputs {
    x: Tensor,
    decision: Tensor,
    column: Tensor,
    score: Tensor,
    actions: Table,
    pub(super) old: Tensor,
    pub(super) advantage: Tensor,
    pub(super) worth: Tensor,
    pub(super) weight: Tensor,
    decisions: i64,
}

impl Inputs {
    pub(super) fn new(batch: &Batch, shape: Dl2Shape, device: Device) -> Result<Self, TchError> {
        let index = |list: &[i64]| places(list, device);
        let floats = |list: &[f32]| floats(list, device);
        Ok(Self {
            x: floats(&batch.x)?.f_view([-1, shape.inputs() as i64])?,
            decision: index(&batch.decision)?,
            column: index(&batch.column)?,
            score: index(&batch.score)?,
            actions: Table { place: index(&batch.place)?, width: batch.width, target: index(&batch.target)? },
            old: floats(&batch.old)?,
            advantage: floats(&batch.advantage)?,
            worth: floats(&batch.worth)?,
            weight: floats(&batch.weight)?,
            decisions: batch.decisions,
        })
    }

    /// The same in double precision.
    #[cfg(test)]
    pub(super) fn double(mut self) -> Result<Self, TchError> {
        for t in [&mut self.x, &mut self.old, &mut self.advantage, &mut self.worth, &mut self.weight] {
            *t = t.f_to_kind(tch::Kind::Double)?;
        }
        Ok(self)
    }
}

impl Network {
    /// The networks with these weights, ready to gather their gradient.
    pub(super) fn new(weights: &Weights, shape: Dl2Shape, device: Device) -> Result<Self, TchError> {
        Self::over(row(&weights.data, device)?, shape)
    }

    /// The networks over a row of weights, of whatever precision.
    pub(super) fn over(weights: Tensor, shape: Dl2Shape) -> Result<Self, TchError> {
        let mut layers = layers(&weights, &shape.tensors())?.into_iter();
        let mut next = || layers.next().expect("both networks have the layers of their form");
        let mut network = || match shape.form {
            Dl2Form::Pooled { .. } => Layers::Pooled(std::array::from_fn(|_| next())),
            Dl2Form::Flat => Layers::Flat(std::array::from_fn(|_| next())),
        };
        let (policy, value) = (network(), network());
        Ok(Self { weights, shape, policy, value })
    }

    /// Scores of all columns, shape `(columns, scores)`, and the one of no column, shape `(decisions, 1)`.
    fn scores(&self, layers: &Layers, inputs: &Inputs) -> Result<[Tensor; 2], TchError> {
        match layers {
            Layers::Pooled(layers) => self.pooled(layers, inputs),
            Layers::Flat(layers) => self.flat(layers, inputs),
        }
    }

    fn pooled(&self, layers: &[Layer; 5], inputs: &Inputs) -> Result<[Tensor; 2], TchError> {
        let [job, cluster, together, score, close] = layers;
        let hidden = self.shape.hidden as i64;
        let jobs = linear(&inputs.x, job)?.f_relu()?;
        let pooled = Tensor::f_zeros([inputs.decisions, hidden], (jobs.kind(), jobs.device()))?;
        let pooled = pooled.f_index_add(0, &inputs.decision, &jobs)?.f_mul_scalar(f64::from(POOL))?;
        let all = linear(&pooled, cluster)?.f_relu()?;
        // What a decision's columns share is added up once.
        let own = jobs.f_linear(&together.0.f_narrow(1, 0, hidden)?, Some(&together.1))?;
        let shared = all.f_linear(&together.0.f_narrow(1, hidden, hidden)?, None::<&Tensor>)?;
        let together = own.f_add(&shared.f_index_select(0, &inputs.decision)?)?.f_relu()?;
        Ok([linear(&together, score)?, linear(&all, close)?])
    }

    fn flat(&self, [first, second, score]: &[Layer; 3], inputs: &Inputs) -> Result<[Tensor; 2], TchError> {
        let [window, width] = [self.shape.window, self.shape.inputs()].map(|n| n as i64);
        let (kind, decisions) = ((inputs.x.kind(), inputs.x.device()), inputs.decisions);
        // Columns among those of all windows, empty ones included.
        let place = inputs.decision.f_mul_scalar(window)?.f_add(&inputs.column)?;
        let x = Tensor::f_zeros([decisions * window, width], kind)?.f_index_copy(0, &place, &inputs.x)?;
        let x = linear(&x.f_view([decisions, window * width])?, first)?.f_relu()?;
        let scores = linear(&linear(&x, second)?.f_relu()?, score)?;
        let of_columns = scores.size2()?.1 - 1;
        let columns = scores.f_narrow(1, 0, of_columns)?.f_reshape([decisions * window, of_columns / window])?;
        Ok([columns.f_index_select(0, &place)?, scores.f_narrow(1, of_columns, 1)?])
    }

    /// What the network says about the actions to learn from.
    pub(super) fn answers(&self, inputs: &Inputs) -> Result<Answers, TchError> {
        let [columns, close] = self.scores(&self.policy, inputs)?;
        let scores = Tensor::f_cat(&[columns.f_reshape([-1])?, close.f_reshape([-1])?], 0)?;
        let log_probs = inputs.actions.log_softmax(&scores.f_index_select(0, &inputs.score)?)?;
        let entropy = entropy(&log_probs)?;
        Ok(Answers { log_prob: inputs.actions.chosen(&log_probs)?, entropy })
    }

    /// What the value network says of each state.
    pub(super) fn values(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let [columns, whole] = self.scores(&self.value, inputs)?;
        let columns = columns.f_sum_dim_intlist(1i64, false, columns.kind())?;
        whole.f_reshape([-1])?.f_index_add(0, &inputs.decision, &columns)
    }
}
