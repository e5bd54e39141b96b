//! Numbers and rules in words: how the report writes a value, an interval, a test of a tree.
//!
//! Numbers carry three significant digits: enough to read, few enough to compare. Exact values stand in the data files.

use sched_distill_core::level::{FLAG, FeatureSpec, Scope, grouped};
pub(super) use sched_distill_core::level::{count, number, quantity, singular, time_unit};
use sched_distill_judge::evaluator::{Estimate, Role};

/// A policy with its role, which its name may begin with: `teacher: fair`, `student: runs/a/student.json`.
pub(super) fn with_role(role: Role, policy: &str) -> String {
    let name = policy.strip_prefix(role.name()).and_then(|rest| rest.strip_prefix(':')).unwrap_or(policy);
    format!("{role}: {name}")
}

/// A number that is not negative with one decimal, thousands separated, for columns of figures.
pub(super) fn tenths(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", grouped(whole)),
        None => text,
    }
}

/// A share as a percentage with one decimal (`87.3 %`).
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", share * 100.0).replace('-', "\u{2212}")
}

/// A number with exactly two (or, below 0.1, three) decimals, for columns of figures that share a unit.
pub(super) fn decimal(value: f64) -> String {
    let decimals = if value.abs() < 0.1 { 3 } else { 2 };
    format!("{value:.decimals$}").replace('-', "\u{2212}")
}

/// A time in the largest unit that keeps it at 2 or more, e.g. `850 ms`, `12.3 s`, `4.2 min`.
pub(super) fn time(ms: f64) -> String {
    let (scale, unit) = time_unit(ms);
    format!("{}\u{a0}{unit}", number(ms / scale))
}

/// A difference of probabilities.
pub(super) fn points(difference: f64) -> String {
    let shown = number(difference * 100.0);
    format!("{shown}\u{a0}{}", if shown == "1" { "point" } else { "points" })
}

/// What a feature is: a value with its unit, `yes` or `no` for flags.
pub(super) fn value(value: f64, feature: &FeatureSpec) -> String {
    match (feature.unit.as_str(), value) {
        (FLAG, 0.0) => "no".to_owned(),
        (FLAG, 1.0) => "yes".to_owned(),
        _ => quantity(value, feature),
    }
}

/// What a feature is called, with how its value is formed, for places that do not say so otherwise.
pub(super) fn full_label(label: String, scope: Scope) -> String {
    match scope {
        Scope::Rank => format!("{label}, rank"),
        Scope::Ratio => format!("{label}, ratio"),
        Scope::Absolute | Scope::Share => label,
    }
}

/// A scope for readers.
pub(super) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Absolute => "its own unit",
        Scope::Share => "share of the total",
        Scope::Rank => "rank in the choice (0 = smallest)",
        Scope::Ratio => "ratio to the smallest in the choice",
    }
}

/// The test of an inner node in words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Test {
    /// The feature, e.g. `work left`.
    pub(super) subject: String,
    /// The question asked at the node, e.g. `≤ 1.8 × the smallest`.
    pub(super) question: String,
    /// Label of the edge to the left child.
    pub(super) left_edge: &'static str,
    /// Label of the edge to the right child.
    pub(super) right_edge: &'static str,
    /// The condition that holds in the left child.
    pub(super) left: String,
    /// The condition that holds in the right child.
    pub(super) right: String,
}

/// Puts `feature <= threshold` in words; `subject` is what the feature is called. Of whole numbers, so is the threshold.
pub(super) fn test(subject: String, feature: &FeatureSpec, threshold: f32) -> Test {
    let t = f64::from(if feature.whole { threshold.floor() } else { threshold });
    if feature.unit == FLAG && (0.0..1.0).contains(&t) {
        return Test {
            question: "true?".to_owned(),
            left_edge: "no",
            right_edge: "yes",
            left: format!("{subject}: no"),
            right: format!("{subject}: yes"),
            subject,
        };
    }
    let (question, left, right) = match feature.scope {
        Scope::Rank if (0.0..1.0).contains(&t) => {
            ("the smallest?".to_owned(), format!("{subject}: the smallest"), format!("{subject}: not the smallest"))
        }
        // Ranks are whole numbers from 0, so `<= 2.5` means the first three places.
        Scope::Rank if (1.0..1e6).contains(&t) => {
            let places = t.floor() as u64 + 1;
            (
                format!("among the {places} smallest?"),
                format!("{subject}: among the {places} smallest"),
                format!("{subject}: not among the {places} smallest"),
            )
        }
        Scope::Ratio => compare(&subject, &format!("{} × the smallest", number(t))),
        _ => compare(&subject, &quantity(t, feature)),
    };
    Test { subject, question, left_edge: "yes", right_edge: "no", left, right }
}

fn compare(subject: &str, value: &str) -> (String, String, String) {
    (format!("≤ {value}?"), format!("{subject} ≤ {value}"), format!("{subject} > {value}"))
}

/// Joins words as a reader expects: `a`, `a and b`, `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// An estimate as `value [low, high]`, each part written by `write`; a unit that all parts share is said once. An
/// interval of no width is none.
pub(super) fn interval(estimate: &Estimate, write: fn(f64) -> String) -> String {
    if estimate.is_exact() {
        return write(estimate.value);
    }
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(write);
    let unit = |text: &str| text.split_once('\u{a0}').map(|(_, unit)| unit.to_owned());
    match (unit(&value), unit(&low), unit(&high)) {
        (Some(a), Some(b), Some(c)) if a == b && b == c => {
            let bare = |text: &str| text.split('\u{a0}').next().unwrap_or_default().to_owned();
            format!("{value} [{}, {}]", bare(&low), bare(&high))
        }
        _ => format!("{value} [{low}, {high}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(feature: &FeatureSpec, threshold: f32) -> Test {
        super::test(feature.label(), feature, threshold)
    }

    fn feature(name: &str, unit: &str, scope: Scope) -> FeatureSpec {
        FeatureSpec {
            name: name.into(),
            unit: unit.into(),
            meaning: String::new(),
            scope,
            version: 1,
            whole: false,
            control: sched_distill_core::level::Control::Declared,
        }
    }

    #[test]
    fn times_keep_three_digits() {
        assert_eq!(time(90_500.0), "90.5\u{a0}s");
        assert_eq!(time(600_000.0), "10\u{a0}min");
    }

    #[test]
    fn a_rank_test_counts_places() {
        let f = feature("remaining_work_rank", "1", Scope::Rank);
        assert_eq!(test(&f, 2.5).left, "remaining work: among the 3 smallest");
        assert_eq!(test(&f, 2.0).left, "remaining work: among the 3 smallest");
        assert_eq!(test(&f, 0.5).right, "remaining work: not the smallest");
        assert_eq!(test(&f, -1.0).left, "remaining work ≤ \u{2212}1");
    }

    #[test]
    fn a_flag_is_answered_with_yes_on_the_right() {
        let t = test(&feature("is_source", "0/1", Scope::Absolute), 0.5);
        assert_eq!((t.left.as_str(), t.right_edge), ("is source: no", "yes"));
        let flag = feature("is_source", "0/1", Scope::Absolute);
        assert_eq!([0.0, 1.0, 0.5].map(|v| value(v, &flag)), ["no", "yes", "0.5"]);
    }

    #[test]
    fn an_interval_says_a_shared_unit_once() {
        let e = Estimate { value: 0.745, low: 0.714, high: 0.776 };
        assert_eq!(interval(&e, percent), "74.5\u{a0}% [71.4, 77.6]");
        let e = Estimate { value: 119e3, low: 110e3, high: 126e3 };
        assert_eq!(interval(&e, time), "119\u{a0}s [110\u{a0}s, 2.1\u{a0}min]");
    }

    #[test]
    fn units_scale_and_ratios_name_their_base() {
        let work = feature("work", "ms·tasks", Scope::Absolute);
        assert_eq!(test(&work, 2_400_000.0).left, "work ≤ 40\u{a0}min·tasks");
        assert_eq!(test(&feature("age_ratio", "1", Scope::Ratio), 1.5).right, "age > 1.5 × the smallest");
        assert_eq!(test(&feature("busy", "1", Scope::Share), 0.25).left, "busy ≤ 25\u{a0}%");
        let tasks = FeatureSpec { whole: true, ..feature("remaining_tasks", "tasks", Scope::Absolute) };
        assert_eq!(test(&tasks, 71.5).left, "remaining tasks ≤ 71\u{a0}tasks");
        assert_eq!(test(&tasks, 71.5).right, "remaining tasks > 71\u{a0}tasks");
    }
}
