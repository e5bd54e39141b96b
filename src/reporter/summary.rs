//! What was run and what came out, in a few sentences made from the figures alone.

use super::fidelity::{best_rule, kinds, levels};
use super::holds_up::{ratio, ratio_text, spoken, stalled};
use super::rules;
use super::run_dir::{RunDir, brief};
use super::words::{count, interval, list, percent, time};
use crate::evaluator::{ClosedLoop, Estimate, FidelityRow};

/// Sentences for the head of the report, grouped into short paragraphs: what was run, the rules, fidelity, scheduling, notes.
pub(super) fn sentences(run: &RunDir, sections: &[rules::Section]) -> Vec<String> {
    let mut said = vec![what_was_run(run)];
    said.extend(the_rules(sections));
    for level in levels(&run.evaluation.fidelity) {
        let rows: Vec<&FidelityRow> = run.evaluation.fidelity.iter().filter(|r| r.level == level).collect();
        said.extend(fidelity(level, &rows));
    }
    match &run.evaluation.closed_loop {
        Some(result) => said.extend(scheduling(result)),
        None => said.push("The student was not run as a scheduler.".into()),
    }
    said
}

fn what_was_run(run: &RunDir) -> String {
    let splits: Vec<String> = run
        .info
        .splits
        .iter()
        .map(|s| format!("{} decisions of {} {} episodes", count(s.decisions), count(s.episodes), s.split))
        .collect();
    let amount = if splits.is_empty() { String::new() } else { format!(" over {}", list(&splits)) };
    format!(
        "The scheduler {} was watched on the workload {}{amount}.",
        brief(&run.info.teacher.id),
        brief(&run.info.workload)
    )
}

fn the_rules(sections: &[rules::Section]) -> Option<String> {
    let trees: Vec<String> = sections
        .iter()
        .filter_map(|s| {
            let tree = s.tree.as_ref()?;
            let leaves = if tree.leaves == 1 { "1 leaf".to_owned() } else { format!("{} leaves", tree.leaves) };
            let first = tree
                .first
                .as_ref()
                .map_or(String::new(), |i| format!("; {} matters most, {}", i.feature, percent(i.share)));
            Some(format!("{} ({leaves}{first})", s.level))
        })
        .collect();
    let total: usize = sections.iter().filter_map(|s| s.tree.as_ref()).map(|t| t.leaves).sum();
    let trees_word = if trees.len() == 1 { "tree" } else { "trees" };
    (!trees.is_empty()).then(|| {
        format!("Its choices were put into {} {trees_word} with {total} leaves in all: {}.", trees.len(), list(&trees))
    })
}

/// Speaks of the kind where the best simple rule does worst, since the others say little about the student.
fn fidelity(level: &str, rows: &[&FidelityRow]) -> Option<String> {
    let hardest = kinds(rows)
        .into_iter()
        .filter(|&k| k != "all" || kinds(rows).len() == 1)
        .filter_map(|kind| {
            let student = rows.iter().find(|r| r.kind == kind && r.role == "student")?;
            let easy = rows.iter().filter(|r| r.kind == kind && r.role == "baseline").map(|r| r.top1.value);
            Some((easy.fold(0.0, f64::max), *student))
        })
        .fold(None, |worst: Option<(f64, &FidelityRow)>, next| match worst {
            Some(w) if w.0 <= next.0 => Some(w),
            _ => Some(next),
        })?
        .1;
    let kind = match (hardest.kind.as_str(), kinds(rows).len()) {
        ("all", _) | (_, 1) => String::new(),
        (kind, _) => format!(" of kind {kind}, where simple rules do worst"),
    };
    let mut said = format!(
        "At level {level}, on {} choices{kind}: the student makes the teacher's first choice in {}",
        count(hardest.choices as u64),
        interval(&hardest.top1, percent)
    );
    if let Some(rule) = best_rule(rows, &hardest.kind) {
        said += &format!(", the best rule on one feature ({}) in {}", rule.scorer, percent(rule.top1.value));
    }
    if let Some(random) = rows.iter().find(|r| r.kind == hardest.kind && r.scorer == "random") {
        said += &format!(", a random pick in {}", percent(random.top1.value));
    }
    Some(said + ".")
}

fn scheduling(result: &ClosedLoop) -> Vec<String> {
    let Some(student) = result.policies.iter().find(|p| p.role == "student") else {
        return Vec::new();
    };
    let mut said = Vec::new();
    let place = format!("{} {} episodes of {}", result.episodes, result.split, result.workload);
    if let Some(stall) = stalled(student, result.episodes) {
        said.push(format!("Run as the scheduler on {place}, the student {stall}: it left jobs unfinished."));
        return said;
    }
    let mut text = format!(
        "Run as the scheduler on {place}, the student completes a job in {} on average",
        student.mean_jct_ms.as_ref().map_or_else(|| "no time".to_owned(), |e| interval(e, time))
    );
    let mut baselines: Vec<&str> = Vec::new();
    for r in result.ratios.iter().filter(|r| r.policy == student.policy) {
        if !baselines.contains(&r.baseline.as_str()) {
            baselines.push(&r.baseline);
        }
    }
    let compared: Vec<String> = baselines
        .iter()
        .map(|b| match ratio(result, &student.policy, b).and_then(|r| r.jct) {
            Some(e) => verdict(&spoken(result, b), &e),
            None => format!("it is not compared with {}, which stalled", spoken(result, b)),
        })
        .collect();
    if !compared.is_empty() {
        text += &format!("; {}", compared.join("; "));
    }
    said.push(text + ".");
    let stalled: Vec<String> = result
        .policies
        .iter()
        .filter_map(|p| stalled(p, result.episodes).map(|s| format!("{} {s} episodes", p.policy)))
        .collect();
    if !stalled.is_empty() {
        said.push(format!("Some policies did not finish: {}.", list(&stalled)));
    }
    said
}

/// A ratio in plain words, no stronger than its interval.
fn verdict(baseline: &str, e: &Estimate) -> String {
    let words = if e.high < 1.0 {
        "shorter than"
    } else if e.low > 1.0 {
        "longer than"
    } else {
        "not clearly different from"
    };
    format!("that is {words} under {baseline} (ratio {})", interval(e, ratio_text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_no_stronger_than_its_interval() {
        let e = |low, high| Estimate { value: 1.02, low, high };
        assert!(verdict("fair", &e(0.99, 1.05)).contains("not clearly different"));
        assert!(verdict("fair", &e(1.01, 1.05)).contains("longer"));
        assert!(verdict("fair", &Estimate { value: 0.8, low: 0.7, high: 0.9 }).contains("shorter"));
    }
}
