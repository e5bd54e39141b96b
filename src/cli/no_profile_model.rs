//! `distill profile-model` in a program that reads no ONNX files: how to get it.

use super::{
    common::{Common, Verdict},
    inputs::Inputs,
    output::Output,
};
use anyhow::{Result, bail};
use clap::Args;

/// Measure how long batches of a model take (this program was built without ONNX)
#[derive(Args)]
#[command(after_help = "It needs a build with ONNX: cargo build --release --features onnx")]
pub(super) struct ProfileModelArgs {
    /// Whatever measuring takes
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    _args: Vec<String>,
}

impl ProfileModelArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default()
    }
}

pub(super) fn run(_: &ProfileModelArgs, _: &Common, _: &mut Output) -> Result<Verdict> {
    bail!(
        "this program was built without ONNX; in the source folder run `cargo build --release --features onnx` (docs/serving.md)"
    )
}
