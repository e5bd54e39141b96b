//! The eight models that generated jobs train, and the database of their earlier jobs.

use crate::{
    Law, Model,
    prediction::{Estimate, Measurement},
};
use sched_distill_core::rng::Stream;

/// What is so of a model; schedulers see earlier jobs only.
#[derive(Clone, Copy, Debug)]
pub struct ModelFacts {
    /// Its name.
    pub name: &'static str,
    /// How long an iteration of a typical job takes.
    pub law: Law,
    /// Cores that the program uses as submitted.
    pub threads: u32,
}

const fn facts(name: &'static str, one_core_ms: f64, serial: f64, overhead: f64, threads: u32) -> ModelFacts {
    let law = Law {
        serial_ms: one_core_ms * serial,
        parallel_ms: one_core_ms * (1.0 - serial),
        overhead_ms: one_core_ms * overhead,
    };
    ModelFacts { name, law, threads }
}

/// The models. Programs use 2, 3, 4 or 6 cores, and 3 % of an iteration is serial in the mean, as in the sources; times of an
/// iteration are ours.
pub const MODELS: [ModelFacts; 8] = [
    facts("resnet", 6000.0, 0.030, 2e-4, 4),
    facts("vgg", 9000.0, 0.025, 4e-4, 6),
    facts("inception", 7500.0, 0.035, 3e-4, 3),
    facts("mobilenet", 2500.0, 0.040, 2e-4, 2),
    facts("lstm", 4000.0, 0.035, 5e-4, 2),
    facts("transformer", 8000.0, 0.020, 3e-4, 6),
    facts("wide-deep", 3000.0, 0.030, 1e-4, 3),
    facts("autoencoder", 5000.0, 0.025, 2e-4, 4),
];

/// Earlier jobs of each model in the database, and sizes at which each was measured.
pub(super) const EARLIER_JOBS: usize = 12;
const SIZES: usize = 3;

/// Most cores that a job can use.
pub(super) const LARGEST: u32 = 16;

/// The models as schedulers know them: from earlier jobs whose times spread around the model's law by `spread`, each measured on
/// three sizes with an error of `noise`. The same in all episodes.
pub(super) fn known(spread: f64, noise: f64) -> Vec<Model> {
    let mut stream = Stream::new(0, "earlier jobs");
    let mut one = |facts: &ModelFacts| {
        let mut job = || -> Vec<Measurement> {
            let law = facts.law.times((spread * stream.normal()).exp());
            measured(&law, noise, &mut stream)
        };
        let jobs: Vec<_> = (0..EARLIER_JOBS).map(|_| job()).collect();
        let earlier = Estimate::from_jobs(&jobs, noise);
        Model { name: facts.name.into(), earlier, cores_used: vec![facts.threads; EARLIER_JOBS] }
    };
    MODELS.iter().map(&mut one).collect()
}

/// An earlier job as the database has it: measured on some sizes with an error of `noise`.
pub(super) fn measured(law: &Law, noise: f64, stream: &mut Stream) -> Vec<Measurement> {
    let mut one = || {
        let cores = 1 + stream.below(LARGEST as usize) as u32;
        (cores, law.time_ms(cores) * (noise * stream.normal()).exp())
    };
    (0..SIZES).map(|_| one()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_knows_the_laws() {
        for (facts, model) in MODELS.iter().zip(known(0.05, 0.05)) {
            for cores in 1..=LARGEST {
                let error = model.earlier.time_ms(cores) / facts.law.time_ms(cores) - 1.0;
                assert!(error.abs() < 0.12, "{} on {cores} cores: {error}", facts.name);
            }
        }
        let serial = MODELS.iter().map(|m| m.law.serial_ms / m.law.time_ms(1)).sum::<f64>() / MODELS.len() as f64;
        assert!((serial - 0.03).abs() < 1e-3, "{serial}");
    }
}
