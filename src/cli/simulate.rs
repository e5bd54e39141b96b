//! `distill simulate`: run policies on the same arrivals with the same luck.

use super::{
    Common, Verdict,
    compare::{Contender, EpisodeArgs, closed_loop, print_closed_loop},
    output::Output,
};
use anyhow::Result;
use clap::Args;

/// Run one or more policies on the same arrivals with the same luck, and compare them
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill simulate -p fair -p fifo -p sjf\n  distill simulate -p decima:model.pt -p \
student:student.json -p fair \\\n      -w tpch:tpch_profiles.json.gz,executors=10,jobs=50 --episodes 30\n\nRatios are geometric \
means over paired episodes with 95 % bootstrap intervals; the first policy is the baseline."
)]
pub(super) struct SimulateArgs {
    /// Policy, repeatable; the first is the baseline of the ratios (see `distill list policies`)
    #[arg(short, long = "policy", required = true, value_name = "POLICY")]
    policies: Vec<String>,
    /// Workload (see `distill list workloads`)
    #[arg(short, long, default_value = "builtin", value_name = "WORKLOAD")]
    workload: String,
    #[command(flatten)]
    episodes: EpisodeArgs,
}

pub(super) fn run(args: &SimulateArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let contenders: Vec<Contender> = args.policies.iter().map(|p| Contender::open(p, None)).collect::<Result<_>>()?;
    let result = closed_loop(&contenders, &args.workload, args.episodes, common, output)?;
    print_closed_loop(&result.comparison, output)?;
    output.json("closed_loop", &result.comparison)?;
    Ok(Verdict::Done)
}
