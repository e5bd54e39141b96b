//! Kubernetes' vertical pod autoscaler by the rules of its recommender, in the mode that sets requests when a job begins
//! (`updateMode: Initial`).

use super::{least, qos::kept};
use crate::state::{Decision, JobView, View};

/// Buckets of its histogram of use: the first so many cores wide, each wider by a share than the one before.
const FIRST: f64 = 0.01;
const GROWTH: f64 = 1.05;

/// Percentile of use that it aims at, and its margin above it.
const PERCENTILE: f64 = 0.9;
const MARGIN: f64 = 1.15;

/// As fifo with backfill, but a job as submitted gets the 90th percentile of what earlier jobs of its model used and 15 % more, rounded up,
/// rather than its request; its request where nothing is known. Running jobs are left alone: the updater evicts a pod only whose
/// request lies outside bounds that are far apart for the first hours of its life.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vpa;

/// The end of the bucket that a use falls into.
fn bucket_end(cores: f64) -> f64 {
    let bucket = (cores * (GROWTH - 1.0) / FIRST + 1.0).ln() / GROWTH.ln();
    FIRST * (GROWTH.powf(bucket.floor() + 1.0) - 1.0) / (GROWTH - 1.0)
}

/// The recommendation for a job whose earlier ones used so many cores; `None` if there are none.
fn recommended(used: &[u32]) -> Option<u32> {
    // As many uses are at most the percentile's as there must be; the least such one, without sorting.
    let enough = (PERCENTILE * used.len() as f64).ceil() as usize;
    let at_most = |most: u32| used.iter().filter(|&&cores| cores <= most).count();
    let percentile = used.iter().copied().filter(|&cores| at_most(cores) >= enough).min()?;
    Some((MARGIN * bucket_end(f64::from(percentile))).ceil() as u32)
}

impl Vpa {
    /// Answers a question.
    #[must_use]
    pub fn decide(self, seen: &View<'_>) -> Decision {
        if let Some(decision) = kept(seen) {
            return decision;
        }
        let size = |job: &JobView<'_>| {
            let used = &seen.cluster().models[job.model() as usize].cores_used;
            let most = job.most_as_submitted().min(seen.cluster().node_cores);
            recommended(used).map_or(job.requested(), |cores| cores.clamp(1, most))
        };
        match least(seen, |job| (size(&seen.job(job)) <= seen.room()).then_some(0.0)) {
            Some(job) => Decision::Start { job, cores: size(&seen.job(job)), elastic: false },
            None => Decision::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recommendations_follow_the_histogram() {
        // Ends of buckets lie 5 % apart, above the use that falls into them.
        for cores in [0.5, 1.0, 2.0, 3.0, 6.0, 40.0] {
            let end = bucket_end(cores);
            assert!(end > cores && end <= cores * 1.05 + FIRST, "{cores}: {end}");
        }
        assert_eq!(recommended(&[]), None);
        assert_eq!(recommended(&[2; 12]), Some(3));
        assert_eq!(recommended(&[4; 12]), Some(5));
        // One in ten does not count, two in ten do.
        let mut used = vec![2; 10];
        used[4] = 6;
        assert_eq!(recommended(&used), Some(3));
        used[5] = 6;
        assert!(recommended(&used) >= Some(7));
    }
}
