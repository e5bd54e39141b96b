//! `distill profile-model`: how long batches of a model take on this machine.

use super::{
    common::{Common, Verdict},
    files::{check_kept, check_no_input, check_output, replace, shown},
    inputs::Inputs,
    interrupt::{Interrupted, STOP},
    output::Output,
    progress::Watched,
    table::Table,
};
use crate::{
    evaluator::{Estimate, TimedLine, timed_line},
    foreign::{
        BatchModel,
        profile::{self, ProfileParams},
    },
    pipeline::Watch as _,
    serving::{Law, Table as Times, workload::Model},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

/// Measure how long batches of a model take on this machine
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill profile-model data/text-classifier.onnx\n  \
distill profile-model model.onnx --sizes 16,64,256 --batches 1,4,16 -o models.json",
    after_long_help = "Examples:\n  distill profile-model data/text-classifier.onnx\n  \
distill profile-model model.onnx --sizes 16,64,256 --batches 1,4,16 -o models.json\n  \
distill simulate --scenario serving -w models:models.json -p tf-serving -p dybatch\n\n\
The first axis of each input is the batch; other axes without a fixed length become the size. A model whose inputs all have a fixed \
length has one size. It runs on one thread (tract). Next to the times stands the line alpha + beta · tasks · size that is nearest to them. \
What -o writes is a list of models for the workload models:FILE (docs/serving.md)."
)]
pub(super) struct ProfileModelArgs {
    /// ONNX file
    #[arg(value_name = "MODEL", help_heading = "Input")]
    model: PathBuf,
    /// Sizes of tasks, ascending
    #[arg(long, value_delimiter = ',', value_name = "N", help_heading = "Measurement")]
    sizes: Option<Vec<u32>>,
    /// Tasks in a batch, ascending
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16", value_name = "N", help_heading = "Measurement")]
    batches: Vec<u32>,
    /// How often each batch is timed
    #[arg(
        long, default_value_t = 15, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=10_000),
        help_heading = "Measurement"
    )]
    rounds: u32,
    /// What applications of the model are called [default: the file's name]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    name: Option<String>,
    /// List of models to write, for the workload models:FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Replace a file with other content
    #[arg(long, help_heading = "Output")]
    force: bool,
}

impl ProfileModelArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().files([&self.model])
    }
}

/// Sizes where none are given and tasks have more than one.
const SIZES: [u32; 4] = [8, 16, 32, 64];

/// Numbers that ascend from at least 1, in bounds that keep a measurement short.
fn check(option: &str, list: &[u32], most: u32) -> Result<()> {
    let is_good = !list.is_empty() && list.len() <= 32 && list[0] > 0 && list.is_sorted_by(|a, b| a < b);
    match is_good && list.last().is_some_and(|last| *last <= most) {
        true => Ok(()),
        false => bail!("{option} must be 1 to 32 ascending whole numbers in 1..={most}, got {list:?}"),
    }
}

pub(super) fn run(args: &ProfileModelArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if let Some(sizes) = &args.sizes {
        check("--sizes", sizes, 1 << 16)?;
    }
    check("--batches", &args.batches, 4096)?;
    if let Some(path) = &args.output {
        check_output(path, [&*args.model])?;
        check_no_input(path, [&*args.model])?;
        if path.exists() && !args.force {
            // Times are never the same twice.
            check_kept(path, &[], false)?;
        }
    }
    let model = BatchModel::load(&args.model)?;
    let usual = if model.has_one_size() { vec![1] } else { SIZES.to_vec() };
    let sizes = args.sizes.clone().unwrap_or(usual);
    let params = ProfileParams { sizes, batches: args.batches.clone(), rounds: args.rounds, seed: common.seed };
    let watched = Watched::new(output);
    watched.steps(params.runs());
    let mut each = || {
        watched.step("batches");
        if STOP.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let rounds = profile::time(&model, &params, &mut each)?.ok_or(Interrupted)?;
    drop(watched);
    let cells =
        params.batches.iter().flat_map(|&n| params.sizes.iter().map(move |&size| f64::from(n) * f64::from(size)));
    let line = timed_line(&cells.collect::<Vec<_>>(), &rounds, common.seed);
    print(&params, &line, output)?;
    let ms: Vec<Vec<f64>> = line.medians.chunks(params.sizes.len()).map(<[f64]>::to_vec).collect();
    let estimate = |e: &Estimate| json!({"value": e.value, "low": e.low, "high": e.high});
    let found = json!({"model": args.model, "sizes": params.sizes, "batches": params.batches, "rounds": params.rounds, "ms": ms,
        "alpha_ms": estimate(&line.alpha), "beta_ms": estimate(&line.beta), "mean_error": line.error[0], "largest_error": line.error[1]});
    output.json("profile", &found)?;
    if let Some(path) = &args.output {
        let stem = args.model.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = args.name.clone().or(stem).unwrap_or_else(|| "model".to_owned());
        // The law has whole nanoseconds.
        let rounded = ms.into_iter().map(|row| row.into_iter().map(|ms| (1e6 * ms).round() / 1e6).collect()).collect();
        let law = Law::Measured(Times::new(params.sizes.clone(), params.batches.clone(), rounded)?);
        let sizes = [params.sizes[0], params.sizes[params.sizes.len() - 1]];
        let most = params.batches[params.batches.len() - 1];
        let models = json!({"models": [Model { name, law, sizes, most, file: Some(beside(path, &args.model)?) }]});
        let mut text = serde_json::to_string_pretty(&models).context("a list of models is JSON")?;
        text.push('\n');
        replace(path, text.as_bytes(), args.force)?;
        output.text(format!("\n{}: for the workload models:{}", shown(path), shown(path)))?;
    }
    Ok(Verdict::Done)
}

/// The model as seen from the folder of the list, if it is below it, otherwise its whole path.
fn beside(list: &Path, model: &Path) -> Result<PathBuf> {
    let whole = |path: &Path| path.canonicalize().with_context(|| path.display().to_string());
    let folder = list.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (folder, model) = (whole(folder)?, whole(model)?);
    Ok(model.strip_prefix(&folder).map_or(model.clone(), Path::to_owned))
}

/// A time with three digits.
fn time(ms: f64) -> String {
    let digits = (2 - ms.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{ms:.digits$}")
}

fn print(params: &ProfileParams, line: &TimedLine, output: &mut Output) -> Result<()> {
    let header: Vec<String> =
        std::iter::once("ms".to_owned()).chain(params.sizes.iter().map(|size| format!("size {size}"))).collect();
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for (batch, row) in params.batches.iter().zip(line.medians.chunks(params.sizes.len())) {
        table.row(std::iter::once(format!("batch of {batch}")).chain(row.iter().map(|&ms| time(ms))));
    }
    output.text(table)?;
    let shown = |e: &Estimate| format!("{} [{}, {}]", time(e.value), time(e.low), time(e.high));
    output.text(format!(
        "\nmedians of {} rounds; alpha + beta · tasks · size, off by {:.0} % in the mean and {:.0} % at most:\n\
         alpha  {} ms\nbeta   {} ms",
        params.rounds,
        100.0 * line.error[0],
        100.0 * line.error[1],
        shown(&line.alpha),
        shown(&line.beta),
    ))
}
