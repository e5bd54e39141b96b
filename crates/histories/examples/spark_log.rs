//! Prints what Spark event logs hold, and how fast they were read: `cargo run --release --example spark_log -- LOG..`

use sched_distill_histories::spark;
use std::{
    error::Error,
    io::{self, Write},
    path::Path,
    time::Instant,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    for path in std::env::args().skip(1) {
        let start = Instant::now();
        let log = spark::read(Path::new(&path), &mut |_, _| {})?;
        let seconds = start.elapsed().as_secs_f64();
        let bytes: u64 = log.applications.iter().map(|application| application.reading.bytes).sum();
        writeln!(
            out,
            "{path}: {:.1} MB in {seconds:.3} s, {:.0} MB/s",
            bytes as f64 / 1e6,
            bytes as f64 / 1e6 / seconds
        )?;
        for application in &log.applications {
            let start = Instant::now();
            let queries = application.queries();
            let submitted = application.stages.iter().filter(|stage| stage.was_submitted).count();
            writeln!(
                out,
                "  {:?} Spark {:?}: {} jobs, {submitted} stages run of {}, {} ends of tasks, at most {:?} executors and cores",
                application.id,
                application.spark_version,
                application.jobs.len(),
                application.stages.len(),
                application.tasks.len(),
                application.most_executors(),
            )?;
            writeln!(
                out,
                "  {} DAGs in {:.3} s, {} of {} skipped stages matched",
                queries.jobs.len(),
                start.elapsed().as_secs_f64(),
                queries.rebuilding.matched_stages,
                queries.rebuilding.skipped_stages
            )?;
            if let Some(job) = queries.jobs.iter().max_by_key(|job| job.stages.len()) {
                let tasks: u32 = job.stages.iter().map(|stage| stage.num_tasks).sum();
                let (stages, edges, assumed) = (job.stages.len(), job.edges.len(), job.assumed_edges.len());
                writeln!(
                    out,
                    "  largest: {:?}: {stages} stages, {edges} edges and {assumed} assumed, {tasks} tasks",
                    job.name
                )?;
            }
            queries.rebuilding.notes().iter().try_for_each(|note| writeln!(out, "  - {note}"))?;
        }
        log.notes().iter().try_for_each(|note| writeln!(out, "  * {note}"))?;
    }
    Ok(())
}
