//! Choices as the search for exceptions sees them: sets of candidates as words.

use super::{Exception, Test, named};
use crate::{ExceptionParams, FitError, target::weighted, tree::threshold::shortest};
use rayon::prelude::*;
use sched_distill_core::model::{Action, Operator, Rule, ScoreCandidates};
use sched_distill_trace::{Choice, LevelTable};

/// Most candidates of a choice that the search looks at: one bit each. Larger choices are left out.
const MOST_CANDIDATES: usize = 64;

/// Choices whose candidates stand in the order of the rule, its guards left out.
pub(super) struct Ordered {
    /// One list per feature, of the candidates of all choices.
    columns: Vec<Vec<f32>>,
    /// Where each choice's candidates begin, and the end.
    start: Vec<usize>,
    /// Each candidate's place before it was put in order.
    place: Vec<u8>,
    /// Candidates that the exceptions before the rule's guards have left, one bit each, the rule's first one lowest.
    front: Vec<u64>,
    /// The rule's guards and the exceptions behind them: who meets them, and what happens.
    later: Vec<(Vec<u64>, Action)>,
    /// Candidates that all of it has left.
    open: Vec<u64>,
    /// The bit of the teacher's candidate.
    target: Vec<u64>,
    pub(super) weight: Vec<f64>,
    /// Whether the rule has guards, so that it matters where exceptions stand.
    guarded: bool,
}

impl Ordered {
    pub(super) fn new(
        rule: &Rule,
        table: &LevelTable,
        params: &ExceptionParams,
        most: Option<usize>,
    ) -> Result<Self, FitError> {
        let named = named(rule, &table.spec)?;
        let counts = |c: &Choice<'_>| c.len() <= MOST_CANDIDATES && params.kind.is_none_or(|k| k == c.header.kind);
        let chosen = weighted(table, params.balance, most, counts)?;
        let mut ordered = Self {
            columns: vec![Vec::new(); table.width()],
            start: vec![0],
            place: Vec::new(),
            front: Vec::new(),
            later: Vec::new(),
            open: Vec::new(),
            target: Vec::new(),
            weight: Vec::new(),
            guarded: !rule.guards.is_empty(),
        };
        let mut scores = Vec::new();
        for (choice, weight) in chosen {
            scores.clear();
            scores.resize(choice.len(), 0.0);
            named.model.score_choice(choice.x, choice.width, &mut scores);
            let mut order: Vec<usize> = (0..choice.len()).collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            for &i in &order {
                ordered.columns.iter_mut().zip(choice.row(i)).for_each(|(column, &x)| column.push(x));
                ordered.place.push(i as u8);
            }
            let target = choice.target();
            let place = order.iter().position(|&i| i == target).unwrap_or(0);
            ordered.start.push(ordered.start[ordered.start.len() - 1] + choice.len());
            ordered.front.push(u64::MAX >> (MOST_CANDIDATES - choice.len()));
            ordered.target.push(1 << place);
            ordered.weight.push(weight);
        }
        for guard in &rule.guards {
            let tests = guard.when.iter().filter_map(|c| {
                let column = table.spec.features.iter().position(|f| f.name == c.feature)?;
                Some(Test { column, operator: c.operator, value: c.value })
            });
            let met = ordered.meeting_all(&tests.collect::<Vec<_>>());
            ordered.later.push((met, guard.action));
        }
        ordered.open = (0..ordered.front.len()).map(|i| ordered.behind(i, ordered.front[i])).collect();
        Ok(ordered)
    }

    /// What the rule's guards and the exceptions behind them leave of a choice's candidates.
    fn behind(&self, choice: usize, mut open: u64) -> u64 {
        for (met, action) in &self.later {
            let met = met[choice];
            open = match action {
                Action::Never if open & !met == 0 => self.oldest(choice, open),
                action => divide(open, met, *action == Action::First),
            };
        }
        open
    }

    /// Of some candidates the one that stood first before they were put in order.
    fn oldest(&self, choice: usize, open: u64) -> u64 {
        let places = &self.place[self.start[choice]..self.start[choice + 1]];
        let bits = (0..places.len()).filter(|&bit| open >> bit & 1 == 1);
        bits.min_by_key(|&bit| places[bit]).map_or(0, |bit| 1 << bit)
    }

    /// Weighted share of choices in which what comes first is the teacher's.
    pub(super) fn agreement(&self) -> f64 {
        let right = |i: &usize| lowest(self.open[*i]) == self.target[*i];
        let total: f64 = self.weight.iter().sum();
        (0..self.open.len()).filter(right).map(|i| self.weight[i]).sum::<f64>() / total
    }

    /// Conditions at about so many quantiles of each feature.
    pub(super) fn conditions(&self, thresholds: usize) -> Vec<Vec<Test>> {
        let of_column = |(column, values): (usize, &Vec<f32>)| {
            let mut sorted = values.clone();
            sorted.sort_unstable_by(f32::total_cmp);
            let mut cuts: Vec<f32> = Vec::new();
            for q in 1..=thresholds {
                let low = sorted[(sorted.len() * q / (thresholds + 1)).min(sorted.len() - 1)];
                let Some(&high) = sorted.get(sorted.partition_point(|v| v.total_cmp(&low).is_le())) else { break };
                let cut = shortest(low, high);
                if cuts.last() != Some(&cut) {
                    cuts.push(cut);
                }
            }
            // Few of the candidates may have a value that matters, such as a flag's 1.
            if let (Some(&low), true) = (sorted.first(), cuts.is_empty())
                && let Some(&high) = sorted.get(sorted.partition_point(|v| v.total_cmp(&low).is_le()))
            {
                cuts.push(shortest(low, high));
            }
            let both = [Operator::Above, Operator::AtMost];
            cuts.into_iter().flat_map(|value| both.map(|operator| Test { column, operator, value })).collect()
        };
        self.columns.par_iter().enumerate().map(of_column).collect()
    }

    /// The candidates of each choice that meet a condition.
    pub(super) fn meeting(&self, test: Test) -> Vec<u64> {
        let column = &self.columns[test.column];
        let word = |values: &[f32]| {
            let bit = |(i, &x): (usize, &f32)| u64::from(test.operator.holds(x, test.value)) << i;
            values.iter().enumerate().map(bit).fold(0, |word, bit| word | bit)
        };
        self.start.windows(2).map(|w| word(&column[w[0]..w[1]])).collect()
    }

    /// What is gained and lost in weight if the candidates in `met` come first (or last), before the rule's guards or behind.
    pub(super) fn change(&self, met: impl Iterator<Item = u64>, first: bool, overrides: bool) -> (f64, f64) {
        let (mut gained, mut lost) = (0.0, 0.0);
        let divided = if overrides { &self.front } else { &self.open };
        for (i, met) in met.enumerate() {
            let left = divide(divided[i], met, first);
            if left == divided[i] {
                continue;
            }
            let left = if overrides { self.behind(i, left) } else { left };
            match (lowest(self.open[i]) == self.target[i], lowest(left) == self.target[i]) {
                (false, true) => gained += self.weight[i],
                (true, false) => lost += self.weight[i],
                _ => {}
            }
        }
        (gained, lost)
    }

    pub(super) fn apply(&mut self, exception: &Exception) {
        let met = self.meeting_all(&exception.when);
        if exception.overrides {
            self.front.iter_mut().zip(met).for_each(|(open, met)| *open = divide(*open, met, exception.first));
        } else {
            self.later.push((met, if exception.first { Action::First } else { Action::Last }));
        }
        self.open = (0..self.front.len()).map(|i| self.behind(i, self.front[i])).collect();
    }

    /// Where exceptions may stand.
    pub(super) fn places(&self) -> &'static [bool] {
        if self.guarded { &[false, true] } else { &[false] }
    }

    pub(super) fn meeting_all(&self, tests: &[Test]) -> Vec<u64> {
        let all = tests.iter().map(|&t| self.meeting(t));
        all.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a & b).collect()).unwrap_or_default()
    }
}

/// The lowest bit.
fn lowest(word: u64) -> u64 {
    word & word.wrapping_neg()
}

/// What a guard leaves of the open candidates: those that meet it or the others, all where there are only such or others.
fn divide(open: u64, met: u64, first: bool) -> u64 {
    let left = open & if first { met } else { !met };
    if left == 0 { open } else { left }
}
