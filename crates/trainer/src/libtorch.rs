//! What the networks in libtorch have in common: layers over one row of weights, and choices among candidates.

use tch::{Device, TchError, Tensor};

/// Score of entries that are not there: their probability is 0, their part in every gradient too.
const NOTHING: f64 = -1e9;

/// Weight and bias.
pub(super) type Layer = (Tensor, Tensor);

/// The row of all weights on the device, ready to gather its gradient.
pub(super) fn row(weights: &[f32], device: Device) -> Result<Tensor, TchError> {
    floats(weights, device)?.f_set_requires_grad(true)
}

/// The layers over a row of all weights, of whatever precision; the tensors are weight and bias in turn.
pub(super) fn layers(row: &Tensor, tensors: &[(String, Vec<usize>)]) -> Result<Vec<Layer>, TchError> {
    let mut at = 0;
    let mut views = Vec::with_capacity(tensors.len());
    for (_, shape) in tensors {
        let len = shape.iter().product::<usize>() as i64;
        let shape: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
        views.push(row.f_narrow(0, at, len)?.f_view(&shape[..])?);
        at += len;
    }
    Ok(views.as_chunks::<2>().0.iter().map(|[w, b]| (w.shallow_clone(), b.shallow_clone())).collect())
}

/// `W x + b` for every row of `x`.
pub(super) fn linear(x: &Tensor, layer: &Layer) -> Result<Tensor, TchError> {
    x.f_linear(&layer.0, Some(&layer.1))
}

/// A list of places on the device.
pub(super) fn places(list: &[i64], device: Device) -> Result<Tensor, TchError> {
    Tensor::f_from_slice(list)?.f_to_device(device)
}

/// A list of numbers on the device.
pub(super) fn floats(list: &[f32], device: Device) -> Result<Tensor, TchError> {
    Tensor::f_from_slice(list)?.f_to_device(device)
}

/// A line per decision, with a place for each of its candidates.
pub(super) struct Table {
    /// Where each score goes, row-major.
    pub(super) place: Tensor,
    /// Length of a line.
    pub(super) width: i64,
    /// Place in its line of what is to be learned.
    pub(super) target: Tensor,
}

impl Table {
    /// Log-probabilities line by line, shape `(lines, width)`.
    pub(super) fn log_softmax(&self, scores: &Tensor) -> Result<Tensor, TchError> {
        let lines = self.target.size1()?;
        let empty = Tensor::f_full([lines * self.width], NOTHING, (scores.kind(), scores.device()))?;
        let filled = empty.f_index_copy(0, &self.place, scores)?.f_view([lines, self.width])?;
        filled.f_log_softmax(1, scores.kind())
    }

    /// The entries to learn from, one per line.
    pub(super) fn chosen(&self, entries: &Tensor) -> Result<Tensor, TchError> {
        entries.f_gather(1, &self.target.f_view([-1, 1])?, false)?.f_view([-1])
    }
}

/// Entropy of each line of log-probabilities, nats.
pub(super) fn entropy(log_probs: &Tensor) -> Result<Tensor, TchError> {
    log_probs.f_exp()?.f_mul(log_probs)?.f_sum_dim_intlist(1i64, false, log_probs.kind())?.f_neg()
}
