//! "Live": what was measured in an engine.

use super::{Outcome, fixture::write_run, report};
use sched_distill::{model::Student, report::write_report};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// Three schedulers, four runs of two queries; the student halves what the first takes, more or less, and the simulator knows two of them.
fn live(dir: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    let run = |seed: u64, ms: f64, simulated: Option<f64>| {
        json!({"seed": seed, "queries": [["q01 small", ms], ["q<b>", 3.0 * ms]],
               "simulated_ms": simulated.map(|s| [s, 3.0 * s]), "counts": {"decisions": 20, "fallbacks": 0, "late": 1}})
    };
    let scheduler = |name: &str, kind: &str, factor: f64, simulated: Option<f64>| {
        let runs = (0..4).map(|i| run(i, factor * (1000.0 + 100.0 * i as f64), simulated.map(|s| s * 900.0)));
        json!({"name": name, "kind": kind, "runs": runs.collect::<Vec<_>>()})
    };
    Ok(json!({
        "format_version": 1, "student": Student::load(&dir.join("student.json"))?.file_hash(),
        "engine": "Apache Spark 3.5.9", "machine": "2 cores, x86_64", "work": "TPC-H queries",
        "cells": [{"name": "dilated-higher", "slots": 8, "load": 0.8, "dilated": 7.0, "policies": [
            scheduler("Spark FIFO", "shipped", 1.0, Some(1.0)),
            scheduler("<i>fewest</i>", "rule", 0.55, None),
            scheduler("fitted student", "own", 0.5, Some(0.6)),
        ]}],
    }))
}

fn write(dir: &Path, live: &Value) -> Outcome {
    Ok(fs::write(dir.join("live.json"), serde_json::to_vec(live)?)?)
}

#[test]
fn what_was_measured_in_an_engine_is_told_and_drawn() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    write(dir.path(), &live(dir.path())?)?;
    let (html, numbers) = report(dir.path(), "live-1-schedulers")?;
    for words in [
        "<a href=\"#live\">Live</a>",
        "8 slots, 80\u{a0}% of their time asked for; tasks last 8 × as long as they compute",
        "Under this student queries take 0.500 × as long in Apache Spark 3.5.9 as under Spark FIFO: surely less. The simulator says 0.600.",
        "Against the best rule, &lt;i&gt;fewest&lt;&#x2f;i&gt;, it is 0.909 ×.",
        "It answered all 80 questions, 4 of them later than 2 ms.",
        "4 runs of each scheduler",
        "<th scope=\"row\">q&lt;b&gt;</th><td class=\"n\">4</td>",
        "<td class=\"n\">0.50</td><td class=\"n\">0.60</td>",
    ] {
        assert!(html.contains(words), "{words}");
    }
    assert!((numbers[1]["live_to_first"]["value"].as_f64().ok_or("a number")? - 0.5).abs() < 1e-12, "{numbers}");
    assert!(numbers[0]["simulated_to_first"].is_null());
    let (_, predicted) = report(dir.path(), "live-1-predicted")?;
    assert_eq!(predicted[0]["query"], "q01 small");
    Ok(())
}

#[test]
fn of_another_student_nothing_is_told() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let mut other = live(dir.path())?;
    other["student"] = json!("0".repeat(64));
    write(dir.path(), &other)?;
    let summary = write_report(dir.path(), &dir.path().join("report"))?;
    assert!(!fs::read_to_string(summary.page)?.contains("id=\"live\""));
    Ok(())
}

#[test]
fn measurements_that_cannot_be_are_refused() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let fine = live(dir.path())?;
    let said = |change: &dyn Fn(&mut Value)| -> Result<String, Box<dyn std::error::Error>> {
        let mut broken = fine.clone();
        change(&mut broken);
        write(dir.path(), &broken)?;
        Ok(write_report(dir.path(), &dir.path().join("report")).err().map(|e| e.to_string()).unwrap_or_default())
    };
    type Change<'a> = &'a dyn Fn(&mut Value);
    let cases: [(Change<'_>, &str); 6] = [
        (&|v| v["format_version"] = json!(9), "live.json: format version 9 is not supported"),
        (&|v| v["cells"][0]["policies"] = json!([]), "cell `dilated-higher` has no run"),
        (
            &|v| v["cells"][0]["policies"][1]["runs"][2]["seed"] = json!(7),
            "<i>fewest</i>: its runs are not those of Spark FIFO",
        ),
        (
            &|v| v["cells"][0]["policies"][0]["runs"][1]["simulated_ms"] = json!([1.0]),
            "1 simulated times for 2 queries",
        ),
        (&|v| v["cells"][0]["policies"][2]["runs"][0]["queries"][0][1] = json!(-1.0), "a query takes -1 ms"),
        (&|v| v["unknown"] = json!(1), "live.json: not a valid file of a run directory"),
    ];
    for (change, expected) in cases {
        let said = said(change)?;
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(said(&|_| ())?, "");
    Ok(())
}
