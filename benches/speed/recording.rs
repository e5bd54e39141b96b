//! Recording greedy Decima with all features and log-probabilities to Parquet, on one core.

use criterion::{BatchSize, Criterion, Throughput, criterion_group};
use sched_distill::{
    recorder::{RecordRequest, record},
    rng::Split,
};
use std::sync::atomic::AtomicBool;

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(10);
    targets = recording
}

fn recording(c: &mut Criterion) {
    let (Some(decima), Some(workload)) = (crate::decima(), crate::tpch("executors=10,jobs=50")) else { return };
    let request = RecordRequest {
        policy_id: "decima",
        policy: &*decima,
        workload_id: "tpch",
        workload: &*workload,
        seed: 0,
        split: Split::Train,
        episodes: 8,
        force: false,
    };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread pool");
    let folder = || tempfile::tempdir().expect("a temporary folder");
    let run = |dir: &tempfile::TempDir| {
        one.install(|| record(dir.path(), &request, &(), &AtomicBool::new(false))).expect("recorded")
    };
    let manifest = run(&folder());
    let rows = |table: &str| manifest.tables.iter().filter(|t| t.path.starts_with(table)).map(|t| t.rows as u64).sum();
    let (decisions, candidates): (u64, u64) = (rows("cluster"), ["job", "stage", "cluster"].map(rows).iter().sum());
    let mut group = c.benchmark_group("recording/8 episodes, 10 executors, 50 jobs");
    group.throughput(Throughput::Elements(candidates));
    group.bench_function("rows", |b| b.iter_batched(folder, |dir| run(&dir), BatchSize::PerIteration));
}
