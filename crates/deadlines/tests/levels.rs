//! Questions as levels: what candidates there are, what of them is legal, and what probabilities come to.

use sched_distill_core::{
    level::NONE_FLAG,
    policy::Policy,
    rng::Stream,
    scenario::{Answer, ChoiceRows, Questions as _, Scenario as _},
    simulation::{Simulated as _, Simulation as _},
};
use sched_distill_deadlines::{
    Deadlines, Decision, Probabilities, Question, View,
    feature::{Extractor, How, feature_set},
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
            let decision = policy.decide(&seen, &mut Probabilities::default()).unwrap();
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

/// Probabilities as a policy might name them for a question and its decision.
fn random(seen: &View<'_>, extractor: &Extractor, decision: Decision, stream: &mut Stream) -> Probabilities {
    let mut p = Probabilities::default();
    let normal = |weights: Vec<f64>| {
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|w| (w / total).ln()).collect::<Vec<f64>>()
    };
    p.begin = match seen.question() {
        Question::Running(_) => vec![0.0],
        Question::Start => {
            let ways = extractor.snapshot().candidates().iter().flat_map(|c| c.legal);
            let mut weights: Vec<f64> = ways.map(|legal| if legal { stream.uniform() } else { 0.0 }).collect();
            weights.push(0.3);
            normal(weights)
        }
    };
    let given = match decision {
        Decision::Start { job, elastic, .. } => Some((job, if elastic { How::Elastic } else { How::AsSubmitted })),
        Decision::Resize { job, .. } => Some((job, How::Elastic)),
        _ => None,
    };
    if let Some((job, how)) = given {
        p.amount = normal((0..how.most(&seen.job(job))).map(|_| 0.01 + stream.uniform()).collect());
    }
    p
}

#[test]
fn levels_multiply_to_what_the_policy_said() {
    let (mut stream, mut checked) = (Stream::new(1, "probabilities"), 0);
    for policy in ["qos", "fifo", "edf-test,refuse=1"] {
        each_question(policy, |seen, extractor, decision| {
            let p = random(seen, extractor, decision, &mut stream);
            let mut known = 0;
            Deadlines::distributions(seen, decision, &p, &mut |d| {
                let sum: f64 = d.log_prob.iter().map(|p| p.exp()).sum();
                let count = d.log_prob.len();
                assert!(d.candidates.contains(&count), "{}: {count} of {:?}", d.of, d.candidates);
                assert!(count == 0 || (sum - 1.0).abs() < 1e-9);
                known += 1;
            });
            assert_eq!(known, 2);
            let answer = Answer { decision, probabilities: &p };
            let (mut path, mut rows, mut total) = (Vec::new(), ChoiceRows::default(), 0.0);
            while extractor.choice(seen, &path, &answer, false, &mut rows) {
                let sum: f64 = rows.log_prob.iter().map(|&p| f64::from(p).exp()).sum();
                assert!((sum - 1.0).abs() < 1e-5, "{path:?}: {sum}");
                let chosen = rows.chosen.expect("what was carried out is a candidate");
                total += f64::from(rows.log_prob[chosen]);
                path.push(chosen);
            }
            assert_eq!(extractor.decision(seen, &path), decision);
            let own = |job: u32, how: How| {
                let place = seen.waiting().binary_search(&job).unwrap();
                p.begin[4 * place + how as usize]
            };
            let expected = match decision {
                Decision::Wait => *p.begin.last().unwrap(),
                Decision::BestEffort { job } => own(job, How::BestEffort),
                Decision::Refuse { job } => own(job, How::Refused),
                Decision::Start { job, cores, elastic } => {
                    own(job, if elastic { How::Elastic } else { How::AsSubmitted }) + p.amount[cores as usize - 1]
                }
                Decision::Resize { cores, .. } => p.amount[cores as usize - 1],
            };
            // A probability is written no smaller than e⁻⁵⁰.
            assert!((total - expected).abs() < 1e-4 || expected < -40.0, "{total} {expected}");
            checked += 1;
        });
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn what_a_sure_policy_does_is_the_target_of_every_level() {
    each_question("qos", |seen, extractor, decision| {
        let mut sure = Probabilities::default();
        Deadlines::certain(seen, decision, decision, &mut sure);
        for probabilities in [&sure, &Probabilities::default()] {
            let answer = Answer { decision, probabilities };
            let (mut path, mut rows) = (Vec::new(), ChoiceRows::default());
            while extractor.choice(seen, &path, &answer, false, &mut rows) {
                let chosen = rows.chosen.expect("what was carried out is a candidate");
                let log_prob = rows.log_prob[chosen];
                assert!(log_prob.is_nan() || log_prob > -1e-6, "{log_prob}");
                path.push(chosen);
            }
            assert_eq!(extractor.decision(seen, &path), decision);
        }
        // Of jobs that it is sure not to take it still says something that is a distribution.
        let answer = Answer { decision, probabilities: &sure };
        let mut rows = ChoiceRows::default();
        for job in 0..extractor.snapshot().candidates().len() {
            extractor.choice(seen, &[job], &answer, false, &mut rows);
            let sum: f64 = rows.log_prob.iter().map(|&p| f64::from(p).exp()).sum();
            assert!((sum - 1.0).abs() < 1e-5, "job {job}: {sum}");
        }
    });
}

#[test]
fn what_is_told_level_by_level_is_what_was_said() {
    let mut stream = Stream::new(2, "told");
    each_question("qos", |seen, extractor, decision| {
        let p = random(seen, extractor, decision, &mut stream);
        let answer = Answer { decision, probabilities: &p };
        let (mut rows, mut told) = (ChoiceRows::default(), Probabilities::default());
        let within = |rows: &ChoiceRows| rows.log_prob.iter().map(|&p| f64::from(p)).collect::<Vec<f64>>();
        let mut path = Vec::new();
        extractor.path(seen, decision, &mut rows, &mut path);
        if path.len() == 3 && extractor.choice(seen, &path[..2], &answer, false, &mut rows) {
            extractor.tell(seen, &path[..2], 0.0, &within(&rows), &mut told);
        }
        extractor.choice(seen, &[], &answer, false, &mut rows);
        let jobs = within(&rows);
        extractor.tell(seen, &[], 0.0, &jobs, &mut told);
        for (job, &above) in jobs.iter().enumerate().take(extractor.snapshot().candidates().len()) {
            extractor.choice(seen, &[job], &answer, false, &mut rows);
            extractor.tell(seen, &[job], above, &within(&rows), &mut told);
        }
        assert_eq!((told.begin.len(), told.amount.len()), (p.begin.len(), p.amount.len()));
        for (a, b) in told.begin.iter().chain(&told.amount).zip(p.begin.iter().chain(&p.amount)) {
            assert!(a == b || (a - b).abs() < 1e-4 || *b < -40.0, "{a} {b}");
        }
    });
}
