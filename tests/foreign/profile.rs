//! How long batches of a model take, measured and put into a workload.

use super::{
    onnx_file::{FLOAT, node, value},
    protobuf::Message,
};
use crate::program::{done, refused};
use serde_json::Value;
use std::{fs, path::Path, process::Command};

fn shipped() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/text-classifier.onnx").display().to_string()
}

/// The model that comes with the project is what its script writes.
#[test]
fn the_shipped_model_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/onnx_models.py");
    assert!(Command::new("python3").arg(script).arg("text").arg(&path).status().unwrap().success());
    let made = fs::read(&path).unwrap();
    assert!(made.len() < 200_000 && made == fs::read(shipped()).unwrap());
}

#[test]
fn times_are_measured_and_serve() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, model) = (folder.path(), shipped());
    let measure = ["profile-model", &model, "--sizes", "8,64", "--batches", "1,4", "--rounds", "3"];
    let said = done(dir, &[&measure[..], &["-o", "models.json", "--name", "own", "--json"]].concat());
    let found: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!((&found["type"], found["ms"].as_array().unwrap().len()), (&Value::from("profile"), 2));
    for part in ["alpha_ms", "beta_ms"] {
        let [value, low, high] = ["value", "low", "high"].map(|end| found[part][end].as_f64().unwrap());
        assert!(0.0 <= low && low <= value && value <= high, "{found}");
    }
    // Times that are kept are not replaced unasked, and nothing is measured before that is said.
    refused(dir, &[&measure[..], &["-o", "models.json"]].concat(), &["already exists with other content"]);
    let models: Value = serde_json::from_str(&fs::read_to_string(dir.join("models.json")).unwrap()).unwrap();
    assert_eq!((&models["models"][0]["name"], &models["models"][0]["most"]), (&Value::from("own"), &Value::from(4)));
    let workload = "models:models.json,seconds=0.05,timeout=0.1";
    let args = ["simulate", "--scenario", "serving", "-w", workload, "-n", "2", "-p", "tf-serving", "-p", "dybatch"];
    assert!(done(dir, &args).contains("dybatch"));
    let text = done(dir, &measure);
    assert!(text.contains("batch of 4") && text.contains("size 64") && text.contains("alpha "), "{text}");
}

/// Images and the like: all tasks have one size.
#[test]
fn a_model_without_sizes_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let graph = Message::default().bytes(1, node("Relu", &["x"], "y")).bytes(2, "rectifier");
    let graph = graph.bytes(11, value("x", FLOAT, &["batch", "3"])).bytes(12, value("y", FLOAT, &["batch", "3"]));
    let opset = Message::default().bytes(1, "").int(2, 15);
    fs::write(dir.join("one.onnx"), Message::default().int(1, 8).bytes(7, graph).bytes(8, opset).into_bytes()).unwrap();
    let said = done(dir, &["profile-model", "one.onnx", "--rounds", "3", "-o", "models.json"]);
    assert!(said.contains("size 1") && !said.contains("size 8"), "{said}");
    let models: Value = serde_json::from_str(&fs::read_to_string(dir.join("models.json")).unwrap()).unwrap();
    assert_eq!(models["models"][0]["sizes"], serde_json::json!([1, 1]));
    refused(dir, &["profile-model", "one.onnx", "--sizes", "8"], &["tasks have one size; leave sizes out"]);
}

#[test]
fn what_cannot_be_measured_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, model) = (folder.path(), shipped());
    fs::write(dir.join("noise.onnx"), b"\x08\x08 no model").unwrap();
    fs::write(dir.join("half.onnx"), &fs::read(&model).unwrap()[..60_000]).unwrap();
    for (args, says) in [
        (&["profile-model", "none.onnx"][..], "none.onnx"),
        (&["profile-model", "noise.onnx"], "noise.onnx"),
        (&["profile-model", "half.onnx"], "half.onnx"),
        (&["profile-model", &model, "--sizes", "16,8"], "--sizes must be 1 to 32 ascending whole numbers in 1..=65536"),
        (&["profile-model", &model, "--batches", "0"], "--batches must be 1 to 32 ascending whole numbers in 1..=4096"),
        (&["profile-model", &model, "-o", "no/folder/models.json"], "no/folder"),
    ] {
        refused(dir, args, &[says]);
    }
}
