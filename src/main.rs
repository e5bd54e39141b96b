//! The `distill` program: everything is in [`sched_distill::cli`].

use sched_distill::cli::Allocator;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    sched_distill::cli::main(sched_distill::registry::all())
}
