//! Writes ONNX exports of models at random with rows and the models' own answers, for `scripts/check_onnx.py`.
//!
//! ```text
//! cargo run --no-default-features --example onnx_cases -- DIR
//! ```
//!
//! For each case: `NAME.onnx`, `NAME.x` (rows of 32-bit floats), `NAME.y` (64-bit floats: score, or outputs and class) and a
//! line `NAME width numbers-per-row` in `cases.txt`.

#[path = "../tests/support/random_tree.rs"]
mod random_tree;

use random_tree::{random_tree, rows};
use sched_distill::{
    level::{Control, FeatureSet, FeatureSpec, LevelSpec, Scope},
    model::{
        Additive, Factor, LevelModels, Model, NamedModel, Provenance, ScoreCandidates, Shape, Student, Term, Tree,
        export::{Target, export, parts},
    },
    rng::Stream,
};
use std::{error::Error, fs, path::Path};

const ROWS: usize = 2000;

fn student(model: &Model, width: usize) -> Student {
    let feature = |i| FeatureSpec {
        name: format!("f{i}"),
        unit: "ms".to_owned(),
        meaning: "A number.".to_owned(),
        scope: Scope::Absolute,
        version: 1,
        whole: false,
        control: Control::Declared,
    };
    let level = LevelSpec {
        name: "job".to_owned(),
        question: "Which job?".to_owned(),
        candidates: String::new(),
        entities: vec![],
        features: (0..width).map(feature).collect(),
    };
    let named = NamedModel { name: "m".to_owned(), temperature: 1.0, model: model.clone() };
    let models = LevelModels::new("job", "m", vec![named]);
    let features = FeatureSet { scenario: "random".to_owned(), levels: vec![level] };
    Student::new(features, false, vec![models], Provenance::default())
}

fn answer(model: &Model, row: &[f32]) -> Vec<f64> {
    match model {
        Model::Tree(tree) if tree.outputs > 1 => {
            let class = tree.predict_class(row) as f64;
            tree.predict_outputs(row).iter().copied().chain([class]).collect()
        }
        _ => {
            let mut score = [0.0];
            model.score_choice(row, row.len(), &mut score);
            score.to_vec()
        }
    }
}

/// A sum of terms of all shapes, alone and two by two, and rows with thresholds, infinite and missing values.
fn terms() -> (Additive, Vec<f32>) {
    let mut s = Stream::new(8, "terms");
    let shapes = [Shape::Linear, Shape::Log, Shape::Above, Shape::Excess];
    let thresholds = [-1.5, 0.0, 0.75, 3.0];
    let mut factor = |shape| {
        let threshold = matches!(shape, Shape::Above | Shape::Excess).then(|| thresholds[s.below(4)]);
        Factor { feature: s.below(5) as u32, shape, threshold }
    };
    let mut all: Vec<Vec<Factor>> = shapes.iter().map(|&shape| vec![factor(shape)]).collect();
    for a in shapes {
        all.extend(shapes.map(|b| vec![factor(a), factor(b)]));
    }
    let mut s = Stream::new(9, "terms");
    let term = |factors| Term { coefficient: s.normal(), factors, sd: 1.0, standard_error: None };
    let terms = all.into_iter().map(term).collect();
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, -1.5, 0.75, 3.0];
    let mut s = Stream::new(10, "terms");
    let mut value = || if s.below(12) == 0 { special[s.below(8)] } else { 4.0 * s.normal() as f32 };
    (Additive { intercept: 0.25, terms }, (0..ROWS * 5).map(|_| value()).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: onnx_cases DIR")?;
    let dir = Path::new(&dir);
    fs::create_dir_all(dir)?;
    let tree = |name, seed, leaves, width, outputs, chain| {
        let tree = random_tree(seed, leaves, width, outputs, chain, false);
        let x = rows(seed, &tree, width, ROWS);
        (name, Model::Tree(tree), width, x)
    };
    let mut s = Stream::new(7, "linear");
    let coefficient: Vec<f64> = (0..6).map(|_| s.normal()).collect();
    let linear = Additive { intercept: s.normal(), ..Additive::linear(&coefficient, &[1.0; 6]) };
    let x: Vec<f32> = (0..ROWS * 6).map(|_| s.normal() as f32).collect();
    let (terms, terms_x) = terms();
    let cases = [
        tree("score", 1, 60, 5, 1, 0.0),
        tree("large", 2, 2000, 24, 1, 0.1),
        tree("two", 3, 40, 6, 2, 0.0),
        tree("eight", 4, 200, 24, 8, 0.0),
        tree("chain", 5, 301, 3, 3, 1.0),
        ("leaf", Model::Tree(Tree::leaf(-0.25, 0.0, 1, 1.0)), 2, vec![0.5; ROWS * 2]),
        ("linear", Model::Additive(linear), 6, x),
        ("terms", Model::Additive(terms), 5, terms_x),
    ];
    let mut list = String::new();
    for (name, model, width, x) in &cases {
        let student = student(model, *width);
        let path = |extension| dir.join(name).with_extension(extension);
        fs::write(path("onnx"), export(&student, &parts(&student, None, None)?, Target::Onnx)?)?;
        fs::write(path("x"), x.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?;
        let y: Vec<f64> = x.chunks_exact(*width).flat_map(|row| answer(model, row)).collect();
        fs::write(path("y"), y.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?;
        list += &format!("{name} {width} {}\n", y.len() / ROWS);
    }
    fs::write(dir.join("cases.txt"), list)?;
    Ok(())
}
