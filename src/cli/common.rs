//! What every command is given, and what it gives back.

use super::help;
use crate::pipeline::{Registry, command_line};
use clap::Args;

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub(super) struct Common {
    /// Kind of cluster
    #[arg(long, global = true, value_name = "NAME", hide_possible_values = true, help_heading = help::GLOBAL)]
    pub(super) scenario: Option<String>,
    /// Seed of everything random; the same seed gives the same bytes
    #[arg(long, global = true, default_value_t = 0, value_name = "N", help_heading = help::GLOBAL)]
    pub(super) seed: u64,
    /// Worker threads; results do not depend on it [default: all cores]
    #[arg(short = 'j', long, global = true, value_name = "N", help_heading = help::GLOBAL)]
    pub(super) threads: Option<usize>,
    /// JSON lines on stdout instead of text (docs/json-output.md)
    #[arg(long, global = true, help_heading = help::GLOBAL)]
    pub(super) json: bool,
    /// No progress bars and no notes on stderr
    #[arg(short, long, global = true, help_heading = help::GLOBAL)]
    pub(super) quiet: bool,
    /// More notes on stderr (-vv for even more)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = help::GLOBAL)]
    pub(super) verbose: u8,
    /// Show the options that matter most
    #[arg(short, long, global = true, action = clap::ArgAction::HelpShort, help_heading = help::GLOBAL)]
    help: Option<bool>,
    /// Show all options, with longer texts
    #[arg(long, global = true, action = clap::ArgAction::HelpLong, help_heading = help::GLOBAL)]
    help_all: Option<bool>,
    /// What there is to choose from.
    #[arg(skip)]
    pub(super) registry: Registry,
    /// The words of the command line, as text.
    #[arg(skip)]
    pub(super) words: Vec<String>,
}

impl Common {
    /// The command at hand as one would type it, in which bytes that are no text are shown as �.
    pub(super) fn command_line(&self) -> String {
        command_line(self.words.iter().skip(1).cloned())
    }
}

/// What a command reports to the shell when nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    /// A gate that the user asked for failed.
    GateFailed,
}
