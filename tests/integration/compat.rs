//! Files of earlier versions (`tests/compat`): they are read, decide as they did, and stay what figures are about.

#[cfg(feature = "cli")]
mod levels;
mod models;
