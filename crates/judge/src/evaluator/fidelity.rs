//! Fidelity: does a scorer choose as the teacher would, and what does it cost in the teacher's own terms?

use super::{Estimate, FidelityRow, Lead, Scorer, interval::bootstrap};
use rayon::prelude::*;
use sched_distill_core::level::{ALL_KINDS, LevelSpec, first_max};
use sched_distill_trace::{Choice, LevelTable};

/// Weighted sums, over a choice or an episode.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    weight: f64,
    choices: usize,
    top: [f64; 3],
    executed: f64,
    /// Distance between the executed candidate and the scorer's.
    distance: f64,
    /// Weight of choices that have an executed candidate.
    executed_weight: f64,
    regret: f64,
    cross_entropy: f64,
    kendall: f64,
    kendall_weight: f64,
    probable_weight: f64,
}

/// Fidelity of every scorer on the choices of a table, by kind and for all kinds together (`all`); choices with a single
/// candidate are left out. Intervals resample episodes; `seed` fixes them.
#[must_use]
pub fn fidelity(table: &LevelTable, scorers: &[Scorer], seed: u64) -> Vec<FidelityRow> {
    let mut tally = Tally::new(table, scorers);
    tally.add(table);
    tally.rows(seed)
}

/// How far a scorer is ahead of each rule, at the kinds of choice that the rule is meant for: on all choices with two or more
/// candidates, and on those with five or more. Both are asked about the same choices, and intervals resample episodes.
#[must_use]
pub fn leads(table: &LevelTable, scorer: &Scorer, rules: &[Scorer], seed: u64) -> Vec<Lead> {
    let scorers: Vec<Scorer> = std::iter::once(scorer).chain(rules).cloned().collect();
    let mut tally = Tally::new(table, &scorers);
    tally.add(table);
    tally.leads(0, &(1..scorers.len()).collect::<Vec<_>>(), seed)
}

/// Choices among so many candidates or more are a test for top-3.
const MANY: usize = 5;

/// Fidelity of scorers added up episode by episode, so that the choices need not be in memory all at once.
pub struct Tally<'a> {
    scorers: &'a [Scorer],
    level: LevelSpec,
    kinds: Vec<String>,
    /// Per scorer, episode and kind: over all choices, and over those with many candidates.
    all: Vec<Vec<Vec<Sums>>>,
    many: Vec<Vec<Vec<Sums>>>,
}

impl<'a> Tally<'a> {
    /// For the level and the kinds of a table, whose choices are not added yet.
    #[must_use]
    pub fn new(like: &LevelTable, scorers: &'a [Scorer]) -> Self {
        let none = vec![Vec::new(); scorers.len()];
        Self { scorers, level: like.spec.clone(), kinds: like.kinds.clone(), all: none.clone(), many: none }
    }

    /// Adds the choices of a table; an episode comes whole in one table.
    pub fn add(&mut self, table: &LevelTable) {
        // Scorers take turns at every choice, while it is at hand.
        let of_episode = |range: &std::ops::Range<usize>| {
            let none = (vec![Sums::default(); table.kinds.len()], vec![Sums::default(); table.kinds.len()]);
            let (mut sums, mut scores) = (vec![none; self.scorers.len()], Vec::new());
            for choice in range.clone().map(|i| table.choice(i)).filter(|c| !c.is_forced()) {
                let kind = choice.header.kind as usize;
                for (scorer, (all, many)) in self.scorers.iter().zip(&mut sums) {
                    let mut one = Sums::default();
                    add(scorer, &choice, &mut scores, &mut one);
                    all[kind] = total(all[kind], &one);
                    if choice.len() >= MANY {
                        many[kind] = total(many[kind], &one);
                    }
                }
            }
            sums
        };
        let sums: Vec<Vec<(Vec<Sums>, Vec<Sums>)>> = episodes(table).par_iter().map(of_episode).collect();
        for of_scorers in sums {
            for (i, (all, many)) in of_scorers.into_iter().enumerate() {
                self.all[i].push(all);
                self.many[i].push(many);
            }
        }
    }

    /// As [`fidelity`] gives them.
    #[must_use]
    pub fn rows(&self, seed: u64) -> Vec<FidelityRow> {
        let of_scorer = |(scorer, per_episode): (&Scorer, &Vec<Vec<Sums>>)| {
            let mut rows = Vec::new();
            for (kind, name) in self.kinds_of(scorer) {
                let sums = of_kind(per_episode, kind);
                if !sums.is_empty() {
                    rows.push(row(&self.level, scorer, name, &sums, seed));
                }
            }
            rows
        };
        self.scorers.par_iter().zip(&self.all).flat_map_iter(of_scorer).collect()
    }

    /// As [`leads`] gives them, of one scorer over others, which are named by their places.
    #[must_use]
    pub fn leads(&self, scorer: usize, rules: &[usize], seed: u64) -> Vec<Lead> {
        let mut leads = Vec::new();
        for (candidates, sums) in [(2, &self.all), (MANY, &self.many)] {
            for &place in rules {
                let rule = &self.scorers[place];
                for (kind, name) in self.kinds_of(rule) {
                    let (mine, theirs) = (of_kind(&sums[scorer], kind), of_kind(&sums[place], kind));
                    if mine.is_empty() {
                        continue;
                    }
                    let difference = |top: fn(&Sums) -> f64, bottom: fn(&Sums) -> f64| {
                        bootstrap(mine.len(), seed, |counts| {
                            let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
                                counts.iter().enumerate().map(|(e, &c)| of(e) * f64::from(c)).sum()
                            };
                            sum(&|e| top(&mine[e]) - top(&theirs[e])) / sum(&|e| bottom(&mine[e]))
                        })
                    };
                    let probable = mine.iter().any(|s| s.probable_weight > 0.0);
                    leads.push(Lead {
                        level: self.level.name.clone(),
                        kind: name.to_owned(),
                        candidates,
                        over: rule.name.clone(),
                        choices: mine.iter().map(|s| s.choices).sum(),
                        top1: difference(|s| s.top[0], |s| s.weight),
                        top3: difference(|s| s.top[2], |s| s.weight),
                        regret: probable.then(|| difference(|s| -s.regret, |s| s.probable_weight)),
                    });
                }
            }
        }
        leads
    }

    /// The kinds that a scorer is meant for, with their names; the last one is all together.
    fn kinds_of<'t>(&'t self, scorer: &'t Scorer) -> impl Iterator<Item = (Option<u8>, &'t str)> {
        let kinds = self.kinds.iter().enumerate().map(|(i, k)| (Some(i as u8), k.as_str())).chain([(None, ALL_KINDS)]);
        kinds.filter(|(kind, _)| scorer.only.is_none_or(|only| only == *kind))
    }
}

/// Sums of one kind, or of all together, by episode; those without such choices are left out.
fn of_kind(per_episode: &[Vec<Sums>], kind: Option<u8>) -> Vec<Sums> {
    let of_episode = |sums: &Vec<Sums>| match kind {
        Some(kind) => sums[kind as usize],
        None => sums.iter().fold(Sums::default(), total),
    };
    per_episode.iter().map(of_episode).filter(|s| s.choices > 0).collect()
}

/// Ranges of choices by episode.
pub(super) fn episodes(table: &LevelTable) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, header) in table.choices.iter().enumerate() {
        match ranges.last_mut() {
            Some(last) if table.choices[last.start].episode == header.episode => last.end = i + 1,
            _ => ranges.push(i..i + 1),
        }
    }
    ranges
}

fn add(scorer: &Scorer, choice: &Choice<'_>, scores: &mut Vec<f64>, sums: &mut Sums) {
    let n = choice.len();
    let weight = f64::from(choice.header.weight);
    let target = choice.target();
    let executed = choice.chosen.iter().position(|&c| c);
    sums.weight += weight;
    sums.choices += 1;
    sums.executed_weight += if executed.is_some() { weight } else { 0.0 };
    let probable = choice.has_probabilities();
    let p = |i: usize| f64::from(choice.log_prob[i]).exp();
    if probable {
        sums.probable_weight += weight;
    }
    let Some(temperature) = scorer.score(choice, scores) else {
        for (k, top) in sums.top.iter_mut().enumerate() {
            *top += weight * ((k + 1) as f64 / n as f64).min(1.0);
        }
        if let Some(executed) = executed {
            sums.executed += weight / n as f64;
            sums.distance += weight * (0..n).map(|i| executed.abs_diff(i) as f64).sum::<f64>() / n as f64;
        }
        if probable {
            sums.regret += weight * (p(target) - 1.0 / n as f64);
            sums.cross_entropy += weight * (n as f64).ln();
            // No order agrees with nothing on average; it counts where the teacher has an order, as for every scorer.
            sums.kendall_weight += if kendall_tau_b(scores, choice.log_prob).is_some() { weight } else { 0.0 };
        }
        return;
    };
    let chosen = scorer.taken(scores, temperature);
    // Candidates ahead of the target: better ones, and equal ones that stand before it; the one that is taken is ahead of all.
    let mine = scores[target];
    let first = scorer.schedules.then_some(chosen);
    let is_ahead = |(i, &s): (usize, &f64)| first == Some(i) || s > mine || (s == mine && i < target);
    let ahead = match first == Some(target) {
        true => 0,
        false => scores.iter().enumerate().filter(|&candidate| is_ahead(candidate)).count(),
    };
    for (k, top) in sums.top.iter_mut().enumerate() {
        *top += if ahead <= k { weight } else { 0.0 };
    }
    if let Some(executed) = executed {
        sums.executed += if executed == chosen { weight } else { 0.0 };
        sums.distance += weight * executed.abs_diff(chosen) as f64;
    }
    if probable {
        sums.regret += weight * (p(target) - p(chosen));
        if let Some(t) = temperature {
            let best = scores[first_max(scores.iter().copied())];
            let total = scores.iter().map(|s| ((s - best) / t).exp()).sum::<f64>().ln();
            let cross = scores.iter().enumerate().map(|(i, s)| p(i) * (total - (s - best) / t));
            sums.cross_entropy += weight * cross.sum::<f64>();
        }
        if let Some(tau) = kendall_tau_b(scores, choice.log_prob) {
            sums.kendall += weight * tau;
            sums.kendall_weight += weight;
        }
    }
}

/// Kendall's tau-b; 0 if `a` has no order at all, `None` if `b` has none.
fn kendall_tau_b(a: &[f64], b: &[f32]) -> Option<f64> {
    let (mut score, mut pairs_a, mut pairs_b) = (0i64, 0i64, 0i64);
    for i in 0..a.len() {
        let (mine, of_teacher) = (a[i], b[i]);
        let mut row = (0i32, 0i32, 0i32);
        for (&other, &of_other) in a[..i].iter().zip(&b[..i]) {
            // Without branches, so that several pairs are compared at once.
            let x = i32::from(mine > other) - i32::from(mine < other);
            let y = i32::from(of_teacher > of_other) - i32::from(of_teacher < of_other);
            row = (row.0 + x * y, row.1 + x * x, row.2 + y * y);
        }
        score += i64::from(row.0);
        pairs_a += i64::from(row.1);
        pairs_b += i64::from(row.2);
    }
    (pairs_b > 0).then(|| score as f64 / ((pairs_a as f64) * (pairs_b as f64)).sqrt().max(1.0))
}

fn total(mut a: Sums, b: &Sums) -> Sums {
    a.weight += b.weight;
    a.choices += b.choices;
    a.top.iter_mut().zip(b.top).for_each(|(a, b)| *a += b);
    a.executed += b.executed;
    a.distance += b.distance;
    a.executed_weight += b.executed_weight;
    a.regret += b.regret;
    a.cross_entropy += b.cross_entropy;
    a.kendall += b.kendall;
    a.kendall_weight += b.kendall_weight;
    a.probable_weight += b.probable_weight;
    a
}

fn row(level: &LevelSpec, scorer: &Scorer, kind: &str, sums: &[Sums], seed: u64) -> FidelityRow {
    let ratio = |top: fn(&Sums) -> f64, bottom: fn(&Sums) -> f64| -> Estimate {
        bootstrap(sums.len(), seed, |counts| {
            let sum = |f: fn(&Sums) -> f64| sums.iter().zip(counts).map(|(s, &c)| f(s) * f64::from(c)).sum::<f64>();
            sum(top) / sum(bottom)
        })
    };
    let has = |f: fn(&Sums) -> f64| sums.iter().any(|s| f(s) > 0.0);
    let probable = has(|s| s.probable_weight);
    FidelityRow {
        level: level.name.clone(),
        kind: kind.to_owned(),
        scorer: scorer.name.clone(),
        role: scorer.role,
        choices: sums.iter().map(|s| s.choices).sum(),
        episodes: sums.len(),
        top1: ratio(|s| s.top[0], |s| s.weight),
        top2: ratio(|s| s.top[1], |s| s.weight),
        top3: ratio(|s| s.top[2], |s| s.weight),
        regret: probable.then(|| ratio(|s| s.regret, |s| s.probable_weight)),
        cross_entropy: (probable && scorer.has_temperature())
            .then(|| ratio(|s| s.cross_entropy, |s| s.probable_weight))
            // Of a student that rules out what its teacher does, or whose scores are no numbers, it is none.
            .filter(|e| e.value.is_finite()),
        kendall: has(|s| s.kendall_weight).then(|| ratio(|s| s.kendall, |s| s.kendall_weight)),
        executed: has(|s| s.executed_weight).then(|| ratio(|s| s.executed, |s| s.executed_weight)),
        amount_error: (level.is_amount() && has(|s| s.executed_weight))
            .then(|| ratio(|s| s.distance, |s| s.executed_weight)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::{Role, best_single_features, tiny::feature};
    use sched_distill_core::{
        level::{LevelSpec, NONE_FLAG, Values},
        model::{Additive, Model, NamedModel},
        rng::Stream,
    };
    use sched_distill_trace::ChoiceHeader;

    /// A teacher whose log-probabilities are a known linear score of two features, in two kinds.
    fn table(episodes: u32) -> (LevelTable, NamedModel) {
        let spec = LevelSpec {
            name: "job".to_owned(),
            question: String::new(),
            candidates: String::new(),
            entities: vec!["job".to_owned()],
            features: vec![feature("a"), feature("b")],
        };
        let mut table = LevelTable::new(spec, vec!["x".to_owned(), "y".to_owned()]);
        let mut s = Stream::new(4, "fidelity");
        for i in 0..episodes * 20 {
            let n = 1 + s.below(6);
            table.choices.push(ChoiceHeader {
                id: u64::from(i),
                episode: i / 20,
                step: i % 20,
                time_ms: 0.0,
                kind: s.below(2) as u8,
                parent: None,
                weight: 1.0 + s.below(3) as f32,
                first_row: table.rows(),
            });
            let x: Vec<[f32; 2]> = (0..n).map(|_| [s.normal() as f32, s.normal() as f32]).collect();
            let score: Vec<f64> = x.iter().map(|r| f64::from(2.0 * r[0] - r[1])).collect();
            let total = score.iter().map(|v| v.exp()).sum::<f64>().ln();
            let chosen = s.below(n);
            for (j, row) in x.iter().enumerate() {
                table.entity.push(j as u32);
                table.log_prob.push((score[j] - total) as f32);
                table.chosen.push(j == chosen);
                table.x.extend(row);
            }
        }
        let linear = Additive { intercept: 3.0, ..Additive::linear(&[2.0, -1.0], &[1.0; 2]) };
        (table, NamedModel { name: "linear".to_owned(), temperature: 1.0, model: Model::Additive(linear) })
    }

    #[test]
    fn the_teacher_itself_is_perfectly_faithful() {
        let (table, teacher) = table(10);
        let rows = fidelity(&table, &[Scorer::model(&teacher, Role::Student)], 1);
        assert_eq!(rows.iter().map(|r| r.kind.as_str()).collect::<Vec<_>>(), ["x", "y", "all"]);
        for r in &rows {
            assert_eq!((r.top1.value, r.top3.low), (1.0, 1.0));
            assert!(r.regret.unwrap().value.abs() < 1e-12);
            assert!((r.kendall.unwrap().value - 1.0).abs() < 1e-12);
        }
        assert_eq!(rows[0].choices + rows[1].choices, rows[2].choices);
        assert!(rows[2].choices < table.choices.len(), "forced choices are left out");
    }

    #[test]
    fn the_expected_random_figures_are_those_of_drawn_orders() {
        let (table, _) = table(400);
        let row = &fidelity(&table, &[Scorer::random()], 1)[2];
        let mut s = Stream::new(9, "draws");
        let (mut hits, mut total, mut regret) = ([0.0; 3], 0.0, 0.0);
        for c in table.iter().filter(|c| !c.is_forced()) {
            let mut order: Vec<usize> = (0..c.len()).collect();
            (1..c.len()).rev().for_each(|i| order.swap(i, s.below(i + 1)));
            let weight = f64::from(c.header.weight);
            let place = order.iter().position(|&i| i == c.target()).unwrap();
            (place..3).for_each(|k| hits[k] += weight);
            total += weight;
            regret += weight * f64::from(c.log_prob[c.target()].exp() - c.log_prob[order[0]].exp());
        }
        for (estimate, hits) in [row.top1, row.top2, row.top3].iter().zip(hits) {
            assert!((estimate.value - hits / total).abs() < 0.02);
        }
        assert!((row.regret.unwrap().value - regret / total).abs() < 0.02);
    }

    #[test]
    fn the_best_single_feature_is_found_and_shown_where_it_belongs() {
        let (table, _) = table(20);
        let rules = best_single_features(&table, &Values::new(&table.spec, None));
        let rows = fidelity(&table, &rules, 1);
        let shown: Vec<(&str, &str)> = rows.iter().map(|r| (r.kind.as_str(), r.scorer.as_str())).collect();
        assert_eq!(shown, [("x", "largest a"), ("y", "largest a"), ("all", "largest a")]);
        assert!(rows.iter().all(|r| r.top1.low <= r.top1.value && r.top1.value <= r.top1.high));
        assert!(rows.iter().all(|r| r.cross_entropy.is_none()), "a rule has no probabilities");
    }

    /// The teacher takes whoever gives nothing, whose columns hold 0, else the one with the largest `a`, which is never below 1.
    #[test]
    fn a_filler_that_tells_all_is_no_rule() {
        let (mut table, _) = table(20);
        table.spec.features[1].name = NONE_FLAG.to_owned();
        let (mut x, mut log_prob) = (Vec::new(), Vec::new());
        for choice in table.iter() {
            let gives_nothing = choice.header.id % 3 > 0;
            for row in 0..choice.len() {
                let is_none = row + 1 == choice.len();
                x.extend(if is_none { [0.0, 1.0] } else { [1.0 + choice.row(row)[0].abs(), 0.0] });
                log_prob.push(if is_none == gives_nothing { 0.5_f32.ln() } else { -9.0 } - row as f32 * 0.01);
            }
        }
        (table.x, table.log_prob) = (x, log_prob);
        let rules = best_single_features(&table, &Values::new(&table.spec, None));
        let names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
        assert!(names.iter().all(|&name| name == "largest is_none"), "{names:?}");
    }

    #[test]
    fn a_lead_is_the_difference_on_the_same_choices() {
        let (table, teacher) = table(20);
        let off = Additive::linear(&[2.0, 1.0], &[1.0; 2]);
        let student = NamedModel { model: Model::Additive(off), ..teacher };
        let (scorer, rules) =
            (Scorer::model(&student, Role::Student), best_single_features(&table, &Values::new(&table.spec, None)));
        let found = leads(&table, &scorer, &rules, 1);
        let (mine, theirs) = (fidelity(&table, std::slice::from_ref(&scorer), 1), fidelity(&table, &rules, 1));
        for (lead, (a, b)) in found.iter().zip(mine.iter().zip(&theirs)) {
            assert_eq!((&lead.kind, &lead.over, lead.choices, lead.candidates), (&b.kind, &b.scorer, b.choices, 2));
            assert!((lead.top1.value - (a.top1.value - b.top1.value)).abs() < 1e-12);
            let regret = b.regret.unwrap().value - a.regret.unwrap().value;
            assert!((lead.regret.unwrap().value - regret).abs() < 1e-12);
            assert!(lead.top1.low <= lead.top1.value && lead.top1.value <= lead.top1.high);
        }
        let many: Vec<_> = found.iter().filter(|l| l.candidates == MANY).collect();
        assert_eq!(many.iter().map(|l| l.kind.as_str()).collect::<Vec<_>>(), ["x", "y", "all"]);
        // By brute force: the target among the first three of each.
        let (mut weight, mut top3, mut choices, mut scores) = (0.0, 0.0, 0, Vec::new());
        for c in table.iter().filter(|c| c.len() >= MANY) {
            let mut hit = |scorer: &Scorer| {
                scorer.score(&c, &mut scores);
                f64::from(u8::from(scores.iter().filter(|&&s| s > scores[c.target()]).count() < 3))
            };
            top3 += f64::from(c.header.weight) * (hit(&scorer) - hit(&rules[2]));
            weight += f64::from(c.header.weight);
            choices += 1;
        }
        assert!((many[2].top3.value - top3 / weight).abs() < 1e-12 && many[2].choices == choices);
        let same = leads(&table, &scorer, std::slice::from_ref(&scorer), 1);
        assert!(same.iter().all(|l| (l.top1.low, l.top1.high, l.top3.value) == (0.0, 0.0, 0.0)));
    }

    #[test]
    fn kendall_tau_b_counts_ties_on_both_sides() {
        // scipy.stats.kendalltau([1, 2, 2, 3], [1, 3, 2, 3]) = 0.8
        assert!((kendall_tau_b(&[1.0, 2.0, 2.0, 3.0], &[1.0, 3.0, 2.0, 3.0]).unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(kendall_tau_b(&[1.0, 1.0], &[1.0, 2.0]), Some(0.0));
        assert_eq!(kendall_tau_b(&[1.0, 2.0], &[1.0, 1.0]), None);
    }
}
