//! `distill simulate`: run policies on the same arrivals with the same luck.

use super::{
    common::{Common, Verdict},
    compare::{EpisodeArgs, WorkloadArgs, closed_loops},
    inputs::Inputs,
    output::Output,
    progress::Watched,
};
use crate::{
    model::Student,
    pipeline::{AnyScenario, CompareParams, Contender, LogParams},
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

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
    /// Write each episode of each policy as the log that a cluster would leave of it, into this folder
    ///
    /// Of `dag` that is an event log of Spark, which its history server shows and `distill inspect` reads. Policies are not compared then.
    #[arg(long, value_name = "DIR", help_heading = "Output", hide_short_help = true)]
    event_log: Option<PathBuf>,
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
    if let Some(dir) = &args.event_log {
        return event_logs(args, dir, (scenario, student.as_ref()), common, output);
    }
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

/// Writes logs of all episodes.
fn event_logs(
    args: &SimulateArgs,
    dir: &Path,
    (scenario, student): (&dyn AnyScenario, Option<&Student>),
    common: &Common,
    output: &mut Output,
) -> Result<Verdict> {
    let workloads = args.workloads.ids(scenario, student, output)?;
    let [workload] = &workloads[..] else {
        bail!("--event-log writes the episodes of one workload, not of {}", workloads.len());
    };
    for policy in &args.policies {
        let params = LogParams {
            policy: policy.clone(),
            workload: workload.clone(),
            seed: common.seed,
            split: args.episodes.split.into(),
            episodes: args.episodes.episodes,
            dir: dir.to_owned(),
        };
        let paths = scenario.write_logs(&params, Watched::new(output).caller())?;
        for path in &paths {
            output.text(path.display())?;
        }
        output.json("event_logs", &json!({"policy": policy, "workload": workload, "paths": paths}))?;
    }
    Ok(Verdict::Done)
}
