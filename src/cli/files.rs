//! What commands write: known to be possible before the work begins, and never over what they read.

use crate::{
    file::{self, PendingFile},
    spec::Spec,
};
use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

/// Writes a file, complete or not at all.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    file::write(path, bytes).with_context(|| format!("{}: cannot write", path.display()))
}

/// Writes a file that the user names, complete or not at all; what is there with other content is kept without `force`.
pub(super) fn replace(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    check_kept(path, bytes, force)?;
    write_file(path, bytes)
}

/// Writes a file that the user names bit by bit, complete or not at all; what is there with other content is kept without `force`.
pub(super) fn replace_by<T>(path: &Path, force: bool, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let cannot = || format!("{}: cannot write", path.display());
    if path.exists() && !path.is_file() {
        // A device or a pipe is written to as it is.
        let mut out = BufWriter::new(File::create(path).with_context(cannot)?);
        let done = write(&mut out)?;
        out.flush().with_context(cannot)?;
        return Ok(done);
    }
    let mut pending = PendingFile::create(path).with_context(cannot)?;
    let done = write(&mut pending)?;
    let is_there = path.metadata().is_ok_and(|there| there.len() > 0);
    if is_there && !force && !pending.is_same_as(path).with_context(cannot)? {
        return Err(other_content(path));
    }
    pending.commit().with_context(cannot)?;
    Ok(done)
}

/// Fails where a file is there with other content, unless it may be replaced.
pub(super) fn check_kept(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    // A device or a pipe holds nothing that could be lost.
    match !force && path.is_file() && std::fs::read(path).is_ok_and(|there| there != bytes && !there.is_empty()) {
        true => Err(other_content(path)),
        false => Ok(()),
    }
}

/// Why a file is not written.
pub(super) fn other_content(path: &Path) -> anyhow::Error {
    anyhow!(
        "{}: already exists with other content and is kept; --force replaces it, -o names another file",
        path.display()
    )
}

/// Writes JSON, complete or not at all.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    write_file(path, text.as_bytes())
}

/// Fails if a file could not be written in the end, or is one that the command reads: one of `inputs`, or a file of a
/// trace among them.
pub(super) fn check_output<'a>(path: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    if let Some(folder) = path.parent()
        && !folder.as_os_str().is_empty()
        && !folder.is_dir()
    {
        bail!("{}: cannot write: the folder {} does not exist", path.display(), folder.display());
    }
    file::check_writable(path).with_context(|| format!("{}: cannot write", path.display()))?;
    check_no_input(path, inputs)
}

/// Fails if a folder cannot be made or written to.
pub(super) fn check_folder(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{}: cannot create the folder", dir.display()))?;
    file::check_writable(&dir.join("new")).with_context(|| format!("{}: cannot write into the folder", dir.display()))
}

/// Fails if a file is one that the command reads.
pub(super) fn check_no_input<'a>(path: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    let Ok(output) = path.canonicalize() else { return Ok(()) };
    for input in inputs {
        let Ok(found) = input.canonicalize() else { continue };
        if output == found {
            bail!("{}: is read by the command and would be replaced; give another file with -o", path.display());
        }
        if found.is_dir() && output.starts_with(&found) && belongs_to_a_trace(&output) {
            bail!(
                "{}: belongs to {}, which the command reads, and would be replaced; give another file with -o",
                path.display(),
                input.display()
            );
        }
    }
    Ok(())
}

/// Fails if a folder that is to be cleared holds a file that the command reads.
pub(super) fn check_none_within<'a>(dir: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    let Ok(folder) = dir.canonicalize() else { return Ok(()) };
    for input in inputs {
        if input.canonicalize().is_ok_and(|found| found.starts_with(&folder)) {
            bail!(
                "{}: is read by the command and lies in {}, which --force clears; give another directory with -o",
                input.display(),
                dir.display()
            );
        }
    }
    Ok(())
}

/// Whether a file in a trace's folder has a name of the trace format (`docs/trace-format.md`).
fn belongs_to_a_trace(path: &Path) -> bool {
    let is_named = |name: &str| path.file_name().is_some_and(|found| found == name);
    path.extension().is_some_and(|extension| extension == "parquet")
        || is_named("manifest.json")
        || is_named("plan.json")
        || path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "parts")
}

/// A path for people and for JSON, in which bytes that are no text are shown as �.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Files that policies and workloads name: `decima:model.pt`, `json:jobs.json,executors=10`.
pub(super) fn files_of<'a>(specs: impl IntoIterator<Item = &'a String>) -> Vec<PathBuf> {
    specs.into_iter().filter_map(|spec| spec.parse::<Spec>().ok()?.file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_kept_unless_it_is_the_same_or_may_go() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("a");
        replace(&path, b"one", false)?;
        replace(&path, b"one", false)?;
        let said = replace(&path, b"two", false).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(said.contains("other content") && std::fs::read(&path)? == b"one", "{said}");
        replace(&path, b"two", true)?;
        assert_eq!(std::fs::read(&path)?, b"two");
        Ok(())
    }

    #[test]
    fn what_is_read_is_not_written() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("trace/job"))?;
        for name in ["s.json", "trace/manifest.json", "trace/job/part-00000.parquet", "trace/notes.json"] {
            std::fs::write(at(name), "x")?;
        }
        let check = |output: &str| check_output(&at(output), [&*at("s.json"), &at("trace"), &at("missing")]);
        for free in ["new.json", "trace/notes.json", "trace/student.json"] {
            check(free)?;
        }
        for taken in ["s.json", "trace/../s.json", "trace/manifest.json", "trace/job/part-00000.parquet"] {
            let said = check(taken).map_err(|e| e.to_string()).err().unwrap_or_default();
            assert!(said.contains("would be replaced"), "{taken}: {said}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("s.json"), at("link.json"))?;
            assert!(check("link.json").is_err());
        }
        assert!(check("no/folder/x.json").is_err_and(|e| e.to_string().contains("does not exist")));
        assert!(check("trace").is_err());
        assert_eq!(files_of(&["decima:m.pt,mode=sample".to_owned(), "fair".to_owned()]), [PathBuf::from("m.pt")]);
        Ok(())
    }
}
