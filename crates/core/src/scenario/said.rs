//! What a policy says beside its answer: log-probabilities in one form for all scenarios.

use super::Scenario;
use std::ops::RangeInclusive;

/// How probable a policy's answer was, and how probable others were; nothing of deterministic policies. It is made to be kept and
/// filled again, so that nothing is allocated per decision.
///
/// Policies speak in joint probabilities (of stages of all jobs, of tasks of all jobs) or level by level. Both are written down as
/// items: an item is a candidate together with those that lead to it. What an item leaves open, amounts for instance, is told along
/// what was decided only. [`Questions`](super::Questions) reads and writes items by path: [`choice`](super::Questions::choice),
/// [`tell`](super::Questions::tell).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// Log-probabilities of items, as many as [`Scenario::items`] says, −∞ of what cannot be; empty if the policy says nothing. What
    /// they leave over of a sum of 1 belongs to the decision that is no item, if there is one.
    pub joint: Vec<f64>,
    /// Given the item that was decided, log-probabilities of what it leaves open ([`Scenario::given_place`]); empty if nothing is, or
    /// if the policy was not asked about this item.
    pub given: Vec<f64>,
}

/// One of the lists of [`Said`] at a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Told<'a> {
    /// What it is of: "stage".
    pub of: &'static str,
    /// Its place among [`Scenario::LISTS`].
    pub list: usize,
    /// Log-probabilities; empty if the policy names none.
    pub log_prob: &'a [f64],
    /// How many there may be.
    pub entries: RangeInclusive<usize>,
}

impl Told<'_> {
    /// Whether it depends on what was decided, see [`Policy::given`](crate::policy::Policy::given).
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        self.list > 0
    }
}

impl Said {
    /// Empties both lists, keeping the memory.
    pub fn clear(&mut self) {
        self.joint.clear();
        self.given.clear();
    }

    /// Whether it says nothing, as a deterministic policy does.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.joint.is_empty()
    }

    /// What a policy says that is sure of one decision, where another one was carried out: what is conditional stays empty unless both
    /// have their item in common.
    pub fn be_sure<S: Scenario>(&mut self, seen: &S::View<'_>, sure_of: S::Decision, carried_out: S::Decision) {
        self.clear();
        let item = S::item(seen, sure_of);
        sure(&mut self.joint, item, S::items(seen));
        if let Some((place, entries)) = S::given_place(seen, sure_of)
            && S::given_place(seen, carried_out).is_some()
            && S::item(seen, carried_out) == item
        {
            sure(&mut self.given, Some(place), *entries.start());
        }
    }

    /// The lists as they are to be checked and compared: always the same ones in the same order.
    pub fn told<S: Scenario>(&self, seen: &S::View<'_>, decision: S::Decision) -> impl Iterator<Item = Told<'_>> {
        let entries = [S::items(seen)..=S::items(seen), S::given_place(seen, decision).map_or(0..=0, |(_, most)| most)];
        let lists = S::LISTS.iter().zip([&self.joint, &self.given]).zip(entries).enumerate();
        lists.map(|(list, ((&of, log_prob), entries))| Told { of, list, log_prob, entries })
    }
}

/// Log-probabilities of who is sure of one place.
fn sure(out: &mut Vec<f64>, place: Option<usize>, count: usize) {
    out.resize(count, f64::from(LEAST_LOG_PROB));
    if let Some(one) = place.and_then(|place| out.get_mut(place)) {
        *one = 0.0;
    }
}

/// Smallest log-probability that is written: a candidate that the teacher rules out (an amount above its cap, say)
/// still needs a number.
pub const LEAST_LOG_PROB: f32 = -50.0;

/// What log-probabilities are conditional on: ln Σ exp of some of them, as the best and what comes on top of it. Far
/// from 0 the second would be lost in the sum of the two.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    best: f64,
    rest: f64,
}

impl Given {
    /// On nothing.
    pub const ALL: Self = Self { best: 0.0, rest: 0.0 };

    /// On one of these.
    #[must_use]
    pub fn any(log_probs: impl Iterator<Item = f64> + Clone) -> Self {
        let best = log_probs.clone().fold(f64::NEG_INFINITY, f64::max);
        match best == f64::NEG_INFINITY {
            true => Self { best, rest: 0.0 },
            false => Self { best, rest: log_probs.map(|p| (p - best).exp()).sum::<f64>().ln() },
        }
    }

    /// ln Σ exp; −∞ of nothing.
    #[must_use]
    pub fn ln(self) -> f64 {
        self.best + self.rest
    }

    /// What is written of a log-probability, one of so many `candidates`.
    #[must_use]
    pub fn within(self, log_prob: f64, candidates: usize) -> f32 {
        // Nothing is known of what follows something impossible: all are alike.
        let conditional = match self.best == f64::NEG_INFINITY {
            true => -(candidates as f64).ln(),
            false => log_prob - self.best - self.rest,
        };
        (conditional as f32).clamp(LEAST_LOG_PROB, 0.0)
    }
}
