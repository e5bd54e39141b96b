//! Jobs of a recorded cluster, those of an episode drawn: when they were submitted, how long they ran, on how many devices. What a record lacks is drawn, by
//! rules that `docs/deadlines.md` states.

use super::{
    DeadlineJob, DeadlineWorkload, MODELS, WINDOW_JOBS,
    builtin::{self, Drawn, Errors},
    models,
};
use crate::{Cluster, Deadlines};
use sched_distill_core::{
    rng::{EpisodeId, Stream, hash},
    simulation::Source,
    spec::Spec,
    workload::{RECORDED_COLUMNS, RecordedJob, RecordedJobs, Work, WorkloadError},
};
use std::sync::Arc;

/// Recorded jobs, and how users err.
#[derive(Clone, Debug)]
pub struct History {
    jobs: RecordedJobs,
    errors: Errors,
}

impl Source<Deadlines> for History {
    fn work(&self, cluster: &Arc<Cluster>) -> Work {
        // Recorded times are those on as many cores as were requested.
        let [jobs, mean_ms, span_ms] = self.jobs.extent(|job| job.duration_ms * f64::from(job.devices));
        builtin::work(cluster, jobs, mean_ms, span_ms)
    }

    /// Those of consecutive rows from one on that the seed draws.
    fn jobs(&self, _: &Arc<Cluster>, id: EpisodeId) -> Vec<DeadlineJob> {
        let job = |(arrival_ms, job): (f64, &RecordedJob)| {
            recorded_job(&self.errors.drawn(job.row), arrival_ms, job.devices, job.duration_ms)
        };
        self.jobs.episode(id.seed).map(job).collect()
    }
}

impl Errors {
    /// What is drawn of a row. What a record lacks belongs to it: two episodes with the same row agree.
    pub(super) fn drawn(&self, row: u64) -> Drawn {
        self.draw(&mut Stream::new(hash(&[row]), "recorded job"))
    }
}

/// A job that ran for so long on so many devices, ms.
pub(super) fn recorded_job(drawn: &Drawn, arrival_ms: f64, threads: u32, duration_ms: f64) -> DeadlineJob {
    let iterations = (duration_ms / drawn.law.time_ms(threads)).round().max(1.0);
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
        recorded: None,
    }
}

/// Opens `philly:FILE` with a table that is not cut by time.
pub(super) fn open(spec: &Spec) -> Result<DeadlineWorkload, WorkloadError> {
    let path = spec.require_file(RECORDED_COLUMNS)?.to_owned();
    let mut args = spec.args();
    let (mut cluster, errors) = builtin::cluster(&mut args, 4, [600.0, 30.0])?;
    // Recorded jobs use as many cores as they request, whatever their model is taken to be.
    cluster.models.iter_mut().for_each(|model| model.cores_used.clear());
    let jobs = args.count("jobs", WINDOW_JOBS, 1..=1_000_000)?;
    let wanted = args.text("vc");
    args.finish()?;
    debug_assert_eq!(cluster.models.len(), MODELS.len());
    let most = cluster.node_cores;
    let why = format!("a job runs on one node, which has {most} cores (node-cores=N)");
    let jobs = RecordedJobs::load(&path, wanted.as_deref(), jobs, most, &why)?;
    let note = jobs.note();
    let workload = DeadlineWorkload::new(Arc::new(cluster), History { jobs, errors }, vec![path]);
    Ok(workload.checked(spec, builtin::LESS)?.with_notes([note]))
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
