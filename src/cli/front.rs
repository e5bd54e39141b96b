//! `distill front`: how much fidelity does a given size buy, and which model gives it?

use super::{
    common::{Common, Verdict},
    compare::beside_teacher,
    files::{check_folder, shown, write_json},
    fit_options::{learner, learner_help, size, structure},
    inputs::Inputs,
    output::Output,
    progress::Watched,
    table::{Table, interval},
};
use crate::{
    distiller::{By, FitParams, FrontModel, Learner, pareto},
    evaluator::FidelityRow,
    figure::{COMPLETION_FIGURES, Figure},
    level::ALL_KINDS,
    model::Structure,
    pipeline::{FitPlan, Front, FrontParams, MAX_SIZE, RunDir, SizedStudent, front},
};
use anyhow::{Context, Result};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use std::path::PathBuf;

/// Compare learners and sizes, and combine them into students of a given total size
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill front runs/demo/traces/train -o runs/demo\n  \
distill front runs/demo/traces/train -o front -t decima --max-size 32",
    after_long_help = "Examples:\n  distill front runs/demo/traces/train -o runs/demo\n  \
distill front runs/demo/traces/train -o front -t decima --max-size 32\n  \
distill front trace --validation other-trace -o front --max-size 200 --learner tree,spline-logit\n\n\
Closed loop of every total size:\n  \
distill front trace -o front -t decima:model.pt -w tpch:profiles.json.gz -n 40\n\n\
Writes front.json, and size-N.json, the best student found of total size N, for every N that is a power of two and for the \
largest. All figures are on validation choices, the closed loop on validation seeds: measure the student that you choose on \
test data (`distill evaluate`)."
)]
pub(super) struct FrontArgs {
    /// Trace to learn from
    #[arg(help_heading = "Input")]
    trace: PathBuf,
    /// Trace to choose and measure on [default: the last fifth of TRACE]
    ///
    /// None of its episodes may be one of TRACE.
    #[arg(long, value_name = "TRACE", help_heading = "Input")]
    validation: Option<PathBuf>,
    /// Largest size over all levels, leaves and terms together
    #[arg(long, value_name = "N", value_parser = size, default_value_t = MAX_SIZE, help_heading = "Models")]
    max_size: usize,
    /// Learners to compare, e.g. tree,logit [default: five of them]
    #[arg(
        long = "learner", value_parser = learner(), value_delimiter = ',', value_name = "NAME",
        default_values = FitPlan::LEARNERS.map(Learner::name), hide_possible_values = true,
        hide_default_value = true, long_help = learners_help(), help_heading = "Models"
    )]
    learners: Vec<Learner>,
    /// The figure that decides, as the mean over the kinds of choice [default: as in `distill fit`, the least regret among
    /// those whose top-1 is as good as the best, up to noise]
    #[arg(long, value_name = "FIGURE", value_parser = by(), help_heading = "Models", hide_short_help = true)]
    by: Option<By>,
    /// Choices learnt from per level at most, drawn by their weights
    #[arg(long, value_name = "N", default_value_t = FitPlan::CHOICES, help_heading = "Models", hide_short_help = true)]
    max_choices: usize,
    /// How far kinds of choices are balanced: 0 counts choices, 1 gives every kind the same weight
    #[arg(
        long, default_value_t = FitParams::default().balance, value_name = "X", help_heading = "Models",
        hide_short_help = true
    )]
    balance: f64,
    /// Whether students take the most probable stage of the most probable job (hierarchical) or of all jobs (flat)
    #[arg(
        long, value_name = "STRUCTURE", value_parser = structure(), default_value = "hierarchical", help_heading = "Models",
        hide_short_help = true
    )]
    structure: Structure,
    /// Teacher to compare with in closed loop, on validation seeds
    #[arg(short, long, value_name = "POLICY", help_heading = "Closed loop")]
    teacher: Option<String>,
    /// Workload of the closed loop [default: that of the trace]
    #[arg(short, long, value_name = "WORKLOAD", requires = "teacher", help_heading = "Closed loop")]
    workload: Option<String>,
    /// Episodes of the closed loop
    #[arg(
        short = 'n', long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Closed loop"
    )]
    episodes: u32,
    /// Directory to write to
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
}

fn learners_help() -> String {
    format!("{} [default: {}]", learner_help(), FitPlan::LEARNERS.map(Learner::name).join(", "))
}

/// Parses the name of a figure.
fn by() -> impl TypedValueParser<Value = By> {
    let named = |name: String| By::ALL.into_iter().find(|by| by.name() == name);
    PossibleValuesParser::new(By::ALL.map(By::name))
        .map(move |name| named(name).expect("the parser lets no other names through"))
}

impl FrontArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        let traces = [&self.trace].into_iter().chain(&self.validation);
        Inputs::default().traces(traces).policies(&self.teacher).workloads(&self.workload)
    }
}

pub(super) fn run(args: &FrontArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let fit = FitParams {
        learners: args.learners.clone(),
        used: args.learners[0].name().to_owned(),
        balance: args.balance,
        max_choices: Some(args.max_choices),
        structure: args.structure,
        ..FitParams::default()
    };
    check_folder(&args.output)?;
    let trace = common.learning_trace(&args.trace)?;
    let validation = args.validation.as_deref().map(|path| common.learning_trace(path)).transpose()?;
    let scenario = args.teacher.as_ref().map(|_| common.scenario_of(&trace.manifest.feature_set)).transpose()?;
    let episodes = (common.seed, args.episodes);
    let closed_loop = args.teacher.as_ref().zip(scenario).map(|(teacher, scenario)| {
        beside_teacher(teacher, args.workload.as_ref(), episodes, (scenario, &trace), output)
    });
    let closed_loop = closed_loop.transpose()?;
    let params = FrontParams { fit, most: args.max_size, by: args.by, closed_loop };
    let watched = Watched::new(output);
    let (front, sized) = front(scenario, &trace, validation.as_ref(), &params, watched.caller())?;
    drop(watched);
    let file = |sized: &SizedStudent| args.output.join(format!("size-{}.json", sized.most));
    sized.iter().try_for_each(|s| s.student.save(&file(s)))?;
    let objective = trace.manifest.figures.first().unwrap_or(&COMPLETION_FIGURES[0]);
    print(&front, &sized, objective, args, output)?;
    let whole = front.to_file(&trace, args.by.unwrap_or(By::Top1), &sized, |s| shown(&file(s)));
    // As a value, so that fields come in the order of their names.
    let whole = serde_json::to_value(&whole).context("cannot write the front as JSON")?;
    write_json(&args.output.join("front.json"), &whole)?;
    RunDir::note_command(&args.output, &common.command_line())?;
    output.json("front", &whole)?;
    Ok(Verdict::Done)
}

/// The fronts of all levels, and the totals.
fn print(
    front: &Front,
    totals: &[SizedStudent],
    objective: &Figure,
    args: &FrontArgs,
    output: &mut Output,
) -> Result<()> {
    let by = args.by.unwrap_or(By::Top1);
    let kinds = |models: &[FrontModel]| -> Vec<String> {
        models
            .first()
            .map_or(Vec::new(), |m| m.fidelity.iter().filter(|r| r.kind != ALL_KINDS).map(|r| r.kind.clone()).collect())
    };
    let short = |r: &FidelityRow| match r.regret {
        Some(regret) => format!("{:.3} / {:.4}", r.top1.value, regret.value),
        None => format!("{:.3}", r.top1.value),
    };
    for (level, models) in &front.levels {
        let kinds = kinds(models);
        let header: Vec<String> = kinds.iter().map(|k| format!("{k}: top-1 / regret")).collect();
        let names = [format!("level {level}"), "learner".to_owned()].into_iter().chain(header).collect::<Vec<_>>();
        let mut table = Table::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        for i in pareto(models, by) {
            let m = &models[i];
            let figures = m.fidelity.iter().filter(|r| r.kind != ALL_KINDS).map(short);
            table.row([format!("size {}", m.size), m.named.name.clone()].into_iter().chain(figures));
        }
        output.text(format!("{table}\n"))?;
    }
    let mut header = vec!["total size".to_owned()];
    header.extend(front.levels.iter().map(|(level, _)| level.clone()));
    header.extend(args.teacher.iter().map(|_| objective.against("teacher")));
    header.push("student".to_owned());
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for total in totals {
        let mut row = vec![total.student.size().to_string()];
        row.extend(front.levels.iter().zip(&total.chosen).map(|((_, models), &i)| {
            let m = &models[i];
            let value = m.value(by).unwrap_or(f64::NAN);
            format!("{} {}: {:.3}", m.named.name, m.size, if by.grows() { value } else { -value })
        }));
        if args.teacher.is_some() {
            row.push(total.to_teacher.as_ref().map_or("stalled".to_owned(), |e| interval(e, 3)));
        }
        row.push(format!("size-{}.json", total.most));
        table.row(row);
    }
    output.text(format!("{} per level: mean over kinds of choice, on the validation choices", by.name()))?;
    output.text(table)?;
    output.text(format!("the students are in {}", args.output.display()))
}
