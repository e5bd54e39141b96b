//! The command line: one file per command, and what they share.

mod attack;
mod augment;
mod augmented;
mod certify;
mod check_policy;
mod compare;
mod decode;
mod demo;
mod diff;
mod disagreement;
mod evaluate;
mod explain;
mod export;
mod features;
mod files;
mod fit;
mod front;
mod gamed;
mod gradients;
mod help;
mod identify;
mod inputs;
mod inspect;
mod interrupt;
mod list;
mod looks;
mod loop_;
mod memory;
mod output;
mod parts;
mod patch;
#[cfg_attr(not(feature = "onnx"), path = "no_profile_model.rs")]
mod profile_model;
mod progress;
mod record;
mod report;
mod scenario;
mod serve;
mod shadow;
mod simulate;
mod stability;
mod table;
#[cfg_attr(not(feature = "torch"), path = "no_train.rs")]
mod train;
mod verdict;

use crate::{
    foreign::{name_command, secret_in},
    pipeline::{PipelineError, Registry},
    text::with_short_numbers,
};
use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    builder::PossibleValuesParser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use inputs::Inputs;
use interrupt::{Interrupted, STOP, check_interrupt};
pub use memory::Allocator;
use output::{Output, printable};
use std::{ffi::OsString, process::ExitCode};

#[derive(Parser)]
#[command(name = "distill", version, about)]
#[command(
    after_help = "`distill COMMAND --help` has the options that matter most and examples, `--help-all` the rest. Words such \
as level, choice, kind, guard and regret are explained in docs/glossary.md.\n\n\
Exit codes: 0 done; 1 a requested gate failed; 2 usage or run error; 130 interrupted.\n\n\
Start here: distill demo"
)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
struct Common {
    /// Kind of cluster
    #[arg(long, global = true, value_name = "NAME", hide_possible_values = true, help_heading = help::GLOBAL)]
    scenario: Option<String>,
    /// Seed of everything random; the same seed gives the same bytes
    #[arg(long, global = true, default_value_t = 0, value_name = "N", help_heading = help::GLOBAL)]
    seed: u64,
    /// Worker threads; results do not depend on it [default: all cores]
    #[arg(short = 'j', long, global = true, value_name = "N", help_heading = help::GLOBAL)]
    threads: Option<usize>,
    /// JSON lines on stdout instead of text (docs/json-output.md)
    #[arg(long, global = true, help_heading = help::GLOBAL)]
    json: bool,
    /// No progress bars and no notes on stderr
    #[arg(short, long, global = true, help_heading = help::GLOBAL)]
    quiet: bool,
    /// More notes on stderr (-vv for even more)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = help::GLOBAL)]
    verbose: u8,
    /// Show the options that matter most
    #[arg(short, long, global = true, action = clap::ArgAction::HelpShort, help_heading = help::GLOBAL)]
    help: Option<bool>,
    /// Show all options, with longer texts
    #[arg(long, global = true, action = clap::ArgAction::HelpLong, help_heading = help::GLOBAL)]
    help_all: Option<bool>,
    /// What there is to choose from.
    #[arg(skip)]
    registry: Registry,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::DemoArgs),
    Simulate(simulate::SimulateArgs),
    Record(record::RecordArgs),
    Fit(fit::FitArgs),
    Front(front::FrontArgs),
    Loop(loop_::LoopArgs),
    Attack(attack::AttackArgs),
    Augment(augment::AugmentArgs),
    Patch(patch::PatchArgs),
    Diff(diff::DiffArgs),
    Features(features::FeaturesArgs),
    Evaluate(evaluate::EvaluateArgs),
    Explain(explain::ExplainArgs),
    Identify(identify::IdentifyArgs),
    Export(export::ExportArgs),
    Report(report::ReportArgs),
    Inspect(inspect::InspectArgs),
    Serve(serve::ServeArgs),
    Shadow(shadow::ShadowArgs),
    Train(train::TrainArgs),
    CheckPolicy(check_policy::CheckPolicyArgs),
    ProfileModel(profile_model::ProfileModelArgs),
    List(list::ListArgs),
}

impl Command {
    /// What it reads.
    fn inputs(&self) -> Inputs {
        match self {
            Self::Demo(args) => args.inputs(),
            Self::Simulate(args) => args.inputs(),
            Self::Record(args) => args.inputs(),
            Self::Fit(args) => args.inputs(),
            Self::Front(args) => args.inputs(),
            Self::Loop(args) => args.inputs(),
            Self::Attack(args) => args.inputs(),
            Self::Augment(args) => args.inputs(),
            Self::Patch(args) => args.inputs(),
            Self::Diff(args) => args.inputs(),
            Self::Features(args) => args.inputs(),
            Self::Evaluate(args) => args.inputs(),
            Self::Explain(args) => args.inputs(),
            Self::Identify(args) => args.inputs(),
            Self::Export(args) => args.inputs(),
            Self::Report(args) => args.inputs(),
            Self::Inspect(args) => args.inputs(),
            Self::Serve(args) => args.inputs(),
            Self::Shadow(args) => args.inputs(),
            Self::Train(args) => args.inputs(),
            Self::CheckPolicy(args) => args.inputs(),
            Self::ProfileModel(args) => args.inputs(),
            Self::List(_) => Inputs::default(),
        }
    }

    /// What is kept of it when it is interrupted.
    fn keeps(&self) -> &'static str {
        match self {
            Self::Record(_) | Self::Loop(_) | Self::Demo(_) => {
                "finished parts are kept, the same command goes on from there"
            }
            Self::Attack(_) | Self::Augment(_) => {
                "the episodes that were run are kept, the same command goes on from there"
            }
            Self::Serve(_) => "what had come was not all answered",
            Self::Train(_) => "the state saved last is kept, the same command goes on from there",
            _ => "results are written at the end, so none is kept; the same command begins anew",
        }
    }
}

/// What a command reports to the shell when nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Done,
    /// A gate that the user asked for failed.
    GateFailed,
}

/// The command line of a program with these scenarios.
fn command(registry: &Registry) -> clap::Command {
    let names: Vec<&str> = registry.iter().map(|scenario| scenario.info().name).collect();
    let first = names.first().copied().unwrap_or("none");
    let meaning = format!("Kind of cluster: {} [default: that of the files, else {first}]", names.join(" or "));
    let values = PossibleValuesParser::new(registry.iter().map(|scenario| scenario.info().name).collect::<Vec<_>>());
    help::arranged(Cli::command().mut_arg("scenario", |arg| arg.value_parser(values).help(meaning)))
}

/// What was typed, with names in place of commands that have one (`script:NAME=COMMAND`), so that these get no further than
/// here; `distill help fit` is `distill fit --help`.
fn words() -> Vec<OsString> {
    let named = |word: OsString| match word.to_str().and_then(|word| in_script(word, name_command)) {
        Some(named) => named.into(),
        None => word,
    };
    let mut words: Vec<OsString> = std::env::args_os().map(named).collect();
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

/// A word with another spec in place of that of a script, be it a word of its own or the value of an option.
fn in_script(word: &str, other: impl Fn(&str) -> Option<String>) -> Option<String> {
    let start = word.find("script:")?;
    let option = &word[..start];
    let is_option = option.is_empty() || (option.starts_with('-') && (option.len() == 2 || option.ends_with('=')));
    Some(format!("{option}{}", other(&word[start..]).filter(|_| is_option)?))
}

/// The same as text, in which bytes that are none are shown as �.
fn words_as_text() -> Vec<String> {
    words().iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Ends with what is wrong with the words that were typed, or with the help that they ask for.
fn refuse(error: &clap::Error) -> ! {
    let stray = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(stray))) => Some(stray),
        _ => None,
    };
    match stray.and_then(|stray| Some((stray, inputs::unquoted_script(&words_as_text(), stray)?))) {
        Some((stray, advice)) => {
            eprintln!("error: unexpected argument `{}`: {}", printable(stray), printable(&advice));
            std::process::exit(2)
        }
        None => error.exit(),
    }
}

/// Runs the program with these scenarios.
#[must_use]
pub fn main(registry: Registry) -> ExitCode {
    if let Some(ended) = decode::run_as_decoder() {
        return ended;
    }
    let parsed = command(&registry).try_get_matches_from(words()).and_then(|found| Cli::from_arg_matches(&found));
    let mut cli = parsed.unwrap_or_else(|e| refuse(&e));
    cli.common.registry = registry;
    decode::guard();
    memory::quiet_decoders();
    init_log(&cli.common);
    interrupt::listen(cli.command.keeps());
    if let Some(asked) = cli.common.threads {
        let threads = useful_threads(asked);
        if threads < asked && !cli.common.quiet {
            eprintln!("note: {asked} threads would be no faster than {threads}, which are used");
        }
        if let Err(e) = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global() {
            eprintln!("error: cannot start {threads} threads: {e}");
            return ExitCode::from(2);
        }
    }
    let mut output = Output::new(&cli.common);
    if std::env::args_os().any(|word| word.to_str().is_none()) {
        output.note(
            "note: a path is not UTF-8; where it is shown or noted in JSON, � stands for each byte that is no text",
        );
    }
    for secret in words_as_text().iter().filter_map(|word| in_script(word, secret_in)) {
        output.warn(format!(
            "warning: the command of a script has `{secret}`: if that is a secret, mind that the whole command is written into traces, \
             students and reports. Name it, as in script:NAME=COMMAND, or pass the secret in an environment variable"
        ));
    }
    let result = run(&cli.command, &cli.common, &mut output);
    match result {
        Ok(Verdict::Done) => ExitCode::SUCCESS,
        Ok(Verdict::GateFailed) => ExitCode::from(1),
        Err(e) if e.chain().any(is_interruption) => interrupt::ended(&Interrupted.to_string()),
        Err(e) => {
            interrupt::give_way();
            eprintln!("error: {}", printable(&with_short_numbers(&one_line(&e))));
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command, common: &Common, output: &mut Output) -> anyhow::Result<Verdict> {
    command.inputs().check(&words_as_text(), common)?;
    match command {
        Command::Demo(args) => demo::run(args, common, output),
        Command::Simulate(args) => simulate::run(args, common, output),
        Command::Record(args) => record::run(args, common, output),
        Command::Fit(args) => fit::run(args, common, output),
        Command::Features(args) => features::run(args, common, output),
        Command::Front(args) => front::run(args, common, output),
        Command::Loop(args) => loop_::run(args, common, output),
        Command::Attack(args) => attack::run(args, common, output),
        Command::Augment(args) => augment::run(args, common, output),
        Command::Patch(args) => patch::run(args, common, output),
        Command::Diff(args) => diff::run(args, common, output),
        Command::Evaluate(args) => evaluate::run(args, common, output),
        Command::Explain(args) => explain::run(args, common, output),
        Command::Identify(args) => identify::run(args, common, output),
        Command::Export(args) => export::run(args, common, output),
        Command::Report(args) => report::run(args, common, output),
        Command::Inspect(args) => inspect::run(args, common, output),
        Command::Serve(args) => serve::run(args, common, output),
        Command::Shadow(args) => shadow::run(args, common, output),
        Command::Train(args) => train::run(args, common, output),
        Command::CheckPolicy(args) => check_policy::run(args, common, output),
        Command::ProfileModel(args) => profile_model::run(args, common, output),
        Command::List(args) => list::run(args, common, output),
    }
}

/// Whether the work ended because it was to end.
fn is_interruption(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<Interrupted>() || matches!(cause.downcast_ref(), Some(PipelineError::Interrupted))
}

/// As many threads as were asked for, if so many can be of use: some for each core, since a thread may wait for a
/// script.
fn useful_threads(asked: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked.clamp(1, 4 * cores)
}

/// The chain of causes on one line, without repeating what a cause already says.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if !line.contains(&text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&text);
        }
    }
    line
}

fn init_log(common: &Common) {
    let level = match (common.quiet, common.verbose) {
        (true, _) => "error",
        (_, 0) => "warn",
        (_, 1) => "info",
        _ => "debug",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("DISTILL_LOG").unwrap_or_else(|_| level.into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).without_time().init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command(&crate::registry::all()).debug_assert();
    }
}
