//! A tree as a drawing for Graphviz.

use super::{
    ExportError, columns_are_formed, described, guards_left_out, number, number32, origin, percent,
    piece::{Form, Piece},
    plain, rows, rules,
};
use crate::{
    level::FLAG,
    model::{Student, Tree},
};

pub(super) fn export(student: &Student, pieces: &[Piece<'_>]) -> Result<String, ExportError> {
    let mut text = String::new();
    for line in origin(student).into_iter().chain(guards_left_out(student)) {
        text += &format!("// {line}\n");
    }
    text += "// Yes: the value is at most the threshold, as 32-bit floats. Missing values go where the edge says so.\n";
    text.extend(columns_are_formed().iter().map(|line| format!("// {line}\n")));
    for piece in pieces {
        match &piece.form {
            Form::Tree(tree) => {
                text.push('\n');
                text.extend(described(piece).iter().map(|line| format!("// {line}\n")));
                draw(tree, piece, &mut text);
            }
            Form::Additive(_) => {
                return Err(ExportError::Unsupported {
                    level: piece.spec.name.clone(),
                    what: "a sum of terms",
                    target: "dot",
                    instead: "choose a tree, or `rules`",
                });
            }
        }
    }
    Ok(text)
}

fn draw(tree: &Tree, piece: &Piece<'_>, text: &mut String) {
    let Piece { spec, name, .. } = piece;
    let title = format!("{}: {} ({}, {} leaves)", spec.name, spec.question, name, tree.leaves());
    *text += &format!("digraph {} {{\n", quoted(&spec.name));
    *text += &format!("  label={}; labelloc=t;\n", quoted(&title));
    *text += "  node [shape=box, fontname=\"Helvetica\"]; edge [fontname=\"Helvetica\"];\n";
    for node in 0..tree.nodes() {
        if tree.is_leaf(node) {
            let share = percent(tree.weight[node], tree.weight[0]);
            let label = format!(
                "{}\n{share} of the weight, {}",
                rules::outcome(tree, node, spec, number),
                rows(tree.n_samples[node])
            );
            *text += &format!("  n{node} [label={}, style=rounded];\n", quoted(&label));
            continue;
        }
        let feature = &spec.features[tree.feature[node] as usize];
        let unit = if feature.unit == "1" || feature.unit == FLAG { "" } else { &feature.unit };
        let test = format!("{} <= {} {unit}", feature.name, number32(tree.threshold[node]));
        *text += &format!("  n{node} [label={}];\n", quoted(test.trim_end()));
        let (yes, no) = match tree.default_left[node] {
            true => ("yes, missing", "no"),
            false => ("yes", "no, missing"),
        };
        *text += &format!("  n{node} -> n{} [label=\"{yes}\"];\n", tree.left[node]);
        *text += &format!("  n{node} -> n{} [label=\"{no}\"];\n", tree.right[node]);
    }
    *text += "}\n";
}

/// A string of the language; line breaks stay.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|l| plain(l).replace('\\', "\\\\").replace('"', "\\\"")).collect();
    format!("\"{}\"", lines.join("\\n"))
}
