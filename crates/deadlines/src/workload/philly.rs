//! Jobs of a recorded cluster: when they were submitted, how long they ran, on how many devices. What a record lacks is drawn, by
//! rules that `docs/deadlines.md` states.

use super::{
    DeadlineJob, DeadlineWorkload, MODELS, Source,
    builtin::{self, Errors},
    models,
};
use crate::Cluster;
use sched_distill_core::{
    rng::{Stream, hash},
    spec::Spec,
    workload::{Table, Work, WorkloadError},
};
use std::sync::Arc;

/// A job as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Record {
    /// Its row in the file, from 0.
    row: u64,
    submit_ms: f64,
    duration_ms: f64,
    cores: u32,
}

/// Recorded jobs, and how many of them make an episode.
#[derive(Clone, Debug)]
pub struct History {
    /// In order of submission.
    records: Vec<Record>,
    jobs: u32,
    errors: Errors,
}

impl History {
    /// What an episode comes to, about.
    pub(super) fn work(&self, cluster: &Cluster) -> Work {
        let count = self.records.len() as f64;
        let jobs = f64::from(self.jobs).min(count);
        // Recorded times are those on as many cores as were requested.
        let mean_ms = self.records.iter().map(|row| row.duration_ms * f64::from(row.cores)).sum::<f64>() / count;
        let [first, last] = [self.records.first(), self.records.last()].map(|row| row.map_or(0.0, |row| row.submit_ms));
        builtin::work(cluster, jobs, mean_ms, last - first)
    }

    /// The jobs of the episode with this seed, in order of arrival: those of consecutive rows from one on that the seed draws.
    #[must_use]
    pub fn jobs(&self, seed: u64) -> Vec<DeadlineJob> {
        let jobs = (self.jobs as usize).min(self.records.len());
        let first = Stream::new(seed, "recorded jobs").below(self.records.len() - jobs + 1);
        let rows = &self.records[first..first + jobs];
        let start_ms = rows.first().map_or(0.0, |row| row.submit_ms);
        let job = |row: &Record| {
            // What a record lacks belongs to it: two episodes with the same row agree.
            let mut stream = Stream::new(hash(&[row.row]), "recorded job");
            let drawn = self.errors.draw(&mut stream);
            let threads = row.cores;
            let iterations = (row.duration_ms / drawn.law.time_ms(threads)).round().max(1.0);
            let arrival_ms = row.submit_ms - start_ms;
            let deadline_ms = arrival_ms + drawn.tight * iterations * drawn.law.time_ms(threads);
            DeadlineJob {
                model: drawn.model,
                arrival_ms,
                deadline_ms,
                declared_deadline_ms: deadline_ms,
                iterations,
                declared_iterations: iterations * drawn.inflated,
                requested: threads,
                threads,
                largest: models::LARGEST.max(threads),
                law: drawn.law,
                bias: drawn.bias,
            }
        };
        rows.iter().map(job).collect()
    }
}

/// Opens `philly:FILE`.
pub(super) fn open(spec: &Spec) -> Result<DeadlineWorkload, WorkloadError> {
    let path = spec.require_file("recorded jobs with the columns submit_s, duration_s, num_gpus, vc")?.to_owned();
    let mut args = spec.args();
    let (mut cluster, errors) = builtin::cluster(&mut args, 4, [600.0, 30.0])?;
    // Recorded jobs use as many cores as they request, whatever their model is taken to be.
    cluster.models.iter_mut().for_each(|model| model.cores_used.clear());
    let jobs = args.count("jobs", 60, 1..=1_000_000)?;
    let wanted = args.text("vc");
    args.finish()?;
    debug_assert_eq!(cluster.models.len(), MODELS.len());
    let table = Table::load(&path)?;
    let records = records(&table, wanted.as_deref(), cluster.node_cores);
    let records = records.map_err(|problem| WorkloadError::Format { path: path.clone(), problem })?;
    let history = History { records, jobs, errors };
    history.work(&cluster).check(spec, builtin::LESS)?;
    let source = Source::Recorded(history);
    Ok(DeadlineWorkload { cluster: Arc::new(cluster), source, files: vec![path] })
}

/// The rows of a virtual cluster, or of all, by time of submission.
fn records(table: &Table, wanted: Option<&str>, node_cores: u32) -> Result<Vec<Record>, String> {
    let submitted = table.numbers("submit_s", 0.0..=1e12)?;
    let durations = table.numbers("duration_s", 0.0..=1e9)?;
    let sizes = table
        .counts("num_gpus", 1..=node_cores)
        .map_err(|problem| format!("{problem}; a job runs on one node, which has {node_cores} cores (node-cores=N)"))?;
    let clusters = if wanted.is_some() { table.texts("vc")? } else { Vec::new() };
    let rows = submitted.into_iter().zip(durations).zip(sizes).enumerate();
    let mut records: Vec<Record> = rows
        .filter(|(row, _)| wanted.is_none_or(|wanted| clusters[*row] == wanted))
        .map(|(row, ((submit_s, duration_s), size))| Record {
            row: row as u64,
            submit_ms: 1e3 * submit_s,
            // Jobs that ended at once are taken to have run for a second.
            duration_ms: 1e3 * duration_s.max(1.0),
            cores: size,
        })
        .collect();
    if records.is_empty() {
        let mut known: Vec<&str> = clusters.iter().map(String::as_str).collect();
        known.sort_unstable();
        known.dedup();
        return Err(format!("no row has vc={}; there are {}", wanted.unwrap_or_default(), known.join(", ")));
    }
    records.sort_by(|a, b| a.submit_ms.total_cmp(&b.submit_ms));
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "submit_s,duration_s,num_gpus,vc\n50,600,4,a\n10,0,1,b\n70,7200,32,a\n";

    #[test]
    fn rows_become_jobs() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("jobs.csv");
        std::fs::write(&path, TEXT)?;
        let open = |more: &str| DeadlineWorkload::open(&format!("philly:{}{more}", path.display()).parse().unwrap());
        let jobs = open("")?.jobs(1);
        assert_eq!(jobs.iter().map(|j| j.arrival_ms).collect::<Vec<_>>(), [0.0, 4e4, 6e4]);
        assert_eq!(
            jobs.iter().map(|j| (j.threads, j.requested, j.largest)).collect::<Vec<_>>(),
            [(1, 1, 16), (4, 4, 16), (32, 32, 32)]
        );
        let run_ms = jobs[2].iterations * jobs[2].law.time_ms(32);
        assert!((run_ms / 7.2e6 - 1.0).abs() < 1e-2, "{run_ms}");
        let tight = (jobs[2].deadline_ms - jobs[2].arrival_ms) / run_ms;
        assert!((0.6..3.0).contains(&tight), "{tight}");
        assert_eq!(open(",vc=a")?.jobs(1).len(), 2);
        assert_eq!(open(",jobs=1")?.jobs(1).len(), 1);
        for (more, expected) in [
            (",vc=c", "no row has vc=c; there are a, b"),
            (
                ",node-cores=16",
                "line 4, column 3 (`num_gpus`): expected a number in 1..=16, got `32`; a job runs on one node",
            ),
        ] {
            let message = open(more).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        Ok(())
    }
}
