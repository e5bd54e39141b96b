//! The `distill` program: everything is in [`sched_distill::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    sched_distill::cli::main()
}
