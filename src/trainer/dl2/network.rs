//! The two DL2 networks in libtorch, over a whole batch of decisions, so that they can be differentiated.

use super::batch::Batch;
use crate::policy::neural::{Dl2Shape, POOL, TRUNKS};
use crate::trainer::Weights;
use tch::{Device, TchError, Tensor};

/// Score of entries that are not there: their probability is 0, their part in every gradient too.
const NOTHING: f64 = -1e9;

/// Weight and bias of a layer.
type Layer = (Tensor, Tensor);

/// The networks over one row of weights.
pub(super) struct Network {
    /// All weights; gradients gather here.
    pub(super) weights: Tensor,
    shape: Dl2Shape,
    /// Per network: job, cluster, together, score, close.
    trunks: [[Layer; 5]; 2],
}

/// A batch on the device.
pub(super) struct Inputs {
    x: Tensor,
    decision: Tensor,
    score: Tensor,
    place: Tensor,
    target: Tensor,
    pub(super) old: Tensor,
    pub(super) advantage: Tensor,
    pub(super) worth: Tensor,
    pub(super) weight: Tensor,
    width: i64,
    decisions: i64,
}

impl Inputs {
    pub(super) fn new(batch: &Batch, shape: Dl2Shape, device: Device) -> Result<Self, TchError> {
        let index = |list: &[i64]| Tensor::f_from_slice(list)?.f_to_device(device);
        let floats = |list: &[f32]| Tensor::f_from_slice(list)?.f_to_device(device);
        Ok(Self {
            x: floats(&batch.x)?.f_view([-1, shape.inputs() as i64])?,
            decision: index(&batch.decision)?,
            score: index(&batch.score)?,
            place: index(&batch.place)?,
            target: index(&batch.target)?,
            old: floats(&batch.old)?,
            advantage: floats(&batch.advantage)?,
            worth: floats(&batch.worth)?,
            weight: floats(&batch.weight)?,
            width: batch.width,
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
        Self::over(Tensor::f_from_slice(&weights.data)?.f_to_device(device)?.f_set_requires_grad(true)?, shape)
    }

    /// The networks over a row of weights, of whatever precision.
    pub(super) fn over(weights: Tensor, shape: Dl2Shape) -> Result<Self, TchError> {
        let mut at = 0;
        let mut views = Vec::new();
        for (_, shape) in shape.tensors() {
            let len = shape.iter().product::<usize>() as i64;
            let shape: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
            views.push(weights.f_narrow(0, at, len)?.f_view(&shape[..])?);
            at += len;
        }
        let mut layers = views.as_chunks::<2>().0.iter().map(|[w, b]| (w.shallow_clone(), b.shallow_clone()));
        let mut layer = || layers.next().expect("the layout has five layers for each of the two networks");
        let trunks = TRUNKS.map(|_| std::array::from_fn(|_| layer()));
        Ok(Self { weights, shape, trunks })
    }

    /// Scores of all columns, shape `(columns, scores)`, and of closing, shape `(decisions, 1)`.
    fn trunk(&self, number: usize, inputs: &Inputs) -> Result<[Tensor; 2], TchError> {
        let [job, cluster, together, score, close] = &self.trunks[number];
        let hidden = self.shape.hidden as i64;
        let linear = |x: &Tensor, layer: &Layer| x.f_linear(&layer.0, Some(&layer.1));
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

    /// Log-probabilities of the actions to learn from, and the entropy of all, one per decision.
    pub(super) fn answers(&self, inputs: &Inputs) -> Result<[Tensor; 2], TchError> {
        let [columns, close] = self.trunk(0, inputs)?;
        let scores =
            Tensor::f_cat(&[columns.f_view([-1])?, close.f_view([-1])?], 0)?.f_index_select(0, &inputs.score)?;
        let empty = Tensor::f_full([inputs.decisions * inputs.width], NOTHING, (scores.kind(), scores.device()))?;
        let table = empty.f_index_copy(0, &inputs.place, &scores)?.f_view([inputs.decisions, inputs.width])?;
        let log_probs = table.f_log_softmax(1, table.kind())?;
        let entropy =
            log_probs.f_exp()?.f_mul(&log_probs)?.f_sum_dim_intlist(1i64, false, log_probs.kind())?.f_neg()?;
        Ok([log_probs.f_gather(1, &inputs.target.f_view([-1, 1])?, false)?.f_view([-1])?, entropy])
    }

    /// What the value network says of each state.
    pub(super) fn values(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let [columns, close] = self.trunk(1, inputs)?;
        close.f_view([-1])?.f_index_add(0, &inputs.decision, &columns.f_view([-1])?)
    }
}
