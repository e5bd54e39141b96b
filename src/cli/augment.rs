//! `distill augment`: search guards, patches and numbers that make a student schedule better.

use super::{
    Common, Verdict,
    compare::{Shown, WorkloadArgs, unless_failed},
    files::{check_folder, check_no_input, files_of, shown},
    output::Output,
    progress::Watched,
    table::Table,
};
use crate::{
    augment::{AugmentParams, Step},
    evaluator::ClosedLoop,
    model::{Evidence, Student},
    pipeline::{AugmentRequest, Augmented, Contender, Hear, Watch as _},
};
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::{ops::ControlFlow, path::PathBuf};

/// Search guards, patches and numbers that make a student schedule better than its teacher
#[derive(Args)]
#[command(after_help = "Examples:\n  distill augment student.json -o augmented\n  distill augment student.json -w \
tpch:tpch_profiles.json.gz,executors=10,jobs=50 \\\n      -p decima:model.pt -p decima:model.pt,mode=sample -p sjf -o augmented\n  distill augment student.json -w builtin \
-w builtin,edge=wide -o augmented       for both, by turns\n\nThe search sees \
training episodes; what it finds is kept if it also helps on validation episodes, and the end result is\nmeasured on test \
episodes. Writes student.json, steps.json and evaluations.jsonl to the\noutput folder; \
the same command goes on after an interruption.")]
pub(super) struct AugmentArgs {
    /// Student to begin with
    student: PathBuf,
    /// Folder for the augmented student and the journal of the search
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    workloads: WorkloadArgs,
    /// Policy to compare with in the end, repeatable; the first is the baseline of the ratios
    #[arg(short, long = "policy", value_name = "POLICY")]
    policies: Vec<String>,
    /// Episodes that the search may run, training and validation together; its end takes some more
    #[arg(long, default_value_t = AugmentParams::default().budget, value_name = "N")]
    budget: u64,
    /// Validation episodes in which every change is confirmed
    #[arg(long, default_value_t = AugmentParams::default().validation, value_name = "N")]
    validation: u32,
    /// Most guards
    #[arg(long, default_value_t = AugmentParams::default().max_guards, value_name = "N")]
    max_guards: usize,
    /// Largest number of leaves and coefficients, all levels together [default: 64, or the student's if larger]
    #[arg(long, value_name = "N")]
    max_size: Option<usize>,
    /// Share of the budget for moving all numbers at once (CMA-ES); the rest is for guards and patches
    #[arg(long, default_value_t = AugmentParams::default().polish, value_name = "SHARE")]
    polish: f64,
    /// First step of that search, in the scale of each number
    #[arg(long, default_value_t = AugmentParams::default().step, value_name = "X")]
    step: f64,
    /// Candidates per generation of that search
    #[arg(long, default_value_t = AugmentParams::default().population, value_name = "N")]
    population: usize,
    /// Training episodes per candidate of that search
    #[arg(long, default_value_t = AugmentParams::default().polish_episodes, value_name = "N")]
    polish_episodes: u32,
    /// Test episodes of the comparison in the end
    #[arg(short = 'n', long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    episodes: u32,
    /// Begin anew where the folder holds another search
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &AugmentArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let student = common.student(&args.student)?;
    let params = AugmentParams {
        budget: args.budget,
        validation: args.validation,
        max_guards: args.max_guards,
        max_size: args.max_size.unwrap_or(AugmentParams::default().max_size.max(student.size())),
        polish: args.polish,
        step: args.step,
        population: args.population,
        polish_episodes: args.polish_episodes,
        seed: common.seed,
    };
    let scenario = common.scenario_of(&student.feature_set)?;
    let ids = args.workloads.ids(scenario.info(), Some(&student), output)?;
    params.check(&student)?;
    check_folder(&args.output)?;
    let (path, steps_path) = (args.output.join("student.json"), args.output.join("steps.json"));
    let files = files_of(args.policies.iter().chain(&ids));
    for output in [&path, &steps_path] {
        check_no_input(output, [&args.student].into_iter().chain(&files).map(PathBuf::as_path))?;
    }
    let request = AugmentRequest {
        search: params,
        workloads: ids,
        others: args.policies.iter().map(|id| Contender::named(id)).collect(),
        episodes: args.episodes,
        seed: common.seed,
        dir: args.output.clone(),
        force: args.force,
    };
    let watched = Watched::new(output);
    let mut heard = Heard { watched: &watched, output, shown: Shown::default(), steps: header(), failed: None };
    let found = scenario.augment(&student, &request, &mut heard, watched.caller());
    let Heard { shown: comparisons, failed, .. } = heard;
    drop(watched);
    failed.map_or(Ok(()), Err)?;
    let Augmented { student: augmented, steps, closed_loops } = comparisons.end(found, output)?;
    output.text(format!("\n{} (size {}, {} guards)", path.display(), augmented.size(), augmented.guards.len()))?;
    output.json(
        "augment",
        &json!({"student": shown(&path), "hash": augmented.hash(), "size": augmented.size(), "guards": augmented.guards,
                "patches": augmented.patches.len(), "steps": steps, "closed_loop": closed_loops.first(),
                "other_workloads": closed_loops.get(1..).unwrap_or_default()}),
    )?;
    Ok(Verdict::Done)
}

/// Prints what a search finds.
struct Heard<'a> {
    watched: &'a Watched,
    output: &'a mut Output,
    shown: Shown,
    steps: Table,
    /// What went wrong with printing.
    failed: Option<anyhow::Error>,
}

fn header() -> Table {
    Table::new(&["step", "gain on validation", "kept", "episodes"])
}

impl Hear for Heard<'_> {
    fn step(&mut self, step: &Step) {
        self.watched.note(&line(step));
        let kept = if step.kept { "yes" } else { "-" }.to_owned();
        self.steps.row([step.what.clone(), gain(step), kept, step.spent.to_string()]);
    }

    fn found(&mut self, student: &Student) -> ControlFlow<()> {
        let table = std::mem::replace(&mut self.steps, header());
        let printed = self.output.text(format!("{table}\n")).and_then(|()| print_edits(student, self.output));
        unless_failed(printed, &mut self.failed)
    }

    fn compared(&mut self, comparison: &ClosedLoop) -> ControlFlow<()> {
        self.shown.next(comparison, self.output)
    }
}

fn gain(step: &Step) -> String {
    format!("{:+.2} % ± {:.2}", 100.0 * step.validation_gain, 196.0 * step.standard_error)
}

fn line(step: &Step) -> String {
    let kept = if step.kept { "kept" } else { "not kept" };
    format!("{:>7} episodes  {}: {}, {kept}", step.spent, step.what, gain(step))
}

/// What was added to a student and what it does.
pub(super) fn print_edits(student: &Student, output: &mut Output) -> Result<()> {
    let mut table = Table::new(&["edit", "reason", "gain", "fires"]);
    let mut row = |what: String, e: &Evidence| {
        let percent = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{:.2} %", 100.0 * x));
        table.row([what, e.reason.clone(), percent(e.gain), percent(e.firing_rate)]);
    };
    for (i, guard) in student.guards.iter().enumerate() {
        row(format!("guard[{i}] {guard}"), &guard.evidence);
    }
    for (i, patch) in student.patches.iter().enumerate() {
        let what = match &patch.changes[..] {
            [one] => format!("{} {} -> {}", one.place, one.was, one.now),
            several => format!("{} numbers", several.len()),
        };
        row(format!("patch[{i}] {what}"), &patch.evidence);
    }
    match student.guards.is_empty() && student.patches.is_empty() {
        true => output.text("no guards, no patches\n"),
        false => output.text(format!("{table}\n")),
    }
}
