//! What several tests share.

use std::path::PathBuf;

/// A file of the reference data (`../shared`, not part of the repository). A test that calls this carries
/// `#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]`.
pub(crate) fn reference(path: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    assert!(path.exists(), "{} is missing: the tests in CI need the reference data", path.display());
    path
}
