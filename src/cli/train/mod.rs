//! `distill train`: teach a neural scheduler.

mod decima;
mod dl2;
mod folder;
mod method;
mod scorer;

use super::{
    common::{Common, Verdict},
    files::shown,
    inputs::Inputs,
    interrupt::{Interrupted, STOP},
    output::Output,
    progress::TrainingBar,
    table::Table,
};
use crate::{
    figure::{Compared, Figure},
    level::sha256_hex,
    network::{NeuralError, Tensors},
    pipeline::{PracticeParams, ground},
    practice::{Ground, GroundSources},
    registry::Registered,
    trainer::{Checkpoint, Device, End, Judge, ModeResult, Schedule, Session, Steps, TrainError, Trainee, Weights},
};
use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use folder::{prepare, write};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

/// Seconds between two saves of the state.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// Train a neural scheduler by reinforcement learning in the simulator
#[derive(Args)]
#[command(after_help = "Examples:\n  distill train decima -o runs/decima --time-limit 10m\n  \
distill train dl2 --warm-start optimus -o runs/dl2 --time-limit 30m\n  \
distill train scorer -o runs/scorer --time-limit 30m\n\n\
Writes best.safetensors, last.safetensors, metrics.parquet, curve.png and the state of the training to the folder; the same \
command goes on after an interruption (docs/training.md).")]
pub(super) struct TrainArgs {
    #[command(subcommand)]
    network: NetworkArgs,
}

#[derive(Subcommand)]
enum NetworkArgs {
    /// The graph network of Decima, for jobs of stages
    Decima(Box<decima::DecimaArgs>),
    /// The network of DL2, for training jobs with workers and parameter servers
    Dl2(Box<dl2::Dl2Args>),
    /// A network over the features of any scenario (--scenario)
    Scorer(Box<scorer::ScorerArgs>),
}

/// What every training may be told.
#[derive(Args)]
struct RunArgs {
    /// Workload, repeatable (see `distill list workloads`)
    ///
    /// Of several, job sequences come in turn, and validation looks at all.
    #[arg(short, long, default_value = "builtin", value_name = "WORKLOAD", help_heading = "Input")]
    workload: Vec<String>,
    /// Checkpoint to begin with, .safetensors or .pt [default: random weights]
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    init: Option<PathBuf>,
    /// Policy or trace to learn from first
    #[arg(long, value_name = "POLICY|TRACE", help_heading = "Input")]
    warm_start: Option<String>,
    /// Iterations of learning from it [default: 30; of a scorer 5]
    #[arg(
        long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "warm_start",
        help_heading = "Input", hide_short_help = true
    )]
    warm_start_iterations: Option<u32>,
    /// Step of Adam while learning from it
    #[arg(
        long, default_value_t = Steps::default().imitation_rate, value_name = "X", requires = "warm_start",
        help_heading = "Input", hide_short_help = true
    )]
    warm_start_rate: f64,
    /// Iterations of reinforcement learning; 0 for a warm start alone [default: 1000; of a scorer 200]
    #[arg(long, value_name = "N", help_heading = "Extent")]
    iterations: Option<u32>,
    /// End after so much time, e.g. 90s, 10m, 2h
    ///
    /// Over all runs of the command; results then depend on the machine's speed.
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Extent")]
    time_limit: Option<Duration>,
    /// End after so many validations without a new best; 0 for never
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Extent")]
    patience: u32,
    /// Where gradients are computed: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu", value_name = "DEVICE", value_parser = parse_device, help_heading = "Extent")]
    device: Device,
    /// Iterations from the first to the last value of what changes [default: --iterations]
    #[arg(long, value_name = "N", help_heading = "Extent", hide_short_help = true)]
    anneal: Option<u32>,
    /// Iterations between two validations
    #[arg(
        long, default_value_t = Schedule::default().validate_every, value_name = "N", help_heading = "Validation",
        hide_short_help = true
    )]
    validate_every: u32,
    /// Episodes of a validation
    #[arg(long, default_value_t = Schedule::default().validation, value_name = "N", help_heading = "Validation")]
    validation_episodes: u32,
    /// Which mode decides what is best
    #[arg(long, value_enum, default_value_t = JudgeArg::Both, help_heading = "Validation", hide_short_help = true)]
    judge: JudgeArg,
    /// Policy that validations compare with [default: the heuristic that all are measured against]
    #[arg(long, value_name = "POLICY", help_heading = "Validation", hide_short_help = true)]
    reference: Option<String>,
    /// Folder for the training
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    /// Begin anew where the folder holds another training
    #[arg(long, help_heading = "Output")]
    force: bool,
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

fn parse_device(text: &str) -> Result<Device, String> {
    match text.split_once(':') {
        None if text == "cpu" => Ok(Device::Cpu),
        None if text == "cuda" => Ok(Device::Cuda(0)),
        Some(("cuda", number)) if number.parse::<usize>().is_ok() => Ok(Device::Cuda(number.parse().unwrap_or(0))),
        _ => Err("expected cpu, cuda or cuda:N".to_owned()),
    }
}

impl TrainArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        match &self.network {
            NetworkArgs::Decima(args) => args.inputs(),
            NetworkArgs::Dl2(args) => args.inputs(),
            NetworkArgs::Scorer(args) => args.inputs(),
        }
    }
}

impl RunArgs {
    /// What it reads.
    fn inputs(&self) -> Inputs {
        let policies = self.reference.iter().chain(&self.warm_start);
        Inputs::default().workloads(&self.workload).files(&self.init).policies(policies)
    }

    /// The schedule, with so many iterations where the user names none.
    fn schedule(&self, seed: u64, usual: Schedule) -> Schedule {
        let iterations = self.iterations.unwrap_or(usual.iterations);
        let imitation = self.warm_start_iterations.unwrap_or(usual.imitation);
        Schedule {
            imitation: if self.warm_start.is_some() { imitation } else { 0 },
            iterations,
            anneal: self.anneal.unwrap_or(iterations.max(1)),
            validate_every: self.validate_every,
            validation: self.validation_episodes,
            judge: match self.judge {
                JudgeArg::Both => Judge::Both,
                JudgeArg::Greedy => Judge::Greedy,
                JudgeArg::Sampled => Judge::Sampled,
            },
            patience: self.patience,
            seed,
        }
    }

    /// Opens workloads, the policy to compare with, and what a warm start learns from.
    fn ground<S: Registered>(&self) -> Result<Ground<S>> {
        Ok(ground(S::entry(), &self.practice())?)
    }

    /// What they are called.
    fn practice(&self) -> PracticeParams {
        PracticeParams {
            workloads: self.workload.clone(),
            reference: self.reference.clone(),
            teacher: self.warm_start.clone(),
        }
    }

    /// The weights to begin with: a checkpoint's, as `read` takes them, or random ones.
    fn init(
        &self,
        read: impl FnOnce(&Tensors, &str) -> Result<Weights, NeuralError>,
        random: impl FnOnce() -> Weights,
    ) -> Result<Weights> {
        Ok(match &self.init {
            Some(path) => read(&Tensors::load(path)?, &path.display().to_string())?,
            None => random(),
        })
    }

    /// What makes this training this one, with the hashes of all files.
    fn plan(&self, network: &str, sources: GroundSources, begin: &Weights) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"), "network": network, "workloads": sources.workloads,
            "reference": sources.reference, "warm_start": sources.teacher,
            "init": self.init.as_ref().map(|path| json!({"file": shown(path), "sha256": begin.to_tensors().sha256()})),
            "device": format!("{:?}", self.device),
        })
    }
}

pub(super) fn run(args: &TrainArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    match &args.network {
        NetworkArgs::Decima(args) => decima::run(args, common, output),
        NetworkArgs::Dl2(args) => dl2::run(args, common, output),
        NetworkArgs::Scorer(args) => scorer::run(args, common, output),
    }
}

/// An interruption as the program tells it.
fn stopped(error: TrainError) -> anyhow::Error {
    match error {
        TrainError::Interrupted => Interrupted.into(),
        other => other.into(),
    }
}

/// Trains from the given weights, or from where the folder's training stands.
fn train<L: Trainee>(
    trainee: &L,
    (plan, begin): (Value, Weights),
    (args, reference): (&RunArgs, &str),
    output: &mut Output,
) -> Result<Verdict> {
    let layout = begin.layout().clone();
    let checkpoint = prepare(args, &plan, &layout)?.unwrap_or_else(|| Checkpoint::new(begin));
    if let Some(done) = checkpoint.iteration().filter(|&done| done > 0) {
        output.note(format!("{}: going on after iteration {done}", args.output.display()));
    }
    let before: f64 = checkpoint.seconds.iter().sum();
    let schedule = trainee.schedule();
    let bar =
        TrainingBar::new(u64::from(schedule.imitation + schedule.iterations), args.time_limit, before, &output.notes());
    let name = (reference, trainee.objective());
    let mut session = Session::new(trainee, checkpoint, &STOP).map_err(stopped)?;
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
                bar.step(&row, trainee.objective(), elapsed);
                if row.validation.is_some() {
                    output.json("iteration", &row)?;
                }
            }
            Err(TrainError::Interrupted) => {
                bar.finish();
                write(args, name, session.checkpoint())?;
                return Err(Interrupted.into());
            }
            Err(other) => return Err(other.into()),
        }
        if saved.elapsed() > SAVE_EVERY {
            write(args, name, session.checkpoint())?;
            saved = Instant::now();
        }
    };
    bar.finish();
    write(args, name, session.checkpoint())?;
    summary(args, name, session.checkpoint(), end, output)?;
    Ok(Verdict::Done)
}

/// What came out, in words.
fn summary(
    args: &RunArgs,
    (reference, figure): (&str, &Figure),
    checkpoint: &Checkpoint,
    end: Option<End>,
    output: &mut Output,
) -> Result<()> {
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
            let cell = |mode: &ModeResult| {
                let figure = match (mode.compared, figure.compared) {
                    (Some(ratio), Compared::Ratio) => format!("{ratio:.3}"),
                    (Some(difference), Compared::Difference) => format!("{difference:+.3}"),
                    (None, _) if mode.stalled > 0 => return "stalled".to_owned(),
                    (None, _) => return "not comparable".to_owned(),
                };
                let counted = |n: u64, what: &str| if n > 0 { format!(", {n} {what}") } else { String::new() };
                figure + &counted(u64::from(mode.stalled), "stalled") + &counted(mode.rejected, "rejected")
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
        "{table}\n{} on {} validation episodes{}",
        figure.against(reference),
        args.validation_episodes,
        if args.workload.len() > 1 { " of each workload" } else { "" }
    ))?;
    let best = args.output.join("best.safetensors");
    let hash = checkpoint.best.as_ref().map(|b| b.weights.to_tensors().to_safetensors()).transpose()?;
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
    use crate::trainer::{decima::DecimaParams, dl2::Dl2Params, scorer::ScorerParams};

    #[test]
    fn times_and_devices_are_read() {
        for (text, seconds) in [("90s", 90.0), ("10m", 600.0), ("1.5h", 5400.0), ("7", 7.0)] {
            assert_eq!(parse_time(text), Ok(Duration::from_secs_f64(seconds)));
        }
        for text in ["", "h", "3 days", "-1s", "nan"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
        assert_eq!(parse_device("cuda:1"), Ok(Device::Cuda(1)));
        assert!(parse_device("gpu").is_err());
    }
    /// Options that nobody gives are what each network's training is by default, though the networks share them.
    #[test]
    fn defaults_are_those_of_the_network() {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            train: TrainArgs,
        }
        for network in ["decima", "dl2", "scorer"] {
            let program: Program = clap::Parser::parse_from(["distill", network, "-o", "folder"]);
            match program.train.network {
                NetworkArgs::Decima(args) => assert_eq!(args.params(0), DecimaParams::default()),
                NetworkArgs::Dl2(args) => assert_eq!(args.params(0), Dl2Params::default()),
                NetworkArgs::Scorer(args) => assert_eq!(args.params(0), ScorerParams::default()),
            }
        }
    }
}
