//! `distill attack --certify`: of which choices no edit of declared numbers can take what the student gives.

use super::{
    Common, Verdict,
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
};
use anyhow::{Result, bail};
use serde_json::json;
use std::path::Path;

/// Shares by which declared numbers may change, where the user names none.
const USUAL: [f64; 3] = [0.05, 0.1, 0.25];

pub(super) fn run(
    (file, trace): (&Path, &Path),
    budgets: &[EditBudget],
    tries: u32,
    run: Option<&(RunDir, Student)>,
    common: &Common,
    output: &mut Output,
) -> Result<Verdict> {
    let student = common.student(file)?;
    let trace = common.trace(trace)?;
    let scenario = common.scenario_of(&student.feature_set)?;
    let shares = shares(budgets, scenario.edits())?;
    let manifest = &trace.manifest;
    output.text(format!(
        "questions of {} on {}, episodes made again from the trace\'s seeds",
        manifest.driver.id, manifest.workload.id
    ))?;
    let request = CertifyRequest { student: &student, manifest, shares, tries, seed: common.seed };
    let found = scenario.certify(&request, Watched::new(output).caller())?;
    let mut table = Table::new(&["declared numbers", "kind", "choices", "certified", "other jobs, choice by choice"]);
    for c in &found.shares {
        table.row([within(c.share), c.kind.clone(), c.choices.to_string(), percent(&c.certified), percent(&c.pairs)]);
    }
    output.text(format!("\n{table}"))?;
    for (share, tried) in request.shares.iter().zip(&found.tried) {
        output.text(paragraph("tried    ", &outcome(*share, *tried)))?;
    }
    if let Some((run, _)) = run {
        let (name, certified) = (shown(file), found.clone());
        let certified = CertifiedStudent { name, student: student.hash(), certified };
        run.add_attacks(Vec::new(), vec![certified], scenario.info().objective())?;
    }
    if let Some(said) = verdict(&found.shares) {
        output.text(paragraph("verdict  ", &said))?;
    }
    output.json(
        "certificates",
        &json!({"student": student.hash(), "trace": trace.hash, "shares": found.shares, "tried": found.tried}),
    )?;
    Ok(Verdict::Done)
}

/// By how much of themselves declared numbers may change. All of a job may, so a budget says nothing else.
fn shares(budgets: &[EditBudget], edits: &[EditInfo]) -> Result<Vec<f64>> {
    if budgets.is_empty() {
        return Ok(USUAL.to_vec());
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
fn verdict(shares: &[CertifiedShare]) -> Option<String> {
    let hardest = &shares.last()?.kind;
    let of: Vec<String> = shares
        .iter()
        .filter(|c| c.kind == *hardest)
        .map(|c| format!("{:.0} % by {}", 100.0 * c.certified.value, within(c.share)))
        .collect();
    Some(format!(
        "of the choices of kind {hardest} no other job can take, by declaring its numbers differently in that one state: {}.",
        of.join(", ")
    ))
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
