//! `distill augment`: search guards, patches and numbers that make a student schedule better.

use super::{
    augmented::{fidelity_json, print_edits, print_summary},
    common::{Common, Verdict},
    compare::{Shown, WorkloadArgs, unless_failed},
    files::{check_folder, check_no_input, files_of, shown},
    inputs::Inputs,
    output::Output,
    progress::Watched,
    table::Table,
};
use crate::{
    augment::{AugmentParams, Step},
    evaluator::ClosedLoop,
    model::Student,
    pipeline::{AugmentRequest, Augmented, Contender, Hear, Watch as _},
    simulation::EditBudget,
};
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::{ops::ControlFlow, path::PathBuf};

/// Search guards, patches and numbers that make a student schedule better
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill augment runs/demo/student.json -o runs/demo/better\n  \
distill augment runs/demo/student.json -p decima --budget 12000 -o runs/demo/best",
    after_long_help = "Examples:\n  distill augment runs/demo/student.json -o runs/demo/better\n  \
distill augment student.json -p decima:model.pt -p sjf -o augmented\n  \
distill augment student.json -w tpch:tpch_profiles.json.gz,executors=10,jobs=50 -o augmented\n\n\
For two workloads, by turns:\n  distill augment student.json -w builtin -w builtin,edge=wide -o augmented\n\n\
The search sees training episodes; what it finds is kept if it also helps on validation episodes, and the end result is \
compared with what there was on test episodes, on top of the budget. Edits are few, and each has a reason: \
`--max-edits 1000 --min-agreement 0` moves all numbers at once, as far as they go. Writes student.json, steps.json and evaluations.jsonl to the output folder; the same command goes \
on after an interruption (docs/augment.md)."
)]
pub(super) struct AugmentArgs {
    /// Student to begin with
    #[arg(help_heading = "Input")]
    student: PathBuf,
    #[command(flatten)]
    workloads: WorkloadArgs,
    /// Policy to compare with in the end; the first is the baseline
    ///
    /// Repeatable.
    #[arg(short, long = "policy", value_name = "POLICY", help_heading = "Closed loop")]
    policies: Vec<String>,
    /// Trace of the teacher on which fidelity is measured before and after
    ///
    /// Of another split than the student was fitted on.
    #[arg(long, value_name = "TRACE", help_heading = "Input")]
    trace: Option<PathBuf>,
    /// Test episodes of the comparison in the end
    #[arg(
        short = 'n', long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Closed loop"
    )]
    episodes: u32,
    /// Also make it harder to game: users may edit so much of their jobs, e.g. edits=1,duration=0.5
    ///
    /// What they gain, as a share of their completion times, counts as much as the objective. Every episode is then run several
    /// times, each time with another job described as serves it best.
    #[arg(
        long, value_name = "BUDGET", num_args = 0..=1, default_missing_value = "edits=1", require_equals = true,
        help_heading = "Search", hide_short_help = true
    )]
    under_attack: Option<EditBudget>,
    /// Episodes that the search may run in all
    ///
    /// Racing, moving numbers, confirming, and measuring what each edit does. The comparison in the end comes on top. A
    /// budget that is too small is refused with the smallest that is not.
    #[arg(long, default_value_t = AugmentParams::default().budget, value_name = "N", help_heading = "Search")]
    budget: u64,
    /// Most edits: guards, moved numbers and regimes together
    #[arg(long, default_value_t = AugmentParams::default().max_edits, value_name = "N", help_heading = "Search")]
    max_edits: usize,
    /// Least share of the student's decisions that stay as they were
    ///
    /// 0 lets the search change any of them.
    #[arg(long, default_value_t = AugmentParams::default().min_agreement, value_name = "SHARE", help_heading = "Search")]
    min_agreement: f64,
    /// Validation episodes that confirm every change [default: a 150th of the budget, from 20 to 100]
    #[arg(long, value_name = "N", help_heading = "Search", hide_short_help = true)]
    validation_episodes: Option<u32>,
    /// Most guards
    #[arg(long, default_value_t = AugmentParams::default().max_guards, value_name = "N", help_heading = "Search")]
    max_guards: usize,
    /// Largest size [default: 64, or the student's if larger]
    ///
    /// Leaves and terms of all levels together.
    #[arg(long, value_name = "N", help_heading = "Search")]
    max_size: Option<usize>,
    /// Share of the budget for moving several numbers at once (CMA-ES); the rest is for guards and patches
    #[arg(long, default_value_t = AugmentParams::default().polish, value_name = "SHARE", help_heading = "Search", hide_short_help = true)]
    polish: f64,
    /// First step of that search, in the scale of each number
    #[arg(long, default_value_t = AugmentParams::default().step, value_name = "X", help_heading = "Search", hide_short_help = true)]
    step: f64,
    /// Candidates per generation of that search
    #[arg(long, default_value_t = AugmentParams::default().population, value_name = "N", help_heading = "Search", hide_short_help = true)]
    population: usize,
    /// Training episodes per candidate of that search
    #[arg(long, default_value_t = AugmentParams::default().polish_episodes, value_name = "N", help_heading = "Search", hide_short_help = true)]
    polish_episodes: u32,
    /// Folder for the augmented student and the journal of the search
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    /// Begin anew where the folder holds another search
    #[arg(long, help_heading = "Output")]
    force: bool,
}

impl AugmentArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        let inputs = Inputs::default().students([&self.student]).traces(&self.trace).policies(&self.policies);
        inputs.workloads(self.workloads.names())
    }
}

pub(super) fn run(args: &AugmentArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let student = common.student(&args.student)?;
    let params = AugmentParams {
        budget: args.budget,
        validation: args.validation_episodes.unwrap_or(AugmentParams::of_budget(args.budget).validation),
        max_edits: args.max_edits,
        min_agreement: args.min_agreement,
        max_guards: args.max_guards,
        max_size: args.max_size.unwrap_or(AugmentParams::default().max_size.max(student.size())),
        polish: args.polish,
        step: args.step,
        population: args.population,
        polish_episodes: args.polish_episodes,
        seed: common.seed,
    };
    let scenario = common.scenario_of(&student.feature_set)?;
    let ids = args.workloads.ids(scenario, Some(&student), output)?;
    params.check(&student)?;
    check_folder(&args.output)?;
    let (path, steps_path) = (args.output.join("student.json"), args.output.join("steps.json"));
    let trace = args.trace.as_deref().map(|path| common.trace(path)).transpose()?;
    let (min_agreement, budget) = (params.min_agreement, params.budget);
    let files = files_of(args.policies.iter().chain(&ids));
    for output in [&path, &steps_path] {
        check_no_input(output, [&args.student].into_iter().chain(&files).map(PathBuf::as_path))?;
    }
    let request = AugmentRequest {
        search: params,
        workloads: ids,
        others: args.policies.iter().map(|id| Contender::named(id)).collect(),
        episodes: args.episodes,
        trace,
        under_attack: args.under_attack.clone(),
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
    let found = comparisons.end(found, output)?;
    print_summary(&found, (budget, min_agreement, common.seed), &path, output)?;
    let Augmented { student: augmented, steps, edits, agreement, too_far, spent, fidelity, closed_loops, gamed } =
        found;
    output.json(
        "augment",
        &json!({"student": shown(&path), "hash": augmented.hash(), "size": augmented.size(), "guards": augmented.guards,
                "patches": augmented.patches.len(), "edits": edits, "agreement": agreement, "too_far": too_far,
                "episodes": spent, "fidelity": fidelity.as_ref().map(fidelity_json), "steps": steps, "closed_loop": closed_loops.first(), "gamed": gamed,
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
    let titles = ["step", "gain on validation", "agreement", "kept", "episodes"];
    Table::new(&titles).without_if_wide(&["episodes", "agreement"])
}

impl Hear for Heard<'_> {
    fn step(&mut self, step: &Step) {
        self.watched.note(&line(step));
        let kept = if step.kept { "yes" } else { "-" }.to_owned();
        let stay = step.agreement.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
        self.steps.row([step.what.clone(), gain(step), stay, kept, step.spent.to_string()]);
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
