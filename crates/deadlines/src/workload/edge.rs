//! Edge cases: families of workloads that strain a scheduler in one way each.

use super::{Arrivals, DeadlineJob};
use sched_distill_core::rng::Stream;

/// A family of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeCase {
    /// All jobs arrive within a minute.
    Burst,
    /// One job in the first half has as much work as all others.
    Giant,
    /// Four in ten deadlines cannot be kept whatever is done.
    Hopeless,
    /// Half of the users declare twice their iterations.
    Misdeclared,
}

/// All families with their names and what they are.
pub const EDGE_CASES: &[(&str, &str)] = &[
    ("burst", "all jobs arrive within a minute"),
    ("giant", "one job in the first half has as much work as all others"),
    ("hopeless", "four in ten deadlines cannot be kept whatever is done"),
    ("misdeclared", "half of the users declare twice their iterations"),
];

/// In the order of [`EDGE_CASES`].
pub(super) const CASES: [EdgeCase; 4] = [EdgeCase::Burst, EdgeCase::Giant, EdgeCase::Hopeless, EdgeCase::Misdeclared];

/// Share of jobs whose deadline is hopeless, and how much of the time that a job takes at its best it leaves.
const HOPELESS: f64 = 0.4;
const TOO_TIGHT: f64 = 0.7;

impl EdgeCase {
    /// Another arrival process, if the family has one.
    pub(super) fn arrivals(self, jobs: u32) -> Option<Arrivals> {
        (self == Self::Burst).then_some(Arrivals::Bursts { size: jobs, gap_ms: 0.0 })
    }

    /// Changes an episode's jobs.
    pub(super) fn change(self, jobs: &mut [DeadlineJob], stream: &mut Stream) {
        match self {
            Self::Giant => {
                let place = stream.below(jobs.len().div_ceil(2));
                let work = |job: &DeadlineJob| job.iterations * job.law.time_ms(1);
                let others: f64 = jobs.iter().map(work).sum::<f64>() - work(&jobs[place]);
                let giant = &mut jobs[place];
                let factor = others / work(giant);
                if factor > 0.0 {
                    giant.iterations *= factor;
                    giant.declared_iterations *= factor;
                    // Its user gives it as much more time.
                    giant.deadline_ms = giant.arrival_ms + factor * (giant.deadline_ms - giant.arrival_ms);
                    giant.declared_deadline_ms = giant.deadline_ms;
                }
            }
            Self::Hopeless => {
                for job in jobs {
                    if stream.uniform() < HOPELESS {
                        let best_ms = job.iterations * job.law.time_ms(job.largest);
                        job.deadline_ms = job.arrival_ms + TOO_TIGHT * best_ms;
                        job.declared_deadline_ms = job.deadline_ms;
                    }
                }
            }
            Self::Burst | Self::Misdeclared => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DeadlineWorkload;

    #[test]
    fn families_are_what_they_are_called() {
        let jobs = |edge: &str| {
            let workload = DeadlineWorkload::open(&format!("builtin,jobs=200,edge={edge}").parse().unwrap()).unwrap();
            workload.jobs(3)
        };
        assert!(jobs("burst").last().unwrap().arrival_ms <= 6e4);
        let mut work: Vec<f64> = jobs("giant").iter().map(|j| j.iterations * j.law.time_ms(1)).collect();
        work.sort_by(f64::total_cmp);
        assert!((work[199] / work[..199].iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let hopeless = jobs("hopeless");
        let late = hopeless.iter().filter(|j| j.deadline_ms < j.arrival_ms + j.iterations * j.law.time_ms(16)).count();
        assert!((60..100).contains(&late), "{late}");
        let doubled = jobs("misdeclared").iter().filter(|j| j.declared_iterations > j.iterations).count();
        assert!((80..120).contains(&doubled), "{doubled}");
    }
}
