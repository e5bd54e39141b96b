//! How long a task takes: the three-wave model of Decima's TPC-H profiles.
//!
//! A task's duration depends on the wave (is the executor *fresh*, does it start its *first* task of the stage, or is it
//! at the *rest* of them?) and on how many executors the job holds, because more parallelism makes every task slower.
//! Durations were measured at a few levels of parallelism. The rules by which a draw falls back from one list to another
//! are resolved once, when the table is made; a draw is then two look-ups.

use super::values::Values;
use sched_distill_core::rng::{extend, scale, start};

/// Levels of parallelism at which durations are tabulated.
pub(super) const LEVELS: [u32; 8] = [5, 10, 20, 40, 50, 60, 80, 100];

/// What the executor did before it launched the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wave {
    /// Nothing that counts: it just arrived, or its last task was cleared.
    Fresh = 0,
    /// A task of another stage.
    First = 1,
    /// A task of the same stage.
    Rest = 2,
}

/// Measured durations at one level of parallelism, ms, one list per [`Wave`]; lists may be empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waves {
    /// First tasks on fresh executors, start-up included.
    pub fresh: Vec<f64>,
    /// First tasks on executors that were already warm.
    pub first: Vec<f64>,
    /// Later tasks.
    pub rest: Vec<f64>,
}

/// The luck of one stage: a [`Draw`] per task launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Luck {
    /// The keys (stage key, ordinal) and (stage key, ordinal, 1), with the stage key mixed in.
    quantile: u64,
    level: u64,
}

/// The luck of one task launch: 64 random bits to choose among measured durations, and 64 to choose between two levels of
/// parallelism.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    quantile: u64,
    level: u64,
}

impl Luck {
    /// The luck of the stage with this random key.
    #[must_use]
    pub const fn new(key: u64) -> Self {
        Self { quantile: extend(start(2), key), level: extend(start(3), key) }
    }

    /// The luck of launch number `ordinal`. It depends on nothing else, so that two policies meet the same luck.
    #[inline]
    #[must_use]
    pub const fn draw(self, ordinal: u32) -> Draw {
        let ordinal = ordinal as u64;
        Draw { quantile: extend(self.quantile, ordinal), level: extend(extend(self.level, ordinal), 1) }
    }
}

/// Where a draw finds its list, and what is added to the value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slot {
    start: u32,
    len: u32,
    extra_ms: f64,
}

/// Duration lists of one stage with all fall-backs resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct DurationTable {
    /// Measured durations one list after the other, ms.
    values: Values,
    slots: Slots,
}

/// By level of parallelism and wave.
#[derive(Clone, Debug, PartialEq)]
enum Slots {
    /// Of a stage that was measured at one level: of logs there are so many that each byte counts.
    Same([Slot; 3]),
    /// Those of the levels, then those of the largest measured key.
    ByLevel(Box<[[Slot; 3]; LEVELS.len() + 1]>),
}

impl Slots {
    #[inline]
    fn at(&self, level: usize) -> &[Slot; 3] {
        match self {
            Self::Same(slots) => slots,
            Self::ByLevel(slots) => &slots[level],
        }
    }
}

impl DurationTable {
    /// A table from lists measured at several levels of parallelism (`(executors, lists)`, any order). `warmup_ms` is added
    /// where a fresh executor has to draw from the first wave for want of measurements. `None` if all lists are empty.
    ///
    /// The rules are those of the TPC-H sampler: a level that was not measured uses the largest measured one; `fresh`
    /// falls back to `first` plus the warm-up, `rest` to `first`, `first` to `fresh`, and all of them to what is left.
    #[must_use]
    pub fn new(mut measured: Vec<(u32, Waves)>, warmup_ms: f64) -> Option<Self> {
        measured.sort_by_key(|(executors, _)| *executors);
        let lists = measured.iter().map(|(executors, w)| (*executors, [&*w.fresh, &*w.first, &*w.rest]));
        Self::of_lists(lists, warmup_ms)
    }

    /// The same of lists by wave, at ascending levels of parallelism.
    pub(super) fn of_lists<'a>(measured: impl Iterator<Item = (u32, [&'a [f64]; 3])>, warmup_ms: f64) -> Option<Self> {
        let mut values = Vec::new();
        let mut resolved = Vec::with_capacity(LEVELS.len());
        for (executors, waves) in measured {
            let mut list = |list: &[f64]| {
                let start = values.len() as u32;
                values.extend_from_slice(list);
                // Sorted, one uniform number means the same quantile in every list: policies that meet the same luck in
                // different waves or at different parallelism then draw comparable durations.
                values[start as usize..].sort_by(f64::total_cmp);
                Slot { start, len: list.len() as u32, extra_ms: 0.0 }
            };
            let [fresh, first, rest] = waves.map(&mut list);
            let or = |a: Slot, b: Slot| if a.len > 0 { a } else { b };
            let warm_first = Slot { extra_ms: warmup_ms, ..first };
            let launch_first = or(or(first, fresh), rest);
            let row = [or(or(fresh, warm_first), rest), launch_first, or(rest, launch_first)];
            resolved.push((executors, row));
        }
        // Lists measured at other levels serve where the largest one is empty.
        let largest = resolved.iter().rev().map(|(_, row)| *row).find(|row| row[0].len > 0)?;
        let mut slots = [largest; LEVELS.len() + 1];
        for (slot, level) in slots.iter_mut().zip(LEVELS) {
            if let Some((_, row)) = resolved.iter().find(|(executors, row)| *executors == level && row[0].len > 0) {
                *slot = *row;
            }
        }
        let slots = match slots.iter().all(|row| *row == largest) {
            true => Slots::Same(largest),
            false => Slots::ByLevel(Box::new(slots)),
        };
        Some(Self { values: values.into(), slots })
    }

    /// A table that draws from the same list in every wave and at every parallelism.
    #[must_use]
    pub fn uniform(list: Vec<f64>, warmup_ms: f64) -> Option<Self> {
        Self::new(vec![(LEVELS[0], Waves { first: list.clone(), rest: list, ..Waves::default() })], warmup_ms)
    }

    /// The lists that it was made of, where it was measured at one level of parallelism; what stands in for a wave without measurements is
    /// left out, unless a warm-up is added to it.
    #[must_use]
    pub(super) fn waves(&self) -> Option<Waves> {
        let Slots::Same([fresh, first, rest]) = self.slots else { return None };
        let list = |slot: Slot| {
            (slot.start..slot.start + slot.len).map(|i| self.values.get(i) + slot.extra_ms).collect::<Vec<f64>>()
        };
        let own = |slot: Slot, other: Slot| if slot == other { Vec::new() } else { list(slot) };
        Some(Waves { fresh: own(fresh, first), first: list(first), rest: own(rest, first) })
    }

    /// The same table with every measured duration `factor` times as long; what is added for a warm-up stays.
    #[must_use]
    pub(super) fn scaled(&self, factor: f64) -> Self {
        let values = (0..self.values.len()).map(|i| factor * self.values.get(i)).collect::<Vec<_>>();
        Self { values: values.into(), slots: self.slots.clone() }
    }

    /// Duration of a task, ms.
    ///
    /// `job_executors` is the number of executors attached to the job, the launching one included, and `num_executors`
    /// the size of the cluster.
    #[inline]
    #[must_use]
    pub fn duration(&self, wave: Wave, job_executors: u32, num_executors: u32, draw: Draw) -> f64 {
        let slot = &self.slots.at(level_index(job_executors, num_executors, draw.level))[wave as usize];
        self.values.get(slot.start + scale(draw.quantile, slot.len)) + slot.extra_ms
    }

    /// The first of all values that is `sought`, what is added for a warm-up left out.
    pub(super) fn find(&self, sought: impl Fn(f64) -> bool) -> Option<f64> {
        (0..self.values.len()).map(|i| self.values.get(i)).find(|&value| sought(value))
    }

    /// Mean of all values, fall-backs not counted; the rough estimate before any task has run.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let n = self.values.len();
        (0..n).map(|i| self.values.get(i)).sum::<f64>() / f64::from(n)
    }
}

/// By number of executors: the first level that is not below it.
const UPPER: [u8; 101] = {
    let mut upper = [0; 101];
    let (mut n, mut level) = (0, 0);
    while n < upper.len() {
        if n > LEVELS[level] as usize {
            level += 1;
        }
        upper[n] = level as u8;
        n += 1;
    }
    upper
};

/// Row of the slot table for a job that holds `n` executors. Between two levels one of them is drawn, and the closer `n`
/// is to the upper one, the more likely is the *lower*: an oddity of the original sampler, kept for comparable results.
#[inline]
fn level_index(n: u32, num_executors: u32, bits: u64) -> usize {
    if num_executors > 100 && n == num_executors {
        // The original look-up table leaves its last row unset in such clusters, which means the largest key.
        return LEVELS.len();
    }
    let upper = usize::from(UPPER[n.min(LEVELS[LEVELS.len() - 1]) as usize]);
    if n >= LEVELS[upper] || upper == 0 {
        return upper;
    }
    let (left, right) = (LEVELS[upper - 1], LEVELS[upper]);
    let p = 1 + scale(bits, right - left);
    if p <= n - left { upper - 1 } else { upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(table: &DurationTable, wave: Wave, n: u32) -> f64 {
        table.duration(wave, n, 50, Luck::new(1).draw(0))
    }

    #[test]
    fn waves_fall_back_as_the_sampler_does() {
        let only = |fresh: &[f64], first: &[f64], rest: &[f64]| {
            let waves = Waves { fresh: fresh.to_vec(), first: first.to_vec(), rest: rest.to_vec() };
            DurationTable::new(vec![(5, waves)], 1000.0).unwrap()
        };
        let table = only(&[], &[7.0], &[]);
        assert_eq!(draw(&table, Wave::Fresh, 1), 1007.0);
        assert_eq!(draw(&table, Wave::First, 1), 7.0);
        assert_eq!(draw(&table, Wave::Rest, 1), 7.0);
        let table = only(&[9.0], &[], &[]);
        assert_eq!(draw(&table, Wave::First, 1), 9.0);
        assert_eq!(draw(&table, Wave::Rest, 1), 9.0);
        assert_eq!(DurationTable::new(vec![(5, Waves::default())], 0.0), None);
    }

    #[test]
    fn unmeasured_levels_use_the_largest_measured_one() {
        let at = |v: f64| Waves { first: vec![v], ..Waves::default() };
        let table = DurationTable::new(vec![(5, at(1.0)), (20, at(2.0)), (29, at(3.0))], 0.0).unwrap();
        assert_eq!(draw(&table, Wave::First, 5), 1.0);
        assert_eq!(draw(&table, Wave::First, 20), 2.0);
        assert_eq!(draw(&table, Wave::First, 10), 3.0);
        assert_eq!(draw(&table, Wave::First, 100), 3.0);
    }

    #[test]
    fn near_the_upper_level_the_lower_one_is_likelier() {
        let lower = |n: u32| {
            let draws = 20_000;
            let hits =
                (0..draws).filter(|&i| level_index(n, 50, Luck::new(u64::from(n)).draw(i).level) == 1).count() as f64;
            hits / f64::from(draws)
        };
        assert!((lower(18) - 0.8).abs() < 0.02);
        assert!((lower(11) - 0.1).abs() < 0.02);
        assert_eq!(level_index(3, 50, 1 << 63), 0);
        assert_eq!(level_index(40, 50, 1 << 63), 3);
        assert_eq!(level_index(120, 200, 1 << 63), LEVELS.len() - 1);
        assert_eq!(level_index(200, 200, 1 << 63), LEVELS.len());
    }
}
