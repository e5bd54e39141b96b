//! Whether states look like those of training: by feature, how far the distributions are apart, and how far chance alone takes
//! them apart.
//!
//! The measure is the population stability index, Σ (p − q) ln (p / q) over the tenths of the training rows. Read by itself it
//! says nothing here: rows of one episode resemble each other, and a handful of episodes of the very same workload is as far from
//! the others as a shift would be. So episodes of the training trace are drawn against each other, and a feature drifts only if it
//! is further away than any feature is by chance.

#[cfg(test)]
mod tests;
mod words;

pub use words::{DriftWords, Read};

use rayon::prelude::*;
use sched_distill_core::{
    level::{LevelSpec, NONE_FLAG},
    rng::Stream,
};
use sched_distill_trace::{Choice, LevelTable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Draws of training episodes against each other.
const DRAWS: usize = 400;
/// Quantile of a feature's draws by which it is measured against the other features.
const HIGH: f64 = 0.95;
/// Least spread by chance, so that features that never vary are not flagged for next to nothing.
const LEAST: f64 = 0.002;
/// Rows by which the tenths of a feature are found.
const ROWS: usize = 20_000;
/// Episodes that a training trace has at least if chance is to be known.
const FEW_EPISODES: usize = 8;

/// How stable a feature is, by the usual borders of its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stability {
    /// Below 0.1, or not known to be further than chance takes it.
    Stable,
    /// From 0.1 on.
    Moderate,
    /// From 0.25 on.
    Large,
}

impl Stability {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Moderate => "moderate",
            Self::Large => "large",
        }
    }
}

/// One feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureDrift {
    /// Level.
    pub level: String,
    /// Feature.
    pub feature: String,
    /// Its unit.
    pub unit: String,
    /// Population stability index against the training trace.
    pub psi: f64,
    /// How far chance alone takes it: in none of 400 draws from the training trace any feature came further than that. `None` if
    /// that is not known ([`Drift::unknown`]).
    pub chance: Option<f64>,
    /// What that makes of it.
    pub stability: Stability,
    /// Medians in training and now.
    pub medians: [f32; 2],
    /// Means in training and now: of what is so or not the share of those of whom it is so.
    #[serde(default)]
    pub means: [f64; 2],
    /// Share of the rows that lie outside the range of training.
    pub outside: f64,
    /// Share of the rows that lie above it.
    #[serde(default)]
    pub above: f64,
}

/// The features of all levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// Episodes of training and those looked at.
    pub episodes: [usize; 2],
    /// Decisions looked at.
    pub decisions: usize,
    /// Share of the decisions in which a candidate of the first level lies outside the range of training in some feature.
    pub outside: f64,
    /// Why nothing is known of chance; nothing is then said to drift.
    pub unknown: Option<String>,
    /// Those furthest beyond chance first.
    pub features: Vec<FeatureDrift>,
}

impl Drift {
    /// Features whose index is beyond `most`, and beyond what chance explains; none where chance is not known.
    pub fn beyond(&self, most: f64) -> impl Iterator<Item = &FeatureDrift> {
        self.features.iter().filter(move |f| f.psi > most && f.chance.is_some_and(|chance| f.psi > chance))
    }
}

/// One feature's tenths in training.
#[derive(Clone, Debug)]
struct Bins {
    /// The largest values of all bins but the last, ascending.
    cuts: Vec<f32>,
    median: f32,
}

impl Bins {
    fn new(mut values: Vec<f32>) -> Self {
        values.sort_by(f32::total_cmp);
        let at = |share: f64| values.get(((values.len() as f64 - 1.0).max(0.0) * share).round() as usize).copied();
        let mut cuts: Vec<f32> = (1..10).filter_map(|tenth| at(f64::from(tenth) / 10.0)).collect();
        cuts.dedup();
        if let [only] = cuts[..] {
            // Other values than nearly all of training has are bins of their own.
            cuts = vec![only.next_down(), only];
        }
        Self { median: at(0.5).unwrap_or(0.0), cuts }
    }

    fn len(&self) -> usize {
        self.cuts.len() + 1
    }

    /// The bin of a value.
    fn of(&self, value: f32) -> usize {
        self.cuts.partition_point(|cut| *cut < value)
    }
}

/// Rows of one episode, by bin of each feature.
#[derive(Clone, Debug, Default)]
struct Counts {
    rows: u64,
    bins: Vec<u32>,
}

/// One level of two traces, added up piece by piece.
pub struct DriftTally {
    spec: LevelSpec,
    none: Option<usize>,
    bins: Vec<Bins>,
    /// Where a feature's bins begin in [`Counts::bins`].
    starts: Vec<usize>,
    training: BTreeMap<u32, Counts>,
    now: BTreeMap<u32, Counts>,
    /// By feature, the least and the largest value of training, and rows now that lie below and above.
    range: Vec<[f32; 2]>,
    outside: Vec<[u64; 2]>,
    /// By feature, the sums of the values in training and now.
    sums: Vec<[f64; 2]>,
    /// Choices now, and those with a candidate outside in some feature.
    decisions: usize,
    leaving: usize,
    sample: Vec<f32>,
    sampled: Stream,
    seen: usize,
}

impl DriftTally {
    /// For a level, by some choices of the training trace.
    #[must_use]
    pub fn new(sample: &LevelTable) -> Self {
        let spec = sample.spec.clone();
        let none = spec.features.iter().position(|f| f.name == NONE_FLAG);
        let rows: Vec<&[f32]> = sample.iter().flat_map(|choice| real(choice, none)).collect();
        let step = rows.len().div_ceil(ROWS).max(1);
        let column = |feature: usize| Bins::new(rows.iter().step_by(step).map(|row| row[feature]).collect());
        let bins: Vec<Bins> = (0..spec.features.len()).map(column).collect();
        let mut starts = vec![0];
        starts.extend(bins.iter().scan(0, |end, bins| {
            *end += bins.len();
            Some(*end)
        }));
        let (training, now) = (BTreeMap::new(), BTreeMap::new());
        let sampled = Stream::new(0, "rows of a log");
        let (range, outside) = (vec![[f32::INFINITY, f32::NEG_INFINITY]; bins.len()], vec![[0; 2]; bins.len()]);
        let sums = vec![[0.0; 2]; bins.len()];
        let (sample, decisions, leaving, seen) = (Vec::new(), 0, 0, 0);
        Self {
            spec,
            none,
            bins,
            starts,
            training,
            now,
            range,
            outside,
            sums,
            decisions,
            leaving,
            sample,
            sampled,
            seen,
        }
    }

    /// Adds choices of the training trace.
    pub fn add_training(&mut self, table: &LevelTable) {
        for choice in table.iter() {
            let counts = self.training.entry(choice.header.episode).or_default();
            for row in real(choice, self.none) {
                count(&self.bins, &self.starts, row, counts);
                for (([least, most], sum), &value) in self.range.iter_mut().zip(&mut self.sums).zip(row) {
                    (*least, *most) = (least.min(value), most.max(value));
                    sum[0] += f64::from(value);
                }
            }
        }
    }

    /// Adds choices to be compared with it, once all of the training trace is there.
    pub fn add(&mut self, table: &LevelTable) {
        for choice in table.iter() {
            let counts = self.now.entry(choice.header.episode).or_default();
            let mut leaves = false;
            for row in real(choice, self.none) {
                count(&self.bins, &self.starts, row, counts);
                let of_feature = self.outside.iter_mut().zip(&mut self.sums).zip(&self.range);
                for ((([below, above], sum), [least, most]), &value) in of_feature.zip(row) {
                    sum[1] += f64::from(value);
                    *below += u64::from(value < *least);
                    *above += u64::from(value > *most);
                    leaves |= value < *least || value > *most;
                }
                // Rows for the medians, each with the same probability.
                self.seen += 1;
                if self.seen <= ROWS {
                    self.sample.extend_from_slice(row);
                } else if let place @ 0..ROWS = self.sampled.below(self.seen) {
                    self.sample[place * row.len()..][..row.len()].copy_from_slice(row);
                }
            }
            self.decisions += 1;
            self.leaving += usize::from(leaves);
        }
    }

    fn features(&self) -> usize {
        self.bins.len()
    }

    fn median_now(&self, feature: usize) -> f32 {
        let mut values: Vec<f32> = self.sample.iter().skip(feature).step_by(self.features().max(1)).copied().collect();
        values.sort_by(f32::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f32::NAN)
    }

    fn psi(&self, feature: usize, p: &[u64], q: &[u64]) -> f64 {
        psi(&p[self.starts[feature]..self.starts[feature + 1]], &q[self.starts[feature]..self.starts[feature + 1]])
    }

    fn total<'a>(&self, counts: impl Iterator<Item = &'a Counts>) -> Vec<u64> {
        let mut total = vec![0; *self.starts.last().unwrap_or(&0)];
        for counts in counts {
            total.iter_mut().zip(&counts.bins).for_each(|(all, &n)| *all += u64::from(n));
        }
        total
    }
}

/// The rows of a choice that stand for something.
fn real(choice: Choice<'_>, none: Option<usize>) -> impl Iterator<Item = &[f32]> {
    choice.x.chunks_exact(choice.width).filter(move |row| none.is_none_or(|column| row[column] < 0.5))
}

/// Counts a row.
fn count(bins: &[Bins], starts: &[usize], row: &[f32], counts: &mut Counts) {
    counts.bins.resize(*starts.last().unwrap_or(&0), 0);
    counts.rows += 1;
    for ((bins, start), &value) in bins.iter().zip(starts).zip(row) {
        counts.bins[start + bins.of(value)] += 1;
    }
}

/// Population stability index of counts; half a row more in each bin keeps empty ones finite.
fn psi(p: &[u64], q: &[u64]) -> f64 {
    let share = |counts: &[u64], i: usize| {
        let all: u64 = counts.iter().sum();
        (counts[i] as f64 + 0.5) / (all as f64 + 0.5 * counts.len() as f64)
    };
    (0..p.len()).map(|i| (share(p, i) - share(q, i)) * (share(p, i) / share(q, i)).ln()).sum()
}

/// The drift of all levels, first question first. `seed` fixes what chance is judged by.
#[must_use]
pub fn drift(levels: &[DriftTally], seed: u64) -> Drift {
    let episodes = |of: fn(&DriftTally) -> &BTreeMap<u32, Counts>| levels.first().map_or(0, |level| of(level).len());
    let [training, now] = [episodes(|l| &l.training), episodes(|l| &l.now)];
    let unknown = unknown(levels, training);
    let chance = unknown.is_none().then(|| chance(levels, seed));
    let mut features = Vec::new();
    for (place, level) in levels.iter().enumerate() {
        let (p, q) = (level.total(level.now.values()), level.total(level.training.values()));
        if p.iter().all(|&n| n == 0) {
            continue;
        }
        for (feature, spec) in level.spec.features.iter().enumerate().filter(|(_, f)| f.name != NONE_FLAG) {
            let (index, bins) = (level.psi(feature, &p, &q), &level.bins[feature]);
            let chance = chance.as_ref().map(|chance| chance[place][feature]);
            let bins_of = level.starts[feature]..level.starts[feature + 1];
            let rows = [&q, &p].map(|counts| counts[bins_of.clone()].iter().sum::<u64>().max(1) as f64);
            let [below, above] = level.outside[feature];
            features.push(FeatureDrift {
                level: level.spec.name.clone(),
                feature: spec.name.clone(),
                unit: spec.unit.clone(),
                psi: index,
                chance,
                stability: match index {
                    index if chance.is_none_or(|chance| index <= chance) || index < 0.1 => Stability::Stable,
                    index if index < 0.25 => Stability::Moderate,
                    _ => Stability::Large,
                },
                medians: [bins.median, level.median_now(feature)],
                means: [0, 1].map(|of| level.sums[feature][of] / rows[of]),
                outside: (below + above) as f64 / rows[1],
                above: above as f64 / rows[1],
            });
        }
    }
    let beyond = |f: &FeatureDrift| f.psi / f.chance.unwrap_or(1.0).max(LEAST);
    features.sort_by(|a, b| b.stability.cmp(&a.stability).then(beyond(b).total_cmp(&beyond(a))));
    let (decisions, leaving) = levels.first().map_or((0, 0), |level| (level.decisions, level.leaving));
    let outside = leaving as f64 / decisions.max(1) as f64;
    Drift { episodes: [training, now], decisions, outside, unknown, features }
}

/// Why chance cannot be judged, if it cannot.
fn unknown(levels: &[DriftTally], training: usize) -> Option<String> {
    let first = levels.first()?;
    if training < FEW_EPISODES {
        return Some(format!("the training trace has {training} episodes, at least {FEW_EPISODES} are needed"));
    }
    // Whole episodes are drawn; a log that is shorter than most of them is none of these.
    let mut rows: Vec<u64> = first.training.values().map(|counts| counts.rows).collect();
    rows.sort_unstable();
    let (now, median) = (first.now.values().map(|counts| counts.rows).sum::<u64>(), rows[rows.len() / 2]);
    (now < median).then(|| {
        format!(
            "the log is short: {now} candidates of level {}, half of the episodes of training have {median} or more",
            first.spec.name
        )
    })
}

/// By level and feature, how far episodes of the training trace are apart when as many rows as now are drawn from it: so far that
/// in none of the draws any feature is further.
fn chance(levels: &[DriftTally], seed: u64) -> Vec<Vec<f64>> {
    // All levels come from the same episodes, so they are drawn together.
    let ids: Vec<u32> = levels.first().map_or(Vec::new(), |level| level.training.keys().copied().collect());
    let rows = |counts: Option<&Counts>| counts.map_or(0, |counts| counts.rows);
    let wanted: u64 = levels.first().map_or(0, |level| level.now.values().map(|counts| counts.rows).sum());
    let draw = |draw: usize| -> Vec<Vec<f64>> {
        let mut stream = Stream::new(seed, &format!("drift by chance {draw}"));
        let (mut some, mut drawn) = (Vec::new(), 0);
        while drawn < wanted || some.is_empty() {
            let id = ids[stream.below(ids.len())];
            drawn += rows(levels[0].training.get(&id)).max(1);
            some.push(id);
        }
        let all: Vec<u32> = ids.iter().map(|_| ids[stream.below(ids.len())]).collect();
        let of = |level: &DriftTally, ids: &[u32]| level.total(ids.iter().filter_map(|id| level.training.get(id)));
        let psi = |level: &DriftTally| {
            let (p, q) = (of(level, &some), of(level, &all));
            (0..level.features()).map(|feature| level.psi(feature, &p, &q)).collect()
        };
        levels.iter().map(psi).collect()
    };
    let draws: Vec<Vec<Vec<f64>>> = (0..DRAWS).into_par_iter().map(draw).collect();
    let quantile = |mut values: Vec<f64>, q: f64| {
        values.sort_by(f64::total_cmp);
        values[((values.len() - 1) as f64 * q).round() as usize]
    };
    let scale: Vec<Vec<f64>> = levels
        .iter()
        .enumerate()
        .map(|(place, level)| {
            // High, so that a feature that is rarely far away, but then very far, does not set the border of all others.
            let high = |feature: usize| quantile(draws.iter().map(|d| d[place][feature]).collect(), HIGH).max(LEAST);
            (0..level.features()).map(high).collect()
        })
        .collect();
    let furthest = |draw: &Vec<Vec<f64>>| {
        let ratios = draw.iter().zip(&scale).flat_map(|(psi, scale)| psi.iter().zip(scale).map(|(psi, s)| psi / s));
        ratios.fold(0.0, f64::max)
    };
    let factor = draws.iter().map(furthest).fold(0.0, f64::max);
    scale.into_iter().map(|of_level| of_level.into_iter().map(|s| s * factor).collect()).collect()
}
