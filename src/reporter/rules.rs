//! The rules of one level for the page: pictures, text, the features used, the linear scores.

use super::ReportError;
use super::coefficients::Coefficients;
use super::importance;
use super::svg::Chart;
use super::tree::{Facts, Piece, children, pieces};
use super::words::{self, decimal, percent};
use crate::explainer::{self, Importance};
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
    lines: Vec<Line>,
    /// The feature that matters most.
    pub(super) first: Option<Importance>,
    pub(super) importance: Chart,
}

/// One line of the rules as text.
#[derive(Debug, Serialize)]
struct Line {
    depth: usize,
    condition: String,
    share: String,
    meaning: String,
    anchor: String,
    /// At leaves: the score and the length of its bar in per cent.
    leaf: Option<(String, String)>,
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
) -> Result<Section, ReportError> {
    let anchor = format!("f-{index}-");
    let scheduler = models.scheduler();
    // The scheduling model comes first, so that it is the tree shown where there are several.
    let ordered = || std::iter::once(scheduler).chain(models.models.iter().filter(|m| m.name != scheduler.name));
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
        tree: tree.map(|(named, t)| tree_view(named, t, spec, columns, &anchor, slug)).transpose()?,
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

fn tree_view(
    named: &NamedModel,
    tree: &Tree,
    spec: &LevelSpec,
    columns: &LevelSpec,
    anchor: &str,
    slug: &str,
) -> Result<TreeView, ReportError> {
    let facts = Facts::new(tree, columns, anchor.to_owned());
    let lines = lines(&facts);
    let importance = explainer::importance(&named.model, spec);
    Ok(TreeView {
        name: named.name.clone(),
        pairwise: matches!(named.model, Model::Pairwise(_)),
        linear_leaves: tree.linear.is_some(),
        leaves: tree.leaves(),
        depth: tree.depth(),
        pieces: pieces(&facts, slug)?,
        lines,
        first: importance.first().filter(|i| i.share > 0.0).cloned(),
        importance: importance::chart(&spec.name, slug, &importance)?,
    })
}

/// Every branch of the tree as a line, in pre-order; a tree of one leaf is one line.
fn lines(facts: &Facts<'_>) -> Vec<Line> {
    let tree = facts.tree;
    // Parent, whether it is the left child, and depth of every node; children come after their parent.
    let mut above: Vec<Option<(usize, bool)>> = vec![None; tree.feature.len()];
    let mut depth = vec![0; tree.feature.len()];
    for node in 0..above.len() {
        for (child, is_left) in children(tree, node).into_iter().flatten().zip([true, false]) {
            above[child] = Some((node, is_left));
            depth[child] = depth[node] + 1;
        }
    }
    let mut lines = Vec::new();
    let mut stack = vec![0];
    while let Some(node) = stack.pop() {
        let below = children(tree, node);
        let leaf = (below.is_none()).then(|| (decimal(tree.value[node]), format!("{:.1}", 100.0 * facts.bar(node))));
        stack.extend(below.into_iter().flatten().rev());
        let (condition, feature) = match above[node] {
            Some((parent, true)) => (facts.test(parent).left, Some(tree.feature[parent] as usize)),
            Some((parent, false)) => (facts.test(parent).right, Some(tree.feature[parent] as usize)),
            None if leaf.is_some() => ("always".to_owned(), None),
            None => continue,
        };
        lines.push(Line {
            depth: depth[node].max(1) - 1,
            condition,
            share: percent(facts.share(node)),
            meaning: feature.map_or(String::new(), |f| facts.spec.features[f].meaning.clone()),
            anchor: feature.map_or(String::new(), |f| format!("{}{f}", facts.anchor)),
            leaf,
        });
    }
    lines
}
