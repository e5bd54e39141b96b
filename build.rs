//! Tells the tests what they can count on: the reference data (`cfg(reference_data)`) and a browser (`cfg(browser)`, whose
//! path is in `BROWSER`).
//!
//! Elsewhere than in CI a missing folder or browser turns the tests that need it into ignored ones; in CI (`CI=true`) they
//! run and fail, so that the exactness claims and the page cannot go untested by accident.

use std::{
    env,
    path::{Path, PathBuf},
};

fn main() {
    println!("cargo:rustc-check-cfg=cfg(reference_data, browser)");
    for variable in ["CI", "CHROMIUM", "PATH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let in_ci = env::var("CI").is_ok_and(|ci| ci == "true");

    let folder = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../shared");
    println!("cargo:rerun-if-changed={}", folder.display());
    if folder.is_dir() || in_ci {
        println!("cargo:rustc-cfg=reference_data");
    }

    // Programs find libtorch where it was when they were linked (feature `torch`).
    println!("cargo:rerun-if-env-changed=DEP_TCH_LIBTORCH_LIB");
    if let Some(folder) = env::var_os("DEP_TCH_LIBTORCH_LIB") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", Path::new(&folder).display());
    }

    let browser = browser();
    if let Some(path) = &browser {
        println!("cargo:rustc-env=BROWSER={}", path.display());
    }
    if browser.is_some() || in_ci {
        println!("cargo:rustc-cfg=browser");
    }
}

/// Chromium or Chrome: what `CHROMIUM` names, else the first found on the path and in common places.
fn browser() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let common = ["/usr/bin", "/usr/local/bin", "/opt/google/chrome", "/snap/bin"];
    let folders: Vec<PathBuf> = env::split_paths(&path).chain(common.map(PathBuf::from)).collect();
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|candidate| candidate.is_file())
}
