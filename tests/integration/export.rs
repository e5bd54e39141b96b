//! Exports say what the model says: random rows, rows on thresholds and beside them, missing and infinite values.

use crate::{
    random_tree::{random_tree, rows},
    replay::compiles,
};
use sched_distill::{
    level::{Control, FeatureSet, FeatureSpec, LevelSpec, Scope},
    model::{
        Additive, Factor, LevelModels, Model, NamedModel, Provenance, ScoreCandidates, Shape, Student, Term, Tree,
        export::{Target, export, parts},
    },
    rng::Stream,
};
use std::{collections::BTreeMap, fs, path::Path, process::Command};

const ROWS: usize = 600;

/// A level's name, model, width and rows.
struct Case {
    level: &'static str,
    model: Model,
    width: usize,
    x: Vec<f32>,
}

/// Every kind of model; names that want to be quoted, and keywords.
fn cases() -> Vec<Case> {
    let tree = |level, seed, leaves, width, outputs, chain, linear| {
        let tree = random_tree(seed, leaves, width, outputs, chain, linear);
        let x = rows(seed, &tree, width, ROWS);
        Case { level, model: Model::Tree(tree), width, x }
    };
    // Linear leaves without a term.
    let mut flat = tree("loop_n2", 6, 9, 4, 1, 0.0, true);
    if let Model::Tree(Tree { linear: Some(leaves), .. }) = &mut flat.model {
        leaves.start.fill(0);
        leaves.feature.clear();
        leaves.coefficient.clear();
    }
    let mut s = Stream::new(3, "linear");
    let coefficient: Vec<f64> = (0..6).map(|i| if i == 2 { 0.0 } else { s.normal() }).collect();
    let linear = Additive { intercept: s.normal(), ..Additive::linear(&coefficient, &[1.0; 6]) };
    let x = (0..ROWS * 6).map(|_| (s.normal() * 10.0) as f32).collect();
    vec![
        tree("job", 1, 40, 5, 1, 0.0, false),
        tree("loop", 2, 60, 8, 8, 0.0, false),
        tree("two words", 3, 20, 3, 1, 0.3, true),
        Case { level: "stage", model: Model::Additive(linear), width: 6, x },
        Case { level: "leaf", model: Model::Tree(Tree::leaf(-0.25, 0.0, 3, 3.0)), width: 2, x: vec![0.5; ROWS * 2] },
        tree("chain", 4, 301, 3, 3, 1.0, false),
        tree("rare", 5, 30, 7, 2, 0.5, false),
        flat,
        tree("Job", 7, 5, 2, 1, 0.0, false),
        spline(),
    ]
}

/// A sum of terms of every shape, alone and multiplied; rows on thresholds and beside them, infinite and missing ones.
fn spline() -> Case {
    let mut s = Stream::new(4, "spline");
    let shapes = [(Shape::Linear, None), (Shape::Log, None), (Shape::Above, Some(1.5)), (Shape::Excess, Some(-0.1))];
    let factor = |i: usize| Factor { feature: i as u32, shape: shapes[i].0, threshold: shapes[i].1 };
    let pairs =
        (0..4).flat_map(|i| (i..4).map(move |j| if i == j { vec![factor(i)] } else { vec![factor(i), factor(j)] }));
    let terms = pairs.map(|factors| Term { factors, ..Term::linear(0, s.normal(), 1.0) });
    let terms = terms.collect();
    let near = [1.5f32, 1.5f32.next_up(), -0.1, (-0.1f32).next_up(), 0.0, f32::NAN, f32::MAX];
    let value = |s: &mut Stream| if s.below(4) == 0 { near[s.below(near.len())] } else { (s.normal() * 5.0) as f32 };
    let x = (0..ROWS * 4).map(|_| value(&mut s)).collect();
    Case { level: "spline", model: Model::Additive(Additive { intercept: -0.5, terms }), width: 4, x }
}

fn feature(i: usize) -> FeatureSpec {
    let name = ["work", "tasks_rank", "a \"b\" */ \\", "x*y", "größe", "fn", "n-th", "h"][i];
    FeatureSpec {
        name: name.to_owned(),
        unit: "ms·tasks".to_owned(),
        meaning: "Line one\nline two */ \u{202e}.".to_owned(),
        scope: Scope::Absolute,
        version: 1,
        whole: false,
        control: Control::Declared,
    }
}

fn student(cases: &[Case]) -> Student {
    let levels = cases.iter().map(|c| LevelSpec {
        name: c.level.to_owned(),
        question: "Which?".to_owned(),
        candidates: String::new(),
        entities: vec![],
        features: (0..c.width).map(feature).collect(),
    });
    let features = FeatureSet { scenario: "test".to_owned(), levels: levels.collect() };
    let models = cases.iter().map(|c| {
        let named = NamedModel { name: "m".to_owned(), temperature: 0.5, model: c.model.clone() };
        LevelModels::new(c.level, "m", vec![named])
    });
    Student::new(features, false, models.collect(), Provenance::default())
}

fn text(student: &Student, target: Target) -> String {
    String::from_utf8(export(student, &parts(student, None, None).unwrap(), target).unwrap()).unwrap()
}

/// What a model says of a row: its outputs and, if there are several, its class.
fn expected(case: &Case, row: &[f32]) -> Vec<f64> {
    match &case.model {
        Model::Tree(tree) if tree.outputs > 1 => {
            let class = tree.predict_class(row) as f64;
            tree.predict_outputs(row).iter().copied().chain([class]).collect()
        }
        model => {
            let mut score = [0.0];
            model.score_choice(row, case.width, &mut score);
            score.to_vec()
        }
    }
}

/// How many numbers `expected` gives.
fn outputs(case: &Case) -> usize {
    expected(case, &case.x[..case.width]).len()
}

/// Equal bits; any missing value is as good as another.
fn assert_same(found: &[f64], case: &Case, row: &[f32]) {
    let bits = |v: &[f64]| v.iter().map(|v| if v.is_nan() { u64::MAX } else { v.to_bits() }).collect::<Vec<_>>();
    let expected = expected(case, row);
    assert_eq!(bits(found), bits(&expected), "{}: {found:?}, expected {expected:?} for {row:?}", case.level);
}

/// Compares what a program prints, numbers as hexadecimal bits, with the models; it reads the rows of all levels as bytes.
fn check_program(program: &Path, cases: &[Case]) {
    let rows = program.with_extension("rows");
    let bytes: Vec<u8> = cases.iter().flat_map(|c| &c.x).flat_map(|v| v.to_le_bytes()).collect();
    fs::write(&rows, bytes).unwrap();
    let output = Command::new(program).arg(&rows).output().unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut numbers = printed.split_whitespace().map(|w| f64::from_bits(u64::from_str_radix(w, 16).unwrap()));
    for case in cases {
        for row in case.x.chunks_exact(case.width) {
            let found: Vec<f64> = numbers.by_ref().take(outputs(case)).collect();
            assert_same(&found, case, row);
        }
    }
    assert_eq!(numbers.next(), None);
}

/// The functions that the exports are to have, in order.
const FUNCTIONS: [&str; 10] = [
    "score_job",
    "classify_loop",
    "score_two_words",
    "score_stage",
    "score_leaf",
    "classify_chain",
    "classify_rare",
    "score_loop_n2",
    "score_job_n2",
    "score_spline",
];

#[test]
fn exported_c_answers_as_the_model() {
    let cases = cases();
    let dir = tempfile::tempdir().unwrap();
    let mut main = "#include \"student.c\"\n#include <stdio.h>\n#include <stdlib.h>
static void print(double v) { uint64_t b; memcpy(&b, &v, 8); printf(\"%llx \", (unsigned long long)b); }
int main(int argc, char **argv) {
  FILE *file = fopen(argv[argc - 1], \"rb\");
  float x[8]; double out[8];\n"
        .to_owned();
    for (case, name) in cases.iter().zip(FUNCTIONS) {
        let (width, n) = (case.width, outputs(case));
        main +=
            &format!("  for (int i = 0; i < {ROWS}; ++i) {{ if (fread(x, 4, {width}, file) != {width}) return 1;\n");
        main += &match n {
            1 => format!("    print({name}(x)); (void)out; }}\n"),
            n => {
                format!("    int c = {name}(x, out); for (int k = 0; k < {}; ++k) print(out[k]); print(c); }}\n", n - 1)
            }
        };
    }
    fs::write(dir.path().join("main.c"), main + "  return 0;\n}\n").unwrap();
    fs::write(dir.path().join("student.c"), text(&student(&cases), Target::C)).unwrap();
    let strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"];
    for optimise in ["-O0", "-O2"] {
        let mut cc = Command::new("cc");
        cc.current_dir(dir.path()).args(strict).args([optimise, "main.c", "-o", "main", "-lm"]);
        if compiles(&mut cc) {
            check_program(&dir.path().join("main"), &cases);
        }
    }
}

#[test]
fn exported_rust_answers_as_the_model() {
    let cases = cases();
    let dir = tempfile::tempdir().unwrap();
    let mut main = "mod student;
fn main() {
    let bytes = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let mut x = bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));\n"
        .to_owned();
    for (case, name) in cases.iter().zip(FUNCTIONS) {
        let row = "let row = std::array::from_fn(|_| x.next().unwrap());";
        main += &format!("    for _ in 0..{ROWS} {{ {row}\n");
        main += &match outputs(case) {
            1 => format!("        print!(\"{{:x}} \", student::{name}(&row).to_bits()); }}\n"),
            n => format!(
                "        let mut out = [0.0; {}]; let class = student::{name}(&row, &mut out);
        out.iter().chain([&(class as f64)]).for_each(|v| print!(\"{{:x}} \", v.to_bits())); }}\n",
                n - 1
            ),
        };
    }
    fs::write(dir.path().join("main.rs"), main + "}\n").unwrap();
    // Logarithms are the only thing that the standard library is needed for.
    let (_, plain) = cases.split_last().unwrap();
    fs::write(dir.path().join("embedded.rs"), "#![no_std]\npub mod plain;\n").unwrap();
    fs::write(dir.path().join("plain.rs"), text(&student(plain), Target::Rust)).unwrap();
    fs::write(dir.path().join("student.rs"), text(&student(&cases), Target::Rust)).unwrap();
    let rustc = |args: &[&str]| {
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
        compiles(rustc.current_dir(dir.path()).args(["--edition", "2021", "-D", "warnings"]).args(args))
    };
    if rustc(&["--crate-type", "lib", "--emit", "metadata", "embedded.rs"]) {
        rustc(&["-O", "main.rs"]);
        check_program(&dir.path().join("main"), &cases);
    }
}

/// A word of the rules at the start of a text: its name, and what follows.
fn word(text: &str) -> (String, &str) {
    match text.starts_with('"') {
        true => {
            let mut words = serde_json::Deserializer::from_str(text).into_iter::<String>();
            let name = words.next().unwrap().unwrap();
            (name, &text[words.byte_offset()..])
        }
        false => {
            let end = text.find([' ', ')']).unwrap_or(text.len());
            (text[..end].to_owned(), &text[end..])
        }
    }
}

/// Whether a condition such as `(0.5 < work <= 2 or missing)` holds; `value` looks a feature up.
fn holds(condition: &str, value: &dyn Fn(&str) -> f32) -> bool {
    let inner = condition.strip_prefix('(').and_then(|c| c.strip_suffix(" or missing)"));
    let text = inner.unwrap_or(condition);
    let (above, rest) = match text.split_once(" < ") {
        Some((number, rest)) => (Some(number.parse::<f32>().unwrap()), rest),
        None => (None, text),
    };
    let (name, rest) = word(rest);
    let v = value(&name);
    if v.is_nan() {
        return inner.is_some();
    }
    above.is_none_or(|a| v > a)
        && match rest.trim().split_once(' ') {
            Some(("<=", number)) => v <= number.parse::<f32>().unwrap(),
            Some((">", number)) => v > number.parse::<f32>().unwrap(),
            _ => rest.is_empty(),
        }
}

/// The value of `0.5 + 2 * a - 3 * b`.
fn sum(text: &str, value: &dyn Fn(&str) -> f32) -> f64 {
    let (first, mut rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut terms = -0.0;
    while let Some((sign, after)) = rest.trim_start().split_once(' ') {
        let (c, after) = after.split_once(" * ").unwrap();
        let (name, after) = word(after);
        let c: f64 = c.parse().unwrap();
        terms += if sign == "-" { -c } else { c } * f64::from(value(&name));
        rest = after;
    }
    first.parse::<f64>().unwrap() + terms
}

/// What is said after `then` or on a drawn leaf, as numbers.
fn outcome(text: &str, value: &dyn Fn(&str) -> f32) -> Vec<f64> {
    if let Some(score) = text.strip_prefix("score ") {
        return vec![sum(score, value)];
    }
    let (class, list) = text.strip_prefix("class ").unwrap().split_once(", outputs ").unwrap();
    list.split(' ').chain([class]).map(|v| v.parse().unwrap()).collect()
}

/// A feature's value by its name in rules, where line breaks and ends of comments are blanked.
fn lookup(row: &[f32]) -> impl Fn(&str) -> f32 {
    let plain = |name: &str| name.replace("*/", "* /").trim_end_matches('\\').to_owned();
    let values: BTreeMap<String, f32> = row.iter().enumerate().map(|(i, &v)| (plain(&feature(i).name), v)).collect();
    move |name: &str| values[&plain(name)]
}

/// A model whose figures, thresholds aside, have the four digits that rules have.
fn rounded(model: &Model) -> Model {
    let round = |x: &mut f64| *x = format!("{x:.3e}").parse().unwrap();
    let mut model = model.clone();
    match &mut model {
        Model::Tree(tree) => {
            tree.value.iter_mut().for_each(round);
            if let Some(linear) = &mut tree.linear {
                linear.intercept.iter_mut().chain(&mut linear.coefficient).for_each(round);
            }
        }
        Model::Additive(additive) => {
            round(&mut additive.intercept);
            additive.terms.iter_mut().for_each(|term| round(&mut term.coefficient));
        }
        _ => {}
    }
    model
}

#[test]
fn rules_say_what_the_model_says_to_four_digits_and_exactly_one_holds() {
    let mut cases = cases();
    cases.retain(|c| c.level != "spline");
    let text = text(&student(&cases), Target::Rules);
    cases.iter_mut().for_each(|case| case.model = rounded(&case.model));
    let blocks: Vec<&str> = text.split("\n\n").skip(1).collect();
    assert_eq!(blocks.len(), cases.len());
    for (case, block) in cases.iter().zip(blocks) {
        let lines: Vec<&str> = {
            let rules = block.lines().skip(2).filter(|l| !l.starts_with("# "));
            rules.map(|l| l.split(" # ").next().unwrap()).collect()
        };
        for row in case.x.chunks_exact(case.width) {
            let value = lookup(row);
            if let Model::Additive(_) = case.model {
                let formula = lines.join(" ").replace("   ", " ").replace("score = ", "");
                assert_same(&[sum(&formula, &value)], case, row);
                continue;
            }
            let mut matching = lines.iter().filter_map(|line| {
                let (_, rule) = line.split_once(": ").unwrap();
                match rule.strip_prefix("always ") {
                    Some(then) => Some(then),
                    None => {
                        let (when, then) = rule.strip_prefix("if ").unwrap().split_once(" then ").unwrap();
                        when.split(" and ").all(|c| holds(c, &value)).then_some(then)
                    }
                }
            });
            assert_same(&outcome(matching.next().unwrap(), &value), case, row);
            assert_eq!(matching.next(), None);
        }
    }
}

#[test]
fn drawings_say_what_the_model_says() {
    let cases: Vec<Case> = cases().into_iter().filter(|c| matches!(c.model, Model::Tree(_))).collect();
    let text = text(&student(&cases), Target::Dot);
    let graphs: Vec<&str> = text.split("\ndigraph ").skip(1).collect();
    assert_eq!(graphs.len(), cases.len());
    for (case, graph) in cases.iter().zip(graphs) {
        let mut labels = BTreeMap::new();
        let mut edges = BTreeMap::new();
        for line in graph.lines().filter(|l| l.starts_with("  n") && !l.starts_with("  node")) {
            let (head, attributes) = line.trim().split_once(" [label=").unwrap();
            let label = serde_json::Deserializer::from_str(attributes).into_iter::<String>().next().unwrap().unwrap();
            match head.split_once(" -> ") {
                Some((from, to)) => label.split(", ").for_each(|when| {
                    edges.insert((from, when.to_owned()), to);
                }),
                None => {
                    labels.insert(head, label);
                }
            }
        }
        for row in case.x.chunks_exact(case.width) {
            let value = lookup(row);
            let mut node = "n0";
            while edges.contains_key(&(node, "yes".to_owned())) {
                let (name, rest) = labels[node].rsplit_once(" <= ").unwrap();
                let threshold: f32 = rest.trim_end_matches(" ms·tasks").parse().unwrap();
                let way = match value(name) {
                    v if v.is_nan() => "missing",
                    v if v <= threshold => "yes",
                    _ => "no",
                };
                node = edges[&(node, way.to_owned())];
            }
            assert_same(&outcome(labels[node].lines().next().unwrap(), &value), case, row);
        }
    }
}

#[test]
fn json_is_a_student_with_the_chosen_models_only() {
    let cases = cases();
    let mut student = student(&cases);
    let other =
        NamedModel { name: "other".to_owned(), temperature: 1.0, model: Model::Tree(Tree::leaf(1.0, 0.0, 1, 1.0)) };
    student.levels[0].models.push(other);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("student.json");
    let chosen = parts(&student, Some("job"), Some("other")).unwrap();
    fs::write(&path, export(&student, &chosen, Target::Json).unwrap()).unwrap();
    let slim = Student::load(&path).unwrap();
    assert_eq!((slim.levels.len(), slim.levels[0].models.len(), slim.levels[0].used.as_str()), (1, 1, "other"));
    assert_eq!(text(&slim, Target::Json), fs::read_to_string(&path).unwrap());
}

#[test]
fn what_a_format_cannot_say_is_refused_with_advice() {
    let cases = cases();
    let student = student(&cases);
    let refused = |level: Option<&str>, target| {
        export(&student, &parts(&student, level, None).unwrap(), target).unwrap_err().to_string()
    };
    assert!(refused(Some("two words"), Target::Onnx).contains("level `two words`: a tree with linear leaves"));
    assert!(refused(Some("stage"), Target::Dot).contains("a sum of terms cannot be written as dot; choose a tree"));
    assert!(refused(None, Target::Onnx).contains("one model, not 10"));
    assert!(parts(&student, Some("task"), None).unwrap_err().to_string().contains("no level `task`; it has job, loop"));
    assert!(parts(&student, None, Some("bush")).unwrap_err().to_string().contains("no model `bush`"));
}
