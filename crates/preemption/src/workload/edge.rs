//! Edge cases: families of workloads that strain a scheduler in one way each.

use crate::Cluster;

/// A family of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeCase {
    /// All jobs arrive at once.
    Burst,
    /// One job in ten wants all GPUs of the cluster.
    Wide,
    /// One job in ten takes ten times as long.
    Giants,
    /// Half of the users declare half of their epochs.
    Understated,
}

/// All families with their names and what they are.
pub const EDGE_CASES: &[(&str, &str)] = &[
    ("burst", "all jobs arrive at once"),
    ("wide", "one job in ten wants all GPUs of the cluster"),
    ("giants", "one job in ten takes ten times as long"),
    ("understated", "half of the users declare half of their epochs"),
];

/// In the order of [`EDGE_CASES`].
pub(super) const CASES: [EdgeCase; 4] = [EdgeCase::Burst, EdgeCase::Wide, EdgeCase::Giants, EdgeCase::Understated];

/// One job in so many is changed.
const ONE_IN: u32 = 10;

/// How much longer giants take.
const LONGER: f64 = 10.0;

impl EdgeCase {
    /// Changes the GPUs and the time of a job by its place.
    pub(super) fn change(self, place: u32, cluster: &Cluster, gpus: &mut u32, run_ms: &mut f64) {
        match self {
            Self::Wide if place % ONE_IN == ONE_IN / 2 => *gpus = cluster.gpus(),
            Self::Giants if place % ONE_IN == ONE_IN / 2 => *run_ms *= LONGER,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PreemptionWorkload;

    #[test]
    fn families_are_what_they_are_called() {
        let jobs = |edge: &str| {
            let workload = PreemptionWorkload::open(&format!("builtin,jobs=200{edge}").parse().unwrap()).unwrap();
            workload.jobs(3)
        };
        let usual = jobs("");
        assert_eq!(jobs(",edge=burst").last().unwrap().arrival_ms, 0.0);
        assert_eq!(jobs(",edge=wide").iter().filter(|job| job.gpus == 32).count(), 20);
        let run_ms = |job: &super::super::PreemptionJob| job.epochs * job.epoch_ms;
        let giants = jobs(",edge=giants");
        let longer = usual.iter().zip(&giants).filter(|(a, b)| run_ms(b) > 5.0 * run_ms(a)).count();
        assert!((15..=20).contains(&longer), "{longer}");
        let halved = jobs(",edge=understated").iter().filter(|j| j.declared_epochs < j.epochs).count();
        assert!((60..110).contains(&halved), "{halved}");
    }
}
