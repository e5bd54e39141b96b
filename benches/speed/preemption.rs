//! Whole episodes of jobs on GPUs that can be suspended, by policy: events per second.

use criterion::{BatchSize, Criterion, Throughput, criterion_group};
use sched_distill::{
    policy::Policy,
    preemption::{Preemption, simulator::Simulator},
    registry::Registered as _,
    scenario::Said,
    simulation::{Simulated, Simulation as _},
};

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(20);
    targets = episodes
}

/// Seed of the episodes.
const SEED: u64 = 1234;

/// Runs an episode to its end; the number of events.
fn run(mut sim: Simulator, policy: &mut dyn Policy<Preemption>) -> u64 {
    policy.reset(SEED);
    let mut probabilities = Said::default();
    while let Some(seen) = sim.view() {
        probabilities.clear();
        let decision = policy.decide(&seen, &mut probabilities).expect("the policy answers");
        sim.step(decision).expect("its answer is legal");
    }
    sim.outcome().expect("the episode has ended").events
}

/// Simulating and deciding; jobs and their counters are drawn before.
fn episodes(c: &mut Criterion) {
    for (name, spec) in [("crowded", "builtin,jobs=300"), ("ample", "builtin,nodes=64,jobs=300,load=0.5")] {
        let workload = Preemption::open_workload(&spec.parse().expect("a well-formed spec")).expect("it has no file");
        let jobs = workload.jobs(SEED);
        let start = || Preemption::start(&workload, jobs.clone(), SEED);
        let mut group = c.benchmark_group(format!("preemption/{name}, 300 jobs"));
        for name in ["fifo", "srtf", "las", "pickyman"] {
            let mut policy =
                Preemption::open(&name.parse().expect("a well-formed spec")).expect("a policy without a file");
            group.throughput(Throughput::Elements(run(start(), &mut *policy)));
            group.bench_function(name, |b| b.iter_batched(start, |sim| run(sim, &mut *policy), BatchSize::SmallInput));
        }
    }
}
