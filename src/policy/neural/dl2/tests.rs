//! The network against its formula, and the scheduler around it.

use super::{network::POOL, *};
use crate::{
    policy::{
        Policy,
        neural::{Tensor, Tensors},
        training::window::Window,
    },
    rng::Stream,
    scenario::training::Probabilities,
    simulator::training::{Decision, Simulator, Task},
    spec::Spec,
    workload::training::TrainingWorkload,
};
use std::collections::BTreeMap;

const SHAPE: Dl2Shape = Dl2Shape { types: 8, hidden: 32 };

fn random(shape: Dl2Shape, seed: u64) -> Tensors {
    let mut stream = Stream::new(seed, "weights");
    let tensors = shape.tensors().into_iter().map(|(name, shape)| {
        let count = shape.iter().product();
        let data = (0..count).map(|_| (0.4 * stream.normal()) as f32).collect();
        (name, Tensor { shape, data })
    });
    Tensors::new(tensors.collect::<BTreeMap<_, _>>())
}

fn weights(seed: u64) -> Arc<Dl2Weights> {
    Arc::new(Dl2Weights::from_tensors(&random(SHAPE, seed), "random").expect("the layout is the network's"))
}

/// The formula of [`Dl2Weights`] in double precision: scores of all columns, then closing.
fn plain(tensors: &Tensors, trunk: &str, columns: &[[f32; ROWS]]) -> Vec<f64> {
    let layer = |name: &str, x: &[f64]| -> Vec<f64> {
        let get = |what: &str| &tensors.get(&format!("{trunk}.{name}.{what}")).expect("it is there").data;
        let rows = get("weight").chunks_exact(x.len()).zip(get("bias"));
        rows.map(|(w, &b)| f64::from(b) + w.iter().zip(x).map(|(&w, x)| f64::from(w) * x).sum::<f64>()).collect()
    };
    let relu = |x: Vec<f64>| x.into_iter().map(|v| v.max(0.0)).collect::<Vec<f64>>();
    let jobs: Vec<Vec<f64>> = columns
        .iter()
        .map(|[kind, stay, remaining, share, workers, servers]| {
            let mut x = vec![0.0; 8];
            x[*kind as usize - 1] = 1.0;
            x.extend([stay / 10.0, *remaining, 10.0 * share, workers / 16.0, servers / 16.0].map(f64::from));
            relu(layer("job", &x))
        })
        .collect();
    let pooled = (0..SHAPE.hidden).map(|i| f64::from(POOL) * jobs.iter().map(|e| e[i]).sum::<f64>());
    let all = relu(layer("cluster", &pooled.collect::<Vec<f64>>()));
    let mut scores = Vec::new();
    for job in &jobs {
        let together = relu(layer("together", &[&job[..], &all].concat()));
        scores.extend(layer("score", &together));
    }
    scores.extend(layer("close", &all));
    scores
}

/// Runs a policy on a small cluster; `check` sees every question before it is answered.
fn run(policy: &mut Dl2Policy, mut check: impl FnMut(&Observation<'_>, &mut Dl2Policy)) {
    let workload =
        TrainingWorkload::open(&"builtin,nodes=6,jobs=14,max=4".parse::<Spec>().expect("a spec")).expect("opens");
    let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(3), 3);
    policy.reset(7);
    while let Some(seen) = sim.observation() {
        check(&seen, policy);
        let decision = policy.decide(&seen, &mut Probabilities::default()).expect("finite scores");
        sim.step(decision).expect("legal");
    }
    assert!(sim.outcome().is_some_and(|o| o.completed));
}

#[test]
fn scores_and_values_are_those_of_the_formula_and_nothing_is_left_from_other_questions() {
    let tensors = random(SHAPE, 2);
    let mut kept = Dl2::new(weights(2));
    let (mut window, mut questions) = (Window::new(6), 0);
    run(&mut Dl2Policy::new(weights(2), 6, true), |seen, _| {
        window.look(seen);
        kept.read(seen, &window).expect("known types");
        let mut fresh = Dl2::new(weights(2));
        fresh.read(seen, &window).expect("known types");
        assert_eq!(kept.scores(), fresh.scores());
        assert_eq!(kept.value(), fresh.value());
        let columns = kept.columns().to_vec();
        let expected = plain(&tensors, "policy", &columns);
        for (found, expected) in kept.scores().iter().zip(&expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{found} and {expected}");
        }
        assert_eq!(kept.scores().len(), expected.len());
        let expected: f64 = plain(&tensors, "value", &columns).iter().sum();
        assert!((kept.value() - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{} and {expected}", kept.value());
        questions += 1;
    });
    assert!(questions > 100, "{questions}");
}

#[test]
fn a_slot_begins_with_bundles_and_probabilities_add_up() {
    for sample in [false, true] {
        let mut again = Dl2Policy::new(weights(4), 20, sample);
        again.reset(7);
        let mut bundles = 0;
        run(&mut Dl2Policy::new(weights(4), 20, sample), |seen, _| {
            let mut p = Probabilities::default();
            let decision = again.decide(seen, &mut p).expect("finite scores");
            let total: f64 = p.action.iter().map(|&p| f64::from(p).exp()).sum();
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

#[test]
fn checkpoints_of_another_form_are_refused() {
    let reason = |tensors: &Tensors| Dl2Weights::from_tensors(tensors, "f").unwrap_err().to_string();
    let whole = random(SHAPE, 1);
    let without = |name: &str| {
        let kept = whole.iter().filter(|(n, _)| *n != name).map(|(n, t)| (n.to_owned(), t.clone()));
        Tensors::new(kept.collect())
    };
    assert!(reason(&without("policy.job.weight")).contains("tensor `policy.job.weight` of shape [64, 13] is missing"));
    assert!(reason(&without("value.close.bias")).contains("tensor `value.close.bias` of shape [1] is missing"));
    let narrow = random(Dl2Shape { types: 8, hidden: 24 }, 1);
    assert!(reason(&narrow).contains("has shape [24, 13]; allowed is [neurons, types + 5]"), "{}", reason(&narrow));
    assert_eq!(Dl2Weights::from_tensors(&whole, "f").map(|w| w.shape()).ok(), Some(SHAPE));
}

#[test]
fn a_type_that_the_network_does_not_know_is_named() {
    let few = Dl2Shape { types: 1, hidden: 16 };
    let weights = Dl2Weights::from_tensors(&random(few, 1), "few").expect("the layout is the network's");
    let mut policy = Dl2Policy::new(Arc::new(weights), 20, false);
    let workload = TrainingWorkload::open(&"builtin,jobs=12".parse::<Spec>().expect("a spec")).expect("opens");
    let sim = Simulator::new(workload.cluster().clone(), workload.jobs(1), 1);
    let seen = sim.observation().expect("jobs have arrived");
    let error = loop {
        match policy.without_network(&seen) {
            // The simulator stands still, so that only the round of bundles moves on.
            Some(_) => {}
            None => break policy.act(&seen).expect_err("all jobs have other types").to_string(),
        }
    };
    assert!(error.starts_with("dl2 input: job ") && error.ends_with("this network knows 1 types"), "{error}");
}
