//! The network against its formula, and the scheduler around it.

use super::{pooled::POOL, weights::WINDOW, *};
use crate::{
    Probabilities,
    heuristic::window::{Window, next_bundle},
    simulator::Simulator,
    state::{Decision, Task},
    workload::TrainingWorkload,
};
use sched_distill_core::{
    network::{Tensor, Tensors},
    policy::Policy,
    rng::Stream,
    simulation::Simulation as _,
    spec::Spec,
};
use std::collections::BTreeMap;

const SHAPE: Dl2Shape = Dl2Shape { form: Dl2Form::Pooled { types: 8 }, window: 6, hidden: 32 };
const FLAT: Dl2Shape = Dl2Shape { form: Dl2Form::Flat, window: 6, hidden: 48 };

fn random(shape: Dl2Shape, seed: u64) -> Tensors {
    let window = shape.window;
    let mut stream = Stream::new(seed, "weights");
    let tensors = shape.tensors().into_iter().map(|(name, shape)| {
        let count = shape.iter().product();
        let data = (0..count).map(|_| (0.4 * stream.normal()) as f32).collect();
        (name, Tensor { shape, data })
    });
    let window = BTreeMap::from([(WINDOW.to_owned(), window.to_string())]);
    Tensors::new(tensors.collect(), window)
}

fn weights(shape: Dl2Shape, seed: u64) -> Arc<Dl2Weights> {
    Arc::new(Dl2Weights::from_tensors(&random(shape, seed), "random").expect("the layout is the network's"))
}

fn layer(tensors: &Tensors, name: &str, x: &[f64]) -> Vec<f64> {
    let get = |what: &str| &tensors.get(&format!("{name}.{what}")).expect("it is there").data;
    let rows = get("weight").chunks_exact(x.len()).zip(get("bias"));
    rows.map(|(w, &b)| f64::from(b) + w.iter().zip(x).map(|(&w, x)| f64::from(w) * x).sum::<f64>()).collect()
}

fn relu(x: Vec<f64>) -> Vec<f64> {
    x.into_iter().map(|v| v.max(0.0)).collect()
}

/// The formulas of [`Dl2Form`] in double precision: scores of all columns, then the one of no column.
fn plain(shape: Dl2Shape, tensors: &Tensors, network: &str, columns: &[[f32; ROWS]]) -> Vec<f64> {
    let layer = |name: &str, x: &[f64]| layer(tensors, &format!("{network}.{name}"), x);
    let numbers = |[_, stay, remaining, share, workers, servers]: &[f32; ROWS]| {
        [stay / 10.0, *remaining, 10.0 * share, workers / 16.0, servers / 16.0].map(f64::from)
    };
    if shape.form == Dl2Form::Flat {
        let mut x: Vec<f64> = Vec::new();
        columns.iter().for_each(|c| x.extend([&[f64::from(c[0]) / 8.0][..], &numbers(c)].concat()));
        x.resize(ROWS * shape.window, 0.0);
        let mut scores = layer("score", &relu(layer("second", &relu(layer("first", &x)))));
        let closing = scores.split_off(scores.len() - 1);
        scores.truncate(3 * columns.len());
        return [scores, closing].concat();
    }
    let job = |column: &[f32; ROWS]| {
        let mut x = vec![0.0; 8];
        x[column[0] as usize - 1] = 1.0;
        x.extend(numbers(column));
        relu(layer("job", &x))
    };
    let jobs: Vec<Vec<f64>> = columns.iter().map(job).collect();
    let pooled = (0..shape.hidden).map(|i| f64::from(POOL) * jobs.iter().map(|e| e[i]).sum::<f64>());
    let all = relu(layer("cluster", &pooled.collect::<Vec<f64>>()));
    let scores = jobs.iter().flat_map(|job| layer("score", &relu(layer("together", &[&job[..], &all].concat()))));
    scores.chain(layer("close", &all)).collect()
}

/// Runs a policy on a small cluster; `check` sees every question before it is answered.
fn run(policy: &mut Dl2Policy, mut check: impl FnMut(&View<'_>, &mut Dl2Policy)) {
    let workload =
        TrainingWorkload::open(&"builtin,nodes=6,jobs=14,max=4".parse::<Spec>().expect("a spec")).expect("opens");
    let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(3), 3);
    policy.reset(7);
    while let Some(seen) = sim.view() {
        check(&seen, policy);
        let decision = policy.decide(&seen, &mut Probabilities::default()).expect("finite scores");
        sim.step(decision).expect("legal");
    }
    assert!(sim.outcome().is_some_and(|o| !o.stalled()));
}

#[test]
fn scores_and_values_are_those_of_the_formula_and_nothing_is_left_from_other_questions() {
    for shape in [SHAPE, FLAT] {
        let tensors = random(shape, 2);
        let mut kept = Dl2::new(weights(shape, 2));
        let (mut window, mut questions) = (Window::new(shape.window), 0);
        run(&mut Dl2Policy::new(weights(shape, 2), true), |seen, _| {
            window.look(seen);
            kept.read(seen, &window).expect("known types");
            let mut fresh = Dl2::new(weights(shape, 2));
            fresh.read(seen, &window).expect("known types");
            assert_eq!(kept.scores(), fresh.scores());
            assert_eq!(kept.value(), fresh.value());
            let columns = kept.columns().to_vec();
            let expected = plain(shape, &tensors, "policy", &columns);
            for (found, expected) in kept.scores().iter().zip(&expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{found} and {expected}");
            }
            assert_eq!(kept.scores().len(), expected.len());
            let expected: f64 = plain(shape, &tensors, "value", &columns).iter().sum();
            assert!((kept.value() - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{} and {expected}", kept.value());
            questions += 1;
        });
        assert!(questions > 100, "{questions}");
    }
}

#[test]
fn a_slot_begins_with_bundles_and_probabilities_add_up() {
    for sample in [false, true] {
        let mut again = Dl2Policy::new(weights(SHAPE, 4), sample);
        again.reset(7);
        let mut bundles = 0;
        run(&mut Dl2Policy::new(weights(SHAPE, 4), sample), |seen, _| {
            let mut p = Probabilities::default();
            let decision = again.decide(seen, &mut p).expect("finite scores");
            let total: f64 = p.action.iter().map(|p| p.exp()).sum();
            assert!((total - 1.0).abs() < 1e-5 && p.action.len() == 3 * seen.live_jobs().len() + 1, "{total}");
            for (i, &id) in seen.live_jobs().iter().enumerate() {
                for task in Task::ALL {
                    let allowed = seen.job(id).can_take(task);
                    assert!(allowed || p.action[3 * i + task as usize] < -40.0);
                }
            }
            // As long as a job has nothing and fits, it is its turn.
            let next = seen.live_jobs().iter().find(|&&id| seen.job(id).used() == [0, 0] && seen.fits(id, Task::Both));
            if let Some(&job) = next.filter(|_| seen.placements().is_empty()) {
                assert_eq!(decision, Decision::Add { job, task: Task::Both, node: None });
                bundles += 1;
            }
        });
        assert!(bundles > 5, "{bundles}");
    }
}

/// What it answers follows from the question alone, so that it can label what another scheduler meets.
#[test]
fn answers_do_not_depend_on_questions_before() {
    let mut teacher = Dl2Policy::new(weights(SHAPE, 4), false);
    let (mut bundles, mut others) = (0, 0);
    run(&mut Dl2Policy::new(weights(SHAPE, 5), true), |seen, _| {
        let answer = teacher.decide(seen, &mut Probabilities::default()).expect("finite scores");
        let mut fresh = Dl2Policy::new(weights(SHAPE, 4), false);
        assert_eq!(fresh.decide(seen, &mut Probabilities::default()).expect("finite scores"), answer);
        let counter = if next_bundle(seen).is_some() { &mut bundles } else { &mut others };
        *counter += 1;
    });
    assert!(bundles > 20 && others > 20, "{bundles} and {others}");
}

#[test]
fn checkpoints_of_another_form_are_refused() {
    let reason = |tensors: &Tensors| Dl2Weights::from_tensors(tensors, "f").unwrap_err().to_string();
    let whole = random(SHAPE, 1);
    let without = |name: &str| {
        let kept = whole.iter().filter(|(n, _)| *n != name).map(|(n, t)| (n.to_owned(), t.clone()));
        Tensors::new(kept.collect(), BTreeMap::new())
    };
    assert!(reason(&without("policy.job.weight")).contains("tensor `policy.job.weight` of shape [64, 13] is missing"));
    assert!(reason(&without("value.close.bias")).contains("tensor `value.close.bias` of shape [1] is missing"));
    let narrow = random(Dl2Shape { hidden: 24, ..SHAPE }, 1);
    assert!(reason(&narrow).contains("has shape [24, 13]; allowed is [neurons, types + 5]"), "{}", reason(&narrow));
    let flat = random(FLAT, 1);
    let first = |shape: [usize; 2]| {
        let mut entries: BTreeMap<_, _> = flat.iter().map(|(n, t)| (n.to_owned(), t.clone())).collect();
        let data = vec![0.0; shape.iter().product()];
        entries.insert("policy.first.weight".to_owned(), Tensor { shape: shape.to_vec(), data });
        reason(&Tensors::new(entries, BTreeMap::new()))
    };
    assert!(first([48, 35]).contains("allowed is [neurons, 6 times the window]"), "{}", first([48, 35]));
    assert!(
        first([48, 42]).contains("`policy.score.weight` has shape [19, 48], expected [22, 48]"),
        "{}",
        first([48, 42])
    );
}

#[test]
fn the_window_is_that_of_the_checkpoint_unless_another_is_named() {
    let shape = |tensors: &Tensors| Dl2Weights::from_tensors(tensors, "f").map(|w| w.shape());
    for expected in [SHAPE, FLAT] {
        let tensors = random(expected, 1);
        assert_eq!(shape(&tensors).ok(), Some(expected));
        let entries = |tensors: &Tensors| tensors.iter().map(|(n, t)| (n.to_owned(), t.clone())).collect();
        // A flat network tells its window by itself.
        let silent = if expected == FLAT { FLAT } else { Dl2Shape { window: 20, ..SHAPE } };
        assert_eq!(shape(&Tensors::new(entries(&tensors), BTreeMap::new())).ok(), Some(silent));
        let odd = Tensors::new(entries(&tensors), BTreeMap::from([(WINDOW.to_owned(), "0".to_owned())]));
        let error = shape(&odd).err().map(|e| e.to_string()).unwrap_or_default();
        assert_eq!(error, "teacher f: its header tells a window of `0`; allowed are 1 to 10000");
    }
    let widened = |shape: Dl2Shape| (*weights(shape, 1)).clone().with_window(7, "f").map(|w| w.shape().window);
    assert_eq!(widened(SHAPE).ok(), Some(7));
    let error = widened(FLAT).err().map(|e| e.to_string()).unwrap_or_default();
    assert_eq!(error, "teacher f: a flat network with a window of 6 jobs, not 7; leave `window` out");
}

#[test]
fn a_type_that_the_network_does_not_know_is_named() {
    let few = Dl2Shape { form: Dl2Form::Pooled { types: 1 }, ..SHAPE };
    let workload = TrainingWorkload::open(&"builtin,jobs=12".parse::<Spec>().expect("a spec")).expect("opens");
    let sim = Simulator::new(workload.cluster().clone(), workload.jobs(1), 1);
    let seen = sim.view().expect("jobs have arrived");
    let mut window = Window::new(20);
    window.look(&seen);
    let error = Dl2::new(weights(few, 1)).read(&seen, &window).expect_err("all jobs have other types").to_string();
    assert!(error.starts_with("dl2 input: job ") && error.ends_with("this network knows 1 types"), "{error}");
}

#[test]
fn a_flat_network_refuses_more_jobs_than_it_has_columns() {
    let workload = TrainingWorkload::open(&"builtin,jobs=12,rate=12".parse::<Spec>().expect("a spec")).expect("opens");
    let sim = Simulator::new(workload.cluster().clone(), workload.jobs(1), 1);
    let seen = sim.view().expect("jobs have arrived");
    let mut window = Window::new(20);
    window.look(&seen);
    let error = Dl2::new(weights(FLAT, 1)).read(&seen, &window).expect_err("too many jobs").to_string();
    assert_eq!(error, "dl2 input: 12 jobs in the window, this network sees 6");
}
