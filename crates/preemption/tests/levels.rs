//! Questions as levels: what candidates there are, what of them is legal, and what probabilities come to.

use sched_distill_core::{
    level::NONE_FLAG,
    policy::Policy,
    rng::Stream,
    scenario::{Answer, ChoiceRows, Questions as _, Scenario as _},
    simulation::{Simulated as _, Simulation as _},
};
use sched_distill_preemption::{
    Decision, Kind, Preemption, Probabilities, Question, View,
    feature::{Extractor, NO_JOB, feature_set},
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

/// Probabilities as a policy might name them for a question.
fn random(seen: &View<'_>, stream: &mut Stream) -> Probabilities {
    let weights: Vec<f64> = seen.candidates().map(Some).chain([None]).map(|_| 0.01 + stream.uniform()).collect();
    let total: f64 = weights.iter().sum();
    let all = weights.into_iter().map(|w| (w / total).ln()).collect();
    match seen.question() {
        Question::Serve => Probabilities { serve: all, condemn: Vec::new() },
        Question::Condemn(_) => Probabilities { serve: vec![0.0], condemn: all },
    }
}

#[test]
fn levels_multiply_to_what_the_policy_said() {
    let (mut stream, mut checked) = (Stream::new(1, "probabilities"), 0);
    for policy in ["srtf", "pickyman", "fifo"] {
        each_question(policy, |seen, extractor, decision| {
            let p = random(seen, &mut stream);
            let mut known = 0;
            Preemption::distributions(seen, decision, &p, &mut |d| {
                let (sum, count) = (d.log_prob.iter().map(|p| p.exp()).sum::<f64>(), d.log_prob.len());
                assert!(d.candidates.contains(&count), "{}: {count} of {:?}", d.of, d.candidates);
                assert!(count == 0 || (sum - 1.0).abs() < 1e-9);
                known += 1;
            });
            assert_eq!(known, 2);
            let answer = Answer { decision, probabilities: &p };
            let (mut path, mut rows, mut total, mut entity) = (Vec::new(), ChoiceRows::default(), 0.0, None);
            while extractor.choice(seen, &path, &answer, false, &mut rows) {
                let sum: f64 = rows.log_prob.iter().map(|&p| f64::from(p).exp()).sum();
                assert!((sum - 1.0).abs() < 1e-5, "{path:?}: {sum}");
                let chosen = rows.chosen.expect("what was carried out is a candidate");
                total += f64::from(rows.log_prob[chosen]);
                entity = rows.entity.chunks(path.len() + 1).nth(chosen).and_then(|row| row.last().copied());
                path.push(chosen);
            }
            assert_eq!(extractor.decision(seen, &path), decision);
            assert_eq!(entity, Some(decision.job().unwrap_or(NO_JOB)));
            let place = seen.candidates().position(|job| Some(job) == decision.job());
            let asked = if p.condemn.is_empty() { &p.serve } else { &p.condemn };
            let expected = asked[place.unwrap_or(asked.len() - 1)];
            assert!((total - expected).abs() < 1e-4, "{total} {expected}");
            checked += 1;
        });
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn what_a_sure_policy_does_is_the_target_of_every_level() {
    each_question("srtf", |seen, extractor, decision| {
        let mut sure = Probabilities::default();
        Preemption::certain(seen, decision, decision, &mut sure);
        assert!(!Preemption::is_silent(&sure));
        for probabilities in [&sure, &Probabilities::default()] {
            let answer = Answer { decision, probabilities };
            let (mut path, mut rows) = (Vec::new(), ChoiceRows::default());
            while extractor.choice(seen, &path, &answer, false, &mut rows) {
                let chosen = rows.chosen.expect("what was carried out is a candidate");
                let log_prob = rows.log_prob[chosen];
                assert!(log_prob.is_nan() || log_prob > -1e-6, "{log_prob}");
                assert_eq!(log_prob.is_nan(), Preemption::is_silent(probabilities));
                path.push(chosen);
            }
            assert_eq!(extractor.decision(seen, &path), decision);
            let mut again = Vec::new();
            extractor.path(seen, decision, &mut rows, &mut again);
            assert_eq!(again, path);
        }
    });
}

#[test]
fn what_is_told_level_by_level_is_what_was_said() {
    let mut stream = Stream::new(2, "told");
    each_question("srtf", |seen, extractor, decision| {
        let p = random(seen, &mut stream);
        let answer = Answer { decision, probabilities: &p };
        let (mut rows, mut told, mut path) = (ChoiceRows::default(), Probabilities::default(), Vec::new());
        while extractor.choice(seen, &path, &answer, false, &mut rows) {
            let within: Vec<f64> = rows.log_prob.iter().map(|&p| f64::from(p)).collect();
            extractor.tell(seen, &path, 0.0, &within, &mut told);
            path.push(rows.chosen.unwrap());
        }
        assert_eq!((told.serve.len(), told.condemn.len()), (p.serve.len(), p.condemn.len()));
        for (a, b) in told.serve.iter().chain(&told.condemn).zip(p.serve.iter().chain(&p.condemn)) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    });
}
