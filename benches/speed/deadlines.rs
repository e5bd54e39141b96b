//! Whole episodes of elastic jobs with deadlines, by policy: events per second, measurements included.

use criterion::{Criterion, Throughput, criterion_group};
use sched_distill::{
    deadlines::{Deadlines, simulator::Simulator},
    policy::Policy,
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
fn run(mut sim: Simulator, policy: &mut dyn Policy<Deadlines>) -> u64 {
    policy.reset(SEED);
    let mut probabilities = Said::default();
    while let Some(seen) = sim.view() {
        probabilities.clear();
        let decision = policy.decide(&seen, &mut probabilities).expect("the policy answers");
        sim.step(decision).expect("its answer is legal");
    }
    sim.outcome().expect("the episode has ended").events
}

/// Setting up, simulating, deciding: short of cores, and with as many as are wanted.
fn episodes(c: &mut Criterion) {
    for (name, spec) in [("scarce", "builtin,jobs=300"), ("ample", "builtin,nodes=10,jobs=300")] {
        let workload = Deadlines::open_workload(&spec.parse().expect("a well-formed spec")).expect("it has no file");
        let start = || Deadlines::start(&workload, workload.jobs(SEED), SEED);
        let mut group = c.benchmark_group(format!("deadlines/{name}, 300 jobs"));
        for name in ["fifo", "edf-test", "qos", "hpa"] {
            let mut policy =
                Deadlines::open(&name.parse().expect("a well-formed spec")).expect("a policy without a file");
            group.throughput(Throughput::Elements(run(start(), &mut *policy)));
            group.bench_function(name, |b| b.iter(|| run(start(), &mut *policy)));
        }
    }
}
