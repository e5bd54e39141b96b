//! What was measured, in sentences.

use super::{Measured, against, mean, times};
use crate::words::{count, interval, list, percent};
use sched_distill_judge::evaluator::Estimate;
use sched_distill_pipeline::{Live, LiveCell, LiveKind, LivePolicy, LiveRun};

fn ratio(e: &Estimate) -> String {
    interval(e, |value| format!("{value:.3}"))
}

/// Whether its interval leaves no doubt on which side of 1 it lies.
fn is_sure(e: &Estimate) -> bool {
    e.low > 1.0 || e.high < 1.0
}

pub(super) fn all(live: &Live, cell: &LiveCell, measured: &[Measured<'_>]) -> Vec<String> {
    let own = measured.iter().find(|m| m.policy.kind == LiveKind::Own);
    let sentences = [
        own.and_then(|own| against_base(live, cell, own)),
        cell.own()
            .and_then(|own| against_others(cell, own, LiveKind::Shipped, "the best of what the engine comes with")),
        cell.own().and_then(|own| against_others(cell, own, LiveKind::Rule, "the best rule")),
        same_side(cell, measured),
        cell.own().and_then(|own| predicted(live, own)),
        cell.own().and_then(counted),
    ];
    sentences.into_iter().flatten().chain(cell.policies.iter().filter_map(often_silent)).collect()
}

fn against_base(live: &Live, cell: &LiveCell, own: &Measured<'_>) -> Option<String> {
    let e = own.live.as_ref()?;
    let is = match (e.high < 1.0, e.low > 1.0) {
        (true, _) => "surely less",
        (_, true) => "surely longer",
        _ => "not surely another time",
    };
    let simulated = own.simulated.as_ref().map_or(String::new(), |e| format!(" The simulator says {}.", ratio(e)));
    let base = &cell.policies[0].name;
    Some(format!(
        "Under this student queries take {} × as long in {} as under {base}: {is}.{simulated}",
        ratio(e),
        live.engine
    ))
}

/// Against the scheduler of a kind with the least mean completion time.
fn against_others(cell: &LiveCell, own: &LivePolicy, kind: LiveKind, which: &str) -> Option<String> {
    let total = |policy: &LivePolicy| policy.runs.iter().map(|run| run.mean_ms().ln()).sum::<f64>();
    let of_kind = || cell.policies.iter().filter(|policy| policy.kind == kind);
    let best = of_kind().min_by(|a, b| total(a).total_cmp(&total(b)))?;
    // The first scheduler was told of.
    if std::ptr::eq(best, &cell.policies[0]) {
        return None;
    }
    let e = against(cell, own, best, |run| Some(run.mean_ms()))?;
    Some(format!("Against {which}, {}, it is {} ×.", best.name, ratio(&e)))
}

/// Whether the simulator says who is better.
fn same_side(cell: &LiveCell, measured: &[Measured<'_>]) -> Option<String> {
    let both = measured.iter().filter_map(|m| Some((m.policy, m.live?, m.simulated?)));
    let sure: Vec<_> = both.filter(|(_, live, _)| is_sure(live)).collect();
    let is_right = |live: &Estimate, simulated: &Estimate| (live.value - 1.0) * (simulated.value - 1.0) > 0.0;
    let wrong = sure.iter().filter(|(_, live, simulated)| !is_right(live, simulated));
    let wrong: Vec<String> = wrong.map(|(policy, ..)| policy.name.clone()).collect();
    let base = &cell.policies[0].name;
    let who = match sure.len() {
        0 => return None,
        1 => format!("Of the one scheduler that it knows and that surely differs from {base}"),
        n => format!("Of the {} schedulers that it knows and that surely differ from {base}", count(n as u64)),
    };
    Some(match wrong.is_empty() {
        true => format!("{who}, the simulator says rightly to which side."),
        false => format!("{who}, the simulator does not say rightly to which side {} lies.", list(&wrong)),
    })
}

/// Who could often not be asked: its figures are those of the engine's own order in part.
fn often_silent(policy: &LivePolicy) -> Option<String> {
    let (answered, silent) = (policy.counted("decisions")?, policy.counted("fallbacks")?);
    let share = answered as f64 / (answered + silent).max(1) as f64;
    (share < 0.95).then(|| {
        format!(
            "{} answered {} of the questions in time; in the others the engine's own order held, so that its figure is of both.",
            policy.name,
            percent(share)
        )
    })
}

/// How long queries take against what the simulator says.
fn predicted(live: &Live, own: &LivePolicy) -> Option<String> {
    let mut off: Vec<f64> = times(own)
        .values()
        .filter_map(|times| Some((mean(&times.simulated)? / mean(&times.live)? - 1.0).abs()))
        .collect();
    off.sort_by(f64::total_cmp);
    let median = *off.get((off.len().max(1) - 1) / 2)?;
    let bias = against_itself(own)?;
    Some(format!(
        "Queries take {bias:.2} × as long in {} as in the simulator, in the mean; half of the kinds of query are predicted within {} of what was measured.",
        live.engine,
        percent(median)
    ))
}

/// Measured ÷ simulated completion times over all queries of a scheduler.
fn against_itself(policy: &LivePolicy) -> Option<f64> {
    let live: f64 = policy.runs.iter().map(LiveRun::mean_ms).sum();
    let simulated: Option<f64> = policy.runs.iter().map(LiveRun::simulated_mean_ms).sum();
    Some(live / simulated?)
}

/// What the plugin counted of the student.
fn counted(own: &LivePolicy) -> Option<String> {
    let (decisions, fallbacks, late) = (own.counted("decisions")?, own.counted("fallbacks")?, own.counted("late")?);
    let late = format!("{} of them later than 2 ms", count(late));
    Some(match fallbacks {
        0 => format!("It answered all {} questions, {late}.", count(decisions)),
        _ => format!(
            "It answered {} of {} questions, {late}; in the others the engine's own order held.",
            count(decisions),
            count(decisions + fallbacks)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_pipeline::LiveRun;

    fn policy(name: &str, kind: LiveKind, live: [f64; 3], simulated: Option<[f64; 3]>) -> LivePolicy {
        let run = |i: usize| LiveRun {
            seed: i as u64,
            queries: vec![("a".to_owned(), live[i]), ("b".to_owned(), 3.0 * live[i])],
            simulated_ms: simulated.map(|s| vec![s[i], 3.0 * s[i]]),
            counts: [("decisions", 10), ("fallbacks", 1), ("late", 2)].map(|(name, n)| (name.to_owned(), n)).into(),
        };
        LivePolicy { name: name.to_owned(), kind, runs: (0..3).map(run).collect() }
    }

    fn said(policies: Vec<LivePolicy>) -> Vec<String> {
        let cell = LiveCell { name: "cell".to_owned(), slots: 8, load: 0.8, dilated: 7.0, policies };
        let live = Live {
            format_version: Live::FORMAT,
            student: String::new(),
            engine: "an engine".to_owned(),
            machine: String::new(),
            work: String::new(),
            cells: vec![cell.clone()],
        };
        let measured: Vec<_> = cell.policies.iter().skip(1).map(|policy| Measured::of(&cell, policy)).collect();
        all(&live, &cell, &measured)
    }

    #[test]
    fn what_is_said_follows_from_what_was_measured() {
        let fifo = || policy("FIFO", LiveKind::Shipped, [100.0, 200.0, 300.0], Some([80.0, 160.0, 240.0]));
        let fair = policy("FAIR", LiveKind::Shipped, [90.0, 180.0, 270.0], None);
        let own = |live| policy("own", LiveKind::Own, live, Some([40.0, 80.0, 120.0]));
        let better = said(vec![fifo(), fair, own([50.0, 100.0, 150.0])]);
        assert_eq!(
            better,
            [
                "Under this student queries take 0.500 × as long in an engine as under FIFO: surely less. The simulator says 0.500.",
                "Against the best of what the engine comes with, FAIR, it is 0.556 ×.",
                "Of the one scheduler that it knows and that surely differs from FIFO, the simulator says rightly to which side.",
                "Queries take 1.25 × as long in an engine as in the simulator, in the mean; half of the kinds of query are predicted within 20.0\u{a0}% of what was measured.",
                "It answered 30 of 33 questions, 6 of them later than 2 ms; in the others the engine's own order held.",
                "FIFO answered 90.9\u{a0}% of the questions in time; in the others the engine's own order held, so that its figure is of both.",
                "FAIR answered 90.9\u{a0}% of the questions in time; in the others the engine's own order held, so that its figure is of both.",
                "own answered 90.9\u{a0}% of the questions in time; in the others the engine's own order held, so that its figure is of both.",
            ]
        );
        let worse = said(vec![fifo(), own([200.0, 400.0, 600.0])]);
        assert!(worse[0].contains("take 2.000 × as long in an engine as under FIFO: surely longer."), "{worse:?}");
        assert!(worse[1].contains("the simulator does not say rightly to which side own lies"), "{worse:?}");
        let open = said(vec![fifo(), own([50.0, 400.0, 300.0])]);
        assert!(open[0].contains("not surely another time"), "{open:?}");
        assert!(!open.iter().any(|sentence| sentence.contains("which side")), "{open:?}");
    }
}
