//! Traces, students and run directories from when the level `amount` was called `cluster`.

use crate::{
    common::{copy, files},
    program::{done, refused},
};
use sched_distill::{model::Student, trace::Trace};
use serde_json::Value;
use std::{fs, path::Path};

/// A folder with copies of the files.
fn earlier() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/dag"), dir.path());
    dir
}

const RECORD: [&str; 9] = [
    "record",
    "-p",
    "sjf-cp,temperature=0.3,mode=sample",
    "-w",
    "builtin,jobs=2,executors=3",
    "-n",
    "2",
    "-o",
    "trace",
];

/// Whether two JSON values are the same, numbers to the last digits, which depend on the platform.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let [a, b] = [a, b].map(|n| n.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * (1.0 + a.abs())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            // Temperatures used to be found to three digits.
            let near = |a: &Value, b: &Value| (a.as_f64().unwrap() / b.as_f64().unwrap()).ln().abs() < 2e-3;
            let same = |key: &str, a, b| if key == "temperature" { near(a, b) } else { alike(a, b) };
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(key, a, b)))
        }
        _ => a == b,
    }
}

#[test]
fn a_student_decides_as_it_did() {
    let dir = earlier();
    let expected: Value = serde_json::from_slice(&fs::read(dir.path().join("expected.json")).unwrap()).unwrap();
    let expected = expected.as_object().unwrap();
    let policies: Vec<String> = expected
        .keys()
        .map(|model| match model.as_str() {
            "used" => "student:student.json".to_owned(),
            model => format!("student:student.json,model={model}"),
        })
        .collect();
    let chosen = policies.iter().flat_map(|policy| ["-p", policy]);
    let words: Vec<&str> = ["--json", "simulate"].into_iter().chain(chosen).collect();
    // One of two executors is not more than half: the rule against idle executors changes nothing here.
    let said = done(dir.path(), &[&words[..], &["-w", "builtin,jobs=3,executors=2", "-n", "2"]].concat());
    let found: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!(expected.len(), 7);
    for (policy, of_model) in found["policies"].as_array().unwrap().iter().zip(expected.values()) {
        assert!(alike(&policy["episode_objective"], of_model), "{policy} against {of_model}");
    }
}

#[test]
fn a_level_may_be_called_as_it_was() {
    let dir = earlier();
    let dir = dir.path();
    let student = Student::load(&dir.join("student.json")).unwrap();
    let levels: Vec<&str> = student.levels.iter().map(|l| l.level.as_str()).collect();
    assert_eq!(levels, ["job", "stage", "amount"]);
    assert_eq!(student.guards[1].to_string(), "amount: executors_given > 2 never");
    assert_eq!(student.patches[0].changes[0].place, "amount.node[1].value");
    assert!(student.provenance.fidelity.keys().all(|figure| !figure.starts_with("cluster")));
    assert_eq!(student.level("cluster"), student.level("amount"));

    let edits = ["--set", "cluster.node[1].value=0.25", "--guard", "cluster: executors_given > 1 never"];
    done(dir, &[&["patch", "student.json", "-o", "edited.json", "-n", "1", "--gate", "2"], &edits[..]].concat());
    let edited = fs::read_to_string(dir.join("edited.json")).unwrap();
    assert!(
        edited.contains("amount.node[1].value") && !edited.contains("\"cluster\"") && !edited.contains("\"cluster.")
    );
    assert!(done(dir, &["export", "student.json", "--level", "cluster", "--to", "rules"]).contains("amount"));
    done(dir, &["features", "trace", "--level", "cluster", "--folds", "2"]);
    let gate = "cluster/all/top1=0.01";
    done(dir, &["fit", "trace", "-o", "gated.json", "--learner", "tree", "--min-fidelity", gate]);
    done(dir, &["identify", "trace", "--rule", "most=cluster: largest executors_given"]);
    refused(dir, &["features", "trace", "--level", "node"], &["no level `node`", "job, stage, amount"]);
    let id = Trace::open(&dir.join("trace")).unwrap().level("cluster").unwrap().choices[0].id;
    assert!(done(dir, &["explain", "student.json", "trace", "--choice", &format!("cluster:{id}")]).contains("amount"));
}

#[test]
fn a_trace_is_read_and_fitted_as_it_was() {
    let dir = earlier();
    let dir = dir.path();
    let before = files(dir);
    assert!(done(dir, &["inspect", "trace"]).contains("amount"));
    done(dir, &["inspect", "--seal", "trace"]);
    assert!(done(dir, &RECORD).contains("110 amount"));
    done(dir, &["evaluate", "student.json", "trace"]);
    assert!(files(dir) == before, "reading, sealing and recording again change nothing");

    // Which terms a spline logit finds on so few choices is a matter of chance.
    let learners = "tree,linear,linear-tree,logit,pairwise-tree";
    done(dir, &["fit", "trace", "-o", "again.json", "--learner", learners, "--max-leaves", "3"]);
    let again = Student::load(&dir.join("again.json")).unwrap();
    let mut student = Student::load(&dir.join("student.json")).unwrap();
    student.revert_patch(0);
    for level in &mut student.levels {
        level.models.retain(|m| m.name != "regime" && m.name != "spline-logit");
    }
    let [again, student] = [&again, &student].map(|s| serde_json::to_value(&s.levels).unwrap());
    assert!(alike(&again, &student), "{again}\n{student}");
}

#[test]
fn a_trace_of_another_program_is_sealed_and_read() {
    let dir = earlier();
    let trace = dir.path().join("trace");
    let table = Trace::open(&trace).unwrap().level("amount").unwrap();
    let manifest = fs::read(trace.join("manifest.json")).unwrap();
    let mut manifest: Value = serde_json::from_slice(&manifest).unwrap();
    ["tables", "feature_set_hash"].iter().for_each(|field| _ = manifest.as_object_mut().unwrap().remove(*field));
    fs::write(trace.join("manifest.json"), manifest.to_string()).unwrap();
    fs::rename(trace.join("cluster/part-00000.parquet"), trace.join("cluster.parquet")).unwrap();
    done(dir.path(), &["inspect", "--seal", "trace"]);
    let sealed = Trace::open(&trace).unwrap();
    assert_eq!((&sealed.level("amount").unwrap(), sealed.rows_of("amount")), (&table, 110));
    assert!(sealed.manifest.tables.iter().any(|file| file.path == "cluster.parquet"));
    assert!(done(dir.path(), &["inspect", "trace"]).contains(&sealed.hash));
}

#[test]
fn an_unfinished_recording_is_finished() {
    for gone in [&["manifest.json"][..], &["manifest.json", "parts/part-00000.json", "cluster/part-00000.parquet"]] {
        let dir = earlier();
        let dir = dir.path();
        let before = Trace::open(&dir.join("trace")).unwrap();
        let table = before.level("amount").unwrap();
        gone.iter().for_each(|path| fs::remove_file(dir.join("trace").join(path)).unwrap());
        done(dir, &RECORD);
        let after = Trace::open(&dir.join("trace")).unwrap();
        assert_eq!(after.manifest.feature_set.difference(&before.manifest.feature_set), None);
        // Who controls a feature was not said then.
        let again = after.level("amount").unwrap();
        assert_eq!(sched_distill::trace::LevelTable { spec: table.spec.clone(), ..again }, table);
        let kept = after.manifest.tables.iter().any(|file| file.path == "cluster/part-00000.parquet");
        assert_eq!(kept, gone.len() == 1);
        // What both versions wrote goes.
        done(dir, &[&RECORD[..], &["--seed", "1", "--force"]].concat());
        assert!(!dir.join("trace/cluster").exists());
    }
}

#[test]
fn a_report_is_drawn_and_a_run_goes_on() {
    let dir = earlier();
    let dir = dir.path();
    done(dir, &["report", "run", "-o", "page"]);
    for chart in ["tree-amount", "fidelity-amount", "departures"] {
        assert!(dir.join(format!("page/charts/{chart}.png")).exists(), "{chart}");
    }
    let page = fs::read_to_string(dir.join("page/report.html")).unwrap();
    assert!(!page.contains(">cluster<") && !page.contains("cluster:"));
    let read = |name: &str| -> Value { serde_json::from_slice(&fs::read(dir.join(name)).unwrap()).unwrap() };
    let before = read("run/evaluation.json");
    // What was measured of the student is kept beside what is measured now.
    done(
        dir,
        &["evaluate", "run/student.json", "-t", "fair", "-w", "builtin,jobs=2,executors=3", "-n", "2", "--run", "run"],
    );
    done(dir, &["explain", "run/student.json", "trace", "--run", "run", "--choices", "10", "--decisions", "0"]);
    let after = read("run/evaluation.json");
    assert_eq!(after["fidelity"].as_array().unwrap().len(), before["fidelity"].as_array().unwrap().len());
    assert!(!after.to_string().contains(r#""level":"cluster""#));
    assert_eq!(after["departures"]["joint"], before["budget"]["joint"]);
    assert!(after["departures"]["rows"].to_string().contains(r#""level":"amount""#) && after.get("budget").is_none());
    done(dir, &["report", "run", "-o", "page"]);
}
