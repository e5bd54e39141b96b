//! Tells the tests whether the reference data is there (`cfg(reference_data)`), and Python (`cfg(python)`).
//!
//! Elsewhere than in CI a missing folder or program turns the tests that need it into ignored ones; in CI (`CI=true`) they run and fail.

use std::{env, path::Path};

fn main() {
    println!("cargo:rustc-check-cfg=cfg(reference_data, python)");
    for variable in ["CI", "PATH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let in_ci = env::var("CI").is_ok_and(|ci| ci == "true");
    let folder = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../../shared/histories");
    // A path that is not there counts as changed at every build, and would have the crate compiled again each time.
    let watched = if folder.is_dir() { &folder } else { Path::new("build.rs") };
    println!("cargo:rerun-if-changed={}", watched.display());
    if folder.is_dir() || in_ci {
        println!("cargo:rustc-cfg=reference_data");
    }
    let path = env::var_os("PATH").unwrap_or_default();
    if in_ci || env::split_paths(&path).any(|folder| folder.join("python3").is_file()) {
        println!("cargo:rustc-cfg=python");
    }
}
