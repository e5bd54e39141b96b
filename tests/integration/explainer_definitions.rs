//! Explanations of random trees against their definitions, by brute force.

use proptest::prelude::*;
use sched_distill::{
    explainer::{
        Metric, Shuffles, TreeInteractions, TreeShap, accumulated_effects, conditional_expectation, partial_dependence,
        permutation_importance,
    },
    model::{LEAF, Tree},
    rng::Stream,
};

const WIDTH: usize = 5;

/// A tree of random tests on few values, so that features come again on a path; some branches have no weight.
pub(crate) fn random_tree(s: &mut Stream, depth: usize, outputs: usize) -> Tree {
    fn grow(s: &mut Stream, tree: &mut Tree, depth: usize) -> f64 {
        let node = tree.nodes();
        tree.feature.push(0);
        tree.threshold.push(0.0);
        tree.left.push(LEAF);
        tree.right.push(LEAF);
        tree.default_left.push(s.below(2) == 0);
        tree.impurity.push(0.0);
        tree.n_samples.push(1);
        tree.weight.push(0.0);
        tree.value.extend((0..tree.outputs).map(|_| s.normal()));
        let weight = if depth == 0 || s.uniform() < 0.15 {
            if s.uniform() < 0.1 { 0.0 } else { s.exponential(1.0) }
        } else {
            tree.feature[node] = s.below(WIDTH - 1) as u32; // The last feature has no part in it.
            tree.threshold[node] = s.below(6) as f32 - 0.5 * s.below(2) as f32;
            tree.left[node] = tree.nodes() as u32;
            let left = grow(s, tree, depth - 1);
            tree.right[node] = tree.nodes() as u32;
            left + grow(s, tree, depth - 1)
        };
        tree.weight[node] = weight;
        weight
    }
    let mut tree = Tree::empty(outputs);
    grow(s, &mut tree, depth);
    tree
}

/// Rows of small whole numbers, some on a threshold, some missing, some infinite.
pub(crate) fn random_rows(s: &mut Stream, rows: usize) -> Vec<f32> {
    let value = |s: &mut Stream| match s.below(20) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        _ => s.below(7) as f32 - 0.5 * s.below(2) as f32,
    };
    (0..rows * WIDTH).map(|_| value(s)).collect()
}

/// What the tree says if the features in the set `known` are known.
fn known_value(tree: &Tree, node: usize, x: &[f32], known: u32) -> Vec<f64> {
    if tree.is_leaf(node) {
        return tree.node_value(node).to_vec();
    }
    let feature = tree.feature[node] as usize;
    let below = |child: u32| known_value(tree, child as usize, x, known);
    let (left, right) = (tree.left[node], tree.right[node]);
    if known >> feature & 1 == 1 {
        let v = x[feature];
        let goes_left = if v.is_nan() { tree.default_left[node] } else { v <= tree.threshold[node] };
        return below(if goes_left { left } else { right });
    }
    let [l, r] = [left, right].map(|c| tree.weight[c as usize]);
    let share = if l + r > 0.0 { l / (l + r) } else { 0.5 };
    below(left).iter().zip(below(right)).map(|(a, b)| share * a + (1.0 - share) * b).collect()
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|k| k as f64).product()
}

/// Shapley values of a game on sets of features, shape `(WIDTH, outputs)`.
fn shapley(game: impl Fn(u32) -> Vec<f64>) -> Vec<f64> {
    let games: Vec<Vec<f64>> = (0..1 << WIDTH).map(game).collect();
    let mut values = vec![0.0; WIDTH * games[0].len()];
    for (i, value) in values.chunks_mut(games[0].len()).enumerate() {
        for set in (0..1usize << WIDTH).filter(|set| set >> i & 1 == 0) {
            let size = set.count_ones() as usize;
            let weight = factorial(size) * factorial(WIDTH - size - 1) / factorial(WIDTH);
            for (value, (with, without)) in value.iter_mut().zip(games[set | 1 << i].iter().zip(&games[set])) {
                *value += weight * (with - without);
            }
        }
    }
    values
}

/// Shapley interaction values, halves beside the diagonal, shape `(WIDTH, WIDTH)`, for one output.
fn interactions(game: impl Fn(u32) -> f64) -> Vec<f64> {
    let mut matrix = vec![0.0; WIDTH * WIDTH];
    for (i, j) in (0..WIDTH).flat_map(|i| (0..WIDTH).map(move |j| (i, j))).filter(|(i, j)| i != j) {
        for set in (0..1u32 << WIDTH).filter(|set| set >> i & 1 == 0 && set >> j & 1 == 0) {
            let size = set.count_ones() as usize;
            let weight = factorial(size) * factorial(WIDTH - size - 2) / (2.0 * factorial(WIDTH - 1));
            let (a, b) = (set | 1 << i, set | 1 << j);
            matrix[i * WIDTH + j] += weight * (game(a | b) - game(a) - game(b) + game(set));
        }
    }
    let values = shapley(|set| vec![game(set)]);
    for i in 0..WIDTH {
        matrix[i * WIDTH + i] = values[i] - matrix[i * WIDTH..][..WIDTH].iter().sum::<f64>();
    }
    matrix
}

fn close(ours: &[f64], theirs: &[f64], within: f64) {
    assert_eq!(ours.len(), theirs.len());
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!((a - b).abs() <= within, "place {i}: {a} against {b}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn shap_values_are_shapley_values(seed: u64, depth in 0usize..7, outputs in 1usize..4) {
        let mut s = Stream::new(seed, "trees");
        let tree = random_tree(&mut s, depth, outputs);
        let (x, background) = (random_rows(&mut s, 20), random_rows(&mut s, 7));
        let weight: Vec<f64> = (0..7).map(|_| s.uniform()).collect();
        let path = TreeShap::path_dependent(&tree, WIDTH).unwrap().explain(&x).unwrap();
        let against = TreeShap::interventional(&tree, WIDTH, &background, Some(&weight)).unwrap().explain(&x).unwrap();
        prop_assert!(path.additivity_error(&tree, &x) < 1e-12);
        prop_assert!(against.additivity_error(&tree, &x) < 1e-12);
        for (row, x) in x.chunks(WIDTH).enumerate() {
            close(path.row(row), &shapley(|known| known_value(&tree, 0, x, known)), 1e-12);
            let mean = |known: u32| {
                let mut mean = vec![0.0; outputs];
                for (b, w) in background.chunks(WIDTH).zip(&weight) {
                    let mixed: Vec<f32> = (0..WIDTH).map(|f| if known >> f & 1 == 1 { x[f] } else { b[f] }).collect();
                    let share = w / weight.iter().sum::<f64>();
                    mean.iter_mut().zip(tree.predict_outputs(&mixed)).for_each(|(m, v)| *m += share * v);
                }
                mean
            };
            close(&path.base_value, &known_value(&tree, 0, x, 0), 1e-12);
            close(&against.base_value, &mean(0), 1e-12);
            close(against.row(row), &shapley(mean), 1e-12);
        }
    }

    #[test]
    fn interaction_values_are_shapley_interactions(seed: u64, depth in 0usize..7) {
        let mut s = Stream::new(seed, "trees");
        let tree = random_tree(&mut s, depth, 1);
        let x = random_rows(&mut s, 4);
        let values = TreeInteractions::new(&tree, WIDTH).unwrap().explain(&x).unwrap();
        for (row, x) in x.chunks(WIDTH).enumerate() {
            close(values.row(row), &interactions(|known| known_value(&tree, 0, x, known)[0]), 1e-12);
        }
    }

    #[test]
    fn dependence_and_permutation_are_those_of_changed_rows(seed: u64, depth in 0usize..7) {
        let mut s = Stream::new(seed, "trees");
        let tree = random_tree(&mut s, depth, 2);
        let rows = 40;
        let x = random_rows(&mut s, rows);
        let weight: Vec<f64> = (0..rows).map(|_| s.uniform()).collect();
        let grid = [3.0, f32::NAN, -1.0, 0.5, f32::INFINITY, 3.0];
        let feature = s.below(WIDTH);
        let curve = partial_dependence(&tree, &x, WIDTH, Some(&weight), feature, &grid).unwrap();
        let lines = conditional_expectation(&tree, &x, WIDTH, feature, &grid).unwrap();
        let mut mean = vec![0.0; grid.len() * 2];
        for (row, original) in x.chunks(WIDTH).enumerate() {
            for (place, &value) in grid.iter().enumerate() {
                let mut changed = original.to_vec();
                changed[feature] = value;
                let expected = tree.predict_outputs(&changed);
                let at = place * 2;
                assert_eq!(&lines[row * grid.len() * 2 + at..][..2], expected);
                (0..2).for_each(|k| mean[at + k] += weight[row] * expected[k] / weight.iter().sum::<f64>());
            }
        }
        close(&curve.average, &mean, 1e-12);

        let y: Vec<f64> = (0..rows).map(|_| s.normal()).collect();
        let class: Vec<u32> = (0..rows).map(|_| s.below(2) as u32).collect();
        let groups = [vec![0], vec![WIDTH - 1], vec![1, 3, 0], vec![2, WIDTH - 1]];
        let shuffle: Vec<u32> = (0..rows as u32).rev().collect();
        for metric in [Metric::Accuracy(&class), Metric::R2(&y)] {
            let found = permutation_importance(
                &tree, &x, WIDTH, metric, Some(&weight), &groups, Shuffles::Given(&shuffle),
            ).unwrap();
            let score = |x: &[f32]| {
                let total: f64 = weight.iter().sum();
                let mean = y.iter().zip(&weight).map(|(y, w)| y * w / total).sum::<f64>();
                let (mut hit, mut lost, mut all) = (0.0, 0.0, 0.0);
                for (row, x) in x.chunks(WIDTH).enumerate() {
                    hit += weight[row] * f64::from(u8::from(tree.predict_class(x) == class[row] as usize));
                    lost += weight[row] * (y[row] - tree.predict(x)).powi(2);
                    all += weight[row] * (y[row] - mean).powi(2);
                }
                if matches!(metric, Metric::R2(_)) { 1.0 - lost / all } else { hit / total }
            };
            close(&[found.baseline], &[score(&x)], 1e-12);
            for (group, drop) in groups.iter().zip(&found.drops) {
                let mut changed = x.clone();
                for row in 0..rows {
                    group.iter().for_each(|f| changed[row * WIDTH + f] = x[shuffle[row] as usize * WIDTH + f]);
                }
                close(&[*drop], &[score(&x) - score(&changed)], 1e-12);
            }
            // Neither the last feature nor any group of it alone is tested.
            assert_eq!(found.drops[1], 0.0);
        }
    }

    #[test]
    fn accumulated_effects_are_those_of_moved_rows(seed: u64, depth in 0usize..7, bins in 1usize..9) {
        let mut s = Stream::new(seed, "trees");
        let tree = random_tree(&mut s, depth, 2);
        let rows = 60;
        let x: Vec<f32> = random_rows(&mut s, rows).iter().map(|v| if v.is_infinite() { 9.0 } else { *v }).collect();
        let weight: Vec<f64> = (0..rows).map(|_| s.below(4) as f64).collect();
        let feature = s.below(WIDTH - 1);
        let ours = accumulated_effects(&tree, &x, WIDTH, Some(&weight), feature, bins).unwrap();
        // Borders from the definition: the smallest value with at least that share of the rows at or below it.
        let column: Vec<f32> = x.chunks(WIDTH).map(|r| r[feature]).filter(|v| !v.is_nan()).collect();
        let mut edges: Vec<f32> = (0..=bins)
            .map(|k| {
                let enough = |v: &f32| column.iter().filter(|o| *o <= v).count() * bins >= (k * column.len()).max(1);
                column.iter().copied().filter(enough).fold(f32::INFINITY, f32::min)
            })
            .collect();
        edges.dedup();
        prop_assert_eq!(&ours.edges, &edges);
        let predict = |row: &[f32], value: f32| {
            let mut row = row.to_vec();
            row[feature] = value;
            tree.predict_outputs(&row).to_vec()
        };
        for k in 0..2 {
            let mut effect = vec![0.0];
            let (mut mean, mut total) = (0.0, 0.0);
            for bin in 1..edges.len() {
                let inside = |v: f32| (v > edges[bin - 1] || bin == 1 && v == edges[0]) && v <= edges[bin];
                let (mut sum, mut count) = (0.0, 0.0);
                for (row, w) in x.chunks(WIDTH).zip(&weight).filter(|(row, _)| inside(row[feature])) {
                    sum += w * (predict(row, edges[bin])[k] - predict(row, edges[bin - 1])[k]);
                    count += w;
                }
                effect.push(effect[bin - 1] + if count > 0.0 { sum / count } else { 0.0 });
                mean += count * (effect[bin - 1] + effect[bin]) / 2.0;
                total += count;
            }
            let centred: Vec<f64> = effect.iter().map(|e| e - if total > 0.0 { mean / total } else { 0.0 }).collect();
            let found: Vec<f64> = ours.effect.iter().skip(k).step_by(2).copied().collect();
            close(&found, &centred, 1e-12);
        }
    }
}

/// A chain of `depth` tests on as many features, a leaf beside each.
fn chain(depth: usize, width: usize) -> Tree {
    let mut s = Stream::new(5, "chain");
    let nodes = 2 * depth + 1;
    let inner = |node: usize| node.is_multiple_of(2) && node < 2 * depth;
    let each = |f: &dyn Fn(usize) -> u32| (0..nodes).map(f).collect::<Vec<u32>>();
    let mut tree = Tree {
        feature: each(&|n| if inner(n) { ((n / 2) % width) as u32 } else { 0 }),
        threshold: (0..nodes).map(|n| if inner(n) { 1.0 - (n / 2 / width) as f32 * 0.01 } else { 0.0 }).collect(),
        left: each(&|n| if inner(n) { n as u32 + 1 } else { LEAF }),
        right: each(&|n| if inner(n) { n as u32 + 2 } else { LEAF }),
        default_left: vec![false; nodes],
        value: (0..nodes).map(|_| s.normal() * 100.0).collect(),
        impurity: vec![0.0; nodes],
        n_samples: vec![1; nodes],
        weight: vec![0.0; nodes],
        ..Tree::leaf(0.0, 0.0, 0, 0.0)
    };
    for node in (0..nodes).rev() {
        tree.weight[node] = match inner(node) {
            true => tree.weight[node + 1] + tree.weight[node + 2],
            false => 0.01 + s.uniform(),
        };
    }
    tree
}

#[test]
fn deep_trees_add_up() {
    let mut s = Stream::new(1, "rows");
    for (depth, width) in [(120, 120), (300, 150), (1000, 24)] {
        let tree = chain(depth, width);
        // Most values pass on to the next test, so that rows come far.
        let x: Vec<f32> = (0..20 * width).map(|_| if s.below(60) == 0 { 0.0 } else { 2.0 }).collect();
        let background: Vec<f32> = (0..30 * width).map(|_| if s.below(40) == 0 { 0.0 } else { 2.0 }).collect();
        let path = TreeShap::path_dependent(&tree, width).unwrap().explain(&x).unwrap();
        assert!(path.additivity_error(&tree, &x) < 1e-9, "{}", path.additivity_error(&tree, &x));
        let against = TreeShap::interventional(&tree, width, &background, None).unwrap().explain(&x).unwrap();
        assert!(against.additivity_error(&tree, &x) < 1e-9, "{}", against.additivity_error(&tree, &x));
    }
}

#[test]
fn interactions_of_long_paths_add_up_to_shap_values() {
    let mut s = Stream::new(1, "rows");
    let (depth, width) = (60, 20);
    let tree = chain(depth, width);
    let x: Vec<f32> = (0..6 * width).map(|_| if s.below(15) == 0 { 0.0 } else { 2.0 }).collect();
    let pairs = TreeInteractions::new(&tree, width).unwrap().explain(&x).unwrap();
    let sums: Vec<f64> = pairs.values.chunks(width).map(|row| row.iter().sum()).collect();
    close(&sums, &TreeShap::path_dependent(&tree, width).unwrap().explain(&x).unwrap().values, 1e-10);
    assert!(pairs.values.iter().all(|v| v.is_finite()) && pairs.row(0).iter().any(|v| *v != 0.0));
}

#[test]
fn threads_change_nothing() {
    let mut s = Stream::new(9, "trees");
    let tree = random_tree(&mut s, 7, 3);
    let (x, background) = (random_rows(&mut s, 10_000), random_rows(&mut s, 50));
    let class: Vec<u32> = (0..10_000).map(|_| s.below(3) as u32).collect();
    let groups: Vec<Vec<usize>> = (0..WIDTH).map(|f| vec![f]).collect();
    let explain = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let shuffles = Shuffles::Seeded { seed: 4, repeats: 2 };
            let metric = Metric::Accuracy(&class);
            (
                TreeShap::path_dependent(&tree, WIDTH).unwrap().explain(&x).unwrap(),
                TreeShap::interventional(&tree, WIDTH, &background, None).unwrap().explain(&x).unwrap(),
                partial_dependence(&tree, &x, WIDTH, None, 1, &[0.0, 2.0]).unwrap(),
                accumulated_effects(&tree, &x, WIDTH, None, 1, 8).unwrap(),
                permutation_importance(&tree, &x, WIDTH, metric, None, &groups, shuffles).unwrap(),
            )
        })
    };
    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
    let (one, two) = (explain(1), explain(2));
    assert_eq!(bits(&one.0.values), bits(&two.0.values));
    assert_eq!(bits(&one.1.values), bits(&two.1.values));
    assert_eq!(bits(&one.2.average), bits(&two.2.average));
    assert_eq!(bits(&one.3.effect), bits(&two.3.effect));
    assert_eq!(bits(&one.4.drops), bits(&two.4.drops));
}

#[test]
fn a_preference_is_the_difference_of_two_rows() {
    let mut s = Stream::new(2, "trees");
    let tree = random_tree(&mut s, 5, 1);
    let x = random_rows(&mut s, 2);
    let shap = TreeShap::path_dependent(&tree, WIDTH).unwrap();
    let parts = shap.explain_preference(&x[..WIDTH], &x[WIDTH..]).unwrap();
    let difference = tree.predict(&x[..WIDTH]) - tree.predict(&x[WIDTH..]);
    assert!((parts.iter().sum::<f64>() - difference).abs() < 1e-12);
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let mut s = Stream::new(2, "trees");
    let tree = random_tree(&mut s, 5, 1);
    let refused = |tree: &Tree, width| TreeShap::path_dependent(tree, width).unwrap_err().to_string();
    assert!(refused(&tree, 1).contains("but rows have 1"));
    let mut linear = Tree::leaf(0.0, 0.0, 1, 1.0);
    linear.linear = Some(sched_distill::model::LinearLeaves {
        intercept: vec![0.0],
        start: vec![0, 0],
        feature: vec![],
        coefficient: vec![],
    });
    assert!(refused(&linear, WIDTH).contains("linear leaves"));
    let mut negative = tree.clone();
    negative.weight[0] = -1.0;
    assert!(refused(&negative, WIDTH).contains("`tree.weight` holds -1 at 0"));
    let shap = TreeShap::path_dependent(&tree, WIDTH).unwrap();
    assert!(shap.explain(&[0.0; WIDTH + 1]).unwrap_err().to_string().contains("no multiple"));
    assert!(TreeShap::interventional(&tree, WIDTH, &[], None).unwrap_err().to_string().contains("empty"));
}
