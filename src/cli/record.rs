//! `distill record`: write down what a scheduler is asked and what it answers.

use super::{
    Common, Interrupted, STOP, Verdict,
    compare::{EpisodeArgs, SplitArg, open_workload},
    files::shown,
    output::Output,
    parts::{count, ranges},
    progress::EpisodeBar,
};
use crate::{
    policy::identity,
    recorder::{RecordError, RecordRequest, Recording, record},
    registry::Policies,
    spec::Spec,
    trace::{Manifest, Shard, Trace},
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

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

pub(super) fn run<S: Policies>(args: &RecordArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let recorded = match args.shard {
        None => Some(whole::<S>(args, common, output)?),
        Some(_) if args.force => bail!(
            "--force cannot be used with --shard: it would remove what the other shards have recorded; remove {} first, \
             or pass --force without --shard",
            args.output.display()
        ),
        Some(shard) => record_shard::<S>(args, shard, common, output)?,
    };
    if let Some(manifest) = recorded {
        describe(&manifest, args, output)?;
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

/// Records a shard; the manifest of the trace if that completed it.
fn record_shard<S: Policies>(
    args: &RecordArgs,
    shard: Shard,
    common: &Common,
    output: &mut Output,
) -> Result<Option<Manifest>> {
    let (Recording { parts, planned, missing, manifest }, episodes) = record_parts::<S>(args, common, output)?;
    let done = match parts[..] {
        [] => format!("nothing to do, the trace has only {}", count(planned as usize, "part")),
        _ => format!("parts {} done ({})", ranges(&parts), count(episodes as usize, "episode")),
    };
    let rest = match missing[..] {
        [] => "the trace is complete".to_owned(),
        _ => format!("{} of {} are missing: {}", missing.len(), count(planned as usize, "part"), ranges(&missing)),
    };
    output.text(format!("shard {shard}: {done}; {rest}"))?;
    let (dir, shard) = (shown(&args.output), shard.to_string());
    let fields = json!({"dir": dir, "shard": shard, "parts": parts, "episodes": episodes, "planned": planned,
        "missing": missing});
    output.json("shard", &fields)?;
    Ok(manifest)
}

/// Records a whole trace with a progress bar.
pub(super) fn record_trace<S: Policies>(
    policy_id: &str,
    workload_id: &str,
    which: EpisodeArgs,
    dir: &Path,
    force: bool,
    common: &Common,
    output: &Output,
) -> Result<Manifest> {
    let args = RecordArgs {
        policy: policy_id.to_owned(),
        workload: workload_id.to_owned(),
        output: dir.to_owned(),
        episodes: which.episodes,
        split: which.split,
        shard: None,
        force,
    };
    whole::<S>(&args, common, output)
}

fn whole<S: Policies>(args: &RecordArgs, common: &Common, output: &Output) -> Result<Manifest> {
    let (recording, _) = record_parts::<S>(args, common, output)?;
    match recording.manifest {
        Some(manifest) => Ok(manifest),
        None => bail!("{}: parts {} are missing", args.output.display(), ranges(&recording.missing)),
    }
}

/// Records a shard with a progress bar; returns what is there then, and the number of episodes of the shard.
fn record_parts<S: Policies>(args: &RecordArgs, common: &Common, output: &Output) -> Result<(Recording, u32)> {
    let policy = S::open(&args.policy.parse::<Spec>()?)?;
    let workload = open_workload::<S>(&args.workload)?;
    let policy_id = identity(&args.policy);
    let request = RecordRequest::<S> {
        policy_id: &policy_id,
        policy: &*policy,
        workload_id: &args.workload,
        workload: &*workload,
        seed: common.seed,
        split: args.split.into(),
        episodes: args.episodes,
        shard: args.shard.unwrap_or(Shard::WHOLE),
        force: args.force,
    };
    let episodes = request.shard_episodes();
    let bar = EpisodeBar::new(&format!("recording {}", request.split.name()), u64::from(episodes), output);
    let result = record(&args.output, &request, &bar, &STOP);
    let (decisions, seconds) = bar.finish();
    tracing::info!("{decisions} decisions recorded in {seconds:.2} s");
    match result {
        Ok(recording) => Ok((recording, episodes)),
        Err(RecordError::Interrupted) => Err(Interrupted.into()),
        Err(other) => Err(other.into()),
    }
}
