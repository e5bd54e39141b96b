//! What the page's scripts need to decide as the student does, after a reader has changed a figure or a rule: the student without what was
//! measured of it, recorded choices, and the places of its numbers in words.

use super::{
    ReportError,
    decision::embedded,
    plain::Plain,
    tree::children,
    words::{self, number},
};
use sched_distill_core::{
    level::{FeatureSpec, LevelSpec, NONE_FLAG, Scope},
    model::{Additive, Factor, Model, Pairwise, Place, Shape, Slot, Student, Term, Tree},
};
use sched_distill_explain::{self as explainer, WhatIf, WhatIfLevel, families};
use serde::Serialize;
use serde_json::Value;

/// Numbers of a level that a reader can change at most: a list of more is no list to choose from.
const PLACES: usize = 400;

/// What the page shows.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// The levels, in the order of the data.
    levels: Vec<LevelView>,
    /// Whether a whole decision is more than the decisions of its levels.
    flat: bool,
    /// The data as JSON that can stand in a page.
    json: String,
}

/// What the page says of a level.
#[derive(Debug, Serialize)]
struct LevelView {
    /// Its place in the data.
    index: usize,
    level: String,
    /// Choices that were drawn.
    choices: usize,
    /// How many numbers there are, where not all can be changed here.
    numbers: Option<usize>,
}

/// What the scripts read.
#[derive(Serialize)]
struct Data<'a> {
    student: Value,
    levels: Vec<LevelData<'a>>,
}

#[derive(Serialize)]
struct LevelData<'a> {
    #[serde(flatten)]
    recorded: &'a WhatIfLevel,
    /// Names of the level's features for readers, by column.
    labels: Vec<String>,
    /// Quantities that others are formed from.
    families: Vec<Family>,
    /// Columns that are quantities of their own.
    free: Vec<usize>,
    /// By model of a regime (one, where there is none) and node: the conditions that hold on its left and right.
    tests: Vec<Vec<Option<[String; 2]>>>,
    places: Vec<PlaceView>,
    guards: Vec<GuardView>,
}

/// Columns that move together.
#[derive(Serialize)]
struct Family {
    base: usize,
    rank: Option<usize>,
    ratio: Option<usize>,
    /// Whether the ratio is one of times.
    time: bool,
}

/// A number that a reader may change.
#[derive(Serialize)]
struct PlaceView {
    /// As `distill patch` calls it.
    place: String,
    /// The way to it in the student's JSON.
    at: Vec<Step>,
    /// Whether it is a 32-bit float.
    single: bool,
    group: &'static str,
    words: String,
    now: f64,
    unit: String,
    scope: Scope,
    /// Column of the feature that it is compared with, if it is compared with a feature as it is.
    column: Option<usize>,
    /// From where to where it is moved, where it is compared with nothing.
    range: [f64; 2],
    /// The guard that it belongs to.
    guard: Option<usize>,
}

#[derive(Clone, Serialize)]
#[serde(untagged)]
enum Step {
    Field(&'static str),
    Place(usize),
}

#[derive(Serialize)]
struct GuardView {
    /// Its number in the student.
    guard: usize,
    words: String,
}

/// Prepares the data; `None` if there is no choice.
///
/// # Errors
///
/// [`ReportError::Chart`] if they cannot be written as JSON.
pub(super) fn section(what_if: &WhatIf, student: &Student, plain: Plain<'_>) -> Result<Option<Section>, ReportError> {
    let student = scheduling(student);
    let (mut levels, mut data) = (Vec::new(), Vec::new());
    for recorded in what_if.levels.iter().filter(|l| !l.choices.is_empty()) {
        let Some(at) = student.levels.iter().position(|l| l.level == recorded.level) else { continue };
        let Some(spec) = student.feature_set.level(&recorded.level) else { continue };
        let mut places = places(&student, at, spec, plain);
        let all = places.len();
        places.truncate(PLACES);
        levels.push(LevelView {
            index: levels.len(),
            level: spec.name.clone(),
            choices: recorded.choices.iter().filter(|c| c.drawn).count(),
            numbers: (all > PLACES).then_some(all),
        });
        let base = |f: &FeatureSpec| matches!(f.scope, Scope::Absolute | Scope::Share) && f.name != NONE_FLAG;
        let of_level = student.guards.iter().enumerate().filter(|(_, g)| g.level == spec.name);
        data.push(LevelData {
            recorded,
            labels: spec.features.iter().map(|f| plain.full_label(&spec.name, f)).collect(),
            families: formed(spec),
            free: (0..spec.features.len()).filter(|&column| base(&spec.features[column])).collect(),
            tests: tests(&student.levels[at].scheduler().model, spec, plain),
            places,
            guards: of_level.map(|(guard, g)| GuardView { guard, words: g.to_string() }).collect(),
        });
    }
    if data.is_empty() {
        return Ok(None);
    }
    let unwritable = |e: serde_json::Error| ReportError::Chart { name: "what_if".to_owned(), reason: e.to_string() };
    let flat = !student.structure.is_hierarchical();
    let text =
        serde_json::to_string(&Data { student: without_history(&student)?, levels: data }).map_err(unwritable)?;
    Ok(Some(Section { levels, flat, json: embedded(&text) }))
}

/// The student with the models that schedule alone, each the first of its level.
fn scheduling(student: &Student) -> Student {
    let mut student = student.clone();
    for level in &mut student.levels {
        level.models = vec![level.scheduler().clone()];
    }
    student
}

/// The student's JSON without what decides nothing: where it comes from, and what the training rows were.
fn without_history(student: &Student) -> Result<Value, ReportError> {
    const HISTORY: [&str; 13] = [
        "provenance",
        "patches",
        "evidence",
        "feature_set_hash",
        "impurity",
        "n_samples",
        "weight",
        "sd",
        "standard_error",
        "meaning",
        "question",
        "candidates",
        "version",
    ];
    fn prune(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !HISTORY.contains(&name.as_str()));
                fields.values_mut().for_each(prune);
            }
            Value::Array(list) => list.iter_mut().for_each(prune),
            _ => {}
        }
    }
    let mut value = super::to_data("what_if", student)?;
    prune(&mut value);
    Ok(value)
}

/// The quantities of a level with what is formed from them.
fn formed(spec: &LevelSpec) -> Vec<Family> {
    let family = |family: explainer::Family| {
        let with = |scope: Scope| family.columns.iter().copied().find(|&c| spec.features[c].scope == scope);
        let base = family.columns.iter().copied().find(|&c| spec.features[c].name == family.name)?;
        let (rank, ratio) = (with(Scope::Rank), with(Scope::Ratio));
        let formed = rank.is_some() || ratio.is_some();
        formed.then_some(Family { base, rank, ratio, time: spec.features[base].unit == "ms" })
    };
    families(spec).into_iter().filter_map(family).collect()
}

/// The tests of the trees that score choices, in words.
fn tests(model: &Model, spec: &LevelSpec, plain: Plain<'_>) -> Vec<Vec<Option<[String; 2]>>> {
    let of_tree = |tree: &Tree| {
        let node = |node: usize| {
            children(tree, node)?;
            let feature = &spec.features[tree.feature[node] as usize];
            let test = plain.test(&spec.name, feature, tree.threshold[node]);
            Some([test.left, test.right])
        };
        (0..tree.nodes()).map(node).collect()
    };
    match model {
        Model::Tree(tree) => vec![of_tree(tree)],
        Model::Regime(regime) => {
            let of_model = |m: &Model| if let Model::Tree(tree) = m { of_tree(tree) } else { Vec::new() };
            regime.models.iter().map(of_model).collect()
        }
        Model::Additive(_) | Model::Pairwise(_) => Vec::new(),
    }
}

/// The numbers of a level's model and of its guards.
fn places(student: &Student, level: usize, spec: &LevelSpec, plain: Plain<'_>) -> Vec<PlaceView> {
    let model = &student.levels[level].scheduler().model;
    let root = [Step::Field("levels"), Step::Place(level), Step::Field("models"), Step::Place(0), Step::Field("model")];
    let pair = Pairwise::level(spec);
    let describer = Describer { model, spec, pair: &pair, plain };
    let view = |place: Place| {
        let now = student.number(&place)?;
        let name = student.place_name(&place);
        match place {
            Place::Model { level: of, slot } if of == level => {
                let Described { group, words, at, feature, column } = describer.slot(slot)?;
                let span = if matches!(slot, Slot::Value { .. }) { describer.span(now) } else { around(now) };
                let single = place.is_single();
                let at = root.iter().cloned().chain(at).collect();
                Some(PlaceView::new(name, at, (single, now), (group, words), (feature, column), span))
            }
            Place::Guard { guard, condition } => {
                let g = student.guards.get(guard).filter(|g| g.level == spec.name)?;
                let column = spec.features.iter().position(|f| f.name == g.when[condition].feature)?;
                let at = [
                    Step::Field("guards"),
                    Step::Place(guard),
                    Step::Field("when"),
                    Step::Place(condition),
                    Step::Field("value"),
                ];
                let words = format!("guard {guard}, {}: what `{}` is compared with", g, g.when[condition].feature);
                let of = (Some(&spec.features[column]), Some(column));
                let view = PlaceView::new(name, at.to_vec(), (true, now), ("values of guards", words), of, around(now));
                Some(PlaceView { guard: Some(guard), ..view })
            }
            Place::Model { .. } => None,
        }
    };
    student.places().into_iter().filter_map(view).collect()
}

impl PlaceView {
    fn new(
        place: String,
        at: Vec<Step>,
        (single, now): (bool, f64),
        (group, words): (&'static str, String),
        (feature, column): (Option<&FeatureSpec>, Option<usize>),
        range: [f64; 2],
    ) -> Self {
        let (unit, scope) = feature.map_or(("1", Scope::Absolute), |f| (f.unit.as_str(), f.scope));
        Self { place, at, single, group, words, now, unit: unit.to_owned(), scope, column, range, guard: None }
    }
}

/// From its negative to twice the number; around 0, from −1 to 1.
fn around(now: f64) -> [f64; 2] {
    let size = if now == 0.0 { 1.0 } else { 2.0 * now.abs() };
    [-size, size]
}

/// A number of a model: what it is, where it stands in the model's JSON, and the feature in whose unit it is.
struct Described<'a> {
    group: &'static str,
    words: String,
    at: Vec<Step>,
    feature: Option<&'a FeatureSpec>,
    column: Option<usize>,
}

/// Puts the places of a model in words.
struct Describer<'a> {
    model: &'a Model,
    spec: &'a LevelSpec,
    /// The columns of a pair.
    pair: &'a LevelSpec,
    plain: Plain<'a>,
}

impl<'a> Describer<'a> {
    /// The tree that the numbers of nodes belong to, its columns, and where it stands in the model.
    fn tree(&self) -> Option<(&'a Tree, &'a LevelSpec, Vec<Step>)> {
        match self.model {
            Model::Tree(tree) => Some((tree, self.spec, Vec::new())),
            Model::Pairwise(pairwise) => Some((&pairwise.tree, self.pair, vec![Step::Field("tree")])),
            Model::Regime(regime) => Some((&regime.tree, self.spec, vec![Step::Field("tree")])),
            Model::Additive(_) => None,
        }
    }

    /// From the least to the greatest score of a leaf, and a quarter more on both sides.
    fn span(&self, now: f64) -> [f64; 2] {
        let Some((tree, ..)) = self.tree() else { return around(now) };
        let leaves = (0..tree.nodes()).filter(|&node| tree.is_leaf(node)).map(|node| tree.node_value(node)[0]);
        let (low, high) = leaves.fold((now, now), |(low, high), v| (low.min(v), high.max(v)));
        if high > low { [low - (high - low) / 4.0, high + (high - low) / 4.0] } else { around(now) }
    }

    fn slot(&self, slot: Slot) -> Option<Described<'a>> {
        match slot {
            Slot::Threshold { node } | Slot::Border { node } => {
                let (tree, spec, mut at) = self.tree()?;
                let column = tree.feature[node] as usize;
                let feature = &spec.features[column];
                let test = self.plain.test(&spec.name, feature, tree.threshold[node]);
                at.extend([Step::Field("threshold"), Step::Place(node)]);
                let border = matches!(slot, Slot::Border { .. });
                Some(Described {
                    group: if border { "borders of regimes" } else { "thresholds" },
                    words: format!("node {node}: {} {}", test.subject, test.question),
                    at,
                    feature: Some(feature),
                    column: (column < self.spec.features.len()).then_some(column),
                })
            }
            Slot::Value { node } => {
                let (tree, spec, mut at) = self.tree()?;
                at.extend(match tree.linear {
                    Some(_) => vec![Step::Field("linear"), Step::Field("intercept"), Step::Place(node)],
                    None => vec![Step::Field("value"), Step::Place(node * tree.outputs)],
                });
                let value = number(tree.linear.as_ref().map_or(tree.node_value(node)[0], |l| l.intercept[node]));
                let words = format!("leaf {node}, {}: {value}", reached(tree, spec, self.plain, node));
                Some(Described { group: "scores at leaves", words, at, feature: None, column: None })
            }
            Slot::LeafTerm { node, column } => {
                let (tree, spec, mut at) = self.tree()?;
                let linear = tree.linear.as_ref()?;
                let entry = linear.terms(node).position(|(c, _)| c == column)?;
                let first = linear.start[node] as usize;
                at.extend([Step::Field("linear"), Step::Field("coefficient"), Step::Place(first + entry)]);
                let feature = self.plain.full_label(&self.spec.name, &self.spec.features[column]);
                let words = format!("leaf {node}, {}: times {feature}", reached(tree, spec, self.plain, node));
                Some(Described { group: "coefficients", words, at, feature: None, column: None })
            }
            Slot::Feature { .. } | Slot::Term { .. } => {
                let Model::Additive(Additive { terms, .. }) = self.model else { return None };
                let term = match slot {
                    Slot::Feature { column } => terms.iter().position(|t| t.feature() == Some(column as u32))?,
                    Slot::Term { term } => term,
                    _ => return None,
                };
                let words = format!("{} times {}", number(terms[term].coefficient), self.term(&terms[term]));
                let at = vec![Step::Field("terms"), Step::Place(term), Step::Field("coefficient")];
                Some(Described { group: "coefficients", words, at, feature: None, column: None })
            }
            Slot::Knot { term, factor } => {
                let Model::Additive(Additive { terms, .. }) = self.model else { return None };
                let column = terms[term].factors[factor].feature as usize;
                let at = vec![
                    Step::Field("terms"),
                    Step::Place(term),
                    Step::Field("factors"),
                    Step::Place(factor),
                    Step::Field("threshold"),
                ];
                Some(Described {
                    group: "where terms step or bend",
                    words: format!("term {term}: {}", self.factor(&terms[term].factors[factor])),
                    at,
                    feature: Some(&self.spec.features[column]),
                    column: Some(column),
                })
            }
        }
    }

    fn factor(&self, factor: &Factor) -> String {
        let feature = &self.spec.features[factor.feature as usize];
        let threshold = words::quantity(f64::from(factor.threshold.unwrap_or(0.0)), feature);
        let name = self.plain.full_label(&self.spec.name, feature);
        match factor.shape {
            Shape::Linear => name,
            Shape::Log => format!("ln(1 + {name})"),
            Shape::Above => format!("[{name} > {threshold}]"),
            Shape::Excess => format!("({name} above {threshold})"),
        }
    }

    fn term(&self, term: &Term) -> String {
        term.factors.iter().map(|f| self.factor(f)).collect::<Vec<_>>().join(" × ")
    }
}

/// The last condition on the way to a node.
fn reached(tree: &Tree, spec: &LevelSpec, plain: Plain<'_>, node: usize) -> String {
    let parent = (0..node).find(|&parent| children(tree, parent).is_some_and(|both| both.contains(&node)));
    let Some(parent) = parent else { return "the only one".to_owned() };
    let feature = &spec.features[tree.feature[parent] as usize];
    let test = plain.test(&spec.name, feature, tree.threshold[parent]);
    if tree.left[parent] as usize == node { test.left } else { test.right }
}
