//! "Guards and edits": guards, patches, regimes and the search.

use super::{Outcome, fixture::write_run, report};
use sched_distill::report::write_report;
use serde_json::{Value, json};
use std::{fs, path::Path};

/// A tree of two leaves, as student files have it.
fn stump(feature: u32, threshold: f32, values: [f64; 2]) -> Value {
    json!({
        "type": "tree", "operator": "<=", "feature": [feature, 0, 0], "threshold": [threshold, 0.0, 0.0],
        "left": [1, u32::MAX, u32::MAX], "right": [2, u32::MAX, u32::MAX], "default_left": [true, true, true],
        "value": [0.5, values[0], values[1]], "impurity": [0.0, 0.0, 0.0], "n_samples": [2, 1, 1], "weight": [2.0, 1.0, 1.0],
    })
}

/// Gives the run's student two guards, two patches, and a regime at the level of amounts.
fn edit_student(dir: &Path) -> Outcome {
    let path = dir.join("student.json");
    let mut student: Value = serde_json::from_slice(&fs::read(&path)?)?;
    let nodes = student["levels"][0]["models"][0]["model"]["value"].as_array().ok_or("values")?.len();
    let last = value(&student, nodes - 1);
    let change = |node: usize, now: f64| json!({"place": format!("job.node[{node}].value"), "was": 0.25, "now": now});
    student["patches"] = json!([
        {"changes": [change(nodes - 1, last)],
         "evidence": {"reason": "counts twice", "gain": -0.0021, "firing_rate": 0.1437}},
        {"changes": [change(nodes - 2, value(&student, nodes - 2)), change(nodes - 3, value(&student, nodes - 3))]},
    ]);
    let when =
        |feature: &str, operator: &str, value: f64| json!([{"feature": feature, "operator": operator, "value": value}]);
    student["guards"] = json!([
        {"level": "job", "when": when("age", ">", 300_000.0), "action": "first",
         "evidence": {"reason": "starvation: <old> jobs come first", "gain": 0.0128, "firing_rate": 0.0349}},
        {"level": "amount", "when": when("amount", ">=", 6.0), "action": "never"},
    ]);
    let (mut above, mut regime) =
        (json!({"type": "linear", "coefficient": [0.0, -1.0, 0.0], "intercept": 0.0}), json!({"type": "regime"}));
    above["feature_sd"] = json!([1.0, 1.0, 1.0]);
    let mut tree = stump(2, 4.0, [0.0, 1.0]);
    tree.as_object_mut().ok_or("an object")?.remove("type");
    regime["tree"] = tree;
    regime["models"] = json!([stump(0, 0.5, [0.0, 1.0]), above]);
    student["levels"][2]["models"][0]["model"] = regime;
    fs::write(path, serde_json::to_vec(&student)?)?;
    // What explains the student is about the edited one.
    super::explained::explain(dir)
}

fn value(student: &Value, node: usize) -> f64 {
    student["levels"][0]["models"][0]["model"]["value"][node].as_f64().unwrap_or(f64::NAN)
}

/// A search of three steps.
fn steps() -> Value {
    let step = |what: &str, train: Option<f64>, gain: f64, kept: bool, spent: u64| json!({"what": what, "train_gain": train, "validation_gain": gain, "standard_error": 0.002, "kept": kept, "spent": spent});
    json!([
        step("guard job: age > 300000 first", Some(0.02), 0.1, true, 800),
        step("guard <script>", Some(0.01), -0.004, false, 1_700),
        step("direct search, round 1, generation 12", None, 0.2, true, 12_000),
    ])
}

#[test]
fn edits_are_put_in_words_with_their_evidence() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    edit_student(dir.path())?;
    let (html, numbers) = report(dir.path(), "edits")?;
    for words in [
        "a job with time since it arrived above 5\u{a0}min comes first",
        "job: age &gt; 300000 first",
        "starvation: &lt;old&gt; jobs come first",
        "an amount with amount at least 6\u{a0}executors is never taken while there is another amount",
        "<summary>2 numbers</summary>",
        ": 0.25 → ",
        "jobs in the cluster ≤ 4\u{a0}jobs",
        "a tree of 2 leaves",
        "the smallest amount first",
        "+1.28\u{a0}%",
        "\u{2212}0.21\u{a0}%",
    ] {
        assert!(html.contains(words), "{words}");
    }
    let expected = json!([
        {"edit": "guard 1, job", "gain": 0.0128, "firing_rate": 0.0349},
        {"edit": "guard 2, amount", "gain": null, "firing_rate": null},
        {"edit": "patch 1, 1 number", "gain": -0.0021, "firing_rate": 0.1437},
        {"edit": "patch 2, 2 numbers", "gain": null, "firing_rate": null},
    ]);
    assert_eq!(numbers, expected);
    Ok(())
}

#[test]
fn the_search_adds_up_what_was_kept() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    fs::write(dir.path().join("steps.json"), serde_json::to_vec(&steps())?)?;
    let (html, numbers) = report(dir.path(), "search")?;
    let together: Vec<f64> = serde_json::from_value(numbers["together"].clone())?;
    assert!(together.iter().zip([0.1, 0.1, 0.28]).all(|(a, b)| (a - b).abs() < 1e-12), "{together:?}");
    assert_eq!(numbers["steps"], steps());
    assert!(html.contains("tried 3 changes on validation episodes and kept 2.") && html.contains("+28.00\u{a0}%"));
    assert!(html.contains("guard &lt;script&gt;") && html.contains("It has no guards, patches or regimes"));
    Ok(())
}

#[test]
fn a_broken_search_is_refused() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let said = |steps: &Value| -> Result<String, Box<dyn std::error::Error>> {
        fs::write(dir.path().join("steps.json"), serde_json::to_vec(steps)?)?;
        Ok(write_report(dir.path(), &dir.path().join("report")).err().map(|e| e.to_string()).unwrap_or_default())
    };
    let (mut unknown, mut impossible) = (steps(), steps());
    unknown[0]["clock"] = json!(3);
    impossible[1]["validation_gain"] = json!(1.5);
    assert!(
        said(&unknown)?
            .contains("steps.json: not a valid file of a run directory; make it again with `distill augment`")
    );
    assert!(said(&impossible)?.contains("steps.json: step 1, `guard <script>`: gain 1.5"));
    assert_eq!(said(&json!([]))?, "", "a search that tried nothing is no chart");
    Ok(())
}
