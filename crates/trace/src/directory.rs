//! What a directory holds before a trace is recorded into it.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;

use super::{
    error::TraceError,
    manifest::{MANIFEST, Manifest, PARTS, PLAN, SIDE_TABLES, is_plain, table_of},
    parts::entries,
};
use sched_distill_core::{
    file::{name_to_be, remove_if_abandoned},
    level::FeatureSet,
};

/// A trace found in a directory, complete or not, whatever its version.
#[derive(Debug, PartialEq)]
pub(super) struct FoundTrace {
    /// Names of its tables.
    tables: Vec<String>,
}

impl FoundTrace {
    /// The trace in a directory, `None` if the directory is empty.
    ///
    /// # Errors
    ///
    /// [`TraceError::NotATrace`] if there is something, but neither a plan nor a manifest.
    pub(super) fn in_directory(dir: &Path) -> Result<Option<Self>, TraceError> {
        // In this order, because another recorder may be about to begin: its plan is there before anything else.
        let names = entries(dir)?;
        let plan = probe(&dir.join(PLAN)).and_then(|plan| levels(plan.get("manifest")?));
        let manifest = probe(&dir.join(MANIFEST)).and_then(|manifest| levels(&manifest));
        if plan.is_none() && manifest.is_none() {
            return match names.into_iter().find(|name| name_to_be(name) != Some(PLAN)) {
                None => Ok(None),
                Some(found) => Err(TraceError::NotATrace { dir: dir.to_owned(), found }),
            };
        }
        let levels = plan.into_iter().chain(manifest).flatten().filter(|name| is_plain(name));
        let tables = levels.chain(SIDE_TABLES.map(str::to_owned)).collect();
        Ok(Some(Self { tables }))
    }

    /// Removes the files of the trace and the folders that are then empty. What makes the directory recognisable as a
    /// trace goes last, so that an interrupted removal can be repeated.
    ///
    /// # Errors
    ///
    /// [`TraceError::Linked`], before anything is removed, if a table's folder is a link: what it leads to may be anybody's.
    pub(super) fn remove(self, dir: &Path) -> Result<(), TraceError> {
        for folder in self.tables.iter().map(String::as_str).chain([PARTS]) {
            let path = dir.join(folder);
            if path.is_symlink() {
                return Err(TraceError::Linked { path });
            }
        }
        if dir.join(PLAN).exists() {
            remove_file(&dir.join(MANIFEST))?; // From here on the trace is incomplete.
        }
        remove_files(&dir.join(PARTS), |name| is_marker(name) || name_to_be(name).is_some_and(is_marker))?;
        remove_if_empty(&dir.join(PARTS))?;
        for table in &self.tables {
            let is_part = |name: &str| table_of(&format!("{table}/{name}")).is_some();
            remove_files(&dir.join(table), |name| is_part(name) || name_to_be(name).is_some_and(is_part))?;
            remove_if_empty(&dir.join(table))?;
            remove_file(&dir.join(format!("{table}.parquet")))?;
        }
        remove_files(dir, |name| matches!(name_to_be(name), Some(MANIFEST | PLAN)))?;
        remove_file(&dir.join(MANIFEST))?;
        remove_file(&dir.join(PLAN))
    }
}

/// Removes the temporary files of killed recorders from a complete trace. What another recorder writes at the moment, which
/// can only be what is there already, stays.
pub(super) fn remove_leftovers(dir: &Path, manifest: &Manifest) -> Result<(), TraceError> {
    for table in manifest.table_names().flat_map(|table| manifest.feature_set.names_of(table)) {
        let is_part = |name: &str| table_of(&format!("{table}/{name}")).is_some();
        remove_abandoned(&dir.join(table), |name| name_to_be(name).is_some_and(is_part))?;
    }
    remove_abandoned(&dir.join(PARTS), |name| name_to_be(name).is_some_and(is_marker))?;
    remove_abandoned(dir, |name| matches!(name_to_be(name), Some(MANIFEST | PLAN)))
}

fn is_marker(name: &str) -> bool {
    name.strip_suffix(".json").is_some_and(|stem| stem.starts_with("part-"))
}

/// The first difference between two JSON values in words; `path` says where they stand.
pub fn difference(path: &str, theirs: &Value, ours: &Value) -> Option<String> {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => a.keys().chain(b.keys()).find_map(|key| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let value = |object: &serde_json::Map<_, _>| object.get(key).cloned().unwrap_or_default();
            difference(&path, &value(a), &value(b))
        }),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(i, (a, b))| difference(&format!("{path}[{i}]"), a, b))
        }
        (Value::Array(a), Value::Array(b)) => {
            Some(format!("`{path}` has {} entries there and {} now", a.len(), b.len()))
        }
        _ if theirs == ours => None,
        _ => Some(format!("`{path}` is {theirs} there and {ours} now")),
    }
}

/// A JSON file that may belong to anybody.
fn probe(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Names of the levels, if the value looks like a manifest of any version.
fn levels(manifest: &Value) -> Option<Vec<String>> {
    manifest.get("format_version")?.as_u64()?;
    let set = manifest.get("feature_set")?;
    let levels = set.get("levels")?.as_array()?;
    let names = levels.iter().filter_map(|level| Some(level.get("name")?.as_str()?.to_owned()));
    // An earlier version may have begun what this one went on with.
    let names = match FeatureSet::deserialize(set) {
        Ok(set) => {
            names.flat_map(|name| set.names_of(set.name_of(&name)).map(str::to_owned).collect::<Vec<_>>()).collect()
        }
        Err(_) => names.collect(),
    };
    Some(names)
}

fn remove_file(path: &PathBuf) -> Result<(), TraceError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(TraceError::io(path, "removed")(error)),
        _ => Ok(()),
    }
}

/// Removes the files of a folder that are `ours`, if there is such a folder.
fn remove_files(folder: &Path, ours: impl Fn(&str) -> bool) -> Result<(), TraceError> {
    if !folder.is_dir() {
        return Ok(());
    }
    entries(folder)?.iter().filter(|name| ours(name)).try_for_each(|name| remove_file(&folder.join(name)))
}

/// Removes the temporary files of a folder that are `ours` and that nobody writes any more.
fn remove_abandoned(folder: &Path, ours: impl Fn(&str) -> bool) -> Result<(), TraceError> {
    if !folder.is_dir() {
        return Ok(());
    }
    for path in entries(folder)?.iter().filter(|name| ours(name)).map(|name| folder.join(name)) {
        remove_if_abandoned(&path).map_err(TraceError::io(&path, "removed"))?;
    }
    Ok(())
}

fn remove_if_empty(folder: &PathBuf) -> Result<(), TraceError> {
    if folder.is_dir() && entries(folder)?.is_empty() {
        fs::remove_dir(folder).map_err(TraceError::io(folder, "removed"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_names_its_place_and_both_values() {
        let ours = json!({"manifest": {"seed": 4, "kinds": ["a", "b"]}, "parts": 2});
        assert_eq!(difference("", &ours, &ours), None);
        for (theirs, expected) in [
            (json!({"manifest": {"seed": 3, "kinds": ["a", "b"]}, "parts": 2}), "`manifest.seed` is 3 there and 4 now"),
            (
                json!({"manifest": {"seed": 4, "kinds": ["a", "c"]}, "parts": 2}),
                "`manifest.kinds[1]` is \"c\" there and \"b\" now",
            ),
            (
                json!({"manifest": {"seed": 4, "kinds": []}, "parts": 2}),
                "`manifest.kinds` has 0 entries there and 2 now",
            ),
            (json!({"manifest": {"seed": 4, "kinds": ["a", "b"]}}), "`parts` is null there and 2 now"),
        ] {
            assert_eq!(difference("", &theirs, &ours).as_deref(), Some(expected));
        }
    }
}
