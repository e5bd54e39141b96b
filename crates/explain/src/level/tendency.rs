//! Which way the families of features count: in the student's model by their shares, and in the teacher's choices with the other
//! important families held.

use super::{Case, Sampled, digits};
use crate::{
    Direction, Tendency, Weight,
    direction::{Spread, direction},
};
use rayon::prelude::*;
use sched_distill_core::level::Values;
use sched_distill_judge::evaluator::{Estimate, bootstrap};
use sched_distill_learn::cholesky;

/// Families of a kind whose relation with the teacher's choices is measured, each with the others held.
const HELD: usize = 6;
/// Log-probabilities count down to so much below the best one: how far a candidate is out of the question says little.
const FLOOR: f64 = 8.0;
/// Choices of one candidate that are held against each other.
const CHOICES: usize = 16;

/// Fills in the tendencies of families.
pub(super) fn add(sampled: &Sampled<'_>, families: &mut [Weight], seed: u64) {
    let spec = &sampled.sample.table.spec;
    let column = |name: &String| spec.features.iter().position(|f| f.name == *name);
    let columns: Vec<Vec<usize>> = families.iter().map(|f| f.features.iter().filter_map(column).collect()).collect();
    for (kind, name) in sampled.kinds() {
        let cases: Vec<&Case<'_>> =
            sampled.cases.iter().filter(|c| kind.is_none_or(|k| k == c.choice.header.kind)).collect();
        let rows = Rows::new(&cases, sampled.values);
        let found: Vec<Option<(Direction, f64)>> =
            columns.par_iter().map(|family| rows.direction(&cases, family)).collect();
        let share = |f: &Weight| f.by_kind.iter().find(|k| k.kind == name).map_or(0.0, |k| k.share);
        let mut important: Vec<usize> =
            (0..families.len()).filter(|&f| found[f].is_some_and(|(d, _)| d != Direction::Common)).collect();
        important.retain(|&f| rows.left_out.is_none_or(|flag| columns[f][0] != flag));
        important.sort_by(|&a, &b| share(&families[b]).total_cmp(&share(&families[a])));
        important.truncate(HELD);
        let bases: Vec<usize> = important.iter().map(|&f| columns[f][0]).collect();
        let teacher = rows.teacher(&cases, &bases, seed);
        for (f, (family, student)) in families.iter_mut().zip(&found).enumerate() {
            if let (Some(of_kind), Some((student, one_way))) =
                (family.by_kind.iter_mut().find(|k| k.kind == name), student)
            {
                let place = important.iter().position(|&i| i == f);
                let teacher = place.and_then(|p| teacher.get(p).copied().flatten());
                of_kind.tendency = Some(Tendency { student: *student, one_way: digits(*one_way), teacher });
            }
        }
    }
}

/// Which candidates are compared.
struct Rows<'a> {
    values: &'a Values,
    /// The flag of giving nothing, if such candidates are left out: their other features are 0 and say nothing. Where nothing
    /// but one candidate would be left, they stay.
    left_out: Option<usize>,
}

impl<'a> Rows<'a> {
    fn new(cases: &[&Case<'_>], values: &'a Values) -> Self {
        let left_out = values.none().filter(|&flag| {
            cases.iter().any(|c| (0..c.choice.len()).filter(|&i| c.choice.row(i)[flag] != 1.0).count() > 1)
        });
        Self { values, left_out }
    }

    /// The candidates of a choice in which a column counts.
    fn of(&self, case: &Case<'_>, column: usize) -> Vec<usize> {
        let counts = |&i: &usize| {
            let row = case.choice.row(i);
            // Where nothing but one candidate would be left, the one that gives nothing is held against it.
            let stays = self.left_out.is_none() && self.values.is_none(row);
            !row[column].is_nan() && (stays || self.values.has(row, column))
        };
        (0..case.choice.len()).filter(counts).collect()
    }

    /// Whether the one other candidate is to give nothing, which has no values: then choices are compared, by how much rather one takes
    /// the candidate than nothing.
    fn is_bare(&self) -> bool {
        self.values.none().is_some() && self.left_out.is_none()
    }

    /// The candidate of a choice and the one that gives nothing, of a choice of these two.
    fn pair(&self, case: &Case<'_>) -> Option<[usize; 2]> {
        let choice = &case.choice;
        let none = (0..choice.len()).find(|&i| self.values.is_none(choice.row(i)))?;
        (0..choice.len()).find(|&i| i != none).map(|real| [real, none])
    }

    /// Which way a family counts. Where choices are compared there is a sign and no place of a bend.
    fn direction(&self, cases: &[&Case<'_>], family: &[usize]) -> Option<(Direction, f64)> {
        let (found, one_way) = direction(&self.spreads(cases, family))?;
        let plain = match found.sign() {
            _ if matches!(found, Direction::MostlyUp | Direction::MostlyDown) => found,
            s if s > 0.0 => Direction::Up,
            s if s < 0.0 => Direction::Down,
            _ => found,
        };
        Some((if self.is_bare() { plain } else { found }, one_way))
    }

    /// Values of a family's quantity with the shares of all its columns.
    fn spreads(&self, cases: &[&Case<'_>], family: &[usize]) -> Vec<Spread> {
        let is_flag = self.values.none() == Some(family[0]);
        if self.is_bare() && !is_flag && !self.is_shared(cases, family[0]) {
            return self.spreads_of_choices(cases, family);
        }
        let of_case = |case: &&Case<'_>| {
            let rows = self.of(case, family[0]);
            let point = |&i: &usize| {
                let shares = &case.shares[i * case.choice.width..];
                (f64::from(case.choice.row(i)[family[0]]), family.iter().map(|&c| shares[c]).sum::<f64>())
            };
            (rows.len() > 1).then(|| Spread { weight: case.weight, points: rows.iter().map(point).collect() })
        };
        cases.iter().filter_map(of_case).collect()
    }

    /// Whether candidates and the one that gives nothing have a column in common.
    fn is_shared(&self, cases: &[&Case<'_>], column: usize) -> bool {
        let same = |c: &&Case<'_>| (1..c.choice.len()).all(|i| c.choice.row(i)[column] == c.choice.row(0)[column]);
        cases.iter().all(same)
    }

    /// Values of a family's quantity with how much more its columns speak for the candidate than for nothing, some choices together.
    fn spreads_of_choices(&self, cases: &[&Case<'_>], family: &[usize]) -> Vec<Spread> {
        let point = |case: &&Case<'_>| {
            let [real, none] = self.pair(case)?;
            let row = case.choice.row(real);
            let share = |i: usize| family.iter().map(|&c| case.shares[i * case.choice.width + c]).sum::<f64>();
            self.values
                .has(row, family[0])
                .then(|| (case.weight, (f64::from(row[family[0]]), share(real) - share(none))))
        };
        let points: Vec<(f64, (f64, f64))> = cases.iter().filter_map(point).collect();
        let together = |some: &[(f64, (f64, f64))]| Spread {
            weight: some.iter().map(|p| p.0).sum(),
            points: some.iter().map(|p| p.1).collect(),
        };
        points.chunks(CHOICES).filter(|some| some.len() > 1).map(together).collect()
    }

    /// Coefficients of the teacher's log-probabilities on the places of candidates in the order of each column, from 0 to 1, all
    /// less their mean in the choice; where probabilities are not known, of what was taken. `None` for a column that is a
    /// combination of those before it.
    fn teacher(&self, cases: &[&Case<'_>], columns: &[usize], seed: u64) -> Vec<Option<Estimate>> {
        let k = columns.len();
        if k == 0 {
            return Vec::new();
        }
        let mut episodes: Vec<(u32, Sums)> = Vec::new();
        let places = if self.is_bare() { self.places(cases, columns) } else { Vec::new() };
        for (i, case) in cases.iter().enumerate() {
            let episode = case.choice.header.episode;
            if episodes.last().is_none_or(|e| e.0 != episode) {
                episodes.push((episode, Sums::new(k)));
            }
            match (episodes.last_mut(), places.get(i)) {
                (Some((_, sums)), Some(Some((weight, x, y)))) => sums.add_row(*weight, x, *y),
                (Some((_, sums)), None) => self.add_case(case, columns, sums),
                _ => {}
            }
        }
        let solved = |counts: &[u32]| {
            let mut all = Sums::new(k);
            episodes.iter().zip(counts).for_each(|((_, sums), &count)| all.add(sums, f64::from(count)));
            all.solve(k)
        };
        match solved(&vec![1; episodes.len()]) {
            Ok(_) => {
                let coefficient = |place: usize| {
                    let of = |counts: &[u32]| solved(counts).map_or(f64::NAN, |found| found[place]);
                    Some(bootstrap(episodes.len(), seed, of))
                };
                (0..k).into_par_iter().map(coefficient).collect()
            }
            Err(combined) => {
                let mut rest = columns.to_vec();
                rest.remove(combined);
                let mut found = self.teacher(cases, &rest, seed);
                found.insert(combined, None);
                found
            }
        }
    }

    /// Of each choice of a candidate and nothing: its weight, the place of the candidate among those of all choices by each column, from 0
    /// to 1, and by how much more the teacher finds it probable than nothing, both less their means. `None` of other choices.
    fn places(&self, cases: &[&Case<'_>], columns: &[usize]) -> Vec<Option<(f64, Vec<f64>, f64)>> {
        let pairs: Vec<Option<[usize; 2]>> = cases.iter().map(|case| self.pair(case)).collect();
        let of = |column: usize| -> Vec<Option<f32>> {
            cases.iter().zip(&pairs).map(|(case, pair)| pair.map(|[real, _]| case.choice.row(real)[column])).collect()
        };
        let place = |&column: &usize| -> Vec<f64> {
            let values = of(column);
            let mut sorted: Vec<f32> = values.iter().flatten().copied().collect();
            sorted.sort_unstable_by(f32::total_cmp);
            let place = |value: f32| {
                let [below, up_to] = [sorted.partition_point(|&v| v < value), sorted.partition_point(|&v| v <= value)];
                (below + up_to) as f64 / (2 * sorted.len()) as f64
            };
            values.into_iter().map(|value| value.map_or(0.0, place)).collect()
        };
        let rather = |(case, pair): (&&Case<'_>, &Option<[usize; 2]>)| {
            let Some([real, none]) = *pair else { return 0.0 };
            let log_prob = |i: usize| f64::from(case.choice.log_prob[i]);
            match case.choice.has_probabilities() {
                true => (log_prob(real) - log_prob(none)).clamp(-FLOOR, FLOOR),
                false => f64::from(u8::from(real == case.target)),
            }
        };
        let weights: Vec<f64> =
            cases.iter().zip(&pairs).map(|(c, pair)| if pair.is_some() { c.weight } else { 0.0 }).collect();
        let total: f64 = weights.iter().sum();
        let centred = |mut values: Vec<f64>| {
            let mean = values.iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>() / total;
            values.iter_mut().for_each(|v| *v -= mean);
            values
        };
        let x: Vec<Vec<f64>> = columns.iter().map(place).map(centred).collect();
        let y = centred(cases.iter().zip(&pairs).map(rather).collect());
        let row = |i: usize| pairs[i].map(|_| (weights[i], x.iter().map(|x| x[i]).collect(), y[i]));
        (0..cases.len()).map(row).collect()
    }

    fn add_case(&self, case: &Case<'_>, columns: &[usize], sums: &mut Sums) {
        let choice = &case.choice;
        let rows = match self.left_out {
            Some(flag) => self.of(case, columns.iter().copied().find(|&c| c != flag).unwrap_or(flag)),
            None => (0..choice.len()).collect(),
        };
        if rows.len() < 2 {
            return;
        }
        let n = rows.len() as f64;
        let log_prob = |i: usize| f64::from(choice.log_prob[i]);
        let best = rows.iter().map(|&i| log_prob(i)).fold(f64::NEG_INFINITY, f64::max);
        let target = |&i: &usize| match choice.has_probabilities() && best.is_finite() {
            true => (log_prob(i) - best).max(-FLOOR),
            false => f64::from(u8::from(i == case.target)),
        };
        let centred = |mut values: Vec<f64>| {
            let mean = values.iter().sum::<f64>() / n;
            values.iter_mut().for_each(|v| *v -= mean);
            values
        };
        let place = |&column: &usize| {
            let mut sorted: Vec<f32> = rows.iter().map(|&i| choice.row(i)[column]).collect();
            sorted.sort_unstable_by(f32::total_cmp);
            let of = |&i: &usize| {
                let value = choice.row(i)[column];
                let [below, up_to] = [sorted.partition_point(|&v| v < value), sorted.partition_point(|&v| v <= value)];
                (below + up_to) as f64 / (2.0 * n)
            };
            centred(rows.iter().map(of).collect())
        };
        let (y, x) = (centred(rows.iter().map(target).collect()), columns.iter().map(place).collect::<Vec<_>>());
        let (k, weight) = (columns.len(), case.weight / n);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() * weight;
        for i in 0..k {
            sums.right[i] += dot(&x[i], &y);
            (0..=i).for_each(|j| sums.gram[i * k + j] += dot(&x[i], &x[j]));
        }
    }
}

/// Sums of a regression.
struct Sums {
    gram: Vec<f64>,
    right: Vec<f64>,
}

impl Sums {
    fn new(k: usize) -> Self {
        Self { gram: vec![0.0; k * k], right: vec![0.0; k] }
    }

    fn add_row(&mut self, weight: f64, x: &[f64], y: f64) {
        for i in 0..x.len() {
            self.right[i] += weight * x[i] * y;
            (0..=i).for_each(|j| self.gram[i * x.len() + j] += weight * x[i] * x[j]);
        }
    }

    fn add(&mut self, other: &Self, times: f64) {
        self.gram.iter_mut().zip(&other.gram).for_each(|(sum, v)| *sum += times * v);
        self.right.iter_mut().zip(&other.right).for_each(|(sum, v)| *sum += times * v);
    }

    /// The coefficients; `Err` names the first column that is a combination of those before it.
    fn solve(self, k: usize) -> Result<Vec<f64>, usize> {
        let factor = cholesky::factor(self.gram, k, 1e-6)?;
        Ok(cholesky::solve(&factor, &self.right))
    }
}
