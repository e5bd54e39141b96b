//! Prints what logs of jobs hold, and how fast they were read: `cargo run --release --example job_log -- LOG..`

use sched_distill_histories::{dags, jobs};
use std::{
    error::Error,
    io::{self, Write},
    path::Path,
    time::Instant,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    for name in std::env::args().skip(1) {
        let path = Path::new(&name);
        let start = Instant::now();
        let notes = if let Some(format) = jobs::recognise_file(path)? {
            let log = jobs::read(path, &format, &mut |_, _| {})?;
            let (n, seconds) = (log.jobs.len(), start.elapsed().as_secs_f64());
            writeln!(out, "{name}: {format:?}, {n} jobs in {seconds:.3} s, at most {:?}", log.most_used())?;
            log.notes()
        } else if let Some(format) = dags::recognise_file(path)? {
            let log = dags::read(path, format, &mut |_, _| {})?;
            let stages: usize = log.dags.iter().map(|dag| dag.stages.len()).sum();
            let edges: usize = log.dags.iter().map(|dag| dag.edges.len()).sum();
            let (n, seconds) = (log.dags.len(), start.elapsed().as_secs_f64());
            writeln!(out, "{name}: {format:?}, {n} DAGs, {stages} stages, {edges} edges in {seconds:.3} s")?;
            log.notes()
        } else {
            writeln!(out, "{name}: is of a form that is not known; a table needs the names of its columns")?;
            continue;
        };
        notes.iter().try_for_each(|note| writeln!(out, "  - {note}"))?;
    }
    Ok(())
}
