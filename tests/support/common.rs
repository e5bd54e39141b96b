//! What several tests share.

use std::path::PathBuf;
#[cfg(feature = "toolkit")]
use std::{collections::BTreeMap, path::Path};

/// A file of the reference data (`../shared`, not part of the repository). A test that calls this carries
/// `#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]`.
pub(crate) fn reference(path: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    assert!(path.exists(), "{} is missing: the tests in CI need the reference data", path.display());
    path
}

/// Every file below a directory with its bytes.
#[cfg(feature = "toolkit")]
pub(crate) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            all.extend(files(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            all.insert(name, std::fs::read(path).unwrap());
        }
    }
    all
}

/// Copies files and folders, which may be read only.
#[cfg(feature = "cli")]
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, to) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).unwrap();
        match path.is_dir() {
            true => copy(&path, &to),
            false => std::fs::write(to, std::fs::read(&path).unwrap()).unwrap(),
        }
    }
}
