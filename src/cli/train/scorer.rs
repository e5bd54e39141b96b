//! `distill train scorer`.

use super::{AlgorithmArg, ReturnsArg, RunArgs, ends, ramp, stopped, train};
use crate::{
    cli::{
        common::{Common, Verdict},
        inputs::Inputs,
        interrupt::STOP,
        output::Output,
    },
    network::{
        Tensors,
        scorer::{ScorerShape, ScorerWeights},
    },
    trainer::{
        Algorithm, Schedule, Weights,
        scorer::{ScorerParams, ScorerTrainee, layout, random},
    },
};
use anyhow::Result;
use clap::Args;
use serde_json::json;

/// Train a network over the features of any scenario
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill train scorer -o runs/scorer --time-limit 30m\n  \
distill train scorer --scenario training --warm-start optimus -o runs/s",
    after_long_help = "Examples:\n  distill train scorer -o runs/scorer --time-limit 30m\n  \
distill train scorer -w builtin -w builtin,edge=giant -o runs/both\n\n\
First do as a heuristic does, or as a recorded trace:\n  \
distill train scorer --scenario training --warm-start optimus -o runs/s\n  \
distill train scorer --warm-start runs/a/traces/train -o runs/warm\n\n\
Go on from a checkpoint:\n  \
distill train scorer --init runs/scorer/best.safetensors --iterations 100 -o runs/longer\n\n\
Then (docs/scorer.md):\n  distill simulate -p scorer:runs/scorer/best.safetensors -p fair"
)]
pub(super) struct ScorerArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Neurons of each layer, a multiple of 16
    #[arg(long, default_value_t = ScorerShape::default().width, value_name = "N", help_heading = "Method", hide_short_help = true)]
    width: usize,
    /// Layers that embed a candidate; two more score it
    #[arg(long, default_value_t = ScorerShape::default().depth, value_name = "N", help_heading = "Method", hide_short_help = true)]
    depth: usize,
    /// Episodes of each workload by which features are standardised and times are measured
    #[arg(long, default_value_t = ScorerParams::default().survey, value_name = "N", help_heading = "Method", hide_short_help = true)]
    survey: u32,
    /// How gradients are made
    #[arg(long, value_enum, default_value_t = AlgorithmArg::Ppo, help_heading = "Method", hide_short_help = true)]
    algorithm: AlgorithmArg,
    /// Job sequences per iteration
    #[arg(long, default_value_t = ScorerParams::default().sequences, value_name = "N", help_heading = "Method", hide_short_help = true)]
    sequences: u32,
    /// Rollouts per job sequence
    #[arg(long, default_value_t = ScorerParams::default().rollouts, value_name = "N", help_heading = "Method", hide_short_help = true)]
    rollouts: u32,
    /// Which future costs a decision answers for
    #[arg(long, value_enum, default_value_t = ReturnsArg::Discounted, help_heading = "Method", hide_short_help = true)]
    returns: ReturnsArg,
    /// Discount of future costs per mean stay of a job
    #[arg(long, default_value_t = ScorerParams::default().returns.rates().0, value_name = "X", help_heading = "Method", hide_short_help = true)]
    discount: f64,
    /// Decay per mean stay of the blame for later surprises; 0 blames a decision for all of them
    #[arg(long, default_value_t = ScorerParams::default().returns.rates().1, value_name = "X", help_heading = "Method", hide_short_help = true)]
    trace_decay: f64,
    /// What is left of the blame for later surprises with each decision in between
    #[arg(long, default_value_t = ScorerParams::default().blame, value_name = "X", help_heading = "Method", hide_short_help = true)]
    blame: f64,
    /// Step of Adam at first and at last
    #[arg(long, num_args = 1..=2, default_values_t = ends(ScorerParams::default().learning_rate), value_names = ["FROM", "TO"], help_heading = "Method", hide_short_help = true)]
    learning_rate: Vec<f64>,
    /// Weight of the policy's entropy at first and at last
    #[arg(long, num_args = 1..=2, default_values_t = ends(ScorerParams::default().entropy), value_names = ["FROM", "TO"], help_heading = "Method", hide_short_help = true)]
    entropy: Vec<f64>,
    /// Passes over the rollouts of an iteration
    #[arg(long, default_value_t = ScorerParams::default().epochs, value_name = "N", help_heading = "Method", hide_short_help = true)]
    epochs: u32,
    /// Steps per pass
    #[arg(long, default_value_t = ScorerParams::default().minibatches, value_name = "N", help_heading = "Method", hide_short_help = true)]
    minibatches: u32,
    /// How far PPO lets the ratio of probabilities go from 1
    #[arg(long, default_value_t = ScorerParams::default().clip, value_name = "X", help_heading = "Method", hide_short_help = true)]
    clip: f64,
    /// Divergence from the rollouts' policy that ends an iteration's passes, nats
    #[arg(long, default_value_t = ScorerParams::default().max_kl, value_name = "X", help_heading = "Method", hide_short_help = true)]
    max_kl: f64,
    /// Longest gradient
    #[arg(long, default_value_t = ScorerParams::default().max_gradient, value_name = "X", help_heading = "Method", hide_short_help = true)]
    max_gradient: f64,
}

impl ScorerArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        self.run.inputs()
    }

    fn params(&self, seed: u64) -> ScorerParams {
        ScorerParams {
            schedule: self.run.schedule(seed, Schedule { imitation: 5, ..ScorerParams::default().schedule }),
            shape: ScorerShape { width: self.width, depth: self.depth },
            survey: self.survey,
            algorithm: Algorithm::from(self.algorithm),
            sequences: self.sequences,
            rollouts: self.rollouts,
            returns: self.returns.returns(self.discount, self.trace_decay),
            blame: self.blame,
            learning_rate: ramp(&self.learning_rate),
            entropy: ramp(&self.entropy),
            epochs: self.epochs,
            minibatches: self.minibatches,
            clip: self.clip,
            max_kl: self.max_kl,
            max_gradient: self.max_gradient,
            imitation_rate: self.run.warm_start_rate,
        }
    }
}

pub(super) fn run(args: &ScorerArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let scenario = common.scenario()?;
    let params = args.params(common.seed);
    params.check()?;
    let ground = scenario.practice(&args.run.practice())?;
    let survey = ground.survey(common.seed, params.survey, &STOP).map_err(|e| stopped(e.into()))?;
    let (set, shape) = (ground.feature_set(), params.shape);
    if let Some(path) = &args.run.init {
        let origin = path.display().to_string();
        ScorerWeights::from_tensors(&Tensors::load(path)?, &origin)?.check(set, &origin)?;
    }
    let begin = args.run.init(
        |tensors, origin| Weights::from_tensors(layout(set, shape), tensors, origin),
        || random(set, shape, common.seed, &survey),
    )?;
    let mut plan = args.run.plan("scorer", ground.sources()?, &begin);
    plan["scenario"] = json!(scenario.info().name);
    plan["features"] = json!(set.hash());
    plan["params"] = json!(params);
    let trainee = ScorerTrainee::new(&*ground, &survey, &params, args.run.device)?;
    train(&trainee, (plan, begin), (&args.run, ground.reference()), output)
}
