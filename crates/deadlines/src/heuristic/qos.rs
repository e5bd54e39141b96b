//! The policy of "A QoS-oriented scheduling and autoscaling framework for deep learning" (Xing et al., IJCNN 2019), as far as its
//! abstract tells, with the numbers of `docs/deadlines.md`.

use super::{give_up, keep, least};
use crate::state::{Class, Decision, JobView, Question, View};

/// How much longer than predicted a job may take, as a share, when its size is chosen.
pub const RESERVE: f64 = 0.08;

/// Checks in a row with time to spare after which a job shrinks.
const SPARE_CHECKS: u32 = 2;

/// How many times a restart what is left must take for a job to shrink: a restart then costs 2 % of it at most. Without this, jobs that are almost
/// complete shrink, and are late.
const RESTARTS: f64 = 50.0;

/// In which order waiting jobs begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The earliest deadline first, as in the paper.
    #[default]
    Deadline,
    /// The least time to spare first.
    Slack,
    /// The least core time first.
    Work,
}

/// The order of deadlines, a feasibility test, the smallest size that suffices, and another size at checks.
#[derive(Clone, Copy, Debug)]
pub struct Qos {
    /// In which order jobs begin. Default: by deadline.
    pub order: Order,
    /// Whether jobs begin on as many cores as are free, rather than on as few as suffice. Default: no.
    pub widest: bool,
    /// Whether running jobs are given other sizes. Default: yes.
    pub autoscale: bool,
    /// Whether jobs that cannot be on time are refused, where that is allowed, rather than given up. Default: no.
    pub refuse: bool,
}

impl Default for Qos {
    fn default() -> Self {
        Self { order: Order::default(), widest: false, autoscale: true, refuse: false }
    }
}

/// The smallest size that suffices with the reserve; the largest if none does.
pub(crate) fn size(job: &JobView<'_>) -> u32 {
    job.sufficient(RESERVE).unwrap_or_else(|| job.most())
}

impl Qos {
    /// Answers a question.
    #[must_use]
    pub fn decide(self, seen: &View<'_>) -> Decision {
        match seen.question() {
            Question::Running(job) => Decision::Resize { job, cores: self.resized(&seen.job(job), seen.is_check()) },
            Question::Start => self.start(seen),
        }
    }

    fn start(self, seen: &View<'_>) -> Decision {
        if let Some(job) = seen.waiting().iter().copied().find(|&job| seen.job(job).is_hopeless()) {
            return give_up(seen, job, self.refuse);
        }
        let key = |id: u32| {
            let job = seen.job(id);
            let cores = size(&job);
            (cores <= seen.room()).then(|| match self.order {
                Order::Deadline => job.deadline_ms(),
                Order::Slack => job.best_slack_ms(),
                Order::Work => f64::from(cores) * job.work_ms(cores),
            })
        };
        match least(seen, key) {
            Some(job) => {
                let view = seen.job(job);
                let cores = if self.widest { view.most_now(true) } else { size(&view) };
                Decision::Start { job, cores, elastic: true }
            }
            None => Decision::Wait,
        }
    }

    /// Cores that a running job gets: more if it is predicted to be late and more would help, fewer if it has had time to spare for
    /// some checks.
    fn resized(self, job: &JobView<'_>, is_check: bool) -> u32 {
        let cores = job.cores();
        if !self.autoscale || job.class() == Class::BestEffort {
            return cores;
        }
        if job.slack_ms() < 0.0 {
            let wanted = size(job).min(job.room());
            return if wanted > cores && !job.is_hopeless() { wanted } else { cores };
        }
        let smaller = size(job).min(cores);
        let worth_it = job.work_ms(smaller) >= RESTARTS * job.restart_ms();
        if is_check && job.spare_checks() >= SPARE_CHECKS && worth_it { smaller } else { cores }
    }
}

/// Keeps running jobs; for who only starts.
pub(super) fn kept(seen: &View<'_>) -> Option<Decision> {
    match seen.question() {
        Question::Running(job) => Some(keep(seen, job)),
        Question::Start => None,
    }
}
