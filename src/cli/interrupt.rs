//! Ctrl-C and its kin, and `stop`: every command ends soon, says what it keeps, and leaves no process and no half-written file.

use super::host::Stream;
use crate::{file, foreign::kill_processes};
use std::{
    fmt,
    io::IsTerminal,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// Set by the first signal, or by [`stop`]; commands then stop at the next safe point.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// How long a command may take to get to a safe point, unless it asks for more. What it then has not finished is lost, and
/// nothing else: files get their names when they are complete.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How long the command at hand may, ms.
static PATIENCE_MS: AtomicU64 = AtomicU64::new(0);

/// Exit code of an interrupted command.
const INTERRUPTED: u8 = 130;

/// What the command at hand keeps.
static KEPT: RwLock<&str> = RwLock::new("nothing is kept");

/// Whether somebody has begun to end the program.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Counts beginnings and ends of commands, so that who waits to end one does not end another.
static TURN: AtomicU64 = AtomicU64::new(0);

/// The user pressed Ctrl-C, or somebody else asked the command to end.
#[derive(Debug)]
pub(super) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted; {}", KEPT.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::error::Error for Interrupted {}

/// Gives the command at hand more time to get to a safe point.
pub(super) fn be_patient(patience: Duration) {
    PATIENCE_MS.store(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Fails once the command is to end.
pub(super) fn check_interrupt() -> anyhow::Result<()> {
    match STOP.load(Ordering::Relaxed) {
        true => Err(Interrupted.into()),
        false => Ok(()),
    }
}

/// Ends the command that [`run`](super::run) carries out, as Ctrl-C does: at its next safe point, with exit code 130. It is for a
/// command that has begun; one that begins later knows nothing of it.
pub fn stop() {
    STOP.store(true, Ordering::Relaxed);
}

/// A command begins, of which `kept` is kept when it is interrupted; with `signals` these interrupt it.
pub(super) fn begin(kept: &'static str, signals: bool) {
    *KEPT.write().unwrap_or_else(PoisonError::into_inner) = kept;
    be_patient(PATIENCE);
    end();
    if signals {
        listen();
    }
}

/// A command has ended, and with it what was to end it.
pub(super) fn end() {
    TURN.fetch_add(1, Ordering::SeqCst);
    STOP.store(false, Ordering::Relaxed);
    ENDING.store(false, Ordering::SeqCst);
}

/// From now on Ctrl-C, SIGTERM and SIGHUP end the command at hand in good order, or else the program.
fn listen() {
    let ignores = hangups_are_ignored();
    // Without a handler a signal simply ends the program, which leaves no half-written file under its name either.
    let _ = ctrlc::set_handler(|| {
        // Who asks twice does not want to wait.
        if STOP.swap(true, Ordering::Relaxed) {
            end_now();
        }
        let turn = TURN.load(Ordering::SeqCst);
        let waiting = thread::Builder::new().spawn(move || {
            thread::sleep(Duration::from_millis(PATIENCE_MS.load(Ordering::Relaxed)));
            if TURN.load(Ordering::SeqCst) == turn {
                end_now();
            }
        });
        if waiting.is_err() {
            end_now();
        }
    });
    if ignores {
        ignore_hangups();
    }
}

/// Says that a command has stopped by itself when it was to end; its exit code.
pub(super) fn ended(stderr: &Stream) -> u8 {
    if ENDING.swap(true, Ordering::SeqCst) {
        wait_for_the_end();
    }
    stderr.say(&format!("error: {Interrupted}"));
    INTERRUPTED
}

/// Leaves the last word to whoever ends the program already: what fails then fails because of that.
pub(super) fn give_way() {
    if ENDING.load(Ordering::SeqCst) {
        wait_for_the_end();
    }
}

/// Ends the program wherever it is: its processes, its temporary files, and then itself.
fn end_now() {
    if ENDING.swap(true, Ordering::SeqCst) {
        wait_for_the_end();
    }
    kill_processes();
    file::remove_pending();
    let clear_bar = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    eprintln!("{clear_bar}error: {Interrupted}");
    exit_now(i32::from(INTERRUPTED))
}

fn wait_for_the_end() -> ! {
    loop {
        thread::park();
    }
}

/// Without the clean-up of libraries, which other threads still use.
#[cfg(unix)]
fn exit_now(code: i32) -> ! {
    // SAFETY: takes a number and does not return.
    unsafe { libc::_exit(code) }
}

#[cfg(not(unix))]
fn exit_now(code: i32) -> ! {
    std::process::exit(code)
}

/// Whether the program was started to outlive its terminal, as by `nohup`.
#[cfg(unix)]
fn hangups_are_ignored() -> bool {
    // SAFETY: a structure of numbers and addresses may be zero, and the call only fills it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(unix)]
fn ignore_hangups() {
    // SAFETY: sets how one signal is dealt with, to a value that the system defines.
    unsafe {
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
    }
}

#[cfg(not(unix))]
fn hangups_are_ignored() -> bool {
    false
}

#[cfg(not(unix))]
fn ignore_hangups() {}
