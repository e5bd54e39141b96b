//! Questions as levels: what candidates there are, and what of them is legal.

use sched_distill_core::{
    level::NONE_FLAG,
    policy::Policy,
    rng::Stream,
    scenario::{Questions as _, Said},
    simulation::{Simulated as _, Simulation as _},
};
use sched_distill_serving::{
    Decision, Kind, Question, Serving, View,
    feature::{Extractor, feature_set},
    heuristic::DyBatch,
    kind, policies,
};

/// Runs a policy on small servers and calls `check` at every question.
fn each_question(policy: &str, mut check: impl FnMut(&View<'_>, &mut Extractor, Decision)) {
    for spec in [
        "builtin,seconds=0.3,load=1.2,accelerators=2",
        "builtin,seconds=0.3,applications=3,memory=100,edge=understated,load=2",
        "builtin,seconds=0.3,law=dynamic,objective=4",
        "builtin,seconds=0.2,applications=1,shapes=4/16,edge=burst,timeout=1,load=0.7",
    ] {
        let workload = Serving::open_workload(&spec.parse().unwrap()).unwrap();
        let mut sim = Serving::start(&workload, workload.jobs(3), 3);
        let mut extractor = Extractor::default();
        let mut policy: Box<dyn Policy<Serving>> = policies::open(&policy.parse().unwrap()).unwrap();
        while let Some(seen) = sim.view() {
            extractor.update(&seen);
            let decision = policy.decide(&seen, &mut Said::default()).unwrap();
            check(&seen, &mut extractor, decision);
            sim.step(decision).unwrap();
        }
    }
}

fn width(level: usize) -> usize {
    feature_set().levels[level].features.len()
}

/// Where a feature stands.
fn place(level: usize, name: &str) -> usize {
    feature_set().levels[level].features.iter().position(|feature| feature.name == name).expect(name)
}

#[test]
fn every_path_is_a_legal_decision_and_there_is_one_for_every_decision() {
    let (mut whole, mut kinds) = (0, [0; 3]);
    for policy in ["dybatch", "tf-serving,timeout=8"] {
        each_question(policy, |seen, extractor, _| {
            let (mut x, mut y, mut legal) = (Vec::new(), Vec::new(), Vec::new());
            let first = extractor.rows(seen, &[], false, &mut x);
            assert_eq!(x.len(), first * width(0));
            let is_forming = seen.question() != Question::Serve;
            // Who is none comes last, where none is possible.
            let nones = |rows: &[f32], level: usize| -> Vec<f32> {
                assert_eq!(feature_set().levels[level].features[0].name, NONE_FLAG);
                rows.chunks(width(level)).map(|row| row[0]).collect()
            };
            let flags = |count: usize, has_none: bool| -> Vec<f32> {
                (1..=count).map(|place| f32::from(u8::from(has_none && place == count))).collect()
            };
            assert_eq!(nones(&x, 0), flags(first, !is_forming));
            for application in 0..first {
                let tasks = extractor.rows(seen, &[application], false, &mut y);
                assert_eq!((tasks > 0, y.len()), (is_forming, tasks * width(1)));
                if tasks == 0 {
                    legal.push(extractor.decision(seen, &[application]));
                    let strands = seen.strands(*legal.last().unwrap());
                    assert_eq!(extractor.strands(seen, &[application]), strands);
                    continue;
                }
                assert_eq!(first, 1, "the application in question is the only one");
                assert_eq!(nones(&y, 1), flags(tasks, seen.batch().count > 0));
                for task in 0..tasks {
                    legal.push(extractor.decision(seen, &[application, task]));
                    assert!(!extractor.strands(seen, &[application, task]) && !seen.strands(*legal.last().unwrap()));
                }
            }
            assert!(x.iter().chain(&y).all(|v| v.is_finite()));
            // Brute force: what is legal of all that can be said, but for times until which one waits.
            let all = (0..=seen.applications()).map(|application| Decision::Serve { application });
            let all = all.chain((0..600).map(|task| Decision::Add { task })).chain([Decision::Close, Decision::WAIT]);
            let mut expected: Vec<Decision> = all.filter(|&decision| seen.check(decision).is_ok()).collect();
            whole += legal.len();
            kinds[kind(seen) as usize] += 1;
            for decisions in [&mut legal, &mut expected] {
                decisions.sort_by_key(|decision| format!("{decision:?}"));
            }
            assert_eq!(legal, expected);
            assert_eq!(kind(seen) == Kind::Batch, is_forming);
        });
    }
    assert!(whole > 1000 && kinds.iter().all(|count| *count > 20), "{whole}, {kinds:?}");
}

/// What arrives can be a batch of its own; if not, whoever serves its application has no legal answer left.
#[test]
fn what_is_served_always_has_a_task_that_can_join() {
    let mut stuck = Vec::new();
    for spec in [
        "builtin,seconds=0.2,memory=60,edge=giants",
        "builtin,seconds=0.2,memory=100,shapes=4/16",
        "builtin,seconds=0.2,memory=100,shapes=4/16,law=dynamic",
    ] {
        let workload = Serving::open_workload(&spec.parse().unwrap()).unwrap();
        let mut sim = Serving::start(&workload, workload.jobs(3), 3);
        while let Some(seen) = sim.view() {
            if kind(&seen) == Kind::Batch && seen.groups().next().is_none() {
                stuck.push(spec);
                break;
            }
            sim.step(DyBatch::default().decide(&seen)).unwrap();
        }
    }
    assert_eq!(stuck, Vec::<&str>::new());
}

#[test]
fn every_feature_tells_something_and_what_is_shared_is() {
    let shared: [&[&str]; 2] = [
        &["waiting", "asking", "all_urgency", "idle", "next_end"],
        &["batch", "filling", "batch_time", "batch_urgency", "tasks", "waiting", "others", "all_urgency", "arrivals"],
    ];
    let mut least: [Vec<f32>; 2] = [0, 1].map(|level| vec![f32::INFINITY; width(level)]);
    let mut most: [Vec<f32>; 2] = [0, 1].map(|level| vec![f32::NEG_INFINITY; width(level)]);
    for policy in ["dybatch", "tf-serving,timeout=8", "lazy"] {
        each_question(policy, |seen, extractor, _| {
            for (level, path) in [&[][..], &[0]].into_iter().enumerate() {
                let mut x = Vec::new();
                if extractor.rows(seen, path, false, &mut x) == 0 || (level == 0 && kind(seen) == Kind::Batch) {
                    continue;
                }
                for name in shared[level] {
                    let column = place(level, name);
                    assert!(x.chunks(width(level)).all(|row| row[column] == x[column]), "{name}");
                }
                for row in x.chunks(width(level)) {
                    for (column, &v) in row.iter().enumerate() {
                        least[level][column] = least[level][column].min(v);
                        most[level][column] = most[level][column].max(v);
                    }
                }
            }
        });
    }
    let mut constant = Vec::new();
    for (level, features) in feature_set().levels.iter().map(|level| &level.features).enumerate() {
        for (column, feature) in features.iter().enumerate() {
            if least[level][column] == most[level][column] {
                constant.push(feature.name.clone());
            }
        }
    }
    assert_eq!(constant, Vec::<String>::new());
}

#[test]
fn who_asks_for_some_columns_gets_the_same() {
    let mut stream = Stream::new(1, "columns");
    each_question("dybatch", |seen, extractor, _| {
        // Many of them, or hardly any.
        let one_in = [2, 60][stream.below(2)];
        let wanted = [0, 1].map(|level| (0..width(level)).map(|_| stream.below(one_in) == 0).collect::<Vec<bool>>());
        let mut limited = Extractor::limited(&[&wanted[0], &wanted[1]]);
        limited.update(seen);
        for (level, path) in [&[][..], &[0]].into_iter().enumerate() {
            let (mut all, mut some) = (Vec::new(), Vec::new());
            assert_eq!(extractor.rows(seen, path, false, &mut all), limited.rows(seen, path, false, &mut some));
            for (i, (all, some)) in all.iter().zip(&some).enumerate() {
                assert!(!wanted[level][i % width(level)] || all.to_bits() == some.to_bits(), "{level} {i}");
            }
        }
    });
}
