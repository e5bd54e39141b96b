//! The small network for the scenario `training`, in Rust; in Python it is `network_training.py`.

use super::network::{WIDTH, columns, product, tanh, weights};
use sched_distill::{
    contract::{Inputs, Scores},
    foreign::{ForeignError, Network},
    training::Training,
};

/// Types of job that it tells apart: those of the built-in workload.
pub(super) const TYPES: usize = 8;

/// The weights by name: of jobs, of their bias, of types, of the sum over jobs, of the cluster, of a job itself, of
/// tasks' scores, of the score of closing.
#[derive(Clone)]
pub(super) struct Weights {
    pub(super) job: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) kind: Vec<f32>,
    pub(super) pool: Vec<f32>,
    pub(super) cluster: Vec<f32>,
    pub(super) own: Vec<f32>,
    pub(super) task: Vec<f32>,
    pub(super) close: Vec<f32>,
}

impl Weights {
    pub(super) fn new() -> Self {
        Self {
            job: weights(1, columns::<Training>("jobs"), WIDTH),
            bias: weights(2, 1, WIDTH),
            kind: weights(3, TYPES, WIDTH),
            // Sums over many jobs must stay where 32 bits are as good as 64.
            pool: weights(4, WIDTH, WIDTH).iter().map(|w| w / 32.0).collect(),
            cluster: weights(5, columns::<Training>("cluster"), WIDTH),
            own: weights(6, WIDTH, WIDTH),
            task: weights(7, WIDTH, 3),
            close: weights(8, WIDTH, 1),
        }
    }
}

/// The network by the formulas.
pub(super) struct Small(pub(super) Weights);

fn logs(row: &[f32]) -> Vec<f32> {
    row.iter().map(|x| x.abs().ln_1p()).collect()
}

impl Network for Small {
    fn name(&self) -> String {
        "small".to_owned()
    }

    fn fresh(&self) -> Box<dyn Network> {
        Box::new(Small(self.0.clone()))
    }

    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
        let w = &self.0;
        let rows = inputs.floats("jobs").chunks(columns::<Training>("jobs")).zip(inputs.integers("job_type"));
        let of_type = |kind: i64| &w.kind[kind as usize * WIDTH..][..WIDTH];
        let jobs: Vec<Vec<f32>> =
            rows.map(|(row, &kind)| tanh(&[&product(&logs(row), &w.job), &w.bias, of_type(kind)])).collect();
        let total: Vec<f32> = (0..WIDTH).map(|i| jobs.iter().map(|job| job[i]).sum()).collect();
        let cluster = product(&logs(inputs.floats("cluster")), &w.cluster);
        let cluster = tanh(&[&product(&total, &w.pool), &cluster]);
        let tasks = out.output("task_scores");
        for job in &jobs {
            let z = tanh(&[&product(job, &w.own), &cluster]);
            tasks.values.extend(product(&z, &w.task).iter().map(|score| 8.0 * score));
        }
        tasks.shape.extend([jobs.len(), 3]);
        let close = out.output("close_score");
        close.values.push(8.0 * product(&cluster, &w.close)[0]);
        close.shape.push(1);
        Ok(())
    }
}
