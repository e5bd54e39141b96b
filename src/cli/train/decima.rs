//! `distill train decima`.

use super::{AlgorithmArg, ReturnsArg, RunArgs, ends, ramp, train};
use crate::{
    cli::{
        common::{Common, Verdict},
        inputs::Inputs,
        output::Output,
    },
    dag::Dag,
    practice::AnyGround as _,
    trainer::{
        Schedule,
        decima::{DecimaParams, DecimaTrainee, random, weights},
    },
};
use anyhow::Result;
use clap::Args;
use serde_json::json;

/// Train the graph network of Decima, for jobs of stages
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill train decima -o runs/decima --time-limit 10m\n  \
distill train decima --warm-start srpt-fair,cap=2 -o runs/warm",
    after_long_help = "Examples:\n  distill train decima -o runs/decima --time-limit 10m\n  \
distill train decima -w tpch:tpch_profiles.json.gz,executors=10 -o runs/tpch --time-limit 2h\n\n\
First do as a heuristic does, or as a recorded trace:\n  \
distill train decima --warm-start srpt-fair,cap=2 -o runs/warm\n  \
distill train decima --warm-start runs/a/traces/train -o runs/warm\n\n\
Go on from a checkpoint:\n  \
distill train decima --init model.pt -w tpch:tpch_profiles.json.gz -o runs/tuned\n\n\
Then (docs/training.md):\n  distill simulate -p decima:runs/decima/best.safetensors -p fair"
)]
pub(super) struct DecimaArgs {
    #[command(flatten)]
    run: RunArgs,
    /// How gradients are made
    #[arg(long, value_enum, default_value_t = AlgorithmArg::Ppo, help_heading = "Method", hide_short_help = true)]
    algorithm: AlgorithmArg,
    /// Job sequences per iteration
    #[arg(long, default_value_t = DecimaParams::default().sequences, value_name = "N", help_heading = "Method", hide_short_help = true)]
    sequences: u32,
    /// Rollouts per job sequence
    #[arg(long, default_value_t = DecimaParams::default().rollouts, value_name = "N", help_heading = "Method", hide_short_help = true)]
    rollouts: u32,
    /// Which future costs a decision answers for
    #[arg(long, value_enum, default_value_t = ReturnsArg::Discounted, help_heading = "Method", hide_short_help = true)]
    returns: ReturnsArg,
    /// Discount of future costs per second
    #[arg(long, default_value_t = DecimaParams::default().returns.rates().0, value_name = "X", help_heading = "Method", hide_short_help = true)]
    discount: f64,
    /// Decay per second of the blame for later surprises; 0 blames a decision for all of them
    #[arg(long, default_value_t = DecimaParams::default().returns.rates().1, value_name = "X", help_heading = "Method", hide_short_help = true)]
    trace_decay: f64,
    /// Step of Adam at first and at last
    #[arg(long, num_args = 1..=2, default_values_t = ends(DecimaParams::default().learning_rate), value_names = ["FROM", "TO"], help_heading = "Method", hide_short_help = true)]
    learning_rate: Vec<f64>,
    /// Weight of the policy's entropy at first and at last
    #[arg(long, num_args = 1..=2, default_values_t = ends(DecimaParams::default().entropy), value_names = ["FROM", "TO"], help_heading = "Method", hide_short_help = true)]
    entropy: Vec<f64>,
    /// Passes over the rollouts of an iteration
    #[arg(long, default_value_t = DecimaParams::default().epochs, value_name = "N", help_heading = "Method", hide_short_help = true)]
    epochs: u32,
    /// Steps per pass
    #[arg(long, default_value_t = DecimaParams::default().minibatches, value_name = "N", help_heading = "Method", hide_short_help = true)]
    minibatches: u32,
    /// How far PPO lets the ratio of probabilities go from 1
    #[arg(long, default_value_t = DecimaParams::default().clip, value_name = "X", help_heading = "Method", hide_short_help = true)]
    clip: f64,
    /// Divergence from the rollouts' policy that ends an iteration's passes, nats
    #[arg(long, default_value_t = DecimaParams::default().max_kl, value_name = "X", help_heading = "Method", hide_short_help = true)]
    max_kl: f64,
    /// Longest gradient
    #[arg(long, default_value_t = DecimaParams::default().max_gradient, value_name = "X", help_heading = "Method", hide_short_help = true)]
    max_gradient: f64,
    /// Share of the jobs whose users game the network as it is, by one edit each
    ///
    /// Their jobs are described so that they would be served sooner; what counts is what really happens. What a warm start
    /// learns from sees the jobs as they are.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", help_heading = "Method", hide_short_help = true)]
    adversarial: f64,
}

impl DecimaArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        self.run.inputs()
    }

    fn params(&self, seed: u64) -> DecimaParams {
        DecimaParams {
            schedule: self.run.schedule(seed, Schedule { imitation: 30, ..Schedule::default() }),
            algorithm: self.algorithm.into(),
            sequences: self.sequences,
            rollouts: self.rollouts,
            returns: self.returns.returns(self.discount, self.trace_decay),
            learning_rate: ramp(&self.learning_rate),
            entropy: ramp(&self.entropy),
            epochs: self.epochs,
            minibatches: self.minibatches,
            clip: self.clip,
            max_kl: self.max_kl,
            max_gradient: self.max_gradient,
            imitation_rate: self.run.warm_start_rate,
            adversarial: self.adversarial,
        }
    }
}

pub(super) fn run(args: &DecimaArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    common.require::<Dag>("decima")?;
    let params = args.params(common.seed);
    params.check()?;
    let ground = args.run.ground::<Dag>()?;
    let (workloads, (name, reference)) = (&ground.workloads.1, &ground.reference);
    let lessons = ground.lessons.as_ref().map(|(_, lessons)| lessons);
    let begin = args.run.init(weights, || random(common.seed))?;
    let mut plan = args.run.plan("decima", ground.sources()?, &begin);
    plan["params"] = json!(params);
    let trainee = DecimaTrainee::new(workloads, (name, &**reference), lessons, &params, args.run.device)?;
    train(&trainee, (plan, begin), (&args.run, name), output)
}
