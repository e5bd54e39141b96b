//! Programs find libtorch where it was when they were linked.

include!("../../scripts/libtorch_rpath.rs");
