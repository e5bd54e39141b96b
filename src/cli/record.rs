//! `distill record`: write down what a scheduler is asked and what it answers.

use super::{
    Common, Verdict,
    compare::SplitArg,
    files::shown,
    output::Output,
    parts::{count, ranges},
    progress::Watched,
};
use crate::{
    pipeline::RecordParams,
    recorder::Recording,
    trace::{Manifest, Shard, Trace},
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Record a policy's decisions as a trace
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill record -p srpt-fair,temperature=0.5 -o runs/a/traces/train\n  distill record -p \
decima:model.pt -w tpch:tpch_profiles.json.gz,executors=10,jobs=50 -n 40 -o trace\n\nA trace is a directory of Parquet tables \
with a manifest (docs/trace-format.md). If recording is interrupted, the same command\ngoes on where it stopped.\n\n\
Jobs that share the work write into one directory, or into copies that are put together afterwards:\n  distill record ... \
-o trace --shard 1/8      (and 2/8, ... 8/8)\nThe last one completes the trace. `distill inspect trace` says what is \
missing; the command without --shard records that."
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
    /// Record only share I of N shares of the episodes, the rest is left to other jobs
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Replace a trace that was made with other arguments
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &RecordArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if args.shard.is_some() && args.force {
        bail!(
            "--force cannot be used with --shard: it would remove what the other shards have recorded; remove {} first, \
             or pass --force without --shard",
            args.output.display()
        );
    }
    let params = RecordParams {
        policy: args.policy.clone(),
        workload: args.workload.clone(),
        seed: common.seed,
        split: args.split.into(),
        episodes: args.episodes,
        shard: args.shard.unwrap_or(Shard::WHOLE),
        force: args.force,
        dir: args.output.clone(),
    };
    let recording = common.scenario()?.record(&params, Watched::new(output).caller())?;
    if let Some(shard) = args.shard {
        describe_shard(args, shard, &recording, output)?;
    } else if recording.manifest.is_none() {
        bail!("{}: parts {} are missing", args.output.display(), ranges(&recording.missing));
    }
    if let Some(manifest) = &recording.manifest {
        describe(manifest, args, output)?;
    }
    Ok(Verdict::Done)
}

/// Says what the trace holds.
fn describe(manifest: &Manifest, args: &RecordArgs, output: &mut Output) -> Result<()> {
    let levels: Vec<String> =
        manifest.feature_set.levels.iter().map(|l| format!("{} {}", manifest.rows_of(&l.name), l.name)).collect();
    output.text(format!(
        "{}: {} episodes of {}, rows by level: {}",
        args.output.display(),
        manifest.episodes,
        args.policy,
        levels.join(", ")
    ))?;
    output.json(
        "trace",
        &json!({"dir": shown(&args.output), "hash": Trace::open(&args.output)?.hash, "manifest": manifest}),
    )
}

/// Says what a shard has added to the trace.
fn describe_shard(args: &RecordArgs, shard: Shard, recording: &Recording, output: &mut Output) -> Result<()> {
    let Recording { parts, planned, missing, episodes, .. } = recording;
    let done = match parts[..] {
        [] => format!("nothing to do, the trace has only {}", count(*planned as usize, "part")),
        _ => format!("parts {} done ({})", ranges(parts), count(*episodes as usize, "episode")),
    };
    let rest = match missing[..] {
        [] => "the trace is complete".to_owned(),
        _ => format!("{} of {} are missing: {}", missing.len(), count(*planned as usize, "part"), ranges(missing)),
    };
    output.text(format!("shard {shard}: {done}; {rest}"))?;
    let (dir, shard) = (shown(&args.output), shard.to_string());
    let fields = json!({"dir": dir, "shard": shard, "parts": parts, "episodes": episodes, "planned": planned,
        "missing": missing});
    output.json("shard", &fields)
}
