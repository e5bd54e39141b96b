//! What exported source code has in common, whatever the language: the words at the top, and a compiled tree as tables.

use super::{
    candidates, columns_are_formed, feature, guards_left_out, kind, number, number32, origin,
    piece::{Form, PAIRS, Piece, Role},
    plain,
};
use crate::{
    level::LevelSpec,
    model::{CompiledTree, Factor, Student, Term, Tree, compiled::order},
};
use std::fmt::Display;

/// A tree as the tables of a walk; nodes in the order of [`CompiledTree`], leaves numbered apart.
pub(super) struct Tables {
    /// `low, span, feature, child` with a comment; at leaves `low` is the leaf's number.
    pub(super) nodes: Vec<([u32; 4], String)>,
    /// By node: 1 if missing values go right.
    pub(super) missing_right: Vec<u8>,
    /// By leaf.
    pub(super) class: Vec<u32>,
    /// By leaf and output.
    pub(super) value: Vec<f64>,
    /// Linear functions by leaf.
    pub(super) linear: Option<LinearTables>,
    pub(super) outputs: usize,
    /// Steps before the first look whether a row has arrived.
    pub(super) steps: usize,
    /// Leading columns to look for missing values in: those tested, and a few to fill a vector.
    pub(super) width: usize,
}

/// Linear functions of the leaves: terms of leaf `i` are those in `start[i]..start[i + 1]`.
pub(super) struct LinearTables {
    pub(super) intercept: Vec<f64>,
    pub(super) start: Vec<u32>,
    pub(super) feature: Vec<u32>,
    pub(super) coefficient: Vec<f64>,
}

impl Tables {
    pub(super) fn new(tree: &Tree, spec: &LevelSpec) -> Self {
        let fast = CompiledTree::new(tree);
        let mut tables = Self {
            nodes: Vec::with_capacity(tree.nodes()),
            missing_right: fast.missing_right.iter().map(|&m| u8::from(m)).collect(),
            class: Vec::new(),
            value: Vec::new(),
            linear: tree.linear.as_ref().map(|_| LinearTables {
                intercept: Vec::new(),
                start: vec![0],
                feature: Vec::new(),
                coefficient: Vec::new(),
            }),
            outputs: tree.outputs,
            steps: fast.steps,
            width: fast.width.next_multiple_of(4).min(spec.features.len()),
        };
        for ((test, way), source) in fast.tests.iter().zip(&fast.ways).zip(order(tree)) {
            if !tree.is_leaf(source) {
                let name = plain(&spec.features[way.feature as usize].name);
                let missing = if tree.default_left[source] { "left" } else { "right" };
                let comment = format!("{name} <= {}, missing {missing}", number32(tree.threshold[source]));
                tables.nodes.push(([test.low, test.span, way.feature, way.child], comment));
                continue;
            }
            let leaf = tables.class.len() as u32;
            tables.nodes.push(([leaf, 0, 0, way.child], format!("leaf {source}")));
            tables.class.push(fast.leaf_class(source) as u32);
            tables.value.extend(tree.node_value(source));
            if let (Some(all), Some(linear)) = (&mut tables.linear, &tree.linear) {
                all.intercept.push(linear.intercept[source]);
                for (feature, coefficient) in linear.terms(source) {
                    all.feature.push(feature as u32);
                    all.coefficient.push(coefficient);
                }
                all.start.push(all.feature.len() as u32);
            }
        }
        tables
    }
}

/// Lines for the top of a source file of scores.
pub(super) fn preface(student: &Student) -> Vec<String> {
    let mut lines = origin(student);
    lines.extend(guards_left_out(student));
    lines.extend(tables());
    lines
}

/// Lines on how rows and tables are to be read.
pub(super) fn tables() -> impl Iterator<Item = String> {
    "
A row holds the features of one candidate as 32-bit floats, in the order listed at each function. A test sends a row left
if its value is at most the threshold, compared in 32 bits; a missing value (NaN) goes where the test's comment says.

Trees are tables. A test looks at the bits of a value: those of the numbers above a threshold are neighbours on the circle
of 32-bit integers, so that one subtraction and one comparison tell. A node has `low, span` and `feature, child`: a row
goes to `child + 1` if the bits of x[feature] are among the `span` values from `low` on, else to `child`. Leaves are their
own children, and `low` is their number; a row takes a fixed number of steps before anything asks whether it has arrived,
so that there is little to guess wrong. Rows with missing values are walked with a look at every step."
        .lines()
        .map(str::to_owned)
        .chain([String::new()])
        .chain(columns_are_formed())
}

/// Lines about one model, and a line for each of its features.
pub(super) fn about(piece: &Piece<'_>) -> (Vec<String>, Vec<String>) {
    let Piece { spec, name, temperature, taken, .. } = piece;
    let temperature = number(*temperature);
    let mut lines = vec![format!("Level {}: {}", plain(&spec.name), plain(&spec.question))];
    lines.extend(candidates(spec));
    lines.push(String::new());
    let model = match piece.place {
        None => format!("Model `{}`", plain(name)),
        Some(place) => format!("Model `{}`, number {place} of its regimes", plain(name)),
    };
    let tree = |tree: &Tree| format!("{model}: tree of {} leaves, {} tests deep", tree.leaves(), tree.depth());
    let score = format!("Returns the candidate's score; {taken}. Softmax(score / {temperature}) gives probabilities.");
    lines.push(match (&piece.form, piece.role) {
        (Form::Tree(t), Role::Regime) => format!(
            "{}. Asked about the first candidate of a choice, it returns the number of the model that scores them all.",
            tree(t)
        ),
        (Form::Tree(t), Role::Pair) => {
            format!("{}. {PAIRS}; {taken}. Softmax(score / {temperature}) gives probabilities.", tree(t))
        }
        (Form::Tree(t), Role::Score) if t.outputs > 1 => format!(
            "{}. Writes the {} outputs (of a classifier, the classes' shares) and returns the number of the largest, the \
             first of equals.",
            tree(t),
            t.outputs
        ),
        (Form::Tree(t), Role::Score) => format!("{}. {score}", tree(t)),
        (Form::Additive(additive), _) => format!("{model}: {}. {score}", kind(additive, spec)),
    });
    lines.extend([String::new(), format!("{} features: name, unit, meaning.", spec.features.len())]);
    (lines, (0..spec.features.len()).map(|i| format!("x[{i}] {}", feature(spec, i))).collect())
}

/// One statement per term of a sum, `factor` being a factor's words.
pub(super) fn terms(terms: &[Term], factor: impl Fn(&Factor) -> String, margin: &str) -> String {
    let term = |t: &Term| {
        let factors: Vec<String> = t.factors.iter().map(&factor).collect();
        format!("{margin}sum += {} * ({});\n", double(&t.coefficient), factors.join(" * "))
    };
    terms.iter().map(term).collect()
}

/// Items with commas, several on a line.
pub(super) fn list<T: Display>(items: impl IntoIterator<Item = T>, indent: usize) -> String {
    let margin = " ".repeat(indent - 1);
    let (mut text, mut line) = (String::new(), margin.clone());
    for item in items {
        let item = format!(" {item},");
        if line.len() + item.len() > 120 {
            text += &line;
            text.push('\n');
            line.clone_from(&margin);
        }
        line += &item;
    }
    text + &line
}

/// A literal of a 64-bit number, in all languages but Go.
pub(super) fn double(value: &f64) -> String {
    format!("{value:?}")
}
