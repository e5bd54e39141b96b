//! Models as they were before all sums of terms became one kind.

use sched_distill::{
    model::{CompiledModel, Model, Place, ScoreCandidates, Shape, Student},
    rng::Stream,
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

const FILES: [&str; 2] = ["run/student.json", "edited.json"];
const ROWS: usize = 200;
/// A regime is asked about the first of so many candidates.
const CANDIDATES: usize = 4;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/models").join(name)
}

/// Zeros, small whole numbers, shares, and milliseconds.
fn rows(level: &str, width: usize) -> Vec<f32> {
    let mut s = Stream::new(1, level);
    let value = |_| match s.below(4) {
        0 => 0.0,
        1 => s.below(9) as f32,
        2 => s.uniform() as f32,
        _ => (1e7 * s.uniform()) as f32,
    };
    (0..ROWS * width).map(value).collect()
}

fn scores(model: &impl ScoreCandidates, x: &[f32], width: usize) -> Vec<f64> {
    let mut scores = vec![0.0; ROWS];
    for (x, scores) in x.chunks(CANDIDATES * width).zip(scores.chunks_mut(CANDIDATES)) {
        model.score_choice(x, width, scores);
    }
    scores
}

fn has_logarithms(model: &Model) -> bool {
    match model {
        Model::Additive(sum) => sum.terms.iter().flat_map(|t| &t.factors).any(|f| f.shape == Shape::Log),
        Model::Regime(regime) => regime.models.iter().any(has_logarithms),
        Model::Tree(_) | Model::Pairwise(_) => false,
    }
}

#[test]
fn models_of_earlier_kinds_decide_as_they_did() {
    let text = fs::read_to_string(path("scores.json")).unwrap();
    let expected: BTreeMap<String, BTreeMap<String, Vec<f64>>> = serde_json::from_str(&text).unwrap();
    for file in FILES {
        let student = Student::load(&path(file)).unwrap();
        let mut expected = expected[file.rsplit('/').next().unwrap()].clone();
        for level in &student.levels {
            let width = student.feature_set.level(&level.level).unwrap().features.len();
            // Rows and scores go by the name that the level had then.
            let name = student.feature_set.names_of(&level.level).last().unwrap();
            let x = rows(name, width);
            for named in &level.models {
                let expected = expected.remove(&format!("{name}/{}", named.name)).unwrap();
                let found = scores(&named.model, &x, width);
                // Features and products used to be added up apart.
                let products = match &named.model {
                    Model::Additive(m) => m.terms.iter().any(|t| t.is_linear() && t.factors.len() > 1),
                    _ => false,
                };
                let near =
                    |most: f64| found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-14 * a.abs().max(most));
                match products && named.name == "logit" {
                    true => assert!(near(1e7)),
                    // Logarithms used to be those of the platform's library.
                    false if has_logarithms(&named.model) => assert!(near(1.0), "{file}, {}", named.name),
                    false => assert_eq!(found, expected, "{file}, {}", named.name),
                }
                assert_eq!(scores(&CompiledModel::new(&named.model), &x, width), found, "{file}, {}", named.name);
            }
        }
        assert!(expected.is_empty(), "{file}: {expected:?}");
    }
}

#[test]
fn they_are_written_as_sums_of_terms() {
    let dir = tempfile::tempdir().unwrap();
    for file in FILES {
        let (student, now) = (Student::load(&path(file)).unwrap(), dir.path().join("now.json"));
        student.save(&now).unwrap();
        let text = fs::read_to_string(&now).unwrap();
        assert!(text.contains(r#""type": "additive""#));
        assert!(
            ["linear", "choice_logit", "spline_logit"].iter().all(|k| !text.contains(&format!("\"type\": \"{k}\"")))
        );
        // The old file has a hash of its own, and the new one that of the student.
        assert_ne!(student.file_hash(), student.hash());
        let again = Student::load(&now).unwrap();
        assert_eq!((again.file_hash(), again.hash()), (student.hash(), student.hash()));
        assert_eq!(again, Student { read_from: None, ..student });
    }
}

#[test]
fn their_patches_name_the_same_numbers() {
    for (file, place, name, now, fitted) in [
        ("run/student.json", "job.coefficient[remaining_work]", "", -5e-7, -3.915181177727132e-07),
        // A feature that had no coefficient, changed twice; one that lost its own.
        ("run/student.json", "job.coefficient[offered]", "", 0.5, 0.0),
        ("run/student.json", "job.coefficient[age]", "", 0.0, -4.443557672036967e-07),
        (
            "run/student.json",
            "stage.term[0].coefficient",
            "stage.coefficient[on_critical_path]",
            0.75,
            0.4447139184182932,
        ),
        ("run/student.json", "stage.term[1].threshold", "", 1.5, 0.5),
        ("run/student.json", "stage.term[2].threshold", "", 4.5, 3.5),
        ("run/student.json", "cluster.coefficient[offered]", "amount.coefficient[offered]", -0.125, 0.0),
        ("edited.json", "job.coefficient[remaining_work*jobs_in_system]", "", 0.0, 3.279313808440441e-08),
        ("edited.json", "job.coefficient[offered]", "", 2.0, 0.0),
        ("edited.json", "stage.regime[0].threshold", "", 2e6, 1e6),
    ] {
        let mut student = Student::load(&path(file)).unwrap();
        let at = student.place(place).unwrap();
        assert_eq!(student.place_name(&at), if name.is_empty() { place } else { name });
        assert_eq!(student.number(&at), Some(now), "{place}");
        let all: Vec<Place> =
            student.patches.iter().flat_map(|p| &p.changes).map(|c| student.place(&c.place).unwrap()).collect();
        assert!(all.contains(&at), "{place}");
        student.edit(&format!("{place}=7"), "").unwrap();
        assert_eq!((student.number(&at), student.check_patches()), (Some(7.0), Ok(())), "{place}");
        while !student.patches.is_empty() {
            student.revert_patch(0);
            assert_eq!(student.check_patches(), Ok(()));
        }
        assert_eq!(student.number(&at), Some(fitted), "{place}");
    }
}

#[cfg(feature = "cli")]
#[test]
fn a_run_directory_is_still_about_its_student() {
    use crate::program::{TINY, done, refused};
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::create_dir(dir.join("run")).unwrap();
    for file in ["run.json", "student.json", "evaluation.json"] {
        fs::copy(path("run").join(file), dir.join("run").join(file)).unwrap();
    }
    done(dir, &["report", "run", "-o", "page"]);
    let evaluation = || fs::read_to_string(dir.join("run/evaluation.json")).unwrap();
    let before: serde_json::Value = serde_json::from_str(&evaluation()).unwrap();
    // What is measured now joins what was measured then, and the student in the directory stays as it is.
    done(dir, &["evaluate", "run/student.json", "-t", "fair", "-w", TINY, "-n", "1", "--run", "run"]);
    let after: serde_json::Value = serde_json::from_str(&evaluation()).unwrap();
    assert_eq!((&after["fidelity"], after["closed_loop"].is_object()), (&before["fidelity"], true));
    assert_eq!(fs::read(dir.join("run/student.json")).unwrap(), fs::read(path("run/student.json")).unwrap());
    done(dir, &["report", "run", "-o", "page"]);
    let another = evaluation().replacen(after["student"].as_str().unwrap(), &"0".repeat(64), 1);
    fs::write(dir.join("run/evaluation.json"), another).unwrap();
    refused(dir, &["report", "run", "-o", "other"], &["evaluation.json", "it is about the student with SHA-256 0000"]);
}
