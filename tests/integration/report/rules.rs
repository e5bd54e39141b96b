//! "Does it hold up?": would other episodes give the same rules, and were all rules learned from enough?

use super::{Outcome, fixture::write_run, report};
use sched_distill::{
    explainer::{
        EXPLANATION_FORMAT, Explanation, Extent, FamilyStability, KindStability, LevelExplanation, LevelStability,
        NodeFacts, Points,
    },
    model::{Model, Student, Tree},
    report::write_report,
    trace::KindSample,
};
use serde_json::Value;
use std::{error::Error, fs, path::Path};

fn tree(student: &Student) -> &Tree {
    let Model::Tree(tree) = &student.levels[0].scheduler().model else { panic!("the fixture's job level is a tree") };
    tree
}

/// An explanation of the run's student that says nothing of any level.
fn explanation(student: &Student) -> Explanation {
    Explanation {
        format_version: EXPLANATION_FORMAT,
        student: student.hash(),
        trace: "99".repeat(32),
        teacher: "decima:model.pt".into(),
        workload: "tpch".into(),
        split: "test".into(),
        seed: 7,
        levels: Vec::new(),
        stability: Vec::new(),
        gradients: None,
    }
}

/// The first level, whose nodes are reached as the training rows reached them, but for one leaf: 0.4 of all candidates.
fn level(student: &Student, often: usize) -> LevelExplanation {
    let tree = tree(student);
    let facts = |node: usize| NodeFacts {
        rows: if node == often { 0.4 } else { f64::from(tree.n_samples[node]) / f64::from(tree.n_samples[0]) },
        choices: 0.5,
        taken: 0.25,
        ..NodeFacts::default()
    };
    let sample = KindSample { kind: "free".into(), choices: 1000, weight: 1000.0, sampled: 500, sampled_weight: 500.0 };
    LevelExplanation {
        level: student.levels[0].level.clone(),
        model: "tree".into(),
        sample: vec![sample],
        rows: 5000,
        families: Vec::new(),
        features: Vec::new(),
        points: Points::default(),
        effects: Vec::new(),
        nodes: (0..tree.nodes()).map(facts).collect(),
        likeness: Vec::new(),
        exceptions: None,
        abstentions: Vec::new(),
    }
}

fn stability(level: &str) -> LevelStability {
    let kind = |kind: &str, mean: f64| KindStability {
        kind: kind.into(),
        choices: 1500,
        student: Extent { mean, least: mean - 0.05, largest: mean + 0.04 },
        pairs: Extent { mean: mean - 0.02, least: mean - 0.1, largest: mean },
    };
    let family = |name: &str, student, used, root| FamilyStability { name: name.into(), student, used, root };
    LevelStability {
        level: level.into(),
        model: "tree".into(),
        episodes: 60,
        size: 34,
        sizes: vec![30, 36, 33, 34],
        agreement: vec![kind("free", 0.843), kind("all", 0.912)],
        families: vec![family("remaining_work", true, 1.0, Some(0.75)), family("age", true, 0.25, Some(0.0))],
    }
}

fn write(dir: &Path, explanation: &Explanation) -> Outcome {
    Ok(fs::write(dir.join("explanation.json"), serde_json::to_vec(explanation)?)?)
}

#[test]
fn agreement_between_fits_is_shown_and_told() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let student = Student::load(&dir.path().join("student.json"))?;
    let measured = Explanation { stability: vec![stability("job")], ..explanation(&student) };
    write(dir.path(), &measured)?;
    let (html, numbers) = report(dir.path(), "stability")?;
    assert_eq!(numbers, serde_json::to_value(&measured.stability)?);
    for words in [
        "The same learner was run 4 more times",
        "take the student&#x27;s candidate in 91.2\u{a0}% of choices on average, at worst in 86.2\u{a0}%",
        "their size is 30 to 36",
        "All of them go by work left.",
        "Half of them or fewer go by time since it arrived",
        "<td class=\"n\">84.3<small>79.3 to 88.3</small></td>",
    ] {
        assert!(html.contains(words), "{words}");
    }
    assert!(dir.path().join("report/charts/stability.png").is_file());
    Ok(())
}

#[test]
fn fits_that_always_agree_are_not_drawn() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let student = Student::load(&dir.path().join("student.json"))?;
    let mut alike = stability("job");
    let always = Extent { mean: 1.0, least: 1.0, largest: 1.0 };
    alike.agreement.iter_mut().for_each(|k| (k.student, k.pairs) = (always, always));
    write(dir.path(), &Explanation { stability: vec![alike], ..explanation(&student) })?;
    let html = fs::read_to_string(write_report(dir.path(), &dir.path().join("report"))?.page)?;
    assert!(html.contains("All fits take the same candidate in every choice") && !html.contains("id=\"stability\""));
    Ok(())
}

#[test]
fn without_other_fits_the_page_says_why_or_names_the_command() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let page = || -> Result<String, Box<dyn Error>> {
        let summary = write_report(dir.path(), &dir.path().join("report"))?;
        Ok(fs::read_to_string(summary.page)?)
    };
    assert!(page()?.contains("<code>distill explain STUDENT TRACE --train TRAIN_TRACE --run RUN_DIR</code>"));
    let path = dir.path().join("student.json");
    let mut student: Value = serde_json::from_slice(&fs::read(&path)?)?;
    student["provenance"]["parameters"] = serde_json::json!({"depth": 3});
    fs::write(&path, serde_json::to_vec(&student)?)?;
    super::explained::explain(dir.path())?;
    let html = page()?;
    assert!(html.contains("cannot be for this student: the parameters of its fit cannot be read back"));
    Ok(())
}

#[test]
fn broken_agreement_is_refused_by_name() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let student = Student::load(&dir.path().join("student.json"))?;
    let said = |edit: fn(&mut LevelStability)| -> Result<String, Box<dyn Error>> {
        let mut one = stability("job");
        edit(&mut one);
        write(dir.path(), &Explanation { stability: vec![one], ..explanation(&student) })?;
        let error = write_report(dir.path(), &dir.path().join("report")).err().ok_or("it must be refused")?;
        Ok(error.to_string())
    };
    assert!(said(|s| s.level = "gpu".into())?.contains("stability of level `gpu`: the student has no such"));
    assert!(said(|s| s.sizes.truncate(1))?.contains("it is of 1 fits"));
    assert!(said(|s| s.agreement[0].pairs.largest = 1.2)?.contains("agreement on kind `free`"));
    assert!(said(|s| s.agreement[0].student.least = 0.99)?.contains("agreement on kind `free`"));
    assert!(said(|s| s.families[1].used = -0.5)?.contains("the figures of `age`"));
    Ok(())
}

/// Every leaf of less than 30 rows is listed, and the one that recorded candidates reach far more often than rows did.
#[test]
fn leaves_with_little_support_are_listed() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let path = dir.path().join("student.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&path)?)?;
    let before = Student::load(&path)?;
    let leaves: Vec<usize> = (0..tree(&before).nodes()).filter(|&n| tree(&before).is_leaf(n)).collect();
    let (few, often) = (leaves[0], leaves[5]);
    // All leaves but one have many rows.
    for level in 0..3 {
        let rows = file["levels"][level]["models"][0]["model"]["n_samples"].as_array_mut().ok_or("rows")?;
        rows.iter_mut().for_each(|n| *n = Value::from(n.as_u64().unwrap_or(0).max(30)));
    }
    file["levels"][0]["models"][0]["model"]["n_samples"][few] = Value::from(12);
    fs::write(&path, serde_json::to_vec(&file)?)?;
    let student = Student::load(&path)?;
    for about_another in ["explanation.json", "decisions.json", "what_if.json"] {
        fs::remove_file(dir.path().join(about_another))?;
    }

    let (html, numbers) = report(dir.path(), "support")?;
    let listed = |numbers: &Value| -> Vec<u64> {
        numbers.as_array().into_iter().flatten().filter_map(|l| l["node"].as_u64()).collect()
    };
    assert_eq!(listed(&numbers), [few as u64], "without an explanation only rows are counted");
    assert!(html.contains("Of 56 leaves 1 was learned from fewer than 30 training rows; what recorded choices reach"));
    assert!(numbers[0]["candidates"].is_null() && numbers[0]["training_rows"] == 12);

    write(dir.path(), &Explanation { levels: vec![level(&student, often)], ..explanation(&student) })?;
    let (html, numbers) = report(dir.path(), "support")?;
    assert_eq!(listed(&numbers), [often as u64, few as u64], "the most frequent first");
    assert_eq!((&numbers[0]["often"], &numbers[0]["few"]), (&Value::from(true), &Value::from(false)));
    assert_eq!((numbers[0]["candidates"].as_f64(), numbers[0]["taken"].as_f64()), (Some(0.4), Some(0.25)));
    assert!(!numbers[0]["conditions"].as_array().ok_or("conditions")?.is_empty());
    assert!(html.contains("<td class=\"n\">40.0\u{a0}%</td><td class=\"n\">25.0\u{a0}%</td><td>reached often</td>"));
    Ok(())
}
