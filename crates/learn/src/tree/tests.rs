use super::*;
use proptest::prelude::*;
use sched_distill_core::rng::Stream;

/// Rows of features that are tied (even columns) or hardly ever (odd columns), a target and weights.
pub(super) fn rows(seed: u64, n: usize, width: usize) -> (Vec<f32>, Vec<f64>, Vec<f64>) {
    let mut s = Stream::new(seed, "tree tests");
    let x: Vec<f32> = (0..n * width)
        .map(|i| if (i % width).is_multiple_of(2) { (s.uniform() * 6.0).floor() as f32 } else { s.normal() as f32 })
        .collect();
    let y = x.chunks(width).map(|r| f64::from(r[0] * 2.0 - r[width - 1]).round() + 0.5 * s.normal()).collect();
    let weight = (0..n).map(|_| (1.0 + (s.uniform() * 8.0).floor()) / 4.0).collect();
    (x, y, weight)
}

pub(super) fn values<'a>(x: &'a [f32], width: usize, y: &'a [f64], weight: &'a [f64]) -> TreeData<'a> {
    TreeData { x, width, targets: Targets::Values(y), weight: Some(weight) }
}

fn classes(y: &[f64]) -> Vec<u32> {
    y.iter().map(|y| (y.abs() * 1.5) as u32 % 4).collect()
}

pub(super) fn leaves(n: usize) -> TreeParams {
    TreeParams::default().max_leaf_nodes(n)
}

/// Weighted impurity of some rows.
fn impurity(criterion: Criterion, rows: &[(f64, f64)]) -> f64 {
    let weight: f64 = rows.iter().map(|r| r.1).sum();
    let class = |k: u32| rows.iter().filter(|r| r.0 as u32 == k).map(|r| r.1).sum::<f64>() / weight;
    let mean = rows.iter().map(|(y, w)| y * w).sum::<f64>() / weight;
    match criterion {
        _ if rows.is_empty() => 0.0,
        Criterion::SquaredError => rows.iter().map(|(y, w)| w * (y - mean) * (y - mean)).sum(),
        Criterion::AbsoluteError => {
            let around = |m: f64| rows.iter().map(|(y, w)| w * (y - m).abs()).sum::<f64>();
            rows.iter().map(|r| around(r.0)).fold(f64::INFINITY, f64::min)
        }
        Criterion::Gini => weight * (1.0 - (0..4).map(|k| class(k) * class(k)).sum::<f64>()),
        Criterion::Entropy => {
            let term = |p: f64| if p > 0.0 { p * p.log2() } else { 0.0 };
            -weight * (0..4).map(|k| term(class(k))).sum::<f64>()
        }
    }
}

/// Gain, feature, gap and missing side of every division of all rows, in the order in which ties are decided.
fn all_divisions(
    criterion: Criterion,
    x: &[f32],
    width: usize,
    target: &[f64],
    weight: &[f64],
    min: usize,
) -> Vec<(f64, usize, f32, Option<bool>)> {
    let all: Vec<(f64, f64)> = target.iter().copied().zip(weight.iter().copied()).collect();
    let whole = impurity(criterion, &all);
    let mut found = Vec::new();
    for feature in 0..width {
        let column: Vec<f32> = x.chunks(width).map(|r| r[feature]).collect();
        let mut distinct: Vec<f32> = column.iter().copied().filter(|v| !v.is_nan()).collect();
        distinct.sort_by(f32::total_cmp);
        distinct.dedup();
        let missing = column.iter().any(|v| v.is_nan());
        let sides: &[Option<bool>] = if missing { &[Some(false), Some(true)] } else { &[None] };
        for &low in &distinct {
            for &side in sides {
                let goes = |v: f32| if v.is_nan() { side == Some(true) } else { v <= low };
                let (left, right): (Vec<_>, Vec<_>) = (0..all.len()).partition(|&i| goes(column[i]));
                if left.len().min(right.len()) >= min {
                    let of = |rows: Vec<usize>| impurity(criterion, &rows.iter().map(|&i| all[i]).collect::<Vec<_>>());
                    found.push((whole - of(left) - of(right), feature, low, side));
                }
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Enough rows for columns of more than 255 values, so that bins are cut through.
    #[test]
    fn the_root_split_is_the_best_of_all(seed in 0u64..1000, min in 1usize..40, holes in any::<bool>(), which in 0usize..4) {
        let criterion =
            [Criterion::SquaredError, Criterion::AbsoluteError, Criterion::Gini, Criterion::Entropy][which];
        // All divisions of absolute errors take long to try.
        let n = if criterion == Criterion::AbsoluteError { 60 } else { 700 };
        let (mut x, y, weight) = rows(seed, n, 3);
        if holes {
            x.iter_mut().step_by(13).for_each(|v| *v = f32::NAN);
        }
        let class = classes(&y);
        let classify = matches!(criterion, Criterion::Gini | Criterion::Entropy);
        let targets = if classify { Targets::Classes { class: &class, classes: 4 } } else { Targets::Values(&y) };
        let target: Vec<f64> = if classify { class.iter().map(|&c| f64::from(c)).collect() } else { y.clone() };
        let params = leaves(2).min_samples_leaf(min).criterion(criterion).missing(Missing::Learn);
        let tree = fit_tree(TreeData { x: &x, width: 3, targets, weight: Some(&weight) }, &params).unwrap();
        let all = all_divisions(criterion, &x, 3, &target, &weight, min);
        if all.is_empty() {
            prop_assert_eq!(tree.leaves(), 1);
            return Ok(());
        }
        let best = all.iter().map(|d| d.0).fold(f64::NEG_INFINITY, f64::max);
        let tie = 1e-10 * tree.weight[0] * tree.impurity[0];
        // What is equal but for rounding in the sums of this test may come out either way.
        let allowed: Vec<_> = all.iter().filter(|d| d.0 >= best - 2.0 * tie).collect();
        let chosen = allowed.iter().find(|d| {
            let above = x.chunks(3).map(|r| r[d.1]).filter(|v| *v > d.2).fold(f32::INFINITY, f32::min);
            tree.feature[0] as usize == d.1 && d.2 <= tree.threshold[0] && tree.threshold[0] < above
                && d.3.is_none_or(|left| tree.default_left[0] == left)
        });
        prop_assert!(chosen.is_some(), "{:?} {} {} not among {allowed:?}", criterion, tree.feature[0], tree.threshold[0]);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_tree(seed in 0u64..1000) {
        let (x, y, weight) = rows(seed, 6000, 8);
        let class = classes(&y);
        let fit = |threads: usize, engine| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let targets = Targets::Classes { class: &class, classes: 4 };
            let params = leaves(24).engine(engine);
            pool.install(|| fit_tree(TreeData { x: &x, width: 8, targets, weight: Some(&weight) }, &params).unwrap())
        };
        for engine in [Engine::Exact, Engine::Histogram { max_bins: 60 }] {
            prop_assert_eq!(fit(1, engine), fit(3, engine));
        }
    }

    #[test]
    fn scaling_weights_by_a_power_of_two_changes_nothing(seed in 0u64..1000, power in -200i32..200) {
        let (x, y, weight) = rows(seed, 400, 4);
        let factor = 2f64.powi(power);
        let scaled: Vec<f64> = weight.iter().map(|w| w * factor).collect();
        let class = classes(&y);
        for criterion in [Criterion::SquaredError, Criterion::Gini, Criterion::Entropy] {
            let targets = match criterion {
                Criterion::SquaredError => Targets::Values(&y),
                _ => Targets::Classes { class: &class, classes: 4 },
            };
            let fit = |weight: &[f64], least: f64| {
                let params = leaves(20).criterion(criterion).min_weight_leaf(least).ccp_alpha(1e-4);
                fit_tree(TreeData { x: &x, width: 4, targets, weight: Some(weight) }, &params).unwrap()
            };
            let (once, mut twice) = (fit(&weight, 9.0), fit(&scaled, 9.0 * factor));
            twice.weight.iter_mut().for_each(|w| *w /= factor);
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn weight_two_equals_a_duplicated_row(seed in 0u64..1000, which in 0usize..4) {
        let criterion =
            [Criterion::SquaredError, Criterion::AbsoluteError, Criterion::Gini, Criterion::Entropy][which];
        let (x, y, _) = rows(seed, 300, 4);
        let weight: Vec<f64> = (0..300).map(|i| if i % 3 == 0 { 2.0 } else { 1.0 }).collect();
        let (mut x2, mut y2) = (x.clone(), y.clone());
        for i in (0..300).step_by(3) {
            x2.extend_from_slice(&x[i * 4..i * 4 + 4]);
            y2.push(y[i]);
        }
        let fit = |x: &[f32], y: &[f64], weight| {
            let class = classes(y);
            let targets = match criterion {
                Criterion::SquaredError | Criterion::AbsoluteError => Targets::Values(y),
                _ => Targets::Classes { class: &class, classes: 4 },
            };
            fit_tree(TreeData { x, width: 4, targets, weight }, &leaves(25).criterion(criterion)).unwrap()
        };
        let (once, twice) = (fit(&x, &y, Some(&weight)), fit(&x2, &y2, None));
        prop_assert_eq!((&once.feature, &once.threshold, &once.left), (&twice.feature, &twice.threshold, &twice.left));
        prop_assert!(once.value.iter().zip(&twice.value).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn a_row_of_weight_zero_is_as_good_as_absent(seed in 0u64..1000) {
        let (x, y, mut weight) = rows(seed, 200, 4);
        weight[150..].fill(0.0);
        let params = leaves(12).min_samples_leaf(5usize);
        let with = fit_tree(values(&x, 4, &y, &weight), &params).unwrap();
        let without = fit_tree(values(&x[..600], 4, &y[..150], &weight[..150]), &params).unwrap();
        prop_assert_eq!(with, without);
    }

    #[test]
    fn rounding_thresholds_moves_no_training_row(seed in 0u64..1000) {
        let (x, y, weight) = rows(seed, 800, 4);
        let fit = |round: bool| fit_tree(values(&x, 4, &y, &weight), &leaves(40).round_thresholds(round)).unwrap();
        let (round, plain) = (fit(true), fit(false));
        prop_assert!(x.chunks(4).all(|row| round.apply(row) == plain.apply(row)));
        let digits = |tree: &Tree| tree.threshold.iter().map(|t| t.to_string().len()).sum::<usize>();
        prop_assert!(digits(&round) < digits(&plain));
    }

    #[test]
    fn monotone_constraints_hold_everywhere(seed in 0u64..1000, sign in prop_oneof![Just(-1i8), Just(1)]) {
        let (x, y, weight) = rows(seed, 500, 3);
        let tree = fit_tree(values(&x, 3, &y, &weight), &leaves(30).monotone(vec![0, sign, 0])).unwrap();
        for row in x.chunks(3).take(50) {
            let along: Vec<f64> = (-30..30).map(|i| tree.predict(&[row[0], i as f32 / 10.0, row[2]])).collect();
            prop_assert!(along.windows(2).all(|w| (w[1] - w[0]) * f64::from(sign) >= 0.0), "{along:?}");
        }
    }

    #[test]
    fn shares_of_certain_classes_give_the_tree_of_the_classes(seed in 0u64..1000) {
        let (x, y, weight) = rows(seed, 500, 4);
        let class = classes(&y);
        let shares: Vec<f64> = class.iter().flat_map(|&c| (0..4).map(move |k| f64::from(u8::from(k == c)))).collect();
        let fit = |targets| fit_tree(TreeData { x: &x, width: 4, targets, weight: Some(&weight) }, &leaves(20)).unwrap();
        let by_class = fit(Targets::Classes { class: &class, classes: 4 });
        let by_share = fit(Targets::Outputs { values: &shares, outputs: 4 });
        prop_assert_eq!((&by_class.feature, &by_class.threshold), (&by_share.feature, &by_share.threshold));
        prop_assert!(by_class.value.iter().zip(&by_share.value).all(|(a, b)| (a - b).abs() < 1e-12));
        prop_assert!(by_class.impurity.iter().zip(&by_share.impurity).all(|(a, b)| (a / 4.0 - b).abs() < 1e-12));
    }
}

#[test]
fn a_tree_kept_at_several_sizes_is_each_time_the_tree_of_that_size() {
    let (x, y, weight) = rows(9, 500, 4);
    let data = values(&x, 4, &y, &weight);
    let sizes = [1, 2, 3, 7, 8, 40, 5000];
    for params in [
        leaves(2),
        leaves(2).engine(Engine::Histogram { max_bins: 16 }).min_samples_leaf(5usize),
        leaves(2).leaf(Leaf::Linear { ridge: 1e-3 }).min_samples_leaf(8usize),
        leaves(2).ccp_alpha(0.01),
    ] {
        let alone = sizes.map(|n| fit_tree(data, &params.clone().max_leaf_nodes(n)).unwrap());
        assert_eq!(fit_tree_sizes(data, &params, &sizes).unwrap(), alone);
    }
    for wrong in [&[8, 3][..], &[0, 3]] {
        assert!(matches!(fit_tree_sizes(data, &leaves(2), wrong), Err(TreeError::Param { name: "sizes", .. })));
    }
}

#[test]
fn the_histogram_engine_is_exact_where_there_are_few_values() {
    let (mut x, y, weight) = rows(7, 5000, 4);
    x.iter_mut().for_each(|v| *v = (*v * 8.0).round() / 8.0);
    let exact = fit_tree(values(&x, 4, &y, &weight), &leaves(50)).unwrap();
    let binned = leaves(50).engine(Engine::Histogram { max_bins: 255 });
    assert_eq!(exact, fit_tree(values(&x, 4, &y, &weight), &binned).unwrap());
}

#[test]
fn many_values_are_binned_evenly_and_heavy_ones_stay_apart() {
    let mut s = Stream::new(3, "bins");
    let x: Vec<f32> = (0..20_000).map(|i| if i % 3 == 0 { 1.0 } else { s.normal() as f32 }).collect();
    let y: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
    let params = TreeParams::default().engine(Engine::Histogram { max_bins: 16 }).max_leaf_nodes(16usize);
    let data = TreeData { x: &x, width: 1, targets: Targets::Values(&y), weight: None };
    let tree = fit_tree(data, &params).unwrap();
    let sizes: Vec<u32> = (0..tree.nodes()).filter(|&n| tree.is_leaf(n)).map(|n| tree.n_samples[n]).collect();
    assert_eq!(sizes.len(), 16);
    let heavy = sizes.iter().position(|&n| n >= 6667).unwrap();
    assert!(tree.impurity[tree.apply(&[1.0])] < 1e-3, "the value that a third of the rows have");
    let others = || sizes.iter().enumerate().filter(|(i, _)| *i != heavy).map(|(_, &n)| n);
    assert!(others().max() < Some(1100) && others().filter(|n| *n < 800).count() <= 2, "{sizes:?}");
}

#[test]
fn groups_far_apart_are_searched_as_exactly_as_alone() {
    let mut s = Stream::new(9, "offsets");
    for round in 0..8 {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for i in 0..3000 {
            let (group, v) = ((i % 2) as f32, s.normal() as f32);
            x.extend([group, v, s.normal() as f32]);
            y.push(1e7 * f64::from(group) + 0.3 * f64::from(v).sin() + 0.3 * s.normal());
        }
        let fit = |x: &[f32], y: &[f64], n: usize| {
            let data = TreeData { x, width: 3, targets: Targets::Values(y), weight: None };
            fit_tree(data, &leaves(n).round_thresholds(false)).unwrap()
        };
        let both = fit(&x, &y, 4);
        assert_eq!((both.leaves(), both.feature[0]), (4, 0));
        for (group, node) in [(0, both.left[0] as usize), (1, both.right[0] as usize)] {
            let rows: Vec<usize> = (0..3000).filter(|i| i % 2 == group).collect();
            let alone_x: Vec<f32> = rows.iter().flat_map(|&i| x[i * 3..i * 3 + 3].to_vec()).collect();
            let alone_y: Vec<f64> = rows.iter().map(|&i| y[i] - 1e7 * group as f64).collect();
            let alone = fit(&alone_x, &alone_y, 2);
            let split = |tree: &Tree, node: usize| (tree.feature[node], tree.threshold[node]);
            assert_eq!(split(&both, node), split(&alone, 0), "round {round}, group {group}");
        }
    }
}

#[test]
fn offsets_of_any_size_stop_no_growth() {
    let mut s = Stream::new(13, "offsets");
    for offset in [0.0, 1e6, 1e7, 1e9, 1e12] {
        for criterion in [Criterion::SquaredError, Criterion::AbsoluteError] {
            let (x, mut y, weight) = rows(s.bits() % 1000, 600, 3);
            // Two groups, both far from the mean of all.
            y.iter_mut().zip(x.chunks(3)).for_each(|(y, x)| *y += if x[0] > 2.0 { offset } else { -offset });
            let params = leaves(12).criterion(criterion);
            assert_eq!(fit_tree(values(&x, 3, &y, &weight), &params).unwrap().leaves(), 12, "{offset} {criterion:?}");
        }
    }
}

#[test]
fn values_that_the_sample_missed_have_bins_all_the_same() {
    // Nearly all rows miss the feature, or have one value, and the others have many.
    let n = 300_000;
    for common in [f32::NAN, 0.0] {
        let x: Vec<f32> = (0..n).map(|i| if i % 1009 == 0 { 1.0 + i as f32 } else { common }).collect();
        let y: Vec<f64> = x.iter().map(|&v| if v > 150_000.0 { 1.0 } else { 0.0 }).collect();
        let data = TreeData { x: &x, width: 1, targets: Targets::Values(&y), weight: None };
        for engine in [Engine::Exact, Engine::Histogram { max_bins: 16 }] {
            let params = leaves(4).engine(engine).missing(Missing::Learn);
            let tree = fit_tree(data, &params).unwrap();
            assert!(tree.leaves() > 1 && tree.predict(&[299_000.0]) > 0.9, "{common} {engine:?}");
        }
    }
}

#[test]
fn an_exclusive_or_is_learned_although_no_first_split_helps() {
    let x = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
    let data = TreeData { x: &x, width: 2, targets: Targets::Values(&[0.0, 1.0, 1.0, 0.0]), weight: None };
    let tree = fit_tree(data, &TreeParams::default()).unwrap();
    assert_eq!((tree.leaves(), tree.feature[0]), (4, 0));
    assert!(tree.impurity.iter().zip(&tree.left).all(|(i, &l)| l != LEAF || *i == 0.0));
}

#[test]
fn what_cannot_be_split_is_one_leaf() {
    let one_leaf = |x: &[f32], y: &[f64]| {
        let data = TreeData { x, width: 1, targets: Targets::Values(y), weight: None };
        let tree = fit_tree(data, &TreeParams::default()).unwrap();
        (tree.leaves(), tree.value[0])
    };
    assert_eq!(one_leaf(&[1.0, 2.0, 3.0], &[0.3; 3]), (1, 0.3), "a pure node");
    assert_eq!(one_leaf(&[5.0; 4], &[0.0, 1.0, 2.0, 5.0]), (1, 2.0), "a constant feature");
    assert_eq!(one_leaf(&[5.0], &[2.5]), (1, 2.5), "one row");
    assert_eq!(one_leaf(&[0.0, -0.0], &[0.0, 1.0]), (1, 0.5), "zero and minus zero are equal");
}

#[test]
fn equal_columns_are_tied_and_the_first_one_wins() {
    let (x, y, weight) = rows(1, 500, 2);
    let twice: Vec<f32> = x.chunks(2).flat_map(|r| [r[1], r[0], r[1], r[0]]).collect();
    let tree = fit_tree(values(&twice, 4, &y, &weight), &leaves(30)).unwrap();
    assert!(tree.feature.iter().all(|&f| f < 2));
}

#[test]
fn missing_values_learn_their_side_and_can_be_all_that_matters() {
    let x: Vec<f32> = (0..40).map(|i| if i % 4 == 0 { f32::NAN } else { i as f32 }).collect();
    let y: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i % 4 == 0))).collect();
    let data = TreeData { x: &x, width: 1, targets: Targets::Values(&y), weight: None };
    let tree = fit_tree(data, &TreeParams::default().missing(Missing::Learn)).unwrap();
    assert_eq!((tree.leaves(), tree.threshold[0], tree.default_left[0]), (2, f32::MAX, false));
    assert_eq!((tree.predict(&[f32::NAN]), tree.predict(&[7.0])), (1.0, 0.0));
}

#[test]
fn a_staircase_of_any_depth_needs_no_stack() {
    // Classes that alternate: every split takes one row off, so the tree is a chain.
    let x: Vec<f32> = (0..1500u16).map(f32::from).collect();
    let class: Vec<u32> = (0..1500).map(|i| i % 2).collect();
    let data = TreeData { x: &x, width: 1, targets: Targets::Classes { class: &class, classes: 2 }, weight: None };
    let tree = fit_tree(data, &TreeParams::default()).unwrap();
    assert_eq!(tree.depth(), 1499);
    assert_eq!(prune(&tree, f64::INFINITY).leaves(), 1);
}

#[test]
fn bad_data_and_parameters_are_refused_in_words() {
    let weight = [1.0; 3];
    let fit =
        |x: &[f32], y: &[f64], params: &TreeParams| fit_tree(values(x, 1, y, &weight), params).unwrap_err().to_string();
    let (x, y, plain) = ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], TreeParams::default());
    let learn = plain.clone().missing(Missing::Learn);
    let mut messages = vec![
        fit(&[1.0, f32::NAN, 2.0], &y, &plain),
        fit(&[1.0, 2.0, f32::INFINITY], &y, &learn),
        fit(&x, &[1.0, f64::NAN, 0.0], &plain),
        fit(&x[..2], &y, &plain),
        fit(&x, &y, &plain.clone().max_leaf_nodes(0usize)),
        fit(&x, &y, &plain.clone().min_weight_leaf(-1.0)),
        fit(&x, &y, &plain.clone().engine(Engine::Histogram { max_bins: 300 })),
        fit(&x, &y, &plain.clone().criterion(Criterion::Gini)),
        fit(&x, &y, &plain.clone().monotone(vec![1i8, 0])),
    ];
    for (weight, targets) in [
        ([1.0, -1.0, 0.0], Targets::Values(&y)),
        ([0.0; 3], Targets::Values(&y)),
        ([1.0; 3], Targets::Classes { class: &[0, 1, 2], classes: 300 }),
        ([1.0; 3], Targets::Classes { class: &[0, 1, 2], classes: 2 }),
    ] {
        let data = TreeData { x: &x, width: 1, targets, weight: Some(&weight) };
        messages.push(fit_tree(data, &plain).unwrap_err().to_string());
    }
    let expected = [
        "feature 0 is NaN at row 1; features must be finite, or missing values be learned",
        "feature 0 is inf at row 2; features must be finite",
        "target is NaN at row 1; it must be finite and below 1e140",
        "the features' matrix has 2 entries, expected 3",
        "max_leaf_nodes must be at least 1, got 0",
        "min_weight_leaf must be a number of at least 0, got -1",
        "max_bins must be in 2..=255, got 300",
        "criterion must be SquaredError or AbsoluteError for values, got Gini",
        "monotone has 2 entries, expected 1",
        "weight is -1 at row 1; it must be not negative and below 1e140",
        "there is no row of positive weight to learn from",
        "there are 300 classes, but at most 255 are allowed: merge rare ones, or fit shares as several targets",
        "class is 2 at row 2; it must be below the number of classes",
    ];
    assert_eq!(messages, expected);
}
