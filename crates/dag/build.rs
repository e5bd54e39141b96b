//! Tells the tests whether the reference data is there (`cfg(reference_data)`).
//!
//! Elsewhere than in CI a missing folder turns the tests that need it into ignored ones; in CI (`CI=true`) they run and fail.

use std::{env, path::Path};

fn main() {
    println!("cargo:rustc-check-cfg=cfg(reference_data)");
    println!("cargo:rerun-if-env-changed=CI");
    let folder = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../../shared/histories");
    // A path that is not there counts as changed at every build, and would have the crate compiled again each time.
    let watched = if folder.is_dir() { &folder } else { Path::new("build.rs") };
    println!("cargo:rerun-if-changed={}", watched.display());
    if folder.is_dir() || env::var("CI").is_ok_and(|ci| ci == "true") {
        println!("cargo:rustc-cfg=reference_data");
    }
}
