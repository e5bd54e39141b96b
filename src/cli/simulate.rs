//! `distill simulate`: run policies on the same arrivals with the same luck.

use super::{
    common::{Common, Verdict},
    compare::{EpisodeArgs, WorkloadArgs, closed_loops},
    inputs::Inputs,
    output::Output,
};
use crate::pipeline::{CompareParams, Contender};
use anyhow::Result;
use clap::Args;

/// Run one or more policies on the same arrivals with the same luck, and compare them
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill simulate -p fair -p fifo -p sjf\n  \
distill simulate -p decima -p student:runs/demo/student.json -p fair --edge-cases",
    after_long_help = "Examples:\n  distill simulate -p fair -p fifo -p sjf\n  \
distill simulate -p decima -p student:runs/demo/student.json -p fair --edge-cases\n  \
distill simulate -p decima:model.pt -p fair -w tpch:tpch_profiles.json.gz,executors=10 -n 30\n  \
distill simulate -p 'script:python3 policy.py' -p fair\n\n\
Ratios are geometric means over paired episodes with 95 % bootstrap intervals; the first policy is the baseline."
)]
pub(super) struct SimulateArgs {
    /// Policy, repeatable; the first is the baseline (`distill list policies`)
    #[arg(short, long = "policy", required = true, value_name = "POLICY", help_heading = "Input")]
    policies: Vec<String>,
    #[command(flatten)]
    workloads: WorkloadArgs,
    #[command(flatten)]
    episodes: EpisodeArgs,
}

impl SimulateArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().policies(&self.policies).workloads(self.workloads.names())
    }
}

pub(super) fn run(args: &SimulateArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let students = args.policies.iter().map(|id| common.student_of_policy(id)).collect::<Result<Vec<_>>>()?;
    let student = students.into_iter().flatten().next();
    let scenario = match &student {
        Some(student) => common.scenario_of(&student.feature_set)?,
        None => common.scenario()?,
    };
    let params = CompareParams {
        contenders: args.policies.iter().map(|id| Contender::named(id)).collect(),
        workloads: args.workloads.ids(scenario, student.as_ref(), output)?,
        seed: common.seed,
        split: args.episodes.split.into(),
        episodes: args.episodes.episodes.into(),
    };
    for result in closed_loops(scenario, &params, output)? {
        output.json("closed_loop", &result.closed_loop)?;
    }
    Ok(Verdict::Done)
}
