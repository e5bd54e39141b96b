//! Commands of the program: carried out within this process, or as the program itself.

use crate::{callable, memory, scenario::registry};
use clap::{Arg, ArgAction, builder::ValueParser, value_parser};
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use sched_distill::{
    cli::{self, Host, Stream},
    pipeline::Watch,
    recorder::Progress,
};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, mpsc},
    thread,
    time::Duration,
};

/// How often the interpreter is asked whether somebody wants the command to end, and how late its end may be noticed.
const PATIENCE: Duration = Duration::from_millis(20);

/// Stack of the thread that a command runs on: what a process's first thread has.
const STACK: usize = 8 << 20;

/// One command at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Something that a command has to say while it runs.
enum Event {
    Note(String),
    /// So many steps or episodes of this begin.
    Begin(String, u64),
    /// A step begins.
    Step(String),
    /// One more episode is done.
    Episode,
    Done,
}

/// Hands events on to the thread that waits.
struct Heard(mpsc::Sender<Event>);

impl Heard {
    fn tell(&self, event: Event) {
        // Who waits no more wants to know nothing more.
        let _ = self.0.send(event);
    }
}

impl Progress for Heard {
    fn episode(&self, _: u64) {
        self.tell(Event::Episode);
    }
}

impl Watch for Heard {
    fn note(&self, line: &str) {
        self.tell(Event::Note(line.to_owned()));
    }

    fn steps(&self, count: usize) {
        self.tell(Event::Begin(String::new(), count as u64));
    }

    fn step(&self, what: &str) {
        self.tell(Event::Step(what.to_owned()));
    }

    fn episodes(&self, what: &str, count: u64) {
        self.tell(Event::Begin(what.to_owned(), count));
    }

    fn done(&self) {
        self.tell(Event::Done);
    }
}

/// Calls back with what is heard: `(event, text, number)`.
fn call_back(py: Python<'_>, heard: &mpsc::Receiver<Event>, function: Option<&Py<PyAny>>) -> PyResult<()> {
    let mut episodes = 0_u64;
    let call = |event: &str, text: &str, number: u64| match function {
        Some(function) => function.call1(py, (event, text, number)).map(drop),
        None => Ok(()),
    };
    // Many short episodes are told together.
    let flush = |episodes: &mut u64| match std::mem::take(episodes) {
        0 => Ok(()),
        done => call("episodes", "", done),
    };
    for event in heard.try_iter() {
        if !matches!(event, Event::Episode) {
            flush(&mut episodes)?;
        }
        match event {
            Event::Note(line) => call("note", &line, 0)?,
            Event::Begin(what, count) => call("begin", &what, count)?,
            Event::Step(what) => call("step", &what, 0)?,
            Event::Episode => episodes += 1,
            Event::Done => call("done", "", 0)?,
        }
    }
    flush(&mut episodes)
}

/// Waits for the turn of this thread, without keeping others from running.
fn turn(py: Python<'_>) -> PyResult<MutexGuard<'static, ()>> {
    if callable::is_calling() {
        return Err(PyRuntimeError::new_err(
            "what a command calls, a policy or `progress`, cannot begin another command, which would wait for the end of \
             the first",
        ));
    }
    loop {
        match TURN.try_lock() {
            Ok(turn) => return Ok(turn),
            Err(TryLockError::Poisoned(turn)) => return Ok(turn.into_inner()),
            Err(TryLockError::WouldBlock) => {
                py.detach(|| thread::sleep(PATIENCE));
                py.check_signals()?;
            }
        }
    }
}

/// Carries out a command line, without the program's name, on a thread of its own and without the GIL: its exit code, and what it wrote
/// to standard output and standard error. `decoder` starts a process that decodes a table; `heard` is called with what goes on.
///
/// Ctrl-C ends it at its next safe point. An exception of a policy in Python is raised as it is.
#[pyfunction]
pub(super) fn run(
    py: Python<'_>,
    args: Vec<OsString>,
    decoder: Option<Vec<OsString>>,
    heard: Option<Py<PyAny>>,
) -> PyResult<(u8, String, String)> {
    memory::of_python();
    // Before the turn, which may have been somebody's as a process was forked, and never ends there.
    if let Some(error) = memory::forked() {
        return Err(error);
    }
    memory::begins_command();
    let _turn = turn(py)?;
    if let Some(error) = memory::error() {
        return Err(error);
    }
    callable::forget_error();
    let [out, err] = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
    let (events, told) = mpsc::channel();
    let mut host = Host::embedded(Stream::new(out.clone()), Stream::new(err.clone()));
    host.decoder = decoder;
    host.watch = Some(Arc::new(Heard(events)));
    let words: Vec<OsString> = std::iter::once("distill".into()).chain(args).collect();
    let waiting = thread::current();
    let work = move || {
        let code = cli::run(words, registry(), &host);
        waiting.unpark();
        code
    };
    let worker = thread::Builder::new().name("distill".to_owned()).stack_size(STACK).spawn(work)?;
    let mut raised = None;
    while !worker.is_finished() {
        py.detach(|| thread::park_timeout(PATIENCE));
        // Once something is raised nobody is told any more, and the command is on its way to its end.
        if raised.is_none()
            && let Err(error) =
                callable::calling(|| py.check_signals().and_then(|()| call_back(py, &told, heard.as_ref())))
        {
            cli::stop();
            raised = Some(error);
        }
        if let Some(error) = memory::error() {
            return Err(error);
        }
    }
    let code = worker.join().map_err(|_| PyRuntimeError::new_err("a mistake in distill: please report it"))?;
    if raised.is_none() {
        raised = callable::calling(|| call_back(py, &told, heard.as_ref())).err();
    }
    match raised.or_else(callable::take_error) {
        Some(error) => Err(error),
        None => Ok((code, text(&out), text(&err))),
    }
}

fn text(of: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&of.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

/// Runs the program with these words, the first of which is its name, in a process that is its own: it takes over its signals and
/// its standard streams. Returns the exit code.
#[pyfunction]
pub(super) fn main(py: Python<'_>, args: Vec<OsString>, decoder: Option<Vec<OsString>>) -> u8 {
    memory::is_program();
    py.detach(|| cli::run(args, registry(), &Host { decoder, ..Host::program() }))
}

/// Decodes a table that nobody vouches for, as all that a process does; its exit code.
#[pyfunction]
pub(super) fn decode_table(path: PathBuf) -> u8 {
    cli::decode_table(&path)
}

/// All commands with their parameters, as JSON.
#[pyfunction]
pub(super) fn commands() -> String {
    let mut root = cli::command(&registry());
    root.build();
    let common: Vec<Value> = root.get_arguments().filter(|arg| arg.is_global_set()).filter_map(parameter).collect();
    let of = |command: &clap::Command| {
        let about = command.get_about().map(ToString::to_string);
        let own = command.get_arguments().filter(|arg| !arg.is_global_set());
        json!({"name": command.get_name(), "about": about, "parameters": own.filter_map(parameter).collect::<Vec<_>>()})
    };
    json!({"common": common, "commands": root.get_subcommands().map(of).collect::<Vec<_>>()}).to_string()
}

/// What a parser makes of a word, as Python calls it.
fn kind(parser: &ValueParser) -> &'static str {
    let is = |other: ValueParser| parser.type_id() == other.type_id();
    let kinds: [(&str, &[ValueParser]); 3] = [
        ("int", &[value_parser!(u64).into(), value_parser!(u32).into(), value_parser!(usize).into()]),
        ("float", &[value_parser!(f64).into(), value_parser!(f32).into()]),
        ("path", &[value_parser!(PathBuf)]),
    ];
    let of = |others: &[ValueParser]| others.iter().any(|other| is(other.clone()));
    kinds.into_iter().find(|(_, others)| of(others)).map_or("str", |(kind, _)| kind)
}

/// A parameter of a command; nothing of those that only ask for help.
fn parameter(arg: &Arg) -> Option<Value> {
    let (is_flag, is_repeated) = match arg.get_action() {
        ArgAction::Set => (false, arg.get_num_args().is_some_and(|range| range.max_values() > 1)),
        ArgAction::Append => (false, true),
        ArgAction::SetTrue => (true, false),
        ArgAction::Count => (true, true),
        _ => return None,
    };
    let choices: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|v| v.get_name().to_owned())
        .collect();
    let defaults: Vec<String> = arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    Some(json!({
        "id": arg.get_id().as_str(),
        "option": arg.get_long().map(|long| format!("--{long}")),
        "value": arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string),
        "kind": if is_flag { "flag" } else { kind(arg.get_value_parser()) },
        "repeated": is_repeated,
        "required": arg.is_required_set(),
        "choices": if is_flag { Vec::new() } else { choices },
        "defaults": if is_flag { Vec::new() } else { defaults },
        "help": arg.get_help().map(ToString::to_string),
        "more": arg.get_long_help().map(ToString::to_string),
    }))
}
