//! `distill augment`: search guards, patches and numbers that make a student schedule better.

use super::{
    Common, Interrupted, STOP, Verdict,
    compare::{Contender, EpisodeArgs, SplitArg, WorkloadArgs, closed_loops, open_workload},
    files::{check_folder, check_no_input, files_of, shown, write_file, write_json},
    output::Output,
    progress::EpisodeBar,
    scenario::with_scenario,
    table::Table,
};
use crate::{
    augment::{Arena, AugmentError, AugmentParams, Repertoire, Step, augment},
    level::sha256_hex,
    model::{Evidence, Student},
    registry::Policies,
    simulation::Simulated,
};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

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
    params.check(&student)?;
    with_scenario!(common.scenario_of(&student.feature_set)?, S => search::<S>(args, &student, &params, common, output))
}

/// Searches, and compares what was found with what there was.
fn search<S: Policies>(
    args: &AugmentArgs,
    student: &Student,
    params: &AugmentParams,
    common: &Common,
    output: &mut Output,
) -> Result<Verdict> {
    // What takes part in the end is opened first, so that a mistake does not show after the search.
    let mut contenders: Vec<Contender<S>> =
        args.policies.iter().map(|p| Contender::open(p, None)).collect::<Result<_>>()?;
    let ids = args.workloads.ids::<S>()?;
    let workloads: Vec<Box<S::Workload>> = ids.iter().map(|id| open_workload::<S>(id)).collect::<Result<_>>()?;
    check_folder(&args.output)?;
    let (path, steps_path) = (args.output.join("student.json"), args.output.join("steps.json"));
    let files = files_of(args.policies.iter().chain(&ids));
    for output in [&path, &steps_path] {
        check_no_input(output, [&args.student].into_iter().chain(&files).map(PathBuf::as_path))?;
    }
    let plan = plan::<S>(student, &workloads, &ids, params, common.seed)?;
    prepare(&args.output, &plan, args.force)?;

    let repertoire = Repertoire::new(&S::INFO.catalogue, &student.feature_set)?;
    let bar = EpisodeBar::new("searching", params.budget, output);
    let mut table = Table::new(&["step", "gain on validation", "kept", "episodes"]);
    let result = {
        let journal = args.output.join("evaluations.jsonl");
        let mut arena = Arena::<S>::new(&workloads, common.seed, &bar, &STOP).with_journal(&journal)?;
        let found = augment(&mut arena, student, &repertoire, params, &mut |step| {
            bar.note(&line(step));
            table.row([
                step.what.clone(),
                gain(step),
                if step.kept { "yes" } else { "-" }.to_owned(),
                step.spent.to_string(),
            ]);
        });
        found.and_then(|found| arena.finish().map(|()| found))
    };
    bar.finish();
    let (augmented, steps) = result.map_err(|e| match e {
        AugmentError::Interrupted => Interrupted.into(),
        other => anyhow::Error::from(other),
    })?;
    augmented.save(&path)?;
    write_json(&steps_path, &steps)?;
    output.text(format!("{table}\n"))?;
    print_edits(&augmented, output)?;

    let which = EpisodeArgs { episodes: args.episodes, split: SplitArg::Test };
    contenders.push(Contender::in_memory("before", student)?);
    contenders.push(Contender::in_memory("augmented", &augmented)?);
    // Naming a workload twice gives it more turns in the search, and one comparison.
    let distinct: Vec<String> =
        (0..ids.len()).filter(|&i| !ids[..i].contains(&ids[i])).map(|i| ids[i].clone()).collect();
    let mut comparisons = closed_loops(&contenders, &distinct, which, common, output)?.0.into_iter();
    let (comparison, others) = (comparisons.next(), comparisons.collect::<Vec<_>>());
    output.text(format!("\n{} (size {}, {} guards)", path.display(), augmented.size(), augmented.guards.len()))?;
    output.json(
        "augment",
        &json!({"student": shown(&path), "hash": augmented.hash(), "size": augmented.size(), "guards": augmented.guards,
                "patches": augmented.patches.len(), "steps": steps, "closed_loop": comparison,
                "other_workloads": others}),
    )?;
    Ok(Verdict::Done)
}

/// What a search's results depend on.
fn plan<S: Simulated>(
    student: &Student,
    workloads: &[Box<S::Workload>],
    ids: &[String],
    params: &AugmentParams,
    seed: u64,
) -> Result<serde_json::Value> {
    let hash = |path: PathBuf| -> Result<(String, String)> {
        let bytes = std::fs::read(&path).with_context(|| format!("{}: cannot read", path.display()))?;
        Ok((path.display().to_string(), sha256_hex(&bytes)))
    };
    let files: BTreeMap<String, String> =
        workloads.iter().flat_map(|w| S::workload_files(w)).map(hash).collect::<Result<_>>()?;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"), "student": student.hash(), "workloads": ids, "files": files,
        "params": params, "seed": seed,
    }))
}

/// Makes the folder ready: a journal belongs to one search.
fn prepare(dir: &Path, plan: &serde_json::Value, force: bool) -> Result<()> {
    let at = |what: &str| format!("{}: cannot {what}", dir.display());
    let path = dir.join("plan.json");
    let text = serde_json::to_string_pretty(plan)? + "\n";
    match std::fs::read_to_string(&path) {
        Ok(found) if found == text && !force => return Ok(()),
        Ok(_) if !force => bail!(
            "{}: the folder holds a search with another student, workload, seed or budget; give --force to replace it, or \
             -o for another folder",
            dir.display()
        ),
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e).with_context(|| at("read plan.json in")),
        _ => {}
    }
    for old in ["evaluations.jsonl", "student.json", "steps.json"] {
        match std::fs::remove_file(dir.join(old)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e).with_context(|| at("clear")),
            _ => {}
        }
    }
    write_file(&path, text.as_bytes())
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
