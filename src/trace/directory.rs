//! What a directory holds before a trace is recorded into it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::TraceError;
use super::manifest::{MANIFEST, PARTS, PLAN, SIDE_TABLES, is_plain, parse_json, table_of};

/// Ending of files that are not complete yet.
pub(super) const TEMPORARY: &str = ".tmp";

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
        let plan = probe(&dir.join(PLAN)).and_then(|plan| levels(plan.get("manifest")?));
        let manifest = probe(&dir.join(MANIFEST)).and_then(|manifest| levels(&manifest));
        if plan.is_none() && manifest.is_none() {
            let unfinished_plan = format!("{PLAN}{TEMPORARY}");
            return match entries(dir)?.into_iter().find(|name| *name != unfinished_plan) {
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
    pub(super) fn remove(self, dir: &Path) -> Result<(), TraceError> {
        if dir.join(PLAN).exists() {
            remove_file(&dir.join(MANIFEST))?; // From here on the trace is incomplete.
        }
        remove_folder(&dir.join(PARTS), |name| {
            name.strip_suffix(".json").is_some_and(|stem| stem.starts_with("part-"))
        })?;
        for table in &self.tables {
            for ending in ["", TEMPORARY] {
                remove_file(&dir.join(format!("{table}.parquet{ending}")))?;
            }
            remove_folder(&dir.join(table), |name| table_of(&format!("{table}/{name}")).is_some())?;
        }
        for name in [MANIFEST, PLAN] {
            for ending in [TEMPORARY, ""] {
                remove_file(&dir.join(format!("{name}{ending}")))?;
            }
        }
        Ok(())
    }
}

/// How many parts of an unfinished recording are done, and how many were planned.
pub(super) fn finished_parts(dir: &Path) -> Result<(u32, u32), TraceError> {
    /// The number alone: the rest does not matter here.
    #[derive(serde::Deserialize)]
    struct Parts {
        parts: u32,
    }
    let plan = dir.join(PLAN);
    let bytes = fs::read(&plan).map_err(TraceError::io(&plan, "read"))?;
    let Parts { parts } = parse_json(&plan, &bytes)?;
    let markers = entries(&dir.join(PARTS)).unwrap_or_default();
    let done = markers.iter().filter(|name| name.ends_with(".json")).count();
    Ok((u32::try_from(done).unwrap_or(parts).min(parts), parts))
}

/// The first difference between two JSON values in words; `path` says where they stand.
pub(super) fn difference(path: &str, theirs: &Value, ours: &Value) -> Option<String> {
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
    let levels = manifest.get("feature_set")?.get("levels")?.as_array()?;
    Some(levels.iter().filter_map(|level| Some(level.get("name")?.as_str()?.to_owned())).collect())
}

/// Names of the entries of a directory, sorted.
pub(super) fn entries(dir: &Path) -> Result<Vec<String>, TraceError> {
    let list = || -> std::io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    };
    list().map_err(TraceError::io(dir, "read"))
}

fn remove_file(path: &PathBuf) -> Result<(), TraceError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(TraceError::io(path, "removed")(error)),
        _ => Ok(()),
    }
}

/// Removes the files of a folder that are `ours` (or are so without the temporary ending), then the folder if it is empty.
fn remove_folder(folder: &PathBuf, ours: impl Fn(&str) -> bool) -> Result<(), TraceError> {
    if !folder.is_dir() {
        return Ok(());
    }
    let names = entries(folder)?;
    let (ours, foreign): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| ours(name.strip_suffix(TEMPORARY).unwrap_or(name)));
    for name in ours {
        remove_file(&folder.join(name))?;
    }
    if foreign.is_empty() {
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
