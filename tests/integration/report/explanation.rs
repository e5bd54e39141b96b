//! What the page says of an explanation: what matters, single decisions, heuristics.

use super::{Outcome, fixture::write_run, report};
use sched_distill::{
    explainer::{Decisions, Explanation},
    model::Student,
    report::{ReportError, write_report},
};
use serde_json::Value;
use std::{fs, path::Path};

fn read<T: serde::de::DeserializeOwned>(dir: &Path, name: &str) -> Result<T, Box<dyn std::error::Error>> {
    Ok(serde_json::from_slice(&fs::read(dir.join(name))?)?)
}

#[test]
fn the_numbers_behind_the_charts_are_those_of_the_explanation() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let explanation: Explanation = read(dir.path(), "explanation.json")?;
    let job = &explanation.levels[0];
    let (html, weights) = report(dir.path(), "weights-job")?;
    let rows = weights.as_array().ok_or("a list")?;
    for kind in ["affinity", "free"] {
        let of_kind = |f: &sched_distill::explainer::Weight| f.by_kind.iter().find(|k| k.kind == kind).map(|k| k.share);
        let total: f64 = job.families.iter().filter_map(of_kind).sum();
        let shown: Vec<&Value> = rows.iter().filter(|r| r["kind"] == kind).collect();
        assert!(shown.len() > 2);
        for row in shown {
            let family = job.families.iter().find(|f| f.name == row["family"]).ok_or("a family")?;
            let share = of_kind(family).ok_or("a kind")? / total;
            assert!((row["share"].as_f64().ok_or("a number")? - share).abs() < 1e-12);
            assert!(html.contains(&format!("{:.1}\u{a0}%", 100.0 * share)));
        }
    }
    let (_, points) = report(dir.path(), "points-job")?;
    assert_eq!(points["shares"], serde_json::to_value(&job.points.shares)?);
    let (_, effects) = report(dir.path(), "effects-job")?;
    assert_eq!(effects, serde_json::to_value(&job.effects)?);
    let (_, likeness) = report(dir.path(), "likeness-job")?;
    assert_eq!(likeness[2]["teacher"]["value"], 0.43);
    for words in [
        "when any job may get the executors, the closest known ",
        " is shortest-job (the job with least remaining work first), which makes",
        "it is not much like any known",
    ] {
        assert!(html.contains(words), "{words}");
    }
    let exceptions = job.exceptions.as_ref().ok_or("exceptions")?;
    assert!(html.contains("but above all, a job "), "the exception in words");
    for k in exceptions.exceptions.iter().map(|e| &e.agreement).chain([&exceptions.agreement]).flatten() {
        let [value, low, high] = [k.teacher.value, k.teacher.low, k.teacher.high].map(|v| format!("{:.1}", 100.0 * v));
        assert!(html.contains(&format!("{value}<small>{low} to {high}</small>")), "{} {value}", k.kind);
    }
    Ok(())
}

#[test]
fn facts_at_nodes_add_up_to_their_parents() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let explanation: Explanation = read(dir.path(), "explanation.json")?;
    let student = Student::load(&dir.path().join("student.json"))?;
    for level in &explanation.levels {
        let sched_distill::model::Model::Tree(tree) = &student.model(&level.level, None)?.model else {
            return Err("not a tree".into());
        };
        assert_eq!((level.nodes.len(), level.nodes[0].rows, level.nodes[0].choices), (tree.nodes(), 1.0, 1.0));
        for node in (0..tree.nodes()).filter(|&n| !tree.is_leaf(n)) {
            let [all, left, right] =
                [node, tree.left[node] as usize, tree.right[node] as usize].map(|n| &level.nodes[n]);
            assert_eq!(all.sampled, left.sampled + right.sampled);
            assert!((all.rows - left.rows - right.rows).abs() < 1e-9);
            let taken = left.taken * left.rows + right.taken * right.rows;
            assert!((all.taken * all.rows - taken).abs() < 1e-9);
            assert!(all.choices <= left.choices + right.choices + 1e-9);
            if all.sampled > 0 {
                assert!((all.probability.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            }
        }
    }
    let html = fs::read_to_string(write_report(dir.path(), &dir.path().join("report"))?.page)?;
    let root = format!("{:.1}\u{a0}%", 100.0 * explanation.levels[0].nodes[0].best);
    assert!(html.contains(&format!("300 choices; taken {root}")), "one candidate of each choice is taken");
    Ok(())
}

#[test]
fn decisions_are_those_of_the_file_and_their_shares_add_up() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let decisions: Decisions = read(dir.path(), "decisions.json")?;
    let (html, views) = report(dir.path(), "decisions")?;
    let views = views.as_array().ok_or("a list")?;
    assert_eq!(views.len(), decisions.choices.len());
    for (view, choice) in views.iter().zip(&decisions.choices) {
        assert_eq!(view["id"], format!("{}:{}", choice.level, choice.choice));
        let [taken, rival] = [choice.taken, choice.rival].map(|i| &choice.candidates[i]);
        let sum: f64 = taken.shares.iter().zip(&rival.shares).map(|(a, b)| a - b).sum();
        assert!((sum - (taken.score - rival.score)).abs() < 1e-5, "{sum}");
        let shown = |i: usize| {
            view["candidates"][i]["shares"].as_array().into_iter().flatten().filter_map(Value::as_f64).sum::<f64>()
        };
        assert!((shown(choice.taken) - shown(choice.rival) - sum).abs() < 1e-3 * sum.abs().max(1.0));
        let probabilities: f64 = choice.candidates.iter().map(|c| c.student).sum();
        assert!(choice.candidates.len() < choice.candidates_in_all || (probabilities - 1.0).abs() < 1e-4);
    }
    // The page holds the same views, with nothing in them that could end their element.
    let start = html.find("id=\"decisions-data\">").ok_or("the data")? + "id=\"decisions-data\">".len();
    let text = &html[start..start + html[start..].find("</script>").ok_or("its end")?];
    assert_eq!(serde_json::from_str::<Vec<Value>>(text)?, *views);
    assert!(!text.contains('<'));
    Ok(())
}

#[test]
fn an_explanation_of_another_student_or_a_broken_one_is_refused() -> Outcome {
    type Edit = fn(&mut Value);
    let cases: [(&str, Edit, &str); 7] = [
        ("explanation.json", |v| v["student"] = "ab".into(), "about the student with SHA-256 ab"),
        ("explanation.json", |v| v["format_version"] = 9.into(), "format version 9 is not supported"),
        ("explanation.json", |v| v["levels"][0]["points"]["values"] = Value::Array(Vec::new()), "the points' values"),
        (
            "explanation.json",
            |v| v["levels"][0]["nodes"] = Value::Array(vec![v["levels"][0]["nodes"][0].clone()]),
            "facts about 1 nodes",
        ),
        (
            "explanation.json",
            |v| v["levels"][1]["level"] = "colour".into(),
            "level `colour` is not one of the student's",
        ),
        ("decisions.json", |v| v["choices"][0]["rival"] = 99.into(), "it names candidate 99"),
        (
            "decisions.json",
            |v| v["choices"][0]["candidates"][0]["shares"] = Value::Array(Vec::new()),
            "one value and one share",
        ),
    ];
    for (name, edit, words) in cases {
        let dir = tempfile::tempdir()?;
        write_run(dir.path(), |_, _, _| ())?;
        let mut value: Value = read(dir.path(), name)?;
        edit(&mut value);
        fs::write(dir.path().join(name), serde_json::to_vec(&value)?)?;
        match write_report(dir.path(), &dir.path().join("report")) {
            Err(ReportError::Invalid { path, reason }) => {
                assert!(path.ends_with(name) && reason.contains(words), "{reason}");
            }
            other => return Err(format!("{words}: {other:?}").into()),
        }
    }
    Ok(())
}

#[test]
fn without_an_explanation_the_page_names_the_command() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    for name in ["explanation.json", "decisions.json", "evaluation.json", "schedules.json"] {
        fs::remove_file(dir.path().join(name))?;
    }
    let html = fs::read_to_string(write_report(dir.path(), &dir.path().join("report"))?.page)?;
    assert_eq!(html.matches("<code>distill explain STUDENT TRACE --run RUN_DIR</code>").count(), 3);
    Ok(())
}
