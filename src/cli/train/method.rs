//! Options that say how weights are moved. Defaults are those of Decima; networks with others say so.

use crate::trainer::{Algorithm, PolicyGradient, Ramp, Returns, Steps};
use clap::{Args, ValueEnum};

/// How far weights are moved at once.
#[derive(Args)]
#[command(next_help_heading = "Method")]
pub(super) struct StepArgs {
    /// Step of Adam at first and at last
    #[arg(
        long, num_args = 1..=2, default_values = ends(Steps::default().learning_rate), value_names = ["FROM", "TO"],
        hide_short_help = true
    )]
    learning_rate: Vec<f64>,
    /// Weight of the policy's entropy at first and at last
    #[arg(
        long, num_args = 1..=2, default_values = ends(Steps::default().entropy), value_names = ["FROM", "TO"],
        hide_short_help = true
    )]
    entropy: Vec<f64>,
    /// How far PPO lets the ratio of probabilities go from 1
    #[arg(long, default_value_t = Steps::default().clip, value_name = "X", hide_short_help = true)]
    clip: f64,
    /// Longest gradient
    #[arg(long, default_value_t = Steps::default().max_gradient, value_name = "X", hide_short_help = true)]
    max_gradient: f64,
}

/// How gradients are made from rollouts of which several meet the same job sequence.
#[derive(Args)]
#[command(next_help_heading = "Method")]
pub(super) struct GradientArgs {
    /// How gradients are made
    #[arg(long, value_enum, default_value_t = AlgorithmArg::Ppo, hide_short_help = true)]
    algorithm: AlgorithmArg,
    /// Job sequences per iteration
    #[arg(long, default_value_t = PolicyGradient::default().sequences, value_name = "N", hide_short_help = true)]
    sequences: u32,
    /// Rollouts per job sequence
    #[arg(long, default_value_t = PolicyGradient::default().rollouts, value_name = "N", hide_short_help = true)]
    rollouts: u32,
    /// Which future costs a decision answers for
    #[arg(long, value_enum, default_value_t = ReturnsArg::Discounted, hide_short_help = true)]
    returns: ReturnsArg,
    /// Discount of future costs per second
    #[arg(long, default_value_t = PolicyGradient::default().returns.rates().0, value_name = "X", hide_short_help = true)]
    discount: f64,
    /// Decay per second of the blame for later surprises; 0 blames a decision for all of them
    #[arg(long, default_value_t = PolicyGradient::default().returns.rates().1, value_name = "X", hide_short_help = true)]
    trace_decay: f64,
    #[command(flatten)]
    pub(super) steps: StepArgs,
    /// Passes over the rollouts of an iteration
    #[arg(long, default_value_t = PolicyGradient::default().epochs, value_name = "N", hide_short_help = true)]
    epochs: u32,
    /// Steps per pass
    #[arg(long, default_value_t = PolicyGradient::default().minibatches, value_name = "N", hide_short_help = true)]
    minibatches: u32,
    /// Divergence from the rollouts' policy that ends an iteration's passes, nats
    #[arg(long, default_value_t = PolicyGradient::default().max_kl, value_name = "X", hide_short_help = true)]
    max_kl: f64,
}

#[derive(Clone, Copy, ValueEnum)]
enum AlgorithmArg {
    /// Several passes with clipped ratios
    Ppo,
    /// One plain step per iteration
    Reinforce,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReturnsArg {
    /// Costs fade with time
    Discounted,
    /// Costs less their mean over time
    Average,
}

impl StepArgs {
    /// With the step of Adam in imitation.
    pub(super) fn steps(&self, imitation_rate: f64) -> Steps {
        Steps {
            learning_rate: ramp(&self.learning_rate),
            entropy: ramp(&self.entropy),
            clip: self.clip,
            max_gradient: self.max_gradient,
            imitation_rate,
        }
    }
}

impl GradientArgs {
    pub(super) fn gradient(&self) -> PolicyGradient {
        PolicyGradient {
            algorithm: match self.algorithm {
                AlgorithmArg::Ppo => Algorithm::Ppo,
                AlgorithmArg::Reinforce => Algorithm::Reinforce,
            },
            sequences: self.sequences,
            rollouts: self.rollouts,
            returns: match self.returns {
                ReturnsArg::Discounted => Returns::Discounted { rate: self.discount, trace: self.trace_decay },
                ReturnsArg::Average => Returns::Average { trace: self.trace_decay },
            },
            epochs: self.epochs,
            minibatches: self.minibatches,
            max_kl: self.max_kl,
        }
    }
}

/// The first and last value, as an option has them, where the user gives none.
pub(super) fn ends(ramp: Ramp) -> [String; 2] {
    [ramp.from, ramp.to].map(|v| v.to_string())
}

/// First and last value of what changes over a training.
pub(super) fn ramp(values: &[f64]) -> Ramp {
    Ramp { from: values[0], to: values[values.len() - 1] }
}
