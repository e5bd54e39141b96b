//! Explanations of small trees against scikit-learn and shap, as written by `scripts/explainer_reference.py`.

use crate::{
    foreign_tree::ForeignTree,
    synthetic::{Synthetic, WIDTH, synthetic},
};
use sched_distill::{
    explainer::{Metric, Shuffles, TreeInteractions, TreeShap, partial_dependence, permutation_importance},
    model::Tree,
};
use serde::Deserialize;
use std::{fs, path::Path};

#[derive(Deserialize)]
struct Reference {
    tree: ForeignTree,
    shap: Shap,
    partial_dependence: Vec<Curve>,
    permutation: Permutation,
}

#[derive(Deserialize)]
struct Shap {
    path_rows: Vec<usize>,
    path_base: Vec<f64>,
    path: Vec<f64>,
    background_rows: Vec<usize>,
    background_base: Vec<f64>,
    background: Vec<f64>,
    interaction_rows: Vec<usize>,
    interaction: Vec<f64>,
}

#[derive(Deserialize)]
struct Curve {
    feature: usize,
    grid: Vec<f32>,
    average: Vec<f64>,
}

#[derive(Deserialize)]
struct Permutation {
    rows: usize,
    repeats: usize,
    permutations: Vec<u32>,
    baseline: f64,
    drops: Vec<f64>,
}

const NAMES: [&str; 3] = ["classifier", "regressor", "weighted"];

fn rows() -> Synthetic {
    synthetic(2000, 1)
}

fn open(name: &str) -> (Tree, Reference) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/explainer_reference/{name}.json"));
    let mut reference: Reference = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let tree = std::mem::take(&mut reference.tree).into();
    (tree, reference)
}

fn take(x: &[f32], rows: &[usize]) -> Vec<f32> {
    rows.iter().flat_map(|&r| &x[r * WIDTH..][..WIDTH]).copied().collect()
}

fn close(ours: &[f64], theirs: &[f64], within: f64, what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let worst = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= within, "{what}: {worst} apart");
}

#[test]
fn shap_values_are_those_of_shap() {
    let data = rows();
    for name in NAMES {
        let (tree, Reference { shap, .. }) = open(name);
        let path = TreeShap::path_dependent(&tree, WIDTH).unwrap();
        let x = take(&data.x, &shap.path_rows);
        let values = path.explain(&x).unwrap();
        close(&values.base_value, &shap.path_base, 1e-10, name);
        close(&values.values, &shap.path, 1e-10, name);
        assert!(values.additivity_error(&tree, &x) < 1e-12);

        let against = TreeShap::interventional(&tree, WIDTH, &data.x[..100 * WIDTH], None).unwrap();
        let x = take(&data.x, &shap.background_rows);
        let values = against.explain(&x).unwrap();
        // shap adds these up in single precision.
        close(&values.base_value, &shap.background_base, 1e-6, name);
        close(&values.values, &shap.background, 1e-6, name);
        assert!(values.additivity_error(&tree, &x) < 1e-12);

        let x = take(&data.x, &shap.interaction_rows);
        let pairs = TreeInteractions::new(&tree, WIDTH).unwrap().explain(&x).unwrap();
        close(&pairs.values, &shap.interaction, 1e-8, name);
        // Each row of the matrix adds up to the feature's SHAP value.
        let sums: Vec<f64> = pairs
            .values
            .chunks(WIDTH * tree.outputs)
            .flat_map(|row| (0..tree.outputs).map(|k| row.iter().skip(k).step_by(tree.outputs).sum()))
            .collect();
        close(&sums, &path.explain(&x).unwrap().values, 1e-12, name);
    }
}

#[test]
fn partial_dependence_is_that_of_scikit_learn() {
    let data = rows();
    for name in NAMES {
        let (tree, reference) = open(name);
        let weight = (name == "weighted").then_some(&data.weight[..]);
        assert_eq!(reference.partial_dependence.len(), 3);
        for Curve { feature, grid, average } in reference.partial_dependence {
            let ours = partial_dependence(&tree, &data.x, WIDTH, weight, feature, &grid).unwrap();
            close(&ours.average, &average, 1e-12, name);
        }
    }
}

#[test]
fn permutation_importance_is_that_of_scikit_learn() {
    let data = rows();
    for name in NAMES {
        let (tree, Reference { permutation, .. }) = open(name);
        let rows = permutation.rows;
        let metric = match name {
            "classifier" => Metric::Accuracy(&data.class[..rows]),
            _ => Metric::R2(&data.y[..rows]),
        };
        let weight = (name == "weighted").then_some(&data.weight[..rows]);
        let groups: Vec<Vec<usize>> = (0..WIDTH).map(|f| vec![f]).collect();
        let shuffles = Shuffles::Given(&permutation.permutations);
        let x = &data.x[..rows * WIDTH];
        let ours = permutation_importance(&tree, x, WIDTH, metric, weight, &groups, shuffles).unwrap();
        assert_eq!(ours.repeats, permutation.repeats);
        // Counts are exact; sums of squares are rounded in another order.
        let within = if name == "classifier" { 0.0 } else { 1e-12 };
        close(&[ours.baseline], &[permutation.baseline], within, name);
        close(&ours.drops, &permutation.drops, within, name);
    }
}
