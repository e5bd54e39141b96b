//! What a search costs at least, and what it keeps for its end.

use super::{AugmentError, AugmentParams, edits::measured};
use sched_distill_core::model::Student;

/// Episodes in which it is counted how often edits decide, and how many decisions stay as they were.
pub(super) const COUNTED: u32 = 10;

/// Episodes in which it is counted at every step how many decisions stay as they were.
pub(super) const AGREEMENT: u32 = 5;

/// Episodes that measure what edits do, so many of them: the student with all and without each, how often they decide,
/// and how many decisions of the student before stay as they were.
pub(super) fn evidence(edits: usize, validation: u32) -> u64 {
    (1 + edits as u64) * u64::from(validation) + 2 * u64::from(COUNTED)
}

/// Episodes that a confirmation takes at least: whether the change is close enough to the student before, and one look
/// at the two students.
pub(super) fn confirming(validation: u32) -> u64 {
    2 * u64::from(validation) + u64::from(AGREEMENT)
}

/// Episodes that a pass over so many edits takes, in which those go that bring nothing.
pub(super) fn pruning(edits: usize, validation: u32) -> u64 {
    (1 + edits as u64) * u64::from(validation) + confirming(validation)
}

/// What a search keeps for its end once it has so many edits: the evidence, and a pass over the edits where the budget
/// allows it.
pub(super) fn end(edits: usize, params: &AugmentParams) -> u64 {
    let evidence = evidence(edits, params.validation);
    let pruning = pruning(edits, params.validation);
    if 3 * (evidence + pruning) <= params.budget { evidence + pruning } else { evidence }
}

/// Refuses a budget in which nothing can be found: to find one change takes about as much as to confirm and to measure
/// it.
pub(super) fn check(params: &AugmentParams, student: &Student) -> Result<(), AugmentError> {
    let AugmentParams { budget, validation, .. } = *params;
    let (confirming, evidence) = (confirming(validation), evidence(measured(student) + 1, validation));
    let least = (2 * (confirming + evidence)).next_multiple_of(10);
    match budget < least {
        true => Err(AugmentError::Budget { budget, validation, confirming, evidence, least }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::model::{Guard, Provenance};
    use sched_distill_dag::feature::feature_set;

    #[test]
    fn too_small_a_budget_is_told_how_large_it_must_be() {
        let mut student = Student::new(feature_set().clone(), false, Vec::new(), Provenance::default());
        let params = |budget| AugmentParams { validation: 10, ..AugmentParams::of_budget(budget) };
        let said = params(10).check(&student).unwrap_err().to_string();
        let expected = "budget 10 is too small: with 10 validation episodes, confirming one change takes at least 25 episodes and \
                        measuring what it does 40; give at least 130";
        assert_eq!(said, expected);
        assert!(params(129).check(&student).is_err() && params(130).check(&student).is_ok());
        // What the student has already is measured too.
        student.guards.push(Guard::parse("job: age > 60s first", feature_set()).unwrap());
        assert!(params(130).check(&student).unwrap_err().to_string().contains("give at least 150"));
    }
}
