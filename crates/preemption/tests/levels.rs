//! Questions as levels: what candidates there are, and what of them is legal.

use sched_distill_core::{
    level::NONE_FLAG,
    policy::Policy,
    scenario::{Questions as _, Said},
    simulation::{Simulated as _, Simulation as _},
};
use sched_distill_preemption::{
    Decision, Kind, Preemption, Question, View,
    feature::{Extractor, feature_set},
    kind, policies,
};

/// Runs a policy on small clusters and calls `check` at every question.
fn each_question(policy: &str, mut check: impl FnMut(&View<'_>, &mut Extractor, Decision)) {
    for spec in [
        "builtin,jobs=40,nodes=2,load=2",
        "builtin,jobs=30,nodes=3,arrivals=batch,mtbf=4",
        "builtin,jobs=30,nodes=2,free=1",
    ] {
        let workload = Preemption::open_workload(&spec.parse().unwrap()).unwrap();
        let mut sim = Preemption::start(&workload, workload.jobs(3), 3);
        let mut extractor = Extractor::default();
        let mut policy: Box<dyn Policy<Preemption>> = policies::open(&policy.parse().unwrap()).unwrap();
        while let Some(seen) = sim.view() {
            extractor.update(&seen);
            let decision = policy.decide(&seen, &mut Said::default()).unwrap();
            check(&seen, &mut extractor, decision);
            sim.step(decision).unwrap();
        }
    }
}

#[test]
fn every_path_is_a_legal_decision_and_there_is_one_for_every_decision() {
    let set = feature_set();
    let width = |level: usize| set.levels[level].features.len();
    let (mut whole, mut kinds) = (0, [0; 3]);
    each_question("srtf", |seen, extractor, _| {
        let (mut x, mut y, mut legal) = (Vec::new(), Vec::new(), Vec::new());
        let first = extractor.rows(seen, &[], false, &mut x);
        assert_eq!(x.len(), first * width(0));
        let is_condemning = seen.question() != Question::Serve;
        // Of the level that is asked the last candidate is none.
        let none_is_last = |rows: &[f32], level: usize, count: usize| {
            let flags: Vec<f32> = rows.chunks(width(level)).map(|row| row[0]).collect();
            assert_eq!(set.levels[level].features[0].name, NONE_FLAG);
            assert!(flags.len() == count && flags.iter().rposition(|flag| *flag == 1.0) == Some(count - 1));
            assert_eq!(flags.iter().sum::<f32>(), 1.0);
        };
        for job in 0..first {
            let victims = extractor.rows(seen, &[job], false, &mut y);
            assert_eq!((victims > 0, y.len()), (is_condemning, victims * width(1)));
            if victims == 0 {
                legal.push(extractor.decision(seen, &[job]));
                let strands = seen.strands(*legal.last().unwrap());
                assert_eq!(extractor.strands(seen, &[job]), strands);
            } else {
                assert_eq!(first, 1, "the job in question is the only one");
                none_is_last(&y, 1, victims);
                legal.extend((0..victims).map(|victim| extractor.decision(seen, &[job, victim])));
            }
        }
        if !is_condemning {
            none_is_last(&x, 0, first);
        }
        assert!(x.iter().chain(&y).all(|v| v.is_finite()));
        // Brute force: what is legal of all that can be said.
        let jobs = 0..=seen.arrived();
        let all = jobs.flat_map(|job| [Decision::Serve { job }, Decision::Condemn { job }]).chain([Decision::Wait]);
        let mut expected: Vec<Decision> = all.filter(|&decision| seen.check(decision).is_ok()).collect();
        whole += legal.len();
        kinds[kind(seen) as usize] += 1;
        for decisions in [&mut legal, &mut expected] {
            decisions.sort_by_key(|decision| format!("{decision:?}"));
        }
        assert_eq!(legal, expected);
        assert_eq!(kind(seen) == Kind::Condemn, is_condemning);
    });
    assert!(whole > 1000 && kinds.iter().all(|count| *count > 20), "{whole}, {kinds:?}");
}
