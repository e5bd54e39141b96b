//! Events per second of whole episodes, by policy, cluster size and length of the arrival list.

use criterion::{BatchSize, Criterion, Throughput, criterion_group};
use sched_distill::{
    dag::{Dag, simulator::Simulator, workload::DagWorkload},
    policy::Policy,
    scenario::Said,
    simulation::Simulation as _,
};

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(20);
    targets = policies, sizes
}

/// Seed of the episodes.
const SEED: u64 = 1234;

/// Runs an episode to its end; events handled and questions asked.
pub(crate) fn run(mut sim: Simulator, policy: &mut dyn Policy<Dag>) -> (u64, u64) {
    policy.reset(SEED);
    let mut probabilities = Said::default();
    while let Some(seen) = sim.view() {
        probabilities.clear();
        let decision = policy.decide(&seen, &mut probabilities).expect("the policy answers");
        sim.step(decision).expect("its answer is legal");
    }
    let outcome = sim.outcome().expect("the episode has ended");
    (outcome.events, outcome.decisions)
}

pub(crate) fn start(workload: &DagWorkload) -> Simulator {
    Simulator::new(*workload.cluster(), workload.jobs(SEED), SEED)
}

/// Whole episodes: setting up, simulating, deciding.
fn policies(c: &mut Criterion) {
    let Some(workload) = crate::tpch("executors=50,jobs=200") else { return };
    let mut group = c.benchmark_group("simulator/tpch, 50 executors, 200 jobs");
    for name in ["fair", "fifo", "random", "sjf", "srpt-fair"] {
        let mut policy = crate::policy(name);
        let (events, _) = run(start(&workload), &mut *policy);
        group.throughput(Throughput::Elements(events));
        group.bench_function(name, |b| b.iter(|| run(start(&workload), &mut *policy)));
    }
}

/// Cost per event from the first question on, as arrival list and cluster grow.
fn sizes(c: &mut Criterion) {
    let mut group = c.benchmark_group("simulator/fair by size");
    group.sample_size(10);
    for (executors, jobs, rate) in
        [(50, 200, "4e-5"), (50, 2_000, "4e-5"), (50, 20_000, "4e-5"), (1_000, 4_000, "8e-4")]
    {
        let Some(workload) = crate::tpch(&format!("executors={executors},jobs={jobs},rate={rate}")) else { return };
        let mut policy = crate::policy("fair");
        let sim = start(&workload);
        group.throughput(Throughput::Elements(run(sim.clone(), &mut *policy).0));
        group.bench_function(format!("{executors} executors, {jobs} jobs"), |b| {
            b.iter_batched(|| sim.clone(), |sim| run(sim, &mut *policy), BatchSize::PerIteration);
        });
    }
}
