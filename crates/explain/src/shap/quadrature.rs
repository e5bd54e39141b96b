//! Gauss–Legendre quadrature on the unit interval.

/// Nodes and weights: Σ weight · f(node) is the integral of `f` over `[0, 1]`, exact for polynomials up to degree
/// 2 · nodes − 1.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) node: Vec<f64>,
    pub(super) weight: Vec<f64>,
}

impl Rule {
    /// The rule that is exact for polynomials of a degree.
    pub(super) fn for_degree(degree: usize) -> Self {
        let n = degree / 2 + 1;
        let mut rule = Self { node: Vec::with_capacity(n), weight: Vec::with_capacity(n) };
        for i in 0..n {
            // Newton's method on the Legendre polynomial, from Tricomi's guess of its i-th largest root.
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (value, derivative) = legendre(n, x);
                slope = derivative;
                let step = value / derivative;
                x -= step;
                if step.abs() < 1e-16 {
                    break;
                }
            }
            rule.node.push(f64::midpoint(1.0, x));
            rule.weight.push(1.0 / ((1.0 - x * x) * slope * slope));
        }
        rule
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.node.len()
    }
}

/// The Legendre polynomial of degree `n` and its derivative, inside (−1, 1).
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut now) = (1.0, x);
    if n == 0 {
        return (1.0, 0.0);
    }
    for k in 1..n {
        let k = k as f64;
        (before, now) = (now, ((2.0 * k + 1.0) * x * now - k * before) / (k + 1.0));
    }
    (now, n as f64 * (x * now - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_integrated_exactly() {
        for degree in [0, 1, 2, 5, 8, 33, 120] {
            let rule = Rule::for_degree(degree);
            for power in 0..=degree {
                let sum: f64 = rule.node.iter().zip(&rule.weight).map(|(x, w)| w * x.powi(power as i32)).sum();
                let exact = 1.0 / (power as f64 + 1.0);
                assert!((sum - exact).abs() < 1e-14, "degree {degree}, power {power}: {sum} against {exact}");
            }
        }
    }
}
