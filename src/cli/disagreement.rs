//! `distill evaluate --disagreement`: where the student departs, level by level.

use super::{
    output::Output,
    parts::count,
    table::{Table, interval},
};
use crate::{
    evaluator::{Disagreement, Estimate, Instead, Role, Scorer},
    explainer,
    level::ALL_KINDS,
    model::Student,
    trace::{LevelTable, Trace},
};
use anyhow::{Result, bail};

/// Finds and prints the regions of every level in samples of its choices; levels without choices in two episodes are named in a note.
pub(super) fn disagreement(
    student: &Student,
    trace: &Trace,
    samples: &[LevelTable],
    max_leaves: usize,
    seed: u64,
    output: &mut Output,
) -> Result<Vec<Disagreement>> {
    let mut found = Vec::new();
    for (level, table) in student.levels.iter().zip(samples) {
        let scorer = Scorer::student(student, level, Role::Student);
        match explainer::disagreement(table, &scorer, max_leaves, seed)? {
            Some(regions) => {
                print(&regions, output)?;
                found.push(regions);
            }
            None => output.note(format!(
                "note: level {} has choices between candidates in fewer than two episodes: no regions can be found on one \
                 half and measured on the other",
                level.level
            )),
        }
    }
    if found.is_empty() {
        bail!(
            "--disagreement needs two episodes or more with choices between candidates: {} has none such at any level",
            trace.dir.display()
        );
    }
    Ok(found)
}

fn print(found: &Disagreement, output: &mut Output) -> Result<()> {
    let (level, choices, others) = (&found.level, found.choices, count(found.measured_on, "episode"));
    if found.disagree.value == 0.0 {
        return output.text(format!("\nlevel {level}: the student departs in none of {choices} choices of {others}"));
    }
    let searched = count(found.found_on, "episode");
    output.text(format!(
        "\nlevel {level}: where the student departs; regions found on {searched}, measured on {choices} choices of {others} more"
    ))?;
    let by_regret = found.regret.is_some();
    let mut header = vec!["of the disagreement", "of choices", "departs"];
    if by_regret {
        header[0] = "of the regret";
        header.push("mean regret");
    }
    // Rules are long, so they stand last.
    header.extend(["to one with", "region"]);
    let mut table = Table::new(&header).with_words(2);
    for r in &found.regions {
        let cost = if by_regret { &r.share_of_regret } else { &r.share_of_disagreement };
        let mut row = vec![or_dash(cost.as_ref().map(percent)), percent(&r.share), percent(&r.disagree)];
        row.extend(r.regret.as_ref().map(|e| interval(e, 3)));
        row.extend([or_dash(r.instead.as_ref().map(words)), r.rule.clone()]);
        table.row(row);
    }
    if found.regions.len() > 1 {
        let mut all = vec!["100 %".to_owned(), "100 %".to_owned(), percent(&found.disagree)];
        all.extend(found.regret.as_ref().map(|e| interval(e, 3)));
        all.extend([String::new(), ALL_KINDS.to_owned()]);
        table.row(all);
    }
    output.text(table)
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// What the student takes instead: `more remaining_work (97 %)`.
fn words(instead: &Instead) -> String {
    format!("{} {} ({:.0} %)", if instead.more { "more" } else { "less" }, instead.feature, 100.0 * instead.share.value)
}

/// `12 % [10, 14]`
fn percent(e: &Estimate) -> String {
    let [value, low, high] = [e.value, e.low, e.high].map(|share| 100.0 * share);
    format!("{value:.0} % [{low:.0}, {high:.0}]")
}
