//! The documentation says what the code does.

use sched_distill::foreign::{CLUSTER_COLUMNS, INPUTS, JOB_COLUMNS, NODE_COLUMNS, OUTPUTS, PROTOCOL};
use serde_json::Value;

const DOCS: &str = include_str!("../../../docs/foreign-policies.md");
const SCHEMA: &str = include_str!("../../../docs/script-protocol.schema.json");

#[test]
fn the_tables_of_the_documentation_are_those_of_the_code() {
    let row = |cells: &[&str]| format!("\n| {} |\n", cells.join(" | "));
    let header = row(&["input", "type", "shape", "what"]);
    let inputs = INPUTS.map(|i| row(&[&format!("`{}`", i.name), i.dtype, i.shape, i.meaning]));
    let columns = NODE_COLUMNS.iter().chain(&JOB_COLUMNS).chain(&CLUSTER_COLUMNS);
    let columns = columns.map(|c| row(&[&format!("`{}`", c.name), c.unit, c.meaning]));
    for line in [header].into_iter().chain(inputs).chain(columns) {
        assert!(DOCS.contains(&line), "docs/foreign-policies.md lacks{line}");
    }
    for (name, columns) in
        [("nodes", NODE_COLUMNS.len()), ("jobs", JOB_COLUMNS.len()), ("cluster", CLUSTER_COLUMNS.len())]
    {
        let input = INPUTS.iter().find(|input| input.name == name).unwrap();
        assert!(input.shape.ends_with(&format!("{columns})")), "{input:?}");
    }
}

#[test]
fn the_schema_names_what_the_lines_hold() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let defs = &schema["$defs"];
    assert_eq!(defs["hello"]["properties"]["protocol"]["const"], PROTOCOL);
    let question: Vec<&str> = ["type", "id"].into_iter().chain(INPUTS.iter().map(|input| input.name)).collect();
    assert_eq!(defs["question"]["required"], serde_json::json!(question));
    let answer = defs["answer"]["properties"].as_object().unwrap();
    assert!(OUTPUTS.iter().all(|output| answer.contains_key(*output)));
    assert_eq!(answer.len(), OUTPUTS.len() + 2);
}
