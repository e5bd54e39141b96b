//! How often attacks bring something, how much, and at whose cost.

use super::{Attempt, EpisodeAttempts, Method};
use crate::evaluator::{Estimate, bootstrap};
use serde::{Deserialize, Serialize};

/// Shares of the completion time that a target must gain to count as served sooner.
pub(super) const LITTLE: f64 = 0.01;
pub(super) const MUCH: f64 = 0.05;

/// What a method came to with a budget. Intervals are resampled by episode. Changes are shares of what was before: below 0 is sooner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodFigures {
    /// Method.
    pub method: Method,
    /// Place of the budget among those of the attack.
    pub budget: usize,
    /// Targets that were completed with and without the edits; those that were not count as not served sooner.
    pub targets: usize,
    /// Targets that were not completed in one of the two.
    pub unfinished: usize,
    /// Share of targets whose completion time fell by more than 1 %.
    pub sooner: Estimate,
    /// By more than 5 %.
    pub much_sooner: Estimate,
    /// Mean change of those whose completion time fell by more than 1 %; `None` if none did.
    pub change_if_sooner: Option<Estimate>,
    /// Mean change over all targets.
    pub change: Estimate,
    /// The same three less those of random edits of the same targets: share sooner, share much sooner, mean change. `None` where
    /// random edits were not made, and of themselves.
    pub net: Option<[Estimate; 3]>,
    /// Mean change of the mean completion time of all other jobs; `None` where there are none.
    pub others: Option<Estimate>,
    /// Executors gained in the mean over the first minute.
    pub first_minute: Estimate,
    /// How often somebody was asked, in the mean over targets.
    pub queries: f64,
}

/// Episodes below which intervals tell too little to judge by.
pub const ENOUGH: u32 = 10;

/// What the figures of a method come to beside those of random edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Random edits gain in the mean, which they can where the best of several is kept.
    EvenByChance,
    /// Something is gained in the mean, and more than by chance.
    Gains,
    /// Something is gained in the mean, and users are served sooner more often than by chance, but the gain is not clearly more.
    OnlyOften,
    /// More is gained than by chance, or more often, but nothing for sure in the mean.
    NowAndThen,
    /// Nothing that chance does not explain.
    No,
}

impl Judged {
    /// Judges a method by its figures and those of random edits of the same jobs; `None` of random edits themselves, or where none were
    /// made.
    #[must_use]
    pub fn of(own: &MethodFigures, random: &MethodFigures) -> Option<Self> {
        let [sooner, _, change] = own.net.as_ref()?;
        if random.change.high < 0.0 {
            return Some(Self::EvenByChance);
        }
        Some(match (change.high < 0.0, own.change.high < 0.0, sooner.low > 0.0) {
            (true, true, _) => Self::Gains,
            (false, true, true) => Self::OnlyOften,
            (true, false, _) | (false, false, true) => Self::NowAndThen,
            (false, _, false) => Self::No,
        })
    }
}

/// The figures of all methods and budgets, in their order, of those in which a target was completed with and without edits.
#[must_use]
pub fn figures(episodes: &[EpisodeAttempts], methods: &[Method], budgets: usize, seed: u64) -> Vec<MethodFigures> {
    let each = |budget: usize| methods.iter().filter_map(move |&method| of(episodes, method, budget, seed));
    (0..budgets).flat_map(each).collect()
}

fn of(episodes: &[EpisodeAttempts], method: Method, budget: usize, seed: u64) -> Option<MethodFigures> {
    let select = |method| -> Vec<Vec<&Attempt>> {
        let is = |a: &&Attempt| a.method == method && a.budget == budget;
        episodes.iter().map(|e| e.attempts.iter().filter(is).collect()).collect()
    };
    let (own, control) = (select(method), select(Method::Random));
    let all: Vec<&Attempt> = own.iter().flatten().copied().collect();
    let unfinished = all.iter().filter(|a| a.change().is_none()).count();
    if unfinished == all.len() {
        return None;
    }
    // A mean over targets, by episode as often as it was drawn.
    let mean = |of: &[Vec<&Attempt>], counts: &[u32], value: &dyn Fn(&Attempt) -> Option<f64>| {
        let mut sums = (0.0, 0.0);
        for (attempts, &count) in of.iter().zip(counts) {
            for value in attempts.iter().filter_map(|a| value(a)) {
                sums = (sums.0 + f64::from(count) * value, sums.1 + f64::from(count));
            }
        }
        sums.0 / sums.1
    };
    let estimate =
        |value: &dyn Fn(&Attempt) -> Option<f64>| bootstrap(own.len(), seed, |counts| mean(&own, counts, value));
    let net = |value: &dyn Fn(&Attempt) -> Option<f64>| {
        bootstrap(own.len(), seed, |counts| mean(&own, counts, value) - mean(&control, counts, value))
    };
    let sooner = |by: f64| move |a: &Attempt| Some(f64::from(u8::from(a.change().is_some_and(|c| c < -by))));
    let change = |a: &Attempt| a.change();
    let compared = method != Method::Random && control.iter().any(|of| !of.is_empty());
    let gained = estimate(&|a| a.change().filter(|c| *c < -LITTLE));
    let others = estimate(&|a| Some(a.others_ms[1] / a.others_ms[0] - 1.0).filter(|c| c.is_finite()));
    Some(MethodFigures {
        method,
        budget,
        targets: all.len(),
        unfinished,
        sooner: estimate(&sooner(LITTLE)),
        much_sooner: estimate(&sooner(MUCH)),
        change_if_sooner: gained.value.is_finite().then_some(gained),
        change: estimate(&change),
        net: compared.then(|| [net(&sooner(LITTLE)), net(&sooner(MUCH)), net(&change)]),
        others: Some(others).filter(|e| e.value.is_finite()),
        first_minute: estimate(&|a| Some(a.first_minute[1] - a.first_minute[0])),
        queries: all.iter().map(|a| a.queries as f64).sum::<f64>() / all.len() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(method: Method, before: f64, after: Option<f64>) -> Attempt {
        Attempt {
            job: 0,
            method,
            budget: 0,
            edits: vec![],
            words: vec![],
            promised: 0.0,
            queries: 4,
            trials: 1,
            completion_ms: [Some(before), after],
            others_ms: [100.0, 101.0],
            first_minute: [1.0, 3.0],
        }
    }

    #[test]
    fn shares_changes_and_what_chance_alone_brings() {
        let random = |after| attempt(Method::Random, 100.0, Some(after));
        let query = |after| attempt(Method::Query, 100.0, after);
        let episodes = [
            EpisodeAttempts {
                objective: None,
                episode: 0,
                attempts: vec![query(Some(80.0)), random(98.0), query(Some(110.0)), random(100.0)],
            },
            EpisodeAttempts {
                episode: 1,
                objective: None,
                attempts: vec![query(Some(97.0)), random(101.0), query(None), random(99.5)],
            },
        ];
        let found = figures(&episodes, &[Method::Query, Method::Random, Method::Proxy], 1, 0);
        assert_eq!(found.iter().map(|f| f.method).collect::<Vec<_>>(), [Method::Query, Method::Random]);
        let [query, random] = &found[..] else { panic!("two methods") };
        assert_eq!((query.targets, query.unfinished), (4, 1));
        assert_eq!((query.sooner.value, query.much_sooner.value, random.sooner.value), (0.5, 0.25, 0.25));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(query.change.value, (-0.2 + 0.1 - 0.03) / 3.0);
        near(query.change_if_sooner.as_ref().map_or(0.0, |e| e.value), (-0.2 - 0.03) / 2.0);
        near(query.others.as_ref().map_or(0.0, |e| e.value), 0.01);
        near(query.first_minute.value, 2.0);
        let net = query.net.as_ref().expect("random edits were made");
        near(net[0].value, 0.25);
        near(net[2].value, (-0.2 + 0.1 - 0.03) / 3.0 - (-0.02 + 0.0 + 0.01 - 0.005) / 4.0);
        assert!(random.net.is_none());
    }
}
