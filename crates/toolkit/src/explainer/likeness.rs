//! Which heuristic is it like, and where?

use super::{Likeness, RegimeLikeness};
use crate::{
    evaluator::{Regimes, Scorer, agreement, fidelity},
    trace::Sample,
};
use rayon::prelude::*;
use sched_distill_core::level::ALL_KINDS;

/// Agreement of named rules with the teacher and with the student on a sample, by kind, the best first; `rules` come with what
/// they do in words.
#[must_use]
pub fn likeness(
    sample: &Sample,
    student: &Scorer<'_>,
    rules: &[(Scorer<'_>, &str)],
    regimes: Option<&Regimes>,
    seed: u64,
) -> Vec<Likeness> {
    let table = &sample.table;
    let divided = regimes.map(|regimes| {
        let mut divided = table.clone();
        regimes.divide(&mut divided);
        divided
    });
    let of_rule = |(rule, meaning): &(Scorer<'_>, &str)| {
        let with_student = agreement(table, student, rule, seed);
        let in_regimes = divided.as_ref().map_or(Vec::new(), |t| fidelity(t, std::slice::from_ref(rule), seed));
        let of_kind = |row: crate::evaluator::FidelityRow| {
            let student = with_student.iter().find(|a| a.kind == row.kind)?.share;
            let names = regimes.iter().flat_map(|r| &r.names);
            let in_regime = |name: &String| {
                let part = in_regimes.iter().find(|p| p.kind == format!("{}, {name}", row.kind))?;
                Some(RegimeLikeness { regime: name.clone(), choices: part.choices, teacher: part.top1 })
            };
            Some(Likeness {
                rule: row.scorer.clone(),
                meaning: (*meaning).to_owned(),
                choices: row.choices,
                teacher: row.top1,
                regret: row.regret,
                student,
                regimes: names.filter_map(in_regime).collect(),
                kind: row.kind.clone(),
            })
        };
        let rows = fidelity(table, std::slice::from_ref(rule), seed);
        rows.into_iter().filter(|r| r.kind != ALL_KINDS).filter_map(of_kind).collect::<Vec<_>>()
    };
    let mut found: Vec<Likeness> = rules.par_iter().map(of_rule).collect::<Vec<_>>().into_iter().flatten().collect();
    let place = |kind: &str| table.kinds.iter().position(|k| k == kind);
    found.sort_by(|a, b| {
        place(&a.kind).cmp(&place(&b.kind)).then(b.teacher.value.total_cmp(&a.teacher.value)).then(a.rule.cmp(&b.rule))
    });
    found
}
