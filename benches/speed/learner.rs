//! Growing trees on synthetic data: both engines, classes and values, and ten million rows with the memory that they take.

use criterion::{Criterion, Throughput, criterion_group};
use sched_distill::{
    distiller::{Engine, Targets, TreeData, TreeParams, fit_tree},
    rng::Stream,
};
use std::cell::LazyCell;

use crate::synthetic::{CLASSES, WIDTH, synthetic};

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(10);
    targets = trees, ten_million_rows
}

const HISTOGRAM: Engine = Engine::Histogram { max_bins: 255 };

fn trees(c: &mut Criterion) {
    for rows in [100_000, 1_000_000] {
        let data = synthetic(rows, 1);
        let class = Targets::Classes { class: &data.class, classes: CLASSES };
        let mut group = c.benchmark_group(format!("learner/200 leaves, {rows} rows x {WIDTH} features"));
        group.throughput(Throughput::Elements(rows as u64));
        for (engine, name) in [(Engine::Exact, "exact"), (HISTOGRAM, "histogram")] {
            for (targets, of) in [(Targets::Values(&data.y), "values"), (class, "classes")] {
                let params = TreeParams::default().max_leaf_nodes(200usize).engine(engine);
                let data = TreeData { x: &data.x, width: WIDTH, targets, weight: Some(&data.weight) };
                group.bench_function(format!("{name} {of}"), |b| b.iter(|| fit_tree(data, &params).expect("a tree")));
            }
        }
    }
}

/// Largest resident set so far, MB.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    peak.unwrap_or(0) / 1024
}

fn ten_million_rows(c: &mut Criterion) {
    const ROWS: usize = 10_000_000;
    let mut group = c.benchmark_group("learner/200 leaves, 10000000 rows x 4 features");
    group.throughput(Throughput::Elements(ROWS as u64));
    // Made when the first bench asks for it, that is not where they are filtered out.
    let data = LazyCell::new(|| {
        let mut s = Stream::new(1, "ten million rows");
        let x: Vec<f32> = (0..ROWS * 4).map(|i| (s.uniform() * [8.0, 100.0, 1e6, 1e6][i % 4]) as f32).collect();
        let y: Vec<f64> = x.chunks(4).map(|r| f64::from(r[0] * r[1]).sqrt() + f64::from(r[2]) * 1e-5).collect();
        (x, y)
    });
    for (engine, name) in [(HISTOGRAM, "histogram"), (Engine::Exact, "exact")] {
        group.bench_function(name, |b| {
            let (x, y) = &*data;
            let data = TreeData { x, width: 4, targets: Targets::Values(y), weight: None };
            let params = TreeParams::default().max_leaf_nodes(200usize).engine(engine);
            b.iter(|| fit_tree(data, &params).expect("a tree"));
        });
        // 240 MB of this are the data.
        println!("{name}: peak memory of the process {} MB", peak_mb());
    }
}
