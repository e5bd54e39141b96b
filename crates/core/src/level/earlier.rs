//! Names that levels had in earlier versions. Whoever reads such a name, in a file or as a person typed it, reads the
//! level that is meant; what is written has the present names.

use super::FeatureSet;
use crate::text::without_mark;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Scenario, what one of its levels was called, and what it is called.
const RENAMED: [(&str, &str, &str); 1] = [("dag", "cluster", "amount")];

/// What a level of a scenario was called before, if it was called otherwise.
fn earlier_name(scenario: &str, level: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(of, _, now)| (*of, *now) == (scenario, level)).map(|(_, before, _)| *before)
}

/// What a level of a scenario is called that had another name before.
fn present_name(scenario: &str, level: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(of, before, _)| (*of, *before) == (scenario, level)).map(|(_, _, now)| *now)
}

impl FeatureSet {
    /// Gives levels their present names; a level of another program stays as it is where one of that name is there
    /// already.
    pub(super) fn with_present_names(mut self) -> Self {
        for place in 0..self.levels.len() {
            if let Some(now) = present_name(&self.scenario, &self.levels[place].name)
                && self.levels.iter().all(|l| l.name != now)
            {
                self.levels[place].name = now.to_owned();
            }
        }
        self
    }

    /// The name in this set of a level that may be called as it was in an earlier version. What names no level stays
    /// as it is.
    ///
    /// ```
    /// # let set = sched_distill_dag::feature::feature_set();
    /// assert_eq!(["job", "amount", "cluster"].map(|name| set.name_of(name)), ["job", "amount", "amount"]);
    /// ```
    #[must_use]
    pub fn name_of<'a>(&self, level: &'a str) -> &'a str {
        let has = |name: &str| self.levels.iter().any(|l| l.name == name);
        match present_name(&self.scenario, level) {
            Some(now) if !has(level) && has(now) => now,
            _ => level,
        }
    }

    /// What a level of this set may be called: its name first, then the one that it had in an earlier version.
    pub fn names_of<'a>(&self, level: &'a str) -> impl Iterator<Item = &'a str> {
        let earlier = earlier_name(&self.scenario, level).filter(|name| self.levels.iter().all(|l| l.name != *name));
        std::iter::once(level).chain(earlier)
    }

    /// Gives a level its name in this set. Returns whether it had another.
    pub fn rename(&self, level: &mut String) -> bool {
        let now = self.name_of(level);
        let renamed = now != *level;
        if renamed {
            *level = now.to_owned();
        }
        renamed
    }

    /// The name of a place in a level's model, `LEVEL.node[3].value`, or of a level's figure, `LEVEL/free/top1`, with
    /// the level's name in this set.
    #[must_use]
    pub fn place_of(&self, place: &str) -> String {
        let end = place.find(['.', '/']).unwrap_or(place.len());
        format!("{}{}", self.name_of(&place[..end]), &place[end..])
    }

    /// Reads a JSON document about these levels, which an earlier version may have written.
    ///
    /// # Errors
    ///
    /// What is no such document.
    pub fn read<T: DeserializeOwned>(&self, document: &[u8]) -> serde_json::Result<T> {
        let document = without_mark(document);
        let mut value: Value = serde_json::from_slice(document)?;
        match self.rename_in(&mut value) {
            true => serde_json::from_value(value),
            // From its text, so that errors name line and column.
            false => serde_json::from_slice(document),
        }
    }

    /// What was edited, in words such as `guard LEVEL: age > 4 first` or `LEVEL.node[3].value 1 -> 2`, with the
    /// level's name in this set.
    fn edit_of(&self, words: &str) -> String {
        let word = |word: &str| match word.strip_suffix(':') {
            Some(level) => format!("{}:", self.name_of(level)),
            None => self.place_of(word),
        };
        words.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    /// Gives the levels that a document names, as `level` or in `what` was edited, their names in this set. Returns
    /// whether one had another.
    fn rename_in(&self, document: &mut Value) -> bool {
        match document {
            Value::Object(fields) => fields.iter_mut().fold(false, |renamed, (key, value)| match value {
                Value::String(name) if key == "level" => self.rename(name) | renamed,
                Value::String(words) if key == "what" => {
                    let before = std::mem::take(words);
                    *words = self.edit_of(&before);
                    renamed | (*words != before)
                }
                value => self.rename_in(value) | renamed,
            }),
            Value::Array(list) => list.iter_mut().fold(false, |renamed, value| self.rename_in(value) | renamed),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        level::{FeatureSet, LevelSpec},
        testing::feature_set,
    };

    fn set(scenario: &str, names: &[&str]) -> FeatureSet {
        let level = |name: &&str| LevelSpec { name: (*name).to_owned(), ..feature_set().levels[0].clone() };
        FeatureSet { scenario: scenario.to_owned(), levels: names.iter().map(level).collect() }
    }

    fn read(set: &FeatureSet) -> FeatureSet {
        serde_json::from_str(&serde_json::to_string(set).unwrap()).unwrap()
    }

    #[test]
    fn a_level_is_read_by_its_present_name_and_hashed_by_its_first() {
        let (before, now) = (set("dag", &["job", "cluster"]), set("dag", &["job", "amount"]));
        assert_eq!((read(&before), before.hash()), (now.clone(), now.hash()));
        assert_eq!(now.difference(&read(&before)), None);
        assert_eq!(now.level("cluster"), now.level("amount"));
        // The name is this scenario's alone.
        let other = set("training", &["task", "cluster"]);
        assert_eq!((read(&other), other.name_of("cluster")), (other.clone(), "cluster"));
        assert_ne!(other.hash(), set("training", &["task", "amount"]).hash());
    }

    #[test]
    fn a_program_that_has_levels_of_both_names_keeps_them() {
        let both = set("dag", &["cluster", "amount"]);
        assert_eq!(read(&both), both);
        assert_eq!(["cluster", "amount"].map(|name| both.name_of(name)), ["cluster", "amount"]);
        assert_ne!(both.hash(), set("dag", &["cluster", "cluster"]).hash());
    }

    #[test]
    fn what_names_a_level_is_given_its_name() {
        let set = feature_set();
        assert_eq!(set.place_of("cluster.node[3].value"), "amount.node[3].value");
        assert_eq!(set.place_of("cluster/free/top1"), "amount/free/top1");
        assert_eq!(set.place_of("guard[0].value"), "guard[0].value");
        let text = r#"{"rows": [{"level": "job"}, {"level": "cluster", "kind": "cluster"}],
                       "steps": [{"what": "guard cluster: held_of_cluster > 4 last"},
                                 {"what": "cluster.node[3].value 1 -> 2"}]}"#;
        let found: serde_json::Value = set.read(text.as_bytes()).unwrap();
        assert_eq!(found["rows"], serde_json::json!([{"level": "job"}, {"level": "amount", "kind": "cluster"}]));
        let steps = [&found["steps"][0]["what"], &found["steps"][1]["what"]];
        assert_eq!(steps, ["guard amount: held_of_cluster > 4 last", "amount.node[3].value 1 -> 2"]);
        let message = set.read::<Vec<u8>>(b"[1,\n2,\n-3]").unwrap_err().to_string();
        assert!(message.contains("line 3"), "{message}");
    }
}
