//! Kubernetes' horizontal pod autoscaler by its documented rule, a replica being a core of the job's program.

use super::{Queue, keep};
use crate::state::{Decision, Question, View};

/// Use of its cores that it aims at; the usual choice of operators.
const TARGET: f64 = 0.8;

/// How far use may be from the target, as a share, before anything is changed (documented default).
const TOLERANCE: f64 = 0.1;

/// For how long the largest number wanted is kept before a job shrinks, ms (documented default: 300 s).
const STABILISATION_MS: f64 = 3e5;

/// As [`Queue::Fifo`], and at each check a number of cores in proportion to their use: `ceil(cores · use ÷ 0.8)`, at most twice as
/// many or four more at a time, the largest number wanted in five minutes. Training uses all it gets, so that jobs grow as long as there is
/// room.
#[derive(Clone, Debug, Default)]
pub struct Hpa {
    /// What was wanted of late: job, time, cores.
    wanted: Vec<(u32, f64, u32)>,
}

impl Hpa {
    /// Answers a question.
    pub fn decide(&mut self, seen: &View<'_>) -> Decision {
        let Question::Running(id) = seen.question() else { return Queue::Fifo.decide(seen) };
        if !seen.is_check() {
            return keep(seen, id);
        }
        let (job, now) = (seen.job(id), seen.time_ms());
        let (cores, ratio) = (job.cores(), f64::from(job.used()) / f64::from(job.cores()) / TARGET);
        let wanted = match (ratio - 1.0).abs() <= TOLERANCE {
            true => cores,
            false => ((f64::from(cores) * ratio).ceil() as u32).min((2 * cores).max(cores + 4)),
        };
        self.wanted.retain(|&(_, at, _)| now - at <= STABILISATION_MS);
        self.wanted.push((id, now, wanted));
        let most = self.wanted.iter().filter(|(of, ..)| *of == id).map(|&(.., wanted)| wanted).max().unwrap_or(wanted);
        let next = if wanted > cores { wanted } else { most.min(cores) };
        Decision::Resize { job: id, cores: next.min(job.most()).min(job.room()).max(1) }
    }
}
