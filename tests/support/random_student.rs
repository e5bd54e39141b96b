//! Students and questions at random: models of every kind, guards, both structures, hostile names, and candidates on thresholds, beside
//! them, missing, infinite and equal.

use crate::random_tree::random_tree;
use sched_distill::{
    level::{Control, FeatureSet, FeatureSpec, LevelSpec, NONE_FLAG, Scope, Words},
    model::{
        Action, Additive, Condition, Evidence, Factor, Guard, LevelModels, Model, NamedModel, Operator, Pairwise, Pick,
        Provenance, Regime, Shape, Structure, Student, Term,
    },
    rng::{Stream, hash},
    scenario::{Catalogue, Questions, Scenario, ScenarioInfo},
};
use std::sync::LazyLock;

/// What would break out of strings, comments and identifiers.
pub(crate) const HOSTILE: [&str; 12] = [
    "*/ int injected = 1; /*",
    "\"; int injected = 1; //",
    "\n#error injected\n",
    "\u{202e}\u{2066}injected\u{2028} = 1;",
    "injected ??/",
    "injected \\u000a injected \\",
    "int",
    "INT",
    "fn injected() {} //",
    "{} {injected} %s",
    "größe",
    "größe ",
];

fn feature(name: &str, i: usize) -> FeatureSpec {
    let prose = HOSTILE[i % HOSTILE.len()];
    FeatureSpec {
        name: name.to_owned(),
        unit: format!("ms{prose}"),
        meaning: format!("How. {prose}"),
        scope: Scope::Absolute,
        version: 1,
        whole: false,
        control: Control::Declared,
    }
}

/// Three levels with hostile names; the first may give nothing.
pub(crate) fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(|| {
        let level = |name: &str, entity: &str, names: &[&str]| LevelSpec {
            name: name.to_owned(),
            question: format!("Which? {}", HOSTILE[0]),
            candidates: format!("Whoever. {}", HOSTILE[3]),
            entities: vec![entity.to_owned()],
            features: names.iter().enumerate().map(|(i, name)| feature(name, i)).collect(),
        };
        let levels = vec![
            level("union", "job", &[&[NONE_FLAG][..], &HOSTILE[..6]].concat()),
            level(HOSTILE[1], "stage", &HOSTILE[5..9]),
            level("2nd */ \\", "amount", &HOSTILE[9..]),
        ];
        FeatureSet { scenario: INFO_NAME.to_owned(), levels }
    });
    &SET
}

const INFO_NAME: &str = "given \"; int injected = 1; //??/";

/// A scenario whose candidates are drawn at random, the same ones at the same path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given;

/// A question: what it is drawn from, and values that matter to the student.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) seed: u64,
    pub(crate) values: &'a [f32],
}

#[derive(Clone, Default)]
pub(crate) struct Draws;

impl Scenario for Given {
    const INFO: ScenarioInfo = ScenarioInfo {
        name: INFO_NAME,
        meaning: "",
        kinds: &[],
        regime: "",
        feature_set,
        words: Words::default,
        figures: &[],
        catalogue: Catalogue::EMPTY,
        lane: "",
        part: "",
        parts: &[],
        may_abstain: false,
    };
    type View<'a> = View<'a>;
    type State = crate::replay::Untold<Self>;
    type Decision = usize;
    type Questions = Draws;

    fn time_ms(_: &View<'_>) -> f64 {
        0.0
    }

    fn kind(_: &View<'_>) -> u8 {
        0
    }

    const LISTS: &'static [&'static str] = &["decision"];

    fn items(_: &View<'_>) -> usize {
        0
    }

    fn item(_: &View<'_>, _: usize) -> Option<usize> {
        None
    }
}

impl Questions<Given> for Draws {
    fn update(&mut self, _: &View<'_>) {}

    fn rows(&mut self, seen: &View<'_>, path: &[usize], abstains: bool, out: &mut Vec<f32>) -> usize {
        let Some(level) = feature_set().levels.get(path.len()) else { return 0 };
        let key: Vec<u64> =
            [seen.seed, u64::from(abstains)].into_iter().chain(path.iter().map(|&p| p as u64)).collect();
        let (mut s, mut first) = (Stream::new(hash(&key), "rows"), Stream::new(seen.seed, "candidates"));
        let at_first = 1 + [0, 2, 5, 12, 40][first.below(5)];
        let n = match path {
            [] if s.below(50) == 0 => 0,
            [] => at_first,
            // Who gives nothing comes last.
            &[job] if abstains && job == at_first => return 0,
            _ => [0, 1, 2, 3, 7][s.below(5)].max(usize::from(s.below(8) > 0)),
        };
        let width = level.features.len();
        let special = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, f32::MAX, 1e-45];
        // Questions with many special values, and those with few.
        let rare = [3, 20, 1000][first.below(3)];
        for i in 0..n {
            match i > 0 && s.below(3) == 0 {
                // As another candidate, so that scores are equal.
                true => {
                    let row = out.len() - width * (1 + s.below(i));
                    out.extend_from_within(row..row + width);
                }
                false => out.extend((0..width).map(|_| match s.below(rare) {
                    0 => special[s.below(special.len())],
                    _ => {
                        let value = seen.values[s.below(seen.values.len())];
                        [value, value.next_up(), value.next_down(), (s.normal() * 4.0) as f32][s.below(4)]
                    }
                })),
            }
        }
        if !path.is_empty() || n == 0 {
            return n;
        }
        out.iter_mut().step_by(width).for_each(|flag| *flag = 0.0);
        if abstains {
            out.push(1.0);
            out.extend((1..width).map(|_| 0.0));
        }
        n + usize::from(abstains)
    }

    fn decision(&self, _: &View<'_>, path: &[usize]) -> usize {
        path.len()
    }

    fn count(&self, seen: &View<'_>, path: &[usize], abstains: bool) -> usize {
        self.clone().rows(seen, path, abstains, &mut Vec::new())
    }

    fn entity(&self, _: &View<'_>, _: &[usize], _: &mut Vec<u32>) {}

    fn place(&self, _: &View<'_>, _: &[usize], _: usize) -> Option<usize> {
        None
    }
}

/// A sum of terms of every shape, or of features as they are.
fn sum(s: &mut Stream, width: usize) -> Model {
    let shapes = [Shape::Linear, Shape::Log, Shape::Above, Shape::Excess];
    let linear = s.below(2) == 0;
    let factor = |s: &mut Stream| {
        let shape = if linear { Shape::Linear } else { shapes[s.below(4)] };
        let threshold = matches!(shape, Shape::Above | Shape::Excess).then(|| (s.normal() * 4.0).round() as f32 / 4.0);
        Factor { feature: s.below(width) as u32, shape, threshold }
    };
    let term = |s: &mut Stream| {
        let factors = (0..1 + s.below(2)).map(|_| factor(s)).collect();
        let coefficient = if s.below(8) == 0 { 0.0 } else { s.normal() };
        Term { factors, ..Term::linear(0, coefficient, 1.0) }
    };
    let terms = (0..s.below(6)).map(|_| term(s)).collect();
    Model::Additive(Additive { intercept: s.normal(), terms })
}

fn model(s: &mut Stream, width: usize, kind: usize) -> Model {
    let seed = s.bits();
    let leaves = 1 + s.below(30);
    match kind {
        0 => Model::Tree(random_tree(seed, leaves, width, 1, 0.2, false)),
        1 => Model::Tree(random_tree(seed, leaves, width, 1, 0.2, true)),
        2 => Model::Tree(random_tree(seed, leaves, width, 3, 0.2, false)),
        3 => sum(s, width),
        4 => Model::Pairwise(Pairwise { tree: random_tree(seed, leaves, 2 * width, 1, 0.2, false) }),
        _ => {
            let n = 1 + s.below(4);
            let mut tree = random_tree(seed, 2 * n, width, 1, 0.2, false);
            tree.value.iter_mut().for_each(|value| *value = s.below(n) as f64);
            Model::Regime(Regime {
                tree,
                models: (0..n)
                    .map(|_| {
                        let kind = s.below(5);
                        model(s, width, kind)
                    })
                    .collect(),
            })
        }
    }
}

/// A student of any models, with guards; its seed chooses kinds and structure in turn.
pub(crate) fn student(seed: u64) -> Student {
    let mut s = Stream::new(seed, "student");
    let set = feature_set();
    let flat = seed % 2 == 1;
    let mut kind = seed as usize;
    let mut level = |level: &LevelSpec, s: &mut Stream| {
        kind += 1;
        let mut named = |name: &str, kind: usize| NamedModel {
            name: name.to_owned(),
            temperature: 0.05 + s.uniform(),
            model: model(s, level.features.len(), kind % 6),
        };
        let models = vec![named("*/ used", kind), named("other", kind + 1)];
        let mut level_models = LevelModels::new(&level.name, "*/ used", models);
        if s.below(2) == 0 && (!flat || level.is_amount()) {
            level_models.pick = Pick::Median;
        }
        level_models
    };
    let levels = set.levels.iter().map(|l| level(l, &mut s)).collect();
    let provenance = Provenance {
        teacher: HOSTILE.concat(),
        workload: format!("x {}", HOSTILE[5]),
        trace_hash: HOSTILE[0].to_owned(),
        ..Provenance::default()
    };
    let mut student = Student::new(set.clone(), s.below(2) == 0, levels, provenance);
    if flat {
        student.structure = Structure::Flat;
    }
    student.guards = (0..s.below(6)).map(|i| guard(&mut s, i)).collect();
    student
}

pub(crate) fn guard(s: &mut Stream, i: usize) -> Guard {
    let level = &feature_set().levels[s.below(3)];
    let condition = |s: &mut Stream| Condition {
        feature: level.features[s.below(level.features.len())].name.clone(),
        operator: [Operator::Above, Operator::AtLeast, Operator::Below, Operator::AtMost][s.below(4)],
        value: (s.normal() * 4.0).round() as f32 / 4.0,
    };
    Guard {
        level: level.name.clone(),
        when: (0..1 + s.below(2)).map(|_| condition(s)).collect(),
        action: [Action::First, Action::Last, Action::Never][s.below(3)],
        evidence: Evidence { reason: HOSTILE[i].to_owned(), ..Evidence::default() },
    }
}

/// Values on which a student's tests turn.
pub(crate) fn values(student: &Student) -> Vec<f32> {
    fn of(model: &Model, out: &mut Vec<f32>) {
        match model {
            Model::Tree(tree) | Model::Pairwise(Pairwise { tree }) => out.extend(&tree.threshold),
            Model::Additive(sum) => out.extend(sum.terms.iter().flat_map(|t| &t.factors).filter_map(|f| f.threshold)),
            Model::Regime(regime) => {
                out.extend(&regime.tree.threshold);
                regime.models.iter().for_each(|model| of(model, out));
            }
        }
    }
    let mut out = vec![0.0];
    student.levels.iter().flat_map(|l| &l.models).for_each(|m| of(&m.model, &mut out));
    out.extend(student.guards.iter().flat_map(|g| &g.when).map(|c| c.value));
    out
}
