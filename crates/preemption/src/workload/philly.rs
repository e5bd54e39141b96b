//! Jobs of a recorded cluster: when they were submitted, how long they ran, on how many GPUs. What a record lacks is drawn, by rules
//! that `docs/preemption.md` states.

use super::{
    PreemptionJob, PreemptionWorkload, Source,
    builtin::{self, Errors},
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
    gpus: u32,
}

/// Recorded jobs, and how many of them make an episode.
#[derive(Clone, Debug)]
pub struct Records {
    /// In order of submission.
    all: Vec<Record>,
    jobs: u32,
    errors: Errors,
}

impl Records {
    /// What an episode comes to, about.
    pub(super) fn work(&self, cluster: &Cluster) -> Work {
        let count = self.all.len() as f64;
        let jobs = f64::from(self.jobs).min(count);
        let mean_ms = self.all.iter().map(|row| row.duration_ms).sum::<f64>() / count;
        let [first, last] = [self.all.first(), self.all.last()].map(|row| row.map_or(0.0, |row| row.submit_ms));
        builtin::work(cluster, jobs, mean_ms, last - first)
    }

    /// The jobs of the episode with this seed, in order of arrival: those of consecutive rows from one on that the seed draws.
    #[must_use]
    pub fn jobs(&self, cluster: &Cluster, seed: u64) -> Vec<PreemptionJob> {
        let jobs = (self.jobs as usize).min(self.all.len());
        let first = Stream::new(seed, "recorded jobs").below(self.all.len() - jobs + 1);
        let rows = &self.all[first..first + jobs];
        let start_ms = rows.first().map_or(0.0, |row| row.submit_ms);
        let job = |row: &Record| {
            // What a record lacks belongs to it: two episodes with the same row agree.
            let mut stream = Stream::new(hash(&[row.row]), "recorded job on GPUs");
            let job = self.errors.job(cluster, row.gpus, row.duration_ms, &mut stream);
            PreemptionJob { arrival_ms: row.submit_ms - start_ms, ..job }
        };
        rows.iter().map(job).collect()
    }
}

/// Opens `philly:FILE`.
pub(super) fn open(spec: &Spec) -> Result<PreemptionWorkload, WorkloadError> {
    let path = spec.require_file("recorded jobs with the columns submit_s, duration_s, num_gpus, vc")?.to_owned();
    let mut args = spec.args();
    let (mut cluster, errors) = builtin::cluster(&mut args, 8)?;
    let jobs = args.count("jobs", 150, 1..=1_000_000)?;
    let wanted = args.text("vc");
    args.finish()?;
    let table = Table::load(&path)?;
    let all = records(&table, wanted.as_deref(), cluster.gpus());
    let all = all.map_err(|problem| WorkloadError::Format { path: path.clone(), problem })?;
    cluster.earlier = builtin::earlier(&cluster, |stream| {
        let row = &all[stream.below(all.len())];
        (row.gpus, row.duration_ms)
    });
    let records = Records { all, jobs, errors };
    records.work(&cluster).check(spec, builtin::LESS)?;
    let source = Source::Recorded(records);
    Ok(PreemptionWorkload { cluster: Arc::new(cluster), source, files: vec![path] })
}

/// The rows of a virtual cluster, or of all, by time of submission.
fn records(table: &Table, wanted: Option<&str>, most_gpus: u32) -> Result<Vec<Record>, String> {
    let submitted = table.numbers("submit_s", 0.0..=1e12)?;
    let durations = table.numbers("duration_s", 0.0..=1e9)?;
    let sizes = table
        .counts("num_gpus", 1..=most_gpus)
        .map_err(|problem| format!("{problem}; the cluster has {most_gpus} GPUs (nodes=N, node-gpus=N)"))?;
    let clusters = if wanted.is_some() { table.texts("vc")? } else { Vec::new() };
    let rows = submitted.into_iter().zip(durations).zip(sizes).enumerate();
    let mut records: Vec<Record> = rows
        .filter(|(row, _)| wanted.is_none_or(|wanted| clusters[*row] == wanted))
        .map(|(row, ((submit_s, duration_s), gpus))| Record {
            row: row as u64,
            submit_ms: 1e3 * submit_s,
            // Jobs that ended at once are taken to have run for a second.
            duration_ms: 1e3 * duration_s.max(1.0),
            gpus,
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
        let open = |more: &str| PreemptionWorkload::open(&format!("philly:{}{more}", path.display()).parse().unwrap());
        let jobs = open("")?.jobs(1);
        assert_eq!(jobs.iter().map(|j| (j.arrival_ms, j.gpus)).collect::<Vec<_>>(), [(0.0, 1), (4e4, 4), (6e4, 32)]);
        let run_ms = jobs[2].epochs * jobs[2].epoch_ms;
        // In whole epochs.
        assert!((run_ms / 7.2e6 - 1.0).abs() < 0.15, "{run_ms}");
        assert_eq!(open(",vc=a")?.jobs(1).len(), 2);
        assert_eq!(open(",jobs=1")?.jobs(1).len(), 1);
        for (more, expected) in [
            (",vc=c", "no row has vc=c; there are a, b"),
            (
                ",nodes=2",
                "line 4, column 3 (`num_gpus`): expected a number in 1..=16, got `32`; the cluster has 16 GPUs (nodes=N, node-gpus=N)",
            ),
        ] {
            let message = open(more).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        Ok(())
    }
}
