//! Why an edit is there, in words: what it does, how often it decides, and what happens without it, all as measured.

mod words;

use super::{Paired, edits};
use sched_distill_core::{
    figure::{Better, Compared, Figure},
    level::Words,
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
            evidence.reason = format!("{does}. {}; {}.", fires(measured), without(objective, &measured.gain));
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

/// What happens without an edit: how much worse, with the 95 % interval; or that the difference is within noise.
fn without(objective: &Figure, gain: &Paired) -> String {
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
    let half = gain.half_width();
    // Of the figure itself: from the student with the edit to that without.
    let [middle, low, high] = [-gain.mean, -gain.mean - half, -gain.mean + half].map(|cost| change(objective, cost));
    let [low, high] = if low <= high { [low, high] } else { [high, low] };
    let write = |x: f64| match objective.compared {
        Compared::Ratio => words::percent(x),
        Compared::Difference if &*objective.unit == "share" => format!("{} points", words::number(100.0 * x)),
        Compared::Difference => format!("{} {}", words::number(x), objective.unit),
    };
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
    let direction = match (&*objective.unit, middle > 0.0) {
        ("ms", true) => "longer",
        ("ms", false) => "shorter",
        (_, true) => "higher",
        (_, false) => "lower",
    };
    if is_tiny(middle) {
        return format!("without it the {label} is {direction} by less than 0.1 %");
    }
    let ends = if middle > 0.0 { [low, high] } else { [-high, -low] };
    format!("without it the {label} is {} {direction} ({} to {})", write(middle.abs()), write(ends[0]), write(ends[1]))
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
        let said = without(JCT, &paired(-0.012, 0.002));
        assert_eq!(said, "without it the mean JCT is 1.2 % longer (0.8 % to 1.6 %)");
        let said = without(JCT, &paired(0.02, 0.002));
        assert_eq!(said, "without it the mean JCT is 2 % shorter (1.6 % to 2.4 %)");
        // More is better, and differences are compared.
        let busy = &COMPLETION_FIGURES[2];
        assert_eq!(
            without(busy, &paired(-0.03, 0.005)),
            "without it the busy is 3 points lower (2.01 points to 3.99 points)"
        );
    }

    #[test]
    fn a_gain_within_noise_is_said_to_be_so() {
        let said = without(JCT, &paired(-0.002, 0.002));
        let expected =
            "its effect is within noise: without it the mean JCT changes by something between \u{2212}0.2 % and +0.6 %";
        assert_eq!(said, expected);
        assert!(!without(JCT, &paired(-0.012, 0.002)).contains("noise"));
        // A single episode tells nothing of noise, and no difference at all is none.
        assert!(without(JCT, &paired(0.0, 0.0)).contains("within noise"));
        // What figures of this many digits cannot show is not shown as 0.
        assert!(
            without(JCT, &paired(-1e-4, 1e-4))
                .ends_with("within noise: without it the mean JCT changes by less than 0.1 % either way")
        );
        assert_eq!(without(JCT, &paired(-3e-4, 1e-5)), "without it the mean JCT is longer by less than 0.1 %");
        assert_eq!(without(JCT, &paired(-4e-4, 1e-4)), "without it the mean JCT is longer by less than 0.1 %");
        assert_eq!(without(JCT, &paired(-2e-3, 1e-5)), "without it the mean JCT is 0.2 % longer (0.2 % to 0.2 %)");
    }

    #[test]
    fn a_cluster_that_is_stranded_more_often_is_said_to_be_so() {
        assert!(without(JCT, &paired(f64::NEG_INFINITY, 0.0)).contains("more episodes end"));
        assert!(without(JCT, &paired(f64::INFINITY, 0.0)).contains("fewer episodes end"));
        assert!(without(JCT, &paired(f64::NAN, f64::NAN)).contains("cannot be told"));
        assert!(!without(JCT, &paired(-0.012, 0.002)).contains("episodes end"));
    }

    #[test]
    fn how_often_it_fires_is_what_was_counted() {
        let said = |firing_rate| fires(&Measured { gain: paired(0.0, 0.0), firing_rate, counted: 10 });
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
        let measured = Measured { gain: paired(-0.012, 0.002), firing_rate: 0.06, counted: 10 };
        explain(&mut after, &before, (JCT, &words()), &[Some(measured), Some(measured), None]);
        let reasons: Vec<&str> = after.guards.iter().map(|g| g.evidence.reason.as_str()).collect();
        let expected = "A job with fewer than 4 tasks that can run now comes first. It changes 6 % of the decisions; without it the mean JCT \
                        is 1.2 % longer (0.8 % to 1.6 %).";
        assert_eq!(reasons, ["nobody waits", expected, "as it came"]);
        assert_eq!(after.guards[0].evidence.firing_rate, Some(0.06));
        assert_eq!((after.guards[2].evidence.gain, after.guards[2].evidence.firing_rate), (None, None));
    }
}
