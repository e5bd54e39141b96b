//! The Python package `sched_distill`: the pipeline of the program, environments to train schedulers in, students, and any
//! callable as a scheduler.
//!
//! This crate is the extension module `sched_distill._core`: what must be fast, or is the program's own. What people call is
//! Python, in the folder `python`. Commands are carried out by [`sched_distill::cli::run`], as the program does, so that they
//! have its words, its parameters and its bytes.

mod arrow;
mod callable;
mod command;
mod environment;
mod estimators;
mod explainer;
mod memory;
mod policy;
mod recorder;
mod running;
mod scenario;
mod student;

use pyo3::prelude::*;
use sched_distill::cli;

#[global_allocator]
static ALLOCATOR: cli::Allocator = cli::Allocator(memory::without);

#[pymodule]
mod _core {
    use super::{PyResult, memory};
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        arrow::arrow_stream,
        callable::{Choice, Question, forget_policy, keep_policy},
        command::{commands, decode_table, main, run},
        environment::Episodes,
        estimators::ModelCore,
        explainer::{ShapCore, explain_against},
        recorder::RecorderCore,
        scenario::describe,
        student::StudentCore,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        memory::begin();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
