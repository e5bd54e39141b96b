//! `distill diff`: how two students differ, in structure, in what they choose, and in how they schedule.

use super::{
    common::{Common, Verdict},
    compare::{EpisodeArgs, closed_loops, workload_or_own},
    inputs::Inputs,
    output::Output,
    progress::Watched,
    table::{Table, interval},
};
use crate::{
    evaluator::{AgreementRow, ClosedLoop, FidelityRow, Role},
    model::{LevelModels, Model, Pick, ScoreCandidates, Slot, Student},
    pipeline::{AnyScenario, CompareParams, Contender, FidelityChange, agreement_of, fidelity_change},
    trace::Trace,
};
use anyhow::{Context, Result, bail};
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

/// Episodes in which departing decisions are counted at most.
const COUNTED: u32 = 10;

/// The share of the first student's decisions that the second would take differently.
pub(super) fn departing(
    scenario: &dyn AnyScenario,
    [student, other]: [&Student; 2],
    workload: &str,
    which: EpisodeArgs,
    common: &Common,
    output: &Output,
) -> Result<f64> {
    let episodes = (common.seed, which.split.into(), which.episodes.min(COUNTED));
    Ok(scenario.departures(student, other, workload, episodes, Watched::new(output).caller())?)
}

/// Lets two students schedule the same episodes, and prints what comes out.
pub(super) fn side_by_side(
    scenario: &dyn AnyScenario,
    students: [(&str, &Student); 2],
    workload: String,
    which: EpisodeArgs,
    common: &Common,
    output: &mut Output,
) -> Result<ClosedLoop> {
    let params = CompareParams {
        contenders: students
            .map(|(id, student)| Contender::Student { id: id.to_owned(), student, role: Role::Student })
            .to_vec(),
        workloads: vec![workload],
        seed: common.seed,
        split: which.split.into(),
        episodes: which.episodes,
    };
    let compared = closed_loops(scenario, &params, output)?;
    compared.into_iter().next().map(|one| one.closed_loop).context("one workload gives one comparison")
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

/// What an edit changes in fidelity; figures that there are none of, or that stay, take no table.
pub(super) fn print_fidelity_change(
    before: &Student,
    after: &Student,
    trace: &Trace,
    seed: u64,
    output: &mut Output,
) -> Result<()> {
    let change = fidelity_change(before, after, trace, seed)?;
    fidelity_words(&change).into_iter().try_for_each(|part| output.text(part))?;
    output.text("")
}

fn fidelity_words(change: &FidelityChange) -> Vec<String> {
    if change.levels.is_empty() {
        return vec![
            "the trace has no choice between two candidates, so that there is no fidelity to measure".to_owned(),
        ];
    }
    let differs = |[b, a]: &&[FidelityRow; 2]| (b.top1, b.regret) != (a.top1, a.regret);
    let rows: Vec<&[FidelityRow; 2]> = change.levels.iter().filter(differs).collect();
    let regrets = rows.iter().any(|rows| rows.iter().any(|r| r.regret.is_some()));
    let mut header = vec!["level, kind", "top-1 before", "top-1 after"];
    header.extend(["regret before", "regret after"].into_iter().filter(|_| regrets));
    let mut table = Table::new(&header);
    for [b, a] in &rows {
        let regret = |r: &FidelityRow| r.regret.map_or("-".to_owned(), |e| format!("{:.4}", e.value));
        let cells = [format!("{}, {}", b.level, b.kind), interval(&b.top1, 3), interval(&a.top1, 3)];
        table.row(cells.into_iter().chain([regret(b), regret(a)].into_iter().filter(|_| regrets)));
    }
    let mut same: Vec<&str> = change.levels.iter().map(|[b, _]| b.level.as_str()).collect();
    same.dedup();
    same.retain(|level| rows.iter().all(|[b, _]| b.level != *level));
    let mut words = Vec::new();
    match rows.is_empty() {
        true => words.push("fidelity on the trace is as before at every level".to_owned()),
        false => {
            words.push(table.to_string());
            words.extend((!same.is_empty()).then(|| format!("as before at the other levels: {}", same.join(", "))));
        }
    }
    if let [Some(before), Some(after)] = &change.executed {
        let [b, a] = [before, after].map(|e| interval(e, 3));
        words.push(format!("whole decisions, amounts aside, that are those executed: {b} before, {a} after"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::Estimate;

    fn row(level: &str, top1: f64, regret: Option<f64>) -> FidelityRow {
        let exactly = |value| Estimate { value, low: value, high: value };
        let [kind, scorer] = ["all", "tree"].map(str::to_owned);
        let [top1, top2, top3] = [top1, 1.0, 1.0].map(exactly);
        let regret = regret.map(exactly);
        FidelityRow {
            level: level.to_owned(),
            kind,
            scorer,
            role: Role::Student,
            choices: 9,
            episodes: 1,
            top1,
            top2,
            top3,
            regret,
            cross_entropy: None,
            kendall: None,
            executed: None,
            amount_error: None,
        }
    }

    #[test]
    fn what_an_edit_leaves_alone_and_what_a_teacher_does_not_say_are_no_dashes() {
        let words = |levels, executed| fidelity_words(&FidelityChange { levels, executed }).join("\n");
        let moved = [row("job", 0.8, None), row("job", 0.7, None)];
        let stays = [row("stage", 0.9, None), row("stage", 0.9, None)];
        let known = Some(Estimate { value: 0.5, low: 0.4, high: 0.6 });
        let said = words(vec![moved, stays.clone()], [None, None]);
        assert_eq!(
            said,
            "level, kind  top-1 before  top-1 after\njob, all            0.800        0.700\nas before at the other levels: stage"
        );
        assert_eq!(words(vec![stays.clone()], [None, None]), "fidelity on the trace is as before at every level");
        let said = words(vec![stays], [known, known]);
        assert!(said.ends_with("executed: 0.500 [0.400, 0.600] before, 0.500 [0.400, 0.600] after"), "{said}");
        assert!(words(vec![], [known, known]).starts_with("the trace has no choice"));
        let said = words(vec![[row("job", 0.8, Some(0.1)), row("job", 0.8, Some(0.2))]], [None, None]);
        assert!(said.contains("regret before") && said.contains("0.2000"), "{said}");
    }
}
