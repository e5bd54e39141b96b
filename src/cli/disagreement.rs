//! Where a student departs from its teacher, as `distill evaluate --disagreement` shows it.

use super::{
    output::Output,
    parts::count,
    table::{Table, interval},
};
use crate::{
    evaluator::{Disagreement, Estimate, Instead},
    level::ALL_KINDS,
};
use anyhow::Result;

/// The regions of a level, and who departs there.
pub(super) fn print_regions(found: &Disagreement, who: &str, output: &mut Output) -> Result<()> {
    let (level, choices, others) = (&found.level, found.choices, count(found.measured_on, "episode"));
    if found.disagree.value == 0.0 {
        return output.text(format!("\nlevel {level}: {who} departs in none of {choices} choices of {others}"));
    }
    let searched = count(found.found_on, "episode");
    output.text(format!(
        "\nlevel {level}: where {who} departs; regions found on {searched}, measured on {choices} choices of {others} more"
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
