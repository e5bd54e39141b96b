//! Files of others, and files that another command takes: what they look like, and which way in there is.

use crate::program::{TINY, command, done, record, refused, run, text};
use std::{fs, path::Path};

/// A zip archive as far as its names go.
fn zip(names: &[&str]) -> Vec<u8> {
    names.iter().flat_map(|name| [b"PK\x03\x04", name.as_bytes()].concat()).collect()
}

const WORKLOAD: &str =
    r#"{"num_executors": 4, "jobs": [{"arrival_ms": 0, "stages": [{"num_tasks": 2, "durations": 5}]}]}"#;

#[test]
fn what_is_no_student_is_told_by_what_it_looks_like() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("jobs.json"), WORKLOAD).unwrap();
    let said = done(dir, &["inspect", "jobs.json"]);
    assert!(said.starts_with("workload of `dag`"), "{said}");
    let simulate = said.lines().find_map(|line| line.trim().strip_prefix("distill ")).unwrap();
    done(dir, &[&simulate.split(' ').collect::<Vec<_>>()[..], &["-n", "1"]].concat());
    record(dir, "t", "2", "train");
    let table = fs::read_dir(dir.join("t/job")).unwrap().next().unwrap().unwrap().path();
    fs::copy(table, dir.join("theirs.parquet")).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(dir.join(name), bytes).unwrap();
    write("policy.py", b"import json\n");
    write("my policy.py", b"import json\n");
    write("run.sh", b"#!/bin/sh\n");
    write("bad.json", b"{\"jobs\": [{\"arrival_ms\": -1}]}");
    write("other.json", b"{\"a\": 1}");
    write("log.csv", b"id,submit,gpus\n1,2,3\n");
    write("sb3.zip", &zip(&["policy.pth", "pytorch_variables.pth", "_stable_baselines3_version"]));
    let weights = br#"{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    write("dl2.safetensors", &[&(weights.len() as u64).to_le_bytes()[..], weights, &1f32.to_le_bytes()].concat());
    write("model.joblib", b"\x80\x04csklearn.tree");
    write("image.png", b"\x89PNG\r\n\x1a\n\xff\xfe");
    for (name, words) in [
        ("theirs.parquet", &["a Parquet file", "docs/trace-format.md"][..]),
        ("policy.py", &["a program", "distill check-policy -p 'script:python3 policy.py'"]),
        ("my policy.py", &["a program", "script:python3 FILE"]),
        ("run.sh", &["a program", "script:./run.sh"]),
        ("bad.json", &["a workload that cannot be opened", "distill simulate -p fifo -w json:bad.json"]),
        ("other.json", &["JSON, but neither"]),
        ("log.csv", &["a table of text", "philly"]),
        ("t/manifest.json", &["the manifest of a trace", "distill inspect t"]),
        ("sb3.zip", &["Stable-Baselines3", "onnx:FILE"]),
        ("dl2.safetensors", &["weights of a network", "--scenario training -p dl2:dl2.safetensors"]),
        ("model.joblib", &["a pickle of Python objects"]),
        ("image.png", &["nothing that is known"]),
    ] {
        refused(dir, &["inspect", name], &[&[name, "looks like"], words].concat());
    }
    // What is meant to be a student is told what is wrong with it.
    write("student.json", b"{\"format_version\": 1, \"levels\": []}");
    refused(dir, &["inspect", "student.json"], &["not a valid student file"]);
}

#[test]
fn a_model_of_others_as_a_teacher_is_named_with_the_way_in() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let refuse = |name: &str, bytes: &[u8], words: &[&str]| {
        fs::write(dir.join(name), bytes).unwrap();
        refused(dir, &["check-policy", "-p", &format!("decima:{name}")], words);
    };
    let both = ["onnx:", "script:"];
    refuse("sb3.zip", &zip(&["pytorch_variables.pth"]), &[&["Stable-Baselines3"], &both[..]].concat());
    refuse("m.keras", &zip(&["model.weights.h5"]), &[&["a Keras model"], &both[..]].concat());
    refuse("m.h5", b"\x89HDF\r\n\x1a\n", &[&["a Keras or other HDF5 file"], &both[..]].concat());
    refuse("m.joblib", b"\x80\x04c", &[&["a pickle of Python objects"], &both[..]].concat());
    if !cfg!(feature = "onnx") {
        refused(dir, &["check-policy", "-p", "onnx:missing.onnx"], &["does not read ONNX files", "--features onnx"]);
    }
    if !cfg!(feature = "torch") {
        refused(dir, &["simulate", "-p", "torchscript:missing.pt"], &["does not read TorchScript", "--features torch"]);
    }
}

#[test]
fn a_byte_order_mark_before_a_text_is_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mark = |path: &Path| fs::write(path, [&b"\xef\xbb\xbf"[..], &fs::read(path).unwrap()].concat()).unwrap();
    fs::write(dir.join("jobs.json"), WORKLOAD).unwrap();
    mark(&dir.join("jobs.json"));
    done(dir, &["simulate", "-p", "fair", "-w", "json:jobs.json", "-n", "1"]);
    record(dir, "t", "2", "train");
    done(dir, &["fit", "t", "-o", "s.json", "--max-leaves", "4"]);
    mark(&dir.join("s.json"));
    mark(&dir.join("t/manifest.json"));
    assert!(done(dir, &["inspect", "s.json"]).contains("sound"));
    done(dir, &["simulate", "-p", "student:s.json", "-w", TINY, "-n", "1"]);
    done(dir, &["fit", "t", "-o", "again.json", "--max-leaves", "4"]);
}

#[test]
fn a_file_with_a_comma_in_its_name_is_put_in_quotes() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "t", "2", "train");
    done(dir, &["fit", "t", "-o", "my student,v2.json", "--max-leaves", "4"]);
    let plain = ["simulate", "-p", "student:my student,v2.json", "-w", TINY, "-n", "1"];
    let advice = "'student:\"my student,v2.json\"'";
    refused(dir, &plain, &["`v2.json` has no `=`", advice]);
    let quoted = advice.trim_matches('\'');
    done(dir, &["simulate", "-p", quoted, "-w", TINY, "-n", "1"]);
    // What is written of it can be typed again.
    done(dir, &["record", "-p", quoted, "-w", TINY, "-n", "1", "-o", "own"]);
    assert!(done(dir, &["inspect", "own"]).contains("student:\"my student,v2.json\""));
}

#[test]
fn a_student_of_features_of_ones_own_is_said_not_to_schedule() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "t", "2", "train");
    done(dir, &["fit", "t", "-o", "s.json", "--max-leaves", "4"]);
    assert!(!done(dir, &["inspect", "s.json"]).contains("does not schedule"));
    let student = fs::read_to_string(dir.join("s.json")).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&student).unwrap();
    let features = value["feature_set"]["levels"][0]["features"].as_array_mut().unwrap();
    features.last_mut().unwrap()["version"] = 9.into();
    value["feature_set_hash"] = "".into();
    let set: sched_distill::level::FeatureSet = serde_json::from_value(value["feature_set"].clone()).unwrap();
    value["feature_set_hash"] = set.hash().into();
    fs::write(dir.join("own.json"), value.to_string()).unwrap();
    let said = done(dir, &["inspect", "own.json"]);
    assert!(said.contains("sound") && said.contains("does not schedule here") && said.contains("`serve`"), "{said}");
    refused(dir, &["serve", "-p", "student:own.json"], &["another feature set", "does not schedule here"]);
}

#[test]
#[cfg(unix)]
#[cfg_attr(not(python), ignore = "needs python3")]
fn a_named_command_stays_where_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/script_policy.py");
    fs::copy(script, dir.join("p.py")).unwrap();
    let command_line = format!("python3 {}/p.py --token=TOPSECRET", dir.display());
    let named = format!("script:mine={command_line},timeout=20");
    let workload = "builtin,executors=3,jobs=3";
    done(dir, &["demo", "--fast", "-t", &named, "-w", workload, "-n", "4", "-o", "r", "-q"]);
    for to in ["c", "rust", "rules"] {
        done(dir, &["export", "r/student.json", "--to", to, "-o", &format!("r/student.{to}")]);
    }
    let mut serve = command(dir, &["serve", "-p", &named, "-q"]);
    let serve = serve.stdin(std::process::Stdio::null()).output().unwrap();
    fs::write(dir.join("r/served"), [serve.stdout, serve.stderr].concat()).unwrap();
    for (name, _) in crate::program::files(&dir.join("r")) {
        let bytes = fs::read(dir.join("r").join(&name)).unwrap();
        for secret in ["TOPSECRET", dir.to_str().unwrap()] {
            assert!(!bytes.windows(secret.len()).any(|w| w == secret.as_bytes()), "{secret} is in {name}");
        }
    }
    let student = fs::read_to_string(dir.join("r/student.json")).unwrap();
    assert!(student.contains("script:mine,command="), "{student}");
    // The name alone is not enough to run it.
    let alone = "script:mine,command=000000000000";
    refused(
        dir,
        &["simulate", "-p", alone, "-w", workload, "-n", "1"],
        &["give the command again", "script:mine=COMMAND"],
    );
    // A command without a name that looks as if it held a secret is warned of, also where a program reads the result.
    let open = format!("script:{command_line}");
    for said in [&[][..], &["--json"]] {
        let output = run(dir, &[&["simulate", "-p", &open, "-w", workload, "-n", "1"], said].concat());
        assert!(text(&output.stderr).contains("`--token`") && text(&output.stderr).contains("script:NAME=COMMAND"));
    }
}
