//! The `distill` program: everything is in [`sched_distill::cli`].

use sched_distill::cli::{Allocator, end_for_memory};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator(|bytes| end_for_memory(Some(bytes)));

fn main() -> ExitCode {
    sched_distill::cli::main(sched_distill::registry::all())
}
