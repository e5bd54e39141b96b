//! The tree learner against scikit-learn 1.9.1: `tests/learner_reference/trees.json`, made by `scripts/learner_reference.py`.

use super::{
    foreign_tree::ForeignTree,
    synthetic::{CLASSES, Synthetic, WIDTH, synthetic},
};
use sched_distill::{
    distiller::{Criterion, Missing, Targets, TreeData, TreeParams, fit_tree, prune, pruning_path},
    model::Tree,
};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
    pruning: Pruning,
}

#[derive(Deserialize)]
struct Case {
    criterion: String,
    weighted: bool,
    limits: String,
    tree: ForeignTree,
}

#[derive(Deserialize)]
struct Pruning {
    tree: ForeignTree,
    alphas: Vec<f64>,
    impurities: Vec<f64>,
    leaves: BTreeMap<String, usize>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../learner_reference/trees.json")).unwrap()
}

/// The data as the script has them, for a criterion.
struct Data {
    rows: Synthetic,
    shares: Vec<f64>,
}

fn data(holes: bool) -> Data {
    let mut rows = synthetic(3000, 1);
    let mut shares = Vec::new();
    for (row, &class) in rows.x.chunks_exact(WIDTH).zip(&rows.class) {
        let tilt = f64::from(row[3] % 3.0 - 1.0);
        shares.extend((0..CLASSES).map(|k| {
            let slope = -1.0 + 2.0 * k as f64 / (CLASSES - 1) as f64;
            0.7 * f64::from(u8::from(k == class as usize)) + 0.3 / 8.0 * (1.0 + tilt * slope)
        }));
    }
    if holes {
        for (i, value) in rows.x.iter_mut().enumerate() {
            let (row, column) = (i / WIDTH, i % WIDTH);
            if (row * 7 + column * 5) % 11 == 0 {
                *value = f32::NAN;
            }
        }
    }
    Data { rows, shares }
}

fn fit(case: &Case) -> (Tree, Vec<f32>) {
    let holes = case.criterion.starts_with("missing_");
    let mut data = data(holes);
    let n = if case.limits.ends_with("rows600") { 600 } else { 3000 };
    data.rows.x.truncate(n * WIDTH);
    let kind = case.criterion.trim_start_matches("missing_");
    let targets = match kind {
        "gini" | "entropy" => Targets::Classes { class: &data.rows.class, classes: CLASSES },
        "shares" => Targets::Outputs { values: &data.shares, outputs: CLASSES },
        _ => Targets::Values(&data.rows.y[..n]),
    };
    let mut params = TreeParams::default().round_thresholds(false);
    params = match kind {
        "entropy" => params.criterion(Criterion::Entropy),
        "absolute_error" => params.criterion(Criterion::AbsoluteError),
        "monotone" => params.monotone(std::iter::chain([1i8, -1], [0; WIDTH - 2]).collect::<Vec<i8>>()),
        _ => params,
    };
    params = match case.limits.as_str() {
        "depth5" => params.max_depth(5usize),
        "leaves64" => params.max_leaf_nodes(64usize),
        "leaves64_min" => params.max_leaf_nodes(64usize).min_samples_leaf(20usize).min_impurity_decrease(5e-4),
        "leaves32" => params.max_leaf_nodes(32usize),
        "leaves16_min10_rows600" => params.max_leaf_nodes(16usize).min_samples_leaf(10usize),
        other => panic!("limits {other}"),
    };
    if holes {
        params = params.missing(Missing::Learn);
    }
    let weight = case.weighted.then_some(&data.rows.weight[..n]);
    let tree = fit_tree(TreeData { x: &data.rows.x, width: WIDTH, targets, weight }, &params).unwrap();
    (tree, data.rows.x)
}

/// Which rows reach each node.
fn node_rows(tree: &Tree, x: &[f32]) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new(); tree.nodes()];
    for (row, x) in x.chunks_exact(WIDTH).enumerate() {
        tree.decision_path(x).for_each(|node| rows[node].push(row));
    }
    rows
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

fn children(tree: &Tree, node: usize) -> [usize; 2] {
    [tree.left[node] as usize, tree.right[node] as usize]
}

/// Weighted impurity of a node's children.
fn below(tree: &Tree, node: usize) -> f64 {
    children(tree, node).iter().map(|&child| tree.weight[child] * tree.impurity[child]).sum()
}

/// Checks a pair of nodes that the same rows reach, and everything below; returns how many splits use another feature or
/// threshold than scikit-learn's because both are equally good.
fn compare(name: &str, ours: &Tree, theirs: &Tree, x: &[f32]) -> usize {
    let (our_rows, their_rows) = (node_rows(ours, x), node_rows(theirs, x));
    let mut ties = 0;
    let mut stack = vec![(0usize, 0usize)];
    while let Some((a, b)) = stack.pop() {
        assert_eq!(our_rows[a], their_rows[b], "{name}: rows of nodes {a} and {b}");
        assert!(close(ours.impurity[a], theirs.impurity[b], 1e-9), "{name}: impurity of {a}");
        assert!(close(ours.weight[a], theirs.weight[b], 1e-9), "{name}: weight of {a}");
        assert_eq!(ours.n_samples[a], theirs.n_samples[b], "{name}");
        if !theirs.value.is_empty() && theirs.outputs == 1 && ours.outputs == 1 {
            assert!(close(ours.value[a], theirs.value[b], 1e-9), "{name}: value of {a}");
        }
        assert_eq!(ours.is_leaf(a), theirs.is_leaf(b), "{name}: {a}");
        if ours.is_leaf(a) {
            continue;
        }
        let ([l, r], mut theirs_below) = (children(ours, a), children(theirs, b));
        if (ours.feature[a], ours.threshold[a]) == (theirs.feature[b], theirs.threshold[b]) {
            let column = ours.feature[a] as usize;
            // Where no row misses the feature, the side is a convention, and theirs goes by rows.
            if our_rows[a].iter().any(|&row| x[row * WIDTH + column].is_nan()) {
                assert_eq!(ours.default_left[a], theirs.default_left[b], "{name}: {a}");
            }
        } else {
            // A tie; the lower feature wins it here.
            assert!(ours.feature[a] <= theirs.feature[b], "{name}: {a} tests {}", ours.feature[a]);
            let error = ours.weight[a] * ours.impurity[a];
            let (our_gain, their_gain) = (error - below(ours, a), error - below(theirs, b));
            assert!(
                (our_gain - their_gain).abs() <= 1.01e-10 * error,
                "{name}: {a} gains {our_gain}, not {their_gain}"
            );
            ties += 1;
            if our_rows[l] == their_rows[theirs_below[1]] {
                theirs_below.reverse();
            } else if our_rows[l] != their_rows[theirs_below[0]] {
                // Equally good, but other rows: nothing below can be compared.
                continue;
            }
        }
        stack.extend([(l, theirs_below[0]), (r, theirs_below[1])]);
    }
    ties
}

#[test]
fn trees_are_scikit_learns() {
    let mut ties = 0;
    for case in reference().cases {
        let (ours, x) = fit(&case);
        let name = format!("{} weighted={} {}", case.criterion, case.weighted, case.limits);
        ties += compare(&name, &ours, &Tree::from(case.tree), &x);
    }
    assert!(ties > 0, "the data have columns that agree inside nodes");
}

#[test]
fn the_pruning_path_of_an_imported_tree_is_scikit_learns() {
    let Pruning { tree, alphas, impurities, leaves } = reference().pruning;
    let tree = Tree::from(tree);
    let path = pruning_path(&tree);
    // Theirs begins with the unpruned tree.
    assert_eq!(path.len() + 1, alphas.len());
    for (step, (alpha, impurity)) in path.iter().zip(alphas[1..].iter().zip(&impurities[1..])) {
        assert!((step.alpha - alpha).abs() < 1e-9 && (step.impurity - impurity).abs() < 1e-9, "{step:?} {alpha}");
    }
    for (alpha, expected) in leaves {
        assert_eq!(prune(&tree, alpha.parse().unwrap()).leaves(), expected, "{alpha}");
    }
}
