//! `distill import`: a history of a real cluster as a workload file.

use super::{
    common::{Common, Verdict},
    files,
    history::{describe, find, inputs, located},
    inputs::Inputs,
    looks::spec,
    output::Output,
};
use crate::{
    pipeline::quoted,
    workload::{MOST_JSON_BYTES, packing},
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
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
        inputs(&self.history)
    }
}

/// Passes on what is written, up to the most that can be read again.
struct Bounded<'a> {
    out: &'a mut dyn Write,
    written: u64,
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written + bytes.len() as u64 > MOST_JSON_BYTES {
            let problem = format!(
                "as a workload file it has more than {} MiB of text, which is the most that is read: use it as it is, as a workload",
                MOST_JSON_BYTES >> 20
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

pub(super) fn run(args: &ImportArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    files::check_output(&args.output, located(&args.history).map(|(path, _)| path))?;
    let Some(found) = find(&args.history, common)? else {
        bail!(
            "{}: no log of a cluster that is read here, and no workload; `distill list workloads` says what is read, `distill inspect` \
             what a file is",
            args.history
        );
    };
    let is_packed = args.output.extension().is_some_and(|ending| ending == "gz");
    let jobs_to = |out: &mut dyn Write| {
        let mut out = BufWriter::with_capacity(1 << 16, Bounded { out, written: 0 });
        let survey = found.scenario.write_jobs(&found.workload, &mut out)?;
        out.flush()?;
        Ok(survey)
    };
    let survey = files::replace_by(&args.output, args.force, |out| match is_packed {
        true => {
            let mut packed = packing(out);
            let survey = jobs_to(&mut packed)?;
            packed.finish()?;
            Ok(survey)
        }
        false => jobs_to(out),
    })?;
    let jobs = survey.jobs;
    let bytes = args.output.metadata().map_or(0, |written| written.len());
    describe(&found, &survey, output)?;
    let info = found.scenario.info();
    let workload = spec("json", &args.output);
    output.text(format!("\n{}: {jobs} jobs; schedule them with:", args.output.display()))?;
    let policies: Vec<String> =
        found.scenario.baselines().iter().take(2).map(|id| format!("-p {}", quoted(id))).collect();
    output.text(format!("  distill simulate --scenario {} {} -w {workload}", info.name, policies.join(" ")))?;
    output.json(
        "import",
        &json!({"scenario": info.name, "workload": found.workload, "output": args.output, "jobs": jobs, "bytes": bytes,
            "survey": survey}),
    )?;
    Ok(Verdict::Done)
}
