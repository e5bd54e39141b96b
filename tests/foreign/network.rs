//! A small network, with weights by a formula, that all languages can write down: in Rust here, in Python in
//! `network.py`, as ONNX and TorchScript in the files beside it. And one for the scenario `training`
//! (`network_training.rs`).

use sched_distill::{
    contract::{Inputs, Scores, Tabular},
    dag::Dag,
    foreign::{ForeignError, Network},
};

/// Width of all layers.
pub(super) const WIDTH: usize = 6;

/// A matrix that is exact in 32 bits: entries between -9/32 and 9/32.
pub(super) fn weights(seed: usize, rows: usize, columns: usize) -> Vec<f32> {
    let entry = |i: usize| ((7 * (i / columns) + 13 * (i % columns) + 5 * seed) % 19) as f32;
    (0..rows * columns).map(|i| (entry(i) - 9.0) / 32.0).collect()
}

/// How many columns a table has.
pub(super) fn columns<S: Tabular>(table: &str) -> usize {
    S::contract().inputs[S::contract().input(table).unwrap()].columns.len()
}

/// The weights by name: of nodes, of their bias, of jobs, of a node itself, of the sum over its children, of the
/// stage's score, of an amount, of its score.
#[derive(Clone)]
pub(super) struct Weights {
    pub(super) node: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) job: Vec<f32>,
    pub(super) own: Vec<f32>,
    pub(super) child: Vec<f32>,
    pub(super) stage: Vec<f32>,
    pub(super) amount: Vec<f32>,
    pub(super) score: Vec<f32>,
}

impl Weights {
    pub(super) fn new() -> Self {
        Self {
            node: weights(1, columns::<Dag>("nodes"), WIDTH),
            bias: weights(2, 1, WIDTH),
            job: weights(3, columns::<Dag>("jobs"), WIDTH),
            own: weights(4, WIDTH, WIDTH),
            child: weights(5, WIDTH, WIDTH),
            stage: weights(6, WIDTH, 1),
            amount: weights(7, 1, WIDTH),
            score: weights(8, WIDTH, 1),
        }
    }
}

/// The network by the formulas.
pub(super) struct Small(pub(super) Weights);

/// `row · matrix`
pub(super) fn product(row: &[f32], matrix: &[f32]) -> Vec<f32> {
    let columns = matrix.len() / row.len();
    (0..columns).map(|c| row.iter().enumerate().map(|(r, x)| x * matrix[r * columns + c]).sum()).collect()
}

/// The hyperbolic tangent of a sum of rows.
pub(super) fn tanh(terms: &[&[f32]]) -> Vec<f32> {
    (0..WIDTH).map(|i| terms.iter().map(|t| t[i]).sum::<f32>().tanh()).collect()
}

fn logs(row: &[f32]) -> Vec<f32> {
    row.iter().map(|x| x.ln_1p()).collect()
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
        let rows =
            |table: &str| -> Vec<Vec<f32>> { inputs.floats(table).chunks(columns::<Dag>(table)).map(logs).collect() };
        let nodes: Vec<Vec<f32>> = rows("nodes").iter().map(|row| tanh(&[&product(row, &w.node), &w.bias])).collect();
        let jobs: Vec<Vec<f32>> = rows("jobs").iter().map(|row| tanh(&[&product(row, &w.job)])).collect();
        let mut below = vec![vec![0.0; WIDTH]; nodes.len()];
        let (parents, children) = inputs.integers("edges").split_at(inputs.size("edges"));
        for (&parent, &child) in parents.iter().zip(children) {
            for i in 0..WIDTH {
                below[parent as usize][i] += nodes[child as usize][i];
            }
        }
        let stages = out.output("stage_scores");
        for (node, &job) in inputs.integers("node_job").iter().enumerate() {
            let z = tanh(&[&product(&nodes[node], &w.own), &product(&below[node], &w.child), &jobs[job as usize]]);
            stages.values.push(8.0 * product(&z, &w.stage)[0]);
        }
        stages.shape.push(nodes.len());
        let amounts = out.output("amount_scores");
        for job in &jobs {
            for amount in inputs.floats("amounts") {
                let share = amount / inputs.floats("cluster")[0];
                let of_amount: Vec<f32> = w.amount.iter().map(|r| 8.0 * r * share).collect();
                amounts.values.push(8.0 * product(&tanh(&[job, &of_amount]), &w.score)[0]);
            }
        }
        amounts.shape.extend([jobs.len(), inputs.size("offered")]);
        Ok(())
    }
}
