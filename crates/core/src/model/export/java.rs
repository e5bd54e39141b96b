//! A model as Java source.

use super::{
    ClassName, Language, identifier,
    math::Needed,
    piece::{Form, Piece, Role},
    source::{self, Tables, double},
};
use crate::model::{Additive, Factor, Shape, Student};

/// What every exported tree uses.
const WALK: &str = "
  /** Where a row goes from a node whose test looks at these bits. */
  private static int step(int[] nodes, int node, int bits) {
    long above = (bits - nodes[4 * node]) & 0xffffffffL;
    return nodes[4 * node + 3] + (int) ((above - (nodes[4 * node + 1] & 0xffffffffL)) >>> 63);
  }

  /** The number of the leaf that a row reaches. */
  private static int walk(int[] nodes, int[] missingRight, int steps, float[] x, int at) {
    int node = 0;
    int missing = 0;
    for (int i = 0; i < steps || nodes[4 * node + 3] != node; i++) {
      int bits = Float.floatToRawIntBits(x[at + nodes[4 * node + 2]]);
      // Below 0 if the value is no number.
      missing |= 0x7f800000 - (bits & 0x7fffffff);
      node = step(nodes, node, bits);
    }
    if (missing >= 0) {
      return nodes[4 * node];
    }
    for (node = 0; nodes[4 * node + 3] != node; ) {
      float v = x[at + nodes[4 * node + 2]];
      node = v != v ? nodes[4 * node + 3] + missingRight[node] : step(nodes, node, Float.floatToRawIntBits(v));
    }
    return nodes[4 * node];
  }

  /** Whole numbers below 2^32, each with a space behind it. */
  private static int[] ints(int n, String... texts) {
    int[] all = new int[n];
    int i = 0;
    for (String text : texts) {
      for (int j = 0; j < text.length(); j++) {
        if (text.charAt(j) == ' ') {
          i++;
        } else {
          all[i] = 10 * all[i] + (text.charAt(j) - '0');
        }
      }
    }
    return all;
  }
";

/// Tables of numbers, which some trees have none of.
const DOUBLES: &str = "
  /** Numbers, each with a space behind it. */
  private static double[] doubles(int n, String... texts) {
    double[] all = new double[n];
    int i = 0;
    for (String text : texts) {
      for (int from = 0; from < text.length(); i++) {
        int to = text.indexOf(' ', from);
        all[i] = Double.parseDouble(text.substring(from, to));
        from = to + 1;
      }
    }
    return all;
  }
";

/// What is to be said of tables beside what all languages have.
const TABLES: &str = "
In the tables of a tree the nodes stand one after the other, `low span feature child` of each. They are text, which is read
when they are first needed: a class has not enough room for them as code.
";

/// Letters of a string constant at most; it may have 65,535 bytes.
const MOST_LETTERS: usize = 60_000;

/// Terms of a function at most: what is longer is not compiled by the JVM, and what is very much longer not by javac.
const MOST_TERMS: usize = 100;

pub(super) fn export(student: &Student, pieces: &[Piece<'_>], class: &ClassName) -> String {
    let mut preface = source::preface(student);
    preface.extend(tables().map(str::to_owned));
    let names = identifier::methods(student, pieces);
    let head = format!("\npublic final class {class} {{\n  private {class}() {{}}\n");
    ascii(&(comment(&preface, "") + &head + &functions(pieces, &names, Needed::by(pieces)) + "}\n"))
}

/// Lines on what tables are.
pub(super) fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.trim_end().lines().chain(["", "Needs Java 11 or later, and nothing but the language."])
}

/// A function per piece, and what they need; members of a class.
pub(super) fn functions(pieces: &[Piece<'_>], names: &[String], math: Needed) -> String {
    let mut text = math.text(Language::Java);
    let trees: Vec<_> = pieces.iter().filter(|p| matches!(p.form, Form::Tree(_))).collect();
    if !trees.is_empty() {
        text += WALK;
    }
    if trees.iter().any(|p| p.role != Role::Regime) {
        text += DOUBLES;
    }
    for (i, (piece, name)) in pieces.iter().zip(names).enumerate() {
        text.push('\n');
        let (mut about, features) = source::about(piece);
        about.extend(features.iter().map(|line| format!("  {line}")));
        text += &comment(&about, "  ");
        text += &match &piece.form {
            Form::Tree(tree) => function(&Tables::new(tree, &piece.spec), piece.role, name, i),
            Form::Additive(additive) => sum(additive, name, i),
        };
    }
    text
}

/// A tree's tables are a class of its own, so that a class has room for all.
fn function(tables: &Tables, role: Role, name: &str, place: usize) -> String {
    let Tables { nodes, outputs, .. } = tables;
    let class = format!("Tree_{place}");
    let head = format!("  public static double {name}(float[] x, int at) {{\n");
    let lines = nodes.iter().map(|(numbers, about)| {
        let [low, span, feature, child] = numbers;
        (format!("{low} {span} {feature} {child} "), about.as_str())
    });
    let mut body = table("NODES", "int", "ints", 4 * nodes.len(), lines);
    body += &numbers("MISSING_RIGHT", "int", "ints", &tables.missing_right, u8::to_string);
    let leaf = format!("{class}.leaf(x, at)");
    let function = match (&tables.linear, outputs) {
        _ if role == Role::Regime => {
            body += &numbers("MODEL", "int", "ints", &tables.value, |value| (*value as u32).to_string());
            format!("  public static int {name}(float[] x, int at) {{\n    return {class}.MODEL[{leaf}];\n  }}\n")
        }
        (Some(linear), _) => {
            body += &numbers("INTERCEPT", "double", "doubles", &linear.intercept, double);
            body += &numbers("START", "int", "ints", &linear.start, u32::to_string);
            body += &numbers("FEATURE", "int", "ints", &linear.feature, u32::to_string);
            body += &numbers("COEFFICIENT", "double", "doubles", &linear.coefficient, double);
            format!(
                "{head}    int leaf = {leaf};
    double sum = -0.0;
    for (int i = {class}.START[leaf]; i < {class}.START[leaf + 1]; i++) {{
      sum += {class}.COEFFICIENT[i] * x[at + {class}.FEATURE[i]];
    }}
    return {class}.INTERCEPT[leaf] + sum;\n  }}\n"
            )
        }
        (None, 1) => {
            body += &numbers("VALUE", "double", "doubles", &tables.value, double);
            format!("{head}    return {class}.VALUE[{leaf}];\n  }}\n")
        }
        (None, k) => {
            body += &numbers("VALUE", "double", "doubles", &tables.value, double);
            body += &numbers("LARGEST", "int", "ints", &tables.class, u32::to_string);
            format!(
                "  public static int {name}(float[] x, int at, double[] outputs) {{\n    int leaf = {leaf};
    System.arraycopy({class}.VALUE, leaf * {k}, outputs, 0, {k});
    return {class}.LARGEST[leaf];\n  }}\n"
            )
        }
    };
    format!(
        "{function}\n  /** Tables of {name}, and the number of the leaf that a row reaches. */\n  private static final class {class} {{\n{body}
    static int leaf(float[] x, int at) {{\n      return walk(NODES, MISSING_RIGHT, {}, x, at);\n    }}\n  }}\n",
        tables.steps
    )
}

/// One line per term; long sums are classes of their own, piece by piece.
fn sum(additive: &Additive, name: &str, place: usize) -> String {
    let factor = |f: &Factor| {
        let (x, threshold) = (format!("x[at + {}]", f.feature), f.threshold.unwrap_or(0.0));
        match f.shape {
            Shape::Linear => format!("(double) {x}"),
            Shape::Log => format!("ln1p(positive({x}))"),
            Shape::Above => format!("({x} > {threshold:?}f ? 1.0 : 0.0)"),
            Shape::Excess => format!("positive({x} - {})", double(&f64::from(threshold))),
        }
    };
    let intercept = double(&additive.intercept);
    let function = |body: &str| {
        format!(
            "  public static double {name}(float[] x, int at) {{\n    double sum = -0.0;\n{body}    return {intercept} + sum;\n  }}\n"
        )
    };
    if additive.terms.len() <= MOST_TERMS {
        return function(&source::terms(&additive.terms, factor, "    "));
    }
    let (mut calls, mut classes) = (String::new(), String::new());
    for (part, terms) in additive.terms.chunks(MOST_TERMS).enumerate() {
        let class = format!("Terms_{place}_{part}");
        calls += &format!("    sum = {class}.add(x, at, sum);\n");
        classes += &format!("\n  /** Terms of {name}, from number {} on. */\n", part * MOST_TERMS);
        classes += &format!(
            "  private static final class {class} {{\n    static double add(float[] x, int at, double sum) {{\n"
        );
        classes += &source::terms(terms, factor, "      ");
        classes += "      return sum;\n    }\n  }\n";
    }
    function(&calls) + &classes
}

/// Numbers with nothing to be said of them, several on a line.
fn numbers<T>(name: &str, kind: &str, reads: &str, items: &[T], word: impl Fn(&T) -> String) -> String {
    let mut lines = vec![String::new()];
    for item in items {
        let item = word(item) + " ";
        match lines.last_mut() {
            Some(line) if line.len() + item.len() <= 100 => *line += &item,
            _ => lines.push(item),
        }
    }
    let lines = lines.iter().filter(|line| !line.is_empty()).map(|line| (line.clone(), ""));
    table(name, kind, reads, items.len(), lines)
}

/// A table of `n` numbers, read from text, with what is to be said of each line of it.
fn table<'a>(name: &str, kind: &str, reads: &str, n: usize, lines: impl Iterator<Item = (String, &'a str)>) -> String {
    let mut text = format!("    static final {kind}[] {name} =\n        {reads}(\n            {n}");
    // A line is ended by what comes after it, before what is to be said of it.
    let (mut letters, mut after) = (0, String::new());
    for (line, about) in lines {
        let joins = letters > 0 && letters + line.len() <= MOST_LETTERS;
        text += if joins { "" } else { "," };
        text += &after;
        text += if joins { "\n                + " } else { "\n            " };
        letters = line.len() + if joins { letters } else { 0 };
        text += &format!("\"{line}\"");
        after = if about.is_empty() { String::new() } else { format!(" // {about}") };
    }
    text + ");" + &after + "\n"
}

pub(super) fn comment(lines: &[String], margin: &str) -> String {
    let line = |line: &String| format!("{margin} * {line}").trim_end().to_owned() + "\n";
    format!("{margin}/*\n{}{margin} */\n", lines.iter().map(line).collect::<String>())
}

/// The same in ASCII, which every compiler reads, whatever the encoding it expects; only comments have anything else.
pub(super) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            _ if c.is_ascii() => out.push(c),
            // Signs that make no part of the end of a comment.
            '·' => out.push('.'),
            '×' => out.push('x'),
            '−' | '–' => out.push('-'),
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out += &format!("\\u{unit:04x}")),
        }
    }
    out
}
