//! The search against teachers whose terms are known, and its sums against brute force.

use super::{search::Rows, *};
use sched_distill_core::{model::ScoreCandidates, rng::Stream};

/// 2 [a > 0.5] − 3 (b − 0.2)+ + 1.5 a · [load > 0.6]; the load is the same for all candidates, `noise` says nothing.
fn score(row: &[f32]) -> f64 {
    let [a, b, load, _] = [row[0], row[1], row[2], row[3]].map(f64::from);
    2.0 * f64::from(u8::from(a > 0.5)) - 3.0 * (b - 0.2).max(0.0) + 1.5 * a * f64::from(u8::from(load > 0.6))
}

fn choices(count: usize) -> Choices {
    let (mut s, mut choices) = (Stream::new(7, "splines"), Choices::new(4));
    for c in 0..count {
        let (n, load) = (2 + s.below(5), s.uniform() as f32);
        let x: Vec<f32> =
            (0..n).flat_map(|_| [s.uniform() as f32, s.uniform() as f32, load, s.uniform() as f32]).collect();
        let scores: Vec<f64> = x.chunks(4).map(score).collect();
        let total: f64 = scores.iter().map(|v| v.exp()).sum();
        choices.push(&x, scores.iter().map(|v| v.exp() / total), 1.0 + s.below(3) as f64, c as u64 / 20);
    }
    choices
}

#[test]
fn the_terms_of_a_teacher_are_found_and_more_are_better() {
    let choices = choices(3000);
    let path = spline_path(
        &choices.data(),
        &SplineParams { max_terms: 6, sharpness: 1.0, ..SplineParams::default() },
        &[1, 3, 6, 9],
    )
    .unwrap();
    let sizes: Vec<usize> = path.iter().map(|m| m.terms.len()).collect();
    assert_eq!(sizes, [1, 3, 6], "the largest stands for what lies beyond, once");
    // What the teacher itself leaves undecided is no loss of the model's.
    let loss = |model: &Additive| {
        let (data, mut sum, mut weight) = (choices.data(), 0.0, 0.0);
        for c in 0..data.choices() {
            let choice = data.choice(c);
            let mut scores = vec![0.0; choice.probability.len()];
            model.score_choice(choice.x, 4, &mut scores);
            let total = scores.iter().map(|s| s.exp()).sum::<f64>().ln();
            let divergence = |(s, p): (&f64, &f64)| p * (p.ln() - (s - total));
            sum += choice.weight * scores.iter().zip(choice.probability).map(divergence).sum::<f64>();
            weight += choice.weight;
        }
        sum / weight
    };
    let losses: Vec<f64> = path.iter().map(loss).collect();
    assert!(losses[0] > losses[1] && losses[1] > losses[2], "{losses:?}");
    assert!(losses[1] < 0.01 && losses[2] < 0.002, "{losses:?}");
    let used = |m: &Additive, feature| m.terms.iter().flat_map(|t| &t.factors).any(|f| f.feature == feature);
    assert!((0..3).all(|f| used(&path[1], f)) && !used(&path[1], 3), "{:?}", path[1]);
    assert!(path[1].terms.iter().all(|t| t.standard_error.is_some_and(|e| e > 0.0)));
}

#[test]
fn without_shapes_and_products_it_is_a_logit_of_few_features() {
    let choices = choices(500);
    let params =
        SplineParams { shapes: vec![Shape::Linear], products: false, sharpness: 1.0, ..SplineParams::default() };
    let path = spline_path(&choices.data(), &params, &[2, 4]).unwrap();
    // The load never differs within a choice: three features are left.
    assert_eq!(path.iter().map(|m| m.terms.len()).collect::<Vec<_>>(), [2, 3]);
    let logit = crate::fit_logit(
        &choices.data(),
        &LogitParams::default().columns(vec![0u32, 1, 3]).constant(crate::Constant::LeaveOut),
    );
    for term in &path[1].terms {
        let expected = logit.as_ref().unwrap().terms.iter().find(|t| t.factors == term.factors).unwrap();
        assert!((term.coefficient - expected.coefficient).abs() < 1e-6, "{term:?} against {expected:?}");
    }
}

#[test]
fn a_sharp_logit_is_that_of_the_teacher_to_the_power() {
    let choices = choices(300);
    let params = |sharpness| SplineParams { max_terms: 3, sharpness, ..SplineParams::default() };
    let cubed: Vec<f64> = choices.data().probability.iter().map(|p| p.powi(3)).collect();
    let data = ChoiceData { probability: &cubed, ..choices.data() };
    let expected = spline_path(&data, &params(1.0), &[3]).unwrap().remove(0);
    let found = spline_path(&choices.data(), &params(3.0), &[3]).unwrap().remove(0);
    for (found, expected) in found.terms.iter().zip(&expected.terms) {
        assert_eq!(found.factors, expected.factors);
        assert!((found.coefficient - expected.coefficient).abs() < 1e-6, "{found:?} against {expected:?}");
    }
}

#[test]
fn probabilities_too_small_for_their_power_are_zero_and_the_best_stays() {
    let mut choices = Choices::new(1);
    choices.push(&[0.0, 1.0, 2.0], [1e-30, 3e-30, 0.0], 1.0, 0);
    choices.push(&[0.0, 1.0], [1.0, 0.0], 1.0, 0);
    let squared = sharpened(&choices.data(), 2.0);
    let far = |(found, expected): (&f64, f64)| (found - expected).abs() > 1e-12;
    assert!(!squared.iter().zip([0.1, 0.9, 0.0, 1.0, 0.0]).any(far), "{squared:?}");
    assert_eq!(sharpened(&choices.data(), 1000.0), [0.0, 1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let choices = choices(400);
    let params = SplineParams { max_terms: 5, ..SplineParams::default() };
    let fit = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| spline_path(&choices.data(), &params, &[5]).unwrap())
    };
    assert_eq!(fit(1), fit(3));
}

#[test]
fn ratings_on_bins_are_those_of_the_rows() {
    let choices = choices(300);
    let (data, params) = (choices.data(), SplineParams { ridge: 0.0, ..SplineParams::default() });
    let bins = Bins::new(&data, &params);
    let mut s = Stream::new(8, "scores");
    let scores: Vec<f64> = (0..data.probability.len()).map(|_| s.normal()).collect();
    let at = Rows::new(&data, data.check().unwrap(), &scores);
    let parent = Factor { feature: 0, shape: Shape::Excess, threshold: Some(0.25) };
    let rows = search::ParentRows::new(data.bounds, &at, |row| [1.0, parent.of(data.x[row * 4])]);
    let alone = search::ParentRows::new(data.bounds, &at, |row| [parent.of(data.x[row * 4])]);
    for column in &bins.columns {
        let [_, rated] = search::rate(column, data.bounds, &rows, 0.0);
        let [by_itself] = search::rate(column, data.bounds, &alone, 0.0);
        assert_eq!(by_itself, rated, "a parent beside another");
        for (gain, factor) in rated {
            let (mut slope, mut bend) = (0.0, 0.0);
            for c in 0..data.choices() {
                let rows = data.bounds[c]..data.bounds[c + 1];
                let value = |row: usize| product(&[parent, factor], &data.x[row * 4..][..4]);
                let whole: f64 = at.bend[rows.clone()].iter().sum();
                let mean = rows.clone().map(|row| at.bend[row] * value(row)).sum::<f64>() / whole;
                for row in rows {
                    slope += at.slope[row] * value(row);
                    bend += at.bend[row] * (value(row) - mean) * (value(row) - mean);
                }
            }
            let expected = slope * slope / bend;
            assert!((gain - expected).abs() <= 1e-7 * expected.max(1e-9), "{factor:?}: {gain} against {expected}");
        }
    }
}

#[test]
fn bounded_sums_grow_no_faster_than_logarithms() {
    // A share, and counts without an upper end; the teacher goes by both.
    let (mut s, mut choices) = (Stream::new(7, "bounded"), Choices::new(2));
    for c in 0..800 {
        let rows: Vec<f32> = (0..4).flat_map(|_| [s.uniform() as f32, s.below(40) as f32]).collect();
        let scores: Vec<f64> = rows.chunks(2).map(|r| 2.0 * f64::from(r[0]) - 0.2 * f64::from(r[1])).collect();
        let total: f64 = scores.iter().map(|v| v.exp()).sum();
        choices.push(&rows, scores.iter().map(|v| v.exp() / total), 1.0, c / 20);
    }
    let shapes_of_counts = |bounded| {
        let params = SplineParams { max_terms: 8, bounded, ..SplineParams::default() };
        let path = spline_path(&choices.data(), &params, &[8]).unwrap();
        let factors = path[0].terms.iter().flat_map(|t| t.factors.clone());
        factors.filter(|f| f.feature == 1).map(|f| f.shape).collect::<Vec<_>>()
    };
    let grows = |shape: &Shape| matches!(shape, Shape::Linear | Shape::Excess);
    assert!(shapes_of_counts(false).iter().any(grows), "what bounds keep out is what the search would take");
    let bounded = shapes_of_counts(true);
    assert!(!bounded.is_empty() && !bounded.iter().any(grows), "{bounded:?}");
}
