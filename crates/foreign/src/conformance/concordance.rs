//! Whether two policies decide alike: the same questions, put to both.

use crate::conformance::{amounts, apart};
use sched_distill_core::{level::first_max, policy::Policy};
use sched_distill_dag::{Dag, Decision, Probabilities, View};
use serde::Serialize;

/// Below this difference of log-probabilities, which of two candidates is more probable is a matter of rounding.
const NEAR_TIE: f64 = 1e-4;

/// How alike two policies are. The questions are those that the first one comes to.
///
/// Where both name probabilities, the most probable stages are compared, and for the stage that the first policy took the
/// most probable amounts, so that sampling does not matter; otherwise their decisions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Concordance {
    /// Questions.
    pub questions: u64,
    /// Questions in which their actions differ.
    pub differing: u64,
    /// Questions in which their actions differ by less than 1e-4 in log-probability.
    pub near_ties: u64,
    /// The largest difference of log-probabilities of stages; `None` if one of them names none.
    pub stage_log_prob: Option<f64>,
    /// The same of amounts.
    pub amount_log_prob: Option<f64>,
    /// The first question in which their actions differ, near ties left out.
    pub first: Option<String>,
}

/// One of the two, and what it answered.
pub(super) struct Side<'a> {
    pub(super) policy: &'a mut dyn Policy<Dag>,
    pub(super) answer: &'a (Decision, Probabilities),
}

impl Concordance {
    /// Whether there is no difference but near ties, and none of log-probabilities above `tolerance`.
    #[must_use]
    pub fn holds(&self, tolerance: f64) -> bool {
        // What is not a number is no agreement.
        let within = |apart: Option<f64>| apart.is_none_or(|apart| apart <= tolerance);
        self.differing == 0 && within(self.stage_log_prob) && within(self.amount_log_prob)
    }

    /// Takes in a question; what the difference is, if there is one.
    pub(super) fn add(&mut self, seen: &View<'_>, sides: [Side<'_>; 2]) -> Option<String> {
        self.questions += 1;
        let [a, b] = sides;
        let (found, near) = self.difference(seen, a, b)?;
        match near {
            true => {
                self.near_ties += 1;
                None
            }
            false => {
                self.differing += 1;
                Some(found)
            }
        }
    }

    /// The difference of actions, and whether it is a near tie.
    fn difference(&mut self, seen: &View<'_>, a: Side<'_>, b: Side<'_>) -> Option<(String, bool)> {
        let ((mine, p), (theirs, q)) = (a.answer, b.answer);
        let decisions = || Some((format!("{mine:?}, the other {theirs:?}"), false));
        if p.stage.is_empty() || q.stage.is_empty() {
            return if mine == theirs { None } else { decisions() };
        }
        let largest = self.stage_log_prob.get_or_insert(0.0);
        *largest = largest.max(apart(&p.stage, &q.stage));
        let of_stage = top(&p.stage, &q.stage).map(|(x, y, near)| {
            let name = |at: usize| seen.schedulable().get(at).map_or("no stage".to_owned(), ToString::to_string);
            (format!("most probable is {}, for the other {}", name(x), name(y)), near)
        });
        let Decision::Assign { stage, .. } = *mine else { return of_stage };
        let (Ok(amounts), Ok(others)) = (amounts(a.policy, seen, stage), amounts(b.policy, seen, stage)) else {
            return of_stage;
        };
        if amounts.is_empty() || others.is_empty() {
            return of_stage;
        }
        let largest = self.amount_log_prob.get_or_insert(0.0);
        *largest = largest.max(apart(&amounts, &others));
        let of_amount = top(&amounts, &others).map(|(x, y, near)| {
            (format!("most probable for {stage} are {} executors, for the other {}", x + 1, y + 1), near)
        });
        match (of_stage, of_amount) {
            (Some(found @ (_, false)), _) | (_, Some(found @ (_, false))) => Some(found),
            (stage, amount) => stage.or(amount),
        }
    }
}

/// The most probable candidates if they are not the same, and whether that is a near tie.
fn top(p: &[f64], q: &[f64]) -> Option<(usize, usize, bool)> {
    let best = |values: &[f64]| first_max(values.iter().copied());
    let (x, y) = (best(p), best(q));
    let near = p.len() == q.len() && (p[x] - p[y] < NEAR_TIE || q[y] - q[x] < NEAR_TIE);
    (x != y || p.len() != q.len()).then_some((x, y, near))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ties_and_differences_are_told_apart() {
        assert_eq!(top(&[-1.0, -0.5], &[-1.0, -0.4]), None);
        assert_eq!(top(&[-0.50001, -0.5], &[-0.5, -0.50001]), Some((1, 0, true)));
        assert_eq!(top(&[-1.0, -0.5], &[-0.5, -1.0]), Some((1, 0, false)));
        assert_eq!(top(&[-1.0, -0.5], &[0.0]), Some((1, 0, false)));
        let alike = Concordance { near_ties: 3, stage_log_prob: Some(1e-6), ..Concordance::default() };
        assert!(alike.holds(1e-5) && !alike.holds(1e-7));
        assert!(!Concordance { differing: 1, ..Concordance::default() }.holds(1.0));
    }
}
