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
        same_side(live, measured),
        cell.own().and_then(|own| predicted(live, own)),
        cell.own().and_then(counted),
    ];
    sentences.into_iter().flatten().collect()
}

fn against_base(live: &Live, cell: &LiveCell, own: &Measured<'_>) -> Option<String> {
    let e = own.live.as_ref()?;
    let is = match (e.high < 1.0, e.low > 1.0) {
        (true, _) => "surely shorter than",
        (_, true) => "surely longer than",
        _ => "not surely different from",
    };
    let simulated =
        own.simulated.as_ref().map_or(String::new(), |e| format!(" In the simulator it is {} of it.", ratio(e)));
    Some(format!(
        "Under this student the mean completion time in {} is {} of that under {}, {is} it.{simulated}",
        live.engine,
        ratio(e),
        cell.policies[0].name
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
    let e = against(own, best, |run| Some(run.mean_ms()))?;
    Some(format!("Against {which}, {}, it is {} of it.", best.name, ratio(&e)))
}

/// Whether the simulator says who is better.
fn same_side(live: &Live, measured: &[Measured<'_>]) -> Option<String> {
    let both = measured.iter().filter_map(|m| Some((m.policy, m.live?, m.simulated?)));
    let sure: Vec<_> = both.filter(|(_, live, _)| is_sure(live)).collect();
    let other: Vec<String> = sure
        .iter()
        .filter(|(_, live, simulated)| (live.value - 1.0).signum() != (simulated.value - 1.0).signum())
        .map(|(policy, ..)| policy.name.clone())
        .collect();
    let n = count(sure.len() as u64);
    match (sure.len(), other.is_empty()) {
        (0, _) => None,
        (1, true) => Some(
            "Of the one scheduler that surely differs from the first, the simulator says rightly to which side."
                .to_owned(),
        ),
        (_, true) => Some(format!(
            "Of all {n} schedulers that surely differ from the first, the simulator says rightly to which side."
        )),
        _ => Some(format!(
            "Of the {n} schedulers that surely differ from the first, the simulator errs on which side {} lies: what it assumes of {} does not hold there.",
            list(&other),
            live.engine
        )),
    }
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
    let sum = |name: &str| own.runs.iter().map(|run| run.counts.get(name).copied()).sum::<Option<u64>>();
    let (decisions, fallbacks, late) = (sum("decisions")?, sum("fallbacks")?, sum("late")?);
    Some(format!(
        "It answered {} times, {} of them later than 2 ms; in {} offers it could not be asked, and the engine's own order held.",
        count(decisions),
        count(late),
        count(fallbacks)
    ))
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
            engine: "Apache Spark 3.5.9".to_owned(),
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
                "Under this student the mean completion time in Apache Spark 3.5.9 is 0.500 of that under FIFO, surely shorter than it. In the simulator it is 0.500 of it.",
                "Against the best of what the engine comes with, FAIR, it is 0.556 of it.",
                "Of all 2 schedulers that surely differ from the first, the simulator says rightly to which side.",
                "Queries take 1.25 × as long in Apache Spark 3.5.9 as in the simulator, in the mean; half of the kinds of query are predicted within 20.0\u{a0}% of what was measured.",
                "It answered 30 times, 6 of them later than 2 ms; in 3 offers it could not be asked, and the engine's own order held.",
            ]
        );
        let worse = said(vec![fifo(), own([200.0, 400.0, 600.0])]);
        assert!(worse[0].contains("is 2.000 of that under FIFO, surely longer than it"), "{worse:?}");
        assert!(worse[1].contains("the simulator errs on which side own lies"), "{worse:?}");
        let open = said(vec![fifo(), own([50.0, 400.0, 300.0])]);
        assert!(open[0].contains("not surely different from it"), "{open:?}");
        assert!(!open.iter().any(|sentence| sentence.contains("which side")), "{open:?}");
    }
}
