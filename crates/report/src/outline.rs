//! A tree as an outline that folds: every branch a line with its condition, what reaches it, and what becomes of it.

use super::{
    tree::{Facts, children},
    words::{count, decimal, percent},
};
use sched_distill_explain::NodeFacts;
use serde::Serialize;

/// Branches that are open at first: those above this depth.
const OPEN: usize = 2;
/// Leaves with fewer training rows were learned from little.
pub(super) const FEW: u32 = 30;

/// One line of the outline.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    condition: String,
    /// Share of training rows.
    share: String,
    meaning: String,
    anchor: String,
    /// At leaves: the score and the length of its bar in per cent.
    leaf: Option<(String, String)>,
    /// Whether lines below it follow, and whether they show at first.
    inner: bool,
    open: bool,
    /// Lists that end after it.
    closes: usize,
    facts: Option<Reached>,
    /// Whether it is a leaf learned from few rows.
    pub(super) few: bool,
    rows: String,
}

/// What recorded choices reach a node.
#[derive(Debug, Serialize)]
struct Reached {
    choices: String,
    taken: String,
    best: String,
    /// Shares of candidates by the teacher's probability, in per cent.
    probability: Vec<String>,
    words: String,
}

/// A node that is still to become a line.
struct Waiting {
    node: usize,
    /// Its parent, and whether it is the left child.
    above: Option<(usize, bool)>,
    depth: usize,
    /// Lists that end with it.
    closes: usize,
}

/// Every branch of the tree in pre-order, the root first; `nodes` may be empty, and stands for so many `choices`.
pub(super) fn lines(facts: &Facts<'_>, nodes: &[NodeFacts], choices: f64) -> Vec<Line> {
    let tree = facts.tree;
    let mut lines = Vec::new();
    let mut stack = vec![Waiting { node: 0, above: None, depth: 0, closes: 0 }];
    while let Some(Waiting { node, above, depth, closes }) = stack.pop() {
        let below = children(tree, node);
        let test = |(parent, is_left)| {
            let test = facts.test(parent);
            if is_left { test.left } else { test.right }
        };
        let feature = above.map(|(parent, _)| tree.feature[parent] as usize);
        if let Some([left, right]) = below {
            let below = |child, is_left, closes| Waiting {
                node: child,
                above: Some((node, is_left)),
                depth: depth + 1,
                closes,
            };
            stack.push(below(right, false, closes + 1));
            stack.push(below(left, true, 0));
        }
        lines.push(Line {
            condition: above.map_or_else(|| "all candidates".to_owned(), test),
            share: percent(facts.share(node)),
            meaning: feature.map_or(String::new(), |f| facts.spec.meaning(f)),
            anchor: feature.map_or(String::new(), |f| format!("{}{f}", facts.anchor)),
            leaf: below.is_none().then(|| (decimal(tree.value[node]), format!("{:.1}", 100.0 * facts.bar(node)))),
            inner: below.is_some(),
            open: depth < OPEN,
            closes: if below.is_some() { 0 } else { closes },
            facts: nodes.get(node).map(|n| reached(n, choices)),
            few: below.is_none() && tree.n_samples[node] < FEW,
            rows: count(u64::from(tree.n_samples[node])),
        });
    }
    lines
}

fn reached(node: &NodeFacts, choices: f64) -> Reached {
    let borders = ["below 1 %", "1 to 10 %", "10 to 50 %", "50 to 90 %", "above 90 %"];
    let shares = borders.iter().zip(&node.probability).map(|(b, p)| format!("{} of candidates {b}", percent(*p)));
    Reached {
        choices: count((node.choices * choices).round() as u64),
        taken: percent(node.taken),
        best: percent(node.best),
        probability: node.probability.iter().map(|p| format!("{:.1}", 100.0 * p)).collect(),
        words: shares.collect::<Vec<_>>().join(", "),
    }
}
