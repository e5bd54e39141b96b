//! What kinds of training jobs there are.

use super::{AnalyticFacts, SpeedFormula};
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

/// A model that jobs train, with all that decides how fast it trains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobType {
    /// Name of the model.
    pub name: Cow<'static, str>,
    /// Batches per epoch. (A measured grid takes it for samples, see [`super::SpeedLaw::Grid`].)
    pub epoch_size: f64,
    /// Share of the workload's `epochs` that a generated job of this type wants.
    #[serde(skip, default = "one")]
    pub epoch_share: f64,
    /// Slots of CPU and GPU of a worker.
    pub worker: [u32; 2],
    /// Slots of CPU and GPU of a parameter server.
    pub server: [u32; 2],
    /// What the speed formula needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<SpeedFormula>,
    /// What the placement-dependent speed needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analytic: Option<AnalyticFacts>,
}

fn one() -> f64 {
    1.0
}

impl JobType {
    /// Slots of CPU and GPU of a worker and a parameter server together.
    #[must_use]
    pub fn bundle(&self) -> [u32; 2] {
        [self.worker[0] + self.server[0], self.worker[1] + self.server[1]]
    }
}

/// The eight types of DL2, in its order (there they are numbered from 1).
///
/// Sizes, times and bandwidths are facts of the DL2 simulator; the coefficients of the formula were fitted to its measured
/// speeds by non-negative least squares (median error 2 to 9 %).
pub static JOB_TYPES: [JobType; 8] = [
    job_type(
        "resnet-50",
        115.0,
        0.30,
        4,
        [0.449, 102.2, 91.875, 306.5],
        32.0,
        [3.94e-3, 1.306e-2, 1.317e-2, 2.3e-4, 0.0],
    ),
    job_type(
        "vgg-16",
        115.0,
        0.96,
        4,
        [0.535, 553.4, 233.0, 427.75],
        32.0,
        [1.695e-2, 1.816e-2, 2.523e-2, 4.24e-3, 0.0],
    ),
    job_type(
        "resnext-110",
        390.0,
        0.05,
        4,
        [0.226, 6.92, 59.5, 63.0],
        128.0,
        [5.39e-4, 1.22e-3, 8.63e-4, 1.56e-4, 9.1e-6],
    ),
    job_type(
        "inception-bn",
        120.0,
        0.54,
        4,
        [0.815, 42.1, 145.875, 1082.125],
        128.0,
        [3.105e-3, 1.204e-3, 1.3e-3, 1.52e-4, 2.2e-5],
    ),
    job_type(
        "seq2seq",
        780.0,
        0.95,
        4,
        [0.075, 36.5, 120.125, 181.125],
        64.0,
        [1.038e-3, 8.45e-4, 3.79e-4, 2.05e-4, 0.0],
    ),
    job_type(
        "cnn-text-classification",
        193.0,
        0.46,
        0,
        [0.585, 24.0, 60.75, 159.625],
        50.0,
        [7.464e-3, 6.891e-3, 4.75e-4, 3.39e-4, 0.0],
    ),
    job_type("dssm", 349.0, 0.33, 0, [0.567, 6.0, 92.125, 65.625], 256.0, [1.55e-3, 4.6e-4, 0.0, 2.85e-5, 8.8e-7]),
    job_type("wlm", 165.0, 0.23, 4, [0.154, 19.2, 10.375, 22.875], 160.0, [5.87e-4, 1.496e-3, 9.91e-4, 1.92e-4, 0.0]),
];

/// One row of the table. `analytic`: compute time, model size, bandwidth between and within nodes. `formula`: a to e.
const fn job_type(
    name: &'static str,
    epoch_size: f64,
    epoch_share: f64,
    worker_gpu: u32,
    analytic: [f64; 4],
    batch: f64,
    formula: [f64; 5],
) -> JobType {
    let [compute_s, model_mb, inter_mb_s, intra_mb_s] = analytic;
    JobType {
        name: Cow::Borrowed(name),
        epoch_size,
        epoch_share,
        worker: [2, worker_gpu],
        server: [2, 0],
        formula: Some(SpeedFormula { batch, coefficients: formula }),
        analytic: Some(AnalyticFacts { compute_s, model_mb, inter_mb_s, intra_mb_s }),
    }
}

/// [`JOB_TYPES`] for sharing.
#[must_use]
pub fn job_types() -> Arc<[JobType]> {
    static SHARED: LazyLock<Arc<[JobType]>> = LazyLock::new(|| Arc::from(JOB_TYPES.as_slice()));
    SHARED.clone()
}
