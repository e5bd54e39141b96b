//! Logits and pairs against closed forms, brute force and simulation.

use super::{
    data::Choices,
    logit::Fitted,
    objective::{bend, loss},
    pairs::shares,
    *,
};
use ::linfa::{
    Dataset, ParamGuard,
    traits::{Fit, Predict},
};
use ndarray::{Array1, Array2};
use sched_distill_core::{
    model::{ScoreCandidates, Term},
    rng::Stream,
};

impl Choices {
    fn fit(&self, params: &LogitParams) -> Fitted {
        fit_from(&self.data(), params.check_ref().unwrap(), None, Effort::Full).unwrap()
    }
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let total: f64 = scores.iter().map(|s| s.exp()).sum();
    scores.iter().map(|s| s.exp() / total).collect()
}

/// Choices of 1 to 6 candidates with normal features; the teacher is a logit with the coefficients `beta` and noise.
fn random(choices: usize, beta: &[f64], noise: f64, seed: u64) -> Choices {
    let mut s = Stream::new(seed, "choices");
    let mut set = Choices::new(beta.len());
    for c in 0..choices {
        let n = 1 + s.below(6);
        let x: Vec<f32> = (0..n * beta.len()).map(|_| s.normal() as f32).collect();
        let score = |row: &[f32]| row.iter().zip(beta).map(|(&x, b)| f64::from(x) * b).sum::<f64>();
        let scores: Vec<f64> = x.chunks(beta.len()).map(|row| score(row) + noise * s.normal()).collect();
        set.push(&x, softmax(&scores), 1.0 + s.below(3) as f64, (c / 20) as u64);
    }
    set
}

fn close(a: &[f64], b: &[f64], within: f64) {
    assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= within), "{a:?} is not {b:?}");
}

#[test]
fn slopes_and_curvatures_are_those_of_finite_differences() {
    let (p, s) = ([0.5, 0.0, 0.3, 0.2], [0.3, -1.0, 2.0, 0.1]);
    let unit: Vec<f64> = (0..16).map(|i| f64::from(u8::from(i / 4 == i % 4))).collect();
    let at = |s: &[f64]| {
        let (mut slope, mut bent) = (vec![0.0; 4], vec![0.0; 16]);
        let value = loss(&p, s, &mut slope);
        bend(&p, &slope, &unit, &mut bent);
        (value, slope, bent)
    };

    let (_, slope, bent) = at(&s);
    for i in 0..4 {
        let h = 1e-5;
        let (mut up, mut down) = (s, s);
        up[i] += h;
        down[i] -= h;
        let (up, down) = (at(&up), at(&down));
        assert!((slope[i] - (up.0 - down.0) / (2.0 * h)).abs() < 1e-9);
        let column: Vec<f64> = (0..4).map(|j| bent[j * 4 + i]).collect();
        let expected: Vec<f64> = up.1.iter().zip(&down.1).map(|(u, d)| (u - d) / (2.0 * h)).collect();
        close(&column, &expected, 1e-8);
    }
}

/// The penalised objective straight from the definition, in natural units.
fn brute(set: &Choices, beta: &[f64], sd: &[f64], ridge: f64) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for c in 0..set.weight.len() {
        let rows = set.bounds[c]..set.bounds[c + 1];
        let p = &set.probability[rows.clone()];
        if p.len() < 2 {
            continue;
        }
        let x = &set.x[rows.start * set.width..rows.end * set.width];
        let score = |row: &[f32]| row.iter().zip(beta).map(|(&x, b)| f64::from(x) * b).sum::<f64>();
        let s: Vec<f64> = x.chunks(set.width).map(score).collect();
        total += set.weight[c];
        sum -= set.weight[c] * p.iter().zip(softmax(&s)).map(|(p, q)| p * q.ln()).sum::<f64>();
    }
    let penalty: f64 = beta.iter().zip(sd).map(|(b, sd)| (b * sd).powi(2)).sum();
    sum / total + ridge / 2.0 * penalty
}

#[test]
fn the_fit_is_where_the_definition_is_flat_and_lower_than_around() {
    let set = random(300, &[1.0, -0.5, 0.0], 0.7, 1);

    for ridge in [0.0, 0.3] {
        let fit = set.fit(&LogitParams::default().ridge(ridge));
        let at = |beta: &[f64]| brute(&set, beta, &fit.sd, ridge);
        let best = at(&fit.coefficient);
        for i in 0..3 {
            let moved = |by: f64| {
                let mut beta = fit.coefficient.clone();
                beta[i] += by;
                at(&beta)
            };
            assert!(((moved(1e-4) - moved(-1e-4)) / 2e-4).abs() < 1e-7, "ridge {ridge}, {i}");
            assert!(moved(0.05) > best && moved(-0.05) > best);
        }
    }
}

#[test]
fn one_feature_has_the_optimum_of_a_fine_grid() {
    let mut set = Choices::new(1);
    set.push(&[0.0, 1.0, 3.0], [0.2, 0.3, 0.5], 2.0, 0);
    set.push(&[1.0, 0.0], [0.9, 0.1], 1.0, 1);

    let fit = set.fit(&LogitParams::default().ridge(0.1));
    let at = |beta: f64| brute(&set, &[beta], &fit.sd, 0.1);
    let grid = (0..200_000).map(|i| f64::from(i) / 1e5);
    let best = grid.min_by(|a, b| at(*a).total_cmp(&at(*b))).unwrap();
    assert!((fit.coefficient[0] - best).abs() < 2e-5, "{} and {best}", fit.coefficient[0]);
}

#[test]
fn a_teacher_that_is_a_logit_is_found() {
    let beta = [1.5, -0.7, 0.0, 0.2];
    let set = random(500, &beta, 0.0, 2);

    let fit = set.fit(&LogitParams::default().ridge(0.0));
    // Features and sums of 32 bits.
    close(&fit.coefficient, &beta, 1e-6);
    close(&fit.standard_error.unwrap(), &[0.0; 4], 1e-6);
}

#[test]
fn a_choice_of_weight_two_is_two_choices() {
    let set = random(60, &[1.0, -0.5], 1.0, 3);
    let mut twice = Choices::new(2);
    for c in 0..60 {
        let rows = set.bounds[c]..set.bounds[c + 1];
        for _ in 0..set.weight[c] as usize {
            let x = &set.x[rows.start * 2..rows.end * 2];
            twice.push(x, set.probability[rows.clone()].to_vec(), 1.0, set.cluster[c]);
        }
    }
    assert!(twice.weight.len() > 90);

    let params = LogitParams::default().ridge(0.05);
    let (a, b) = (set.fit(&params), twice.fit(&params));
    close(&a.coefficient, &b.coefficient, 1e-9);
    close(&a.standard_error.unwrap(), &b.standard_error.unwrap(), 1e-9);
}

#[test]
fn coefficients_are_in_natural_units() {
    let set = random(200, &[1.0, -0.5], 0.5, 4);
    let mut moved = set.clone();
    moved.x.iter_mut().step_by(2).for_each(|x| *x = *x * 1024.0 + 4096.0);
    let params = LogitParams::default().ridge(0.1);
    let (a, b) = (set.fit(&params), moved.fit(&params));
    let close_to = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-3, "{a} {b}");
    close_to(a.coefficient[0], 1024.0 * b.coefficient[0]);
    close_to(a.coefficient[1], b.coefficient[1]);
    close_to(a.standard_error.unwrap()[0], 1024.0 * b.standard_error.unwrap()[0]);
    close_to(a.sd[0], b.sd[0] / 1024.0);
}

#[test]
fn what_never_differs_within_a_choice_is_named_or_left_out_or_enters_by_a_product() {
    let mut s = Stream::new(5, "load");
    let mut set = Choices::new(2);
    for c in 0..200 {
        // The feature counts for more the higher the load, which all candidates share.
        let load = s.uniform() as f32;
        let x: Vec<f32> = (0..4).flat_map(|_| [s.normal() as f32, load]).collect();
        let scores: Vec<f64> = x.chunks(2).map(|r| f64::from(r[0]) * (0.5 + 2.0 * f64::from(r[1]))).collect();
        set.push(&x, softmax(&scores), 1.0, c / 10);
    }
    let params = LogitParams::default().ridge(0.0);
    let refused = fit_logit(&set.data(), &params).unwrap_err();
    assert_eq!(refused.to_string(), "feature 1 never differs within a choice and so cannot be judged");
    let words = refused.named(&["work", "load"]);
    assert!(words.contains("`load`") && words.contains("`interactions`"), "{words}");
    let left_out = set.fit(&params.clone().constant(Constant::LeaveOut));
    assert_eq!((left_out.coefficient[1], left_out.sd[1]), (0.0, 0.0));
    let fit = set.fit(&params.clone().columns(vec![0]).interactions(vec![[0, 1]]));
    close(&fit.coefficient, &[0.5, 0.0, 2.0], 1e-5);
    let model = fit_logit(&set.data(), &params.clone().columns(vec![0]).interactions(vec![[0, 1]])).unwrap();
    let columns = |t: &Term| t.factors.iter().map(|f| f.feature).collect::<Vec<_>>();
    assert_eq!(model.terms.iter().map(columns).collect::<Vec<_>>(), [vec![0], vec![0, 1]]);
    let values = model.terms.iter().map(|t| (t.coefficient, t.sd)).collect::<Vec<_>>();
    assert_eq!(values, [0, 2].map(|i| (fit.coefficient[i], fit.sd[i])));
    let refused = fit_logit(&set.data(), &params.clone().columns(vec![0]).interactions(vec![[1, 1]])).unwrap_err();
    assert!(refused.named(&["work", "load"]).contains("`load*load` never differs"));
    let refused = fit_logit(&set.data(), &params.columns(vec![7])).unwrap_err();
    assert!(refused.to_string().contains("below 2, the number of features, got 7"), "{refused}");
}

#[test]
fn without_a_ridge_combinations_and_perfect_predictors_are_refused() {
    let set = random(100, &[1.0, -0.5], 1.0, 6);
    let mut doubled = Choices { x: Vec::new(), width: 3, ..set.clone() };
    set.x.chunks(2).for_each(|row| doubled.x.extend([row[0], row[1], row[0] - 2.0 * row[1]]));
    let refused = fit_logit(&doubled.data(), &LogitParams::default().ridge(0.0)).unwrap_err();
    assert!(refused.named(&["a", "b", "c"]).starts_with("`c` is a combination"), "{refused}");
    doubled.fit(&LogitParams::default());

    let mut best = Choices::new(1);
    best.push(&[0.0, 1.0], [0.0, 1.0], 1.0, 0);
    best.push(&[3.0, 2.0, 1.0], [1.0, 0.0, 0.0], 1.0, 1);

    let params = LogitParams::default();
    assert!(matches!(fit_logit(&best.data(), &params.clone().ridge(0.0)), Err(LogitError::Separable)));
    assert!(best.fit(&params).coefficient[0] > 1.0);
    assert!(fit_logit(&best.data(), &LogitParams::default().ridge(-1.0)).unwrap_err().to_string().contains("got -1"));
}

#[test]
fn bad_data_are_refused() {
    let set = random(10, &[1.0], 1.0, 7);
    let refused = |change: &dyn Fn(&mut Choices)| {
        let mut set = set.clone();
        change(&mut set);
        fit_logit(&set.data(), &LogitParams::default()).unwrap_err().to_string()
    };
    assert!(refused(&|s| s.x[2] = f32::NAN).contains("feature 0 is NaN at row 2"));
    assert!(refused(&|s| s.weight[1] = -1.0).contains("weight is -1 in choice 1"));
    assert!(refused(&|s| s.probability.fill(0.0)).contains("positive sum"));
    assert!(refused(&|s| s.weight.fill(0.0)).contains("two or more candidates and positive weight"));
    assert!(refused(&|s| s.cluster.truncate(3)).contains("the list of clusters is 3, expected 10"));
    assert!(refused(&|s| s.x.truncate(3)).contains("the features' matrix is 3"));
}

#[test]
fn standard_errors_are_the_sandwich_worked_out_by_hand() {
    // Two episodes of one choice each between x = 0 and x = 1, which is taken with 0.8 and 0.6: the fit is q = 0.7, the
    // slopes are ∓0.1 / 2, the curvature is 0.7 · 0.3, and G / (G − 1) is 2.
    let mut set = Choices::new(1);
    set.push(&[0.0, 1.0], [0.2, 0.8], 1.0, 0);
    set.push(&[0.0, 1.0], [0.4, 0.6], 1.0, 1);

    let fit = set.fit(&LogitParams::default().ridge(0.0));
    assert!((fit.coefficient[0] - (0.7f64 / 0.3).ln()).abs() < 1e-9);
    let expected = (2.0 * 2.0 * 0.05f64 * 0.05).sqrt() / 0.21;
    close(&fit.standard_error.unwrap(), &[expected], 1e-9);
    set.cluster[1] = 0;
    assert_eq!(set.fit(&LogitParams::default()).standard_error, None, "one episode tells nothing of others");
}

#[test]
fn standard_errors_tell_how_far_estimates_scatter_over_episodes() {
    // Each episode has a taste of its own, so that choices within it are anything but independent.
    let trials = 200;
    let (mut estimates, mut errors) = (Vec::new(), 0.0);
    for trial in 0..trials {
        let mut s = Stream::new(trial, "trial");
        let mut set = Choices::new(1);
        for episode in 0..40 {
            let taste = 1.0 + 0.8 * s.normal();
            for _ in 0..15 {
                let x: Vec<f32> = (0..3).map(|_| s.normal() as f32).collect();
                let p = softmax(&x.iter().map(|&x| taste * f64::from(x)).collect::<Vec<_>>());
                set.push(&x, p, 1.0, episode);
            }
        }
        let fit = set.fit(&LogitParams::default().ridge(0.0));
        estimates.push(fit.coefficient[0]);
        errors += fit.standard_error.unwrap()[0] / trials as f64;
    }
    let mean = estimates.iter().sum::<f64>() / trials as f64;
    let scatter = (estimates.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (trials - 1) as f64).sqrt();
    assert!((errors / scatter - 1.0).abs() < 0.15, "standard error {errors}, scatter {scatter}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let set = random(5000, &[1.0, -0.5, 0.3], 0.5, 8);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| set.fit(&LogitParams::default()))
    };

    assert_eq!(with(1), with(3));
}

#[test]
fn pairs_have_the_targets_and_weights_of_their_definition() {
    let mut set = Choices::new(1);
    set.push(&[1.0, 2.0, 5.0], [0.5, 0.3, 0.2], 6.0, 0);
    set.push(&[1.0, 2.0, 3.0], [0.0, 0.0, 1.0], 1.0, 0);
    let rows = pairs(&set.data(), MOST_PAIRS);
    let first: Vec<f32> = vec![1., -1., 2., 1., 1., -4., 5., 4., 2., -3., 5., 3.];
    assert_eq!(rows.x[..12], first);
    close(&rows.y[..6], &[0.625, 0.375, 5.0 / 7.0, 2.0 / 7.0, 0.6, 0.4], 1e-15);
    // 6 · (pᵢ + pⱼ) / 2, and half of that for each order; 6 in all.
    close(&rows.weight[..6], &[1.2, 1.2, 1.05, 1.05, 0.75, 0.75], 1e-15);
    // Of two candidates that are out of the question nothing is learned.
    close(&rows.y[6..], &[0.0, 1.0, 0.0, 1.0], 0.0);
    close(&rows.weight[6..], &[0.25; 4], 0.0);
}

#[test]
fn thinned_pairs_keep_the_weight_of_every_choice_and_on_average_of_every_pair() {
    let mut set = random(300, &[1.0, -1.0], 1.0, 9);
    let mut s = Stream::new(1, "large");
    for c in 0..400 {
        let scores: Vec<f64> = (0..12).map(|_| 0.7 * s.normal()).collect();
        // The number of the candidate as a feature, to tell the pairs apart below.
        let x: Vec<f32> = (0..12u8).flat_map(|i| [f32::from(i), 0.0]).collect();
        let mut p = softmax(&scores);
        if c > 0 {
            p = set.probability[set.probability.len() - 12..].to_vec();
        }
        set.push(&x, p, 2.0, c);
    }
    let all: usize = set.bounds.windows(2).map(|b| (b[1] - b[0]) * (b[1] - b[0] - 1) / 2).sum();
    let rows = pairs(&set.data(), all / 2);
    assert!(rows.y.len() <= all && rows.y.len() > all * 3 / 5, "{} rows of {all} pairs", rows.y.len());
    let weight = |bounds: std::ops::Range<usize>| set.weight[bounds].iter().sum::<f64>();
    let forced: f64 = (0..300).filter(|&c| set.bounds[c + 1] - set.bounds[c] == 1).map(|c| weight(c..c + 1)).sum();
    assert!((rows.weight.iter().sum::<f64>() - (weight(0..700) - forced)).abs() < 1e-6);
    let large = set.data().choice(600);
    let small = all - 400 * 66;
    let mut found = [[0.0; 12]; 12];
    for (row, w) in rows.x.chunks(4).zip(&rows.weight).skip(2 * small) {
        let (i, j) = (row[0] as usize, (row[0] - row[2]) as usize);
        found[i][j] += w / 400.0;
    }
    for (i, j, share) in shares(&large) {
        let (a, b) = (found[i][j], found[j][i]);
        assert!(a == b && (a / share - 1.0).abs() < 0.2, "{i} {j}: {a} for {share}");
    }
}

#[test]
fn linfas_data_sets_give_the_same_logit() {
    let set = random(40, &[1.0, -0.5], 1.0, 10);
    let row_choice: Vec<usize> = set.bounds.windows(2).enumerate().flat_map(|(c, b)| vec![c; b[1] - b[0]]).collect();
    let rows = row_choice.len();
    let target = |row: usize| ChoiceTarget {
        choice: row_choice[row] as u64,
        cluster: set.cluster[row_choice[row]],
        probability: set.probability[row],
    };
    let y = Array1::from_shape_fn(rows, target);
    let weights = Array1::from_shape_fn(rows, |row| set.weight[row_choice[row]] as f32);
    let x = Array2::from_shape_fn((rows, 2), |(i, j)| set.x[i * 2 + j]);
    let params = LogitParams::default().ridge(0.01);
    let expected = fit_logit(&set.data(), &params).unwrap();
    let data = Dataset::new(x.clone(), y.clone()).with_weights(weights.clone());
    assert_eq!(params.fit(&data).unwrap().0, expected);
    // Columns one behind the other, views, numbers of 64 bits.
    let wide = x.mapv(f64::from).reversed_axes().as_standard_layout().to_owned().reversed_axes();
    let data = Dataset::new(wide.clone(), y.clone()).with_weights(weights);
    assert_eq!(params.fit(&data.view()).unwrap().0, expected);
    let scores: Array1<f64> = LogitScorer(expected.clone()).predict(&wide);
    let mut same = vec![0.0; rows];
    expected.score_choice(&set.x, 2, &mut same);
    close(&scores.to_vec(), &same, 1e-12);

    let mut apart = y;
    apart[rows - 1].choice = 0;
    let refused = params.fit(&Dataset::new(x, apart)).unwrap_err();
    assert!(refused.to_string().contains("choice 0 do not stand together"), "{refused}");
}

#[test]
fn without_features_there_are_no_coefficients() {
    let mut set = Choices::new(0);
    set.push(&[], [0.5, 0.5], 1.0, 0);
    assert_eq!(set.fit(&LogitParams::default()).coefficient, Vec::<f64>::new());
}

#[test]
fn autotraits() {
    fn has_autotraits<T: Send + Sync + Sized + Unpin>() {}
    has_autotraits::<LogitParams>();
    has_autotraits::<ValidLogitParams>();
    has_autotraits::<LogitError>();
    has_autotraits::<ChoiceTarget>();
    has_autotraits::<ChoiceData<'_, f64>>();
}
