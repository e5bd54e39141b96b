//! Fidelity as tables: of scorers on a trace, and before and after an edit.

use super::{
    output::Output,
    table::{Table, interval},
};
use crate::{
    evaluator::{FidelityRow, Role},
    model::Student,
    pipeline::{FidelityChange, fidelity_change},
    trace::Trace,
};
use anyhow::Result;

/// What the columns of a table of fidelity mean.
const TOP: &str = "top-1: how often the teacher's best candidate comes first; top-3: how often among the first three";
const REGRET: &str = "regret: how much less probable to the teacher is what is taken than its own best; 0 is none";

/// Fidelity as a table, of the heuristics the closest one of each kind.
pub(super) fn print_fidelity(rows: &[FidelityRow], output: &mut Output) -> Result<()> {
    let closer = |r: &FidelityRow, than: &FidelityRow| {
        r.role == Role::Heuristic && (&r.level, &r.kind) == (&than.level, &than.kind) && r.top1.value > than.top1.value
    };
    let regrets = rows.iter().any(|r| r.regret.is_some());
    let mut header = vec!["level, kind", "scorer", "choices", "top-1", "top-3"];
    header.extend(regrets.then_some("regret"));
    let mut table = Table::new(&header);
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for r in rows {
        if r.role == Role::Heuristic {
            if shown.contains(&(&r.level, &r.kind)) || rows.iter().any(|other| closer(other, r)) {
                continue;
            }
            shown.push((&r.level, &r.kind));
        }
        let mut row = vec![
            format!("{}, {}", r.level, r.kind),
            r.scorer.clone(),
            r.choices.to_string(),
            interval(&r.top1, 3),
            format!("{:.3}", r.top3.value),
        ];
        row.extend(regrets.then(|| r.regret.map_or("-".to_owned(), |e| format!("{:.3}", e.value))));
        table.row(row);
    }
    output.text(table)?;
    output.text(TOP)?;
    if regrets { output.text(REGRET) } else { Ok(()) }
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
