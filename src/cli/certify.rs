//! `distill attack --certify`: of which choices no edit of declared numbers can take what the student gives.

use super::{
    common::{Common, Verdict},
    files::shown,
    output::Output,
    progress::Watched,
    table::{Table, paragraph},
};
use crate::{
    attack::certify::{CertifiedShare, Tried},
    evaluator::Estimate,
    model::Student,
    pipeline::{CertifiedStudent, CertifyRequest, RunDir},
    simulation::{EditBudget, EditInfo},
    trace::Manifest,
};
use anyhow::{Result, bail};
use serde_json::json;
use std::path::Path;

/// Shares by which declared numbers may change, where the user names none.
const USUAL: [f64; 3] = [0.05, 0.1, 0.25];

pub(super) fn run(
    (file, trace): (&Path, &Path),
    (budgets, sorts): (&[EditBudget], &[String]),
    tries: u32,
    run: Option<&(RunDir, Student)>,
    common: &Common,
    output: &mut Output,
) -> Result<Verdict> {
    let student = common.student(file)?;
    let trace = common.trace(trace)?;
    let scenario = common.scenario_of(&student.feature_set)?;
    let shares = shares(budgets, sorts, &scenario.edits())?;
    let is_number = |sort: &&String| scenario.edits().iter().any(|edit| edit.name == **sort && edit.is_number);
    let sorts: Vec<String> = sorts.iter().filter(|sort| !is_number(sort)).cloned().collect();
    let request = CertifyRequest { student: &student, trace: &trace, shares, sorts, tries, seed: common.seed };
    let found = scenario.certify(&request, Watched::new(output).caller())?;
    output.text(match &found.in_boxes {
        None => {
            let Manifest { driver, workload, .. } = &trace.manifest;
            format!("questions of {} on {}, made again from the trace's seeds", driver.id, workload.id)
        }
        Some(why) => paragraph(
            "note     ",
            &format!(
                "the questions cannot be made again ({why}), so these are bounds over boxes: declared quantities of a row anywhere within \
                 the share, each by itself"
            ),
        ),
    })?;
    let mut table = Table::new(&["declared", "kind", "choices", "certified", "other jobs, choice by choice"]);
    for c in &found.shares {
        let within = if c.sorts.is_empty() { within(c.share) } else { format!("one {}", c.sorts.join(" or ")) };
        table.row([within, c.kind.clone(), c.choices.to_string(), percent(&c.certified), percent(&c.pairs)]);
    }
    output.text(format!("\n{table}"))?;
    for (share, tried) in request.shares.iter().zip(&found.tried) {
        output.text(paragraph("tried    ", &outcome(*share, *tried)))?;
    }
    if let Some((run, _)) = run {
        let certified = CertifiedStudent::new(shown(file), &student, &trace, found.clone());
        run.add_attacks(Vec::new(), vec![certified], scenario.info().objective(), scenario.beliefs())?;
    }
    if let Some(said) = verdict(&found.shares, found.in_boxes.is_some()) {
        output.text(paragraph("verdict  ", &said))?;
    }
    output.json(
        "certificates",
        &json!({"student": student.hash(), "trace": trace.hash, "shares": found.shares, "tried": found.tried, "in_boxes": found.in_boxes}),
    )?;
    Ok(Verdict::Done)
}

/// By how much of themselves declared numbers may change. All of a job may, so a budget says nothing else. Where other sorts of edits
/// are named alone, none may.
fn shares(budgets: &[EditBudget], sorts: &[String], edits: &[EditInfo]) -> Result<Vec<f64>> {
    let named = EditBudget { sorts: sorts.to_vec(), ..EditBudget::default() };
    named.check(edits)?;
    if budgets.is_empty() {
        let numbers = sorts.is_empty() || edits.iter().any(|edit| edit.is_number && named.allows(edit));
        return Ok(if numbers { USUAL.to_vec() } else { Vec::new() });
    }
    let of = |budget: &EditBudget| {
        budget.check(edits)?;
        match (budget.edits, &budget.shares.values().collect::<Vec<_>>()[..]) {
            (1, [share]) => Ok(**share),
            _ => bail!(
                "--budget {budget}: certificates are of any number of edits, so a budget says one share alone, such as \
                 `--budget duration=0.25`"
            ),
        }
    };
    budgets.iter().map(of).collect()
}

fn within(share: f64) -> String {
    format!("± {} %", (1000.0 * share).round() / 10.0)
}

fn percent(e: &Estimate) -> String {
    let [value, low, high] = [e.value, e.low, e.high].map(|v| format!("{:.1}", 100.0 * v));
    if e.is_exact() { format!("{value} %") } else { format!("{value} % [{low}, {high}]") }
}

/// What random edits came to.
fn outcome(share: f64, tried: Tried) -> String {
    let Tried { of_safe, contradicted, of_others, taken } = tried;
    let wrong = match contradicted {
        0 => "none took the choice".to_owned(),
        n => format!("{n} took the choice: the certificates are wrong, please report it"),
    };
    format!(
        "{}: of {of_safe} random edits of jobs that are certified never to be taken, {wrong}; of {of_others} edits of the others {taken} did",
        within(share)
    )
}

/// What the certificates of the hardest kind, which is the last, come to.
fn verdict(shares: &[CertifiedShare], in_boxes: bool) -> Option<String> {
    let hardest = &shares.last()?.kind;
    let by = |c: &CertifiedShare| match &c.sorts[..] {
        [] => format!("declaring its numbers differently, within {}", within(c.share)),
        sorts => format!("one {}", sorts.join(" or ")),
    };
    let of: Vec<String> = shares
        .iter()
        .filter(|c| c.kind == *hardest)
        .map(|c| format!("{:.1} % by {}", 100.0 * c.certified.value, by(c)))
        .collect();
    let what = match in_boxes {
        false => "no other job can take, in that one state",
        true => "no other job can take, as far as recorded rows tell",
    };
    Some(format!("of the choices of kind {hardest} {what}: {}.", of.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contradicted_certificate_is_said_to_be_wrong() {
        let tried = Tried { of_safe: 10, contradicted: 0, of_others: 5, taken: 2 };
        assert!(outcome(0.05, tried).contains("± 5 %: of 10 random edits"));
        assert!(outcome(0.05, tried).contains("none took the choice; of 5 edits of the others 2 did"));
        assert!(outcome(0.125, Tried { contradicted: 1, ..tried }).contains("the certificates are wrong"));
    }
}
