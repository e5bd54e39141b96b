//! The six models that generated jobs train, and the profiled jobs of each.

use crate::{EpochLaw, Model, Profile};
use sched_distill_core::rng::Stream;

/// What is so of a model; schedulers see profiled jobs only.
#[derive(Clone, Copy, Debug)]
pub struct ModelFacts {
    /// Its name.
    pub name: &'static str,
    /// How long an epoch of a typical job takes.
    pub law: EpochLaw,
    /// Size of a sample, MB.
    pub sample_mb: f64,
    /// Time that its container takes to start and the job to warm up, ms.
    pub start_ms: [f64; 2],
}

const fn facts(name: &'static str, law: [f64; 4], sample_mb: f64, container_s: f64, warm_s: f64) -> ModelFacts {
    ModelFacts { name, law: EpochLaw(law), sample_mb, start_ms: [1e3 * container_s, 1e3 * warm_s] }
}

/// The models: the parts of an epoch's time (fixed, per sample and GPU, per step, per sample), ms; containers start in 5 to 15 s and jobs
/// warm up in 2 to 5 s, as in the sources; the rest is ours.
pub const MODELS: [ModelFacts; 6] = [
    facts("resnet", [4000.0, 2.5, 25.0, 0.05], 0.11, 10.0, 3.0),
    facts("vgg", [4000.0, 4.0, 60.0, 0.05], 0.11, 9.0, 3.5),
    facts("inception", [5000.0, 3.0, 30.0, 0.06], 0.15, 11.0, 4.0),
    facts("bert", [8000.0, 9.0, 40.0, 0.02], 0.02, 15.0, 5.0),
    facts("lstm", [2000.0, 1.2, 15.0, 0.02], 0.03, 5.0, 2.0),
    facts("deepspeech", [6000.0, 12.0, 35.0, 0.10], 0.40, 12.0, 4.5),
];

/// Batch sizes that jobs have.
pub(super) const BATCHES: [u32; 4] = [32, 64, 128, 256];

/// Profiled jobs of a model, four as in the paper: GPUs, batch, and the time of an epoch that they are made for, ms. Few and many GPUs,
/// small and large batches, so that what is fixed, per step and per sample can be told apart.
const PROFILES: [(u32, u32, f64); 4] = [(1, 32, 6e4), (1, 256, 6e5), (8, 32, 3e5), (8, 256, 6e4)];

/// Error of a profile, as a share.
const PROFILE_ERROR: f64 = 0.01;

/// The models as schedulers know them: from four profiled jobs each, whose times spread around the model's law by `spread`. The same in
/// all episodes.
pub(super) fn known(spread: f64) -> Vec<Model> {
    let mut stream = Stream::new(0, "profiled jobs");
    let mut one = |facts: &ModelFacts| {
        let mut profile = |(gpus, batch, typical_ms): (u32, u32, f64)| {
            let samples = facts.samples(gpus, batch, typical_ms);
            let error = spread * stream.normal() + PROFILE_ERROR * stream.normal();
            Profile { gpus, batch, samples, epoch_ms: facts.law.time_ms(gpus, batch, samples) * error.exp() }
        };
        Model::new(facts.name, facts.start_ms, PROFILES.into_iter().map(&mut profile).collect())
    };
    MODELS.iter().map(&mut one).collect()
}

impl ModelFacts {
    /// Samples of an epoch that takes so long.
    pub(super) fn samples(&self, gpus: u32, batch: u32, epoch_ms: f64) -> f64 {
        let fixed_ms = self.law.time_ms(gpus, batch, 0.0);
        let each_ms = self.law.time_ms(gpus, batch, 1.0) - fixed_ms;
        ((epoch_ms - fixed_ms) / each_ms).round().max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_profiles_know_the_law() {
        let mut stream = Stream::new(1, "cases");
        let (mut within, mut all) = (0, 0);
        for (facts, model) in MODELS.iter().zip(known(0.03)) {
            assert_eq!(model.profiles.len(), 4);
            for _ in 0..300 {
                let (gpus, batch) = (1 << stream.below(5), BATCHES[stream.below(4)]);
                let epoch_ms = 3e4 * 60f64.powf(stream.uniform());
                let samples = facts.samples(gpus, batch, epoch_ms);
                let error = model.law().time_ms(gpus, batch, samples) / facts.law.time_ms(gpus, batch, samples) - 1.0;
                within += u32::from(error.abs() < 0.1);
                all += 1;
            }
        }
        assert!(10 * within >= 8 * all, "{within} of {all} within 10 %");
    }
}
