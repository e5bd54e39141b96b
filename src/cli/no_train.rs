//! `distill train` in a program without libtorch: how to get it.

use super::{
    common::{Common, Verdict},
    inputs::Inputs,
    output::Output,
};
use anyhow::{Result, bail};
use clap::Args;

/// Train a neural scheduler (this program was built without training)
#[derive(Args)]
#[command(
    after_help = "Training needs libtorch:\n  scripts/setup-libtorch.sh\n  cargo build --release --features torch"
)]
pub(super) struct TrainArgs {
    /// Whatever training takes
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    _args: Vec<String>,
}

impl TrainArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default()
    }
}

pub(super) fn run(_: &TrainArgs, _: &Common, _: &mut Output) -> Result<Verdict> {
    bail!(
        "this program was built without training, which needs libtorch; in the source folder run `scripts/setup-libtorch.sh` \
         (540 MB to download), then `cargo build --release --features torch` (docs/training.md)"
    )
}
