//! What a process keeps on its own disk while it reads: parts in bins, and copies of what stores have. All of it can be lost at any
//! time, and is made again by whoever needs it.

use anyhow::{Context, Result};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::OnceLock,
};

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

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
    let has = |path: &Path, extensions: &[&str]| extensions.iter().any(|e| path.extension() == Some(e.as_ref()));
    delete(&folder.join("coded"), |path| has(path, &["arrow", "tmp"]))?;
    // Named by hashes of addresses.
    delete(&folder.join("copies"), |path| path.is_dir() && path.file_name().is_some_and(|name| name.len() == 64))?;
    delete(folder, |path| has(path, &["answer"]))
}

/// The folder for parts in bins.
pub(crate) fn coded() -> Result<PathBuf> {
    made("coded")
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
            deleted.with_context(|| cannot(&path))?;
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() != ErrorKind::DirectoryNotEmpty => Err(error).with_context(|| cannot(folder)),
        _ => Ok(()),
    }
}
