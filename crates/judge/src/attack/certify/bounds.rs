//! Between what the score of a candidate lies while the numbers of its features lie between others.

use sched_distill_core::model::{Additive, Factor, Model, Tree};

/// A row whose numbers are not known but for where they lie.
#[derive(Clone, Copy)]
pub(super) struct Between<'a> {
    pub(super) low: &'a [f32],
    pub(super) high: &'a [f32],
}

/// From where to where.
pub(super) type Range = (f64, f64);

/// Bounds of a score; `None` of a model that compares candidates, whose scores are not its own.
pub(super) fn score(model: &Model, row: Between<'_>, first: Between<'_>) -> Option<Range> {
    match model {
        Model::Tree(tree) => Some(join(leaves(tree, row).into_iter().map(|leaf| at_leaf(tree, leaf, row)))),
        Model::Additive(sum) => Some(additive(sum, row)),
        Model::Pairwise(_) => None,
        // Which model scores is asked of the first candidate.
        Model::Regime(regime) => {
            let of = |leaf: usize| score(&regime.models[regime.tree.value[leaf] as usize], row, first);
            let all: Option<Vec<Range>> = leaves(&regime.tree, first).into_iter().map(of).collect();
            all.map(|all| join(all.into_iter()))
        }
    }
}

fn join(all: impl Iterator<Item = Range>) -> Range {
    all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (l, h)| (low.min(l), high.max(h)))
}

/// The leaves that a row may reach.
fn leaves(tree: &Tree, row: Between<'_>) -> Vec<usize> {
    let (mut found, mut open) = (Vec::new(), vec![0]);
    while let Some(node) = open.pop() {
        if tree.is_leaf(node) {
            found.push(node);
            continue;
        }
        let (column, threshold) = (tree.feature[node] as usize, tree.threshold[node]);
        if row.low[column] <= threshold {
            open.push(tree.left[node] as usize);
        }
        if row.high[column] > threshold {
            open.push(tree.right[node] as usize);
        }
    }
    found
}

fn at_leaf(tree: &Tree, leaf: usize, row: Between<'_>) -> Range {
    let Some(linear) = &tree.linear else {
        let value = tree.node_value(leaf)[0];
        return (value, value);
    };
    let terms = linear.terms(leaf).map(|(column, c)| times(c, (row.low[column].into(), row.high[column].into())));
    terms.fold((linear.intercept[leaf], linear.intercept[leaf]), add)
}

fn additive(sum: &Additive, row: Between<'_>) -> Range {
    let factor = |f: &Factor| (f.of(row.low[f.feature as usize]), f.of(row.high[f.feature as usize]));
    let term = |factors: &[Factor]| factors.iter().map(factor).fold((1.0, 1.0), product);
    let terms = sum.terms.iter().map(|t| times(t.coefficient, term(&t.factors)));
    terms.fold((sum.intercept, sum.intercept), add)
}

fn add(a: Range, b: Range) -> Range {
    (a.0 + b.0, a.1 + b.1)
}

fn times(c: f64, (low, high): Range) -> Range {
    if c < 0.0 { (c * high, c * low) } else { (c * low, c * high) }
}

fn product(a: Range, b: Range) -> Range {
    let all = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
    (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::{
        model::{Regime, ScoreCandidates, Shape, Term},
        rng::Stream,
    };

    fn models() -> Vec<Model> {
        let factor = |feature, shape, threshold| Factor { feature, shape, threshold };
        let term = |coefficient, factors: Vec<Factor>| Term { factors, ..Term::linear(0, coefficient, 1.0) };
        let sum = Model::Additive(Additive {
            intercept: 0.5,
            terms: vec![
                term(-2.0, vec![factor(0, Shape::Linear, None)]),
                term(1.5, vec![factor(1, Shape::Log, None), factor(0, Shape::Excess, Some(0.3))]),
                term(-0.7, vec![factor(2, Shape::Above, Some(0.5)), factor(1, Shape::Linear, None)]),
            ],
        });
        let tree = Model::Tree(Tree::stump(1, 0.4, [3.0, -1.0]));
        let regime = Model::Regime(Regime::split(2, 0.6, sum.clone(), tree.clone()));
        vec![sum, tree, regime]
    }

    #[test]
    fn no_score_lies_outside_its_bounds() {
        let mut stream = Stream::new(1, "bounds");
        for model in models() {
            let mut widest = 0.0f64;
            for _ in 0..2000 {
                let mut box_of = || {
                    let ends =
                        [0; 3].map(|_| (stream.uniform_in(-1.0, 1.0) as f32, stream.uniform_in(-1.0, 1.0) as f32));
                    let sorted = ends.map(|(a, b)| (a.min(b), a.max(b)));
                    (sorted.map(|e| e.0), sorted.map(|e| e.1))
                };
                let (low, high) = box_of();
                let row = Between { low: &low, high: &high };
                let (least, most) = score(&model, row, row).expect("it scores a candidate by itself");
                for _ in 0..20 {
                    let x: Vec<f32> =
                        low.iter().zip(&high).map(|(&l, &h)| l + (h - l) * stream.uniform() as f32).collect();
                    let mut found = [0.0];
                    model.score_choice(&x, 3, &mut found);
                    assert!((least - 1e-9..=most + 1e-9).contains(&found[0]), "{} {least} {most}", found[0]);
                }
                widest = widest.max(most - least);
                // A point has no width.
                let point = Between { low: &low, high: &low };
                let (least, most) = score(&model, point, point).expect("it scores a candidate by itself");
                assert!((most - least).abs() < 1e-12);
            }
            assert!(widest > 0.5);
        }
    }
}
