//! What a search or an operator changed in a student, in print.

use super::{
    gamed,
    output::Output,
    parts::SOCKET,
    table::{self, Table, paragraph},
};
use crate::{
    attack::{Method, MethodFigures},
    augment::Edits,
    evaluator::{ClosedLoop, FidelityRow, hardest_kind},
    figure::{Compared, Figure},
    level::ALL_KINDS,
    model::{Evidence, Student},
    pipeline::{Augmented, FidelityChange},
};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

/// What was added to a student, what each edit brings, and why it is there.
pub(super) fn print_edits(student: &Student, output: &mut Output) -> Result<()> {
    let guards = student.guards.iter().enumerate().map(|(i, g)| (format!("guard[{i}] {g}"), &g.evidence));
    let patches = student.patches.iter().enumerate().map(|(i, patch)| {
        let what = match &patch.changes[..] {
            [one] => format!("{} {} -> {}", one.place, one.was, one.now),
            several => format!("{} numbers", several.len()),
        };
        (format!("patch[{i}] {what}"), &patch.evidence)
    });
    let edits: Vec<(String, &Evidence)> = guards.chain(patches).collect();
    if edits.is_empty() {
        return output.text("no guards, no patches\n");
    }
    let percent = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{:.2} %", 100.0 * x));
    // Nobody has measured an edit that was just made by hand.
    let gains = edits.iter().any(|(_, e)| e.gain.is_some());
    let fires = edits.iter().any(|(_, e)| e.firing_rate.is_some());
    let mut header = vec!["edit"];
    header.extend(gains.then_some("gain").into_iter().chain(fires.then_some("fires")));
    let mut table = Table::new(&header);
    for (what, e) in &edits {
        let figures = gains.then(|| percent(e.gain)).into_iter().chain(fires.then(|| percent(e.firing_rate)));
        table.row(std::iter::once(what.clone()).chain(figures));
    }
    output.text(format!("{table}\n"))?;
    for (what, e) in edits.iter().filter(|(_, e)| !e.reason.is_empty()) {
        let name = what.split(' ').next().unwrap_or_default();
        output.text(paragraph(&format!("{name}  "), &e.reason))?;
    }
    output.text("")
}

/// What a search came to, in a few lines, and what may be done next.
pub(super) fn print_summary(
    found: &Augmented,
    (budget, min_agreement, seed): (u64, f64, u64),
    path: &Path,
    output: &mut Output,
) -> Result<()> {
    let file = path.display();
    output.text(format!("\n{file}: size {}, {}", found.student.size(), edits(found.edits)))?;
    for result in &found.closed_loops {
        output.text(paragraph("  gain       ", &gains(result, seed)))?;
    }
    output.text(format!(
        "  decisions  {} stay as they were before the edits (at least {} asked for)",
        percent(found.agreement),
        percent(min_agreement)
    ))?;
    if let Some(gamed) = &found.gamed {
        output.text(paragraph("  gaming     ", &gaming(gamed)))?;
    }
    if found.too_far > 0 {
        let changes = if found.too_far == 1 { "1 change".to_owned() } else { format!("{} changes", found.too_far) };
        output.text(format!(
            "             {changes} would have left fewer; --min-agreement 0 lets the search try such"
        ))?;
    }
    match found.fidelity.as_ref().map(fidelity) {
        Some(said) => output.text(paragraph("  fidelity   ", &said))?,
        None => output.text("  fidelity   give --trace TRACE to see what the edits cost in likeness to the teacher")?,
    }
    let compared: u64 = found.closed_loops.iter().map(|result| (result.episodes * result.policies.len()) as u64).sum();
    output.text(format!(
        "  episodes   {} of {budget} in the search; {compared} more in the comparison on test episodes",
        found.spent
    ))?;
    output.text("\nnext")?;
    output.text(format!("  distill export {file} --to rules        # the rules to read"))?;
    output.text(format!("  distill evaluate {file} TRACE        # fidelity, closed loop and gates"))?;
    output.text(format!("  distill serve -p student:{file} --listen {SOCKET}        # let it schedule"))
}

/// `... a user is served sooner by 5 % in 12 % [9, 15] of cases, before in 31 % [26, 36]; the mean change over all is ...`.
fn gaming([before, after]: &[Vec<MethodFigures>; 2]) -> String {
    let [before, after] = [before, after].map(|all| all.iter().find(|f| f.method == Method::Gradient));
    let (Some(before), Some(after)) = (before, after) else { return "no job was attacked".to_owned() };
    let (share, change) =
        (|f: &MethodFigures| gamed::share(&f.much_sooner), |f: &MethodFigures| gamed::change(&f.change));
    format!(
        "by an edit that gradients name, a user is served sooner by 5 % in {} of cases, before in {}; the mean change over all is {}, \
         before {}",
        share(after),
        share(before),
        change(after),
        change(before)
    )
}

/// `9 edits: 2 guards, 7 moved numbers`.
fn edits(edits: Edits) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let parts = [(edits.guards, "guard"), (edits.numbers, "moved number"), (edits.regimes, "regime")];
    let parts: Vec<String> = parts.into_iter().filter(|p| p.0 > 0).map(|(n, what)| count(n, what)).collect();
    match parts.is_empty() {
        true => "no edit: nothing was found that helps for sure".to_owned(),
        false => format!("{}: {}", count(edits.total(), "edit"), parts.join(", ")),
    }
}

/// Against the student before, and against the policies of the comparison.
fn gains(result: &ClosedLoop, seed: u64) -> String {
    let objective = result.objective();
    let others = result.policies.iter().map(|p| p.policy.as_str()).filter(|p| !["before", "augmented"].contains(p));
    let against = |baseline: &str| {
        result.paired("augmented", baseline).or_else(|| result.objective_against("augmented", baseline, seed))
    };
    let said = std::iter::once("before").chain(others).map(|baseline| {
        format!(
            "{} {}",
            objective.against(baseline),
            against(baseline).map_or("-".to_owned(), |e| table::interval(&e, 3))
        )
    });
    let noise = match against("before") {
        Some(e) if !is_sure(objective, [e.low, e.high]) => " (the gain over before is within noise)",
        _ => "",
    };
    let said: Vec<String> = said.collect();
    format!("{}{noise}, {} test episodes of {}", said.join(", "), result.episodes, result.workload)
}

/// Whether an interval leaves out that two policies are equal.
fn is_sure(objective: &Figure, [low, high]: [f64; 2]) -> bool {
    let neutral = match objective.compared {
        Compared::Ratio => 1.0,
        Compared::Difference => 0.0,
    };
    high < neutral || low > neutral
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The row before and after of the first level's kind in which the student is least like its teacher.
fn hardest(change: &FidelityChange) -> Option<&[FidelityRow; 2]> {
    let level = &change.levels.first()?[0].level;
    let of_level: Vec<&[FidelityRow; 2]> = change.levels.iter().filter(|rows| rows[0].level == *level).collect();
    let kinds = of_level.iter().filter(|rows| rows[0].kind != ALL_KINDS && rows[0].choices > 0);
    let before: Vec<&FidelityRow> = of_level.iter().map(|rows| &rows[0]).collect();
    let kind = hardest_kind(kinds.map(|rows| rows[0].kind.as_str()), &before, |_| 0.0)?;
    of_level.into_iter().find(|rows| rows[0].kind == kind)
}

/// `it takes the teacher's first choice at level job, free choices, in 0.780 [...] of cases before and 0.740 [...]
/// after; ...`
fn fidelity(change: &FidelityChange) -> String {
    let mut parts = Vec::new();
    if let Some([before, after]) = hardest(change) {
        let [b, a] = [&before.top1, &after.top1].map(|e| table::interval(e, 3));
        parts.push(format!("at level {}, {} choices: top-1 {b} before, {a} after", before.level, before.kind));
    }
    if let [Some(before), Some(after)] = &change.executed {
        let [b, a] = [before, after].map(|e| table::interval(e, 3));
        parts.push(format!("whole decisions, amounts aside: {b} before, {a} after"));
    }
    parts.join("; ")
}

/// The same for programs.
pub(super) fn fidelity_json(change: &FidelityChange) -> Value {
    let hardest = hardest(change).map(|[before, after]| {
        json!({"level": before.level, "kind": before.kind, "before": before.top1, "after": after.top1})
    });
    let executed = match &change.executed {
        [Some(before), Some(after)] => json!({"before": before, "after": after}),
        _ => Value::Null,
    };
    json!({"top1": hardest, "executed": executed})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_in_words() {
        let of = |guards, numbers, regimes| edits(Edits { guards, numbers, regimes });
        assert_eq!(of(2, 7, 0), "9 edits: 2 guards, 7 moved numbers");
        assert_eq!(of(0, 1, 0), "1 edit: 1 moved number");
        assert!(of(0, 0, 0).starts_with("no edit"));
    }

    #[test]
    fn an_interval_around_no_difference_is_noise() {
        let jct = &crate::figure::COMPLETION_FIGURES[0];
        assert!(is_sure(jct, [0.95, 0.99]) && is_sure(jct, [1.01, 1.02]) && !is_sure(jct, [0.98, 1.0]));
        let busy = &crate::figure::COMPLETION_FIGURES[2];
        assert!(is_sure(busy, [0.01, 0.02]) && !is_sure(busy, [-0.01, 0.02]));
    }
}
