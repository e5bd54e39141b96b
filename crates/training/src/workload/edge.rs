//! Edge cases: families of workloads that strain a scheduler in one way each.

/// A family of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeCase {
    /// All jobs of ten slots arrive in the first of them.
    Bursts,
    /// There are half as many nodes.
    HalfNodes,
    /// Each pair of counts of workers and servers takes up to three tenths of its speed away; where speeds depend on placement,
    /// a job is up to half faster or slower in every slot than is known.
    UnevenSpeeds,
    /// Jobs take 0.1 to 1.9 times the epochs that they declare.
    MisjudgedEpochs,
}

/// All families with their names and what they are.
pub const EDGE_CASES: &[(&str, &str)] = &[
    ("bursts", "all jobs of ten slots arrive in the first of them"),
    ("half-nodes", "half as many nodes, rounded up"),
    ("uneven-speeds", "one task more may slow a job down: numbers of tasks take up to three tenths of its speed away"),
    ("misjudged-epochs", "jobs take 0.1 to 1.9 times the epochs that they declare"),
];

/// In the order of [`EDGE_CASES`].
pub(super) const CASES: [EdgeCase; 4] =
    [EdgeCase::Bursts, EdgeCase::HalfNodes, EdgeCase::UnevenSpeeds, EdgeCase::MisjudgedEpochs];

/// Slots whose jobs arrive together in [`EdgeCase::Bursts`].
const BURST: u32 = 10;

/// How far speeds dip at least in [`EdgeCase::UnevenSpeeds`], or how far off they are where they depend on placement.
const DIPS: f64 = 0.3;
const SPEED_ERROR: f64 = 0.5;

/// How far off declared epochs are in [`EdgeCase::MisjudgedEpochs`], at least.
const EPOCH_ERROR: f64 = 0.9;

impl EdgeCase {
    /// The slot in which a job arrives now that arrives usually in this one.
    pub(super) fn arrival_slot(self, usual: u32) -> u32 {
        if self == Self::Bursts { usual - usual % BURST } else { usual }
    }

    /// Nodes, of so many usually.
    pub(super) fn nodes(self, usual: u32) -> u32 {
        if self == Self::HalfNodes { usual.div_ceil(2) } else { usual }
    }

    /// How far speeds dip that depend on counts, as in [`Speed::formula`](crate::cluster::Speed::formula).
    pub(super) fn dips(self, usual: f64) -> f64 {
        if self == Self::UnevenSpeeds { usual.max(DIPS) } else { usual }
    }

    /// How far off speeds are, as [`TrainingCluster::speed_error`](crate::cluster::TrainingCluster::speed_error).
    pub(super) fn speed_error(self, usual: f64, by_placement: bool) -> f64 {
        if self == Self::UnevenSpeeds && by_placement { usual.max(SPEED_ERROR) } else { usual }
    }

    /// How far off declared epochs are, as [`Generator::epoch_error`](super::Generator::epoch_error).
    pub(super) fn epoch_error(self, usual: f64) -> f64 {
        if self == Self::MisjudgedEpochs { usual.max(EPOCH_ERROR) } else { usual }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TrainingJob, TrainingWorkload};

    fn open(text: &str) -> TrainingWorkload {
        TrainingWorkload::open(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn families_are_what_they_are_called() {
        let edge = |edge: &str| open(&format!("builtin,jobs=200,nodes=9,edge={edge}"));
        let usual = open("builtin,jobs=200,nodes=9");
        let jobs = usual.jobs(3);
        let bursts = edge("bursts").jobs(3);
        assert_eq!([0, 29, 30, 59, 60].map(|job: usize| bursts[job].arrival_slot), [0, 0, 10, 10, 20]);
        // Nothing else changes, and other families change no arrival.
        let at = |job: &TrainingJob, arrival_slot| TrainingJob { arrival_slot, ..*job };
        assert!(jobs.iter().zip(&bursts).all(|(a, b)| at(a, 0) == at(b, 0)));
        assert_eq!((edge("half-nodes").cluster().nodes, edge("half-nodes").jobs(3)), (5, jobs.clone()));
        let uneven = edge("uneven-speeds");
        assert_eq!((uneven.cluster().nodes, uneven.jobs(3), uneven.cluster().speed_error), (9, jobs.clone(), 0.0));
        let speed = |workload: &TrainingWorkload, workers| workload.cluster().speed.by_count(0, workers, 4);
        assert!((1..=16).all(|w| (0.7..=1.0).contains(&(speed(&uneven, w) / speed(&usual, w)))));
        assert!((1..16).any(|w| speed(&uneven, w + 1) < 0.9 * speed(&uneven, w)));
        let misjudged = edge("misjudged-epochs").jobs(3);
        let factor = |job: &TrainingJob| job.real_epochs / job.epochs;
        assert!(misjudged.iter().all(|job| (0.1..=1.9).contains(&factor(job))));
        let far_off = misjudged.iter().filter(|job| (factor(job) - 1.0).abs() > 0.45).count();
        assert!((80..120).contains(&far_off), "{far_off}");
        // What they declare is as it was.
        let declared = |job: &TrainingJob| (job.kind, job.arrival_slot, job.epochs);
        assert!(jobs.iter().map(declared).eq(misjudged.iter().map(declared)));
    }

    /// On top of whatever the generator takes; a larger error stays.
    #[test]
    fn families_go_with_other_parameters() {
        let bursts = |arrivals: &str| open(&format!("builtin,rate=1.5,arrivals={arrivals},edge=bursts")).jobs(7);
        for arrivals in ["uniform", "poisson", "bursty"] {
            let slots: Vec<u32> = bursts(arrivals).iter().map(|job| job.arrival_slot).collect();
            assert!(slots.iter().all(|slot| slot % 10 == 0) && slots.is_sorted(), "{slots:?}");
        }
        assert_eq!(open("builtin,speed=analytic,nodes=7,edge=half-nodes").cluster().nodes, 4);
        let speed = |text: &str| open(text).cluster().speed.by_count(2, 3, 5);
        assert_eq!(speed("builtin,dips=0.8,edge=uneven-speeds"), speed("builtin,dips=0.8"));
        // Where placement counts, speeds are uneven from slot to slot.
        let by_placement = |text: &str| open(&format!("builtin,speed=analytic,{text}")).cluster().speed_error;
        assert_eq!(by_placement("edge=uneven-speeds"), 0.5);
        assert_eq!(by_placement("speed-error=0.7,edge=uneven-speeds"), 0.7);
    }
}
