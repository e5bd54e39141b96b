//! From base quantities to columns: ranks and ratios within a choice.

use crate::level::{Control, FLAG, FeatureSpec, LevelSpec, RatioKind, Scope};

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

    /// How many columns are made of it.
    const fn columns(&self) -> usize {
        1 + self.rank as usize + !matches!(self.ratio, Ratio::No) as usize
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

/// From so many on it pays to look first whether they are in order already.
const SEVERAL: usize = 6;

impl Columns {
    /// The columns of these base quantities, all of them wanted.
    #[must_use]
    pub fn new(base: &'static [Base]) -> Self {
        let fits = |b: &Base| match b.ratio {
            Ratio::No => true,
            Ratio::Count => RatioKind::of_unit(b.unit) == RatioKind::Count,
            Ratio::Time => RatioKind::of_unit(b.unit) == RatioKind::Time,
        };
        debug_assert!(base.iter().all(fits), "the ratio of a time, and of no other quantity, is that of times");
        let width = base.iter().map(Base::columns).sum();
        let wanted = vec![true; width];
        Self { base, width, wanted, values: Vec::new(), column: Vec::new(), order: Vec::new() }
    }

    /// Works out the wanted columns alone from now on.
    pub fn limit(&mut self, wanted: &[bool]) {
        debug_assert_eq!(wanted.len(), self.width);
        self.wanted.copy_from_slice(wanted);
    }

    /// Their descriptions, in order; those of ranks and ratios are yet without words, which are the level's.
    fn specs(&self) -> Vec<FeatureSpec> {
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
            if b.rank {
                specs.push(spec(format!("{}_rank", b.name), "1", String::new(), Scope::Rank, true));
            }
            if b.ratio != Ratio::No {
                specs.push(spec(format!("{}_ratio", b.name), "1", String::new(), Scope::Ratio, false));
            }
        }
        specs
    }

    /// A level with these columns.
    #[must_use]
    pub fn level(&self, name: &str, question: &str, entities: &[&str]) -> LevelSpec {
        let mut level = LevelSpec {
            name: name.to_owned(),
            question: question.to_owned(),
            candidates: String::new(),
            entities: entities.iter().map(|&entity| entity.to_owned()).collect(),
            features: self.specs(),
        };
        for column in 0..level.features.len() {
            level.features[column].meaning = level.meaning(column);
        }
        level
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
        let (values, count) = (std::mem::take(&mut self.values), self.base.len());
        let mut rows = self.empty_rows(values.len() / count, out);
        (0..count).for_each(|base| rows.each(values.chunks_exact(count), |row| row[base]));
        self.values = values;
    }

    /// Appends rows of so many candidates to `out`, row-major, to be filled one base quantity after the other in their order: what is
    /// not wanted is not worked out, and stays 0. With `has_none` there is one more, the last, of the candidate that is no candidate,
    /// which has what all share. The first base quantity, its flag, is there already.
    pub fn rows<'a>(&'a mut self, candidates: usize, has_none: bool, out: &'a mut Vec<f32>) -> Rows<'a> {
        let mut rows = self.empty_rows(candidates + usize::from(has_none), out);
        rows.candidates = candidates;
        rows.advance();
        if has_none {
            rows.rows[candidates * rows.width] = 1.0;
        }
        rows
    }

    fn empty_rows<'a>(&'a mut self, count: usize, out: &'a mut Vec<f32>) -> Rows<'a> {
        let start = out.len();
        out.resize(start + count * self.width, 0.0);
        Rows {
            base: self.base,
            wanted: &self.wanted,
            width: self.width,
            rows: &mut out[start..],
            count,
            candidates: count,
            next: 0,
            place: 0,
            column: &mut self.column,
            order: &mut self.order,
        }
    }

    /// Appends a row of zeros but for its first column, which is 1: the candidate that is no candidate.
    pub fn write_flag_row(&self, out: &mut Vec<f32>) {
        let start = out.len();
        out.resize(start + self.width, 0.0);
        out[start] = 1.0;
    }
}

/// Rows of candidates that are being filled, see [`Columns::rows`].
pub struct Rows<'a> {
    base: &'static [Base],
    wanted: &'a [bool],
    width: usize,
    rows: &'a mut [f32],
    /// How many there are, and how many of them are of candidates.
    count: usize,
    candidates: usize,
    /// The next base quantity, and its first column.
    next: usize,
    place: usize,
    column: &'a mut Vec<f64>,
    order: &'a mut Vec<u32>,
}

impl Rows<'_> {
    /// Fills in the next base quantity: what `value` says of each candidate.
    #[inline]
    pub fn each<T>(&mut self, candidates: impl IntoIterator<Item = T>, value: impl Fn(T) -> f64) {
        let (base, place) = self.advance();
        if self.wanted[place..self.place].contains(&true) {
            self.column.clear();
            self.column.extend(candidates.into_iter().map(value));
            debug_assert_eq!(self.column.len(), self.candidates);
            self.fill(base, place);
        }
    }

    /// Fills in the next base quantity, which all candidates share, and the one that is none with them. It has no rank or ratio.
    #[inline]
    pub fn all(&mut self, value: impl FnOnce() -> f64) {
        let (base, place) = self.advance();
        debug_assert_eq!(base.columns(), 1);
        if self.wanted[place] {
            let value = value() as f32;
            (0..self.count).for_each(|row| self.rows[row * self.width + place] = value);
        }
    }

    /// Goes on to the base quantity after the next one, which is returned with its first column.
    #[inline]
    fn advance(&mut self) -> (&'static Base, usize) {
        let (base, place) = (&self.base[self.next], self.place);
        self.next += 1;
        self.place += base.columns();
        (base, place)
    }

    /// Fills in the columns of a base quantity, the first at `place`.
    fn fill(&mut self, base: &Base, mut place: usize) {
        let column = &self.column[..];
        let mut set = |place: usize, row: usize, value: f32| self.rows[row * self.width + place] = value;
        if self.wanted[place] {
            column.iter().enumerate().for_each(|(row, &value)| set(place, row, value as f32));
        }
        place += 1;
        if base.rank {
            // A single candidate has rank 0.
            if self.wanted[place] && column.len() > 1 {
                ranks(column, self.order, |row, rank| set(place, row, rank as f32));
            }
            place += 1;
        }
        if base.ratio != Ratio::No && self.wanted[place] {
            let least = column.iter().copied().fold(f64::INFINITY, f64::min);
            let ratio = |value: f64| match base.ratio {
                Ratio::Time => value / least.max(1.0),
                _ => (value + 1.0) / (least + 1.0),
            };
            column.iter().enumerate().for_each(|(row, &value)| set(place, row, ratio(value) as f32));
        }
    }
}

/// Calls `set` with the place and rank of every value: the number of smaller values, so that ties share the lowest.
fn ranks(values: &[f64], order: &mut Vec<u32>, mut set: impl FnMut(usize, usize)) {
    let count = values.len();
    if count >= SEVERAL && values.is_sorted() {
        ranks_along(values, 0..count, set);
    } else if count >= SEVERAL && values.is_sorted_by(|a, b| a >= b) {
        ranks_along(values, (0..count).rev(), set);
    } else if count <= FEW {
        // Several side by side, each compared with all.
        for (first, some) in (0..).step_by(8).zip(values.chunks(8)) {
            let (mut of, mut smaller) = ([f64::NAN; 8], [0_i64; 8]);
            of[..some.len()].copy_from_slice(some);
            for &other in values {
                smaller.iter_mut().zip(of).for_each(|(smaller, value)| *smaller += i64::from(other < value));
            }
            (first..).zip(&smaller[..some.len()]).for_each(|(row, &smaller)| set(row, smaller as usize));
        }
    } else {
        order.clear();
        order.extend(0..count as u32);
        // Ties share a rank, so their order among themselves is of no interest.
        order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
        ranks_along(values, order.iter().map(|&place| place as usize), set);
    }
}

/// The same where their ascending order is known.
fn ranks_along(values: &[f64], order: impl Iterator<Item = usize>, mut set: impl FnMut(usize, usize)) {
    let (mut rank, mut last) = (0, f64::NEG_INFINITY);
    for (place, i) in order.enumerate() {
        if values[i] > last {
            (rank, last) = (place, values[i]);
        }
        set(i, rank);
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
    fn rows_filled_column_by_column_are_those_of_values_that_were_pushed() {
        const WITH_NONE: &[Base] = &[
            Base::flag("is_none", "None."),
            Base::count("tasks", "tasks", "Tasks.").ranked().with_ratio(Ratio::Count),
            Base::absolute("time", "ms", "Time.").ranked(),
            Base::count("all", "tasks", "All."),
        ];
        let candidates = [(4.0, 0.0), (1.0, 8.0), (4.0, 0.5), (0.0, 2.0)];
        let mut columns = Columns::new(WITH_NONE);
        let (mut pushed, mut filled) = (vec![7.0], vec![7.0]);
        candidates.into_iter().for_each(|(tasks, time)| columns.push([0.0, tasks, time, 9.0]));
        columns.write(&mut pushed);
        for has_none in [false, true] {
            filled.truncate(1);
            let mut rows = columns.rows(candidates.len(), has_none, &mut filled);
            rows.each(candidates, |(tasks, _)| tasks);
            rows.each(candidates, |(_, time)| time);
            rows.all(|| 9.0);
            let none: &[f32] = if has_none { &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0] } else { &[] };
            assert_eq!(filled, [&pushed, none].concat());
        }
        columns.limit(&[false, false, false, true, false, true, false]);
        filled.clear();
        let mut rows = columns.rows(candidates.len(), false, &mut filled);
        rows.each(candidates, |(tasks, _)| tasks);
        rows.each(candidates, |(_, time)| time);
        rows.all(|| unreachable!("it is not wanted"));
        let wanted = |rows: &[f32]| rows.chunks(7).flat_map(|row| [row[3], row[5]]).collect::<Vec<f32>>();
        assert_eq!(wanted(&filled), wanted(&pushed[1..]));
        assert!(filled.chunks(7).all(|row| [0, 1, 2, 4, 6].iter().all(|&column| row[column] == 0.0)));
    }

    #[test]
    fn values_in_order_have_the_same_ranks() {
        let orders: [&[f64]; 4] = [
            &[0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 9.0],
            &[9.0, 9.0, 3.0, 1.0, 1.0, 0.5, -2.0],
            &[5.0; 8],
            &[0.0, -0.0, 0.0, -0.0, -1.0, -1.0, -3.0],
        ];
        for values in orders {
            let mut found = vec![usize::MAX; values.len()];
            ranks(values, &mut Vec::new(), |i, rank| found[i] = rank);
            assert!(
                values.iter().zip(&found).all(|(v, &r)| values.iter().filter(|o| *o < v).count() == r),
                "{found:?}"
            );
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
            let (mut sorted, mut order) = (vec![0; n], Vec::from_iter(0..n));
            order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
            ranks_along(&values, order.into_iter(), |i, rank| sorted[i] = rank);
            assert_eq!(written, sorted);
            assert!(values.iter().zip(&sorted).all(|(v, &r)| values.iter().filter(|o| *o < v).count() == r));
        }
    }
}
