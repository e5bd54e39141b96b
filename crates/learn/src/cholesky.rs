//! Small symmetric positive definite systems, row-major, lower triangle.

/// L with L·Lᵀ = gram. `Err` names the first row that is a combination of those before it: what is left of its diagonal is
/// not above `least` times what it was.
pub fn factor(mut gram: Vec<f64>, k: usize, least: f64) -> Result<Vec<f64>, usize> {
    for i in 0..k {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|m| gram[i * k + m] * gram[j * k + m]).sum();
            let whole = gram[i * k + j];
            let rest = whole - dot;
            gram[i * k + j] = if i == j {
                if rest.is_nan() || rest <= least * whole {
                    return Err(i);
                }
                rest.sqrt()
            } else {
                rest / gram[j * k + j]
            };
        }
    }
    Ok(gram)
}

/// z with L·z = right.
pub(super) fn forward(factor: &[f64], right: &[f64]) -> Vec<f64> {
    let k = right.len();
    let mut z = vec![0.0; k];
    for i in 0..k {
        let dot: f64 = (0..i).map(|m| factor[i * k + m] * z[m]).sum();
        z[i] = (right[i] - dot) / factor[i * k + i];
    }
    z
}

/// x with L·Lᵀ·x = right.
pub fn solve(factor: &[f64], right: &[f64]) -> Vec<f64> {
    let k = right.len();
    let mut x = forward(factor, right);
    for i in (0..k).rev() {
        let dot: f64 = (i + 1..k).map(|m| factor[m * k + i] * x[m]).sum();
        x[i] = (x[i] - dot) / factor[i * k + i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_system_is_solved_and_a_singular_one_is_named() {
        // [[4, 2], [2, 3]] · [1, 2] = [8, 8]; what stands above the diagonal is not read.
        let l = factor(vec![4.0, f64::NAN, 2.0, 3.0], 2, 0.0).unwrap();
        let x = solve(&l, &[8.0, 8.0]);
        assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15, "{x:?}");
        assert_eq!(factor(vec![1.0, 0.0, 1.0, 1.0], 2, 1e-12), Err(1));
        assert_eq!(factor(vec![f64::NAN], 1, 0.0), Err(0));
    }
}
