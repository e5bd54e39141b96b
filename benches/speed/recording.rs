//! Recording greedy Decima with all features and log-probabilities to Parquet, on one core.

use criterion::{BatchSize, Criterion, Throughput, criterion_group};
use sched_distill::{
    recorder::{Progress, RecordRequest, record},
    rng::Split,
    trace::Shard,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(10);
    targets = recording
}

/// Counts the decisions of a recording.
#[derive(Default)]
struct Decisions(AtomicU64);

impl Progress for Decisions {
    fn episode(&self, decisions: u64) {
        self.0.fetch_add(decisions, Ordering::Relaxed);
    }
}

fn recording(c: &mut Criterion) {
    let (Some(decima), Some(workload)) = (crate::decima(), crate::tpch("executors=10,jobs=50")) else { return };
    let request = RecordRequest {
        policy_id: "decima",
        policy: &*decima,
        labeller: None,
        workload_id: "tpch",
        workload: &workload,
        seed: 0,
        split: Split::Train,
        first_episode: 0,
        episodes: 8,
        shard: Shard::WHOLE,
        force: false,
    };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread pool");
    let folder = || tempfile::tempdir().expect("a temporary folder");
    let run = |dir: &tempfile::TempDir, progress: &dyn Progress| {
        one.install(|| record(dir.path(), &request, progress, &AtomicBool::new(false))).expect("recorded")
    };
    let decisions = Decisions::default();
    let manifest = run(&folder(), &decisions).manifest.expect("a whole trace");
    let rows = |table: &str| -> u64 {
        manifest.tables.iter().filter(|t| t.path.starts_with(table)).map(|t| t.rows as u64).sum()
    };
    let mut group = c.benchmark_group("recording/8 episodes, 10 executors, 50 jobs");
    let rows = ["job", "stage", "amount"].map(rows).iter().sum();
    for (unit, number) in [("decisions", decisions.0.into_inner()), ("rows", rows)] {
        group.throughput(Throughput::Elements(number));
        group.bench_function(unit, |b| b.iter_batched(folder, |dir| run(&dir, &()), BatchSize::PerIteration));
    }
}
