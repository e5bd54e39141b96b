//! Sums of terms in the page: scorecards, their curves, and the numbers behind them.

use super::{Outcome, fixture::write_run, report, sentences};
use sched_distill::{
    model::{Model, ScoreCandidates, Student},
    report::write_report,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// Has the linear scores schedule, with a bend at the first level.
fn schedule_by_sums(dir: &Path) -> Outcome {
    let path = dir.join("student.json");
    let mut student: Value = serde_json::from_slice(&fs::read(&path)?)?;
    for level in student["levels"].as_array_mut().expect("levels") {
        level["use"] = json!("sum");
        level["models"] = json!([level["models"][1]]);
        level["models"][0]["name"] = json!("sum");
    }
    let factor = |feature: usize, shape: &str, threshold: Option<f32>| match threshold {
        Some(t) => json!({"feature": feature, "shape": shape, "threshold": t}),
        None => json!({"feature": feature, "shape": shape}),
    };
    let term = |c: f64, factors: &[Value]| json!({"coefficient": c, "sd": 1.0, "factors": factors});
    student["levels"][0]["models"][0]["model"] = json!({"type": "additive", "terms": [
        term(-2.28e-6, &[factor(0, "linear", None)]),
        term(2.28e-6, &[factor(0, "excess", Some(600_000.0))]),
        term(4.0, &[factor(5, "linear", None)]),
        term(-0.8, &[factor(1, "linear", None), factor(6, "above", Some(30_000.0))]),
        term(-0.5, &[factor(4, "above", Some(0.5))]),
    ]});
    fs::write(path, serde_json::to_vec(&student)?)?;
    super::explained::explain(dir)
}

/// The height of a curve at a place, between its corners.
fn height(curve: &[Value], x: f64) -> f64 {
    let corner = |v: &Value| (v[0].as_f64().unwrap_or_default(), v[1].as_f64().unwrap_or_default());
    let corners: Vec<(f64, f64)> = curve.iter().map(corner).collect();
    let right = corners.iter().position(|c| c.0 >= x).unwrap_or(corners.len() - 1).max(1);
    let ((x0, y0), (x1, y1)) = (corners[right - 1], corners[right]);
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}

#[test]
fn curves_of_a_scorecard_add_up_to_what_the_model_scores() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    schedule_by_sums(dir.path())?;
    let (_, numbers) = report(dir.path(), "card-job")?;
    let student = Student::load(&dir.path().join("student.json"))?;
    let names: Vec<&str> = student.feature_set.levels[0].features.iter().map(|f| f.name.as_str()).collect();
    let column = |name: &Value| names.iter().position(|n| Some(*n) == name.as_str()).expect("a feature");
    let named = student.levels[0].scheduler();
    let Model::Additive(sum) = &named.model else { panic!("a sum") };
    // Within the values that the curves are drawn for.
    let candidates: [[f32; 8]; 4] = [
        [5e5, 1.0, 1.0, 1.0, 0.4, 1.0, 2e4, 0.0],
        [9e5, 2.0, 2.0, 1.5, 0.6, 0.0, 4e4, 1.0],
        [1.5e5, 0.0, 1.0, 1.0, 0.5, 0.0, 1e5, 2.0],
        [7e5, 3.0, 4.0, 3.0, 0.1, 1.0, 9e4, 0.0],
    ];
    let mut scores = [0.0; 4];
    sum.score_choice(&candidates.concat(), 8, &mut scores);
    let points = candidates.map(|candidate| {
        let rows = numbers["rows"].as_array().expect("rows");
        let of = |row: &Value| {
            let holds = |line: &&Value| {
                let case = &line["case"];
                let Some(other) = row["cases_of"].as_str() else { return true };
                let value = f64::from(candidate[column(&json!(other))]);
                case["above"].as_f64().is_none_or(|t| value > t) && case["at_most"].as_f64().is_none_or(|t| value <= t)
            };
            let line = row["lines"].as_array().expect("lines").iter().find(holds);
            let x = f64::from(candidate[column(&row["feature"])]);
            line.map_or(0.0, |l| height(l["curve"].as_array().expect("corners"), x))
        };
        rows.iter().map(of).sum::<f64>()
    });
    let doubling = numbers["points_that_double_the_odds"].as_f64().expect("a number");
    for i in 1..4 {
        let expected = (scores[i] - scores[0]) / named.temperature / std::f64::consts::LN_2 * doubling;
        assert!(
            (points[i] - points[0] - expected).abs() < 1e-6 * expected.abs(),
            "{} {expected}",
            points[i] - points[0]
        );
    }
    Ok(())
}

#[test]
fn a_sum_is_introduced_as_a_scorecard_and_a_tree_as_a_tree() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let rules = || -> Result<(String, String), Box<dyn std::error::Error>> {
        let html = fs::read_to_string(write_report(dir.path(), &dir.path().join("report"))?.page)?;
        Ok((sentences::section(&html, "rules"), html))
    };
    let (of_trees, _) = rules()?;
    assert!(of_trees.contains("Start at the left and follow the answers") && !of_trees.contains("scorecard"));
    schedule_by_sums(dir.path())?;
    let (of_sums, html) = rules()?;
    assert!(!of_sums.contains("follow the answers"), "{of_sums}");
    for words in [
        "Add up the points of each row: the candidate with the most points is taken, the first of equals.",
        "Job that freed the executors itself",
        "Place by work left (0 has the least), only where time since it arrived is above 30 s",
        "per minute, up to 10 min",
        "Most of all, where time since it arrived is above 30 s, it gets more points for a smaller value of place by work left (0 has the \
         least) (\u{2212}11.5 points per place).",
        "Then it prefers a job that freed the executors itself (+57.7 points).",
    ] {
        assert!(of_sums.contains(words), "{words}: {of_sums}");
    }
    assert!(!of_sums.contains("decided together"));
    // The coefficients are there, folded.
    assert!(html.contains("<details><summary>The exact coefficients: a sum of terms"));
    assert!(html.contains("<a href=\"data/card-job.json\">numbers</a>"));
    assert!(of_sums.contains("2.28e\u{2212}6"));
    // A student that weighs whole decisions says so.
    let path = dir.path().join("student.json");
    let mut student: Value = serde_json::from_slice(&fs::read(&path)?)?;
    student["structure"] = json!("flat");
    fs::write(&path, serde_json::to_vec(&student)?)?;
    super::explained::explain(dir.path())?;
    assert!(rules()?.0.contains("Levels above the amount are decided together"));
    Ok(())
}
