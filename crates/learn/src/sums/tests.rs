use super::*;
use crate::{
    Cell, CodedRows, Coder, Engine, FeatureBins, Finish, FinishSums, FitError, FitParams, Layout, LogitError,
    NodeSource, NodeSums, Sketch, Target, Targets, TreeData, TreeError, fit_tree_in_bins, grow_by_sums,
    learner::recipe, target, temperature::fit_temperature, tiny,
};
use sched_distill_core::{
    model::{Additive, Factor, Model, Shape, Tree},
    rng::Stream,
};
use sched_distill_trace::LevelTable;

/// Choices of some parts; features of two, nine and very many values, and a teacher that the first and the last of them decide.
fn parts(parts: u32, choices: u32) -> Vec<LevelTable> {
    let mut s = Stream::new(8, "parts");
    let part = |part: u32| {
        let choices: Vec<_> = (0..choices)
            .map(|i| (part * 100 + i / 8, (i % 3 == 0).into(), vec![[0.0; 2]; 1 + s.below(6)], 0))
            .collect();
        let mut table = tiny::table("job", &choices);
        table.spec.features.push(tiny::feature("c"));
        let row = |_| [s.below(2) as f32, s.below(9) as f32 / 4.0, s.normal() as f32];
        table.x = (0..table.rows()).flat_map(row).collect();
        for (i, header) in table.choices.iter_mut().enumerate() {
            header.weight = 0.5 + (i % 5) as f32;
        }
        for c in 0..table.choices.len() {
            let (rows, x) = (table.choice(c).len(), table.choice(c).x.to_vec());
            let score = |r: &[f32]| f64::from(r[2].min(0.5) - 0.7 * r[0] + 0.2 * r[1] * r[0]);
            let scores: Vec<f64> = x.chunks_exact(3).map(|r| score(r) + 0.1 * s.normal()).collect();
            let whole = scores.iter().map(|v| v.exp()).sum::<f64>().ln();
            let first = table.choices[c].first_row;
            (0..rows).for_each(|row| table.log_prob[first + row] = (scores[row] - whole) as f32);
        }
        table
    };
    (0..parts).map(part).collect()
}

fn together(parts: &[LevelTable]) -> LevelTable {
    let mut all = parts[0].filter(|_| false);
    parts.iter().for_each(|part| all.append(part.clone()));
    all
}

/// Parts that several readers sum up, some parts each and in some order.
struct Readers<'a> {
    parts: &'a [LevelTable],
    /// Numbers of the parts, by reader.
    readers: Vec<Vec<u32>>,
    coder: Option<Coder>,
    rounds: usize,
}

impl Readers<'_> {
    fn each<S>(
        &self,
        start: impl Fn() -> S,
        add: impl Fn(&mut S, u32, &LevelTable),
        mut merge: impl FnMut(&mut S, S),
    ) -> S {
        let mut all = start();
        for reader in &self.readers {
            let mut sums = start();
            reader.iter().for_each(|&part| add(&mut sums, part, &self.parts[part as usize]));
            merge(&mut all, sums);
        }
        all
    }
}

impl NodeSource for Readers<'_> {
    type Error = TreeError;

    fn cells(&mut self, sketch: &Sketch, wanted: &[u32]) -> Result<Vec<Cell>, TreeError> {
        self.rounds += 1;
        let coder = self.coder.as_ref().expect("a coder");
        let add = |sums: &mut NodeSums, _, table: &LevelTable| {
            let (mut codes, mut lanes) = (Vec::new(), [const { Vec::new() }; 3]);
            let row = |row: &[u8], of: [i64; 3]| {
                codes.extend_from_slice(row);
                lanes.iter_mut().zip(of).for_each(|(lane, v)| lane.push(v));
            };
            coder.code(&table.filter(crate::is_usable), row).unwrap();
            let [weight, first_moment, second_moment] = &lanes;
            sums.add(&CodedRows { codes: &codes, weight, first_moment, second_moment });
        };
        let start = || NodeSums::new(Layout::of(&coder.bins), sketch.clone(), wanted);
        let merge = |all: &mut NodeSums, some: NodeSums| {
            for (all, some) in all.cells_mut().iter_mut().zip(some.cells()) {
                all.iter_mut().zip(some).for_each(|(all, some)| *all += some);
            }
        };
        Ok(self.each(start, add, merge).cells().to_vec())
    }

    fn finish(&mut self, sketch: &Sketch, next: &[u8], means: &[f64]) -> Result<Finish, TreeError> {
        let coder = self.coder.as_ref().expect("a coder");
        let start = || FinishSums::new(coder.clone(), sketch.clone(), next.to_vec(), means.to_vec());
        let add = |sums: &mut FinishSums, part, table: &LevelTable| sums.add(part, &table.filter(crate::is_usable));
        Ok(self.each(start, add, |all, some| all.merge(some.found().clone())).found().clone())
    }
}

#[derive(Debug)]
struct Failed(#[allow(dead_code, reason = "shown where a test fails")] String);

impl From<LogitError> for Failed {
    fn from(error: LogitError) -> Self {
        Self(error.to_string())
    }
}

impl From<FitError> for Failed {
    fn from(error: FitError) -> Self {
        Self(error.to_string())
    }
}

impl TermSource for Readers<'_> {
    type Error = Failed;

    fn spread(&mut self, terms: &Terms) -> Result<(ByPart, Vec<f64>), Failed> {
        let add = |sums: &mut SpreadSums, part, table: &LevelTable| sums.add(part, table).unwrap();
        let sums = self.each(
            || SpreadSums::new(terms.clone()),
            add,
            |all, some| {
                let (squares, largest) = some.found();
                all.merge(squares.clone(), largest);
            },
        );
        let (squares, largest) = sums.found();
        Ok((squares.clone(), largest.to_vec()))
    }

    fn newton(&mut self, terms: &Terms, at: &NewtonAt) -> Result<ByPart, Failed> {
        let add = |sums: &mut NewtonSums, part, table: &LevelTable| sums.add(part, table).unwrap();
        let start = || NewtonSums::new(terms.clone(), at.clone());
        Ok(self.each(start, add, |all, some| all.merge(some.by_part().clone())).by_part().clone())
    }

    fn clusters(&mut self, terms: &Terms, at: &NewtonAt) -> Result<ByPart, Failed> {
        let add = |sums: &mut ClusterSums, part, table: &LevelTable| sums.add(part, table).unwrap();
        let start = || ClusterSums::new(terms.clone(), at.clone());
        Ok(self.each(start, add, |all, some| all.merge(some.by_part())).by_part())
    }
}

impl SoftnessSource for Readers<'_> {
    type Error = Failed;

    fn numbers(&mut self, model: &Model, inverse: f64) -> Result<[f64; 4], Failed> {
        let add = |sums: &mut SoftnessSums, part, table: &LevelTable| sums.add(part, table, model, inverse);
        let sums = self.each(SoftnessSums::default, add, |all, some| all.merge(some.by_part().clone()));
        Ok(sums.numbers())
    }
}

/// The same parts in other hands.
fn readers(parts: &[LevelTable]) -> Vec<Readers<'_>> {
    let of = |readers: Vec<Vec<u32>>| Readers { parts, readers, coder: None, rounds: 0 };
    vec![of(vec![vec![0, 1, 2, 3, 4]]), of(vec![vec![4, 2], vec![3], vec![], vec![1, 0]])]
}

fn survey(readers: &Readers<'_>) -> Survey {
    let rows = readers.parts.iter().map(|part| part.rows() as u64).sum();
    let add = |sums: &mut Survey, part, table: &LevelTable| sums.add(part, &table.filter(crate::is_usable));
    readers.each(|| Survey::new(3, 2, rows), add, |all, some| all.merge(some))
}

/// The same splits in the same order, and values up to what rounding makes of sums; weights up to a share of themselves.
pub(super) fn assert_same(tree: &Tree, expected: &Tree, [values, weights]: [f64; 2]) {
    assert_eq!(tree.leaves(), expected.leaves());
    let tests = |tree: &Tree| {
        (tree.feature.clone(), tree.threshold.clone(), tree.left.clone(), tree.right.clone(), tree.n_samples.clone())
    };
    assert_eq!(tests(tree), tests(expected));
    assert_eq!(tree.default_left, expected.default_left);
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < values * b.abs().max(1.0));
    assert!(close(&tree.value, &expected.value));
    assert!(close(&tree.impurity, &expected.impurity));
    assert!(tree.weight.iter().zip(&expected.weight).all(|(a, b)| (a / b - 1.0).abs() < weights));
}

#[test]
fn a_tree_from_sums_is_that_of_the_histogram_in_memory() {
    let parts = parts(5, 900);
    let all = together(&parts);
    for target in [Target::RelativeProbability, Target::LogRatio, Target::Probability] {
        for (leaves, min_gain) in [(2, 0.0), (17, 5e-4), (120, 1e-6)] {
            let params = FitParams { max_leaf_nodes: leaves, min_gain, target, ..FitParams::default() };
            let mut grown = Vec::new();
            for mut readers in readers(&parts) {
                let survey = survey(&readers);
                let Weighing { lift, total } = survey.weighing(params.balance).unwrap();
                let coder = Coder { bins: survey.bins(40), target, lift, total };
                let (units, bins) = ((coder.scale(), coder.unit()), coder.bins.clone());
                assert_eq!(
                    bins.iter().map(|b| (b.edges.len(), b.apart)).collect::<Vec<_>>(),
                    [(2, true), (9, true), (40, false)]
                );
                readers.coder = Some(coder);
                let tree = grow_by_sums(&mut readers, &bins, units, &params).unwrap();
                assert!(readers.rounds <= 2 + tree.depth(), "{} rounds for depth {}", readers.rounds, tree.depth());
                grown.push((tree, bins));
            }
            assert_eq!(grown[0], grown[1], "in whatever hands the parts are");
            let rows = target::rows(&all, target, params.balance, None).unwrap();
            let recipe = recipe(&params, rows.variance()).engine(Engine::Histogram { max_bins: 40 });
            let data = TreeData { x: &rows.x, width: 3, targets: Targets::Values(&rows.y), weight: Some(&rows.weight) };
            let (tree, bins) = &grown[0];
            let expected = fit_tree_in_bins(data, bins, &recipe).unwrap();
            assert!(tree.leaves() > leaves / 2, "{}", tree.leaves());
            assert_same(tree, &expected, [1e-12, 1e-12]);
        }
    }
}

#[test]
fn leaves_that_weigh_next_to_nothing_keep_their_digits() {
    let mut parts = parts(5, 900);
    for table in &mut parts {
        // Choices of little weight among those of much, which one feature tells apart.
        for c in 0..table.choices.len() {
            let (first, rows) = (table.choices[c].first_row, table.choice(c).len());
            match c % 9 {
                0 => (first..first + rows).for_each(|row| table.x[3 * row + 2] += 100.0),
                _ => table.choices[c].weight *= 1e7,
            }
        }
    }
    let mut readers = readers(&parts).remove(1);
    let survey = survey(&readers);
    let params = FitParams { max_leaf_nodes: 4000, min_gain: 0.0, ..FitParams::default() };
    let Weighing { lift, total } = survey.weighing(params.balance).unwrap();
    let coder = Coder { bins: survey.bins(40), target: params.target, lift, total };
    let (units, bins) = ((coder.scale(), coder.unit()), coder.bins.clone());
    readers.coder = Some(coder);
    let tree = grow_by_sums(&mut readers, &bins, units, &params).unwrap();
    let all = together(&parts);
    let rows = target::rows(&all, params.target, params.balance, None).unwrap();
    let mut sums = vec![[0.0; 2]; tree.value.len()];
    for ((x, y), weight) in rows.x.chunks_exact(3).zip(&rows.y).zip(&rows.weight) {
        let [of_weight, of_target] = &mut sums[tree.apply(x)];
        *of_weight += weight;
        *of_target += weight * y;
    }
    let mut light = 0;
    for (value, [weight, target]) in tree.value.iter().zip(&sums).filter(|(_, [weight, _])| *weight > 0.0) {
        assert!((value - target / weight).abs() < 1e-12, "{value} {}", target / weight);
        light += usize::from(*weight < 1e-6 * tree.weight[0]);
    }
    assert!(light > 20, "{light} leaves of little weight");
}

#[test]
fn coefficients_from_sums_are_those_of_all_choices() {
    let parts = parts(5, 400);
    let all = together(&parts);
    let factor = |feature, shape, threshold| Factor { feature, shape, threshold };
    let terms = [
        vec![factor(2, Shape::Linear, None)],
        vec![factor(2, Shape::Excess, Some(0.5))],
        vec![factor(0, Shape::Linear, None), factor(1, Shape::Above, Some(1.1))],
    ];
    let params = FitParams::default();
    let fitted: Vec<Additive> = readers(&parts)
        .into_iter()
        .map(|mut readers| {
            let weighing = survey(&readers).weighing(params.balance).unwrap();
            let terms = Terms { terms: terms.to_vec(), sharpness: 1.0, weighing };
            fit_terms_by_sums(&mut readers, &terms, params.ridge, None, |_| true).unwrap()
        })
        .collect();
    assert_eq!(fitted[0], fitted[1]);
    let choices = target::choices(&all, params.balance, None).unwrap();
    let data = choices.data();
    let x = crate::spline::columns(&data, &terms);
    let recipe = crate::LogitParams::default().ridge(params.ridge);
    let expected = crate::fit_logit(&crate::spline::wide(&data, &x, 3), &recipe).unwrap();
    for (found, expected) in fitted[0].terms.iter().zip(&expected.terms) {
        assert!((found.coefficient - expected.coefficient).abs() < 1e-10);
        assert!((found.sd / expected.sd - 1.0).abs() < 1e-12);
        let [found, expected] = [found, expected].map(|term| term.standard_error.unwrap());
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
    // A term that is the same for all candidates of every choice has no part in it, or is missed.
    let mut readers = readers(&parts).remove(0);
    let never = vec![factor(1, Shape::Above, Some(9.0))];
    let weighing = survey(&readers).weighing(params.balance).unwrap();
    let terms = Terms { terms: vec![terms[0].clone(), never], sharpness: 1.0, weighing };
    assert_eq!(fit_terms_by_sums(&mut readers, &terms, 1e-4, None, |_| false).unwrap().terms.len(), 1);
    let missed = fit_terms_by_sums(&mut readers, &terms, 1e-4, None, |_| true).unwrap_err();
    assert!(missed.0.contains("never differs"), "{missed:?}");

    let model = Model::Additive(fitted[0].clone());
    let temperature = fit_temperature_by_sums(&mut readers, &model).unwrap();
    assert!((temperature / fit_temperature(&model, &all) - 1.0).abs() < 1e-12);
}

#[test]
fn choices_are_drawn_alike_by_whoever_reads_them_and_keep_their_weight() {
    let parts = parts(5, 900);
    let mut drawn = Vec::new();
    for readers in readers(&parts) {
        let weighing = survey(&readers).weighing(0.8).unwrap();
        let total = weighing.total;
        let drawing = Drawing { weighing, most: Some(500) };
        let add = |sums: &mut DrawnChoices, part, table: &LevelTable| sums.add(part, &table.filter(crate::is_usable));
        let merge = |all: &mut DrawnChoices, some: DrawnChoices| {
            some.parts().iter().for_each(|(&part, table)| all.merge(part, table.clone()));
        };
        let sums = readers.each(|| DrawnChoices::new(drawing.clone()), add, merge);
        let table = sums.table(parts[0].filter(|_| false));
        let weight: f64 = table.drawn.as_ref().unwrap().iter().sum();
        assert!((weight / total - 1.0).abs() < 0.1, "{weight} of {total}");
        assert!((350..=600).contains(&table.choices.len()), "{}", table.choices.len());
        drawn.push(table);
    }
    assert_eq!(drawn[0], drawn[1]);
    let bins =
        |most| readers(&parts).iter().map(|readers| survey(readers).bins(most)).collect::<Vec<Vec<FeatureBins>>>();
    assert_eq!(bins(255)[0], bins(255)[1]);
    assert!(bins(8)[0].iter().all(|b| b.edges.len() <= 8));
    assert_eq!(Survey::new(3, 2, 10).weighing(0.8), None);
}
