//! Adam over one row of numbers.
//!
//! By hand because its state is part of a checkpoint: an interrupted training goes on with the same bits, which libtorch's
//! optimisers do not allow.

/// State of Adam (D. P. Kingma, J. Ba, *Adam: A Method for Stochastic Optimization*, ICLR 2015).
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// Running mean of the gradient.
    pub(super) mean: Vec<f32>,
    /// Running mean of its square.
    pub(super) square: Vec<f32>,
    /// Steps so far.
    pub(super) steps: u64,
}

impl Adam {
    const DECAY: [f32; 2] = [0.9, 0.999];
    const SMALL: f32 = 1e-5;

    pub(super) fn new(len: usize) -> Self {
        Self { mean: vec![0.0; len], square: vec![0.0; len], steps: 0 }
    }

    /// Moves the weights against the gradient.
    pub(super) fn step(&mut self, weights: &mut [f32], gradient: &[f32], rate: f64) {
        self.steps += 1;
        let [a, b] = Self::DECAY;
        let unbiased = |decay: f32| 1.0 - f64::from(decay).powf(self.steps as f64);
        let rate = (rate / unbiased(a)) as f32;
        let correct = (1.0 / unbiased(b)) as f32;
        let moments = self.mean.iter_mut().zip(&mut self.square);
        for ((w, g), (mean, square)) in weights.iter_mut().zip(gradient).zip(moments) {
            *mean = a * *mean + (1.0 - a) * g;
            *square = b * *square + (1.0 - b) * g * g;
            *w -= rate * *mean / ((*square * correct).sqrt() + Self::SMALL);
        }
    }
}

/// Shrinks the gradient to a length of at most `most`; returns its length before.
pub(super) fn clip(gradient: &mut [f32], most: f64) -> f64 {
    let length = gradient.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>().sqrt();
    if length > most {
        let factor = (most / length) as f32;
        gradient.iter_mut().for_each(|g| *g *= factor);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_bottom_of_a_bowl() {
        let (mut weights, mut adam) = (vec![3.0, -2.0], Adam::new(2));
        for _ in 0..2000 {
            let gradient = [2.0 * (weights[0] - 1.0), 20.0 * (weights[1] - 0.5)];
            adam.step(&mut weights, &gradient, 0.01);
        }
        assert!((weights[0] - 1.0).abs() < 1e-2 && (weights[1] - 0.5).abs() < 1e-2, "{weights:?}");
    }

    #[test]
    fn the_first_step_is_as_long_as_the_rate() {
        let (mut weights, mut adam) = (vec![0.0, 0.0], Adam::new(2));
        adam.step(&mut weights, &[4.0, -0.5], 0.01);
        assert!((weights[0] + 0.01).abs() < 1e-6 && (weights[1] - 0.01).abs() < 1e-6, "{weights:?}");
    }

    #[test]
    fn long_gradients_are_clipped_and_short_ones_are_not() {
        let mut gradient = vec![3.0, 4.0];
        assert_eq!(clip(&mut gradient, 10.0), 5.0);
        assert_eq!(gradient, [3.0, 4.0]);
        assert_eq!(clip(&mut gradient, 1.0), 5.0);
        assert!((gradient[0] - 0.6).abs() < 1e-6 && (gradient[1] - 0.8).abs() < 1e-6);
    }
}
