//! `distill simulate`: run policies on the same arrivals with the same luck.

use super::{
    Common, Verdict,
    compare::{Contender, EpisodeArgs, WorkloadArgs, closed_loops},
    output::Output,
};
use crate::registry::Policies;
use anyhow::Result;
use clap::Args;

/// Run one or more policies on the same arrivals with the same luck, and compare them
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill simulate -p fair -p fifo -p sjf\n  distill simulate -p decima:model.pt -p \
student:student.json -p fair \\\n      -w tpch:tpch_profiles.json.gz,executors=10,jobs=50 --episodes 30\n  distill simulate -p \
student:student.json -p fair -w builtin --edge-cases\n\nRatios are geometric \
means over paired episodes with 95 % bootstrap intervals; the first policy is the baseline."
)]
pub(super) struct SimulateArgs {
    /// Policy, repeatable; the first is the baseline of the ratios (see `distill list policies`)
    #[arg(short, long = "policy", required = true, value_name = "POLICY")]
    policies: Vec<String>,
    #[command(flatten)]
    workloads: WorkloadArgs,
    #[command(flatten)]
    episodes: EpisodeArgs,
}

pub(super) fn run<S: Policies>(args: &SimulateArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let contenders: Vec<Contender<S>> =
        args.policies.iter().map(|p| Contender::open(p, None)).collect::<Result<_>>()?;
    for result in closed_loops(&contenders, &args.workloads.ids::<S>()?, args.episodes, common, output)?.0 {
        output.json("closed_loop", &result)?;
    }
    Ok(Verdict::Done)
}
