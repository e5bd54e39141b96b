//! From base quantities to columns: ranks and ratios within a choice.

use crate::level::{Control, FLAG, FeatureSpec, LevelSpec, Scope};

/// How a base quantity's ratio to the choice's minimum is formed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ratio {
    /// There is no such column.
    No,
    /// `(x+1)/(min+1)`
    Count,
    /// `x/max(min, 1 ms)`
    Time,
}

/// A base quantity of a level.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    scope: Scope,
    whole: bool,
    rank: bool,
    ratio: Ratio,
    control: Control,
}

impl Base {
    const fn new(name: &'static str, unit: &'static str, scope: Scope, meaning: &'static str) -> Self {
        Self { name, unit, meaning, scope, whole: false, rank: false, ratio: Ratio::No, control: Control::Measured }
    }

    /// A quantity in its own unit.
    pub const fn absolute(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new(name, unit, Scope::Absolute, meaning)
    }

    /// A number of something, or a place in an order: always whole.
    pub const fn count(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { whole: true, ..Self::absolute(name, unit, meaning) }
    }

    /// What is so (1) or not (0).
    pub const fn flag(name: &'static str, meaning: &'static str) -> Self {
        Self::count(name, FLAG, meaning)
    }

    /// A share of a cluster total.
    pub const fn share(name: &'static str, meaning: &'static str) -> Self {
        Self::new(name, "1", Scope::Share, meaning)
    }

    /// Marks what depends on how users describe their jobs; without a mark it is measured.
    pub const fn declared(mut self) -> Self {
        self.control = Control::Declared;
        self
    }

    /// Marks what follows from the scheduler's own decisions.
    pub const fn decided(mut self) -> Self {
        self.control = Control::Decided;
        self
    }

    /// Adds the rank within the choice.
    pub const fn ranked(mut self) -> Self {
        self.rank = true;
        self
    }

    /// Adds the ratio to the choice's minimum.
    pub const fn with_ratio(mut self, ratio: Ratio) -> Self {
        self.ratio = ratio;
        self
    }
}

/// The columns of a level: every base quantity followed by its rank and ratio.
#[derive(Clone, Debug)]
pub struct Columns {
    base: &'static [Base],
    width: usize,
    /// Which columns are wanted; the others stay 0.
    wanted: Vec<bool>,
    /// Base values of the candidates added so far, row-major.
    values: Vec<f64>,
    /// One base quantity of all candidates.
    column: Vec<f64>,
    order: Vec<u32>,
}

/// Up to so many candidates, counting the smaller ones for each is faster than sorting.
const FEW: usize = 32;

impl Columns {
    /// The columns of these base quantities, all of them wanted.
    #[must_use]
    pub fn new(base: &'static [Base]) -> Self {
        let width = base.iter().map(|b| 1 + usize::from(b.rank) + usize::from(b.ratio != Ratio::No)).sum();
        let wanted = vec![true; width];
        Self { base, width, wanted, values: Vec::new(), column: Vec::new(), order: Vec::new() }
    }

    /// Works out the wanted columns alone from now on.
    pub fn limit(&mut self, wanted: &[bool]) {
        debug_assert_eq!(wanted.len(), self.width);
        self.wanted.copy_from_slice(wanted);
    }

    /// Their descriptions, in order.
    #[must_use]
    pub fn specs(&self) -> Vec<FeatureSpec> {
        let mut specs = Vec::with_capacity(self.width);
        for b in self.base {
            let spec = |name: String, unit: &str, meaning: String, scope, whole| FeatureSpec {
                name,
                unit: unit.to_owned(),
                meaning,
                scope,
                version: 1,
                whole,
                control: b.control,
            };
            specs.push(spec(b.name.to_owned(), b.unit, b.meaning.to_owned(), b.scope, b.whole));
            let lead = b.meaning.trim_end_matches('.');
            if b.rank {
                let meaning = format!("{lead}: place among the candidates, 0 is the smallest.");
                specs.push(spec(format!("{}_rank", b.name), "1", meaning, Scope::Rank, true));
            }
            if b.ratio != Ratio::No {
                let meaning = format!("{lead}: how many times the smallest among the candidates.");
                specs.push(spec(format!("{}_ratio", b.name), "1", meaning, Scope::Ratio, false));
            }
        }
        specs
    }

    /// A level with these columns.
    #[must_use]
    pub fn level(&self, name: &str, question: &str, entities: &[&str]) -> LevelSpec {
        LevelSpec {
            name: name.to_owned(),
            question: question.to_owned(),
            entities: entities.iter().map(|&entity| entity.to_owned()).collect(),
            features: self.specs(),
        }
    }

    /// Forgets the candidates.
    #[inline]
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// Adds a candidate by its base values.
    #[inline]
    pub fn push<const N: usize>(&mut self, values: [f64; N]) {
        debug_assert_eq!(N, self.base.len());
        self.values.extend_from_slice(&values);
    }

    /// Appends the rows of all candidates to `out`, row-major, ranks and ratios included; columns that are not wanted are 0.
    pub fn write(&mut self, out: &mut Vec<f32>) {
        let n = self.values.len() / self.base.len();
        let start = out.len();
        out.resize(start + n * self.width, 0.0);
        let rows = &mut out[start..];
        let width = self.width;
        let mut place = 0;
        for (i, b) in self.base.iter().enumerate() {
            let columns = 1 + usize::from(b.rank) + usize::from(b.ratio != Ratio::No);
            if !self.wanted[place..place + columns].contains(&true) {
                place += columns;
                continue;
            }
            self.column.clear();
            self.column.extend((0..n).map(|row| self.values[row * self.base.len() + i]));
            let column = &self.column[..];
            for (row, &value) in column.iter().enumerate() {
                rows[row * width + place] = value as f32;
            }
            place += 1;
            if b.rank {
                match n {
                    _ if !self.wanted[place] => {}
                    // A single candidate has rank 0.
                    0 | 1 => {}
                    2..=FEW => {
                        for (row, &value) in column.iter().enumerate() {
                            let smaller: u64 = column.iter().map(|&other| u64::from(other < value)).sum();
                            rows[row * width + place] = smaller as f32;
                        }
                    }
                    _ => ranks(column, &mut self.order, |row, rank| rows[row * width + place] = rank as f32),
                }
                place += 1;
            }
            if b.ratio != Ratio::No {
                let least = column.iter().copied().fold(f64::INFINITY, f64::min);
                for (row, &value) in column.iter().enumerate() {
                    rows[row * width + place] = match b.ratio {
                        Ratio::Time => value / least.max(1.0),
                        _ => (value + 1.0) / (least + 1.0),
                    } as f32;
                }
                place += 1;
            }
        }
    }

    /// Appends a row of zeros but for its first column, which is 1: the candidate that is no candidate.
    pub fn write_flag_row(&self, out: &mut Vec<f32>) {
        let start = out.len();
        out.resize(start + self.width, 0.0);
        out[start] = 1.0;
    }
}

/// Calls `set` with the place and rank of every value: the number of smaller values, so that ties share the lowest.
fn ranks(values: &[f64], order: &mut Vec<u32>, mut set: impl FnMut(usize, usize)) {
    order.clear();
    order.extend(0..values.len() as u32);
    // Ties share a rank, so their order among themselves is of no interest.
    order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
    let mut rank = 0;
    for (place, &i) in order.iter().enumerate() {
        if place > 0 && values[i as usize] > values[order[place - 1] as usize] {
            rank = place;
        }
        set(i as usize, rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &[Base] = &[
        Base::absolute("tasks", "tasks", "Tasks.").ranked().with_ratio(Ratio::Count),
        Base::absolute("time", "ms", "Time.").with_ratio(Ratio::Time),
    ];

    #[test]
    fn ranks_share_the_lowest_place_and_ratios_start_at_one() {
        let mut columns = Columns::new(BASE);
        for (tasks, time) in [(4.0, 0.0), (1.0, 8.0), (4.0, 0.5), (0.0, 2.0)] {
            columns.push([tasks, time]);
        }
        let mut rows = Vec::new();
        columns.write(&mut rows);
        let column = |c: usize| rows.iter().copied().skip(c).step_by(5).collect::<Vec<f32>>();
        assert_eq!(column(1), [2.0, 1.0, 2.0, 0.0]);
        assert_eq!(column(2), [5.0, 2.0, 5.0, 1.0]);
        assert_eq!(column(4), [0.0, 8.0, 0.5, 2.0]);
        let names: Vec<String> = columns.specs().into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["tasks", "tasks_rank", "tasks_ratio", "time", "time_ratio"]);
    }

    #[test]
    fn wanted_columns_are_the_same_alone() {
        let rows = |wanted: Option<[bool; 5]>| {
            let mut columns = Columns::new(BASE);
            if let Some(wanted) = wanted {
                columns.limit(&wanted);
            }
            [(4.0, 0.0), (1.0, 8.0), (4.0, 0.5)].into_iter().for_each(|(tasks, time)| columns.push([tasks, time]));
            let mut rows = Vec::new();
            columns.write(&mut rows);
            rows
        };
        let all = rows(None);
        for bits in 0..32_u32 {
            let wanted: [bool; 5] = std::array::from_fn(|column| bits >> column & 1 == 1);
            let some = rows(Some(wanted));
            assert_eq!(some.len(), all.len());
            for (i, (some, all)) in some.iter().zip(&all).enumerate() {
                assert!(!wanted[i % 5] || some == all, "column {} of {wanted:?}", i % 5);
            }
        }
    }

    #[test]
    fn counting_and_sorting_give_the_same_ranks() {
        let mut stream = crate::rng::Stream::new(1, "ranks");
        for n in [2, 7, FEW, FEW + 1, 100] {
            let values: Vec<f64> = (0..n).map(|_| stream.below(n) as f64 / 4.0).collect();
            let mut columns = Columns::new(BASE);
            values.iter().for_each(|&v| columns.push([v, 0.0]));
            let mut rows = Vec::new();
            columns.write(&mut rows);
            let written: Vec<usize> = rows.iter().skip(1).step_by(5).map(|&r| r as usize).collect();
            let mut sorted = vec![0; n];
            ranks(&values, &mut Vec::new(), |i, rank| sorted[i] = rank);
            assert_eq!(written, sorted);
            assert!(values.iter().zip(&sorted).all(|(v, &r)| values.iter().filter(|o| *o < v).count() == r));
        }
    }
}
