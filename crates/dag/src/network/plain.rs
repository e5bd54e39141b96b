//! The network written down plainly in f64, straight from its description: what the tests compare with.

use sched_distill_core::network::Tensors;

pub(super) type Rows = Vec<Vec<f64>>;

/// The network over these tensors.
pub(super) struct Plain<'a>(pub(super) &'a Tensors);

impl Plain<'_> {
    /// Modules one after the other, as PyTorch runs them: a layer, a normalisation, and an activation where no tensor is.
    pub(super) fn mlp(&self, block: &str, activation: fn(f64) -> f64, x: &[f64]) -> Vec<f64> {
        let get = |number: usize, what: &str| {
            let tensor = self.0.get(&format!("{block}.{number}.{what}"))?;
            Some((tensor.shape.clone(), tensor.data.iter().map(|&v| f64::from(v)).collect::<Vec<_>>()))
        };
        let modules = (0..20).filter(|&number| get(number, "weight").is_some()).max().unwrap() + 1;
        let mut x = x.to_vec();
        for number in 0..modules {
            let Some((shape, weight)) = get(number, "weight") else {
                x.iter_mut().for_each(|v| *v = activation(*v));
                continue;
            };
            let bias = get(number, "bias").map_or_else(|| vec![0.0; shape[0]], |(_, bias)| bias);
            x = match (get(number, "running_mean"), get(number, "running_var")) {
                (Some((_, mean)), Some((_, var))) => {
                    (0..x.len()).map(|i| (x[i] - mean[i]) / (var[i] + 1e-5).sqrt() * weight[i] + bias[i]).collect()
                }
                _ => {
                    let dot = |row: &[f64]| row.iter().zip(&x).map(|(w, v)| w * v).sum::<f64>();
                    assert_eq!(shape[1], x.len());
                    weight.chunks(x.len()).zip(&bias).map(|(row, b)| b + dot(row)).collect()
                }
            };
        }
        x
    }

    pub(super) fn leaky(&self, block: &str, x: &[f64]) -> Vec<f64> {
        self.mlp(&format!("encoder.{block}"), |v| if v >= 0.0 { v } else { 0.2 * v }, x)
    }

    /// Node embeddings; `induced` says whether a step uses all edges among its nodes, as Decima does, or only those
    /// that leave its generation.
    pub(super) fn nodes(&self, x: &Rows, edges: &[[u32; 2]], induced: bool) -> Rows {
        let h0: Rows = x.iter().map(|x| self.leaky("node_encoder.mlp_prep", x)).collect();
        if edges.is_empty() {
            return h0;
        }
        let edges: Vec<(usize, usize)> = edges.iter().map(|&[u, c]| (u as usize, c as usize)).collect();
        let mut generation = vec![0; x.len()];
        for _ in x {
            for &(u, c) in &edges {
                generation[c] = generation[c].max(generation[u] + 1);
            }
        }
        let update = |x: &Vec<f64>| self.leaky("node_encoder.mlp_update", x);
        let mut h: Rows = h0.iter().map(update).collect();
        for k in (0..*generation.iter().max().unwrap()).rev() {
            let child = |v| edges.iter().any(|&(u, c)| c == v && generation[u] == k);
            let inside = |v| generation[v] == k || child(v);
            let used = |&&(u, c): &&(usize, usize)| inside(u) && inside(c) && (induced || generation[u] == k);
            let before = h.clone();
            for u in 0..x.len() {
                let children: Vec<usize> = edges.iter().filter(used).filter(|e| e.0 == u).map(|e| e.1).collect();
                if !children.is_empty() {
                    let messages = children.iter().map(|&c| self.leaky("node_encoder.mlp_msg", &before[c]));
                    h[u] = sum(&[h0[u].clone(), update(&sum(&messages.collect()))].to_vec());
                }
            }
        }
        h
    }
}

pub(super) fn sum(rows: &Rows) -> Vec<f64> {
    let add = |a: Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(a, b)| a + b).collect();
    rows.iter().fold(vec![0.0; rows[0].len()], add)
}

pub(super) fn wide(x: &[f32], width: usize) -> Rows {
    x.chunks(width).map(|row| row.iter().map(|&v| f64::from(v)).collect()).collect()
}
