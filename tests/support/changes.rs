//! What a client tells of a `dag` cluster that has told it before.

use serde_json::{Map, Value, json};

/// The change between two states as JSON, the first with the answers to it carried out.
pub(crate) fn change(before: &Value, after: &Value) -> Value {
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or(0.0);
    let jobs = |state: &Value| -> Vec<(u64, Value)> {
        let all = state["jobs"].as_array().cloned().unwrap_or_default();
        all.into_iter().map(|job| (job["id"].as_u64().unwrap_or(0), job)).collect()
    };
    let (old, new) = (jobs(before), jobs(after));
    let find = |all: &[(u64, Value)], id: u64| all.iter().find(|(other, _)| *other == id).map(|(_, job)| job.clone());
    let mut changed = Vec::new();
    for (id, job) in &new {
        let Some(was) = find(&old, *id) else { continue };
        let mut stages = Vec::new();
        let pairs = was["stages"].as_array().into_iter().flatten().zip(job["stages"].as_array().into_iter().flatten());
        for (place, (was, is)) in pairs.enumerate() {
            let mut stage = Map::new();
            for key in ["completed", "running", "moving", "promised"] {
                if number(was, key) != number(is, key) {
                    stage.insert(key.to_owned(), json!(number(is, key) as u64));
                }
            }
            let recent = |stage: &Value| stage["recent_ms"].as_f64().or(stage["rough_ms"].as_f64());
            if recent(was) != recent(is) {
                stage.insert("recent_ms".to_owned(), json!(recent(is)));
            }
            if is["chosen"] == true {
                stage.insert("chosen".to_owned(), true.into());
            }
            if !stage.is_empty() {
                stage.insert("stage".to_owned(), place.into());
                stages.push(Value::Object(stage));
            }
        }
        if !stages.is_empty() || was["supply"] != job["supply"] || was["attached"] != job["attached"] {
            let executors = [&job["supply"], &job["attached"]];
            changed.push(json!({"id": id, "supply": executors[0], "attached": executors[1], "stages": stages}));
        }
    }
    json!({
        "time_ms": after["time_ms"], "source": after["source"], "offered": after["offered"],
        "gone": old.iter().map(|(id, _)| *id).filter(|id| find(&new, *id).is_none()).collect::<Vec<_>>(),
        "jobs": changed,
        "arrived": new.iter().filter(|(id, _)| find(&old, *id).is_none()).map(|(_, job)| job).collect::<Vec<_>>(),
        "moving_elsewhere": after["moving_elsewhere"].as_u64().unwrap_or(0),
    })
}
