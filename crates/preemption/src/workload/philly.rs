//! Jobs of a recorded cluster, those of an episode drawn: when they were submitted, how long they ran, on how many GPUs. What a record lacks is drawn, by rules
//! that `docs/preemption.md` states.

use super::{
    PreemptionJob, PreemptionWorkload, WINDOW_JOBS,
    builtin::{self, Errors},
};
use crate::{Cluster, Preemption};
use sched_distill_core::{
    rng::{EpisodeId, Stream, hash},
    simulation::Source,
    spec::Spec,
    workload::{RECORDED_COLUMNS, RecordedJob, RecordedJobs, Work, WorkloadError},
};
use std::sync::Arc;

/// Recorded jobs, and how users err.
#[derive(Clone, Debug)]
pub struct Records {
    jobs: RecordedJobs,
    errors: Errors,
}

impl Source<Preemption> for Records {
    fn work(&self, cluster: &Arc<Cluster>) -> Work {
        let [jobs, mean_ms, span_ms] = self.jobs.extent(|job| job.duration_ms);
        builtin::work(cluster, jobs, mean_ms, span_ms)
    }

    /// Those of consecutive rows from one on that the seed draws.
    fn jobs(&self, cluster: &Arc<Cluster>, id: EpisodeId) -> Vec<PreemptionJob> {
        let job = |(arrival_ms, job): (f64, &RecordedJob)| {
            // What a record lacks belongs to it: two episodes with the same row agree.
            let mut stream = Stream::new(hash(&[job.row]), "recorded job on GPUs");
            let job = self.errors.job(cluster, job.devices, job.duration_ms, &mut stream);
            PreemptionJob { arrival_ms, ..job }
        };
        self.jobs.episode(id.seed).map(job).collect()
    }
}

/// Opens `philly:FILE` with a table that is not cut by time.
pub(super) fn open(spec: &Spec) -> Result<PreemptionWorkload, WorkloadError> {
    let path = spec.require_file(RECORDED_COLUMNS)?.to_owned();
    let mut args = spec.args();
    let (mut cluster, errors) = builtin::cluster(&mut args, 8)?;
    let jobs = args.count("jobs", WINDOW_JOBS, 1..=1_000_000)?;
    let wanted = args.text("vc");
    args.finish()?;
    let most = cluster.gpus();
    let why = format!("the cluster has {most} GPUs (nodes=N, node-gpus=N)");
    let jobs = RecordedJobs::load(&path, wanted.as_deref(), jobs, most, &why)?;
    cluster.earlier = builtin::earlier(&cluster, |stream| {
        let job = &jobs.all()[stream.below(jobs.all().len())];
        (job.devices, job.duration_ms)
    });
    let note = jobs.note();
    let workload = PreemptionWorkload::new(Arc::new(cluster), Records { jobs, errors }, vec![path]);
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
