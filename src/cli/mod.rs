//! The command line: one file per command, and what they share.

mod advice;
mod attack;
mod augment;
mod augmented;
mod certify;
mod check_policy;
mod common;
mod compare;
mod decode;
mod demo;
mod diff;
mod disagreement;
mod evaluate;
mod explain;
mod export;
mod features;
mod fidelity;
mod files;
mod fit;
mod fit_options;
mod front;
mod gamed;
mod gradients;
mod help;
mod history;
mod host;
mod identify;
mod import;
mod inputs;
mod inspect;
mod interrupt;
mod list;
mod log;
mod looks;
mod loop_;
mod memory;
mod output;
mod parts;
mod patch;
#[cfg_attr(not(feature = "onnx"), path = "no_profile_model.rs")]
mod profile_model;
mod progress;
mod reading;
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
mod words;

use crate::{
    pipeline::{PipelineError, Registry},
    text::with_short_numbers,
};
use advice::one_line;
use clap::{
    CommandFactory, FromArgMatches, Parser, Subcommand,
    builder::PossibleValuesParser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use common::{Common, Verdict};
pub use decode::decode_table;
pub use host::{Host, Stream};
use inputs::Inputs;
use interrupt::Interrupted;
pub use interrupt::stop;
pub use memory::{Allocator, end_for_memory, quiet_decoders, shortage};
use output::{Output, printable};
use std::{ffi::OsString, io::Write, process::ExitCode};

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

#[derive(Subcommand)]
enum Command {
    Demo(demo::DemoArgs),
    Advise(demo::AdviseArgs),
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
    Import(import::ImportArgs),
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
            Self::Advise(args) => args.inputs(),
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
            Self::Import(args) => args.inputs(),
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
            Self::Record(_) | Self::Loop(_) | Self::Demo(_) | Self::Advise(_) => {
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

/// The command line of a program with these scenarios: all commands with their options.
#[must_use]
pub fn command(registry: &Registry) -> clap::Command {
    let names: Vec<&str> = registry.iter().map(|scenario| scenario.info().name).collect();
    let first = names.first().copied().unwrap_or("none");
    let meaning = format!("Kind of cluster: {} [default: that of the files, else {first}]", names.join(" or "));
    let values = PossibleValuesParser::new(registry.iter().map(|scenario| scenario.info().name).collect::<Vec<_>>());
    help::arranged(Cli::command().mut_arg("scenario", |arg| arg.value_parser(values).help(meaning)))
}

/// What is wrong with the words that were typed, or the help that they ask for; the exit code.
fn refuse(error: &clap::Error, words: &[OsString], host: &Host) -> u8 {
    let stray = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(stray))) => Some(stray),
        _ => None,
    };
    if let Some(stray) = stray
        && let Some(advice) = inputs::unquoted_script(&words::as_text(words), stray)
    {
        host.stderr.say(&format!("error: unexpected argument `{}`: {}", printable(stray), printable(&advice)));
        return 2;
    }
    let mut to = if error.use_stderr() { host.stderr.clone() } else { host.stdout.clone() };
    // Nobody is there to be told that they do not read this.
    let _ = match to.is_of_process() {
        true => error.print(),
        false => write!(to, "{}", error.render()),
    };
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// Runs the program with these scenarios: all of this process is its own.
#[must_use]
pub fn main(registry: Registry) -> ExitCode {
    if let Some(ended) = decode::run_as_decoder() {
        return ended;
    }
    quiet_decoders(|| end_for_memory(None));
    ExitCode::from(run(std::env::args_os(), registry, &Host::program()))
}

/// Carries out a command line, of which the first word is the program's name, and returns its exit code: 0 done, 1 a requested
/// gate failed, 2 usage or run error, 130 interrupted.
///
/// May be called again, with one command at a time: [`stop`] is for the one at hand. It leaves the process as it was but for what
/// `host` allows, which lasts (signals, decoders, and the log where notes go to the process's standard error), and two things
/// more that do: commands of scripts that have names are known by these from then on, and threads are those of rayon's own pool
/// unless `-j` says how many. `serve` without `--listen` reads standard input of the process, whatever `host` says, and
/// processes of scripts write to its standard error.
///
/// ```
/// use sched_distill::{cli::{Host, Stream, run}, registry};
/// use std::sync::{Arc, Mutex};
///
/// let [out, err] = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
/// let host = Host::embedded(Stream::new(out.clone()), Stream::new(err));
/// assert_eq!(run(["distill", "--version"].map(Into::into), registry::all(), &host), 0);
/// assert!(out.lock().unwrap().starts_with(b"distill "));
/// ```
pub fn run(args: impl IntoIterator<Item = OsString>, registry: Registry, host: &Host) -> u8 {
    let typed: Vec<OsString> = args.into_iter().collect();
    let words = words::named(&typed);
    let parsed = command(&registry).try_get_matches_from(&words).and_then(|found| Cli::from_arg_matches(&found));
    let mut cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, &words, host),
    };
    cli.common.registry = registry;
    cli.common.words = words::as_text(&words);
    if let Some(decoder) = &host.decoder {
        decode::guard(decoder);
    }
    interrupt::begin(cli.command.keeps(), host.takes_signals);
    let carried_out = || carry_out(&cli, typed.iter().all(|word| word.to_str().is_some()), host);
    let logged = || log::with(&cli.common, &host.stderr, carried_out);
    let code = in_pool(&cli.common, host, logged);
    interrupt::end();
    code
}

/// Does the work on as many threads as were asked for.
fn in_pool(common: &Common, host: &Host, work: impl FnOnce() -> u8 + Send) -> u8 {
    let Some(asked) = common.threads else { return work() };
    let threads = useful_threads(asked);
    if threads < asked && !common.quiet {
        host.stderr.say(&format!("note: {asked} threads would be no faster than {threads}, which are used"));
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build() {
        Ok(pool) => pool.install(work),
        Err(e) => {
            host.stderr.say(&format!("error: cannot start {threads} threads: {e}"));
            2
        }
    }
}

/// Bytes of stack of a thread of such a pool. The command itself runs on one, which needs what a process's first thread has.
const STACK: usize = 8 << 20;

/// Carries out what was asked for; whether all words are text; the exit code.
fn carry_out(cli: &Cli, is_text: bool, host: &Host) -> u8 {
    let mut output = Output::new(&cli.common, host);
    if !is_text {
        output.note(
            "note: a path is not UTF-8; where it is shown or noted in JSON, � stands for each byte that is no text",
        );
    }
    for secret in words::secrets(&cli.common.words) {
        output.warn(format!(
            "warning: the command of a script has `{secret}`: if that is a secret, mind that the whole command is written into traces, \
             students and reports. Name it, as in script:NAME=COMMAND, or pass the secret in an environment variable"
        ));
    }
    let notes = output.notes();
    let result = reading::shown(&notes, || dispatch(&cli.command, &cli.common, &mut output));
    match result {
        Ok(Verdict::Done) => 0,
        Ok(Verdict::GateFailed) => 1,
        Err(e) if e.chain().any(is_interruption) => interrupt::ended(&host.stderr),
        Err(e) => {
            interrupt::give_way();
            host.stderr.say(&format!("error: {}", printable(&with_short_numbers(&one_line(&e)))));
            2
        }
    }
}

fn dispatch(command: &Command, common: &Common, output: &mut Output) -> anyhow::Result<Verdict> {
    command.inputs().check(common)?;
    match command {
        Command::Demo(args) => demo::run(args, common, output),
        Command::Advise(args) => demo::advise(args, common, output),
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
        Command::Import(args) => import::run(args, common, output),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command(&crate::registry::all()).debug_assert();
    }
}
