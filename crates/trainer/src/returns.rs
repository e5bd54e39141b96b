//! How much better than expected each decision came out.
//!
//! Rollouts of one job sequence meet the same arrivals and the same luck, so the others tell what to expect at a moment (the
//! input-dependent baseline of H. Mao et al., *Variance Reduction for Reinforcement Learning in Input-Driven Environments*, ICLR
//! 2019). In what one of them stands better or worse than the others at that moment is known too: an estimate of what is to come,
//! for Decima its backlog, the job-time that its remaining work would need under shortest-remaining-first, for a scorer what a
//! network makes of the state. It enters with a factor that is fitted to the rollouts at hand.

use sched_distill_judge::practice::Moment;
use serde::{Deserialize, Serialize};

/// Which future costs a decision answers for. Time is counted in a unit of the network's: seconds for Decima.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Returns {
    /// Costs count `exp(-rate · time)`.
    Discounted {
        /// Discount per unit of time.
        rate: f64,
        /// Decay of the trace per unit of time: surprises later than about its inverse are left to the value estimate. 0 for none.
        trace: f64,
    },
    /// Costs count less the mean cost per unit of time of the rollouts (average-reward returns).
    Average {
        /// As above.
        trace: f64,
    },
}

impl Returns {
    /// Discount and decay of the trace, per unit of time.
    #[must_use]
    pub fn rates(self) -> (f64, f64) {
        match self {
            Self::Discounted { rate, trace } => (rate, trace),
            Self::Average { trace } => (0.0, trace),
        }
    }
}

/// The estimate that an update needs, rollout by rollout.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Advantages {
    /// Per rollout and decision, in units of the standard deviation over all of them.
    pub(super) scaled: Vec<Vec<f32>>,
    /// Share of the variance of costs to come, about their mean at that moment, that the estimate explains.
    pub(super) explained: f64,
    /// Per rollout and decision what the estimate should have been, as far as the rollouts tell: as much beside the others' mean
    /// estimate as what came was beside what came to them.
    pub(super) lessons: Vec<Vec<f32>>,
}

/// Estimates of all rollouts; `groups` has the rollouts of each job sequence. `per_decision` is what is left of the blame for later
/// surprises with each decision in between, 1 for all of it.
pub(super) fn advantages(
    rollouts: &[Vec<Moment>],
    groups: &[std::ops::Range<usize>],
    returns: Returns,
    per_decision: f64,
) -> Advantages {
    let rate = match returns {
        Returns::Average { .. } => mean_rate(rollouts),
        Returns::Discounted { .. } => 0.0,
    };
    let costs = |e: &[Moment]| -> Vec<f64> { e.iter().map(|s| s.cost - rate * s.until_next).collect() };
    let costs: Vec<Vec<f64>> = rollouts.iter().map(|e| costs(e)).collect();
    let to_come: Vec<Vec<f64>> = rollouts.iter().zip(&costs).map(|(e, c)| costs_to_come(e, c, returns)).collect();

    // What the other rollouts had before them at the same moment: cost to come, estimate.
    let mut expected: Vec<Vec<[f64; 2]>> = Vec::new();
    for group in groups {
        for i in group.clone() {
            let others: Vec<usize> = group.clone().filter(|&o| o != i).collect();
            let mut cursors = vec![0; others.len()];
            let at = |time: f64| {
                let mut sum = [0.0; 2];
                for (cursor, &o) in cursors.iter_mut().zip(&others) {
                    let [cost, estimate] = interpolate(&rollouts[o], &to_come[o], cursor, time);
                    sum = [sum[0] + cost, sum[1] + estimate];
                }
                sum.map(|v| v / others.len().max(1) as f64)
            };
            expected.push(rollouts[i].iter().map(|s| s.time).map(at).collect());
        }
    }
    let (factor, explained) = fit(rollouts, &to_come, &expected);
    let value = |i: usize, k: usize| {
        let [cost, estimate] = expected[i][k];
        cost + factor * (rollouts[i][k].estimate - estimate)
    };
    let (discount, trace) = returns.rates();
    let mut all: Vec<Vec<f64>> = Vec::new();
    for (i, e) in rollouts.iter().enumerate() {
        let (mut advantage, mut next) = (0.0, 0.0);
        let mut list = vec![0.0; e.len()];
        for (k, step) in e.iter().enumerate().rev() {
            let kept = (-discount * step.until_next).exp();
            let value = value(i, k);
            // A cost above what was expected is a disadvantage.
            let surprise = value - costs[i][k] - kept * next;
            advantage = surprise + kept * (-trace * step.until_next).exp() * per_decision * advantage;
            list[k] = advantage;
            next = value;
        }
        all.push(list);
    }
    let lesson = |(i, to_come): (usize, &Vec<f64>)| -> Vec<f32> {
        let pairs = to_come.iter().zip(&expected[i]);
        pairs.map(|(own, [cost, estimate])| (estimate + own - cost) as f32).collect()
    };
    let lessons = to_come.iter().enumerate().map(lesson).collect();
    Advantages { scaled: standardise(&all), explained, lessons }
}

/// Cost per unit of time over all rollouts.
fn mean_rate(rollouts: &[Vec<Moment>]) -> f64 {
    let steps = || rollouts.iter().flatten();
    let (cost, time): (f64, f64) = (steps().map(|s| s.cost).sum(), steps().map(|s| s.until_next).sum());
    cost / time.max(f64::MIN_POSITIVE)
}

fn costs_to_come(e: &[Moment], costs: &[f64], returns: Returns) -> Vec<f64> {
    let (discount, _) = returns.rates();
    let mut to_come = costs.to_vec();
    for k in (0..to_come.len().saturating_sub(1)).rev() {
        to_come[k] += (-discount * e[k].until_next).exp() * to_come[k + 1];
    }
    to_come
}

/// Cost to come and estimate of a rollout at a moment; nothing after its end. `cursor` only moves on: moments must come in
/// order.
fn interpolate(steps: &[Moment], to_come: &[f64], cursor: &mut usize, time: f64) -> [f64; 2] {
    while steps.get(*cursor).is_some_and(|s| s.time <= time) {
        *cursor += 1;
    }
    let at = |k: usize| [to_come[k], steps[k].estimate];
    let Some(before) = cursor.checked_sub(1) else {
        return if steps.is_empty() { [0.0; 2] } else { at(0) };
    };
    let (from, until) = (steps[before].time, steps[before].until_next);
    let after = if *cursor < steps.len() { at(*cursor) } else { [0.0; 2] };
    let share = if until > 0.0 { ((time - from) / until).clamp(0.0, 1.0) } else { 1.0 };
    let before = at(before);
    [0, 1].map(|i| before[i] + share * (after[i] - before[i]))
}

/// The factor of the estimate by least squares, and the share of the variance that it explains.
fn fit(rollouts: &[Vec<Moment>], to_come: &[Vec<f64>], expected: &[Vec<[f64; 2]>]) -> (f64, f64) {
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for ((e, to_come), expected) in rollouts.iter().zip(to_come).zip(expected) {
        for ((step, cost), [mean_cost, mean_estimate]) in e.iter().zip(to_come).zip(expected) {
            let (x, y) = (step.estimate - mean_estimate, cost - mean_cost);
            xx += x * x;
            xy += x * y;
            yy += y * y;
        }
    }
    if xx <= 0.0 || yy <= 0.0 {
        return (0.0, 0.0);
    }
    (xy / xx, xy * xy / (xx * yy))
}

fn standardise(all: &[Vec<f64>]) -> Vec<Vec<f32>> {
    let values = || all.iter().flatten();
    let n = values().count().max(1) as f64;
    let mean = values().sum::<f64>() / n;
    let deviation = (values().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt().max(1e-12);
    all.iter().map(|list| list.iter().map(|v| ((v - mean) / deviation) as f32).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Returns = Returns::Discounted { rate: 0.0, trace: 0.0 };

    fn rollout(steps: &[(f64, f64, f64)]) -> Vec<Moment> {
        let until_next = |k: usize, time: f64| steps.get(k + 1).map_or(1.0, |next| next.0 - time);
        let moment = |(k, &(time, cost, estimate)): (usize, &(f64, f64, f64))| Moment {
            time,
            cost,
            until_next: until_next(k, time),
            estimate,
        };
        steps.iter().enumerate().map(moment).collect()
    }

    fn advantages(rollouts: &[Vec<Moment>], groups: &[std::ops::Range<usize>], returns: Returns) -> Advantages {
        super::advantages(rollouts, groups, returns, 1.0)
    }

    fn close(found: &[Vec<f32>], expected: &[Vec<f64>]) {
        let expected = standardise(expected);
        for (a, b) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((a - b).abs() < 1e-5, "{found:?} is not {expected:?}");
        }
    }

    /// Without backlog, discount and trace the advantage is what the other rollout had to pay less one's own costs.
    #[test]
    fn the_other_rollouts_are_the_baseline() {
        let rollouts = [rollout(&[(0.0, 4.0, 0.0), (2.0, 6.0, 0.0)]), rollout(&[(0.0, 1.0, 0.0), (1.0, 3.0, 0.0)])];
        let found = advantages(&rollouts, std::slice::from_ref(&(0..2)), PLAIN);
        // Costs to come: 10, 6 and 4, 3 (0 from 2 s on); of the first at 1 s: half-way between 10 and 6.
        close(&found.scaled, &[vec![4.0 - 10.0, 0.0 - 6.0], vec![10.0 - 4.0, 8.0 - 3.0]]);
        assert_eq!(found.explained, 0.0);
        assert_eq!(found.lessons, [vec![10.0 - 4.0, 6.0], vec![4.0 - 10.0, 3.0 - 8.0]]);
        // No decision answers for what follows the next one.
        let alone = super::advantages(&rollouts, std::slice::from_ref(&(0..2)), PLAIN, 0.0);
        close(&alone.scaled, &[vec![4.0 - 4.0, 0.0 - 6.0], vec![10.0 - 1.0 - 8.0, 8.0 - 3.0]]);
    }

    /// Where costs are the backlog's alone nothing is left to learn from, whatever the trace.
    #[test]
    fn the_backlog_explains_what_it_can() {
        let a = rollout(&[(0.0, 2.0, 10.0), (1.0, 8.0, 8.0)]);
        let b = rollout(&[(0.0, 2.0, 16.0), (1.0, 14.0, 14.0)]);
        let found = advantages(&[a, b], std::slice::from_ref(&(0..2)), Returns::Discounted { rate: 0.0, trace: 0.5 });
        assert!((found.explained - 1.0).abs() < 1e-12, "{}", found.explained);
        assert!(found.scaled.iter().flatten().all(|v| v.abs() < 1e-3), "{found:?}");
    }

    /// A trace that decays at once compares with the next decision only.
    #[test]
    fn the_trace_looks_no_further_than_it_should() {
        let one = rollout(&[(0.0, 5.0, 9.0), (1.0, 7.0, 3.0)]);
        let two = rollout(&[(0.0, 1.0, 0.0), (1.0, 1.0, 0.0)]);
        let found =
            advantages(&[one, two], std::slice::from_ref(&(0..2)), Returns::Discounted { rate: 0.0, trace: 1e6 });
        // Factor: differences of cost 10, 6 and backlog 9, 3.
        let factor = (10.0 * 9.0 + 6.0 * 3.0) / (81.0 + 9.0);
        let value = [[2.0 + 9.0 * factor, 1.0 + 3.0 * factor], [12.0 - 9.0 * factor, 7.0 - 3.0 * factor]];
        let expected = [
            vec![value[0][0] - 5.0 - value[0][1], value[0][1] - 7.0],
            vec![value[1][0] - 1.0 - value[1][1], value[1][1] - 1.0],
        ];
        close(&found.scaled, &expected);
    }

    #[test]
    fn average_returns_are_free_of_the_mean_rate() {
        let rollouts = [rollout(&[(0.0, 3.0, 0.0), (1.0, 3.0, 0.0)]), rollout(&[(0.0, 3.0, 0.0), (1.0, 3.0, 0.0)])];
        let found = advantages(&rollouts, std::slice::from_ref(&(0..2)), Returns::Average { trace: 0.0 });
        assert!(found.scaled.iter().flatten().all(|v| v.abs() < 1e-6), "{found:?}");
    }
}
