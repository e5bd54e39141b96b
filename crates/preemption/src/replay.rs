//! The order in which jobs were started where they were recorded, carried out again.

use crate::{
    Preemption,
    heuristic::{Queue, least, waiting},
    state::{Decision, Question, View},
    workload::PreemptionJob,
};
use sched_distill_core::{
    policy::{Policy, PolicyError},
    scenario::Said,
    simulation::Replay,
    workload::recorded_starts,
};
use std::sync::Arc;

/// The schedule that is recorded of jobs; `None` if one of them is of no log. Nobody is suspended: a job that was runs on.
pub(crate) fn replay(jobs: &[PreemptionJob]) -> Option<Replay<Preemption>> {
    let (starts_ms, completed_ms, unknown) = recorded_starts(jobs.iter().map(|job| (job.arrival_ms, job.recorded)))?;
    Some(Replay { policy: Box::new(RecordedOrder { starts_ms: starts_ms.into() }), completed_ms, unknown })
}

/// Starts jobs in the order of their recorded starts, each as soon as it fits; nobody begins before who began first.
struct RecordedOrder {
    /// By job, ms.
    starts_ms: Arc<[f64]>,
}

impl Policy<Preemption> for RecordedOrder {
    fn fresh(&self) -> Box<dyn Policy<Preemption>> {
        Box::new(Self { starts_ms: Arc::clone(&self.starts_ms) })
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<Decision, PolicyError> {
        if seen.question() != Question::Serve {
            return Ok(Queue::Fifo.decide(seen));
        }
        let start_ms = |job: u32| self.starts_ms.get(job as usize).copied();
        let next = least(waiting(seen), start_ms).filter(|&job| seen.job(job).gpus() <= seen.unreserved());
        Ok(next.map_or(Decision::Wait, |job| Decision::Serve { job }))
    }

    fn forgets(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::PreemptionWorkload;
    use sched_distill_core::{
        rng::{EpisodeId, Split},
        simulation::{Simulated, Simulation as _},
    };

    /// Jobs that arrive every half minute on 8 GPUs and are served in order of arrival: submission, start, end and GPUs, s.
    fn in_order(jobs: u32) -> Vec<[u32; 4]> {
        let (mut ends, mut rows, mut earliest) = (vec![0; 8], Vec::new(), 0);
        for i in 0..jobs {
            let (submit, gpus, takes) = (30 * i, 1 << (i % 4), 60 + 97 * (i % 7));
            ends.sort_unstable();
            // Nobody begins before who arrived first.
            let start = submit.max(earliest).max(ends[gpus as usize - 1]);
            ends[..gpus as usize].fill(start + takes);
            earliest = start;
            rows.push([submit, start, start + takes, gpus]);
        }
        rows
    }

    #[test]
    fn a_schedule_in_order_of_arrival_is_replayed_up_to_what_beginning_takes() -> Result<(), Box<dyn std::error::Error>>
    {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("log.csv");
        let rows = in_order(120);
        let lines = rows.iter().map(|[submit, start, end, gpus]| format!("{submit},{start},{end},{gpus}\n"));
        std::fs::write(&path, "in,from,to,gpus\n".to_owned() + &lines.collect::<String>())?;
        let open = |more: &str| {
            let columns = "submit=in,start=from,end=to,gpus=gpus,split=none,nodes=1,node-gpus=8,free=1";
            PreemptionWorkload::open(&format!("csv:{},{columns}{more}", path.display()).parse()?)
                .map_err(Box::<dyn std::error::Error>::from)
        };
        let workload = open("")?;
        let jobs = workload.jobs(EpisodeId::new(1, Split::Train, 0));
        let mut replay = Preemption::replay(&jobs).ok_or("starts are recorded")?;
        let mut episode = Preemption::start(&workload, jobs.clone(), 1);
        while let Some(seen) = episode.view() {
            let decision = replay.policy.decide(&seen, &mut Said::default())?;
            episode.step(decision)?;
        }
        let error = |((job, recorded), number): ((&PreemptionJob, &Option<f64>), u32)| {
            Some(((episode.completed_ms(number)? - job.arrival_ms) / (*recorded)? - 1.0).abs())
        };
        let errors: Option<Vec<f64>> = jobs.iter().zip(&replay.completed_ms).zip(0..).map(error).collect();
        let mut errors = errors.ok_or("every job ended, in both")?;
        errors.sort_by(f64::total_cmp);
        // Beginning is drawn, and here it takes a good part of a job's time.
        assert!(errors[60] < 0.1 && errors[119] < 0.5, "{errors:?}");
        // Without starts nothing can be said.
        let text: String =
            rows.iter().map(|[submit, start, end, gpus]| format!("{submit},{},{gpus}\n", end - start)).collect();
        std::fs::write(&path, "in,took,gpus\n".to_owned() + &text)?;
        let spec = format!("csv:{},submit=in,duration=took,gpus=gpus,split=none,nodes=1,node-gpus=8", path.display());
        let jobs = PreemptionWorkload::open(&spec.parse()?)?.jobs(EpisodeId::new(1, Split::Train, 0));
        assert!(Preemption::replay(&jobs).is_some_and(|replay| !replay.is_recorded()));
        Ok(())
    }
}
