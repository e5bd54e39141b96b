//! The fidelity budget: at which level decisions depart from the teacher's first.

use super::{Estimate, Scorer, interval::bootstrap};
use crate::trace::{Choice, LevelTable};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the row for choices with a single candidate.
pub const FORCED: &str = "forced";

/// What one level and kind contribute to the disagreement of whole decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetRow {
    /// Level, e.g. `job`.
    pub level: String,
    /// Kind of choice at that level, or `forced` for those with a single candidate.
    pub kind: String,
    /// Decisions with such a choice in which the levels above agree.
    pub decisions: usize,
    /// Those in which this level departs.
    pub departures: usize,
    /// Share of all decisions whose first departure is here; over all rows this adds up to the joint disagreement.
    pub share: Estimate,
}

/// Where whole decisions depart from the teacher's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Decisions counted.
    pub decisions: usize,
    /// Share of decisions that agree at all levels.
    pub joint: Estimate,
    /// One row per level and kind.
    pub rows: Vec<BudgetRow>,
}

/// Walks every decision along the teacher's candidates, from the first level down, to the first level at which the scorer
/// takes another one; `levels` are tables with those who make their choices. Every decision counts 1. Below the first level
/// the choice counts whose parent is the teacher's candidate above; where a decision has a single one, as for the stage that
/// was executed, that one counts. Intervals resample episodes; `seed` fixes them. `None` without levels.
#[must_use]
pub fn budget(levels: &[(&LevelTable, &Scorer<'_>)], seed: u64) -> Option<Budget> {
    let (first, _) = levels.first()?;
    // Column of the row for a kind; forced choices come last.
    let width = first.kinds.len() + 1;
    let rows = levels.len() * width;
    let below: Vec<BTreeMap<(u32, u32), Vec<usize>>> =
        levels[1..].iter().map(|(table, _)| by_decision(table)).collect();
    let episodes = super::fidelity::episodes(first);
    // Per episode and row: decisions that reach it, and departures.
    let sums: Vec<Vec<(usize, usize)>> = episodes
        .par_iter()
        .map(|range| {
            let mut sums = vec![(0, 0); rows];
            let mut scores = Vec::new();
            for i in range.clone() {
                let mut choice = first.choice(i);
                let at = (choice.header.episode, choice.header.step);
                for (level, &(_, scorer)) in levels.iter().enumerate() {
                    let forced = choice.is_forced();
                    let kind = if forced { width - 1 } else { choice.header.kind as usize };
                    let (reached, departed) = &mut sums[level * width + kind];
                    *reached += 1;
                    if !forced && scorer.choose(&choice, &mut scores) != choice.target() {
                        *departed += 1;
                        break;
                    }
                    let Some(&(next, _)) = levels.get(level + 1) else { break };
                    match below[level].get(&at).and_then(|found| conditional(next, found, choice.target())) {
                        Some(found) => choice = found,
                        None => break,
                    }
                }
            }
            sums
        })
        .collect();
    let decisions: Vec<usize> = episodes.iter().map(ExactSizeIterator::len).collect();
    let share = |of: &dyn Fn(usize) -> usize| {
        bootstrap(episodes.len(), seed, |counts| {
            let sum = |of: &dyn Fn(usize) -> usize| {
                counts.iter().enumerate().map(|(e, &c)| of(e) as f64 * f64::from(c)).sum::<f64>()
            };
            sum(of) / sum(&|e| decisions[e])
        })
    };
    let row = |r: usize| {
        let sum = |of: fn(&(usize, usize)) -> usize| sums.iter().map(|s| of(&s[r])).sum::<usize>();
        let (table, _) = levels[r / width];
        BudgetRow {
            level: table.spec.name.clone(),
            kind: first.kinds.get(r % width).map_or(FORCED, String::as_str).to_owned(),
            decisions: sum(|s| s.0),
            departures: sum(|s| s.1),
            share: share(&|e| sums[e][r].1),
        }
    };
    Some(Budget {
        decisions: decisions.iter().sum(),
        joint: share(&|e| decisions[e] - sums[e].iter().map(|s| s.1).sum::<usize>()),
        rows: (0..rows).map(row).filter(|r| r.decisions > 0).collect(),
    })
}

/// Choices of a table by episode and step.
fn by_decision(table: &LevelTable) -> BTreeMap<(u32, u32), Vec<usize>> {
    let mut found: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (i, choice) in table.choices.iter().enumerate() {
        found.entry((choice.episode, choice.step)).or_default().push(i);
    }
    found
}

/// The choice that is conditional on a candidate of the level above.
fn conditional<'a>(table: &'a LevelTable, of_decision: &[usize], candidate: usize) -> Option<Choice<'a>> {
    let is_its = |i: &&usize| table.choices[**i].parent == Some(candidate as u32);
    match of_decision {
        [single] => Some(table.choice(*single)),
        several => several.iter().find(is_its).map(|&i| table.choice(i)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evaluator::tiny,
        level::first_max,
        model::{Linear, Model, NamedModel},
        rng::Stream,
    };

    fn smallest_a() -> NamedModel {
        let linear = Linear { coefficient: vec![-1.0, 0.0], intercept: 0.0, feature_sd: vec![0.0; 2] };
        NamedModel { name: "r".to_owned(), temperature: 1.0, model: Model::Linear(linear) }
    }

    #[test]
    fn the_first_departure_counts_and_rows_add_up() {
        // Three decisions in one episode; candidate 0 has the smallest `a`.
        let two = || vec![[0.0, 0.0], [1.0, 0.0]];
        // The target is the scorer's; another one; the scorer's.
        let jobs = tiny::table("job", &[(0, 0, two(), 0), (0, 1, two(), 1), (0, 1, two(), 0)]);
        // Two stage choices per decision, conditional on job 0 and 1.
        let mut stages = tiny::table(
            "stage",
            &[
                (0, 0, two(), 1), // conditional on the target: departs
                (0, 0, two(), 0),
                (0, 1, two(), 0),
                (0, 1, two(), 1),            // the job has departed before
                (0, 1, vec![[0.0, 0.0]], 0), // forced
                (0, 1, two(), 1),            // conditional on another job
            ],
        );
        for (i, choice) in stages.choices.iter_mut().enumerate() {
            (choice.step, choice.parent) = (i as u32 / 2, Some(i as u32 % 2));
        }
        let model = smallest_a();
        let scorer = Scorer::model(&model, "student");
        let found = budget(&[(&jobs, &scorer), (&stages, &scorer)], 1).unwrap();
        let rows: Vec<_> =
            found.rows.iter().map(|r| (r.level.as_str(), r.kind.as_str(), r.decisions, r.departures)).collect();
        assert_eq!(rows, [("job", "x", 1, 0), ("job", "y", 2, 1), ("stage", "x", 1, 1), ("stage", FORCED, 1, 0)]);
        assert_eq!(found.decisions, 3);
        assert!((found.joint.value - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(budget(&[], 1), None);
    }

    #[test]
    fn shares_and_joint_agreement_add_up_to_one() {
        let mut s = Stream::new(3, "budget");
        let mut table = |level: &str| {
            let choices: Vec<_> = (0..200)
                .map(|i| {
                    let n = 1 + s.below(4);
                    let rows = (0..n).map(|_| [s.uniform() as f32, 0.0]).collect();
                    (i / 20, s.below(2) as u8, rows, s.below(n))
                })
                .collect();
            tiny::table(level, &choices)
        };
        let (jobs, stages, amounts) = (table("job"), table("stage"), table("cluster"));
        let model = smallest_a();
        let scorer = Scorer::model(&model, "student");
        let tables = [&jobs, &stages, &amounts];
        let found = budget(&tables.map(|t| (t, &scorer)), 1).unwrap();
        let sum: f64 = found.rows.iter().map(|r| r.share.value).sum();
        assert!((sum + found.joint.value - 1.0).abs() < 1e-12);
        // By brute force: all three levels agree.
        let agrees = |t: &LevelTable, i: usize| {
            let c = t.choice(i);
            first_max((0..c.len()).map(|j| -f64::from(c.row(j)[0]))) == c.target()
        };
        let joint = (0..200).filter(|&i| tables.iter().all(|t| agrees(t, i))).count();
        assert!((found.joint.value - joint as f64 / 200.0).abs() < 1e-12);
        assert!(found.joint.low <= found.joint.value && found.joint.value <= found.joint.high);
    }
}
