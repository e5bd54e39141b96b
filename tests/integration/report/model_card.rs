//! The model card: front matter that programs can read whatever the names hold, and the figures of the run.

use super::{
    Outcome,
    fixture::{closed_loop, fidelity, write_run},
};
use sched_distill::{
    evaluator::{Evaluation, Role},
    model::Student,
    pipeline::RunInfo,
    report::write_report,
};
use serde_json::{Map, Value, json};
use std::{error::Error, fs, path::Path};

fn card(dir: &Path, edit: impl FnOnce(&mut RunInfo, &mut Evaluation)) -> Result<String, Box<dyn Error>> {
    write_run(dir, |info, _, evaluation| edit(info, evaluation))?;
    let summary = write_report(dir, &dir.join("report"))?;
    assert_eq!(summary.card, dir.join("report/model_card.md"));
    Ok(fs::read_to_string(summary.card)?)
}

/// `{key: scalar, ...}`: every scalar is JSON.
fn flow(text: &str) -> Result<Value, Box<dyn Error>> {
    let mut rest = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or("a map in braces")?;
    let mut map = Map::new();
    while let Some((key, after)) = rest.split_once(": ") {
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        map.insert(key.trim_start_matches(", ").to_owned(), values.next().ok_or("a value")??);
        rest = &after[values.byte_offset()..];
    }
    Ok(Value::Object(map))
}

/// The front matter, of which every line is `key: scalar`, `key:` or `  - {...}`.
fn front_matter(card: &str) -> Result<Map<String, Value>, Box<dyn Error>> {
    let (head, _) = card.strip_prefix("---\n").and_then(|t| t.split_once("\n---\n")).ok_or("front matter")?;
    let mut map = Map::new();
    let mut list = String::new();
    for line in head.lines() {
        if let Some(item) = line.strip_prefix("  - ") {
            let items = map.get_mut(&list).and_then(Value::as_array_mut).ok_or("an item belongs to a list")?;
            items.push(flow(item)?);
        } else if let Some(key) = line.strip_suffix(':') {
            list = key.to_owned();
            map.insert(key.to_owned(), json!([]));
        } else {
            let (key, value) = line.split_once(": ").ok_or("key: value")?;
            map.insert(key.to_owned(), serde_json::from_str(value)?);
        }
    }
    Ok(map)
}

#[test]
fn the_card_has_the_runs_figures() -> Outcome {
    let dir = tempfile::tempdir()?;
    let card = card(dir.path(), |_, evaluation| {
        evaluation.other_workloads = vec![closed_loop("tpch:executors=5,jobs=30", 90_000.0, 3)];
    })?;
    let student = Student::load(&dir.path().join("student.json"))?;
    let matter = front_matter(&card)?;
    assert_eq!(matter["student_sha256"], student.file_hash());
    assert_eq!(matter["training_trace_sha256"], "77".repeat(32));
    assert_eq!(matter["teacher"], "decima:model.pt,mode=sample");
    assert_eq!(matter["teacher_files"], json!([{"path": "model.pt", "sha256": "3f".repeat(32)}]));
    assert_eq!(matter["size"], student.size());
    assert_eq!(matter["levels"][0], json!({"level": "job", "model": "tree", "size": 34}));
    let metrics = matter["metrics"].as_array().ok_or("metrics")?;
    let students: Vec<_> = fidelity().into_iter().filter(|r| r.role == Role::Student).collect();
    assert_eq!(metrics.len(), students.len() + 2);
    for (metric, row) in metrics.iter().zip(&students) {
        assert_eq!((&metric["level"], &metric["kind"]), (&json!(row.level), &json!(row.kind)));
        assert_eq!(metric["value"].as_f64(), Some(row.top1.value));
    }
    let [ratio, stalled] = &metrics[students.len()..] else { return Err("two ratios".into()) };
    assert!(ratio["value"].as_f64() > ratio["low"].as_f64(), "{ratio}");
    assert_eq!(stalled["none"], "the student stalled in 3 of 20 episodes");
    for words in [
        "# Decima on TPC-H, explained\n",
        "## What it does\n",
        "- **Does it hold up as a scheduler?**",
        "      distill fit runs/a/traces/train -o runs/a/student.json\n",
        "- Recorded: train (60 episodes, 43,120 decisions)",
        "- The teacher samples its actions.\n",
        "- Weak on ",
        "- Run as a scheduler on tpch:executors=10,jobs=30 and tpch:executors=5,jobs=30 only;",
    ] {
        assert!(card.contains(words), "{words}\n{card}");
    }
    assert!(!card.contains("licen"), "the teacher's licence is not known");
    Ok(())
}

#[test]
fn hostile_names_stay_text() -> Outcome {
    let dir = tempfile::tempdir()?;
    let evil = "a: [b]\n---\n# no\u{2028}\"<img src=x>\" [x](http://y) {%`|";
    let card = card(dir.path(), |info, evaluation| {
        (info.title, info.workload, info.teacher.id) = (evil.into(), evil.into(), evil.into());
        info.commands = vec![evil.into()];
        info.notes = vec![evil.into()];
        evaluation.fidelity.iter_mut().for_each(|r| r.kind = evil.into());
        let closed_loop = evaluation.closed_loop.as_mut().expect("the fixture has one");
        closed_loop.workload = evil.into();
    })?;
    let matter = front_matter(&card)?;
    for key in ["title", "workload", "teacher"] {
        assert_eq!(matter[key], evil);
    }
    assert_eq!(matter["metrics"][0]["kind"], evil);
    let body = card.splitn(3, "---\n").nth(2).ok_or("a body")?;
    assert!(!body.contains("\n# no") && !body.contains('\u{2028}'));
    // Outside code, every < is escaped and no link is left.
    for line in body.lines().filter(|l| !l.starts_with("      ")) {
        assert_eq!(line.matches('<').count(), line.matches("\\<").count(), "{line}");
        assert!(!line.contains("x]("), "{line}");
    }
    let row = body.lines().find(|l| l.starts_with("| job")).ok_or("a row")?;
    assert_eq!(row.matches('|').count() - row.matches("\\|").count(), 5, "{row}");
    Ok(())
}
