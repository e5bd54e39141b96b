//! Students that are sound and say next to nothing: empty, constant, cancelled and one-term models of every kind, numbers at the ends of
//! what a float holds, and guards that nobody or everybody meets.

use sched_distill::{
    level::{FLAG, FeatureSet, LevelSpec},
    model::{
        Action, Additive, Condition, Evidence, Factor, Guard, LevelModels, LinearLeaves, Model, NamedModel, Operator,
        Pairwise, Pick, Provenance, Regime, Shape, Structure, Student, Term, Tree,
    },
};

/// How many kinds of model there are.
pub(crate) const KINDS: usize = 24;

fn factor(feature: u32, shape: Shape, threshold: Option<f32>) -> Factor {
    Factor { feature, shape, threshold }
}

fn term(coefficient: f64, factors: &[Factor]) -> Term {
    Term { factors: factors.to_vec(), ..Term::linear(0, coefficient, 0.0) }
}

fn sum(terms: Vec<Term>) -> Model {
    Model::Additive(Additive { intercept: 0.0, terms })
}

fn leaf(value: f64) -> Tree {
    Tree::leaf(value, 0.0, 0, 0.0)
}

/// A model that hardly is one.
fn model(spec: &LevelSpec, kind: usize) -> Model {
    let flag = spec.features.iter().position(|f| f.unit == FLAG).unwrap_or(0) as u32;
    let last = spec.features.len() as u32 - 1;
    let linear = |feature| factor(feature, Shape::Linear, None);
    let above = |feature, t| factor(feature, Shape::Above, Some(t));
    let excess = |feature, t| factor(feature, Shape::Excess, Some(t));
    match kind % KINDS {
        0 => sum(Vec::new()),
        1 => sum(vec![term(5e-324, &[linear(last)]), term(1e9, &[linear(flag)])]),
        // Never so, of a flag and of anything.
        2 => sum(vec![term(2.0, &[above(flag, 1.0), linear(last)]), term(1.0, &[linear(flag)])]),
        3 => sum(vec![term(2.0, &[above(flag, 1.0)])]),
        4 => sum(vec![term(2.5, &[linear(last)]), term(-2.5, &[linear(last)])]),
        5 => sum(vec![term(0.0, &[linear(last)])]),
        6 => sum(vec![term(1e308, &[linear(last)]), term(-1e308, &[excess(last, 1.0)])]),
        7 => sum(vec![term(1.0, &[excess(last, f32::MAX)]), term(-1.0, &[above(last, f32::MIN)])]),
        8 => sum(vec![term(1e300, &[linear(last), linear(last)]), term(1.0, &[factor(last, Shape::Log, None)])]),
        9 => sum(vec![term(5e-324, &[excess(last, -1e-45), above(flag, -1.0)])]),
        10 => sum(vec![term(-1e-300, &[factor(last, Shape::Log, None), above(last, 1e-45)])]),
        11 => Model::Additive(Additive { intercept: 1e308, terms: vec![term(1e308, &[linear(flag)])] }),
        12 => Model::Tree(leaf(0.0)),
        13 => Model::Tree(leaf(-1e308)),
        14 => Model::Tree(Tree::stump(last, 0.0, [1.0, 1.0])),
        15 => Model::Tree(Tree::stump(last, f32::MAX, [-1e308, 1e308])),
        16 => {
            let mut tree = leaf(0.0);
            (tree.outputs, tree.value) = (3, vec![0.0; 3]);
            Model::Tree(tree)
        }
        17 => {
            let mut tree = leaf(0.0);
            let nothing =
                LinearLeaves { intercept: vec![0.0], start: vec![0, 0], feature: vec![], coefficient: vec![] };
            tree.linear = Some(nothing);
            Model::Tree(tree)
        }
        18 => {
            let mut tree = Tree::stump(flag, 0.5, [0.0; 2]);
            let (start, feature) = (vec![0, 0, 1, 2], vec![last, last]);
            tree.linear = Some(LinearLeaves { intercept: vec![0.0; 3], start, feature, coefficient: vec![0.0, 1e308] });
            Model::Tree(tree)
        }
        19 => Model::Pairwise(Pairwise { tree: leaf(0.5) }),
        20 => Model::Pairwise(Pairwise { tree: Tree::stump(2 * last + 1, 0.0, [0.5, 0.5]) }),
        21 => Model::Regime(Regime { tree: leaf(0.0), models: vec![sum(Vec::new())] }),
        22 => Model::Regime(Regime::split(
            last,
            0.0,
            Model::Tree(leaf(0.0)),
            Model::Pairwise(Pairwise { tree: leaf(0.0) }),
        )),
        _ => Model::Regime(Regime::split(last, f32::MAX, sum(vec![term(1.0, &[above(flag, 1.0)])]), sum(Vec::new()))),
    }
}

/// A degenerate student of a scenario: each number gives other kinds to its levels.
pub(crate) fn degenerate(set: &FeatureSet, number: usize) -> Student {
    let temperatures = [1.0, 5e-324, 1e-300, 1e300, f64::MAX];
    let level = |(place, spec): (usize, &LevelSpec)| {
        let kind = number * set.levels.len() + place;
        let named = |name: &str, kind: usize| NamedModel {
            name: name.to_owned(),
            temperature: temperatures[kind % temperatures.len()],
            model: model(spec, kind),
        };
        let models = vec![named("used", kind), named("other", kind + 7)];
        let mut models = LevelModels::new(&spec.name, "used", models);
        if spec.is_amount() && number % 2 == 1 {
            models.pick = Pick::Median;
        }
        models
    };
    let levels = set.levels.iter().enumerate().map(level).collect();
    let mut student = Student::new(set.clone(), number.is_multiple_of(3), levels, Provenance::default());
    if number % 4 == 3 {
        student.structure = Structure::Flat;
    }
    let guard = |spec: &LevelSpec, operator, value, action| Guard {
        level: spec.name.clone(),
        when: vec![Condition { feature: spec.features[spec.features.len() - 1].name.clone(), operator, value }],
        action,
        evidence: Evidence::default(),
    };
    if number.is_multiple_of(2) {
        // Nobody meets the first, everybody the second.
        student.guards = set.levels.iter().map(|l| guard(l, Operator::Above, f32::MAX, Action::First)).collect();
        student.guards.push(guard(&set.levels[0], Operator::AtLeast, f32::MIN, Action::Never));
    }
    student
}
