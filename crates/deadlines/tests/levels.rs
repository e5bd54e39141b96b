//! Questions as levels: what candidates there are, and what of them is legal.

use sched_distill_core::{
    level::NONE_FLAG,
    policy::Policy,
    scenario::{Questions as _, Said},
    simulation::{Simulated as _, Simulation as _},
};
use sched_distill_deadlines::{
    Deadlines, Decision, View,
    feature::{Extractor, feature_set},
    policies,
};

/// Runs a policy on small clusters and calls `check` at every question.
fn each_question(policy: &str, mut check: impl FnMut(&View<'_>, &mut Extractor, Decision)) {
    for spec in [
        "builtin,jobs=20,node-cores=16",
        "builtin,jobs=15,nodes=3,node-cores=8,edge=hopeless,refuse=1",
        "builtin,jobs=15,arrivals=poisson",
    ] {
        let workload = Deadlines::open_workload(&spec.parse().unwrap()).unwrap();
        let mut sim = Deadlines::start(&workload, workload.jobs(3), 3);
        let mut extractor = Extractor::default();
        let mut policy: Box<dyn Policy<Deadlines>> = policies::open(&policy.parse().unwrap()).unwrap();
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
    let mut whole = 0;
    each_question("qos", |seen, extractor, _| {
        let (mut x, mut legal) = (Vec::new(), Vec::new());
        let first = extractor.rows(seen, &[], false, &mut x);
        assert_eq!(x.len(), first * width(0));
        if let Some(none) = extractor.snapshot().none() {
            assert_eq!((none, x[none * width(0)]), (first - 1, 1.0), "{NONE_FLAG} of starting none");
        }
        for job in 0..first {
            let ways = extractor.rows(seen, &[job], false, &mut x);
            if ways == 0 {
                legal.push(extractor.decision(seen, &[job]));
            }
            for way in 0..ways {
                let amounts = extractor.rows(seen, &[job, way], false, &mut x);
                if amounts == 0 {
                    legal.push(extractor.decision(seen, &[job, way]));
                }
                legal.extend((0..amounts).map(|amount| extractor.decision(seen, &[job, way, amount])));
            }
        }
        assert!(x.iter().all(|v| v.is_finite()));
        // Brute force: what is legal of all that can be said.
        let mut all = vec![Decision::Wait];
        for job in 0..seen.arrived() {
            all.extend([Decision::BestEffort { job }, Decision::Refuse { job }]);
            for cores in 0..=20 {
                all.extend([true, false].map(|elastic| Decision::Start { job, cores, elastic }));
                all.push(Decision::Resize { job, cores });
            }
        }
        let mut expected: Vec<Decision> = all.into_iter().filter(|&d| seen.check(d).is_ok()).collect();
        whole += legal.len();
        for decisions in [&mut legal, &mut expected] {
            decisions.sort_by_key(|d| format!("{d:?}"));
        }
        assert_eq!(legal, expected);
    });
    assert!(whole > 1000, "{whole}");
}
