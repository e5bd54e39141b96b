//! Decisions per second of the Decima network: whole episodes, simulation included, each with an empty memory.

use crate::simulator::{run, start};
use criterion::{Criterion, Throughput, criterion_group};

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(20);
    targets = episodes
}

fn episodes(c: &mut Criterion) {
    let Some(decima) = crate::decima() else { return };
    let mut group = c.benchmark_group("teacher/greedy decima");
    // By the reference's rate of 4e-5 jobs per ms, 10 executors are under heavy load and 50 under light load.
    for (load, args) in [
        ("10 executors, 50 jobs, light load", "executors=10,jobs=50,rate=1e-5"),
        ("10 executors, 50 jobs, heavy load", "executors=10,jobs=50,rate=4e-5"),
        ("50 executors, 200 jobs, light load", "executors=50,jobs=200,rate=4e-5"),
        ("50 executors, 200 jobs, heavy load", "executors=50,jobs=200,rate=2e-4"),
    ] {
        let Some(workload) = crate::tpch(args) else { return };
        group.throughput(Throughput::Elements(run(start(&workload), &mut *decima.fresh()).1));
        group.bench_function(load, |b| b.iter(|| run(start(&workload), &mut *decima.fresh())));
    }
}
