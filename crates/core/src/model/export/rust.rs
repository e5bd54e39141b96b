//! A model as Rust source.

use super::{
    Language, identifier,
    math::Needed,
    piece::{Form, Piece, Role},
    source::{self, Tables, double, list},
};
use crate::model::{Additive, Factor, Shape, Student};

/// What every exported tree uses.
const WALK: &str = "
/// `low, span` of every node, and `feature, child`, as said above.
type Tables<const N: usize> = ([[u32; 2]; N], [[u32; 2]; N]);

#[inline(always)]
fn step<const N: usize>((tests, ways): &Tables<N>, node: usize, x: &[f32]) -> usize {
    let ([low, span], [feature, child]) = (tests[node], ways[node]);
    (child + (x[feature as usize].to_bits().wrapping_sub(low) < span) as u32) as usize
}

/// The number of the leaf that a row reaches.
#[inline(always)]
fn walk<const N: usize>(
    tables: &Tables<N>,
    missing_right: &[u8; N],
    steps: usize,
    width: usize,
    x: &[f32],
) -> usize {
    let (tests, ways) = tables;
    let mut node = 0;
    if x[..width].iter().fold(false, |found, v| found | v.is_nan()) {
        while ways[node][1] as usize != node {
            node = match x[ways[node][0] as usize].is_nan() {
                true => ways[node][1] as usize + missing_right[node] as usize,
                false => step(tables, node, x),
            };
        }
    } else {
        for _ in 0..steps {
            node = step(tables, node, x);
        }
        while ways[node][1] as usize != node {
            node = step(tables, node, x);
        }
    }
    tests[node][0] as usize
}
";

pub(super) fn export(student: &Student, pieces: &[Piece<'_>]) -> String {
    let names = identifier::functions(student, pieces);
    comment("//!", &source::preface(student)) + &functions(pieces, &names, Needed::by(pieces))
}

/// A function per piece, and what they need.
pub(super) fn functions(pieces: &[Piece<'_>], names: &[String], math: Needed) -> String {
    let mut text = math.text(Language::Rust);
    if pieces.iter().any(|p| matches!(p.form, Form::Tree(_))) {
        text += WALK;
    }
    for (piece, name) in pieces.iter().zip(names) {
        text.push('\n');
        // In a block of text, or brackets would be links.
        let (mut about, features) = source::about(piece);
        about.extend([String::new(), "```text".to_owned()]);
        about.extend(features);
        about.push("```".to_owned());
        text += &comment("///", &about);
        let width = piece.spec.features.len();
        text += &match &piece.form {
            Form::Tree(tree) => function(&Tables::new(tree, &piece.spec), piece.role, name, width),
            Form::Additive(additive) => sum(additive, name, width),
        };
    }
    text
}

fn function(tables: &Tables, role: Role, name: &str, features: usize) -> String {
    let Tables { nodes, outputs, steps, width, .. } = tables;
    let k = *outputs;
    let mut body = format!("    static TABLES: Tables<{}> = ([\n", nodes.len());
    for ([low, span, ..], about) in nodes {
        body += &format!("        [{low}, {span}], // {about}\n");
    }
    let ways = nodes.iter().map(|([.., feature, child], _)| format!("[{feature}, {child}]"));
    body += &format!("    ], [\n{}\n    ]);\n", list(ways, 8));
    body += &array("MISSING_RIGHT", "u8", &tables.missing_right, u8::to_string);
    let leaf = format!("walk(&TABLES, &MISSING_RIGHT, {steps}, {width}, x)");
    let signature = match (&tables.linear, k) {
        _ if role == Role::Regime => {
            body += &array("MODEL", "u32", &tables.value, |value| (*value as u32).to_string());
            body += &format!("    MODEL[{leaf}] as usize\n");
            format!("x: &[f32; {features}]) -> usize")
        }
        (Some(linear), _) => {
            body += &array("INTERCEPT", "f64", &linear.intercept, double);
            body += &array("START", "u32", &linear.start, u32::to_string);
            body += &array("FEATURE", "u32", &linear.feature, u32::to_string);
            body += &array("COEFFICIENT", "f64", &linear.coefficient, double);
            body += &format!(
                "    let leaf = {leaf};
    let mut sum = -0.0;
    for term in START[leaf] as usize..START[leaf + 1] as usize {{
        sum += COEFFICIENT[term] * x[FEATURE[term] as usize] as f64;
    }}
    INTERCEPT[leaf] + sum\n"
            );
            format!("x: &[f32; {features}]) -> f64")
        }
        (None, 1) => {
            body += &array("VALUE", "f64", &tables.value, double);
            body += &format!("    VALUE[{leaf}]\n");
            format!("x: &[f32; {features}]) -> f64")
        }
        (None, _) => {
            let rows: Vec<&[f64]> = tables.value.chunks(k).collect();
            let row = |row: &&[f64]| format!("[{}]", row.iter().map(double).collect::<Vec<_>>().join(", "));
            body += &array("OUTPUTS", &format!("[f64; {k}]"), &rows, row);
            body += &array("CLASS", "u32", &tables.class, u32::to_string);
            body += &format!("    let leaf = {leaf};\n    *outputs = OUTPUTS[leaf];\n    CLASS[leaf] as usize\n");
            format!("x: &[f32; {features}], outputs: &mut [f64; {k}]) -> usize")
        }
    };
    format!("pub fn {name}({signature} {{\n{body}}}\n")
}

/// One line per term.
fn sum(additive: &Additive, name: &str, features: usize) -> String {
    let factor = |f: &Factor| {
        let (x, threshold) = (format!("x[{}]", f.feature), f.threshold.unwrap_or(0.0));
        match f.shape {
            Shape::Linear => format!("f64::from({x})"),
            Shape::Log => format!("ln_1p(positive(f64::from({x})))"),
            Shape::Above => format!("f64::from(u8::from({x} > {threshold:?}))"),
            Shape::Excess => format!("positive(f64::from({x}) - {})", double(&f64::from(threshold))),
        }
    };
    let (body, intercept) = (source::terms(&additive.terms, factor, "    "), double(&additive.intercept));
    if body.is_empty() {
        return format!("pub fn {name}(_: &[f32; {features}]) -> f64 {{\n    {intercept}\n}}\n");
    }
    format!(
        "pub fn {name}(x: &[f32; {features}]) -> f64 {{\n    let mut sum = -0.0;\n{body}    {intercept} + sum\n}}\n"
    )
}

fn array<T>(name: &str, kind: &str, items: &[T], word: impl Fn(&T) -> String) -> String {
    format!("    static {name}: [{kind}; {}] = [\n{}\n    ];\n", items.len(), list(items.iter().map(word), 8))
}

pub(super) fn comment(mark: &str, lines: &[String]) -> String {
    lines.iter().map(|line| format!("{mark} {line}").trim_end().to_owned() + "\n").collect()
}
