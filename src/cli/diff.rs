//! `distill diff`: how two students differ, in structure, in what they choose, and in how they schedule.

use super::{
    common::{Common, Verdict},
    compare::{EpisodeArgs, departing, side_by_side, workload_or_own},
    inputs::Inputs,
    output::Output,
    table::{Table, interval},
};
use crate::{
    evaluator::AgreementRow,
    model::{LevelModels, Model, Pick, ScoreCandidates, Slot, Student},
    pipeline::agreement_of,
};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use std::{collections::BTreeSet, path::PathBuf};

/// Compare two students: structure, agreement, completion times
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill diff runs/demo/student.json runs/demo/augmented/student.json",
    after_long_help = "Examples:\n  distill diff runs/demo/student.json runs/demo/augmented/student.json\n  \
distill diff a.json b.json --trace test-trace -w tpch:tpch_profiles.json.gz -n 60\n\n\
Agreement in closed loop is on the states that A visits. With --trace it is also shown by level and kind on recorded choices."
)]
pub(super) struct DiffArgs {
    /// First student
    #[arg(help_heading = "Input")]
    a: PathBuf,
    /// Second student
    #[arg(help_heading = "Input")]
    b: PathBuf,
    /// Trace on whose choices they are compared [default: none]
    #[arg(long, value_name = "TRACE", help_heading = "Input")]
    trace: Option<PathBuf>,
    /// Workload [default: the one that A was fitted on]
    #[arg(short, long, value_name = "WORKLOAD", help_heading = "Closed loop")]
    workload: Option<String>,
    #[command(flatten)]
    episodes: EpisodeArgs,
}

impl DiffArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().students([&self.a, &self.b]).traces(&self.trace).workloads(&self.workload)
    }
}

pub(super) fn run(args: &DiffArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let (a, b) = (common.student(&args.a)?, common.student(&args.b)?);
    if let Some(difference) = a.feature_set.difference(&b.feature_set) {
        bail!("{} has other features than {}: {difference}", args.b.display(), args.a.display());
    }
    let scenario = common.scenario_of(&a.feature_set)?;
    let workload_id = workload_or_own(args.workload.as_ref(), scenario, &a, output)?;
    compared(args, [&a, &b], workload_id, common, output)
}

fn compared(
    args: &DiffArgs,
    [a, b]: [&Student; 2],
    workload: String,
    common: &Common,
    output: &mut Output,
) -> Result<Verdict> {
    let scenario = common.scenario_of(&a.feature_set)?;
    let trace = args.trace.as_deref().map(|path| common.trace(path)).transpose()?;

    let structure: Vec<LevelDifference> = a.levels.iter().filter_map(|l| difference(a, b, l)).collect();
    print_structure(a, b, &structure, output)?;
    let rows = trace.as_ref().map(|t| agreement_of(a, b, t, common.seed)).transpose()?.unwrap_or_default();
    if !rows.is_empty() {
        print_agreement(&rows, output)?;
    }
    let which = args.episodes;
    let changed = departing(scenario, [a, b], &workload, which, common, output)?;
    let comparison = side_by_side(scenario, [("A", a), ("B", b)], workload, which, common, output)?;
    output.text(format!("\nB decides {:.2} % of A's decisions differently", 100.0 * changed))?;
    output.json(
        "diff",
        &json!({"a": a.hash(), "b": b.hash(), "structure": structure, "agreement": rows,
                "changed_decisions": changed, "closed_loop": comparison}),
    )?;
    Ok(Verdict::Done)
}

/// How two students' models of a level differ.
#[derive(Serialize)]
struct LevelDifference {
    level: String,
    model: [String; 2],
    size: [usize; 2],
    /// Whether both take the most probable candidate, or both the median.
    same_pick: bool,
    /// Numbers that both have and that differ: place, in A, in B. Only where the models have the same shape.
    numbers: Option<Vec<(String, f64, f64)>>,
    /// Features that only one of them reads.
    only: [Vec<String>; 2],
}

fn difference(a: &Student, b: &Student, in_a: &LevelModels) -> Option<LevelDifference> {
    let in_b = b.level(&in_a.level)?;
    let (x, y) = (in_a.scheduler(), in_b.scheduler());
    let level = a.levels.iter().position(|l| l.level == in_a.level)?;
    let numbers = (blank(&x.model) == blank(&y.model)).then(|| {
        let mut slots = [x.model.slots(), y.model.slots()].concat();
        slots.sort_unstable();
        slots.dedup();
        let differs = |slot: Slot| {
            let (was, now) = (x.model.number(slot)?, y.model.number(slot)?);
            (was != now).then(|| (a.place_name(&crate::model::Place::Model { level, slot }), was, now))
        };
        slots.into_iter().filter_map(differs).collect()
    });
    let (of_a, of_b) = (features(a, level, &x.model), features(a, level, &y.model));
    let only = |mine: &BTreeSet<String>, theirs: &BTreeSet<String>| mine.difference(theirs).cloned().collect();
    Some(LevelDifference {
        level: in_a.level.clone(),
        model: [words(in_a), words(in_b)],
        same_pick: in_a.pick == in_b.pick,
        size: [x.model.size(), y.model.size()],
        numbers,
        only: [only(&of_a, &of_b), only(&of_b, &of_a)],
    })
}

/// The model that schedules, and what is taken of its probabilities if that is not the most probable candidate.
fn words(level: &LevelModels) -> String {
    match level.pick {
        Pick::Mode => level.used.clone(),
        Pick::Median => format!("{}, median", level.used),
    }
}

/// A model with all its numbers set to 0: what is left is its shape, and what it says of its training data.
fn blank(model: &Model) -> Model {
    let mut blank = model.clone();
    for slot in model.slots() {
        blank.set_number(slot, 0.0);
    }
    blank
}

/// Names of the features that a model reads.
fn features(student: &Student, level: usize, model: &Model) -> BTreeSet<String> {
    let spec = student.feature_set.level(&student.levels[level].level);
    let names: Vec<&str> = spec.iter().flat_map(|l| &l.features).map(|f| f.name.as_str()).collect();
    let mut read = vec![false; names.len()];
    model.mark_columns(&mut read);
    names.iter().zip(read).filter(|(_, read)| *read).map(|(name, _)| (*name).to_owned()).collect()
}

fn print_structure(a: &Student, b: &Student, levels: &[LevelDifference], output: &mut Output) -> Result<()> {
    let mut table = Table::new(&["level", "A", "size", "B", "size", "differ in"]);
    for l in levels {
        let what = match &l.numbers {
            Some(numbers) if numbers.is_empty() && l.same_pick => "nothing".to_owned(),
            Some(numbers) if numbers.is_empty() => "what is taken".to_owned(),
            Some(numbers) => format!("{} numbers", numbers.len()),
            None => "shape".to_owned(),
        };
        let [in_a, in_b] = &l.model;
        let [size_a, size_b] = l.size;
        table.row([l.level.clone(), in_a.clone(), size_a.to_string(), in_b.clone(), size_b.to_string(), what]);
    }
    output.text(format!("{table}\n"))?;
    if a.structure != b.structure {
        output.text(format!("A is {}, B is {}", a.structure.name(), b.structure.name()))?;
    }
    for l in levels {
        // A few numbers can be read; of many, the table says how many there are.
        let few = l.numbers.iter().flatten().take(12);
        for (place, was, now) in few {
            output.text(format!("{place}: {was} in A, {now} in B"))?;
        }
        for (name, only) in ["A", "B"].iter().zip(&l.only).filter(|(_, only)| !only.is_empty()) {
            output.text(format!("level {}: only {name} reads {}", l.level, only.join(", ")))?;
        }
    }
    for (name, mine, theirs) in [("A", a, b), ("B", b, a)] {
        for guard in mine.guards.iter().filter(|g| theirs.guards.iter().all(|h| h.to_string() != g.to_string())) {
            output.text(format!("only {name} has the guard {guard}"))?;
        }
    }
    output.text("")
}

fn print_agreement(rows: &[AgreementRow], output: &mut Output) -> Result<()> {
    let mut table = Table::new(&["level, kind", "choices", "choose alike"]);
    for r in rows {
        table.row([format!("{}, {}", r.level, r.kind), r.choices.to_string(), interval(&r.share, 3)]);
    }
    output.text(format!("{table}\n"))
}
