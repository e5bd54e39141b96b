//! What a process keeps on its own disk while it reads: the choices that are read, the same in bins, and copies of what stores
//! have. All of it can be lost at any time, and is made again by whoever needs it.

use anyhow::{Context, Result};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// After so long batches are deleted that nobody has read.
const UNREAD: Duration = Duration::from_secs(24 * 3600);

/// Says in which folder; once, before anything is read.
pub fn keep_in(folder: &Path) {
    FOLDER.get_or_init(|| folder.to_owned());
}

/// Deletes what was kept in a folder, and the folder if nothing else is in it.
///
/// # Errors
///
/// What cannot be deleted.
pub fn forget_in(folder: &Path) -> Result<()> {
    delete(&folder.join("batches"), is_of_batches)?;
    // Named by hashes of addresses.
    delete(&folder.join("copies"), |path| path.is_dir() && path.file_name().is_some_and(|name| name.len() == 64))?;
    delete(folder, |path| path.extension() == Some("answer".as_ref()))
}

/// Deletes batches that nobody has read for a day: executors may run for weeks, and every fit leaves some.
pub(crate) fn forget_unread(folder: &Path) {
    let old = |path: &Path| {
        let read = fs::metadata(path).and_then(|file| file.modified());
        read.is_ok_and(|read| read.elapsed().is_ok_and(|elapsed| elapsed > UNREAD))
    };
    // What cannot be deleted now may be at another time.
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|path| is_of_batches(path) && old(path)).for_each(|path| _ = fs::remove_file(path));
}

fn is_of_batches(path: &Path) -> bool {
    ["arrow", "tmp"].iter().any(|extension| path.extension() == Some(extension.as_ref()))
}

/// The folder for choices and rows in bins.
pub(crate) fn batches() -> Result<PathBuf> {
    made("batches")
}

/// The folder for copies of what stores have.
pub(crate) fn copies() -> Result<PathBuf> {
    made("copies")
}

fn made(name: &str) -> Result<PathBuf> {
    let folder = FOLDER.get().context("nobody said where to keep what is read")?.join(name);
    fs::create_dir_all(&folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    Ok(folder)
}

/// Deletes some of what is in a folder, and the folder if nothing else is: users name folders.
fn delete(folder: &Path, is_ours: impl Fn(&Path) -> bool) -> Result<()> {
    let cannot = |path: &Path| format!("{}: cannot be deleted", path.display());
    let found = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found.with_context(|| cannot(folder))?,
    };
    for entry in found {
        let path = entry.with_context(|| cannot(folder))?.path();
        if is_ours(&path) {
            let deleted = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match deleted {
                // Others tidy up too.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                deleted => deleted.with_context(|| cannot(&path))?,
            }
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if !matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound) => {
            Err(error).with_context(|| cannot(folder))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn batches_that_nobody_has_read_for_a_day_are_deleted_and_nothing_else_is() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let file = |name: &str, hours: u64| -> Result<PathBuf> {
            let path = dir.path().join(name);
            fs::File::create(&path)?.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600))?;
            Ok(path)
        };
        let [old, unfinished] = [file("a.arrow", 25)?, file("b.1-2.tmp", 25)?];
        let [new, other] = [file("c.arrow", 23)?, file("mine", 25)?];
        forget_unread(dir.path());
        assert_eq!([&old, &unfinished, &new, &other].map(|path| path.exists()), [false, false, true, true]);
        Ok(())
    }
}
