//! What a policy answered, as lists of log-probabilities that can be checked and compared.

use super::REPEAT;
use sched_distill_core::{
    policy::Policy,
    scenario::{LEAST_LOG_PROB, Said, Scenario, Told},
};

/// By how much probabilities may miss a sum of 1, for those that come in 32 bits.
const SUM: f64 = 1e-3;

/// An answer as it is kept for later comparison.
pub(super) type Answer<S> = (<S as Scenario>::Decision, Said);

/// Whether a list may have no entries.
pub(super) fn may_be_empty(list: &Told<'_>) -> bool {
    list.entries.contains(&0)
}

/// Whether a list is a distribution over as many candidates as there are.
pub(super) fn check(list: &Told<'_>) -> Result<(), String> {
    let (found, allowed) = (list.log_prob.len(), &list.entries);
    let result = match allowed.contains(&found) {
        true => distribution(list.log_prob),
        false if allowed.start() == allowed.end() => {
            Err(format!("{found} probabilities for {} candidates", allowed.start()))
        }
        false => Err(format!("{found} probabilities; {} to {} are allowed", allowed.start(), allowed.end())),
    };
    result.map_err(|found| format!("{}: {found}", list.of))
}

pub(super) fn ask<S: Scenario>(policy: &mut dyn Policy<S>, seen: &S::View<'_>) -> Result<Answer<S>, String> {
    let mut p = Said::default();
    policy.decide(seen, &mut p).map(|decision| (decision, p)).map_err(|e| chain(&e))
}

/// An error with its causes.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        if !text.contains(&cause.to_string()) {
            text += &format!(": {cause}");
        }
        next = cause.source();
    }
    text
}

/// Whether these are the log-probabilities of a distribution.
pub(super) fn distribution(log_prob: &[f64]) -> Result<(), String> {
    if let Some(at) = log_prob.iter().position(|p| p.is_nan() || *p == f64::INFINITY) {
        return Err(format!("the log-probability at {at} is {}", log_prob[at]));
    }
    let sum: f64 = log_prob.iter().map(|p| p.exp()).sum();
    match (sum - 1.0).abs() <= SUM {
        true => Ok(()),
        false => Err(format!("probabilities sum to {sum}")),
    }
}

/// Whether two answers of one policy to one question are the same.
pub(super) fn same<S: Scenario>(a: &Answer<S>, b: &Answer<S>) -> Result<(), String> {
    if a.0 != b.0 {
        return Err(format!("{:?}, then {:?}", a.0, b.0));
    }
    match apart(&a.1.joint, &b.1.joint).max(apart(&a.1.given, &b.1.given)) <= REPEAT {
        true => Ok(()),
        false => Err("the same decision with other probabilities".to_owned()),
    }
}

/// The largest difference; infinite between lists of different lengths, or where one is no number.
pub(super) fn apart(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    let rules_out = |p: f64| p <= f64::from(LEAST_LOG_PROB);
    let difference = |(a, b): (&f64, &f64)| match (a - b).abs() {
        // What a policy rules out is −∞ or a very small number.
        f64::INFINITY if rules_out(*a) && rules_out(*b) => 0.0,
        apart if apart.is_nan() && a != b => f64::INFINITY,
        apart if apart.is_nan() => 0.0,
        apart => apart,
    };
    a.iter().zip(b).map(difference).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_compared_entry_by_entry() {
        let none = f64::NEG_INFINITY;
        assert_eq!(apart(&[none, -1.0], &[none, -1.25]), 0.25);
        assert_eq!(apart(&[none, none], &[-50.0, -1e6]), 0.0);
        assert_eq!(apart(&[none], &[-49.0]), f64::INFINITY);
        assert_eq!(apart(&[f64::NAN], &[0.0]), f64::INFINITY);
        assert_eq!(apart(&[0.0], &[0.0, none]), f64::INFINITY);
    }

    #[test]
    fn what_is_no_distribution_is_told() {
        assert_eq!(distribution(&[f64::NEG_INFINITY, 0.0]), Ok(()));
        assert_eq!(distribution(&[0.0, f64::NAN]), Err("the log-probability at 1 is NaN".to_owned()));
        assert_eq!(distribution(&[0.0, 0.0]), Err("probabilities sum to 2".to_owned()));
        let found = |entries| check(&Told { of: "stage", list: 0, log_prob: &[0.0], entries });
        assert_eq!(found(2..=2), Err("stage: 1 probabilities for 2 candidates".to_owned()));
        assert_eq!(found(2..=4), Err("stage: 1 probabilities; 2 to 4 are allowed".to_owned()));
        assert_eq!(found(0..=1), Ok(()));
    }
}
