//! The forward pass, level after level of one question.

use super::{
    super::dense::{Identity, Kernel, Leaky, score},
    weights::{Level, ScorerWeights},
};
use std::sync::Arc;

/// Evaluates a network. It keeps buffers, so that nothing is allocated per question.
#[derive(Clone, Debug)]
pub struct Scorer {
    weights: Arc<ScorerWeights>,
    kernel: Kernel,
    levels: Vec<Buffers>,
}

/// What is known of the choice that was looked at last at a level.
#[derive(Clone, Debug, Default)]
struct Buffers {
    /// What was taken above.
    context: Vec<f32>,
    z: Vec<f32>,
    /// What a layer adds up to for all candidates alike.
    shared: Vec<f32>,
    /// A row per candidate.
    h: Vec<f32>,
    other: Vec<f32>,
    /// Their mean.
    pooled: Vec<f32>,
    scores: Vec<f32>,
}

impl Scorer {
    /// An evaluator of these weights.
    #[must_use]
    pub fn new(weights: Arc<ScorerWeights>) -> Self {
        let levels = (0..weights.levels.len())
            .map(|level| Buffers { context: vec![0.0; weights.shape().context(level)], ..Buffers::default() });
        Self { kernel: Kernel::detect(), levels: levels.collect(), weights }
    }

    /// Its weights.
    #[must_use]
    pub fn weights(&self) -> &Arc<ScorerWeights> {
        &self.weights
    }

    /// Scores the candidates of a choice by their rows of features, shape `(candidates, features)`. Above the first level what is taken
    /// there comes first ([`Scorer::take`]).
    pub fn score(&mut self, level: usize, rows: &[f32]) -> &[f32] {
        let Self { weights, kernel, levels } = self;
        let width = weights.shape().width;
        let Level { mean, embed, score: meet, last, bias, .. } = &weights.levels[level];
        let (features, candidates) = (mean.len(), rows.len() / mean.len());
        let Buffers { context, z, shared, h, other, pooled, scores } = &mut levels[level];
        weights.standardise(level, rows, z);
        for rows in [&mut *h, &mut *other] {
            rows.resize(candidates * width, 0.0);
        }
        shared.resize(width, 0.0);
        let (first, rest) = embed.split_first().expect("there is at least one layer");
        let part = match context.is_empty() {
            true => first.whole(),
            false => {
                kernel.run::<Identity>(first.part(features..features + context.len(), first.bias()), context, shared);
                first.part(0..features, shared)
            }
        };
        kernel.run::<Leaky>(part, z, h);
        for layer in rest {
            kernel.run::<Leaky>(layer.whole(), h, other);
            std::mem::swap(h, other);
        }
        pooled.clear();
        pooled.resize(width, 0.0);
        for row in h.chunks_exact(width) {
            pooled.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
        }
        pooled.iter_mut().for_each(|sum| *sum /= candidates as f32);
        kernel.run::<Identity>(meet.part(width..2 * width, meet.bias()), pooled, shared);
        kernel.run::<Leaky>(meet.part(0..width, shared), h, other);
        scores.clear();
        scores.resize(candidates, 0.0);
        score(last, *bias, other, scores);
        scores
    }

    /// Takes one of the candidates that were scored last at a level: the next level depends on it.
    pub fn take(&mut self, level: usize, candidate: usize) {
        let width = self.weights.shape().width;
        let (above, below) = self.levels.split_at_mut(level + 1);
        let (Some(from), Some(to)) = (above.last(), below.first_mut()) else { return };
        to.context[..width].copy_from_slice(&from.h[candidate * width..][..width]);
        to.context[width..].copy_from_slice(&from.pooled);
    }

    /// What the network was given of the candidates that were scored last at a level, shape `(candidates, features)`.
    #[must_use]
    pub fn given(&self, level: usize) -> &[f32] {
        &self.levels[level].z
    }
}
