//! The evidence that sentences are made of: the hand-made run directory, with figures that tests edit.

use super::{fixture::write_run, report, sentences::section};
use serde_json::{Value, json};
use std::{error::Error, fs, sync::OnceLock};
use tempfile::TempDir;

/// Files of a run directory whose figures are edited.
pub(super) struct Files {
    pub(super) dir: TempDir,
    pub(super) run: Value,
    pub(super) evaluation: Value,
    pub(super) explanation: Value,
}

impl Files {
    /// The hand-made run without what no sentence is made of, which only takes time.
    pub(super) fn new() -> Result<Self, Box<dyn Error>> {
        static MADE: OnceLock<[Vec<u8>; 4]> = OnceLock::new();
        let [student, run, evaluation, explanation] = MADE.get_or_init(|| {
            let made = tempfile::tempdir().expect("a folder");
            write_run(made.path(), |_, _, _| ()).expect("a run directory");
            ["student", "run", "evaluation", "explanation"]
                .map(|name| fs::read(made.path().join(format!("{name}.json"))).expect("a file of the run"))
        });
        let mut explanation: Value = serde_json::from_slice(explanation)?;
        list(&mut explanation["levels"]).truncate(1);
        explanation["levels"][0]["effects"] = json!([]);
        explanation["levels"][0]["points"] = json!({"features": [], "values": [], "shares": []});
        let mut evaluation: Value = serde_json::from_slice(evaluation)?;
        for policy in list(&mut evaluation["closed_loop"]["policies"]) {
            policy["completion_quantiles_ms"] = json!([]);
            list(&mut policy["episode_objective"]).fill(Value::Null);
        }
        let dir = tempfile::tempdir()?;
        fs::write(dir.path().join("student.json"), student)?;
        Ok(Self { dir, run: serde_json::from_slice(run)?, evaluation, explanation })
    }

    /// The summary of the page that comes of them.
    pub(super) fn summary(&self) -> Result<String, Box<dyn Error>> {
        self.words_of("summary")
    }

    /// The words of sections of the page that comes of them; their ids have spaces between.
    pub(super) fn words_of(&self, ids: &str) -> Result<String, Box<dyn Error>> {
        for (name, value) in
            [("run.json", &self.run), ("evaluation.json", &self.evaluation), ("explanation.json", &self.explanation)]
        {
            let path = self.dir.path().join(name);
            match value.is_null() {
                true if path.exists() => fs::remove_file(path)?,
                true => (),
                false => fs::write(path, serde_json::to_vec(value)?)?,
            }
        }
        let (html, _) = report(self.dir.path(), "support")?;
        Ok(ids.split(' ').map(|id| section(&html, id)).collect::<Vec<_>>().join(" "))
    }

    /// The quantities that matter at the level `job`, with their shares and directions.
    pub(super) fn quantities(&mut self, found: &[(&str, f64, Value)]) {
        for family in list(&mut self.explanation["levels"][0]["families"]) {
            let known = found.iter().find(|(name, ..)| family["name"] == *name).cloned();
            for of_kind in list(&mut family["by_kind"]) {
                let (_, share, tendency) = known.clone().unwrap_or(("", 0.0, Value::Null));
                of_kind["share"] = json!(share);
                match tendency {
                    Value::Null => drop(of_kind.as_object_mut().map(|o| o.remove("tendency"))),
                    tendency => of_kind["tendency"] = tendency,
                }
            }
        }
    }

    /// Edits rows of the fidelity table.
    pub(super) fn rows(&mut self, edit: impl Fn(&mut Value)) {
        list(&mut self.evaluation["fidelity"]).iter_mut().for_each(edit);
    }

    /// Heuristics on free choices: name, agreement, how far they are behind.
    pub(super) fn heuristics(&mut self, found: &[(&str, f64, [f64; 3])]) {
        let all = list(&mut self.explanation["levels"][0]["likeness"]);
        let mut one = all.iter().find(|l| l["kind"] == "free").cloned().unwrap_or_default();
        all.retain(|l| l["kind"] != "free");
        // The kind that is spoken of is the one where known rules do worst.
        all.iter_mut().for_each(|l| l["teacher"] = estimate([0.99, 0.98, 1.0]));
        for (rule, agreement, behind) in found {
            one["rule"] = json!(rule);
            one["teacher"] = json!({"value": agreement, "low": agreement - 0.02, "high": agreement + 0.02});
            one["behind"] = estimate(*behind);
            all.push(one.clone());
        }
    }

    /// How often the student agrees on free choices.
    pub(super) fn student_agrees(&mut self, top1: [f64; 3]) {
        self.rows(|row| {
            if row["role"] == "student" && row["level"] == "job" && row["kind"] == "free" {
                row["top1"] = estimate(top1);
            }
        });
    }

    pub(super) fn closed_loop(&mut self, ratio: [f64; 3]) {
        for pair in list(&mut self.evaluation["closed_loop"]["comparisons"]) {
            pair["figures"]["mean_jct_ms"] = estimate(ratio);
        }
    }
}

pub(super) fn list(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("a list")
}

pub(super) fn estimate([value, low, high]: [f64; 3]) -> Value {
    json!({"value": value, "low": low, "high": high})
}
