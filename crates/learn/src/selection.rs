//! Which features earn their place: forward and backward selection under cross-validation by episode.
//!
//! A *family* is a base quantity with its rank and its ratio. Families enter a conditional logit one by one, the one that lowers
//! the cross-entropy on episodes not fitted on most first, until none does; then every family and every feature is left out once.
//! Standard errors are those of the mean over folds, of changes those of the paired differences.

use super::{
    FitError, LogitParams,
    choice::{Choices, Constant, Effort, fit_from},
    target,
};
use linfa::ParamGuard;
use rayon::prelude::*;
use sched_distill_core::level::{first_max, log_sum_exp};
use sched_distill_trace::LevelTable;
use serde::Serialize;

/// A mean over folds with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard error of the mean.
    pub se: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        Self { mean, se: (square / (n - 1.0) / n).sqrt() }
    }
}

/// What a logit does on episodes that it was not fitted on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Top-1 agreement with the teacher.
    pub top1: Spread,
    /// Probability regret.
    pub regret: Spread,
    /// Cross-entropy, nats.
    pub cross_entropy: Spread,
}

/// A family or a feature, and what it changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contribution {
    /// Name of the family or the feature.
    pub name: String,
    /// The logit's figures: with it, or without it where it was left out.
    pub figures: Figures,
    /// Change of the figures through its entry or its leaving.
    pub change: Figures,
}

/// What a selection found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Selection {
    /// Every family by itself, against a uniformly random choice; the best first.
    pub alone: Vec<Contribution>,
    /// Families in the order of their entry.
    pub forward: Vec<Contribution>,
    /// Each family of those left out of the logit that has them all; the one that is missed most first.
    pub without_family: Vec<Contribution>,
    /// The same for each feature.
    pub without_feature: Vec<Contribution>,
    /// Features of the selected families, in column order.
    pub features: Vec<String>,
}

/// One fold's figures: top-1, regret, cross-entropy.
type Fold = [f64; 3];

/// A part of the episodes to learn from, and the others.
struct Split {
    train: Choices,
    test: Choices,
}

/// How families are selected.
#[derive(Clone, Copy, Debug)]
pub struct SelectionParams {
    /// Parts of the episodes, each judged by what is learned from the others.
    pub folds: u32,
    /// Most families that may enter.
    pub families: usize,
    /// Choices per fold at most.
    pub max_choices: usize,
    /// As in [`super::FitParams`].
    pub balance: f64,
    /// Penalty on coefficients, per unit of weight.
    pub ridge: f64,
}

/// Selects families for a level; `tick` hears what begins.
///
/// # Errors
///
/// A level without choices in some fold, features that are not finite.
pub fn select_families(
    table: &LevelTable,
    params: SelectionParams,
    tick: &(dyn Fn(String) + Sync),
) -> Result<Selection, FitError> {
    let SelectionParams { folds, families: steps, max_choices, balance, ridge } = params;
    let mut episodes: Vec<u32> = table.choices.iter().map(|c| c.episode).collect();
    episodes.dedup();
    let fold_of = |episode: u32| episodes.binary_search(&episode).unwrap_or(0) as u32 % folds;
    let splits: Vec<Split> = (0..folds)
        .map(|fold| {
            let part = |inside: bool| {
                let table = table.select(|episode| (fold_of(episode) == fold) == inside);
                target::choices(&table, balance, Some(max_choices))
            };
            Ok(Split { train: part(false)?, test: part(true)? })
        })
        .collect::<Result<_, FitError>>()?;
    let names: Vec<&str> = table.spec.features.iter().map(|f| f.name.as_str()).collect();
    let families = families(&names);
    let judge = |columns: &[u32]| -> Vec<Fold> { splits.iter().map(|s| fold(s, columns, ridge)).collect() };
    let columns_of = |chosen: &[usize]| -> Vec<u32> {
        let mut columns: Vec<u32> = chosen.iter().flat_map(|&f| families[f].1.iter().copied()).collect();
        columns.sort_unstable();
        columns
    };
    let cross_entropy = |folds: &[Fold]| Spread::of(&folds.iter().map(|f| f[2]).collect::<Vec<_>>()).mean;
    let (mut chosen, mut now): (Vec<usize>, Vec<Fold>) = (Vec::new(), judge(&[]));
    let (mut alone, mut forward) = (Vec::new(), Vec::new());
    while chosen.len() < steps.min(families.len()) {
        tick(format!("{}: family {}", table.spec.name, chosen.len() + 1));
        let left: Vec<usize> = (0..families.len()).filter(|f| !chosen.contains(f)).collect();
        let tried: Vec<Vec<Fold>> =
            left.par_iter().map(|&f| judge(&columns_of(&[&chosen[..], &[f]].concat()))).collect();
        if chosen.is_empty() {
            alone = left.iter().zip(&tried).map(|(&f, folds)| contribution(&families[f].0, folds, &now)).collect();
            alone.sort_by(|a: &Contribution, b| a.change.cross_entropy.mean.total_cmp(&b.change.cross_entropy.mean));
        }
        let best = first_max(tried.iter().map(|folds| -cross_entropy(folds)));
        // Less than its own standard error is not an improvement.
        let found = contribution(&families[left[best]].0, &tried[best], &now);
        if found.change.cross_entropy.mean > -found.change.cross_entropy.se {
            break;
        }
        chosen.push(left[best]);
        now.clone_from(&tried[best]);
        forward.push(found);
    }
    tick(format!("{}: what is missed", table.spec.name));
    let all = columns_of(&chosen);
    let without = |name: &str, gone: &[u32]| {
        let rest: Vec<u32> = all.iter().copied().filter(|c| !gone.contains(c)).collect();
        contribution(name, &judge(&rest), &now)
    };
    let mut without_family: Vec<Contribution> =
        chosen.par_iter().map(|&f| without(&families[f].0, &families[f].1)).collect();
    let mut without_feature: Vec<Contribution> = all.par_iter().map(|&c| without(names[c as usize], &[c])).collect();
    for list in [&mut without_family, &mut without_feature] {
        list.sort_by(|a, b| b.change.cross_entropy.mean.total_cmp(&a.change.cross_entropy.mean));
    }
    let features = all.iter().map(|&c| names[c as usize].to_owned()).collect();
    Ok(Selection { alone, forward, without_family, without_feature, features })
}

/// Base quantities with their columns, in order.
fn families(names: &[&str]) -> Vec<(String, Vec<u32>)> {
    let mut families: Vec<(String, Vec<u32>)> = Vec::new();
    for (column, name) in names.iter().enumerate() {
        let base = name.strip_suffix("_rank").or_else(|| name.strip_suffix("_ratio"));
        let base = base.filter(|base| names.contains(base)).unwrap_or(name);
        match families.iter_mut().find(|(family, _)| family == base) {
            Some((_, columns)) => columns.push(column as u32),
            None => families.push((base.to_owned(), vec![column as u32])),
        }
    }
    families
}

fn contribution(name: &str, folds: &[Fold], before: &[Fold]) -> Contribution {
    let figures = |of: &dyn Fn(usize, usize) -> f64| {
        let spread = |figure: usize| Spread::of(&(0..folds.len()).map(|fold| of(fold, figure)).collect::<Vec<_>>());
        Figures { top1: spread(0), regret: spread(1), cross_entropy: spread(2) }
    };
    Contribution {
        name: name.to_owned(),
        figures: figures(&|fold, figure| folds[fold][figure]),
        change: figures(&|fold, figure| folds[fold][figure] - before[fold][figure]),
    }
}

/// Fits a logit on the columns that differ and judges it on the other episodes; without any it is a uniformly random choice.
fn fold(split: &Split, columns: &[u32], ridge: f64) -> Fold {
    let recipe = LogitParams::default().ridge(ridge).columns(columns.to_vec()).constant(Constant::LeaveOut);
    let train = split.train.data();
    let fitted = recipe.check_ref().ok().and_then(|p| fit_from(&train, p, None, Effort::Search).ok());
    let coefficient = fitted.map_or_else(|| vec![0.0; train.width], |f| f.coefficient);
    let (test, mut sums, mut total) = (split.test.data(), [0.0; 3], 0.0);
    let mut scores = Vec::new();
    for c in 0..test.choices() {
        let choice = test.choice(c);
        let n = choice.probability.len() as f64;
        let whole: f64 = choice.probability.iter().sum();
        let score = |row: &[f32]| columns.iter().map(|&c| f64::from(row[c as usize]) * coefficient[c as usize]).sum();
        scores.clear();
        scores.extend(choice.x.chunks_exact(test.width).map(|row| -> f64 { score(row) }));
        let (best, target) = (first_max(scores.iter().copied()), first_max(choice.probability.iter().copied()));
        let log_sum = log_sum_exp(&scores);
        let p = |i: usize| choice.probability[i] / whole;
        let same = scores.iter().all(|&s| s == scores[0]);
        let (hit, taken) = if same { (1.0 / n, 1.0 / n) } else { (f64::from(u8::from(best == target)), p(best)) };
        let cross: f64 = scores.iter().enumerate().map(|(i, s)| p(i) * (log_sum - s)).sum();
        for (sum, v) in sums.iter_mut().zip([hit, p(target) - taken, cross]) {
            *sum += choice.weight * v;
        }
        total += choice.weight;
    }
    sums.map(|s| s / total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny::feature;
    use sched_distill_core::{level::LevelSpec, rng::Stream};
    use sched_distill_trace::ChoiceHeader;

    /// A teacher that scores 2 a − b_rank; c says nothing.
    fn table() -> LevelTable {
        let spec = LevelSpec {
            name: "job".to_owned(),
            question: String::new(),
            candidates: String::new(),
            entities: Vec::new(),
            features: ["c", "b", "b_rank", "a", "odd_rank"].map(feature).to_vec(),
        };
        let mut table = LevelTable::new(spec, vec!["x".to_owned()]);
        let mut s = Stream::new(1, "families");
        for i in 0..2000u32 {
            table.choices.push(ChoiceHeader {
                id: u64::from(i),
                episode: i / 50,
                step: i % 50,
                time_ms: 0.0,
                kind: 0,
                parent: None,
                weight: 1.0,
                first_row: table.rows(),
            });
            let x: Vec<[f32; 5]> = (0..4).map(|_| std::array::from_fn(|_| s.normal() as f32)).collect();
            let score: Vec<f64> = x.iter().map(|r| f64::from(2.0 * r[3] - r[2])).collect();
            let total = score.iter().map(|v| v.exp()).sum::<f64>().ln();
            for (row, score) in x.iter().zip(score) {
                table.log_prob.push((score - total) as f32);
                table.chosen.push(false);
                table.x.extend(row);
            }
        }
        table
    }

    #[test]
    fn families_enter_in_order_of_what_they_say_and_noise_stays_out() {
        let params = SelectionParams { folds: 4, families: 9, max_choices: 2000, balance: 0.0, ridge: 1e-6 };
        let found = select_families(&table(), params, &|_| ()).unwrap();
        let names = |list: &[Contribution]| list.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found.forward)[..2], ["a", "b"]);
        assert_eq!(names(&found.alone)[..2], ["a", "b"]);
        assert_eq!(found.alone.len(), 4, "a rank without its quantity is a family of its own");
        assert!(found.forward[1].figures.top1.mean > 0.98, "{:?}", found.forward);
        assert!(found.forward[1].change.cross_entropy.mean < -0.1);
        assert_eq!(names(&found.without_family)[0], "a");
        let missed = |name: &str| {
            let c = found.without_feature.iter().find(|c| c.name == name).unwrap();
            c.change.cross_entropy.mean
        };
        assert!(missed("b_rank") > 0.1 && missed("b").abs() < 0.01);
    }
}
