//! The small network as a TorchScript file, traced on one question; nothing in it depends on that question's sizes.

use super::network::{WIDTH, Weights};
use sched_distill::policy::foreign::{JOB_COLUMNS, NODE_COLUMNS};
use std::path::Path;
use tch::{CModule, Kind, Tensor};

/// What may be wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// One tensor instead of two.
    OneOutput,
    /// The scores of stages are a column.
    OutputShape,
    /// The network was made for other columns.
    Columns,
}

fn matrix(values: &[f32], columns: usize) -> Tensor {
    Tensor::from_slice(values).view([(values.len() / columns) as i64, columns as i64])
}

/// Writes the file.
pub(super) fn save(path: &Path, flaw: Flaw) {
    let w = Weights::new();
    let node = matrix(if flaw == Flaw::Columns { &w.own } else { &w.node }, WIDTH);
    let columns = node.size()[0];
    let (bias, job) = (Tensor::from_slice(&w.bias), matrix(&w.job, WIDTH));
    let (own, child) = (matrix(&w.own, WIDTH), matrix(&w.child, WIDTH));
    let (stage, score) = (matrix(&w.stage, 1) * 8.0, matrix(&w.score, 1) * 8.0);
    let amount = Tensor::from_slice(&w.amount) * 8.0;
    let float = |shape: &[i64]| Tensor::rand(shape, (Kind::Float, tch::Device::Cpu));
    let inputs = [
        float(&[3, columns]),
        Tensor::from_slice(&[0i64, 1]).view([2, 1]),
        Tensor::from_slice(&[0i64, 2, 3]),
        Tensor::from_slice(&[0i64, 0, 1]),
        Tensor::from_slice(&[true, false, true]),
        float(&[2, JOB_COLUMNS.len() as i64]),
        float(&[7]) + 1.0,
        Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0]),
    ];
    assert!(flaw == Flaw::Columns || columns == NODE_COLUMNS.len() as i64);
    let module = CModule::create_by_tracing("Small", "forward", &inputs, &mut |inputs: &[Tensor]| {
        let [nodes, edges, _, node_job, _, jobs, cluster, amounts] = inputs else { unreachable!("eight inputs") };
        let h = (nodes.log1p().matmul(&node) + &bias).tanh();
        let (parents, children) = (edges.select(0, 0), edges.select(0, 1));
        let below = h.zeros_like().index_add(0, &parents, &h.index_select(0, &children));
        let g = jobs.log1p().matmul(&job).tanh();
        let z = (h.matmul(&own) + below.matmul(&child) + g.index_select(0, node_job)).tanh();
        let stages = z.matmul(&stage);
        let shares = (amounts / cluster.select(0, 0)).unsqueeze(0).unsqueeze(2);
        let t = (shares * &amount + g.unsqueeze(1)).tanh();
        let amounts = t.matmul(&score).squeeze_dim(2);
        match flaw {
            Flaw::OneOutput => vec![amounts],
            Flaw::OutputShape => vec![stages, amounts],
            Flaw::None | Flaw::Columns => vec![stages.squeeze_dim(1), amounts],
        }
    });
    module.unwrap().save(path).unwrap();
}
