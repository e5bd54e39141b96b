//! Why an edit is there, in words: what it does, how often it decides, and what happens without it, all as measured.

mod words;

use super::{Paired, edits};
use sched_distill_core::{
    figure::{Better, Compared, Figure},
    level::{Words, number},
    model::{Guard, Patch, Student},
};

/// What was measured of an edit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// The student with the edit against that without it.
    pub(super) gain: Paired,
    /// Share of decisions that come out differently without it.
    pub(super) firing_rate: f64,
    /// Episodes in which that was counted.
    pub(super) counted: u32,
    /// With the change that brought it against without, on the validation episodes on which the search kept that; `None` of edits
    /// that the student had before.
    pub(super) kept_for: Option<Paired>,
}

/// Gives every edit that was measured its evidence. Edits that `before` has already keep the reason that they came
/// with.
pub(super) fn explain(
    student: &mut Student,
    before: &Student,
    (objective, words): (&Figure, &Words),
    measured: &[Option<Measured>],
) {
    let known = |guard: &Guard| before.guards.iter().any(|g| g.when == guard.when && g.action == guard.action);
    let guards = student.guards.iter().map(|g| (known(g), words::guard(student, g, words)));
    let patches = student.patches.iter().enumerate();
    let patches = patches.map(|(i, p)| (i < before.patches.len(), of_patch(student, p, words)));
    let said: Vec<(bool, String)> = guards.chain(patches).collect();
    for ((evidence, measured), (old, does)) in edits::evidence(student).zip(measured).zip(said) {
        let Some(measured) = measured else { continue };
        if measured.gain.mean.is_finite() {
            evidence.gain = Some(super::moves::round(objective.gain(measured.gain.mean)));
        }
        evidence.firing_rate = Some(super::moves::round(measured.firing_rate));
        if !old || evidence.reason.is_empty() {
            evidence.reason = format!("{does}. {}; {}.", fires(measured), without(objective, measured));
        }
    }
}

fn of_patch(student: &Student, patch: &Patch, words: &Words) -> String {
    match &patch.changes[..] {
        [change] => words::change(student, change, words),
        several => format!("{} numbers of the models move together, none of which was tried alone", several.len()),
    }
}

/// How often an edit decides.
fn fires(measured: &Measured) -> String {
    match measured.firing_rate {
        0.0 => format!("It changed no decision in the {} episodes in which that was counted", measured.counted),
        rate if rate < 0.001 => "It changes fewer than 0.1 % of the decisions".to_owned(),
        rate => format!("It changes {} of the decisions", words::percent(rate)),
    }
}

/// What happens without an edit: how much worse, with the 95 % interval. An edit whose effect is within noise is said to be so, and
/// why it stays: that these episodes alone do not show an effect is no reason to take it out, since edits stand in for each other, and
/// taking out those that bring nothing was tried.
fn without(objective: &Figure, measured: &Measured) -> String {
    let effect = effect(objective, &measured.gain);
    match &measured.kept_for {
        _ if is_beyond_noise(&measured.gain) => effect,
        None => format!("{effect}; it was there before the search"),
        Some(kept_for) => {
            let n = kept_for.n;
            format!("{effect}; it is kept since, on {n} other episodes, {}", with_the_change(objective, kept_for))
        }
    }
}

/// Whether the student is worse without an edit, with its whole 95 % interval.
fn is_beyond_noise(gain: &Paired) -> bool {
    gain.mean == f64::NEG_INFINITY || gain.mean + gain.half_width() < 0.0
}

/// What the change did for which the search kept an edit: it was better beyond noise, or the search would not have.
fn with_the_change(objective: &Figure, kept_for: &Paired) -> String {
    if kept_for.mean == f64::NEG_INFINITY {
        return "fewer ended with jobs that nobody works on once it had come".to_owned();
    }
    format!("the {} was {} with the change that brought it", objective.label, interval(objective, kept_for))
}

/// What happens without an edit, as measured.
fn effect(objective: &Figure, gain: &Paired) -> String {
    let label = &objective.label;
    if gain.mean == f64::NEG_INFINITY {
        return "without it more episodes end with jobs that nobody works on".to_owned();
    }
    if gain.mean == f64::INFINITY {
        return "without it fewer episodes end with jobs that nobody works on".to_owned();
    }
    if gain.mean.is_nan() {
        return format!("what it does to the {label} cannot be told, as no episode ended both with it and without");
    }
    // Of the figure itself: from the student with the edit to that without.
    let (middle, low, high) = ends(objective, &Paired { mean: -gain.mean, ..*gain });
    let write = |x: f64| write(objective, x);
    // Less than the figures that are shown.
    let is_tiny = |x: f64| objective.compared == Compared::Ratio && x.abs() < 0.0005;
    if low <= 0.0 && high >= 0.0 {
        if is_tiny(low) && is_tiny(high) {
            return format!("its effect is within noise: without it the {label} changes by less than 0.1 % either way");
        }
        let sign = |x: f64| if x < 0.0 { format!("\u{2212}{}", write(-x)) } else { format!("+{}", write(x)) };
        return format!(
            "its effect is within noise: without it the {label} changes by something between {} and {}",
            sign(low),
            sign(high)
        );
    }
    if is_tiny(middle) {
        let direction = direction(objective, middle);
        return format!("without it the {label} is {direction} by less than 0.1 %");
    }
    format!("without it the {label} is {}", interval(objective, &Paired { mean: -gain.mean, ..*gain }))
}

/// `1.2 % longer (0.8 % to 1.6 %)`: a difference in cost as one of the figure, where the interval has one sign.
fn interval(objective: &Figure, cost: &Paired) -> String {
    let (middle, low, high) = ends(objective, cost);
    let size = [low.abs(), high.abs()];
    let [low, high] = if middle > 0.0 { size } else { [size[1], size[0]] };
    let write = |x: f64| write(objective, x);
    format!("{} {} ({} to {})", write(middle.abs()), direction(objective, middle), write(low), write(high))
}

/// A difference of the figure, middle and 95 % interval.
fn ends(objective: &Figure, cost: &Paired) -> (f64, f64, f64) {
    let half = cost.half_width();
    let [middle, low, high] = [cost.mean, cost.mean - half, cost.mean + half].map(|cost| change(objective, cost));
    (middle, low.min(high), low.max(high))
}

fn write(objective: &Figure, x: f64) -> String {
    match objective.compared {
        Compared::Ratio => words::percent(x),
        Compared::Difference if &*objective.unit == "share" => format!("{} points", number(100.0 * x)),
        Compared::Difference => format!("{} {}", number(x), objective.unit),
    }
}

fn direction(objective: &Figure, change: f64) -> &'static str {
    match (&*objective.unit, change > 0.0) {
        ("ms", true) => "longer",
        ("ms", false) => "shorter",
        (_, true) => "higher",
        (_, false) => "lower",
    }
}

/// How a figure changes where its cost changes by so much: a share of it, or a difference in its unit.
fn change(objective: &Figure, cost: f64) -> f64 {
    match (objective.compared, objective.better) {
        (Compared::Ratio, Better::Less) => cost.exp() - 1.0,
        (Compared::Ratio, Better::More) => (-cost).exp() - 1.0,
        (Compared::Difference, Better::Less) => cost,
        (Compared::Difference, Better::More) => -cost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::{figure::COMPLETION_FIGURES, model::Provenance};
    use sched_distill_dag::feature::{feature_set, words};

    const JCT: &Figure = &COMPLETION_FIGURES[0];

    fn paired(mean: f64, se: f64) -> Paired {
        Paired { mean, se, n: 100 }
    }

    #[test]
    fn a_gain_beyond_noise_is_said_with_its_interval() {
        let said = effect(JCT, &paired(-0.012, 0.002));
        assert_eq!(said, "without it the mean JCT is 1.2 % longer (0.8 % to 1.6 %)");
        let said = effect(JCT, &paired(0.02, 0.002));
        assert_eq!(said, "without it the mean JCT is 2 % shorter (1.6 % to 2.4 %)");
        // More is better, and differences are compared.
        let busy = &COMPLETION_FIGURES[2];
        assert_eq!(
            effect(busy, &paired(-0.03, 0.005)),
            "without it the busy is 3 points lower (2.01 points to 3.99 points)"
        );
    }

    #[test]
    fn a_gain_within_noise_is_said_to_be_so() {
        let said = effect(JCT, &paired(-0.002, 0.002));
        let expected =
            "its effect is within noise: without it the mean JCT changes by something between \u{2212}0.2 % and +0.6 %";
        assert_eq!(said, expected);
        assert!(!effect(JCT, &paired(-0.012, 0.002)).contains("noise"));
        // A single episode tells nothing of noise, and no difference at all is none.
        assert!(effect(JCT, &paired(0.0, 0.0)).contains("within noise"));
        // What figures of this many digits cannot show is not shown as 0.
        assert!(
            effect(JCT, &paired(-1e-4, 1e-4))
                .ends_with("within noise: without it the mean JCT changes by less than 0.1 % either way")
        );
        assert_eq!(effect(JCT, &paired(-3e-4, 1e-5)), "without it the mean JCT is longer by less than 0.1 %");
        assert_eq!(effect(JCT, &paired(-4e-4, 1e-4)), "without it the mean JCT is longer by less than 0.1 %");
        assert_eq!(effect(JCT, &paired(-2e-3, 1e-5)), "without it the mean JCT is 0.2 % longer (0.2 % to 0.2 %)");
    }

    #[test]
    fn an_edit_within_noise_says_why_it_is_kept() {
        let said = |gain, kept_for| without(JCT, &Measured { gain, firing_rate: 0.1, counted: 10, kept_for });
        let kept_for = Some(paired(-0.012, 0.002));
        assert_eq!(
            said(paired(-0.002, 0.002), kept_for),
            "its effect is within noise: without it the mean JCT changes by something between \u{2212}0.2 % and +0.6 %; it is kept since, on \
             100 other episodes, the mean JCT was 1.2 % shorter (0.8 % to 1.6 %) with the change that brought it"
        );
        assert!(said(paired(0.02, 0.002), kept_for).contains("2 % shorter (1.6 % to 2.4 %); it is kept since"));
        assert!(said(paired(f64::NAN, 0.0), kept_for).contains("cannot be told"));
        let stranded = Some(paired(f64::NEG_INFINITY, 0.0));
        assert!(
            said(paired(0.0, 0.0), stranded).ends_with("fewer ended with jobs that nobody works on once it had come")
        );
        assert!(said(paired(0.0, 0.0), None).ends_with("; it was there before the search"));
        // What is beyond noise needs no more reason.
        assert_eq!(said(paired(-0.012, 0.002), kept_for), "without it the mean JCT is 1.2 % longer (0.8 % to 1.6 %)");
        assert!(!said(paired(f64::NEG_INFINITY, 0.0), kept_for).contains("kept"));
    }

    #[test]
    fn a_cluster_that_is_stranded_more_often_is_said_to_be_so() {
        assert!(effect(JCT, &paired(f64::NEG_INFINITY, 0.0)).contains("more episodes end"));
        assert!(effect(JCT, &paired(f64::INFINITY, 0.0)).contains("fewer episodes end"));
        assert!(effect(JCT, &paired(f64::NAN, f64::NAN)).contains("cannot be told"));
        assert!(!effect(JCT, &paired(-0.012, 0.002)).contains("episodes end"));
    }

    #[test]
    fn how_often_it_fires_is_what_was_counted() {
        let said = |firing_rate| fires(&Measured { gain: paired(0.0, 0.0), firing_rate, counted: 10, kept_for: None });
        assert_eq!(said(0.0612), "It changes 6.1 % of the decisions");
        assert_eq!(said(0.0002), "It changes fewer than 0.1 % of the decisions");
        assert_eq!(said(0.0), "It changed no decision in the 10 episodes in which that was counted");
    }

    #[test]
    fn the_reason_is_all_of_it_and_an_operators_own_reason_stays() {
        let set = feature_set();
        let mut before = Student::new(set.clone(), false, Vec::new(), Provenance::default());
        let guard = |text: &str, reason: &str| {
            let mut guard = Guard::parse(text, set).unwrap();
            guard.evidence.reason = reason.to_owned();
            guard
        };
        before.guards.push(guard("job: age > 60s first", "nobody waits"));
        let mut after = before.clone();
        after.guards.push(guard("job: ready_tasks < 4 first", ""));
        after.guards.push(guard("job: offered > 4 first", "as it came"));
        let measured = Measured { gain: paired(-0.012, 0.002), firing_rate: 0.06, counted: 10, kept_for: None };
        explain(&mut after, &before, (JCT, &words()), &[Some(measured), Some(measured), None]);
        let reasons: Vec<&str> = after.guards.iter().map(|g| g.evidence.reason.as_str()).collect();
        let expected = "A job with fewer than 4 tasks that can run now comes first. It changes 6 % of the decisions; without it the mean JCT \
                        is 1.2 % longer (0.8 % to 1.6 %).";
        assert_eq!(reasons, ["nobody waits", expected, "as it came"]);
        assert_eq!(after.guards[0].evidence.firing_rate, Some(0.06));
        assert_eq!((after.guards[2].evidence.gain, after.guards[2].evidence.firing_rate), (None, None));
    }
}
