//! `distill train decima`.

use super::{RunArgs, method::GradientArgs, train};
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
    #[command(flatten)]
    method: GradientArgs,
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

    /// What it says of a training.
    pub(super) fn params(&self, seed: u64) -> DecimaParams {
        DecimaParams {
            schedule: self.run.schedule(seed, Schedule { imitation: 30, ..Schedule::default() }),
            steps: self.method.steps.steps(self.run.warm_start_rate),
            gradient: self.method.gradient(),
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
