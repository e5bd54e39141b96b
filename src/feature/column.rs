//! From base quantities to columns: ranks and ratios within a choice.

use crate::level::{FeatureSpec, Scope};

/// How a base quantity's ratio to the choice's minimum is formed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ratio {
    No,
    /// `(x+1)/(min+1)`
    Count,
    /// `x/max(min, 1 ms)`
    Time,
}

/// A base quantity of a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) meaning: &'static str,
    pub(super) scope: Scope,
    pub(super) rank: bool,
    pub(super) ratio: Ratio,
}

impl Base {
    const fn new(name: &'static str, unit: &'static str, scope: Scope, meaning: &'static str) -> Self {
        Self { name, unit, meaning, scope, rank: false, ratio: Ratio::No }
    }

    /// A quantity in its own unit.
    pub(super) const fn absolute(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self::new(name, unit, Scope::Absolute, meaning)
    }

    /// A share of a cluster total.
    pub(super) const fn share(name: &'static str, meaning: &'static str) -> Self {
        Self::new(name, "1", Scope::Share, meaning)
    }

    /// Adds the rank within the choice.
    pub(super) const fn ranked(mut self) -> Self {
        self.rank = true;
        self
    }

    /// Adds the ratio to the choice's minimum.
    pub(super) const fn with_ratio(mut self, ratio: Ratio) -> Self {
        self.ratio = ratio;
        self
    }
}

/// The columns of a level: every base quantity followed by its rank and ratio.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    base: &'static [Base],
    width: usize,
    /// Base values of the candidates added so far, row-major.
    values: Vec<f64>,
    order: Vec<u32>,
}

impl Columns {
    pub(super) fn new(base: &'static [Base]) -> Self {
        let width = base.iter().map(|b| 1 + usize::from(b.rank) + usize::from(b.ratio != Ratio::No)).sum();
        Self { base, width, values: Vec::new(), order: Vec::new() }
    }

    pub(super) fn specs(&self) -> Vec<FeatureSpec> {
        let mut specs = Vec::with_capacity(self.width);
        for b in self.base {
            let spec = |name: String, unit: &str, meaning: String, scope| FeatureSpec {
                name,
                unit: unit.to_owned(),
                meaning,
                scope,
                version: 1,
            };
            specs.push(spec(b.name.to_owned(), b.unit, b.meaning.to_owned(), b.scope));
            let lead = b.meaning.trim_end_matches('.');
            if b.rank {
                let meaning = format!("{lead}: place among the candidates, 0 is the smallest.");
                specs.push(spec(format!("{}_rank", b.name), "1", meaning, Scope::Rank));
            }
            if b.ratio != Ratio::No {
                let meaning = format!("{lead}: how many times the smallest among the candidates.");
                specs.push(spec(format!("{}_ratio", b.name), "1", meaning, Scope::Ratio));
            }
        }
        specs
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
    }

    /// Adds a candidate by its base values.
    pub(super) fn push<const N: usize>(&mut self, values: [f64; N]) {
        debug_assert_eq!(N, self.base.len());
        self.values.extend_from_slice(&values);
    }

    /// Appends the rows of all candidates to `out`, row-major, ranks and ratios included.
    pub(super) fn write(&mut self, out: &mut Vec<f32>) {
        let n = self.values.len() / self.base.len();
        let start = out.len();
        out.resize(start + n * self.width, 0.0);
        let rows = &mut out[start..];
        let mut column = 0;
        for (i, b) in self.base.iter().enumerate() {
            let value = |row: usize| self.values[row * self.base.len() + i];
            for row in 0..n {
                rows[row * self.width + column] = value(row) as f32;
            }
            column += 1;
            if b.rank {
                self.order.clear();
                self.order.extend(0..n as u32);
                // Ties share the lowest rank, so their order among themselves is of no interest.
                self.order.sort_unstable_by(|&a, &b| value(a as usize).total_cmp(&value(b as usize)));
                let mut rank = 0;
                for (place, &row) in self.order.iter().enumerate() {
                    if place > 0 && value(row as usize) > value(self.order[place - 1] as usize) {
                        rank = place;
                    }
                    rows[row as usize * self.width + column] = rank as f32;
                }
                column += 1;
            }
            if b.ratio != Ratio::No {
                let least = (0..n).map(value).fold(f64::INFINITY, f64::min);
                for row in 0..n {
                    rows[row * self.width + column] = match b.ratio {
                        Ratio::Time => value(row) / least.max(1.0),
                        _ => (value(row) + 1.0) / (least + 1.0),
                    } as f32;
                }
                column += 1;
            }
        }
    }

    /// Appends a row of zeros but for its first column, which is 1: the candidate that is no candidate.
    pub(super) fn write_flag_row(&self, out: &mut Vec<f32>) {
        let start = out.len();
        out.resize(start + self.width, 0.0);
        out[start] = 1.0;
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
}
