//! What a file looks like that is no student: a workload, or what other commands take.

use super::common::Common;
use crate::{file_kind::file_kind, pipeline::quoted, scenario::ScenarioInfo, spec::Spec, text::without_mark};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, path::Path};

/// What a file looks like.
pub(super) enum Looks {
    /// A student, sound or not.
    Student,
    /// A workload that can be opened, a policy for it, and how it is named.
    Workload(&'static ScenarioInfo, &'static str, String),
    /// Something else: what it looks like, and which command takes it.
    Other(String),
}

/// What the file of that content looks like.
pub(super) fn looks(path: &Path, bytes: &[u8], common: &Common) -> Looks {
    let text = str::from_utf8(without_mark(bytes)).ok();
    let json = text.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let has = |names: &[&str]| json.as_ref().is_some_and(|fields| names.iter().any(|&name| fields.contains_key(name)));
    if has(&["levels", "feature_set"]) && !has(&["driver"]) {
        return Looks::Student;
    }
    let is_packed = bytes.starts_with(b"\x1f\x8b");
    if (text.is_some() || is_packed)
        && let Some((info, policy, spec)) = workload(path, common)
    {
        return Looks::Workload(info, policy, spec);
    }
    let file = quoted(&path.display().to_string());
    let words = if let Some(kind) = file_kind(bytes) {
        format!("{}: {}", kind.what, kind.advice.replace("FILE", &path.display().to_string()))
    } else if has(&["driver", "labeller"]) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        format!("the manifest of a trace: `distill inspect {}` takes the folder", quoted(&folder.display().to_string()))
    } else if has(&["created_by", "commands"]) {
        "the description of a run directory, which `distill report` takes (docs/run-directory.md)".to_owned()
    } else if has(&["jobs", "models", "applications", "tasks"]) {
        format!(
            "a workload that cannot be opened: `distill simulate -p fifo -w {}` says why; another scenario than `dag` is named \
             with --scenario, and its policies by `distill list policies`",
            spec("json", path)
        )
    } else if json.is_some() {
        "JSON, but neither a workload nor a student; workloads are described in docs/workload-format.md, students in \
         docs/student-format.md"
            .to_owned()
    } else if text.is_some_and(|text| text.starts_with('{')) {
        return Looks::Student;
    } else if let Some(program) = program(path, text) {
        format!(
            "a program: as a scheduler it is checked by `distill check-policy -p {}` (docs/foreign-policies.md)",
            quoted(&program)
        )
    } else if text.is_some_and(is_table) {
        format!(
            "a table of text, but none of the job logs that are read ({}; `distill list workloads`)",
            logs(common).join(", ")
        )
    } else {
        format!(
            "nothing that is known here; `distill inspect` takes a trace, a student, a scorer or a workload: {file} is none"
        )
    };
    Looks::Other(words)
}

/// The spec of a policy or workload that is in a file, as a shell reads it.
pub(super) fn spec(name: &str, path: &Path) -> String {
    let spec = Spec { name: name.to_owned(), file: Some(path.to_owned()), params: BTreeMap::new() };
    quoted(&spec.to_string())
}

/// The first workload that opens the file, in which scenario, and a policy for it.
fn workload(path: &Path, common: &Common) -> Option<(&'static ScenarioInfo, &'static str, String)> {
    for scenario in common.registry.iter() {
        let info = scenario.info();
        for workload in scenario.workloads().iter().filter(|workload| takes_a_file(workload.usage)) {
            let spec = Spec { name: workload.name.to_owned(), file: Some(path.to_owned()), params: BTreeMap::new() };
            let spec = spec.to_string();
            if scenario.same_jobs(&spec).is_ok() {
                return Some((info, scenario.baselines().first()?, spec));
            }
        }
    }
    None
}

fn takes_a_file(usage: &str) -> bool {
    usage.contains(":FILE")
}

/// Names of workloads that read a file which is no JSON.
fn logs(common: &Common) -> Vec<&'static str> {
    let all = common.registry.iter().flat_map(|scenario| scenario.workloads());
    let mut names: Vec<&str> =
        all.filter(|workload| takes_a_file(workload.usage) && workload.name != "json").map(|w| w.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The spec of a script, for what looks like the text of a program.
fn program(path: &Path, text: Option<&str>) -> Option<String> {
    let plain = path.display().to_string();
    let is_plain = plain.chars().all(|c| c.is_alphanumeric() || "._-+/".contains(c));
    // What a command splits at spaces, and a spec at commas, is for quotes that people know best.
    let file = if is_plain { plain } else { "FILE".to_owned() };
    let command = match path.extension().and_then(|ending| ending.to_str()) {
        _ if text?.starts_with("#!") => {
            format!("{}{file}", if path.parent()?.as_os_str().is_empty() { "./" } else { "" })
        }
        Some("py") => format!("python3 {file}"),
        Some("js" | "mjs") => format!("node {file}"),
        Some("jl") => format!("julia {file}"),
        Some("sh") => format!("sh {file}"),
        _ => return None,
    };
    Some(format!("script:{command}"))
}

/// Whether the first two lines have as many columns.
fn is_table(text: &str) -> bool {
    let columns = |line: &str| line.matches([',', ';', '\t']).count();
    let mut lines = text.lines();
    matches!((lines.next(), lines.next()), (Some(a), Some(b)) if columns(a) > 0 && columns(a) == columns(b))
}
