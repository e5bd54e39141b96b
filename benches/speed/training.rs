//! Whole episodes of deep-learning training jobs, by policy and by how speeds come about.

use criterion::{Criterion, Throughput, criterion_group};
use sched_distill::{
    policy::Policy,
    registry::Registered as _,
    scenario::Said,
    simulation::{Simulated, Simulation as _},
    training::{Training, simulator::Simulator},
};

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(20);
    targets = episodes
}

/// Seed of the episodes.
const SEED: u64 = 1234;

/// Runs an episode to its end; the number of decisions.
fn run(mut sim: Simulator, policy: &mut dyn Policy<Training>) -> u64 {
    policy.reset(SEED);
    let mut probabilities = Said::default();
    while let Some(seen) = sim.view() {
        probabilities.clear();
        let decision = policy.decide(&seen, &mut probabilities).expect("the policy answers");
        sim.step(decision).expect("its answer is legal");
    }
    sim.outcome().expect("the episode has ended").decisions
}

/// 48 nodes, 60 jobs: setting up, simulating, deciding.
fn episodes(c: &mut Criterion) {
    let measured =
        crate::reference("dl2-golden/speed-grid-24.json").map(|grid| format!("builtin,speed={}", grid.display()));
    let workloads = [("formula", Some("builtin".to_owned())), ("measured", measured)];
    for (speeds, spec) in workloads.into_iter().filter_map(|(speeds, spec)| Some((speeds, spec?))) {
        let workload = Training::open_workload(&spec.parse().expect("a well-formed spec")).expect("a readable grid");
        let start = || Training::start(&workload, workload.jobs(SEED), SEED);
        let mut group = c.benchmark_group(format!("training/{speeds} speeds, 48 nodes, 60 jobs"));
        for name in ["drf", "fifo", "srtf-time", "tetris", "optimus", "dl2"] {
            let mut policy =
                Training::open(&name.parse().expect("a well-formed spec")).expect("a policy without a file");
            group.throughput(Throughput::Elements(run(start(), &mut *policy)));
            group.bench_function(name, |b| b.iter(|| run(start(), &mut *policy)));
        }
    }
}
