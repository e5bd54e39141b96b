//! Would other episodes have given the same rules? Models of several fits against the student's, on recorded choices.

use super::{Extent, Family, FamilyStability, KindStability, LevelStability, families};
use rayon::prelude::*;
use sched_distill_core::{
    level::{ALL_KINDS, LevelSpec},
    model::{LevelModels, Model, NamedModel, ScoreCandidates, Student, Tree},
};
use sched_distill_judge::evaluator::{Role, Scorer};
use sched_distill_trace::{Choice, Sample};

/// Compares the models of several fits of one level ([`sched_distill_learn::Refit`]), each on a draw of so many `episodes`, with
/// the model that schedules, on a sample of choices that none of them was fitted on. Two models agree where they take the
/// same candidate; choices weigh what they stand for. `None` without a choice between candidates, or without two fits.
#[must_use]
pub fn stability(
    student: &Student,
    level: &LevelModels,
    sample: &Sample,
    fits: &[&NamedModel],
    episodes: usize,
) -> Option<LevelStability> {
    if sample.table.choices.is_empty() || fits.len() < 2 {
        return None;
    }
    let scheduler = level.scheduler();
    let of_student = taken(&Scorer::student(student, level, Role::Student), sample);
    let of_fits: Vec<Vec<usize>> =
        fits.iter().map(|fit| taken(&Scorer::model(fit, Role::Student).picking(level.pick), sample)).collect();
    let kinds = (0..sample.kinds.len()).map(|kind| Some(kind as u8)).chain([None]);
    Some(LevelStability {
        level: level.level.clone(),
        model: scheduler.name.clone(),
        episodes,
        size: scheduler.model.size(),
        sizes: fits.iter().map(|fit| fit.model.size()).collect(),
        agreement: kinds.filter_map(|kind| agreement(sample, kind, &of_student, &of_fits)).collect(),
        families: used_families(&sample.table.spec, &scheduler.model, fits),
    })
}

/// The candidate that a scorer takes in every choice.
fn taken(scorer: &Scorer, sample: &Sample) -> Vec<usize> {
    let choices: Vec<Choice<'_>> = sample.table.iter().collect();
    choices.into_par_iter().map_init(Vec::new, |scores, choice| scorer.choose(&choice, scores)).collect()
}

/// Agreement on one kind, or on all together; `None` without choices.
fn agreement(sample: &Sample, kind: Option<u8>, student: &[usize], fits: &[Vec<usize>]) -> Option<KindStability> {
    let counted: Vec<(usize, f64)> = (sample.table.choices.iter().enumerate())
        .filter(|(_, c)| kind.is_none_or(|kind| c.kind == kind))
        .map(|(i, c)| (i, f64::from(c.weight) * sample.kinds[c.kind as usize].factor()))
        .collect();
    let total: f64 = counted.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return None;
    }
    let same = |a: &[usize], b: &[usize]| {
        let weights = counted.iter().filter(|(i, _)| a[*i] == b[*i]).map(|(_, weight)| weight);
        weights.sum::<f64>() / total
    };
    let with_student: Vec<f64> = fits.iter().map(|fit| same(fit, student)).collect();
    let pairs = (0..fits.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let between: Vec<f64> = pairs.map(|(a, b)| same(&fits[a], &fits[b])).collect();
    Some(KindStability {
        kind: kind.map_or(ALL_KINDS, |kind| &sample.kinds[kind as usize].kind).to_owned(),
        choices: counted.len(),
        student: extent(&with_student),
        pairs: extent(&between),
    })
}

fn extent(values: &[f64]) -> Extent {
    Extent {
        mean: values.iter().sum::<f64>() / values.len() as f64,
        least: values.iter().copied().fold(f64::INFINITY, f64::min),
        largest: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

fn used_families(spec: &LevelSpec, student: &Model, fits: &[&NamedModel]) -> Vec<FamilyStability> {
    let width = spec.features.len();
    let columns = |model: &Model| {
        let mut read = vec![false; width];
        model.mark_columns(&mut read);
        read
    };
    let (of_student, of_fits) = (columns(student), fits.iter().map(|f| columns(&f.model)).collect::<Vec<_>>());
    let roots: Vec<Option<usize>> = fits.iter().map(|f| root(&f.model, width)).collect();
    let uses = |family: &Family, read: &[bool]| family.columns.iter().any(|&column| read[column]);
    let share = |count: usize| count as f64 / fits.len() as f64;
    let mut found: Vec<FamilyStability> = families(spec)
        .iter()
        .map(|family| {
            let first = |root: &&Option<usize>| root.is_some_and(|column| family.columns.contains(&column));
            FamilyStability {
                name: family.name.clone(),
                student: uses(family, &of_student),
                used: share(of_fits.iter().filter(|read| uses(family, read)).count()),
                root: tree(student).map(|_| share(roots.iter().filter(first).count())),
            }
        })
        .filter(|family| family.student || family.used > 0.0)
        .collect();
    let first = |f: &FamilyStability| (f.root.unwrap_or(0.0), f.used);
    found.sort_by(|a, b| {
        let ((a_root, a_used), (b_root, b_used)) = (first(a), first(b));
        b_used.total_cmp(&a_used).then(b_root.total_cmp(&a_root)).then(b.student.cmp(&a.student))
    });
    found
}

fn tree(model: &Model) -> Option<&Tree> {
    match model {
        Model::Tree(tree) => Some(tree),
        Model::Pairwise(pairwise) => Some(&pairwise.tree),
        _ => None,
    }
}

/// The column that a tree asks about first. Behind the features of a candidate a pairwise tree has the differences of two.
fn root(model: &Model, width: usize) -> Option<usize> {
    let tree = tree(model)?;
    (!tree.is_leaf(0)).then(|| tree.feature[0] as usize % width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny;
    use sched_distill_core::{
        level::FeatureSet,
        model::{Additive, Provenance},
    };
    use sched_distill_trace::{LevelTable, Sampler};

    fn linear(a: f64, b: f64) -> NamedModel {
        let model = Model::Additive(Additive::linear(&[a, b], &[1.0; 2]));
        NamedModel { name: "linear".to_owned(), temperature: 1.0, model }
    }

    /// The student takes the largest a; one fit does too, one takes the smallest, one goes by b, which says the same as a
    /// in choices of kind y alone.
    #[test]
    fn agreement_counts_the_same_candidates_and_families_the_fits() {
        let x = vec![[1.0, 0.0], [0.0, 1.0]];
        let y = vec![[1.0, 1.0], [0.0, 0.0]];
        let rows = |i: u32| if i < 30 { x.clone() } else { y.clone() };
        let choices: Vec<_> = (0..40).map(|i| (i / 10, u8::from(i >= 30), rows(i), 0)).collect();
        let table = tiny::table("job", &choices);
        let mut sampler = Sampler::new(LevelTable::new(table.spec.clone(), table.kinds.clone()), 100, 1);
        sampler.add(&table);
        let sample = sampler.finish();
        let set = FeatureSet { scenario: "dag".to_owned(), levels: vec![table.spec.clone()] };
        let models = LevelModels::new("job", "linear", vec![linear(1.0, 0.0)]);
        let student = Student::new(set, false, vec![models.clone()], Provenance::default());
        let fits = [linear(2.0, 0.0), linear(-1.0, 0.0), linear(0.0, 1.0)];
        let fits: Vec<&NamedModel> = fits.iter().collect();
        let found = stability(&student, &models, &sample, &fits, 4).unwrap();
        let [in_x, in_y, all] = found.agreement.as_slice() else { panic!("{:?}", found.agreement) };
        assert_eq!((in_x.kind.as_str(), in_x.choices), ("x", 30));
        assert_eq!(in_x.student, Extent { mean: 1.0 / 3.0, least: 0.0, largest: 1.0 });
        assert_eq!(in_y.student, Extent { mean: 2.0 / 3.0, least: 0.0, largest: 1.0 });
        // Of the pairs (2a, -a), (2a, b), (-a, b) the last agrees on x, the second on y.
        assert_eq!((in_x.pairs.mean, in_y.pairs.mean), (1.0 / 3.0, 1.0 / 3.0));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert_eq!((all.kind.as_str(), all.choices), ("all", 40));
        assert!(close(all.student.mean, (1.0 + 0.0 + 0.25) / 3.0) && close(all.pairs.largest, 0.75), "{all:?}");
        let families: Vec<_> = found.families.iter().map(|f| (f.name.as_str(), f.student, f.used, f.root)).collect();
        assert_eq!(families, [("a", true, 2.0 / 3.0, None), ("b", false, 1.0 / 3.0, None)]);
        assert!(stability(&student, &models, &sample, &fits[..1], 4).is_none());
    }
}
