//! `distill import`: a history of a real cluster as a workload file.

use super::{
    common::{Common, Verdict},
    files,
    history::{describe, find},
    inputs::Inputs,
    looks::spec,
    output::Output,
};
use crate::{
    pipeline::quoted,
    workload::{MOST_TEXT_BYTES, pack_text},
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Turn a history of a real cluster into a workload file
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill import eventlog_v2_application_1 -o workload.json.gz\n  \
distill import spark:logs,executors=40 -o workload.json",
    after_long_help = "Examples:\n  distill import eventlog_v2_application_1 -o workload.json.gz\n  \
distill import spark:logs,executors=40 -o workload.json\n\n\
Histories are workloads as they are, too: `distill simulate -p fair -w spark:logs`. docs/histories.md says what is read of each format, what \
it lacks and what is assumed; `distill inspect HISTORY` says it of one."
)]
pub(super) struct ImportArgs {
    /// Log of a cluster, or a folder of logs; or a workload (`distill list workloads`)
    #[arg(value_name = "HISTORY", help_heading = "Input")]
    history: String,
    /// Workload file to write; one that ends with .gz is packed
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Replace a file with other content
    #[arg(long, help_heading = "Output")]
    force: bool,
}

impl ImportArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        match Path::new(&self.history).exists() {
            true => Inputs::default().anything(&PathBuf::from(&self.history)),
            false => Inputs::default().workloads([&self.history]),
        }
    }
}

/// Keeps what is written, up to the most that can be read again.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.0.len() + bytes.len()) as u64 > MOST_TEXT_BYTES {
            let problem = "as a workload file it has more than 128 MiB of text, which is the most that is read: use it as it is, as a workload";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn run(args: &ImportArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    files::check_output(&args.output, [Path::new(&args.history)])?;
    let Some(found) = find(&args.history, common)? else {
        bail!(
            "{}: no log of a cluster that is read here, and no workload; `distill list workloads` says what is read, `distill inspect` \
             what a file is",
            args.history
        );
    };
    let survey = found.scenario.survey(&found.workload)?;
    let mut text = Bounded(Vec::new());
    let jobs = found.scenario.write_jobs(&found.workload, &mut text)?;
    let bytes = match args.output.extension().is_some_and(|ending| ending == "gz") {
        true => pack_text(&text.0),
        false => text.0,
    };
    files::replace(&args.output, &bytes, args.force)?;
    describe(&found, &survey, output)?;
    let info = found.scenario.info();
    let workload = spec("json", &args.output);
    output.text(format!("\n{}: {jobs} jobs; schedule them with:", args.output.display()))?;
    let policies: Vec<String> =
        found.scenario.baselines().iter().take(2).map(|id| format!("-p {}", quoted(id))).collect();
    output.text(format!("  distill simulate --scenario {} {} -w {workload}", info.name, policies.join(" ")))?;
    output.json(
        "import",
        &json!({"scenario": info.name, "workload": found.workload, "output": args.output, "jobs": jobs, "bytes": bytes.len(),
            "survey": survey}),
    )?;
    Ok(Verdict::Done)
}
