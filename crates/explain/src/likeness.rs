//! Which heuristic is it like, and where?

use super::{Likeness, RegimeLikeness};
use rayon::prelude::*;
use sched_distill_core::level::ALL_KINDS;
use sched_distill_judge::evaluator::{Estimate, Regimes, Scorer, agreement, bootstrap, fidelity};
use sched_distill_trace::{LevelTable, Sample};

/// Agreement of named rules with the teacher and with the student on a sample, by kind, the best first; `rules` come with what
/// they do in words.
#[must_use]
pub fn likeness(
    sample: &Sample,
    student: &Scorer,
    rules: &[(Scorer, &str)],
    regimes: Option<&Regimes>,
    seed: u64,
) -> Vec<Likeness> {
    let table = &sample.table;
    let divided = regimes.map(|regimes| {
        let mut divided = table.clone();
        regimes.divide(&mut divided);
        divided
    });
    let of_rule = |(rule, meaning): &(Scorer, &str)| {
        let with_student = agreement(table, student, rule, seed);
        let in_regimes = divided.as_ref().map_or(Vec::new(), |t| fidelity(t, std::slice::from_ref(rule), seed));
        let of_kind = |row: sched_distill_judge::evaluator::FidelityRow| {
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
                behind: None,
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
    let hits: Vec<Vec<bool>> = rules.par_iter().map(|(rule, _)| hits(table, rule)).collect();
    let place_of = |name: &str| rules.iter().position(|(rule, _)| rule.name == name);
    for group in found.chunk_by_mut(|a, b| a.kind == b.kind) {
        let (Some(best), Some(kind)) = (place_of(&group[0].rule), place(&group[0].kind)) else { continue };
        group.par_iter_mut().for_each(|l| {
            l.behind = place_of(&l.rule).map(|other| behind(table, kind as u8, [&hits[best], &hits[other]], seed));
        });
    }
    found
}

/// Choice by choice, whether a rule takes what the teacher finds best; forced choices count as such.
fn hits(table: &LevelTable, rule: &Scorer) -> Vec<bool> {
    let mut scores = Vec::new();
    table.iter().map(|choice| choice.is_forced() || rule.choose(&choice, &mut scores) == choice.target()).collect()
}

/// The agreement of one rule less that of another on the choices of a kind.
fn behind(table: &LevelTable, kind: u8, [best, other]: [&Vec<bool>; 2], seed: u64) -> Estimate {
    let mut episodes: Vec<(u32, f64, f64)> = Vec::new();
    for (i, choice) in table.iter().enumerate().filter(|(_, c)| c.header.kind == kind && !c.is_forced()) {
        let (episode, weight) = (choice.header.episode, f64::from(choice.header.weight));
        if episodes.last().is_none_or(|e| e.0 != episode) {
            episodes.push((episode, 0.0, 0.0));
        }
        if let Some(sums) = episodes.last_mut() {
            sums.1 += weight * (f64::from(u8::from(best[i])) - f64::from(u8::from(other[i])));
            sums.2 += weight;
        }
    }
    bootstrap(episodes.len(), seed, |counts| {
        let all = episodes.iter().zip(counts);
        let (less, weight) = all.fold((0.0, 0.0), |s, (e, &n)| (s.0 + e.1 * f64::from(n), s.1 + e.2 * f64::from(n)));
        less / weight
    })
}
