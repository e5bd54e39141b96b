//! Integration tests: one binary, one file per behaviour.

mod common;
