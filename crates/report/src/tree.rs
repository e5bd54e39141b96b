//! A decision tree drawn from left to right, in pieces that fit a page.
//!
//! The first piece shows the top of the tree. Where a path is longer than four tests, its rest becomes a *branch* with a
//! letter and a picture of its own. All leaves of a picture stand in one column, so that their bars compare.

use super::{
    ReportError,
    plain::{Plain, base},
    svg::{self, BLUE, Chart, Colour, GRID, INK, MUTED, SURFACE, TextStyle, escape, fit, frame, text},
    words::{self, percent},
};
use sched_distill_core::{
    level::LevelSpec,
    model::{LEAF, Tree},
};
use serde::Serialize;
use serde_json::json;
use std::{collections::BTreeMap, fmt::Write as _};

/// Tests on a path before it continues in another picture.
const DEPTH: usize = 4;
const COLUMN: f64 = 236.0;
const BOX: (f64, f64) = (164.0, 38.0);
const LEAVES: f64 = 150.0;
const SLOT: f64 = 46.0;
const MARGIN: f64 = 12.0;
/// Lines of a feature's name at most.
const LINES: usize = 3;

/// A drawn piece of a tree.
#[derive(Debug, Serialize)]
pub(super) struct Piece {
    /// `None` for the top, else its letter.
    pub(super) letter: Option<String>,
    /// Conditions from the root to this piece, in words.
    pub(super) path: Vec<String>,
    /// What it holds: `12 more rules: mostly fewer tasks left, score 0.1 to 0.6`.
    pub(super) inside: String,
    /// Share of training rows that reach it, in words.
    pub(super) share: String,
    pub(super) chart: Chart,
}

/// What the drawing needs to know of a tree besides its arrays.
pub(super) struct Facts<'a> {
    pub(super) tree: &'a Tree,
    pub(super) spec: &'a LevelSpec,
    /// Prefix of the anchors of features in the page; the feature's index follows.
    pub(super) anchor: String,
    leaves: Vec<usize>,
    /// Least and greatest leaf value.
    span: (f64, f64),
    plain: Plain<'a>,
}

impl<'a> Facts<'a> {
    /// Counts leaves below every node and finds the range of their values.
    pub(super) fn new(tree: &'a Tree, spec: &'a LevelSpec, anchor: String, plain: Plain<'a>) -> Self {
        let mut leaves = vec![1; tree.feature.len()];
        let mut span = (f64::INFINITY, f64::NEG_INFINITY);
        // Children come after their parent.
        for node in (0..leaves.len()).rev() {
            match children(tree, node) {
                Some([l, r]) => leaves[node] = leaves[l] + leaves[r],
                None => span = (span.0.min(tree.value[node]), span.1.max(tree.value[node])),
            }
        }
        Self { tree, spec, anchor, leaves, span, plain }
    }

    /// What the part of the tree below a node holds.
    fn inside(&self, root: usize) -> Inside {
        let tree = self.tree;
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        // By quantity, how far its tests part the scores of the rows that reach them: above 0 where more of it scores higher.
        let mut parted: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            let Some([left, right]) = children(tree, node) else {
                (least, most) = (least.min(tree.value[node]), most.max(tree.value[node]));
                continue;
            };
            let rises = tree.value[right] - tree.value[left];
            let weight = f64::from(tree.n_samples[node]) * rises.abs();
            let sums = parted.entry(base(&self.spec.features[tree.feature[node] as usize].name)).or_default();
            (sums.0, sums.1) = (sums.0 + weight, sums.1 + weight * rises.signum());
            stack.extend([left, right]);
        }
        let strongest = parted.into_iter().reduce(|a, b| if b.1.0 > a.1.0 { b } else { a });
        let mostly = strongest.map_or(String::new(), |(family, (_, way))| self.prefers(family, way > 0.0));
        Inside { rules: self.leaves[root], mostly, least: words::decimal(least), most: words::decimal(most) }
    }

    /// `fewer tasks left`
    fn prefers(&self, family: &str, more: bool) -> String {
        let said = self.plain.level(&self.spec.name).relation(family, more);
        match (said.strip_prefix("with "), said.starts_with("that ")) {
            (Some(rest), _) => rest.to_owned(),
            (None, true) => format!("one {said}"),
            (None, false) => said,
        }
    }

    /// Share of training rows that reach `node`.
    pub(super) fn share(&self, node: usize) -> f64 {
        f64::from(self.tree.n_samples[node]) / f64::from(self.tree.n_samples[0]).max(1.0)
    }

    /// Length of a leaf's bar in `0..=1`.
    pub(super) fn bar(&self, node: usize) -> f64 {
        let (low, high) = self.span;
        if high > low { 0.04 + 0.96 * (self.tree.value[node] - low) / (high - low) } else { 1.0 }
    }

    /// The test of an inner node in words.
    pub(super) fn test(&self, node: usize) -> words::Test {
        let feature = &self.spec.features[self.tree.feature[node] as usize];
        self.plain.test(&self.spec.name, feature, self.tree.threshold[node])
    }
}

/// What a branch that is drawn elsewhere holds.
#[derive(Debug)]
struct Inside {
    rules: usize,
    /// What most of its tests come to: `fewer tasks left`.
    mostly: String,
    /// Least and greatest score.
    least: String,
    most: String,
}

impl Inside {
    /// `12 more rules: mostly fewer tasks left, score 0.1 to 0.6`
    fn words(&self) -> String {
        format!("{} more rules: mostly {}, score {} to {}", self.rules, self.mostly, self.least, self.most)
    }
}

/// Both children of a node, `None` for a leaf.
pub(super) fn children(tree: &Tree, node: usize) -> Option<[usize; 2]> {
    (tree.left[node] != LEAF).then(|| [tree.left[node] as usize, tree.right[node] as usize])
}

/// Draws the whole tree: its top, then every branch in the order of their letters.
///
/// # Errors
///
/// [`ReportError::Chart`] if the embedded font is damaged.
pub(super) fn pieces(facts: &Facts<'_>, slug: &str) -> Result<Vec<Piece>, ReportError> {
    svg::register_fonts()?;
    let mut pieces = Vec::new();
    // Roots of pieces with the conditions that lead to them; the list grows while it is drawn.
    let mut waiting: Vec<(usize, Vec<String>)> = vec![(0, Vec::new())];
    let mut next = 0;
    while next < waiting.len() {
        let (root, path) = waiting[next].clone();
        let name = match next {
            0 => format!("tree-{slug}"),
            n => format!("tree-{slug}_{}", letter(n).to_lowercase()),
        };
        let mut plan = plan(facts, root);
        for node in &mut plan {
            if node.role == Role::Branch(0) {
                node.role = Role::Branch(waiting.len());
                waiting.push((node.node, path.iter().chain(&node.path).cloned().collect()));
            }
        }
        let letter = (next > 0).then(|| letter(next));
        let title = match &letter {
            None => format!("Rules at level {}", facts.spec.name),
            Some(l) => format!("Rules at level {}, branch {l}", facts.spec.name),
        };
        pieces.push(Piece {
            letter,
            inside: facts.inside(root).words(),
            share: percent(facts.share(root)),
            chart: paint(facts, &plan, slug, name, title),
            path,
        });
        next += 1;
    }
    Ok(pieces)
}

/// A, B, ... Z, AA, AB, ... for 1, 2, ...
fn letter(mut n: usize) -> String {
    let mut letters = Vec::new();
    while n > 0 {
        n -= 1;
        letters.push(b'A' + (n % 26) as u8);
        n /= 26;
    }
    letters.iter().rev().map(|&b| char::from(b)).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Inner,
    Leaf,
    /// Continues in the piece of that number; 0 until it has one.
    Branch(usize),
}

/// A node with its place in a picture.
#[derive(Clone, Debug)]
struct Placed {
    node: usize,
    /// Place of the parent in the plan.
    parent: Option<usize>,
    /// Whether it is its parent's left child.
    is_left: bool,
    depth: usize,
    y: f64,
    role: Role,
    /// Conditions from the piece's root.
    path: Vec<String>,
}

/// Nodes of one piece in pre-order with their heights.
fn plan(facts: &Facts<'_>, root: usize) -> Vec<Placed> {
    let mut plan: Vec<Placed> = Vec::new();
    let mut stack = vec![(root, None, true, Vec::new())];
    let mut slots = 0.0;
    while let Some((node, parent, is_left, path)) = stack.pop() {
        let depth = parent.map_or(0, |p: usize| plan[p].depth + 1);
        let role = match children(facts.tree, node) {
            None => Role::Leaf,
            Some(_) if depth == DEPTH => Role::Branch(0),
            Some([left, right]) => {
                let test = facts.test(node);
                let step = |condition: String| path.iter().cloned().chain([condition]).collect::<Vec<_>>();
                stack.push((right, Some(plan.len()), false, step(test.right)));
                stack.push((left, Some(plan.len()), true, step(test.left)));
                Role::Inner
            }
        };
        if role != Role::Inner {
            slots += 1.0;
        }
        plan.push(Placed { node, parent, is_left, depth, y: MARGIN + SLOT * (slots - 0.5), role, path });
    }
    // A parent stands midway between its children, which come after it.
    let mut sums = vec![0.0; plan.len()];
    for i in (0..plan.len()).rev() {
        if plan[i].role == Role::Inner {
            plan[i].y = sums[i] / 2.0;
        }
        if let Some(p) = plan[i].parent {
            sums[p] += plan[i].y;
        }
    }
    plan
}

fn paint(facts: &Facts<'_>, plan: &[Placed], slug: &str, name: String, title: String) -> Chart {
    let columns = plan.iter().filter(|p| p.role == Role::Inner).map(|p| p.depth + 1).max().unwrap_or(0) as f64;
    let end = MARGIN + columns * COLUMN;
    let place = |p: &Placed| {
        if p.role == Role::Inner { MARGIN + p.depth as f64 * COLUMN } else { end }
    };
    let slots = plan.iter().filter(|p| p.role != Role::Inner).count() as f64;
    let size = ((end + LEAVES + MARGIN).ceil() as u32, (2.0 * MARGIN + slots * SLOT).ceil() as u32);

    let mut body = String::new();
    let mut data = Vec::new();
    for p in plan {
        if let Some(parent) = p.parent.map(|i| &plan[i]) {
            body.push_str(&edge(facts, p, (place(parent), parent.y), place(p), parent.node));
        }
        data.push(datum(facts, p));
    }
    for p in plan {
        let (x, y) = (place(p), p.y);
        body.push_str(&match p.role {
            Role::Inner => inner(facts, p.node, x, y),
            Role::Leaf => leaf(facts, p.node, x, y),
            Role::Branch(n) => branch(facts, p.node, (x, y), &letter(n), slug),
        });
    }
    let description = "Tests stand at the nodes, yes leads up and no leads down; the thicker a line, the more training \
                       rows follow it. Bars at the right are scores: the candidate with the highest score is taken. \
                       The same rules follow as text.";
    let svg = frame(&name, "group", size, &title, description, &body);
    Chart { name, title, svg, narrow: None, width: size.0, data: data.into() }
}

fn datum(facts: &Facts<'_>, p: &Placed) -> serde_json::Value {
    let (t, node) = (facts.tree, p.node);
    let mut datum = json!({
        "node": node, "value": t.value[node], "impurity": t.impurity[node], "rows": t.n_samples[node],
        "weight": t.weight[node], "share_of_rows": facts.share(node),
    });
    if let (Some([left, right]), Some(map)) = (children(t, node), datum.as_object_mut()) {
        map.insert("feature".into(), facts.spec.features[t.feature[node] as usize].name.as_str().into());
        map.insert("threshold".into(), f64::from(t.threshold[node]).into());
        map.insert("left".into(), left.into());
        map.insert("right".into(), right.into());
        if let Role::Branch(n) = p.role {
            map.insert("drawn_as_branch".into(), letter(n).into());
        }
    }
    datum
}

fn style(size: f64, anchor: &'static str, bold: bool, fill: Colour) -> TextStyle {
    TextStyle { size, anchor, bold, fill }
}

fn edge(facts: &Facts<'_>, p: &Placed, (px, py): (f64, f64), x: f64, parent: usize) -> String {
    let (from, bend) = (px + BOX.0, 36.0);
    let thickness = 1.0 + 9.0 * facts.share(p.node);
    let test = facts.test(parent);
    let label = if p.is_left { test.left_edge } else { test.right_edge };
    let share = facts.share(p.node);
    // Outside the fork: above the upper line, below the lower one.
    let offset = if p.is_left { -thickness / 2.0 - 3.5 } else { thickness / 2.0 + 10.5 };
    let (at, beside) = (from + bend * 0.5, p.y + offset);
    format!(
        "<path d=\"M{from:.1} {py:.1}C{:.1} {py:.1} {:.1} {:.1} {:.1} {:.1}H{x:.1}\" fill=\"none\" stroke=\"{GRID}\" \
         stroke-width=\"{thickness:.1}\"/>\n{}",
        from + bend * 0.6,
        from + bend * 0.4,
        p.y,
        from + bend,
        p.y,
        text(at, beside, style(10.0, "start", false, MUTED), &format!("{label} {}", short_percent(share))),
    )
}

/// A percentage of at most four characters.
fn short_percent(share: f64) -> String {
    match share * 100.0 {
        p if p > 0.0 && p < 0.1 => "~0%".to_owned(),
        p if p < 9.95 => format!("{p:.1}%"),
        p => format!("{p:.0}%"),
    }
}

fn inner(facts: &Facts<'_>, node: usize, x: f64, y: f64) -> String {
    let test = facts.test(node);
    let index = facts.tree.feature[node] as usize;
    let feature = &facts.spec.features[index];
    let room = BOX.0 - 16.0;
    let title = format!("{} <= {} — {}", feature.name, facts.tree.threshold[node], facts.spec.meaning(index));
    let mut drawn = format!(
        "<a href=\"#{}{index}\" data-tip=\"{}\"><title>{}</title>",
        facts.anchor,
        escape(&title),
        escape(&title)
    );
    // Bold letters are an eighth wider than those that are measured.
    let subject = svg::few_lines(&test.subject, LINES, room * 0.88, 11.5);
    let height = BOX.1 + 14.0 * (subject.len() - 1) as f64;
    let top = y - height / 2.0;
    let _ = write!(
        drawn,
        "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{}\" height=\"{height:.1}\" rx=\"5\" fill=\"{SURFACE}\" stroke=\"{GRID}\"/>",
        BOX.0
    );
    let mut line = top + 15.5;
    for words in &subject {
        drawn += &text(x + 8.0, line, style(11.5, "start", true, INK), words);
        line += 14.0;
    }
    drawn += &text(x + 8.0, line + 1.0, style(11.5, "start", false, INK), &fit(&test.question, room, 11.5));
    drawn + "</a>\n"
}

fn leaf(facts: &Facts<'_>, node: usize, x: f64, y: f64) -> String {
    let (tree, room) = (facts.tree, LEAVES - 60.0);
    let title = format!(
        "score {}, {} training rows ({})",
        tree.value[node],
        words::count(u64::from(tree.n_samples[node])),
        percent(facts.share(node))
    );
    let mut drawn = format!("<g><title>{}</title>", escape(&title));
    for (width, fill) in [(room, GRID), (room * facts.bar(node), BLUE)] {
        let _ = write!(
            drawn,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"16\" rx=\"2\" fill=\"{fill}\"/>",
            y - 8.0
        );
    }
    drawn += &text(x + room + 7.0, y + 4.5, style(12.0, "start", true, INK), &words::decimal(tree.value[node]));
    drawn + "</g>\n"
}

fn branch(facts: &Facts<'_>, node: usize, (x, y): (f64, f64), letter: &str, slug: &str) -> String {
    let inside = facts.inside(node);
    let target = format!("tree-{slug}_{}", letter.to_lowercase());
    let title = escape(&format!("branch {letter}: {}", inside.words()));
    let mut drawn = format!("<a href=\"#{target}\" data-tip=\"{title}\"><title>{title}</title>");
    let _ = write!(
        drawn,
        "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{}\" height=\"42\" rx=\"8\" fill=\"none\" stroke=\"{BLUE}\"/>",
        y - 21.0,
        LEAVES - 4.0
    );
    let lines = [
        format!("{letter}: {} more rules", inside.rules),
        format!("mostly {}", inside.mostly),
        format!("score {} to {}", inside.least, inside.most),
    ];
    for (i, words) in lines.iter().enumerate() {
        let shown = fit(words, LEAVES - 16.0, 10.5);
        let middle = x + LEAVES / 2.0 - 2.0;
        drawn += &text(middle, y - 9.0 + 12.5 * i as f64, style(10.5, "middle", false, BLUE), &shown);
    }
    drawn + "</a>\n"
}

#[cfg(test)]
mod tests {
    use super::{Facts, LEAF, letter};
    use crate::plain::Plain;
    use sched_distill_core::{level::Words, model::Tree};
    use sched_distill_dag::feature::{feature_set, words};

    #[test]
    fn a_branch_says_what_most_of_its_tests_come_to() {
        let features = feature_set();
        let spec = &features.levels[0];
        let column = |name: &str| spec.features.iter().position(|f| f.name == name).unwrap() as u32;
        // Who freed the executors scores higher; then fewer tasks left score higher, which parts more rows.
        let [source, tasks] = ["is_source", "remaining_tasks"].map(column);
        let tree = Tree {
            operator: "<=".to_owned(),
            feature: vec![source, tasks, 0, tasks, 0, 0, 0],
            threshold: vec![0.5, 3.0, 0.0, 9.0, 0.0, 0.0, 0.0],
            left: vec![1, 2, LEAF, 4, LEAF, LEAF, LEAF],
            right: vec![6, 3, LEAF, 5, LEAF, LEAF, LEAF],
            default_left: vec![true; 7],
            outputs: 1,
            value: vec![0.35, 0.3, 0.6, 0.2, 0.3, 0.1, 0.9],
            impurity: vec![0.0; 7],
            n_samples: vec![100, 90, 30, 60, 30, 30, 10],
            weight: vec![1.0; 7],
            linear: None,
        };
        let (words, none) = (words(), Words::default());
        let facts = |words| Facts::new(&tree, spec, String::new(), Plain { words, features });
        assert_eq!(facts(&none).inside(1).words(), "3 more rules: mostly smaller remaining tasks, score 0.10 to 0.60");
        let facts = facts(&words);
        assert_eq!(facts.inside(1).words(), "3 more rules: mostly fewer tasks left, score 0.10 to 0.60");
        assert_eq!(
            facts.inside(0).words(),
            "4 more rules: mostly one that freed the executors itself, score 0.10 to 0.90"
        );
    }

    #[test]
    fn letters_go_on_after_z() {
        let shown: Vec<String> = [1, 26, 27, 52, 53, 703].iter().map(|&n| letter(n)).collect();
        assert_eq!(shown, ["A", "Z", "AA", "AZ", "BA", "AAA"]);
    }
}
