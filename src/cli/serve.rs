//! `distill serve`: a policy that answers cluster states, over a pipe or a socket.

use super::{
    common::{Common, Verdict},
    files::shown,
    inputs::Inputs,
    interrupt,
    interrupt::STOP,
    output::Output,
    parts::count,
    progress::Watched,
};
use crate::{
    pipeline::ServeParams,
    serve::{Access, Address, Fault, Limits, Served, Token},
};
use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::json;
use std::{
    io::{self, Read},
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// Answer cluster states: JSON lines over standard input, a Unix socket or TCP
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill serve -p student:runs/demo/student.json --listen unix:/tmp/distill.sock\n  \
distill serve -p student:runs/demo/student.json --listen unix:/tmp/distill.sock --shadow log",
    after_long_help = "One client, over pipes:\n  \
distill serve -p student:runs/demo/student.json < questions.jsonl\n\n\
Many, over a socket that is yours alone, or over TCP, which asks for a token:\n  \
distill serve -p student:runs/demo/student.json --listen unix:/tmp/distill.sock\n  \
distill serve -p decima --listen tcp:127.0.0.1:7400 --token-file token --max-clients 8\n\n\
Look on while another scheduler decides:\n  \
distill serve -p student:runs/demo/student.json --listen unix:/tmp/distill.sock --shadow log\n\n\
A question is {\"id\": 1, \"state\": {...}}, an answer {\"type\": \"answer\", \"id\": 1, \"decisions\": [...]}: docs/serve.md. \
Without --scenario the state is that of the student, else one of `dag`. SIGTERM and Ctrl-C end it once what has come is \
answered."
)]
pub(super) struct ServeArgs {
    /// Policy that answers (see `distill list policies`)
    #[arg(short, long, value_name = "POLICY", help_heading = "Input")]
    policy: String,
    /// Where clients come from: unix:PATH or tcp:HOST:PORT [default: stdin]
    ///
    /// Repeatable. A Unix socket is for its owner alone; whoever is on this machine reaches TCP. Answers to standard input go
    /// to standard output.
    #[arg(long, value_name = "ADDRESS", help_heading = "Clients")]
    listen: Vec<Address>,
    /// A secret that clients over TCP have to know
    ///
    /// A file of one line, of 16 characters at least. They say it first: {"type": "hello", "protocol": 1, "token": "..."}.
    #[arg(long, value_name = "FILE", help_heading = "Clients")]
    token_file: Option<PathBuf>,
    /// Listen at TCP addresses that other machines can reach; wants --token-file
    #[arg(long, help_heading = "Clients", hide_short_help = true)]
    allow_remote: bool,
    /// Most clients at a time
    ///
    /// A process that the policy starts for a client counts as one more.
    #[arg(long, default_value_t = Limits::default().clients, value_name = "N", value_parser = at_least_one, help_heading = "Clients")]
    max_clients: usize,
    /// Longest line, bytes
    #[arg(
        long, default_value_t = Limits::default().line, value_name = "N", value_parser = at_least_one, help_heading = "Clients",
        hide_short_help = true
    )]
    max_line: usize,
    /// Largest state: stages, pairs of a stage and one behind it, nodes, jobs, speeds and executors on offer
    #[arg(
        long, default_value_t = Limits::default().extent, value_name = "N", value_parser = at_least_one,
        help_heading = "Clients", hide_short_help = true
    )]
    max_extent: usize,
    /// Answer nothing, and note in this trace what clients say was done
    ///
    /// `distill shadow` reads it.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    shadow: Option<PathBuf>,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..) => Ok(n),
        _ => Err("expected a whole number of at least 1".to_owned()),
    }
}

/// How long it may take to answer what has come once the server is to end.
const PATIENCE: Duration = Duration::from_secs(20);

impl ServeArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().policies([&self.policy])
    }

    /// Who may come in over TCP.
    fn access(&self, output: &Output) -> Result<Access> {
        let Some(path) = &self.token_file else { return Ok(Access { remote: self.allow_remote, token: None }) };
        if !self.listen.iter().any(|address| matches!(address, Address::Tcp(_))) {
            bail!("--token-file {}: clients over TCP are asked for it, and there is no --listen tcp:...", shown(path));
        }
        let token = Token::load(path).context("--token-file")?;
        if token.is_exposed() {
            output.warn(format!("--token-file {0}: others may read or write it; chmod 600 {0}", shown(path)));
        }
        Ok(Access { remote: self.allow_remote, token: Some(Arc::new(token)) })
    }
}

pub(super) fn run(args: &ServeArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let scenario = common.scenario_of_policy(&args.policy)?;
    interrupt::be_patient(PATIENCE + Duration::from_secs(10));
    let limits =
        Limits { line: args.max_line, extent: args.max_extent, clients: args.max_clients, ..Limits::default() };
    let params = ServeParams {
        policy: args.policy.clone(),
        seed: common.seed,
        listen: args.listen.clone(),
        access: args.access(output)?,
        limits,
        shadow: args.shadow.clone(),
        patience: PATIENCE,
    };
    let notes = output.notes();
    let pipes = (Box::new(UntilStopped) as _, Box::new(output.stdout()) as _);
    let watched = Watched::new(output);
    let mut said = Ok(());
    let mut started = |addresses: &[Address]| {
        let listening: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        if listening.is_empty() {
            return;
        }
        said = output.text(format!("listening on {}", listening.join(", ")));
        if said.is_ok() {
            said = output.json("listening", &json!({"addresses": listening}));
        }
    };
    let served = scenario.serve(&params, pipes, &mut started, watched.caller())?;
    said?;
    notes.note(summary(&served, common.verbose > 0));
    if let Some(dir) = &args.shadow {
        match &served.log {
            Some(log) => notes.note(format!(
                "{} noted in {}; next: distill shadow {} --train TRAINING_TRACE",
                count(log.episodes as usize, "episode"),
                dir.display(),
                dir.display()
            )),
            None => notes.note("nothing was noted"),
        }
    }
    Ok(Verdict::Done)
}

/// What a server has done, with the kinds of errors where that is wanted.
fn summary(served: &Served, kinds: bool) -> String {
    let mut said = count(served.clients as usize, "client");
    if served.turned_away > 0 {
        said.push_str(&format!(", {} more turned away", served.turned_away));
    }
    said.push_str(&format!(", {}", count(served.lines as usize, "line")));
    let errors: u64 = served.errors.values().sum();
    if errors > 0 {
        let of = |(kind, n): (&Fault, &u64)| format!("{kind} {n}");
        let kinds = match kinds {
            true => format!(": {}", served.errors.iter().map(of).collect::<Vec<_>>().join(", ")),
            false => " (-v counts them by kind)".to_owned(),
        };
        said.push_str(&format!(", {}{kinds}", count(errors as usize, "error")));
    }
    said
}

/// Standard input, which ends when the program is to end and nothing more has come.
struct UntilStopped;

impl Read for UntilStopped {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let stopped = STOP.load(Ordering::Relaxed);
            match has_come(if stopped { 0 } else { 20 })? {
                true => return io::stdin().read(out),
                false if stopped => return Ok(0),
                false => {}
            }
        }
    }
}

/// Whether there is something to read, or its end, within so many milliseconds.
#[cfg(unix)]
fn has_come(ms: i32) -> io::Result<bool> {
    let mut input = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which the call fills.
    match unsafe { libc::poll(&raw mut input, 1, ms) } {
        -1 => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(false),
            e => Err(e),
        },
        found => Ok(found > 0),
    }
}

/// A reader that waits cannot be woken here: the program ends with the next line.
#[cfg(not(unix))]
fn has_come(_ms: i32) -> io::Result<bool> {
    Ok(true)
}
