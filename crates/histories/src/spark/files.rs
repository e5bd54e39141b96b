//! Which files make a log?

use crate::HistoryError;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What is to be read.
pub(super) struct Found {
    pub(super) logs: Vec<Log>,
    /// Whether one log was asked for, rather than a folder of them.
    pub(super) is_one: bool,
    /// Entries of a folder that are no logs, each with the reason.
    pub(super) left_out: Vec<(PathBuf, String)>,
}

/// The log of an application.
pub(super) struct Log {
    /// Its file or folder.
    pub(super) path: PathBuf,
    /// In the order in which they were written.
    pub(super) files: Vec<PathBuf>,
    /// What is missing between them.
    pub(super) gaps: Vec<String>,
}

impl Log {
    fn of(path: &Path, files: Vec<PathBuf>) -> Self {
        Self { path: path.to_owned(), files, gaps: Vec::new() }
    }
}

/// The logs at a path.
///
/// # Errors
///
/// A path that cannot be read.
pub(super) fn find(path: &Path) -> Result<Found, HistoryError> {
    let io = |source| HistoryError::Io { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(io)?.is_dir() {
        let logs = vec![Log::of(path, vec![path.to_owned()])];
        return Ok(Found { logs, is_one: true, left_out: Vec::new() });
    }
    let entries = entries(path)?;
    if let Some(log) = split(path, &entries) {
        return Ok(Found { logs: vec![log], is_one: true, left_out: Vec::new() });
    }
    let mut found = Found { logs: Vec::new(), is_one: false, left_out: Vec::new() };
    for (name, entry) in entries {
        if is_beside(&name) {
            continue;
        }
        match fs::metadata(&entry) {
            Ok(meta) if meta.is_file() => found.logs.push(Log::of(&entry, vec![entry.clone()])),
            Ok(meta) if meta.is_dir() => match self::entries(&entry).map(|entries| split(&entry, &entries)) {
                Ok(Some(log)) => found.logs.push(log),
                Ok(None) => found.left_out.push((entry, "is a folder that is no rolling log".to_owned())),
                Err(error) => found.left_out.push((entry, error.to_string())),
            },
            Ok(_) => found.left_out.push((entry, "is neither file nor folder".to_owned())),
            Err(error) => found.left_out.push((entry, error.to_string())),
        }
    }
    Ok(found)
}

/// Files beside logs that are none.
fn is_beside(name: &str) -> bool {
    name.starts_with(['.', '_']) || name.starts_with("appstatus") || name.ends_with(".crc")
}

/// Names and paths of a folder's entries, by name.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, HistoryError> {
    let io = |source| HistoryError::Io { path: folder.to_owned(), source };
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        entries.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    entries.sort();
    Ok(entries)
}

/// A folder as a log that is split into several files, if it is one.
fn split(folder: &Path, entries: &[(String, PathBuf)]) -> Option<Log> {
    rolling(folder, entries).or_else(|| databricks(folder, entries))
}

/// A rolling log of Spark: `events_N_ID`, in the order of N. Where old events were compacted, `events_N_ID.compact` stands for all up to N.
fn rolling(folder: &Path, entries: &[(String, PathBuf)]) -> Option<Log> {
    let numbered = entries.iter().filter_map(|(name, path)| {
        let (number, _) = name.strip_prefix("events_")?.split_once('_')?;
        // A compacted file comes before the file that it stands for, so that it is the one that stays.
        Some((number.parse::<u64>().ok()?, !name.ends_with(".compact"), path))
    });
    let mut files: Vec<_> = numbered.collect();
    files.sort();
    files.dedup_by_key(|(number, ..)| *number);
    if let Some(compacted) = files.iter().rposition(|(_, is_whole, _)| !is_whole) {
        files.drain(..compacted);
    }
    let first = files.first()?;
    let mut gaps = Vec::new();
    let mut expected = if first.1 { 1 } else { first.0 };
    for (number, ..) in &files {
        if *number != expected {
            let missing = match number.saturating_sub(expected) {
                0 | 1 => format!("events_{expected} is missing"),
                n => format!("events_{expected} and {} files after it are missing", n - 1),
            };
            gaps.push(format!("{}: {missing}", folder.display()));
        }
        expected = number.saturating_add(1);
    }
    let files = files.into_iter().map(|(.., path)| path.clone()).collect();
    Some(Log { path: folder.to_owned(), files, gaps })
}

/// A log as Databricks rolls it: `eventlog-YYYY-MM-DD--HH-MM`, by date, then `eventlog`.
fn databricks(folder: &Path, entries: &[(String, PathBuf)]) -> Option<Log> {
    let is_dated = |name: &str| {
        let date = name.strip_prefix("eventlog-").and_then(|rest| rest.get(..17));
        let pattern = b"0000-00-00--00-00";
        date.is_some_and(|date| {
            date.bytes()
                .zip(pattern)
                .all(|(byte, &form)| if form == b'0' { byte.is_ascii_digit() } else { byte == form })
        })
    };
    let is_last =
        |name: &str| name == "eventlog" || name.strip_prefix("eventlog.").is_some_and(|rest| !rest.contains('.'));
    let dated = entries.iter().filter(|(name, _)| is_dated(name) && !name.ends_with(".crc"));
    let last = entries.iter().filter(|(name, _)| is_last(name) && !name.ends_with(".crc"));
    let files: Vec<PathBuf> = dated.chain(last).map(|(_, path)| path.clone()).collect();
    (!files.is_empty()).then(|| Log::of(folder, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Way = fn(&Path, &[(String, PathBuf)]) -> Option<Log>;

    /// Names of the files of the log that a folder with these is, and what is missing.
    fn names(of: &[&str], by: Way) -> Option<(Vec<String>, Vec<String>)> {
        let mut entries: Vec<_> = of.iter().map(|name| ((*name).to_owned(), PathBuf::from(name))).collect();
        entries.sort();
        let log = by(Path::new("f"), &entries)?;
        Some((log.files.iter().map(|file| file.display().to_string()).collect(), log.gaps))
    }

    #[test]
    fn rolling_files_are_in_the_order_of_their_numbers() {
        let (files, gaps) =
            names(&["events_10_a", "events_9_a.zstd", "events_2_a", "events_1_a", "appstatus_a"], rolling).unwrap();
        assert_eq!(files, ["events_1_a", "events_2_a", "events_9_a.zstd", "events_10_a"]);
        assert_eq!(gaps, ["f: events_3 and 5 files after it are missing"]);
        assert!(names(&["events_x_a", "events_3", "a"], rolling).is_none());
        let all = ["events_1_a", "events_2_a", "events_2_a.compact", "events_3_a", "events_4_a"];
        assert_eq!(names(&all, rolling).unwrap().0, ["events_2_a.compact", "events_3_a", "events_4_a"]);
        assert_eq!(names(&all, rolling).unwrap().1, Vec::<String>::new());
        assert_eq!(names(&["events_2_a"], rolling).unwrap().1, ["f: events_1 is missing"]);
    }

    #[test]
    fn databricks_files_are_in_the_order_of_their_dates() {
        let of =
            ["eventlog", "eventlog-2021-06-14--20-00.gz", "eventlog-2021-06-14--18-00.gz", "eventlog-of-mine", "x"];
        let files = names(&of, databricks).unwrap().0;
        assert_eq!(files, ["eventlog-2021-06-14--18-00.gz", "eventlog-2021-06-14--20-00.gz", "eventlog"]);
        assert!(names(&["eventlog-of-mine", "app-1"], databricks).is_none());
    }
}
