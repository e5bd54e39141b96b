//! A model as C99 source.

use super::{
    Language, identifier,
    math::Needed,
    piece::{Form, Piece, Role},
    source::{self, Tables, double, list},
};
use crate::model::{Additive, Factor, Shape, Student};

/// What missing values need.
pub(super) const FINITE: &str = "
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error \"missing values are NaN: compile without -ffast-math and -ffinite-math-only\"
#endif
";

/// What every exported tree uses.
const STEP: &str = "
/* As said above. */
struct distill_test { uint32_t low, span; };
struct distill_way { uint32_t feature, child; };

static inline uint32_t distill_bits(const float *x) {
  uint32_t bits;
  memcpy(&bits, x, sizeof bits);
  return bits;
}

#define DISTILL_STEP \\
  node = ways[node].child + (distill_bits(x + ways[node].feature) - tests[node].low < tests[node].span);
";

pub(super) fn export(student: &Student, pieces: &[Piece<'_>]) -> String {
    let mut preface = source::preface(student);
    preface.extend(
        "
Needs C99, 32-bit IEEE 754 floats and 64-bit doubles. With linear leaves and sums of terms compile with -ffp-contract=off for
the very bits of the model."
            .lines()
            .map(str::to_owned),
    );
    comment(&preface) + &functions(pieces, &identifier::functions(student, pieces), Needed::by(pieces))
}

/// A function per piece, and what they need.
pub(super) fn functions(pieces: &[Piece<'_>], names: &[String], math: Needed) -> String {
    let mut text = "#include <stdint.h>\n#include <string.h>\n".to_owned();
    let math = math.text(Language::C);
    if math.contains("INFINITY") {
        text += "#include <math.h>\n";
    }
    if pieces.iter().any(|p| matches!(p.form, Form::Tree(_))) {
        text += FINITE;
        text += STEP;
    }
    text += &math;
    for (piece, name) in pieces.iter().zip(names) {
        text.push('\n');
        let (mut about, features) = source::about(piece);
        about.extend(features.iter().map(|line| format!("  {line}")));
        let about = comment(&about);
        text += &match &piece.form {
            Form::Tree(tree) => function(&Tables::new(tree, &piece.spec), piece, name, &about),
            Form::Additive(additive) => sum(additive, piece, name, &about),
        };
    }
    text
}

/// A function's head.
pub(super) fn signature(piece: &Piece<'_>, name: &str) -> String {
    match &piece.form {
        Form::Tree(tree) if piece.role != Role::Regime && tree.outputs > 1 => {
            format!("int {name}(const float *x, double *outputs)")
        }
        _ if piece.role == Role::Regime => format!("int {name}(const float *x)"),
        _ => format!("double {name}(const float *x)"),
    }
}

/// One line per term.
fn sum(additive: &Additive, piece: &Piece<'_>, name: &str, about: &str) -> String {
    let factor = |f: &Factor| {
        let (x, threshold) = (format!("x[{}]", f.feature), f.threshold.unwrap_or(0.0));
        match f.shape {
            Shape::Linear => format!("(double){x}"),
            Shape::Log => format!("distill_ln_1p(distill_positive({x}))"),
            Shape::Above => format!("(double)({x} > {threshold:?}f)"),
            Shape::Excess => format!("distill_positive((double){x} - {})", double(&f64::from(threshold))),
        }
    };
    let (mut body, intercept) = (source::terms(&additive.terms, factor, "  "), double(&additive.intercept));
    if body.is_empty() {
        body += "  (void)x;\n";
    }
    let signature = signature(piece, name);
    format!("{about}{signature} {{\n  double sum = -0.0;\n{body}  return {intercept} + sum;\n}}\n")
}

/// The tables are the function's own, so that their names cannot meet those of other functions.
fn function(tables: &Tables, piece: &Piece<'_>, name: &str, about: &str) -> String {
    let Tables { nodes, outputs, steps, width, .. } = tables;
    let mut body = format!("  static const struct distill_test tests[{}] = {{\n", nodes.len());
    for ([low, span, ..], about) in nodes {
        body += &format!("    {{{low}u, {span}u}}, /* {about} */\n");
    }
    body += "  };\n";
    let ways: Vec<String> = nodes.iter().map(|([.., feature, child], _)| format!("{{{feature}, {child}}}")).collect();
    body += &array("ways", "struct distill_way", &ways);
    body += &array("missing_right", "unsigned char", &words(&tables.missing_right, u8::to_string));
    let result = match (&tables.linear, outputs) {
        _ if piece.role == Role::Regime => {
            body += &array("model", "uint32_t", &words(&tables.value, |value| (*value as u32).to_string()));
            "  return (int)model[leaf];\n".to_owned()
        }
        (Some(linear), _) => {
            body += &array("intercept", "double", &words(&linear.intercept, double));
            body += &array("start", "uint32_t", &words(&linear.start, u32::to_string));
            body += &array("feature", "uint32_t", &words(&linear.feature, u32::to_string));
            body += &array("coefficient", "double", &words(&linear.coefficient, double));
            "  double sum = -0.0;
  for (uint32_t i = start[leaf]; i < start[leaf + 1]; ++i)
    sum += coefficient[i] * (double)x[feature[i]];
  return intercept[leaf] + sum;\n"
                .to_owned()
        }
        (None, 1) => {
            body += &array("value", "double", &words(&tables.value, double));
            "  return value[leaf];\n".to_owned()
        }
        (None, k) => {
            body += &array("value", "double", &words(&tables.value, double));
            body += &array("largest", "uint32_t", &words(&tables.class, u32::to_string));
            let copy = format!("memcpy(outputs, value + leaf * {k}, {k} * sizeof *outputs)");
            format!("  {copy};\n  return (int)largest[leaf];\n")
        }
    };
    // Compilers turn a loop over a multiple of four columns into a few vector instructions.
    let whole = width / 4 * 4;
    let mut missing = String::new();
    for (from, to) in [(0, whole), (whole, *width)].into_iter().filter(|(from, to)| from < to) {
        missing += &format!("  for (int i = {from}; i < {to}; ++i)\n    missing |= x[i] != x[i];\n");
    }
    let steps = "    DISTILL_STEP\n".repeat(*steps);
    let signature = signature(piece, name);
    format!(
        "{about}{signature} {{
{body}  uint32_t node = 0, leaf;
  int missing = 0;
{missing}  if (missing) {{
    while (ways[node].child != node)
      if (x[ways[node].feature] != x[ways[node].feature])
        node = ways[node].child + missing_right[node];
      else
        DISTILL_STEP
  }} else {{
{steps}    while (ways[node].child != node)
      DISTILL_STEP
  }}
  leaf = tests[node].low;
{result}}}\n"
    )
}

fn words<T>(items: &[T], word: impl Fn(&T) -> String) -> Vec<String> {
    items.iter().map(word).collect()
}

/// C has no empty arrays, so what is empty gets an entry that nothing reads.
fn array(name: &str, kind: &str, items: &[String]) -> String {
    let none = ["0".to_owned()];
    let items = if items.is_empty() { &none } else { items };
    format!("  static const {kind} {name}[{}] = {{\n{}\n  }};\n", items.len(), list(items, 4))
}

/// No line ends with a backslash, which would go on with the next.
pub(super) fn comment(lines: &[String]) -> String {
    let line = |line: &String| format!(" * {line}").trim_end_matches([' ', '\\']).to_owned() + "\n";
    let lines: String = lines.iter().map(line).collect();
    format!("/*{} */\n", &lines[2..])
}
