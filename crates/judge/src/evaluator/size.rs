//! Who loses and who gains: completion times under two policies by the size of the jobs.

use super::{
    Estimate,
    interval::{draws, exponential},
    looks::{Looks, held},
    percentile_interval,
};
use sched_distill_trace::EpisodeFigures;
use serde::{Deserialize, Serialize};

/// Jobs by their size under a policy against the same jobs under its baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BySize {
    /// What a job's size is, e.g. `work`.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// Tenths of the jobs, the smallest first; fewer where many jobs have the same size.
    pub classes: Vec<OfSize>,
    /// The smaller and the larger jobs, parted at the median; `None` if as good as all have one size, and in files of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halves: Option<[OfSize; 2]>,
}

/// Jobs of about the same size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfSize {
    /// Size of the smallest and of the largest.
    pub sizes: [f64; 2],
    /// How many, in all episodes.
    pub jobs: usize,
    /// Their mean completion time ÷ the baseline's.
    pub time: Estimate,
}

/// What sizes are, and in which unit.
pub(super) type SizeName = (&'static str, &'static str);

/// Classes of size.
const CLASSES: usize = 10;

/// Compares jobs that both policies completed; `None` if sizes are not known, or there are fewer than two classes of them.
pub(super) fn by_size(
    (label, unit): SizeName,
    [own, base]: [&[EpisodeFigures]; 2],
    (looks, seed): (Option<&Looks>, u64),
) -> Option<BySize> {
    // By episode: size, and both completion times.
    let jobs = |(own, base): (&EpisodeFigures, &EpisodeFigures)| -> Vec<(f64, [f64; 2])> {
        let times = own.completion_times_ms.iter().zip(&base.completion_times_ms);
        own.sizes.iter().zip(times).filter_map(|(&size, (own, base))| Some((size, [(*own)?, (*base)?]))).collect()
    };
    let episodes: Vec<Vec<(f64, [f64; 2])>> = own.iter().zip(base).map(jobs).filter(|jobs| !jobs.is_empty()).collect();
    let mut sizes: Vec<f64> = episodes.iter().flatten().map(|(size, _)| *size).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let known = Known { episodes, sizes, looks, seed };
    let classes = known.parted((1..CLASSES).map(|class| class as f64 / CLASSES as f64));
    let halves = known.parted([0.5].into_iter());
    (classes.len() > 1).then(|| BySize {
        label: label.to_owned(),
        unit: unit.to_owned(),
        classes,
        halves: halves.try_into().ok(),
    })
}

/// Sizes and completion times of jobs that both policies completed.
struct Known<'a> {
    /// By episode: size, and both completion times.
    episodes: Vec<Vec<(f64, [f64; 2])>>,
    /// All sizes, ascending.
    sizes: Vec<f64>,
    looks: Option<&'a Looks>,
    seed: u64,
}

impl Known<'_> {
    /// The jobs parted by size so that about these shares of them are no larger than the largest of a part; fewer parts where many have the
    /// same size.
    fn parted(&self, shares: impl Iterator<Item = f64>) -> Vec<OfSize> {
        let Self { episodes, sizes, looks, seed } = self;
        // The largest sizes of all parts but the last.
        let place = |share: f64| sizes.get((share * sizes.len() as f64) as usize);
        let mut cuts: Vec<f64> = shares.filter_map(place).copied().collect();
        cuts.dedup();
        cuts.retain(|cut| sizes.last().is_some_and(|most| cut < most));
        let part = |size: f64| cuts.partition_point(|cut| *cut < size);
        let mut sums = vec![vec![[0.0; 2]; cuts.len() + 1]; episodes.len()];
        for (sums, jobs) in sums.iter_mut().zip(episodes) {
            for (size, [own, base]) in jobs {
                let of = &mut sums[part(*size)];
                *of = [of[0] + own, of[1] + base];
            }
        }
        let ratios = |counts: &[u32], of: usize| {
            let mine = sums.iter().zip(counts).map(|(sums, &count)| (sums[of], f64::from(count)));
            let [own, base] = mine.fold([0.0; 2], |[a, b], ([own, base], n)| [a + n * own, b + n * base]);
            (own / base).ln()
        };
        let mut found = vec![Vec::new(); cuts.len() + 1];
        draws(sums.len(), *seed, |counts| {
            found.iter_mut().enumerate().for_each(|(of, all)| all.push(ratios(counts, of)));
        });
        let once = vec![1; sums.len()];
        let of_size = |(of, mut drawn): (usize, Vec<f64>)| {
            let value = ratios(&once, of);
            let (low, high) = percentile_interval(&mut drawn).unwrap_or((value, value));
            let e = held(*looks, Estimate { value, low, high }, sums.len());
            let here = || sizes.iter().copied().filter(|&size| part(size) == of);
            OfSize {
                sizes: [here().fold(f64::INFINITY, f64::min), here().fold(f64::NEG_INFINITY, f64::max)],
                jobs: here().count(),
                time: exponential(e),
            }
        };
        found.into_iter().enumerate().map(of_size).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Stream;

    fn episode(sizes: &[f64], times: &[Option<f64>]) -> EpisodeFigures {
        EpisodeFigures {
            figures: Vec::new(),
            stall: None,
            empty: false,
            rejected: 0,
            longest_idle_ms: None,
            completion_times_ms: times.to_vec(),
            sizes: sizes.to_vec(),
        }
    }

    #[test]
    fn who_loses_is_told_by_size() {
        let mut stream = Stream::new(1, "sizes");
        let (mut own, mut base) = (Vec::new(), Vec::new());
        for _ in 0..30 {
            let sizes: Vec<f64> = (0..50).map(|_| stream.uniform_in(0.0, 100.0)).collect();
            // Large jobs take twice as long, small ones half; one job of each episode is not completed.
            let times = |factor: &dyn Fn(f64) -> f64| -> Vec<Option<f64>> {
                sizes.iter().enumerate().map(|(i, &size)| (i > 0).then(|| factor(size) * (1.0 + size))).collect()
            };
            base.push(episode(&sizes, &times(&|_| 1.0)));
            own.push(episode(&sizes, &times(&|size| if size > 50.0 { 2.0 } else { 0.5 })));
        }
        let found = by_size(("work", "ms"), [&own, &base], (None, 1)).unwrap();
        assert_eq!((found.classes.len(), found.classes.iter().map(|class| class.jobs).sum::<usize>()), (10, 30 * 49));
        for class in &found.classes {
            let expected = if class.sizes[0] > 50.0 { 2.0 } else { 0.5 };
            let is_mixed = class.sizes[0] <= 50.0 && class.sizes[1] > 50.0;
            assert!(is_mixed || (class.time.value - expected).abs() < 1e-9, "{class:?}");
        }
        assert!(found.classes.windows(2).all(|pair| pair[0].sizes[1] < pair[1].sizes[0]), "classes do not overlap");
        let [smaller, larger] = found.halves.unwrap();
        assert!(smaller.jobs.abs_diff(larger.jobs) <= 2, "{smaller:?} {larger:?}");
        assert!(smaller.time.high < 0.7 && larger.time.low > 1.8, "{smaller:?} {larger:?}");
    }

    #[test]
    fn jobs_of_one_size_have_no_classes() {
        let one = [episode(&[3.0; 20], &[Some(1.0); 20])];
        assert_eq!(by_size(("work", "ms"), [&one, &one], (None, 1)), None);
        let two = [episode(&[1.0, 1.0, 1.0, 7.0], &[Some(1.0); 4])];
        let found = by_size(("work", "ms"), [&two, &two], (None, 1)).unwrap();
        assert_eq!(
            found.classes.iter().map(|class| (class.sizes, class.jobs)).collect::<Vec<_>>(),
            [([1.0; 2], 3), ([7.0; 2], 1)]
        );
    }
}
