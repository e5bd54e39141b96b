//! Leaves with little support: learned from few rows, or reached far more often than they were learned from.

use crate::{
    ReportError,
    outline::FEW,
    plain::Plain,
    run_dir::RunDir,
    to_data,
    tree::{Facts, children},
    words::{count, decimal, percent},
};
use sched_distill_core::{
    level::LevelSpec,
    model::{LevelModels, Model, Pairwise, Tree},
};
use sched_distill_explain::NodeFacts;
use serde::Serialize;

/// A leaf is reached far more often than it was learned from if its share of the recorded candidates is so many times its
/// share of training rows, counted and weighted, and at least so large. Rows weigh what their choices do, so a count alone
/// would take a leaf for rare whose rows lie behind probable parents.
const TIMES: f64 = 2.0;
const LEAST_SHARE: f64 = 0.01;
/// Leaves on the page; the numbers have all.
const SHOWN: usize = 20;

/// What the page shows.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    pub(crate) sentence: String,
    rows: Vec<TableRow>,
    /// Leaves that are not on the page.
    left_out: usize,
    #[serde(skip)]
    data: serde_json::Value,
}

/// One leaf, as in the numbers.
#[derive(Debug, Serialize)]
struct Leaf {
    level: String,
    model: String,
    node: usize,
    /// From the root, in words.
    conditions: Vec<String>,
    score: f64,
    training_rows: u32,
    training_share: f64,
    /// Share of the training rows' weight.
    training_weight: f64,
    /// Shares of the recorded candidates: those that reach it, and which of these the student takes. `None` if unknown.
    candidates: Option<f64>,
    taken: Option<f64>,
    few: bool,
    often: bool,
}

#[derive(Debug, Serialize)]
struct TableRow {
    level: String,
    conditions: Vec<String>,
    score: String,
    rows: String,
    share: String,
    candidates: String,
    taken: String,
    why: &'static str,
}

/// Looks through the leaves of all trees that schedule.
///
/// # Errors
///
/// None in practice: plain data becomes JSON.
pub(super) fn section(run: &RunDir) -> Result<Section, ReportError> {
    let (mut all, mut reached) = (0, true);
    let mut weak = Vec::new();
    for (models, spec) in run.student.levels.iter().filter_map(|m| Some((m, run.student.feature_set.level(&m.level)?)))
    {
        let pairs;
        let (tree, columns) = match &models.scheduler().model {
            Model::Tree(tree) => (tree, spec),
            Model::Pairwise(pairwise) => {
                pairs = Pairwise::level(spec);
                (&pairwise.tree, &pairs)
            }
            Model::Additive(_) | Model::Regime(_) => continue,
        };
        let nodes = nodes(run, models);
        reached &= nodes.len() == tree.nodes();
        all += tree.leaves();
        weak.extend(leaves(tree, columns, models, nodes, run.plain()).filter(|l| l.few || l.often));
    }
    weak.sort_by(|a, b| b.candidates.unwrap_or(0.0).total_cmp(&a.candidates.unwrap_or(0.0)));
    Ok(Section {
        sentence: sentence(&weak, all, reached),
        rows: weak.iter().take(SHOWN).map(row).collect(),
        left_out: weak.len().saturating_sub(SHOWN),
        data: to_data("support", &weak)?,
    })
}

impl Section {
    /// The numbers under their file's name.
    pub(super) fn table(&self) -> (String, serde_json::Value) {
        ("support".to_owned(), self.data.clone())
    }
}

/// What recorded choices reach, by node; empty if that is not known of the model that schedules.
fn nodes<'a>(run: &'a RunDir, models: &LevelModels) -> &'a [NodeFacts] {
    let levels = run.explanation.as_ref().map_or(&[][..], |e| &e.levels);
    let explained = levels.iter().find(|l| l.level == models.level && l.model == models.used);
    explained.map_or(&[], |l| &l.nodes)
}

fn leaves<'a>(
    tree: &'a Tree,
    columns: &'a LevelSpec,
    models: &'a LevelModels,
    nodes: &'a [NodeFacts],
    plain: Plain<'a>,
) -> impl Iterator<Item = Leaf> + 'a {
    let facts = Facts::new(tree, columns, String::new(), plain);
    let paths = paths(&facts);
    (0..tree.nodes()).filter(|&node| children(tree, node).is_none()).map(move |node| {
        let (share, reached) = (facts.share(node), nodes.get(node));
        let candidates = reached.map(|n| n.rows);
        let weight = tree.weight[node] / tree.weight[0].max(f64::MIN_POSITIVE);
        Leaf {
            level: models.level.clone(),
            model: models.used.clone(),
            node,
            conditions: paths[node].iter().map(|step| step.words.clone()).collect(),
            score: tree.value[node],
            training_rows: tree.n_samples[node],
            training_share: share,
            training_weight: weight,
            candidates,
            taken: reached.filter(|n| n.rows > 0.0).map(|n| n.taken),
            few: tree.n_samples[node] < FEW,
            often: candidates.is_some_and(|c| c >= LEAST_SHARE && c > TIMES * share.max(weight)),
        }
    })
}

/// One condition on the way to a node.
#[derive(Clone)]
struct Step {
    feature: u32,
    left: bool,
    words: String,
}

/// The conditions that lead to every node; one that a later one on the same feature sharpens is left out.
fn paths(facts: &Facts<'_>) -> Vec<Vec<Step>> {
    let tree = facts.tree;
    let mut paths: Vec<Vec<Step>> = vec![Vec::new(); tree.nodes()];
    // Children come after their parent.
    for node in 0..tree.nodes() {
        let Some(below) = children(tree, node) else { continue };
        let (test, feature) = (facts.test(node), tree.feature[node]);
        for (child, left, words) in [(below[0], true, test.left), (below[1], false, test.right)] {
            let mut path = paths[node].clone();
            path.retain(|step| (step.feature, step.left) != (feature, left));
            path.push(Step { feature, left, words });
            paths[child] = path;
        }
    }
    paths
}

fn sentence(weak: &[Leaf], all: usize, reached: bool) -> String {
    let few = weak.iter().filter(|l| l.few).count();
    let often = weak.iter().filter(|l| l.often).count();
    let unknown = "; what recorded choices reach is not known, since the student was not explained";
    match (all, weak.is_empty()) {
        (0, _) => "No tree schedules, so there are no leaves to look at.".to_owned(),
        (_, true) if reached => format!(
            "None: each of the {all} leaves was learned from at least {FEW} training rows, and none is reached much more \
             often by the recorded candidates."
        ),
        (_, true) => format!("None: each of the {all} leaves was learned from at least {FEW} training rows{unknown}."),
        (_, false) if reached => format!(
            "Of {all} leaves {few} {} learned from fewer than {FEW} training rows, and {often} {} reached by more than \
             {TIMES} times the share of recorded candidates than of training rows, counted or weighted.",
            if few == 1 { "was" } else { "were" },
            if often == 1 { "is" } else { "are" },
        ),
        (_, false) => format!(
            "Of {all} leaves {few} {} learned from fewer than {FEW} training rows{unknown}.",
            if few == 1 { "was" } else { "were" }
        ),
    }
}

fn row(leaf: &Leaf) -> TableRow {
    let shown = |share: Option<f64>| share.map_or("–".to_owned(), percent);
    TableRow {
        level: leaf.level.clone(),
        conditions: match leaf.conditions.is_empty() {
            true => vec!["all candidates".to_owned()],
            false => leaf.conditions.clone(),
        },
        score: decimal(leaf.score),
        rows: count(u64::from(leaf.training_rows)),
        share: percent(leaf.training_share),
        candidates: shown(leaf.candidates),
        taken: shown(leaf.taken),
        why: match (leaf.few, leaf.often) {
            (true, true) => "few rows, reached often",
            (true, false) => "few rows",
            (false, _) => "reached often",
        },
    }
}
