//! `distill record`: write down what a scheduler is asked and what it answers.

use super::{
    Common, Interrupted, STOP, Verdict,
    compare::{EpisodeArgs, SplitArg, open_workload},
    output::Output,
    progress::EpisodeBar,
};
use crate::{
    policy,
    recorder::{RecordError, RecordRequest, record},
    spec::Spec,
    trace::Manifest,
};
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Record a policy's decisions as a trace
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill record -p srpt-fair,temperature=0.5 -o runs/a/traces/train\n  distill record -p \
decima:model.pt -w tpch:tpch_profiles.json.gz,executors=10,jobs=50 -n 40 -o trace\n\nA trace is a directory of Parquet tables \
with a manifest (docs/trace-format.md). If recording is interrupted, the same command\ngoes on where it stopped."
)]
pub(super) struct RecordArgs {
    /// Policy to record (see `distill list policies`)
    #[arg(short, long, value_name = "POLICY")]
    policy: String,
    /// Workload (see `distill list workloads`)
    #[arg(short, long, default_value = "builtin", value_name = "WORKLOAD")]
    workload: String,
    /// Directory to write
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Number of episodes
    #[arg(short = 'n', long, default_value_t = 40, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    episodes: u32,
    /// Which seeds (see `distill simulate --help`)
    #[arg(long, value_enum, default_value_t = SplitArg::Train)]
    split: SplitArg,
    /// Replace a trace that was made with other arguments
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &RecordArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let which = EpisodeArgs { episodes: args.episodes, split: args.split };
    let manifest = record_trace(&args.policy, &args.workload, which, &args.output, args.force, common, output)?;
    let rows = |level: &str| -> usize {
        let of_level = |path: &str| path.starts_with(&format!("{level}/")) || path == format!("{level}.parquet");
        manifest.tables.iter().filter(|t| of_level(&t.path)).map(|t| t.rows).sum()
    };
    let levels: Vec<String> =
        manifest.feature_set.levels.iter().map(|l| format!("{} {}", rows(&l.name), l.name)).collect();
    output.text(format!(
        "{}: {} episodes of {}, rows by level: {}",
        args.output.display(),
        manifest.episodes,
        args.policy,
        levels.join(", ")
    ))?;
    output.json("trace", &json!({"dir": args.output, "hash": manifest.hash(), "manifest": manifest}))?;
    Ok(Verdict::Done)
}

/// Records a trace with a progress bar.
pub(super) fn record_trace(
    policy_id: &str,
    workload_id: &str,
    which: EpisodeArgs,
    dir: &Path,
    force: bool,
    common: &Common,
    output: &Output,
) -> Result<Manifest> {
    let policy = policy::open(&policy_id.parse::<Spec>()?)?;
    let workload = open_workload(workload_id)?;
    let request = RecordRequest {
        policy_id,
        policy: &*policy,
        workload_id,
        workload: &*workload,
        seed: common.seed,
        split: which.split.into(),
        episodes: which.episodes,
        force,
    };
    let bar = EpisodeBar::new(&format!("recording {}", request.split.name()), u64::from(which.episodes), output);
    let result = record(dir, &request, &bar, &STOP);
    let (decisions, seconds) = bar.finish();
    tracing::info!("{decisions} decisions recorded in {seconds:.2} s");
    result.map_err(|e| match e {
        RecordError::Interrupted => Interrupted.into(),
        other => other.into(),
    })
}
