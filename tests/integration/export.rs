//! Exports say what the model says: random rows, rows on thresholds and beside them, missing and infinite values. Source code is looked
//! at in `export_source`.

use crate::random_tree::{random_tree, rows};
use sched_distill::{
    level::{Control, FeatureSet, FeatureSpec, LevelSpec, Scope},
    model::{
        Additive, Factor, LevelModels, Model, NamedModel, Provenance, ScoreCandidates, Shape, Student, Term, Tree,
        export::{Target, export, parts},
    },
    rng::Stream,
};
use std::{collections::BTreeMap, fs};

pub(crate) const ROWS: usize = 600;

/// A level's name, model, width and rows.
pub(crate) struct Case {
    pub(crate) level: &'static str,
    pub(crate) model: Model,
    pub(crate) width: usize,
    pub(crate) x: Vec<f32>,
}

/// Every kind of model; names that want to be quoted, and keywords.
pub(crate) fn cases() -> Vec<Case> {
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

pub(crate) fn student(cases: &[Case]) -> Student {
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

pub(crate) fn text(student: &Student, target: Target) -> String {
    String::from_utf8(export(student, &parts(student, None, None).unwrap(), target).unwrap()).unwrap()
}

/// What a model says of a row: its outputs and, if there are several, its class.
pub(crate) fn expected(case: &Case, row: &[f32]) -> Vec<f64> {
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

/// Equal bits; any missing value is as good as another.
pub(crate) fn assert_same(found: &[f64], case: &Case, row: &[f32]) {
    let bits = |v: &[f64]| v.iter().map(|v| if v.is_nan() { u64::MAX } else { v.to_bits() }).collect::<Vec<_>>();
    let expected = expected(case, row);
    assert_eq!(bits(found), bits(&expected), "{}: {found:?}, expected {expected:?} for {row:?}", case.level);
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
