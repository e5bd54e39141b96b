//! `distill record`: write down what a scheduler is asked and what it answers.

use super::{
    common::{Common, Verdict},
    compare::SplitArg,
    files::shown,
    inputs::Inputs,
    output::Output,
    parts::{count, some_ranges},
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

/// Record what a scheduler is asked and what it decides, as a trace to learn from
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill record -p decima -o runs/a/traces/train\n  \
distill record -p decima -w builtin,executors=25 -n 10 --split test -o runs/a/traces/test",
    after_long_help = "Examples:\n  distill record -p decima -o runs/a/traces/train\n  \
distill record -p decima -w builtin,executors=25 -n 10 --split test -o runs/a/traces/test\n  \
distill record -p decima:model.pt -w tpch:tpch_profiles.json.gz,executors=10,jobs=50 -o trace\n  \
distill record -p 'script:python3 policy.py' -o trace\n  \
distill record -p student:student.json -t decima --first-episode 40 -n 20 -o own\n\n\
A trace is a directory of Parquet tables with a manifest (docs/trace-format.md). If recording is interrupted, the same \
command goes on where it stopped.\n\n\
Jobs that share the work write into one directory, or into copies that are put together afterwards. The last one completes \
the trace:\n  distill record -p decima -o trace --shard 1/8\n  distill record -p decima -o trace --shard 2/8\n\n\
`distill inspect trace` says what is missing; the command without --shard records that."
)]
pub(super) struct RecordArgs {
    /// Policy to record (see `distill list policies`)
    #[arg(short, long, value_name = "POLICY", help_heading = "Input")]
    policy: String,
    /// Teacher whose opinion is recorded where another policy decides [default: the policy itself]
    ///
    /// What a student meets when it decides, as its teacher sees it: `distill fit` learns from such a trace beside one of the
    /// teacher's own.
    #[arg(short, long, value_name = "POLICY", help_heading = "Input", hide_short_help = true)]
    teacher: Option<String>,
    /// Workload (see `distill list workloads`)
    #[arg(short, long, default_value = "builtin", value_name = "WORKLOAD", help_heading = "Input")]
    workload: String,
    /// Number of episodes
    #[arg(short = 'n', long, default_value_t = 40, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Input")]
    episodes: u32,
    /// Number of the first episode: other ones than those of an earlier recording
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Input", hide_short_help = true)]
    first_episode: u32,
    /// Seeds: train, validation, test or final
    ///
    /// Fitting sees train, searching sees validation, development looks at test; final is for closing figures.
    #[arg(long, value_enum, value_name = "SPLIT", hide_possible_values = true, default_value_t = SplitArg::Train, help_heading = "Input")]
    split: SplitArg,
    /// Directory to write
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    /// Replace a trace that was made with other arguments
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Record only part I of N of the episodes; other processes record the rest
    #[arg(long, value_name = "I/N", help_heading = "Output", hide_short_help = true)]
    shard: Option<Shard>,
}

impl RecordArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().policies([&self.policy].into_iter().chain(&self.teacher)).workloads([&self.workload])
    }
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
        teacher: args.teacher.clone(),
        workload: args.workload.clone(),
        seed: common.seed,
        split: args.split.into(),
        first_episode: args.first_episode,
        episodes: args.episodes,
        shard: args.shard.unwrap_or(Shard::WHOLE),
        force: args.force,
        dir: args.output.clone(),
    };
    let recording = common.scenario()?.record(&params, Watched::new(output).caller())?;
    if let Some(shard) = args.shard {
        describe_shard(args, shard, &recording, output)?;
    } else if recording.manifest.is_none() {
        bail!("{}: parts {} are missing", args.output.display(), some_ranges(&recording.missing));
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
        _ => format!("parts {} done ({})", some_ranges(parts), count(*episodes as usize, "episode")),
    };
    let rest = match missing[..] {
        [] => "the trace is complete".to_owned(),
        _ => format!("{} of {} are missing: {}", missing.len(), count(*planned as usize, "part"), some_ranges(missing)),
    };
    output.text(format!("shard {shard}: {done}; {rest}"))?;
    let (dir, shard) = (shown(&args.output), shard.to_string());
    let fields = json!({"dir": dir, "shard": shard, "parts": parts, "episodes": episodes, "planned": planned,
        "missing": missing});
    output.json("shard", &fields)
}
