//! Which way the families of features count: in the student's model by their shares, and in the teacher's choices with the other
//! important families held.

use super::{Case, Sampled, digits};
use crate::{
    Direction, Tendency, Weight,
    direction::{Spread, direction},
};
use rayon::prelude::*;
use sched_distill_core::level::NONE_FLAG;
use sched_distill_judge::evaluator::{Estimate, bootstrap};
use sched_distill_learn::cholesky;

/// Families of a kind whose relation with the teacher's choices is measured, each with the others held.
const HELD: usize = 6;
/// Log-probabilities count down to so much below the best one: how far a candidate is out of the question says little.
const FLOOR: f64 = 8.0;

/// Fills in the tendencies of families.
pub(super) fn add(sampled: &Sampled<'_>, families: &mut [Weight], seed: u64) {
    let spec = &sampled.sample.table.spec;
    let column = |name: &String| spec.features.iter().position(|f| f.name == *name);
    let columns: Vec<Vec<usize>> = families.iter().map(|f| f.features.iter().filter_map(column).collect()).collect();
    let none = spec.features.iter().position(|f| f.name == NONE_FLAG);
    for (kind, name) in sampled.kinds() {
        let cases: Vec<&Case<'_>> =
            sampled.cases.iter().filter(|c| kind.is_none_or(|k| k == c.choice.header.kind)).collect();
        let rows = Rows::new(&cases, none);
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
struct Rows {
    /// The flag of giving nothing, if there is one.
    none: Option<usize>,
    /// The flag of giving nothing, if such candidates are left out: their other features are 0 and say nothing. Where nothing
    /// but one candidate would be left, they stay.
    left_out: Option<usize>,
}

impl Rows {
    fn new(cases: &[&Case<'_>], none: Option<usize>) -> Self {
        let left_out = none.filter(|&flag| {
            cases.iter().any(|c| (0..c.choice.len()).filter(|&i| c.choice.row(i)[flag] != 1.0).count() > 1)
        });
        Self { none, left_out }
    }

    /// The candidates of a choice in which a column counts.
    fn of(&self, case: &Case<'_>, column: usize) -> Vec<usize> {
        let counts = |&i: &usize| {
            let row = case.choice.row(i);
            !row[column].is_nan() && self.left_out.is_none_or(|flag| flag == column || row[flag] != 1.0)
        };
        (0..case.choice.len()).filter(counts).collect()
    }

    /// Which way a family counts. Where the one other candidate is to give nothing, whose values are 0 by definition, there is a
    /// sign and no place of a bend.
    fn direction(&self, cases: &[&Case<'_>], family: &[usize]) -> Option<(Direction, f64)> {
        let (found, one_way) = direction(&self.spreads(cases, family))?;
        let is_bare = self.none.is_some() && self.left_out.is_none();
        let plain = match found.sign() {
            s if s > 0.0 => Direction::Up,
            s if s < 0.0 => Direction::Down,
            _ => found,
        };
        Some((if is_bare { plain } else { found }, one_way))
    }

    /// Values of a family's quantity with the shares of all its columns.
    fn spreads(&self, cases: &[&Case<'_>], family: &[usize]) -> Vec<Spread> {
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

    /// Coefficients of the teacher's log-probabilities on the places of candidates in the order of each column, from 0 to 1, all
    /// less their mean in the choice; where probabilities are not known, of what was taken. `None` for a column that is a
    /// combination of those before it.
    fn teacher(&self, cases: &[&Case<'_>], columns: &[usize], seed: u64) -> Vec<Option<Estimate>> {
        let k = columns.len();
        if k == 0 {
            return Vec::new();
        }
        let mut episodes: Vec<(u32, Sums)> = Vec::new();
        for case in cases {
            let episode = case.choice.header.episode;
            if episodes.last().is_none_or(|e| e.0 != episode) {
                episodes.push((episode, Sums::new(k)));
            }
            if let Some((_, sums)) = episodes.last_mut() {
                self.add_case(case, columns, sums);
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
