//! The rules of one level for the page: pictures, text, the features used, the linear scores.

use super::ReportError;
use super::coefficients::Coefficients;
use super::tree::{Facts, Piece, children, pieces};
use super::{outline, words};
use crate::explainer::{self, Importance, LevelExplanation};
use crate::level::LevelSpec;
use crate::model::{LevelModels, Model, NamedModel, Pairwise, Tree};
use serde::Serialize;

/// Everything that the page shows of one level's models.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    pub(super) level: String,
    question: String,
    /// Name of the model that schedules.
    scheduler: String,
    pub(super) tree: Option<TreeView>,
    pub(super) linear: Vec<Coefficients>,
    features: Vec<FeatureRow>,
}

/// A tree: pieces drawn, rules as text, importance.
#[derive(Debug, Serialize)]
pub(super) struct TreeView {
    name: String,
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
    unit: String,
    scope: &'static str,
    meaning: String,
    uses: usize,
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
    explained: Option<&LevelExplanation>,
) -> Result<Section, ReportError> {
    let anchor = format!("f-{index}-");
    let scheduler = models.scheduler();
    // The scheduling model comes first, so that it is the tree shown where there are several.
    let all: Vec<NamedModel> = std::iter::once(scheduler)
        .chain(models.models.iter().filter(|m| m.name != scheduler.name))
        .flat_map(of_regimes)
        .collect();
    let ordered = || all.iter();
    let tree = ordered().find_map(|m| match &m.model {
        Model::Tree(tree) => Some((m, tree)),
        Model::Pairwise(pairwise) => Some((m, &pairwise.tree)),
        Model::Linear(_) | Model::ChoiceLogit(_) | Model::SplineLogit(_) | Model::Regime(_) => None,
    });
    // What the tree's columns mean: those of a pair if it compares two candidates.
    let pairs = tree.and_then(|(m, _)| matches!(m.model, Model::Pairwise(_)).then(|| Pairwise::level(spec)));
    let columns = pairs.as_ref().unwrap_or(spec);
    let uses = |feature: usize| match tree {
        Some((_, t)) => {
            (0..t.feature.len()).filter(|&n| children(t, n).is_some() && t.feature[n] as usize == feature).count()
        }
        None => 0,
    };
    let shown = |i: usize| uses(i) > 0 || tree.is_none();
    Ok(Section {
        level: spec.name.clone(),
        question: spec.question.clone(),
        scheduler: scheduler.name.clone(),
        tree: tree.map(|(named, t)| tree_view(named, t, spec, columns, &anchor, slug, explained)).transpose()?,
        linear: ordered().filter_map(|m| Coefficients::new(m, spec, slug)).collect(),
        features: columns
            .features
            .iter()
            .enumerate()
            .filter(|(i, _)| shown(*i))
            .map(|(i, f)| FeatureRow {
                anchor: format!("{anchor}{i}"),
                name: f.name.clone(),
                unit: f.unit.clone(),
                scope: words::scope(f.scope),
                meaning: f.meaning.clone(),
                uses: uses(i),
            })
            .collect(),
    })
}

/// The models of a regime, each under its own name; others as they are.
fn of_regimes(named: &NamedModel) -> Vec<NamedModel> {
    match &named.model {
        Model::Regime(regime) => {
            let part = |(i, model): (usize, &Model)| NamedModel {
                name: format!("{}, regime {}", named.name, i + 1),
                model: model.clone(),
                ..named.clone()
            };
            regime.models.iter().enumerate().map(part).collect()
        }
        _ => vec![named.clone()],
    }
}

fn tree_view(
    named: &NamedModel,
    tree: &Tree,
    spec: &LevelSpec,
    columns: &LevelSpec,
    anchor: &str,
    slug: &str,
    explained: Option<&LevelExplanation>,
) -> Result<TreeView, ReportError> {
    // Facts at nodes are of the tree that schedules.
    let explained = explained.filter(|e| e.model == named.name);
    let decisions: f64 = explained.map_or(0.0, |e| e.sample.iter().map(|k| k.choices as f64).sum());
    let facts = Facts::new(tree, columns, anchor.to_owned());
    let outline = outline::lines(&facts, explained.map_or(&[], |e| &e.nodes), decisions);
    let importance = explainer::importance(&named.model, spec);
    Ok(TreeView {
        name: named.name.clone(),
        pairwise: matches!(named.model, Model::Pairwise(_)),
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
