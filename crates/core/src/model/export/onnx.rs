//! A model as an ONNX file: a tree ensemble of one tree, or a linear regressor, of the domain `ai.onnx.ml`; a sum of other terms
//! in operators of the standard domain.
//!
//! Numbers of fields and of the enums' values are those of `onnx.proto3`.

use super::{
    ExportError, candidates, columns_are_formed, guards_left_out, onnx_terms, origin,
    piece::{Form, Piece},
    protobuf::{Message, attribute, int},
    version,
};
use crate::model::{Student, Tree};

const FLOAT: i64 = 1;
const INT64: i64 = 7;

/// The input is `x`, shape `(rows, features)`; outputs are in 32 bits: `score`, shape `(rows, 1)`, or `class`, shape
/// `(rows,)`, and `outputs`, shape `(rows, outputs)`.
pub(super) fn export(student: &Student, piece: &Piece<'_>) -> Result<Vec<u8>, ExportError> {
    let Piece { spec, temperature, .. } = piece;
    let width = spec.features.len() as i64;
    let (operators, constants, outputs) = match &piece.form {
        Form::Tree(tree) if tree.linear.is_some() => {
            return Err(ExportError::Unsupported {
                level: spec.name.clone(),
                what: "a tree with linear leaves",
                target: "onnx",
                instead: "its trees have constant leaves; choose another model, or `rust`, `c`, `java`, `go` or `rules`",
            });
        }
        Form::Tree(tree) => (vec![tree_regressor(tree)], Vec::new(), tree.outputs),
        Form::Additive(additive) => match additive.as_linear(spec.features.len()) {
            Some(coefficient) => (vec![linear_regressor(&coefficient, additive.intercept)], Vec::new(), 1),
            None => {
                let (operators, constants) = onnx_terms::operators(additive);
                (operators, constants, 1)
            }
        },
    };
    let mut graph = operators.into_iter().fold(Message::default(), |graph, operator| graph.bytes(1, operator));
    if outputs > 1 {
        graph = graph.bytes(1, arg_max());
    }
    graph = constants.into_iter().fold(graph.bytes(2, &spec.name), |graph, constant| graph.bytes(5, constant));
    graph = graph.bytes(11, tensor("x", FLOAT, Some(width)));
    if outputs > 1 {
        graph = graph.bytes(12, tensor("class", INT64, None));
    }
    graph = graph.bytes(12, tensor(name(outputs), FLOAT, Some(outputs as i64)));
    let mut doc = origin(student);
    doc.extend(guards_left_out(student));
    doc.push(format!("Level {}: {}", spec.name, spec.question));
    doc.extend(candidates(spec));
    doc.extend(columns_are_formed());
    let mut model = Message::default()
        .int(1, 8)
        .bytes(2, "distill")
        .bytes(3, version())
        .bytes(6, doc.join("\n"))
        .bytes(7, graph)
        .bytes(8, Message::default().bytes(1, "").int(2, 15))
        .bytes(8, Message::default().bytes(1, "ai.onnx.ml").int(2, 3));
    let names: Vec<&str> = spec.features.iter().map(|f| f.name.as_str()).collect();
    let units: Vec<&str> = spec.features.iter().map(|f| f.unit.as_str()).collect();
    let meanings: Vec<String> = (0..spec.features.len()).map(|column| spec.meaning(column)).collect();
    let meanings: Vec<&str> = meanings.iter().map(String::as_str).collect();
    let list = |words: &[&str]| serde_json::Value::from(words.to_vec()).to_string();
    for (key, value) in [
        ("level", spec.name.clone()),
        ("model", piece.name.to_owned()),
        ("temperature", temperature.to_string()),
        ("features", list(&names)),
        ("units", list(&units)),
        ("meanings", list(&meanings)),
        ("candidates", spec.candidates.clone()),
        ("feature_set_hash", student.feature_set_hash.clone()),
    ] {
        model = model.bytes(14, Message::default().bytes(1, key).bytes(2, value));
    }
    Ok(model.into_bytes())
}

/// A named tensor of some rows and, if given, columns.
fn tensor(name: &str, kind: i64, columns: Option<i64>) -> Message {
    let mut shape = Message::default().bytes(1, Message::default().bytes(2, "rows"));
    if let Some(columns) = columns {
        shape = shape.bytes(1, Message::default().int(1, columns));
    }
    let tensor = Message::default().int(1, kind).bytes(2, shape);
    Message::default().bytes(1, name).bytes(2, Message::default().bytes(1, tensor))
}

/// What the scores are called.
fn name(outputs: usize) -> &'static str {
    if outputs > 1 { "outputs" } else { "score" }
}

fn operator(kind: &str, domain: &str, input: &str, output: &str) -> Message {
    Message::default().bytes(1, input).bytes(2, output).bytes(3, kind).bytes(4, kind).bytes(7, domain)
}

fn string(name: &str, value: &str) -> Message {
    attribute(name, 3).bytes(4, value)
}

fn floats(name: &str, values: impl IntoIterator<Item = f32>) -> Message {
    attribute(name, 6).floats(7, &values.into_iter().collect::<Vec<_>>())
}

fn ints(name: &str, values: impl IntoIterator<Item = i64>) -> Message {
    attribute(name, 7).ints(8, &values.into_iter().collect::<Vec<_>>())
}

fn strings<'a>(name: &str, values: impl IntoIterator<Item = &'a str>) -> Message {
    values.into_iter().fold(attribute(name, 8), |list, value| list.bytes(9, value))
}

/// The attributes that say which way rows go. ONNX calls the left child true.
fn tests(tree: &Tree) -> Vec<Message> {
    let nodes = || 0..tree.nodes();
    let inner = |node: usize, value: i64| if tree.is_leaf(node) { 0 } else { value };
    vec![
        ints("nodes_treeids", nodes().map(|_| 0)),
        ints("nodes_nodeids", nodes().map(|n| n as i64)),
        ints("nodes_featureids", nodes().map(|n| i64::from(tree.feature[n]))),
        floats("nodes_values", tree.threshold.iter().copied()),
        strings("nodes_modes", nodes().map(|n| if tree.is_leaf(n) { "LEAF" } else { "BRANCH_LEQ" })),
        ints("nodes_truenodeids", nodes().map(|n| inner(n, i64::from(tree.left[n])))),
        ints("nodes_falsenodeids", nodes().map(|n| inner(n, i64::from(tree.right[n])))),
        ints("nodes_missing_value_tracks_true", nodes().map(|n| inner(n, i64::from(tree.default_left[n])))),
        string("post_transform", "NONE"),
    ]
}

fn tree_regressor(tree: &Tree) -> Message {
    // One entry per leaf and output.
    let leaves = || (0..tree.nodes()).filter(|&n| tree.is_leaf(n));
    let each = || leaves().flat_map(|n| (0..tree.outputs).map(move |k| (n, k)));
    let targets = [
        ints("target_treeids", each().map(|_| 0)),
        ints("target_nodeids", each().map(|(n, _)| n as i64)),
        ints("target_ids", each().map(|(_, k)| k as i64)),
        floats("target_weights", each().map(|(n, k)| tree.node_value(n)[k] as f32)),
        int("n_targets", tree.outputs as i64),
    ];
    let node = operator("TreeEnsembleRegressor", "ai.onnx.ml", "x", name(tree.outputs));
    tests(tree).into_iter().chain(targets).fold(node, |node, a| node.bytes(5, a))
}

/// The first of the largest outputs.
fn arg_max() -> Message {
    let attributes = [int("axis", 1), int("keepdims", 0), int("select_last_index", 0)];
    attributes.into_iter().fold(operator("ArgMax", "", name(2), "class"), |node, a| node.bytes(5, a))
}

fn linear_regressor(coefficient: &[f64], intercept: f64) -> Message {
    let coefficients = floats("coefficients", coefficient.iter().map(|&c| c as f32));
    let intercepts = floats("intercepts", [intercept as f32]);
    [coefficients, intercepts, int("targets", 1), string("post_transform", "NONE")]
        .into_iter()
        .fold(operator("LinearRegressor", "ai.onnx.ml", "x", name(1)), |node, a| node.bytes(5, a))
}
