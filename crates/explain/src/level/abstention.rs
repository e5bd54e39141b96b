//! When is nobody taken? How often a scheduler gives nothing, and what tells such choices best from the others.

use super::{Case, Sampled};
use crate::{Abstention, AbstentionTest};
use rayon::prelude::*;
use sched_distill_core::level::Scope;
use sched_distill_judge::evaluator::{Estimate, bootstrap};

/// Least share of the weight on either side of a test.
const LEAST_SHARE: f64 = 0.02;
/// By how much shares must differ on the two sides, beyond doubt, for the test to tell something.
const TELLS: f64 = 0.2;
/// Choices of either sort that are needed.
const LEAST_CHOICES: usize = 10;

/// Kinds of choice in which giving nothing is one of the candidates.
pub(super) fn abstentions(sampled: &Sampled<'_>, seed: u64) -> Vec<Abstention> {
    if sampled.values.none().is_none() {
        return Vec::new();
    }
    let kinds = sampled.kinds().filter_map(|(kind, name)| Some((kind?, name)));
    kinds.filter_map(|(kind, name)| of_kind(sampled, kind, name, seed)).collect()
}

fn of_kind(sampled: &Sampled<'_>, kind: u8, name: &str, seed: u64) -> Option<Abstention> {
    let values = sampled.values;
    let may = |c: &&Case<'_>| {
        c.choice.header.kind == kind
            && c.choice.len() > 1
            && (0..c.choice.len()).any(|i| values.is_none(c.choice.row(i)))
    };
    let cases: Vec<&Case<'_>> = sampled.cases.iter().filter(may).collect();
    let gives_nothing = |c: &Case<'_>, taken: usize| values.is_none(c.choice.row(taken));
    let total: f64 = cases.iter().map(|c| c.weight).sum();
    let share = |of: &dyn Fn(&Case<'_>) -> usize| {
        cases.iter().filter(|c| gives_nothing(c, of(c))).map(|c| c.weight).sum::<f64>() / total
    };
    (!cases.is_empty()).then(|| Abstention {
        kind: name.to_owned(),
        choices: cases.len(),
        teacher: share(&|c| c.target),
        student: share(&|c| c.taken),
        test: test(sampled, &cases, seed),
    })
}

/// What a choice is asked: whether some candidate has more of a quantity than this, or less.
#[derive(Clone, Copy)]
struct Asked {
    column: usize,
    above: bool,
}

impl Asked {
    /// The most, or the least, that a candidate of the choice has; what no candidate has is beyond every threshold.
    fn of(self, sampled: &Sampled<'_>, case: &Case<'_>) -> f32 {
        let has = |&i: &usize| sampled.values.has(case.choice.row(i), self.column);
        let values = (0..case.choice.len()).filter(has).map(|i| case.choice.row(i)[self.column]);
        match self.above {
            true => values.fold(f32::NEG_INFINITY, f32::max),
            false => values.fold(f32::INFINITY, f32::min),
        }
    }
}

/// Finds the question whose answer tells best on every other episode, and measures it on the others.
fn test(sampled: &Sampled<'_>, cases: &[&Case<'_>], seed: u64) -> Option<AbstentionTest> {
    let mut episodes: Vec<u32> = cases.iter().map(|c| c.choice.header.episode).collect();
    episodes.dedup();
    let place = |c: &Case<'_>| episodes.binary_search(&c.choice.header.episode).unwrap_or(0);
    let nothing = |c: &Case<'_>| sampled.values.is_none(c.choice.row(c.target));
    let (searched, measured): (Vec<&Case<'_>>, Vec<&Case<'_>>) = cases.iter().partition(|c| place(c).is_multiple_of(2));
    for half in [&searched, &measured] {
        let none = half.iter().filter(|c| nothing(c)).count();
        if none < LEAST_CHOICES || half.len() - none < LEAST_CHOICES {
            return None;
        }
    }
    let features = &sampled.sample.table.spec.features;
    let is_quantity = |&column: &usize| {
        matches!(features[column].scope, Scope::Absolute | Scope::Share) && Some(column) != sampled.values.none()
    };
    let columns: Vec<usize> = (0..features.len()).filter(is_quantity).collect();
    let best = |&column: &usize| {
        let both = [true, false].map(|above| Asked { column, above });
        both.into_iter()
            .filter_map(|asked| Some((best_threshold(sampled, &searched, asked, &nothing)?, asked)))
            .collect()
    };
    let found: Vec<Vec<((f64, f32), Asked)>> = columns.par_iter().map(best).collect();
    // The first of equals: quantities stand in the order in which they are best read.
    let ((_, threshold), asked) =
        found.into_iter().flatten().reduce(|a, b| if b.0.0 > a.0.0 + 1e-12 { b } else { a })?;
    let holds = |c: &Case<'_>| {
        let value = asked.of(sampled, c);
        if asked.above { value > threshold } else { value <= threshold }
    };
    let rate = |side: bool| -> Estimate {
        let mut sums = vec![(0.0, 0.0); episodes.len()];
        for c in measured.iter().filter(|c| holds(c) == side) {
            let (none, all) = &mut sums[place(c)];
            *none += if nothing(c) { c.weight } else { 0.0 };
            *all += c.weight;
        }
        sums.retain(|s| s.1 > 0.0);
        bootstrap(sums.len(), seed, |counts| {
            let sum =
                |of: fn(&(f64, f64)) -> f64| sums.iter().zip(counts).map(|(s, &n)| of(s) * f64::from(n)).sum::<f64>();
            sum(|s| s.0) / sum(|s| s.1)
        })
    };
    let [there, elsewhere] = [true, false].map(rate);
    let first = |c: &Case<'_>| c.choice.row(0)[asked.column];
    let shared = cases.iter().all(|c| (0..c.choice.len()).all(|i| c.choice.row(i)[asked.column] == first(c)));
    let apart = (there.low - elsewhere.high).max(elsewhere.low - there.high);
    // False as well of what was never met.
    (apart >= TELLS).then(|| AbstentionTest {
        feature: features[asked.column].name.clone(),
        shared,
        above: asked.above,
        threshold,
        there,
        elsewhere,
    })
}

/// The threshold that takes most of the Gini impurity away, and how much; `None` if none takes any.
fn best_threshold(
    sampled: &Sampled<'_>,
    cases: &[&Case<'_>],
    asked: Asked,
    nothing: &dyn Fn(&Case<'_>) -> bool,
) -> Option<(f64, f32)> {
    let of = |c: &&Case<'_>| (asked.of(sampled, c), c.weight, if nothing(c) { c.weight } else { 0.0 });
    let mut rows: Vec<(f32, f64, f64)> = cases.iter().map(of).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (total, none) = rows.iter().fold((0.0, 0.0), |sum, row| (sum.0 + row.1, sum.1 + row.2));
    let impurity = |weight: f64, none: f64| if weight > 0.0 { none * (weight - none) / weight } else { 0.0 };
    let whole = impurity(total, none);
    let (mut below, mut best) = ((0.0, 0.0), None::<(f64, f32)>);
    for pair in rows.windows(2) {
        below = (below.0 + pair[0].1, below.1 + pair[0].2);
        let [low, high] = [pair[0].0, pair[1].0];
        let is_apart = low < high && below.0.min(total - below.0) >= LEAST_SHARE * total;
        // Where nobody has the quantity there is nothing between.
        let middle = match (low.is_finite(), high.is_finite()) {
            (true, true) => low + (high - low) / 2.0,
            (true, false) => low,
            (false, _) => high - high.abs().max(1.0) * 1e-3,
        };
        let middle = if middle < high { middle } else { low };
        let gain = whole - impurity(below.0, below.1) - impurity(total - below.0, none - below.1);
        if is_apart && gain > best.map_or(0.0, |b| b.0) + 1e-12 {
            best = Some((gain, middle));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Preference, tiny};
    use sched_distill_core::{
        level::{NONE_FLAG, Values},
        model::{Additive, Model, NamedModel},
        rng::Stream,
    };
    use sched_distill_judge::evaluator::{Role, Scorer};
    use sched_distill_trace::{LevelTable, Sampler};

    /// Who gives nothing has 0 in all columns, and one does so where no candidate has more than `least`.
    fn found(least: f32) -> Vec<Abstention> {
        let mut s = Stream::new(8, "abstention");
        let choices: Vec<_> = (0..400)
            .map(|i| {
                let real = [s.uniform() as f32, s.uniform() as f32];
                let best = if real[0] >= real[1] { 0 } else { 1 };
                let target = if real[best] > least { best } else { 2 };
                (i / 20, 0, vec![[real[0], 0.0], [real[1], 0.0], [0.0, 1.0]], target)
            })
            .collect();
        let mut table = tiny::table("job", &choices);
        table.spec.features[1].name = NONE_FLAG.to_owned();
        let mut sampler = Sampler::new(LevelTable::new(table.spec.clone(), table.kinds.clone()), 1000, 1);
        sampler.add(&table);
        let sample = sampler.finish();
        let linear = Model::Additive(Additive::linear(&[1.0, 0.0], &[1.0; 2]));
        let model = NamedModel { name: "linear".to_owned(), temperature: 1.0, model: linear };
        let (scorer, preference) = (Scorer::model(&model, Role::Student), Preference::new(&model.model, 2).unwrap());
        let values = Values::new(&sample.table.spec, None);
        abstentions(&Sampled::new((&sample, &values), &scorer, &preference).unwrap(), 1)
    }

    #[test]
    fn what_tells_is_found_where_it_is() {
        let found = &found(0.6)[0];
        assert!((0.2..0.5).contains(&found.teacher) && found.student == 0.0, "{found:?}");
        let test = found.test.as_ref().unwrap();
        assert_eq!((test.feature.as_str(), test.above), ("a", true));
        assert!((test.threshold - 0.6).abs() < 0.05, "{test:?}");
        assert!(test.there.value < 0.1 && test.elsewhere.value > 0.9, "{test:?}");
    }

    #[test]
    fn who_hardly_ever_gives_nothing_has_no_condition() {
        assert!(found(0.0)[0].test.is_none());
        assert_eq!(found(0.0)[0].teacher, 0.0);
    }
}
