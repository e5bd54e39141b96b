// The build script of the crates that link libtorch: programs find it where it was when they were linked.

use std::{env, path::Path};

fn main() {
    println!("cargo:rerun-if-env-changed=DEP_TCH_LIBTORCH_LIB");
    if let Some(folder) = env::var_os("DEP_TCH_LIBTORCH_LIB") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", Path::new(&folder).display());
    }
}
