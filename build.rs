//! Tells the tests whether the reference data is there (`cfg(reference_data)`).
//!
//! Elsewhere than in CI a missing folder turns the tests that need it into ignored ones; in CI (`CI=true`) they run and
//! fail, so that the exactness claims cannot go untested by accident.

use std::{env, path::Path};

fn main() {
    println!("cargo:rustc-check-cfg=cfg(reference_data)");
    println!("cargo:rerun-if-env-changed=CI");
    let folder = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../shared");
    println!("cargo:rerun-if-changed={}", folder.display());
    if folder.is_dir() || env::var("CI").is_ok_and(|ci| ci == "true") {
        println!("cargo:rustc-cfg=reference_data");
    }
}
