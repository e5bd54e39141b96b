//! `distill train scorer`.

use super::{
    RunArgs,
    method::{GradientArgs, ends},
    stopped, train,
};
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
        Schedule, Weights,
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
Then (docs/scorer.md):\n  distill simulate -p scorer:runs/scorer/best.safetensors -p fair",
    mut_arg("learning_rate", |arg| arg.default_values(ends(ScorerParams::default().steps.learning_rate))),
    mut_arg("discount", |arg| {
        let (discount, _) = ScorerParams::default().gradient.returns.rates();
        arg.help("Discount of future costs per mean stay of a job").default_value(discount.to_string())
    }),
    mut_arg("trace_decay", |arg| {
        let (_, trace) = ScorerParams::default().gradient.returns.rates();
        arg.help("Decay per mean stay of the blame for later surprises; 0 blames a decision for all of them")
            .default_value(trace.to_string())
    })
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
    #[command(flatten)]
    method: GradientArgs,
    /// What is left of the blame for later surprises with each decision in between
    #[arg(long, default_value_t = ScorerParams::default().blame, value_name = "X", help_heading = "Method", hide_short_help = true)]
    blame: f64,
}

impl ScorerArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        self.run.inputs()
    }

    /// What it says of a training.
    pub(super) fn params(&self, seed: u64) -> ScorerParams {
        ScorerParams {
            schedule: self.run.schedule(seed, Schedule { imitation: 5, ..ScorerParams::default().schedule }),
            shape: ScorerShape { width: self.width, depth: self.depth },
            survey: self.survey,
            steps: self.method.steps.steps(self.run.warm_start_rate),
            gradient: self.method.gradient(),
            blame: self.blame,
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
