//! Scorers with random weights, for tests of what does not depend on training.

use sched_distill::{
    level::FeatureSet,
    network::{Tensor, Tensors, scorer::ScorerShape},
    rng::Stream,
};

/// A network for a feature set whose decisions are neither all alike nor all sure.
pub(crate) fn random_scorer(set: &FeatureSet, seed: u64) -> Tensors {
    let shape = ScorerShape { width: 16, depth: 2 };
    let mut stream = Stream::new(seed, "scorer");
    let tensor = |(name, shape): (String, Vec<usize>)| {
        let draw = |_| match name.rsplit('.').next() {
            // Most features are of the order of 1 after the logarithm, times about 10.
            Some("mean") => 2.0,
            Some("scale") => 4.0,
            _ => 0.4 * stream.normal() as f32,
        };
        let data = (0..shape.iter().product::<usize>()).map(draw).collect();
        (name, Tensor { shape, data })
    };
    let entries = shape.tensors(set).into_iter().map(tensor).collect();
    Tensors::new(entries, shape.texts(set))
}
