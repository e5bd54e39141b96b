//! Whether two policies decide alike: the same questions, put to both.

use super::lists::{Answer, apart};
use sched_distill_core::{
    level::first_max,
    policy::Policy,
    scenario::{Said, Scenario},
};
use serde::{Serialize, Serializer};

/// Below this difference of log-probabilities, which of two candidates is more probable is a matter of rounding.
const NEAR_TIE: f64 = 1e-4;

/// How alike two policies are. The questions are those that the first one comes to.
///
/// Where both name probabilities, the most probable candidates are compared, those that are conditional for what the
/// first policy decided, so that sampling does not matter; otherwise their decisions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Concordance {
    /// Questions.
    pub questions: u64,
    /// Questions in which their actions differ.
    pub differing: u64,
    /// Questions in which their actions differ by less than 1e-4 in log-probability.
    pub near_ties: u64,
    /// By distribution the largest difference of log-probabilities; `None` where one of them names none. In JSON a key
    /// for each, as `stage_log_prob`.
    #[serde(flatten, serialize_with = "by_name")]
    pub log_probs: Vec<(&'static str, Option<f64>)>,
    /// The first question in which their actions differ, near ties left out.
    pub first: Option<String>,
}

fn by_name<S: Serializer>(log_probs: &[(&'static str, Option<f64>)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(log_probs.iter().map(|(of, apart)| (format!("{of}_log_prob"), apart)))
}

/// One of the two, and what it answered.
pub(super) struct Side<'a, S: Scenario> {
    pub(super) policy: &'a mut dyn Policy<S>,
    pub(super) answer: &'a Answer<S>,
}

impl<S: Scenario> Side<'_, S> {
    /// What it says of a decision. What is conditional is left out if it gives no answer.
    fn of(&mut self, seen: &S::View<'_>, decision: S::Decision) -> Said {
        let mut said = self.answer.1.clone();
        if self.policy.given(seen, decision, &mut said).is_err() {
            said.given.clear();
        }
        said
    }
}

impl Concordance {
    /// Whether there is no difference but near ties, and none of log-probabilities above `tolerance`.
    #[must_use]
    pub fn holds(&self, tolerance: f64) -> bool {
        // What is not a number is no agreement.
        let within = |apart: &Option<f64>| apart.is_none_or(|apart| apart <= tolerance);
        self.differing == 0 && self.log_probs.iter().all(|(_, apart)| within(apart))
    }

    /// Takes in a question; what the difference is, if there is one.
    pub(super) fn add<S: Scenario>(&mut self, seen: &S::View<'_>, sides: [Side<'_, S>; 2]) -> Option<String> {
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
    fn difference<S: Scenario>(
        &mut self,
        seen: &S::View<'_>,
        mut a: Side<'_, S>,
        mut b: Side<'_, S>,
    ) -> Option<(String, bool)> {
        let decided = a.answer.0;
        let (mine, theirs) = (a.of(seen, decided), b.of(seen, decided));
        let silent = a.answer.1.is_silent() || b.answer.1.is_silent();
        if self.log_probs.is_empty() {
            self.log_probs.extend(S::LISTS.iter().map(|&of| (of, None)));
        }
        if silent {
            let found = || (format!("{decided:?}, the other {:?}", b.answer.0), false);
            return (decided != b.answer.0).then(found);
        }
        let (mut first, mut first_near) = (None, None);
        for (mine, theirs) in mine.told::<S>(seen, decided).zip(theirs.told::<S>(seen, decided)) {
            if mine.log_prob.is_empty() || theirs.log_prob.is_empty() {
                continue;
            }
            if let Some((_, largest)) = self.log_probs.iter_mut().find(|(of, _)| *of == mine.of) {
                *largest = Some(largest.unwrap_or(0.0).max(apart(mine.log_prob, theirs.log_prob)));
            }
            let Some((x, y, near)) = top(mine.log_prob, theirs.log_prob) else { continue };
            let named = |place| S::entry_name(seen, decided, mine.list, place);
            let given = if mine.is_conditional() { format!(" given {decided:?}") } else { String::new() };
            let found = format!("most probable{given} is {}, for the other {}", named(x), named(y));
            (if near { &mut first_near } else { &mut first }).get_or_insert((found, near));
        }
        first.or(first_near)
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
        let alike = Concordance { near_ties: 3, log_probs: vec![("stage", Some(1e-6))], ..Concordance::default() };
        assert!(alike.holds(1e-5) && !alike.holds(1e-7));
        assert!(!Concordance { differing: 1, ..Concordance::default() }.holds(1.0));
        let json = serde_json::to_value(&alike).unwrap();
        assert_eq!((&json["stage_log_prob"], &json["near_ties"]), (&1e-6.into(), &3.into()));
    }
}
