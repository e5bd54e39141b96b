//! Recorded requests as Microsoft published those of Azure: a table with a row per request.

use super::{ServingWorkload, requests};
use sched_distill_core::{
    spec::Spec,
    workload::{Table, WorkloadError},
};
use sched_distill_histories::requests::Request;
use std::path::Path;

/// The columns that are read.
const COLUMNS: [&str; 3] = ["arrival_s", "context_tokens", "generated_tokens"];

/// Opens `azure:FILE`.
pub(super) fn open(spec: &Spec) -> Result<ServingWorkload, WorkloadError> {
    let path = spec.require_file("recorded requests with the columns arrival_s, context_tokens, generated_tokens")?;
    requests::open(spec, path, |path| {
        let read = read(&Table::load(path)?);
        Ok((read.map_err(|problem| WorkloadError::Format { path: path.to_owned(), problem })?, Vec::new()))
    })
}

fn read(table: &Table) -> Result<Vec<Request>, String> {
    let [arrivals, contexts, generated] = COLUMNS;
    let arrivals = table.numbers(arrivals, 0.0..=1e9)?;
    let contexts = table.counts(contexts, 0..=1 << 20)?;
    let generated = table.counts(generated, 0..=1 << 16)?;
    let rows = arrivals.into_iter().zip(contexts).zip(generated);
    Ok(rows.map(|((s, context), generated)| Request { arrival_ms: 1e3 * s, context, generated }).collect())
}

/// Whether the first line of a file names the columns.
pub(super) fn reads(path: &Path) -> bool {
    Table::has_columns(path, &COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::super::{ServingWorkload, builtin::work_ms};

    #[test]
    fn rows_become_tasks() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("requests.csv");
        let mut text = "arrival_s,context_tokens,generated_tokens\n".to_owned();
        for i in 0..600 {
            text += &format!("{},{},{}\n", i, 64 * (1 + i % 3), i % 2);
        }
        std::fs::write(&path, text)?;
        let open = |more: &str| ServingWorkload::open(&format!("azure:{}{more}", path.display()).parse().unwrap());
        let workload = open(",seconds=2,load=0.5")?;
        let tasks = workload.jobs(1);
        assert_eq!(tasks, workload.jobs(1));
        // Three applications by context; a generated token counts twenty, and units are rounded up.
        assert!(tasks.iter().all(|task| task.size == task.application + 1 || task.size == task.application + 2));
        let work: f64 = tasks
            .iter()
            .map(|task| work_ms(&workload.cluster().server.applications[task.application as usize], task.size))
            .sum();
        assert!((work / 2000.0 - 0.5).abs() < 0.02, "{work}");
        // Much shorter than the time between two requests.
        let workload = open(",seconds=0.01,load=0.5")?;
        assert!((0..50).all(|seed| workload.jobs(seed).len() == 1));
        for (more, expected) in [
            (",seconds=600", "and the file has 599 s; ask for fewer seconds"),
            (",applications=64,unit=0", "unit"),
            (",spread=1", "spread"),
        ] {
            let message = open(more).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        std::fs::write(&path, "arrival_s,context_tokens,generated_tokens\n1,x,2\n")?;
        let message = open("").unwrap_err().to_string();
        assert!(message.contains("line 2, column 2 (`context_tokens`)"), "{message}");
        Ok(())
    }
}
