//! The rules of one level for the page: pictures, text, the features used, the linear scores.

use super::{
    ReportError, augmented,
    coefficients::Coefficients,
    outline,
    plain::Plain,
    scorecard::{Known, Scorecard},
    tree::{Facts, Piece, children, pieces},
    words,
};
use sched_distill_core::{
    level::LevelSpec,
    model::{Additive, LevelModels, Model, NamedModel, Pairwise, Pick, Student, Tree},
};
use sched_distill_explain::{self as explainer, Importance};
use serde::Serialize;

/// Everything that the page shows of one level's models.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    pub(super) level: String,
    question: String,
    /// Name of the model that schedules.
    scheduler: String,
    /// The trees that schedule, one per regime; where none does, another one that was fitted.
    pub(super) trees: Vec<TreeView>,
    /// Sums of terms that schedule, one per regime.
    pub(super) cards: Vec<CardView>,
    pub(super) linear: Vec<LinearView>,
    features: Vec<FeatureRow>,
}

/// A sum of terms that schedules.
#[derive(Debug, Serialize)]
pub(super) struct CardView {
    /// Where it does; `None` for everywhere.
    place: Option<String>,
    /// Whether the candidate in the middle is taken instead of the best.
    median: bool,
    #[serde(flatten)]
    pub(super) card: Scorecard,
}

/// Which kinds of models the rules are.
#[derive(Debug, Serialize)]
pub(super) struct Kinds {
    trees: bool,
    cards: bool,
    /// Whether a whole decision is more than the decisions of its levels.
    flat: bool,
}

impl Kinds {
    pub(super) fn of(levels: &[Section], student: &Student) -> Self {
        let trees = levels.iter().any(|l| !l.trees.is_empty());
        let flat = levels.len() > 1 && !student.structure.is_hierarchical();
        Self { trees, cards: levels.iter().any(|l| !l.cards.is_empty()), flat }
    }
}

/// A linear score.
#[derive(Debug, Serialize)]
pub(super) struct LinearView {
    /// Whether it schedules.
    schedules: bool,
    /// Where it does; `None` for everywhere.
    place: Option<String>,
    #[serde(flatten)]
    pub(super) table: Coefficients,
}

/// A tree: pieces drawn, rules as text, importance.
#[derive(Debug, Serialize)]
pub(super) struct TreeView {
    /// Whether it schedules.
    schedules: bool,
    /// Where it does; `None` for everywhere.
    pub(super) place: Option<String>,
    /// Whether it compares two candidates.
    pairwise: bool,
    linear_leaves: bool,
    pub(super) leaves: usize,
    pub(super) depth: usize,
    pub(super) pieces: Vec<Piece>,
    outline: Vec<outline::Line>,
    /// Whether the lines say what reached them.
    facts: bool,
    /// Leaves that few training rows reach.
    few: usize,
    /// The feature that matters most.
    pub(super) first: Option<Importance>,
}

/// A feature that some rule of the level uses.
#[derive(Debug, Serialize)]
struct FeatureRow {
    anchor: String,
    name: String,
    called: String,
    unit: String,
    scope: &'static str,
    meaning: String,
    uses: usize,
}

/// A model with the place where it is the level's, as part of a regime.
struct Part {
    named: NamedModel,
    place: Option<String>,
    schedules: bool,
}

impl Part {
    fn tree(&self) -> Option<&Tree> {
        match &self.named.model {
            Model::Tree(tree) => Some(tree),
            Model::Pairwise(pairwise) => Some(&pairwise.tree),
            Model::Additive(_) | Model::Regime(_) => None,
        }
    }

    fn pairwise(&self) -> bool {
        matches!(self.named.model, Model::Pairwise(_))
    }
}

/// Draws and words the models of one level. `index` is the level's place, `slug` its name in file names.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(
    models: &LevelModels,
    spec: &LevelSpec,
    index: usize,
    slug: &str,
    known: Known<'_>,
) -> Result<Section, ReportError> {
    let scheduler = models.scheduler();
    let others = models.models.iter().filter(|m| m.name != scheduler.name);
    let all: Vec<Part> = std::iter::once(scheduler)
        .chain(others)
        .flat_map(|named| parts(named, spec, known.plain, named.name == scheduler.name))
        .collect();
    let mut trees: Vec<(&Part, &Tree)> = all.iter().filter_map(|p| Some((p, p.tree()?))).collect();
    let scheduling = trees.iter().filter(|(p, _)| p.schedules).count();
    trees.truncate(scheduling.max(1));
    // What a tree's columns mean: those of a pair if it compares two candidates.
    let pair = Pairwise::level(spec);
    let columns = |pairwise| if pairwise { (&pair, format!("f-{index}-pair-")) } else { (spec, format!("f-{index}-")) };
    let view = |(i, (part, tree)): (usize, &(&Part, &Tree))| {
        let slug = if i == 0 { slug.to_owned() } else { format!("{slug}-{}", i + 1) };
        tree_view(part, tree, spec, columns(part.pairwise()), &slug, known)
    };
    let linear = |part: &Part| {
        let table = Coefficients::new(&part.named, spec, known.plain, slug)?;
        Some(LinearView { schedules: part.schedules, place: part.place.clone(), table })
    };
    let card = |(i, (part, sum)): (usize, (&Part, &Additive))| {
        let slug = if i == 0 { slug.to_owned() } else { format!("{slug}-{}", i + 1) };
        let card = Scorecard::new(&part.named, sum, spec, &slug, known);
        CardView { place: part.place.clone(), median: models.pick == Pick::Median, card }
    };
    let sums = all.iter().filter(|p| p.schedules).filter_map(|p| match &p.named.model {
        Model::Additive(sum) => Some((p, sum)),
        _ => None,
    });
    let cards: Vec<CardView> = sums.enumerate().map(card).collect();
    let uses = |feature: usize, pairwise: bool| {
        let tests = |t: &Tree| {
            (0..t.feature.len()).filter(|&n| children(t, n).is_some() && t.feature[n] as usize == feature).count()
        };
        trees.iter().filter(|(p, _)| p.pairwise() == pairwise).map(|(_, t)| tests(t)).sum::<usize>()
    };
    let without_tree = trees.is_empty();
    let rows = |pairwise| {
        let (spec, anchor) = columns(pairwise);
        let row = |(i, f): (usize, &sched_distill_core::level::FeatureSpec)| FeatureRow {
            anchor: format!("{anchor}{i}"),
            name: f.name.clone(),
            called: known.plain.full_label(&spec.name, f),
            unit: f.unit.clone(),
            scope: words::scope(f.scope),
            meaning: spec.meaning(i),
            uses: uses(i, pairwise),
        };
        let rows: Vec<FeatureRow> = spec.features.iter().enumerate().map(row).collect();
        rows.into_iter().filter(move |row| row.uses > 0 || without_tree && !pairwise)
    };
    Ok(Section {
        level: spec.name.clone(),
        question: spec.question.clone(),
        scheduler: scheduler.name.clone(),
        trees: trees.iter().enumerate().map(view).collect::<Result<_, _>>()?,
        cards,
        linear: all.iter().filter_map(linear).collect(),
        features: rows(false).chain(rows(true)).collect(),
    })
}

/// The models of a regime, each with its place and others as they are.
fn parts(named: &NamedModel, spec: &LevelSpec, plain: Plain<'_>, schedules: bool) -> Vec<Part> {
    let Model::Regime(regime) = &named.model else {
        return vec![Part { named: named.clone(), place: None, schedules }];
    };
    let places = augmented::places(regime, spec, plain);
    let part = |(i, model): (usize, &Model)| {
        let named =
            NamedModel { name: format!("{}, regime {}", named.name, i + 1), model: model.clone(), ..named.clone() };
        let of_model: Vec<&str> = places.iter().filter(|(_, m)| *m == i).map(|(place, _)| place.as_str()).collect();
        Part { named, place: Some(of_model.join(", or ")), schedules }
    };
    regime.models.iter().enumerate().map(part).collect()
}

fn tree_view(
    part: &Part,
    tree: &Tree,
    spec: &LevelSpec,
    (columns, anchor): (&LevelSpec, String),
    slug: &str,
    Known { plain, explained, .. }: Known<'_>,
) -> Result<TreeView, ReportError> {
    // Facts at nodes are of the tree that schedules.
    let explained = explained.filter(|e| e.model == part.named.name);
    let choices: f64 = explained.map_or(0.0, |e| e.sample.iter().map(|k| k.choices as f64).sum());
    let facts = Facts::new(tree, columns, anchor, plain);
    let outline = outline::lines(&facts, explained.map_or(&[], |e| &e.nodes), choices);
    let importance = explainer::importance(&part.named.model, spec);
    Ok(TreeView {
        schedules: part.schedules,
        place: part.place.clone(),
        pairwise: part.pairwise(),
        linear_leaves: tree.linear.is_some(),
        leaves: tree.leaves(),
        depth: tree.depth(),
        pieces: pieces(&facts, slug)?,
        facts: explained.is_some_and(|e| !e.nodes.is_empty()),
        few: outline.iter().filter(|l| l.few).count(),
        outline,
        first: importance.first().filter(|i| i.share > 0.0).cloned(),
    })
}
