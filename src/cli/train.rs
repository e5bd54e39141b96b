//! `distill train`: teach the Decima network.

use super::{
    Common, Interrupted, STOP, Verdict, compare::open_workload, output::Output, progress::TrainingBar, table::Table,
};
use crate::{
    level::sha256_hex,
    policy::{self, neural::Tensors},
    recorder::{policy_source, workload_source},
    reporter::{CurvePoint, LearningCurve, learning_curve},
    scenario::Dag,
    spec::Spec,
    trace::{difference, write_atomically},
    trainer::{
        Algorithm, Checkpoint, End, Judge, Lessons, Phase, Ramp, RecordedLessons, Returns, Session, TrainError,
        TrainParams, Weights, metrics,
    },
};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Seconds between two saves of the state.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// Train a neural scheduler by reinforcement learning in the simulator
#[derive(Args)]
#[command(after_help = "Examples:\n  distill train decima -o runs/decima --time-limit 10m\n  distill train decima -w \
tpch:tpch_profiles.json.gz,executors=10,jobs=50 -o runs/tpch --time-limit 2h\n  distill train decima --warm-start srpt-fair,cap=2 -o \
runs/warm                  first do as a heuristic does\n  distill train decima --warm-start runs/a/traces/train -o \
runs/warm               the same from a recorded trace\n  distill train decima --init model.pt -w \
tpch:tpch_profiles.json.gz -o runs/tuned  go on from a checkpoint\n\nWrites best.safetensors, last.safetensors, metrics.parquet, \
curve.png and the state of the training to the folder; the same\ncommand goes on after an interruption. Then: \
distill simulate -p decima:runs/decima/best.safetensors -p fair (docs/training.md)")]
pub(super) struct TrainArgs {
    /// Which network
    network: NetworkArg,
    /// Workload to train on (see `distill list workloads`); of several, job sequences come in turn, validation has the first
    #[arg(short, long, default_value = "builtin", value_name = "WORKLOAD")]
    workload: Vec<String>,
    /// Folder for the training
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Checkpoint to begin with, .safetensors or .pt [default: random weights]
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// Policy or trace to learn from first
    #[arg(long, value_name = "POLICY|TRACE")]
    warm_start: Option<String>,
    /// Iterations of learning from it
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "warm_start")]
    warm_start_iterations: u32,
    /// Step of Adam while learning from it
    #[arg(long, default_value_t = TrainParams::default().imitation_rate, value_name = "X", requires = "warm_start")]
    warm_start_rate: f64,
    /// How gradients are made
    #[arg(long, value_enum, default_value_t = AlgorithmArg::Ppo)]
    algorithm: AlgorithmArg,
    /// Iterations of reinforcement learning
    #[arg(long, default_value_t = TrainParams::default().iterations, value_name = "N")]
    iterations: u32,
    /// End after so much time, over all runs of the command, e.g. 90s, 10m, 2h; results then depend on the machine's speed
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time_limit: Option<Duration>,
    /// Job sequences per iteration
    #[arg(long, default_value_t = TrainParams::default().sequences, value_name = "N")]
    sequences: u32,
    /// Rollouts per job sequence
    #[arg(long, default_value_t = TrainParams::default().rollouts, value_name = "N")]
    rollouts: u32,
    /// Which future costs a decision answers for
    #[arg(long, value_enum, default_value_t = ReturnsArg::Discounted)]
    returns: ReturnsArg,
    /// Discount of future costs per second
    #[arg(long, default_value_t = 0.001, value_name = "X")]
    discount: f64,
    /// Decay per second of the blame for later surprises; 0 blames a decision for all of them
    #[arg(long, default_value_t = 0.005, value_name = "X")]
    trace_decay: f64,
    /// Step of Adam at first and at last
    #[arg(long, num_args = 1..=2, default_values_t = [1e-3, 1e-4], value_names = ["FROM", "TO"])]
    learning_rate: Vec<f64>,
    /// Weight of the policy's entropy at first and at last
    #[arg(long, num_args = 1..=2, default_values_t = [0.01, 0.0], value_names = ["FROM", "TO"])]
    entropy: Vec<f64>,
    /// Iterations from first to last [default: --iterations]
    #[arg(long, value_name = "N")]
    anneal: Option<u32>,
    /// Passes over the rollouts of an iteration
    #[arg(long, default_value_t = TrainParams::default().epochs, value_name = "N")]
    epochs: u32,
    /// Steps per pass
    #[arg(long, default_value_t = TrainParams::default().minibatches, value_name = "N")]
    minibatches: u32,
    /// How far PPO lets the ratio of probabilities go from 1
    #[arg(long, default_value_t = TrainParams::default().clip, value_name = "X")]
    clip: f64,
    /// Divergence from the rollouts' policy that ends an iteration's passes, nats
    #[arg(long, default_value_t = TrainParams::default().max_kl, value_name = "X")]
    max_kl: f64,
    /// Longest gradient
    #[arg(long, default_value_t = TrainParams::default().max_gradient, value_name = "X")]
    max_gradient: f64,
    /// Iterations between two validations
    #[arg(long, default_value_t = TrainParams::default().validate_every, value_name = "N")]
    validate_every: u32,
    /// Episodes of a validation
    #[arg(long, default_value_t = TrainParams::default().validation, value_name = "N")]
    validation: u32,
    /// Which mode decides what is best
    #[arg(long, value_enum, default_value_t = JudgeArg::Both)]
    judge: JudgeArg,
    /// Policy that validations compare with
    #[arg(long, default_value = "fair", value_name = "POLICY")]
    reference: String,
    /// End after so many validations without a new best; 0 for never
    #[arg(long, default_value_t = 0, value_name = "N")]
    patience: u32,
    /// Where gradients are computed: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu", value_name = "DEVICE", value_parser = parse_device)]
    device: tch::Device,
    /// Begin anew where the folder holds another training
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum NetworkArg {
    /// The graph network of Decima (jobs of stages)
    Decima,
}

#[derive(Clone, Copy, ValueEnum)]
enum AlgorithmArg {
    /// Several passes with clipped ratios
    Ppo,
    /// One plain step per iteration
    Reinforce,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReturnsArg {
    /// Costs fade with time
    Discounted,
    /// Costs less their mean per second
    Average,
}

#[derive(Clone, Copy, ValueEnum)]
enum JudgeArg {
    Both,
    Greedy,
    Sampled,
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let seconds = match unit {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("unit `{unit}`; expected s, m or h, as in 90s, 10m, 2h")),
    };
    let number: f64 = number.parse().map_err(|_| "expected a number and s, m or h, as in 90s, 10m, 2h".to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|e| e.to_string())
}

fn parse_device(text: &str) -> Result<tch::Device, String> {
    match text.split_once(':') {
        None if text == "cpu" => Ok(tch::Device::Cpu),
        None if text == "cuda" => Ok(tch::Device::Cuda(0)),
        Some(("cuda", number)) if number.parse::<usize>().is_ok() => Ok(tch::Device::Cuda(number.parse().unwrap_or(0))),
        _ => Err("expected cpu, cuda or cuda:N".to_owned()),
    }
}

impl TrainArgs {
    fn params(&self, seed: u64) -> TrainParams {
        let ramp = |values: &[f64]| Ramp { from: values[0], to: values[values.len() - 1] };
        TrainParams {
            algorithm: match self.algorithm {
                AlgorithmArg::Ppo => Algorithm::Ppo,
                AlgorithmArg::Reinforce => Algorithm::Reinforce,
            },
            iterations: self.iterations,
            sequences: self.sequences,
            rollouts: self.rollouts,
            returns: match self.returns {
                ReturnsArg::Discounted => Returns::Discounted { rate: self.discount, trace: self.trace_decay },
                ReturnsArg::Average => Returns::Average { trace: self.trace_decay },
            },
            learning_rate: ramp(&self.learning_rate),
            entropy: ramp(&self.entropy),
            anneal: self.anneal.unwrap_or(self.iterations),
            epochs: self.epochs,
            minibatches: self.minibatches,
            clip: self.clip,
            max_kl: self.max_kl,
            max_gradient: self.max_gradient,
            imitation: if self.warm_start.is_some() { self.warm_start_iterations } else { 0 },
            imitation_rate: self.warm_start_rate,
            validate_every: self.validate_every,
            validation: self.validation,
            judge: match self.judge {
                JudgeArg::Both => Judge::Both,
                JudgeArg::Greedy => Judge::Greedy,
                JudgeArg::Sampled => Judge::Sampled,
            },
            patience: self.patience,
            seed,
        }
    }
}

pub(super) fn run(args: &TrainArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let NetworkArg::Decima = args.network;
    let params = args.params(common.seed);
    params.check()?;
    let workloads = args.workload.iter().map(|text| open_workload::<Dag>(text)).collect::<Result<Vec<_>>>()?;
    let reference = policy::dag::open(&args.reference.parse::<Spec>()?)?;
    let lessons = args.warm_start.as_deref().map(lessons).transpose()?;
    let weights = match &args.init {
        Some(path) => Weights::from_tensors(&Tensors::load(path)?, &path.display().to_string())?,
        None => Weights::random(common.seed),
    };
    let sources =
        args.workload.iter().zip(&workloads).map(|(text, workload)| workload_source::<Dag>(text, &**workload));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let reference_source = policy_source(&args.reference, &*reference)?;
    let plan = json!({
        "version": env!("CARGO_PKG_VERSION"), "network": "decima", "workloads": sources,
        "reference": reference_source, "warm_start": args.warm_start.as_deref().map(plan_of).transpose()?,
        "init": args.init.as_ref().map(|path| json!({"file": path, "sha256": weights.to_tensors().sha256()})),
        "device": format!("{:?}", args.device), "params": params,
    });
    let checkpoint = prepare(&args.output, &plan, args.force)?.unwrap_or_else(|| Checkpoint::new(weights));
    if let Some(done) = checkpoint.iteration().filter(|&done| done > 0) {
        output.note(format!("{}: going on after iteration {done}", args.output.display()));
    }
    let before: f64 = checkpoint.seconds.iter().sum();

    let bar = TrainingBar::new(u64::from(params.imitation + params.iterations), args.time_limit, before, output);
    let stopped = |e: TrainError| match e {
        TrainError::Interrupted => anyhow::Error::from(Interrupted),
        other => other.into(),
    };
    let reference = (args.reference.as_str(), &*reference);
    let mut session = Session::new(&workloads, reference, lessons.as_ref(), &params, checkpoint, args.device, &STOP)
        .map_err(stopped)?;
    let mut saved = Instant::now();
    let end = loop {
        if let Some(end) = session.end() {
            break Some(end);
        }
        let elapsed: f64 = session.checkpoint().seconds.iter().sum();
        let over = args.time_limit.is_some_and(|limit| elapsed >= limit.as_secs_f64());
        match if over { session.look().map(|()| None) } else { session.step().map(Some) } {
            Ok(None) => break None,
            Ok(Some(row)) => {
                let row = row.clone();
                bar.step(&row, elapsed);
                if row.validation.is_some() {
                    output.json("iteration", &row)?;
                }
            }
            Err(TrainError::Interrupted) => {
                bar.finish();
                write(&args.output, args, session.checkpoint())?;
                return Err(Interrupted.into());
            }
            Err(other) => return Err(other.into()),
        }
        if saved.elapsed() > SAVE_EVERY {
            write(&args.output, args, session.checkpoint())?;
            saved = Instant::now();
        }
    };
    bar.finish();
    write(&args.output, args, session.checkpoint())?;
    summary(args, session.checkpoint(), end, output)?;
    Ok(Verdict::Done)
}

/// Opens what a warm start learns from: a folder is a trace, anything else a policy.
fn lessons(text: &str) -> Result<Lessons> {
    Ok(match Path::new(text).is_dir() {
        true => Lessons::Trace(RecordedLessons::open(Path::new(text))?),
        false => Lessons::Policy(policy::dag::open(&text.parse::<Spec>()?)?),
    })
}

/// What a warm start learns from, with hashes.
fn plan_of(text: &str) -> Result<Value> {
    if Path::new(text).is_dir() {
        return Ok(json!({"trace": crate::trace::Trace::open(Path::new(text))?.hash}));
    }
    Ok(json!(policy_source(text, &*policy::dag::open(&text.parse::<Spec>()?)?)?))
}

/// Makes the folder ready; the state of the training that it holds, if it is this one.
fn prepare(dir: &Path, plan: &Value, force: bool) -> Result<Option<Checkpoint>> {
    let at = |what: &str| format!("{}: cannot {what}", dir.display());
    std::fs::create_dir_all(dir).with_context(|| at("create the folder"))?;
    let path = dir.join("plan.json");
    match std::fs::read(&path) {
        Ok(found) if !force => {
            let theirs: Value = serde_json::from_slice(&found).unwrap_or_default();
            if let Some(difference) = difference("", &theirs, plan) {
                bail!(
                    "{}: the folder holds another training: {difference}; give --force to replace it, or -o for another folder",
                    dir.display()
                );
            }
            let state = dir.join("state.safetensors");
            return match std::fs::read(&state) {
                Ok(bytes) => Ok(Some(Checkpoint::from_bytes(&bytes, &state)?)),
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
                Err(e) => Err(e).with_context(|| format!("{}: cannot read", state.display())),
            };
        }
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e).with_context(|| at("read plan.json in")),
        _ => {}
    }
    for old in [
        "state.safetensors",
        "best.safetensors",
        "last.safetensors",
        "metrics.parquet",
        "curve.svg",
        "curve.png",
        "timings.json",
    ] {
        match std::fs::remove_file(dir.join(old)) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e).with_context(|| at("clear")),
            _ => {}
        }
    }
    write_atomically(&path, (serde_json::to_string_pretty(plan)? + "\n").as_bytes())?;
    Ok(None)
}

/// Writes everything that the folder holds; the state comes first, the rest can be made from it.
fn write(dir: &Path, args: &TrainArgs, checkpoint: &Checkpoint) -> Result<()> {
    write_atomically(&dir.join("state.safetensors"), &checkpoint.to_bytes()?)?;
    let file = |weights: &Weights| weights.to_tensors().to_safetensors(None);
    write_atomically(&dir.join("last.safetensors"), &file(&checkpoint.weights)?)?;
    if let Some(best) = &checkpoint.best {
        write_atomically(&dir.join("best.safetensors"), &file(&best.weights)?)?;
    }
    write_atomically(&dir.join("metrics.parquet"), &metrics(&checkpoint.rows).context("cannot make metrics.parquet")?)?;
    let timings = serde_json::to_string(&json!({"seconds": checkpoint.seconds}))? + "\n";
    write_atomically(&dir.join("timings.json"), timings.as_bytes())?;
    let (svg, png) = curve(args, checkpoint)?;
    write_atomically(&dir.join("curve.svg"), svg.as_bytes())?;
    write_atomically(&dir.join("curve.png"), &png)?;
    Ok(())
}

fn curve(args: &TrainArgs, checkpoint: &Checkpoint) -> Result<(String, Vec<u8>)> {
    let (mut seconds, mut imitation_s) = (0.0, 0.0);
    let mut points = Vec::new();
    for (row, took) in checkpoint.rows.iter().zip(&checkpoint.seconds) {
        seconds += took;
        if row.phase == Phase::Imitation {
            imitation_s = seconds;
        }
        if let Some(v) = &row.validation {
            let of = |mode: &crate::trainer::ModeResult| mode.ratio.filter(|_| mode.stalled == 0);
            points.push(CurvePoint {
                iteration: row.iteration,
                seconds,
                greedy: of(&v.greedy),
                sampled: of(&v.sampled),
            });
        }
    }
    let best = checkpoint.best.as_ref().and_then(|b| points.iter().position(|p| p.iteration == b.iteration));
    let curve =
        LearningCurve { workload: &args.workload[0], reference: &args.reference, points: &points, imitation_s, best };
    Ok(learning_curve(&curve)?)
}

/// What came out, in words.
fn summary(args: &TrainArgs, checkpoint: &Checkpoint, end: Option<End>, output: &mut Output) -> Result<()> {
    let seconds: f64 = checkpoint.seconds.iter().sum();
    let decisions: u64 = checkpoint.rows.iter().map(|r| r.decisions).sum();
    let iterations = checkpoint.iteration().unwrap_or(0);
    let why = match end {
        Some(End::Iterations) => "all done",
        Some(End::Patience) => "no better for as long as --patience allows",
        None => "the time is up",
    };
    output.text(format!("{iterations} iterations, {decisions} decisions, {:.1} min: {why}\n", seconds / 60.0))?;
    let mut table = Table::new(&["network", "iteration", "greedy", "sampled"]);
    let mut line = |name: &str, iteration: u32| {
        let row = checkpoint.rows.iter().find(|r| r.iteration == iteration);
        if let Some(v) = row.and_then(|r| r.validation.as_ref()) {
            let cell = |mode: &crate::trainer::ModeResult| match (mode.ratio, mode.stalled) {
                (Some(ratio), 0) => format!("{ratio:.3}"),
                (Some(ratio), n) => format!("{ratio:.3}, {n} stalled"),
                (None, _) => "stalled".to_owned(),
            };
            table.row([name.to_owned(), iteration.to_string(), cell(&v.greedy), cell(&v.sampled)]);
        }
    };
    line("first", 0);
    if let Some(best) = &checkpoint.best {
        line("best", best.iteration);
    }
    line("last", iterations);
    output.text(format!(
        "{table}\nmean job completion time ÷ {}'s on {} validation episodes",
        args.reference, args.validation
    ))?;
    let best = args.output.join("best.safetensors");
    let hash = checkpoint.best.as_ref().map(|b| b.weights.to_tensors().to_safetensors(None)).transpose()?;
    let hash = hash.map(|bytes| sha256_hex(&bytes));
    match &checkpoint.best {
        Some(_) => output.text(best.display())?,
        None => output.text("no network got through all validation episodes, so there is no best.safetensors")?,
    }
    output.json(
        "train",
        &json!({"dir": args.output, "iterations": iterations, "decisions": decisions, "seconds": seconds, "end": end,
            "best": checkpoint.best.as_ref().map(|b| json!({"iteration": b.iteration, "score": b.score, "file": best, "sha256": hash}))}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_devices_are_read() {
        for (text, seconds) in [("90s", 90.0), ("10m", 600.0), ("1.5h", 5400.0), ("7", 7.0)] {
            assert_eq!(parse_time(text), Ok(Duration::from_secs_f64(seconds)));
        }
        for text in ["", "h", "3 days", "-1s", "nan"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
        assert_eq!(parse_device("cuda:1"), Ok(tch::Device::Cuda(1)));
        assert!(parse_device("gpu").is_err());
    }
}
