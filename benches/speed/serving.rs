//! Whole episodes of inference tasks by policy: events per second; single questions and whole batches, features included.

use criterion::{BatchSize, Criterion, Throughput, criterion_group};
use sched_distill::{
    model::{Additive, Factor, Guard, LevelModels, Model, NamedModel, Pick, Provenance, Shape, Student, Term},
    policy::{Policy, StudentPolicy},
    registry::Registered as _,
    scenario::Said,
    serving::{
        Application, Decision, Law, NewTask, Server, ServerState, Serving,
        feature::{Extractor, feature_set},
        heuristic::DyBatch,
        simulator::Simulator,
    },
    simulation::{Simulated, Simulation as _},
};
use std::path::Path;

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(20);
    targets = episodes, questions
}

/// Seed of the episodes.
const SEED: u64 = 1234;

/// Runs an episode to its end; the number of events.
fn run(mut sim: Simulator, policy: &mut dyn Policy<Serving>) -> u64 {
    policy.reset(SEED);
    let mut probabilities = Said::default();
    while let Some(seen) = sim.view() {
        probabilities.clear();
        let decision = policy.decide(&seen, &mut probabilities).expect("the policy answers");
        sim.step(decision).expect("its answer is legal");
    }
    sim.outcome().expect("the episode has ended").events
}

/// Simulating and deciding; tasks are drawn before.
fn episodes(c: &mut Criterion) {
    for (name, spec) in [("at load 0.7", "builtin,load=0.7,seconds=10"), ("at load 1", "builtin,load=1,seconds=10")] {
        let workload = Serving::open_workload(&spec.parse().expect("a well-formed spec")).expect("it has no file");
        let tasks = workload.jobs(SEED);
        let start = || Serving::start(&workload, tasks.clone(), SEED);
        let mut group = c.benchmark_group(format!("serving/{name}, 10 s"));
        for name in ["tf-serving", "triton", "lazy", "dybatch"] {
            let mut policy =
                Serving::open(&name.parse().expect("a well-formed spec")).expect("a policy without a file");
            group.throughput(Throughput::Elements(run(start(), &mut *policy)));
            group.bench_function(name, |b| b.iter_batched(start, |sim| run(sim, &mut *policy), BatchSize::SmallInput));
        }
    }
}

/// A factor: feature, shape, threshold.
type Part = (&'static str, Shape, Option<f32>);

/// The terms of a student of the built-in network as `distill fit --max-size 8` fits it.
const APPLICATION: [(f64, &[Part]); 1] = [(6.006, &[("merit_rank", Shape::Linear, None)])];
const TASK: [(f64, &[Part]); 6] = [
    (-3.038, &[("difference_rank", Shape::Above, Some(0.5))]),
    (1.818, &[("size_rank", Shape::Linear, None), ("is_best", Shape::Linear, None)]),
    (1.818, &[("solo_rank", Shape::Linear, None), ("is_best", Shape::Linear, None)]),
    (1.818, &[("is_best", Shape::Linear, None), ("all_delay_rank", Shape::Linear, None)]),
    (-5.277, &[("added", Shape::Above, Some(0.7))]),
    (12.86, &[("size", Shape::Above, Some(0.5)), ("is_best", Shape::Linear, None)]),
];

/// That student, which fills all its batches, so that each takes as many questions as there can be.
fn student() -> StudentPolicy<Serving> {
    let set = feature_set();
    let level = |level: usize, terms: &[(f64, &[Part])]| {
        let spec = &set.levels[level];
        let factor = |&(name, shape, threshold): &Part| {
            let feature = spec.features.iter().position(|f| f.name == name).expect("a feature");
            Factor { feature: feature as u32, shape, threshold }
        };
        let term = |&(coefficient, factors): &(f64, &[Part])| Term {
            coefficient,
            factors: factors.iter().map(factor).collect(),
            sd: 0.0,
            standard_error: None,
        };
        let model = Model::Additive(Additive { intercept: 0.0, terms: terms.iter().map(term).collect() });
        let named = NamedModel { name: "logit".to_owned(), temperature: 1.0, model };
        LevelModels { level: spec.name.clone(), used: named.name.clone(), pick: Pick::Mode, models: vec![named] }
    };
    let levels = vec![level(0, &APPLICATION), level(1, &TASK)];
    let mut student = Student::new(set.clone(), false, levels, Provenance::default());
    student.guards.push(Guard::parse("task: is_none > 0 last", set).expect("a guard"));
    StudentPolicy::new(&student, Path::new("student.json"), None).expect("a student of this build")
}

/// Lets tasks of eight applications in turn come until so many wait; `id` is the number of the next one.
fn come(state: &mut ServerState, id: &mut u32, time_ms: f64, until: u32) {
    while state.ask(time_ms).expect("time goes on").map_or(0, |seen| seen.waiting()) < until {
        let task = NewTask { id: *id, application: *id % 8, size: 8 + *id * 7919 % 53, arrival_ms: time_ms };
        state.add_task(task).expect("a task that can be");
        *id += 1;
    }
}

/// A server with eight applications that has run for a while, when 200 tasks wait and one batch has just ended.
fn busy() -> ServerState {
    let law = |alpha_ms: u32| Law::Padded { alpha_ms: f64::from(alpha_ms), beta_ms: 0.03 };
    let applications =
        (3..11).map(|alpha_ms| Application::new(&format!("{alpha_ms} ms"), law(alpha_ms), 100.0)).collect();
    let mut state = ServerState::new(Server { applications, ..Server::default() }).expect("a server that can be");
    let (mut time_ms, mut id) = (0.0, 0);
    for _ in 0..24 {
        come(&mut state, &mut id, time_ms, 120);
        while let Some(seen) = state.view() {
            let decision = DyBatch::default().decide(&seen);
            state.answer(decision).expect("its answer is legal");
        }
        time_ms = state.running(0).expect("a batch runs").ends_ms + 10.0;
        state.set_time(time_ms).expect("time goes on");
        state.set_done(0).expect("it runs");
    }
    for more in 1..=40 {
        come(&mut state, &mut id, time_ms + f64::from(more), 120 + 2 * more);
    }
    state
}

/// Asks until the batch begins; the number of questions.
fn batch(state: &mut ServerState, policy: &mut dyn Policy<Serving>) -> u64 {
    let (mut probabilities, mut questions) = (Said::default(), 0);
    while let Some(seen) = state.view() {
        probabilities.clear();
        let decision = policy.decide(&seen, &mut probabilities).expect("the policy answers");
        state.answer(decision).expect("its answer is legal");
        questions += 1;
    }
    questions
}

/// What a question takes at eight applications and 200 waiting tasks: all features, and the answer of a student; and what a batch of 16
/// takes with all its questions.
fn questions(c: &mut Criterion) {
    let serve = busy();
    let mut form = serve.clone();
    form.answer(Decision::Serve { application: 3 }).expect("its tasks wait");
    let oldest = form.view().and_then(|seen| seen.queue(3).oldest()).expect("a task waits");
    form.answer(Decision::Add { task: oldest.task }).expect("it waits");
    let mut group = c.benchmark_group("serving/8 applications, 200 tasks");
    let (mut extractor, mut x, mut student) = (Extractor::default(), Vec::new(), student());
    for (name, state) in [("which application", &serve), ("which task", &form)] {
        let seen = state.view().expect("a question");
        group.bench_function(format!("{name}, all features"), |b| {
            b.iter(|| {
                x.clear();
                extractor.update(&seen);
                extractor.application_rows(&seen, &mut x) + extractor.task_rows(&seen, &mut x)
            });
        });
        group.bench_function(format!("{name}, student"), |b| {
            b.iter(|| student.decide(&seen, &mut Said::default()).expect("the student answers"));
        });
    }
    assert_eq!(batch(&mut serve.clone(), &mut student), 17);
    group.bench_function("a batch of 16, student", |b| {
        b.iter_batched_ref(|| serve.clone(), |state| batch(state, &mut student), BatchSize::SmallInput);
    });
}
