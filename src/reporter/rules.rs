//! The rules of one level for the page: pictures, text, the features used, the linear surrogate.

use super::ReportError;
use super::importance;
use super::svg::Chart;
use super::tree::{Facts, Piece, children, pieces};
use super::words::{self, decimal, number, percent};
use crate::explainer::{self, Importance};
use crate::level::LevelSpec;
use crate::model::{LevelModels, Linear, Model, NamedModel, Tree};
use serde::Serialize;
use serde_json::json;

/// Everything that the page shows of one level's models.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    pub(super) level: String,
    question: String,
    /// Name of the model that schedules.
    scheduler: String,
    pub(super) tree: Option<TreeView>,
    pub(super) linear: Option<LinearView>,
    features: Vec<FeatureRow>,
}

/// A tree: pieces drawn, rules as text, importance.
#[derive(Debug, Serialize)]
pub(super) struct TreeView {
    name: String,
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

/// A linear score, its features sorted by effect.
#[derive(Debug, Serialize)]
pub(super) struct LinearView {
    /// File stem in `data/`.
    pub(super) file: String,
    standardised: bool,
    rows: Vec<LinearRow>,
    #[serde(skip)]
    pub(super) data: serde_json::Value,
}

#[derive(Debug, Serialize)]
struct LinearRow {
    feature: String,
    unit: String,
    coefficient: String,
    effect: String,
    /// Length of the bar in per cent of the largest effect, and its side.
    length: String,
    positive: bool,
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
        Model::Linear(_) => None,
    });
    let linear = ordered().find_map(|m| match &m.model {
        Model::Linear(linear) => Some(linear),
        Model::Tree(_) => None,
    });
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
        tree: tree.map(|(name, t)| tree_view(name, t, spec, &anchor, slug)).transpose()?,
        linear: linear.map(|l| linear_view(l, spec, slug)),
        features: spec
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
    anchor: &str,
    slug: &str,
) -> Result<TreeView, ReportError> {
    let facts = Facts::new(tree, spec, anchor.to_owned());
    let lines = lines(&facts);
    let importance = explainer::importance(&named.model, spec);
    Ok(TreeView {
        name: named.name.clone(),
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

fn linear_view(linear: &Linear, spec: &LevelSpec, slug: &str) -> LinearView {
    let mut rows: Vec<(usize, f64, f64)> = linear
        .coefficient
        .iter()
        .enumerate()
        .filter(|(_, c)| **c != 0.0)
        .map(|(i, &c)| (i, c, c * linear.feature_sd[i]))
        .collect();
    rows.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()).then(a.0.cmp(&b.0)));
    let largest = rows.first().map_or(1.0, |r| r.2.abs()).max(f64::MIN_POSITIVE);
    let data = rows
        .iter()
        .map(|&(i, c, e)| json!({"feature": spec.features[i].name, "coefficient": c, "effect_of_one_sd": e}))
        .collect();
    let rows = rows
        .iter()
        .map(|&(i, c, e)| LinearRow {
            feature: spec.features[i].name.clone(),
            unit: spec.features[i].unit.clone(),
            coefficient: number(c),
            effect: number(e),
            length: format!("{:.1}", 100.0 * e.abs() / largest),
            positive: e > 0.0,
        })
        .collect();
    LinearView { file: format!("linear-{slug}"), standardised: true, rows, data }
}
