//! What feature extraction adds to a decision.

use crate::simulator::start;
use criterion::{Criterion, Throughput, criterion_group};
use sched_distill::{
    dag::{Decision, feature::Extractor},
    scenario::Said,
    simulation::Simulation as _,
};
use std::time::{Duration, Instant};

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(20);
    targets = extraction
}

/// All rows of all levels at every question of an episode that greedy Decima runs; only the extraction is timed.
fn extraction(c: &mut Criterion) {
    let Some(mut decima) = crate::decima() else { return };
    let mut group = c.benchmark_group("features/all levels");
    for args in ["executors=10,jobs=50", "executors=50,jobs=200"] {
        let Some(workload) = crate::tpch(args) else { return };
        let mut episode = || {
            let (mut sim, mut extractor, mut x) = (start(&workload), Extractor::default(), Vec::new());
            let (mut probabilities, mut spent) = (Said::default(), Duration::ZERO);
            while let Some(seen) = sim.view() {
                probabilities.clear();
                let decision = decima.decide(&seen, &mut probabilities).expect("the policy answers");
                let begin = Instant::now();
                x.clear();
                extractor.update(&seen);
                extractor.job_rows(&seen, false, &mut x);
                let candidates = extractor.snapshot().candidate_jobs().len();
                for candidate in 0..candidates {
                    extractor.stage_rows(&seen, candidate, &mut x);
                }
                if let Decision::Assign { stage, .. } = decision {
                    extractor.amount_rows(&seen, stage, &mut x);
                }
                spent += begin.elapsed();
                sim.step(decision).expect("its answer is legal");
            }
            (spent, sim.outcome().expect("the episode has ended").decisions)
        };
        group.throughput(Throughput::Elements(episode().1));
        group.bench_function(args.replace(',', ", "), |b| {
            b.iter_custom(|iterations| (0..iterations).map(|_| episode().0).sum());
        });
    }
}
