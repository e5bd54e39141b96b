//! `distill loop`: fit, let the student drive, have the teacher label, fit again.

use super::{
    common::{Common, Verdict},
    files::{check_folder, check_none_within, files_of, shown},
    fit_options::FitOptions,
    inputs::Inputs,
    output::Output,
    progress::Watched,
    table,
};
use crate::{
    distiller::{IterationResult, LoopResult, LoopSettings, Weighting},
    evaluator::FidelityRow,
    figure::Figure,
    pipeline::{LoopParams, Watch as _},
    trace::WhatIf,
};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::PathBuf;

/// Improve a student on the states that it visits itself (DAgger, VIPER)
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill loop dagger -t decima -o runs/dagger\n  \
distill loop viper -t decima --weights regret --iterations 3 -o runs/viper",
    after_long_help = "Examples:\n  distill loop dagger -t decima -o runs/dagger\n  \
distill loop viper -t decima --weights regret --iterations 3 -o runs/viper\n  \
distill loop dagger -t decima:model.pt -w tpch:tpch_profiles.json.gz,jobs=50 -o runs/d --max-leaves 32\n\n\
Iteration 0 learns from the states of the teacher. From then on the student of the iteration before drives (in beta^i of the \
episodes still the teacher), the teacher labels every state, and a new student is fitted on all states so far. The iteration \
with the lowest job completion time on validation seeds becomes DIR/student.json. Measure it on others:\n  \
distill evaluate runs/dagger/student.json -t decima\n\n\
If it is interrupted, the same command goes on where it stopped (docs/loops.md)."
)]
pub(super) struct LoopArgs {
    /// Which loop
    #[arg(value_enum, help_heading = "Input")]
    method: Method,
    /// Teacher that labels (see `distill list policies`)
    #[arg(short, long, value_name = "POLICY", help_heading = "Input")]
    teacher: String,
    /// Workload (see `distill list workloads`)
    #[arg(short, long, default_value = "builtin", value_name = "WORKLOAD", help_heading = "Input")]
    workload: String,
    /// Number of fits after the first one
    #[arg(long, default_value_t = 4, value_name = "N", help_heading = "Iterations")]
    iterations: u32,
    /// New training episodes of each iteration
    #[arg(short = 'n', long, default_value_t = 40, value_name = "N", help_heading = "Iterations")]
    episodes: u32,
    /// Validation episodes to choose the best iteration on
    #[arg(long, default_value_t = 40, value_name = "N", help_heading = "Iterations")]
    validation_episodes: u32,
    /// The teacher drives the share X^i of episodes
    ///
    /// Here i is the number of the iteration.
    #[arg(long, default_value_t = 0.0, value_name = "X", help_heading = "Iterations")]
    beta: f64,
    /// What viper weighs choices by: the teacher's log-probability gap, or simulated regret [default: gap]
    #[arg(long, value_enum, help_heading = "Iterations", hide_short_help = true)]
    weights: Option<Weights>,
    /// Most states per iteration whose regret is simulated
    #[arg(long, default_value_t = 1000, value_name = "N", help_heading = "Iterations", hide_short_help = true)]
    regret_states: u32,
    /// Simulated seconds over which regret adds up
    #[arg(long, default_value_t = 500.0, value_name = "S", help_heading = "Iterations", hide_short_help = true)]
    horizon: f64,
    #[command(flatten)]
    fit: FitOptions,
    /// Directory to write
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    /// Remove a loop that was made with other arguments
    #[arg(long, help_heading = "Output")]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Method {
    /// All choices count alike
    Dagger,
    /// Choices count by what a mistake costs
    Viper,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Weights {
    Gap,
    Regret,
}

impl LoopArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        let inputs = Inputs::default().policies([&self.teacher]).workloads([&self.workload]);
        inputs.files(self.fit.params_file())
    }
}

pub(super) fn run(args: &LoopArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let weighting = match (args.method, args.weights) {
        (Method::Dagger, None) => Weighting::Even,
        (Method::Dagger, Some(_)) => bail!("--weights is for viper; dagger counts all choices alike"),
        (Method::Viper, None | Some(Weights::Gap)) => Weighting::Gap,
        (Method::Viper, Some(Weights::Regret)) => {
            Weighting::Regret(WhatIf { states: args.regret_states, horizon_ms: 1e3 * args.horizon })
        }
    };
    let fit = args.fit.params()?;
    fit.check()?;
    if args.force {
        let files = files_of([&args.teacher, &args.workload]);
        check_none_within(&args.output, files.iter().map(PathBuf::as_path).chain(args.fit.files()))?;
    }
    check_folder(&args.output)?;
    let scenario = common.scenario()?;
    output.text(format!("workload {}", args.workload))?;
    let settings = LoopSettings {
        seed: common.seed,
        iterations: args.iterations,
        episodes: args.episodes,
        validation_episodes: args.validation_episodes,
        beta: args.beta,
        weighting,
        fit,
    };
    let (teacher, workload, dir) = (args.teacher.clone(), args.workload.clone(), args.output.clone());
    let params = LoopParams { teacher, workload, settings, dir, force: args.force };
    let objective = scenario.info().objective();
    let against = objective.against("teacher");
    let mut said = Ok(());
    let watched = Watched::new(output);
    let mut each = |iteration: &IterationResult| {
        if said.is_ok() {
            watched.note(&format!("iteration {}: {against} {}", iteration.iteration, to_teacher(iteration)));
            said = output.json("iteration", iteration);
        }
    };
    let result = scenario.run_loop(&params, &mut each, watched.caller());
    drop(watched);
    said?;
    let result = result?;
    print(&result, objective, output)?;
    let student = args.output.join("student.json");
    output.text(format!(
        "\n{}: the student of iteration {}, chosen on these very episodes",
        student.display(),
        result.best
    ))?;
    output.json("loop", &json!({"dir": shown(&args.output), "student": shown(&student), "best": result.best}))?;
    Ok(Verdict::Done)
}

fn to_teacher(r: &IterationResult) -> String {
    r.to_teacher.as_ref().map_or("stalled".to_owned(), |e| table::interval(e, 3))
}

/// One line per iteration, then fidelity on the states of teacher and student.
fn print(result: &LoopResult, objective: &Figure, output: &mut Output) -> Result<()> {
    let against = objective.against("teacher");
    let mut summary =
        table::Table::new(&["iteration", "driven by teacher", "decisions", "differing", "regret", "size", &against]);
    for r in &result.iterations {
        let best = if r.iteration == result.best { " best" } else { "" };
        summary.row([
            format!("{}{best}", r.iteration),
            format!("{} of {}", r.teacher_episodes, r.episodes),
            r.decisions.to_string(),
            r.differing.map_or("-".to_owned(), |n| n.to_string()),
            r.mean_regret.map_or("-".to_owned(), |cost| match objective.unit.as_ref() {
                "ms" => format!("{:.2} s", cost / 1e3),
                _ => format!("{cost:.3}"),
            }),
            r.size.to_string(),
            to_teacher(r),
        ]);
    }
    output.text(summary)?;
    output.text("\nvalidation: top-1 (regret), by iteration")?;
    let numbers: Vec<String> = result.iterations.iter().map(|r| r.iteration.to_string()).collect();
    let header: Vec<&str> =
        ["level, kind", "states of"].into_iter().chain(numbers.iter().map(String::as_str)).collect();
    let mut fidelity = table::Table::new(&header);
    let cell = |rows: &[FidelityRow], level: &str, kind: &str| {
        rows.iter().find(|r| r.level == level && r.kind == kind).map_or("-".to_owned(), |r| match &r.regret {
            Some(regret) => format!("{:.3} ({:.3})", r.top1.value, regret.value),
            None => format!("{:.3}", r.top1.value),
        })
    };
    for row in result.iterations.first().map_or(&[][..], |r| &r.on_teacher_states) {
        let (level, kind) = (row.level.as_str(), row.kind.as_str());
        let name = format!("{level}, {kind}");
        let teacher = result.iterations.iter().map(|r| cell(&r.on_teacher_states, level, kind));
        fidelity.row([name.clone(), "teacher".to_owned()].into_iter().chain(teacher));
        let own = result.iterations.iter().map(|r| cell(&r.on_own_states, level, kind));
        fidelity.row([name, "student".to_owned()].into_iter().chain(own));
    }
    output.text(fidelity)
}
