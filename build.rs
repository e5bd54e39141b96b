//! Tells the tests what they can count on: the reference data (`cfg(reference_data)`), a browser (`cfg(browser)`, whose
//! path is in `BROWSER`) and Python (`cfg(python)`).
//!
//! Elsewhere than in CI a missing folder or program turns the tests that need it into ignored ones; in CI (`CI=true`) they
//! run and fail, so that the exactness claims, the page and the protocol of scripts cannot go untested by accident.

use std::{
    env,
    path::{Path, PathBuf},
};

fn main() {
    println!("cargo:rustc-check-cfg=cfg(reference_data, browser, python)");
    for variable in ["CI", "CHROMIUM", "PATH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let in_ci = env::var("CI").is_ok_and(|ci| ci == "true");

    let folder = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../shared");
    // A path that is not there counts as changed at every build, and would have the program compiled again each time.
    let watched = if folder.is_dir() { &folder } else { Path::new("build.rs") };
    println!("cargo:rerun-if-changed={}", watched.display());
    if folder.is_dir() || in_ci {
        println!("cargo:rustc-cfg=reference_data");
    }

    // Programs find libtorch where it was when they were linked (feature `torch`).
    println!("cargo:rerun-if-env-changed=DEP_TCH_LIBTORCH_LIB");
    if let Some(folder) = env::var_os("DEP_TCH_LIBTORCH_LIB") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", Path::new(&folder).display());
    }

    if in_ci || on_path(&["python3"], &[]).is_some() {
        println!("cargo:rustc-cfg=python");
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
    on_path(
        &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
        &["/usr/bin", "/usr/local/bin", "/opt/google/chrome", "/snap/bin"],
    )
}

/// The first of these programs that is on the path or in one of the other folders.
fn on_path(names: &[&str], others: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).chain(others.iter().map(PathBuf::from)).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|candidate| candidate.is_file())
}
