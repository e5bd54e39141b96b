//! `distill train dl2`.

use super::{
    RunArgs,
    method::{StepArgs, ends, ramp},
    train,
};
use crate::{
    cli::{
        common::{Common, Verdict},
        inputs::Inputs,
        output::Output,
    },
    practice::AnyGround as _,
    trainer::{
        Schedule, Weights,
        dl2::{Dl2Params, Dl2Trainee, Reward, layout, random},
    },
    training::{
        Training,
        network::{Dl2Form, Dl2Shape},
    },
};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;

/// Train the network of DL2, for training jobs with workers and parameter servers
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill train dl2 --warm-start optimus -o runs/dl2 --time-limit 30m\n  \
distill train dl2 --form flat -o runs/flat",
    after_long_help = "Examples:\n  distill train dl2 --warm-start optimus -o runs/dl2 --time-limit 30m\n\n\
A warm start alone, or from a recorded trace:\n  \
distill train dl2 --warm-start drf --iterations 0 -o runs/as-drf\n  \
distill train dl2 --warm-start runs/a/traces/train -o runs/warm\n\n\
As DL2 learns, and the network of DL2:\n  \
distill train dl2 --reward progress --discount 0 -o runs/bandit\n  \
distill train dl2 --form flat -o runs/flat\n\n\
Then (docs/training.md):\n  \
distill simulate --scenario training -p dl2:runs/dl2/best.safetensors -p optimus -p drf",
    mut_arg("entropy", |arg| arg.default_values(ends(Dl2Params::default().steps.entropy))),
    mut_arg("clip", |arg| arg.help("How far the ratio of probabilities may go from 1"))
)]
pub(super) struct Dl2Args {
    #[command(flatten)]
    run: RunArgs,
    /// Jobs that the network sees
    #[arg(long, default_value_t = Dl2Shape::WINDOW as u32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Method", hide_short_help = true)]
    window: u32,
    /// How the network joins them
    #[arg(long, value_enum, default_value_t = FormArg::Pooled, help_heading = "Method", hide_short_help = true)]
    form: FormArg,
    /// Neurons of each layer, a multiple of 16 [default: 64; flat: 4 per job of the window]
    #[arg(long, value_name = "N", help_heading = "Method", hide_short_help = true)]
    hidden: Option<usize>,
    /// Traces per iteration
    #[arg(long, default_value_t = Dl2Params::default().traces, value_name = "N", help_heading = "Method", hide_short_help = true)]
    traces: u32,
    /// What a slot is worth
    #[arg(long, value_enum, default_value_t = RewardArg::Time, help_heading = "Method", hide_short_help = true)]
    reward: RewardArg,
    /// Discount per slot of what comes after it; 0 for decisions that answer for their slot only
    #[arg(long, default_value_t = Dl2Params::default().discount, value_name = "X", help_heading = "Method", hide_short_help = true)]
    discount: f64,
    /// Decay per decision of the blame for later surprises
    #[arg(long, default_value_t = Dl2Params::default().trace_decay, value_name = "X", help_heading = "Method", hide_short_help = true)]
    trace_decay: f64,
    #[command(flatten)]
    steps: StepArgs,
    /// Share of slots with job-aware exploration at first and at last
    #[arg(long, num_args = 1..=2, default_values = ends(Dl2Params::default().exploration), value_names = ["FROM", "TO"], help_heading = "Method", hide_short_help = true)]
    exploration: Vec<f64>,
    /// Decisions per step
    #[arg(long, default_value_t = Dl2Params::default().batch, value_name = "N", help_heading = "Method", hide_short_help = true)]
    batch: u32,
    /// How often each decision is drawn, on average
    #[arg(long, default_value_t = Dl2Params::default().reuse, value_name = "X", help_heading = "Method", hide_short_help = true)]
    reuse: f64,
    /// Exponent of the priority of surprising decisions; 0 draws all alike
    #[arg(long, default_value_t = Dl2Params::default().priority, value_name = "X", help_heading = "Method", hide_short_help = true)]
    priority: f64,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormArg {
    /// Every job through the same layers, then summed up
    Pooled,
    /// All jobs in one row, as in DL2
    Flat,
}

#[derive(Clone, Copy, ValueEnum)]
enum RewardArg {
    /// Less the time that jobs lose
    Time,
    /// Shares of their epochs that jobs do, as in DL2
    Progress,
}

impl Dl2Args {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        self.run.inputs()
    }

    /// What it says of a training.
    pub(super) fn params(&self, seed: u64) -> Dl2Params {
        Dl2Params {
            schedule: self.run.schedule(seed, Schedule { imitation: 30, ..Schedule::default() }),
            traces: self.traces,
            reward: match self.reward {
                RewardArg::Time => Reward::Time,
                RewardArg::Progress => Reward::Progress,
            },
            discount: self.discount,
            trace_decay: self.trace_decay,
            steps: self.steps.steps(self.run.warm_start_rate),
            exploration: ramp(&self.exploration),
            batch: self.batch,
            reuse: self.reuse,
            priority: self.priority,
            ..Dl2Params::default()
        }
    }

    /// Form and size of a network for so many types of job.
    fn shape(&self, types: usize) -> Result<Dl2Shape> {
        let window = self.window as usize;
        let (form, usual) = match self.form {
            FormArg::Pooled => (Dl2Form::Pooled { types }, 64),
            // Two thirds of its six inputs per job.
            FormArg::Flat => (Dl2Form::Flat, (4 * window).next_multiple_of(16).min(4096)),
        };
        let hidden = self.hidden.unwrap_or(usual);
        if hidden == 0 || !hidden.is_multiple_of(16) || hidden > 4096 {
            bail!("--hidden {hidden}: neurons come in multiples of 16, up to 4096");
        }
        Ok(Dl2Shape { form, window, hidden })
    }
}

pub(super) fn run(args: &Dl2Args, common: &Common, output: &mut Output) -> Result<Verdict> {
    common.require::<Training>("dl2")?;
    let params = args.params(common.seed);
    params.check()?;
    let ground = args.run.ground::<Training>()?;
    let (workloads, (name, reference)) = (&ground.workloads.1, &ground.reference);
    let lessons = ground.lessons.as_ref().map(|(_, lessons)| lessons);
    let shape = args.shape(workloads.iter().map(|w| w.cluster().types.len()).max().unwrap_or(1))?;
    let begin = args
        .run
        .init(|tensors, origin| Weights::from_tensors(layout(shape), tensors, origin), || random(shape, common.seed))?;
    let mut plan = args.run.plan("dl2", ground.sources()?, &begin);
    plan["params"] = json!(params);
    plan["shape"] = json!(shape);
    let trainee = Dl2Trainee::new(workloads, (name, &**reference), lessons, &params, shape, args.run.device)?;
    train(&trainee, (plan, begin), (&args.run, name), output)
}
