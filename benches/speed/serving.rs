//! Whole episodes of inference tasks by policy: events per second.

use criterion::{BatchSize, Criterion, Throughput, criterion_group};
use sched_distill::{
    policy::Policy,
    registry::Registered as _,
    scenario::Scenario,
    serving::{Probabilities, Serving, simulator::Simulator},
    simulation::Simulated,
};

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(20);
    targets = episodes
}

/// Seed of the episodes.
const SEED: u64 = 1234;

/// Runs an episode to its end; the number of events.
fn run(mut sim: Simulator, policy: &mut dyn Policy<Serving>) -> u64 {
    policy.reset(SEED);
    let mut probabilities = Probabilities::default();
    while let Some(seen) = sim.view() {
        Serving::clear(&mut probabilities);
        let decision = policy.decide(&seen, &mut probabilities).expect("the policy answers");
        sim.step(decision).expect("its answer is legal");
    }
    sim.outcome().expect("the episode has ended").events
}

/// Simulating and deciding; tasks are drawn before.
fn episodes(c: &mut Criterion) {
    for (name, spec) in [("at load 0.7", "builtin,load=0.7,seconds=10"), ("at load 1", "builtin,load=1,seconds=10")] {
        let workload = Serving::open_workload(&spec.parse().expect("a well-formed spec")).expect("it has no file");
        let tasks = workload.tasks(SEED);
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
