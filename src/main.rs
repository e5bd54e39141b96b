//! distill
fn main() {}
