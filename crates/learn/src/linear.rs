//! Linear surrogates: conditional regressions by linfa-linear (least squares).
//!
//! Within each choice, the teacher's floored log-probabilities and the features are taken relative to the choice's means;
//! the regression then explains differences between candidates, and features that are the same for all of them drop out.
//!
//! The library (0.8.1) knows neither weights nor a penalty: the tests in `library_flaws` show it. So the weighted, centred and
//! penalised sums are ours, and it solves the small problem that is left: the square root of the normal equations, as many rows
//! as features.

use super::{FitError, cholesky, target::Rows};
use linfa::{Dataset, traits::Fit};
use linfa_linear::LinearRegression;
use ndarray::{Array1, Array2};
use rayon::prelude::*;
use sched_distill_core::model::Additive;

/// Penalty on standardised coefficients, relative to the number of rows. It only has to make equal columns solvable.
const RIDGE: f64 = 1e-6;

/// Choices that are summed up at a time; fixed, so that the sums do not depend on the number of threads.
const BLOCK: usize = 1024;

/// Weighted sums over centred rows.
struct Sums {
    /// Σ w·xᵢ·xⱼ for j ≤ i, row-major with `width` columns.
    gram: Vec<f64>,
    /// Σ w·xᵢ·y.
    moment: Vec<f64>,
    /// Largest |xᵢ| before centring.
    largest: Vec<f64>,
    weight: f64,
}

impl Sums {
    fn new(width: usize) -> Self {
        Self { gram: vec![0.0; width * width], moment: vec![0.0; width], largest: vec![0.0; width], weight: 0.0 }
    }

    /// Adds the rows `start..end` of one choice, taken relative to their means.
    fn add(&mut self, rows: &Rows, (start, end): (usize, usize), centred: &mut Vec<f64>) {
        let width = self.moment.len();
        let share = 1.0 / (end - start) as f64;
        let mean_y = rows.y[start..end].iter().sum::<f64>() * share;
        let x = &rows.x[start * width..end * width];
        centred.clear();
        centred.extend(x.iter().map(|&v| f64::from(v)));
        for column in 0..width {
            let mean = centred.iter().skip(column).step_by(width).sum::<f64>() * share;
            for v in centred.iter_mut().skip(column).step_by(width) {
                self.largest[column] = self.largest[column].max(v.abs());
                *v -= mean;
            }
        }
        for (row, x) in (start..end).zip(centred.chunks_exact(width)) {
            let w = rows.weight[row];
            self.weight += w;
            for (i, &xi) in x.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                self.moment[i] += w * xi * (rows.y[row] - mean_y);
                for (sum, xj) in self.gram[i * width..=i * width + i].iter_mut().zip(x) {
                    *sum += w * xi * xj;
                }
            }
        }
    }

    fn merge(mut self, other: Self) -> Self {
        self.gram.iter_mut().zip(other.gram).for_each(|(a, b)| *a += b);
        self.moment.iter_mut().zip(other.moment).for_each(|(a, b)| *a += b);
        self.largest.iter_mut().zip(other.largest).for_each(|(a, b)| *a = a.max(b));
        self.weight += other.weight;
        self
    }
}

/// Fits a linear score to `rows.y`, which should be log-ratios.
pub(super) fn fit_linear(rows: &Rows, width: usize, level: &str) -> Result<Additive, FitError> {
    let blocks: Vec<Sums> = rows
        .bounds
        .par_windows(2)
        .chunks(BLOCK)
        .map(|block| {
            let (mut sums, mut centred) = (Sums::new(width), Vec::new());
            block.iter().for_each(|bounds| sums.add(rows, (bounds[0], bounds[1]), &mut centred));
            sums
        })
        .collect();
    let sums = blocks.into_iter().fold(Sums::new(width), Sums::merge);
    let sd: Vec<f64> = (0..width).map(|i| (sums.gram[i * width + i] / sums.weight).sqrt()).collect();
    // Columns that never differ within a choice are left out; what rounding leaves of them does not count.
    let used: Vec<usize> = (0..width).filter(|&i| sd[i] > 1e-9 * sums.largest[i]).collect();
    let mut coefficient = vec![0.0; width];
    let k = used.len();
    if k == 0 {
        return Ok(Additive::linear(&coefficient, &sd));
    }
    // The normal equations are small: the solver gets their square root, with the penalty in it.
    let mut gram = vec![0.0; k * k];
    let mut moment = vec![0.0; k];
    for (i, &a) in used.iter().enumerate() {
        moment[i] = sums.moment[a] / (sums.weight * sd[a]);
        for (j, &b) in used.iter().enumerate().take(i + 1) {
            gram[i * k + j] = sums.gram[a * width + b] / (sums.weight * sd[a] * sd[b]);
        }
        gram[i * k + i] += RIDGE;
    }
    let library = |reason: String| FitError::Library { level: level.to_owned(), what: "the linear fit", reason };
    let factor = cholesky::factor(gram, k, 0.0).map_err(|_| library("the normal equations are singular".to_owned()))?;
    let right = cholesky::forward(&factor, &moment);
    let design = Array2::from_shape_fn((k, k), |(i, j)| if j >= i { factor[j * k + i] } else { 0.0 });
    let data = Dataset::new(design, Array1::from(right));
    let fitted = LinearRegression::new().with_intercept(false).fit(&data).map_err(|e| library(e.to_string()))?;
    for (&column, c) in used.iter().zip(fitted.params()) {
        coefficient[column] = c / sd[column];
    }
    Ok(Additive::linear(&coefficient, &sd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Stream;

    #[test]
    fn the_coefficients_of_a_linear_teacher_are_found_and_constant_or_equal_columns_do_no_harm() {
        let mut s = Stream::new(2, "linear");
        let mut rows = Rows { x: Vec::new().into(), y: Vec::new(), weight: Vec::new(), bounds: vec![0] };
        for choice in 0..200 {
            for _ in 0..3 + choice % 4 {
                let (a, b) = (s.normal() as f32, 100.0 * s.normal() as f32);
                rows.x.to_mut().extend([a, b, choice as f32, b]);
                rows.y.push(f64::from(choice) + 2.0 * f64::from(a) - 0.03 * f64::from(b));
                rows.weight.push(1.0 + f64::from(choice % 3));
            }
            rows.bounds.push(rows.y.len());
        }
        let linear = fit_linear(&rows, 4, "job").unwrap();
        let coefficient = linear.as_linear(4).unwrap();
        assert!((coefficient[0] - 2.0).abs() < 1e-4, "{coefficient:?}");
        assert!((coefficient[1] + coefficient[3] + 0.03).abs() < 1e-4);
        assert!(linear.terms.iter().all(|t| t.feature() != Some(2) && t.sd > 0.0), "{linear:?}");
    }
}
