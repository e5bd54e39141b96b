//! Rules as text: one line per leaf, the tests on a feature merged into one interval.

use super::{
    columns_are_formed, described, guards_left_out, kind, number32, origin, percent,
    piece::{Form, PAIRS, Piece, Role},
    plain, rounded, rows, sum,
};
use crate::{
    level::{LevelSpec, first_max},
    model::{Additive, Place, Student, Term, Tree},
};
use std::{collections::BTreeMap, fmt::Write as _};

pub(super) fn export(student: &Student, pieces: &[Piece<'_>]) -> String {
    let mut text = String::new();
    for line in origin(student).into_iter().chain(guards_left_out(student)) {
        text += &format!("# {line}\n");
    }
    text += "#\n# One line per leaf; exactly one of a model's lines holds for a row. Values are compared as 32-bit floats.\n\
             # A missing value meets a condition only where it says `or missing`.\n\
             # Figures are rounded to 4 digits, thresholds are not. The exports json, c, rust and onnx are exact.\n#\n";
    text.extend(columns_are_formed().iter().map(|line| format!("# {line}\n")));
    for piece in pieces {
        let Piece { spec, name, temperature, taken, .. } = piece;
        let temperature = rounded(*temperature);
        text += &format!("\nlevel {}: {}\n", word(&spec.name), plain(&spec.question));
        match &piece.form {
            Form::Tree(tree) => {
                let kind = match tree.outputs {
                    _ if piece.role == Role::Pair => format!("{PAIRS}; {taken}; temperature {temperature}"),
                    1 => {
                        format!("score per candidate, {taken}; temperature {temperature}")
                    }
                    n => format!("{n} outputs, the largest is the class, the first of equals"),
                };
                text += &format!("model {}: tree of {} leaves; {kind}\n", word(name), tree.leaves());
                text.extend(described(piece).iter().map(|line| format!("# {line}\n")));
                leaves(tree, spec, &mut text);
            }
            Form::Additive(additive) => {
                text += &format!(
                    "model {}: {} per candidate, {taken}; temperature {temperature}\n",
                    word(name),
                    kind(additive, spec)
                );
                text.extend(described(piece).iter().map(|line| format!("# {line}\n")));
                terms(additive, piece, student, &mut text);
            }
        }
    }
    text
}

/// What a path asks of one feature.
#[derive(Clone, Copy)]
struct Condition {
    above: Option<f32>,
    at_most: Option<f32>,
    /// Whether a missing value takes the path.
    missing: bool,
}

fn leaves(tree: &Tree, spec: &LevelSpec, text: &mut String) {
    let mut stack = vec![(0, BTreeMap::<u32, Condition>::new())];
    while let Some((node, path)) = stack.pop() {
        if tree.is_leaf(node) {
            let conditions: Vec<String> =
                path.iter().map(|(&f, c)| condition(*c, &spec.features[f as usize].name)).collect();
            let when = match conditions.is_empty() {
                true => "always".to_owned(),
                false => format!("if {} then", conditions.join(" and ")),
            };
            let (weight, rows) = (percent(tree.weight[node], tree.weight[0]), rows(tree.n_samples[node]));
            // Writing to a string cannot fail.
            let _ =
                writeln!(text, "leaf {node}: {when} {} # weight {weight}, {rows}", outcome(tree, node, spec, rounded));
            continue;
        }
        let (feature, threshold) = (tree.feature[node], tree.threshold[node]);
        let before = path.get(&feature).copied().unwrap_or(Condition { above: None, at_most: None, missing: true });
        let mut side = |child: u32, left: bool| {
            let mut c = before;
            c.missing &= tree.default_left[node] == left;
            match left {
                true => c.at_most = Some(c.at_most.map_or(threshold, |t| t.min(threshold))),
                false => c.above = Some(c.above.map_or(threshold, |t| t.max(threshold))),
            }
            let mut path = path.clone();
            path.insert(feature, c);
            stack.push((child as usize, path));
        };
        side(tree.right[node], false);
        side(tree.left[node], true);
    }
}

fn condition(c: Condition, name: &str) -> String {
    let name = word(name);
    let interval = match (c.above.map(number32), c.at_most.map(number32)) {
        (Some(above), Some(at_most)) => format!("{above} < {name} <= {at_most}"),
        (Some(above), None) => format!("{name} > {above}"),
        (None, Some(at_most)) => format!("{name} <= {at_most}"),
        (None, None) => name,
    };
    if c.missing { format!("({interval} or missing)") } else { interval }
}

/// What a leaf says, its figures written as `write` does.
pub(super) fn outcome(tree: &Tree, leaf: usize, spec: &LevelSpec, write: fn(f64) -> String) -> String {
    match (&tree.linear, tree.node_value(leaf)) {
        (Some(linear), _) => format!("score {}", sum(linear.intercept[leaf], linear.terms(leaf), spec, write)),
        (None, [score]) => format!("score {}", write(*score)),
        (None, outputs) => {
            let list: Vec<String> = outputs.iter().map(|&v| write(v)).collect();
            format!("class {}, outputs {}", first_max(outputs.iter().copied()), list.join(" "))
        }
    }
}

fn terms(additive: &Additive, piece: &Piece<'_>, student: &Student, text: &mut String) {
    let spec = &*piece.spec;
    if !additive.terms.iter().all(Term::is_linear) {
        *text += "# [a > b] is 1 where that holds, else 0; (a - b)+ is a - b where that is positive, else 0\n";
    }
    // The other models of a level have no places.
    let level = student.levels.iter().position(|l| l.level == spec.name && l.used == piece.name);
    if level.is_some() {
        *text += "# behind each term: the place of its coefficient, as `distill patch --set PLACE=VALUE` takes it\n";
    }
    *text += &format!("score = {}\n", rounded(additive.intercept));
    for (i, term) in additive.terms.iter().enumerate().filter(|(_, term)| term.coefficient != 0.0) {
        let (sign, size) = (if term.coefficient < 0.0 { '-' } else { '+' }, rounded(term.coefficient.abs()));
        let words = term.factors.iter().map(|f| f.words(&word(&spec.features[f.feature as usize].name)));
        let (words, unit) = (words.collect::<Vec<_>>().join(" * "), plain(&term.unit(spec)));
        let place = level.map(|level| student.place_name(&Place::Model { level, slot: additive.slot(i) }));
        let place = place.map(|place| plain(&place) + "; ").unwrap_or_default();
        let moved = rounded(term.coefficient * term.sd);
        *text += &format!("  {sign} {size} * {words} # {place}{unit}; one deviation moves the score by {moved}\n");
    }
    match additive.terms.iter().filter(|term| term.coefficient == 0.0).count() {
        0 => {}
        1 => *text += "# 1 term of coefficient 0 is left out\n",
        n => *text += &format!("# {n} terms of coefficient 0 are left out\n"),
    }
}

/// A name as it is, or in quotes where it could be misread.
pub(super) fn word(name: &str) -> String {
    let simple = name.chars().all(|c| c.is_alphanumeric() || "_.-/".contains(c));
    match simple && name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        true => name.to_owned(),
        false => format!("{:?}", plain(name)),
    }
}
