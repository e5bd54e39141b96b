//! The documentation and the schemas say what scenarios say of themselves, and so do the lines of a conversation.

use super::{Tested, episode, open};
use crate::json_schema::misfit;
use sched_distill::{
    contract::{Contract, Dtype, Input, Size, Tabular as _},
    dag::Dag,
    deadlines::Deadlines,
    foreign::PROTOCOL,
    preemption::Preemption,
    serving::Serving,
    training::Training,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

const DOCS: &str = include_str!("../../docs/foreign-policies.md");
const SCHEMA: &str = include_str!("../../docs/script-protocol.schema.json");
const TRAINING_SCHEMA: &str = include_str!("../../docs/script-protocol-training.schema.json");

/// The part of the documentation that is about a scenario.
fn section(scenario: &str) -> &'static str {
    let from = DOCS.split_once(&format!("\n### `{scenario}`\n")).unwrap().1;
    from.split("\n### ").next().unwrap().split("\n## ").next().unwrap()
}

fn is_documented<S: Tested>() {
    let (contract, docs) = (S::contract(), section(S::INFO.name));
    let row = |cells: &[&str]| format!("\n| {} |\n", cells.join(" | "));
    let name = |name: &str| format!("`{name}`");
    let mut lines = vec![row(&["input", "type", "shape", "what"]), row(&["output", "type", "shape", "what"])];
    for input in contract.inputs {
        let shape = contract.shape_of_input(input);
        lines.push(row(&[&name(input.name), input.dtype.name(), &shape, input.meaning]));
        lines.extend(input.columns.iter().map(|c| row(&[&name(c.name), c.unit, c.meaning])));
    }
    for output in contract.outputs {
        let shape = contract.shape_of_output(output);
        lines.push(row(&[&name(output.name), "float32", &shape, output.meaning]));
    }
    for line in &lines {
        assert!(docs.contains(line), "docs/foreign-policies.md, {}, lacks{line}", S::INFO.name);
    }
    // And nothing more: a row of a table begins with a name.
    let rows = docs.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, lines.len() - 2, "{}", S::INFO.name);
}

#[test]
fn the_tables_of_the_documentation_are_those_of_the_code() {
    is_documented::<Dag>();
    is_documented::<Training>();
}

/// Those of all scenarios.
fn contracts() -> [&'static Contract; 5] {
    [Dag::contract(), Training::contract(), Deadlines::contract(), Preemption::contract(), Serving::contract()]
}

/// Scenarios that are seen level by level share a part of the documentation; it shows the contract of one.
#[test]
fn the_contract_by_level_is_documented() {
    let docs = section("deadlines`, `preemption`, `serving");
    let contract = Preemption::contract();
    for input in contract.inputs {
        let row = format!(
            "\n| `{}` | {} | {} | {} |\n",
            input.name,
            input.dtype.name(),
            contract.shape_of_input(input),
            input.meaning
        );
        assert!(docs.contains(&row), "docs/foreign-policies.md lacks{row}");
    }
    for output in contract.outputs {
        let row =
            format!("\n| `{}` | float32 | {} | {} |\n", output.name, contract.shape_of_output(output), output.meaning);
        assert!(docs.contains(&row), "docs/foreign-policies.md lacks{row}");
    }
}

#[test]
fn a_contract_hangs_together() {
    for contract in contracts() {
        let names = contract.inputs.iter().map(|i| i.name).chain(contract.outputs.iter().map(|o| o.name));
        let reserved = ["type", "id", "error", "protocol", "columns", "scenario", "seed"];
        let all: Vec<&str> = names.chain(reserved).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
        let is_known = |size: &Size| match *size {
            Size::Of(place) | Size::OneMoreThan(place) => place < contract.sizes.len(),
            Size::Fixed(_) | Size::Columns => true,
            Size::Between { least, most, .. } => least.max(most) < contract.sizes.len(),
        };
        for input in contract.inputs {
            assert!((1..=2).contains(&input.shape.len()) && input.shape.iter().all(is_known), "{input:?}");
            assert_eq!(input.shape.last() == Some(&Size::Columns), !input.columns.is_empty(), "{input:?}");
            let columns: BTreeSet<_> = input.columns.iter().map(|column| column.name).collect();
            assert!(
                columns.len() == input.columns.len() && !input.shape[..input.shape.len() - 1].contains(&Size::Columns)
            );
        }
        let outputs = contract.outputs.iter();
        assert!(outputs.clone().all(|o| (1..=2).contains(&o.shape.len()) && o.shape.iter().all(is_known)));
    }
}

/// The schema of an input: a list, or a list of rows.
fn schema_of(input: &Input) -> Value {
    let fixed = |list: Value, size: &Size| match *size {
        Size::Fixed(size) => {
            let mut list = list;
            list["minItems"] = size.into();
            list["maxItems"] = size.into();
            list
        }
        _ => list,
    };
    let list = |items: Value, size: &Size| fixed(json!({"type": "array", "items": items}), size);
    match (input.dtype, input.shape) {
        (Dtype::F32, [_]) => json!({"$ref": "#/$defs/numbers"}),
        (Dtype::F32, _) => json!({"$ref": "#/$defs/table"}),
        (Dtype::I64, [_]) => json!({"$ref": "#/$defs/places"}),
        (Dtype::I64, shape) => list(json!({"$ref": "#/$defs/places"}), &shape[0]),
        (Dtype::Bool, [size]) => list(json!({"type": "boolean"}), size),
        (Dtype::Bool, shape) => list(list(json!({"type": "boolean"}), &shape[1]), &shape[0]),
    }
}

/// The schema of the lines, as a contract says them; descriptions are left to the file.
fn schema(contract: &Contract) -> Value {
    let tables: Vec<&str> = contract.inputs.iter().filter(|i| !i.columns.is_empty()).map(|i| i.name).collect();
    let object = |names: &[&str], value: &dyn Fn(&str) -> Value| -> Value {
        names.iter().map(|&name| (name.to_owned(), value(name))).collect::<serde_json::Map<_, _>>().into()
    };
    let names = json!({"type": "array", "items": {"type": "string"}});
    let columns = json!({
        "type": "object", "properties": object(&tables, &|_| names.clone()), "required": tables,
    });
    let mut hello = json!({"type": {"const": "hello"}, "protocol": {"const": PROTOCOL}, "columns": columns});
    let mut hello_keys = vec!["type", "protocol", "columns"];
    if let Some(scenario) = contract.scenario {
        hello["scenario"] = json!({"const": scenario});
        hello_keys.insert(2, "scenario");
    }
    let inputs: Vec<&str> = contract.inputs.iter().map(|input| input.name).collect();
    let mut question = object(&inputs, &|name| schema_of(&contract.inputs[contract.input(name).unwrap()]));
    question["type"] = json!({"const": "question"});
    question["id"] = json!({"type": "integer", "minimum": 1});
    let question_keys = [&["type", "id"], &inputs[..]].concat();
    let mut answer = json!({"id": {"type": ["integer", "null"]}, "error": {"type": ["string", "null"]}});
    for output in contract.outputs {
        let number = json!({"type": ["number", "null"]});
        let mut shape = json!(number);
        for size in output.shape.iter().rev() {
            shape = json!({"type": "array", "items": shape});
            if let Size::Fixed(size) = *size {
                shape["minItems"] = size.into();
                shape["maxItems"] = size.into();
            }
        }
        answer[output.name] = shape;
    }
    let reset = json!({"type": {"const": "reset"}, "seed": {"type": "integer", "minimum": 0}});
    let line = |properties: &Value, required: &[&str]| -> Value {
        json!({"type": "object", "properties": properties, "required": required})
    };
    let lines = ["hello", "ready", "reset", "question", "answer"];
    let any_of: Vec<Value> = lines.iter().map(|of| json!({"$ref": format!("#/$defs/{of}")})).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {
            "hello": line(&hello, &hello_keys),
            "ready": line(&json!({"protocol": {"const": PROTOCOL}}), &["protocol"]),
            "reset": line(&reset, &["type", "seed"]),
            "question": line(&question, &question_keys),
            "answer": {"type": "object", "properties": answer, "additionalProperties": false},
            "table": {"type": "array", "items": {"$ref": "#/$defs/numbers"}, "minItems": 1},
            "numbers": {"type": "array", "items": {"type": "number"}},
            "places": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        },
        "anyOf": any_of,
    })
}

/// A schema without what a contract does not say: descriptions, and that a stage may always be chosen.
fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(keys) => {
            let kept = keys.iter().filter(|(key, _)| !["title", "description", "contains"].contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), bare(value))).collect::<serde_json::Map<_, _>>().into()
        }
        Value::Array(values) => values.iter().map(bare).collect(),
        other => other.clone(),
    }
}

#[test]
fn the_schemas_are_those_of_the_contracts() {
    for (contract, file) in [(Dag::contract(), SCHEMA), (Training::contract(), TRAINING_SCHEMA)] {
        let file: Value = serde_json::from_str(file).unwrap();
        assert_eq!(bare(&file), schema(contract));
    }
}

/// Lets the example in Python talk, writes both sides down, and looks at every line.
fn conversation_fits<S: Tested>(schema: &str) {
    let dir = tempfile::tempdir().unwrap();
    let (script, log) = (dir.path().join("listens.py"), dir.path().join("log"));
    let listens = format!(
        "import subprocess, sys\nlog = open({log:?}, 'w')\nasked = subprocess.Popen([sys.executable, {:?}], \
         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\nfor line in sys.stdin:\n    log.write(line)\n    \
         asked.stdin.write(line)\n    asked.stdin.flush()\n    if '\"type\":\"reset\"' not in line:\n        answer = \
         asked.stdout.readline()\n        log.write(answer)\n        print(answer, end='', flush=True)\n    \
         log.flush()\n",
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(S::EXAMPLE),
    );
    fs::write(&script, listens).unwrap();
    let policy = open::<S>(&format!("script:python3 {}", script.display())).unwrap();
    episode(&mut *policy.fresh(), 1).unwrap();
    let root: Value = serde_json::from_str(schema).unwrap();
    let log = fs::read_to_string(log).unwrap();
    let (mut kinds, mut asked) = (Vec::new(), "");
    for line in log.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let kind = match value["type"].as_str() {
            Some(kind) => ["hello", "reset", "question"].into_iter().find(|k| *k == kind).unwrap(),
            None if asked == "hello" => "ready",
            None => "answer",
        };
        assert_eq!(misfit(&root, &root["$defs"][kind], &value, kind), None, "{line}");
        assert_eq!(misfit(&root, &root, &value, kind), None);
        // Every key is one of the schema's.
        let known = &root["$defs"][kind]["properties"];
        assert!(value.as_object().unwrap().keys().all(|key| known.get(key).is_some()), "{kind}: {line}");
        kinds.push(kind);
        asked = kind;
    }
    assert!(kinds.starts_with(&["hello", "ready", "reset", "question", "answer"]) && kinds.len() > 30, "{kinds:?}");
    // A question that lacks an input is found out.
    let mut question: Value = serde_json::from_str(log.lines().nth(3).unwrap()).unwrap();
    question.as_object_mut().unwrap().remove(S::contract().inputs[0].name);
    assert!(misfit(&root, &root["$defs"]["question"], &question, "question").is_some());
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn the_lines_of_a_conversation_fit_the_schemas() {
    conversation_fits::<Dag>(SCHEMA);
    conversation_fits::<Training>(TRAINING_SCHEMA);
}
