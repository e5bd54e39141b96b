//! What a command line writes to, and what it may do with the process that it runs in.

use super::decode;
use crate::pipeline::Watch;
use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Where text goes; copies go to the same place.
#[derive(Clone)]
pub struct Stream {
    to: Arc<Mutex<dyn Write + Send>>,
    of_process: bool,
    terminal: bool,
}

impl Stream {
    /// Into what the caller keeps the other end of, as plain text.
    #[must_use]
    pub fn new(to: Arc<Mutex<impl Write + Send + 'static>>) -> Self {
        Self { to, of_process: false, terminal: false }
    }

    /// The standard output of this process.
    #[must_use]
    pub fn stdout() -> Self {
        Self { to: Arc::new(Mutex::new(io::stdout())), of_process: true, terminal: io::stdout().is_terminal() }
    }

    /// The standard error of this process, with progress bars where that is a terminal.
    #[must_use]
    pub fn stderr() -> Self {
        Self { to: Arc::new(Mutex::new(io::stderr())), of_process: true, terminal: io::stderr().is_terminal() }
    }

    /// Whether this is one of the standard streams of this process.
    pub(super) fn is_of_process(&self) -> bool {
        self.of_process
    }

    /// Whether somebody looks on, so that what is written may be replaced.
    pub(super) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes a line if that is possible: nothing depends on whether words on stderr are read.
    pub(super) fn say(&self, line: &str) {
        let _ = self.lock().write_all(format!("{line}\n").as_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, dyn Write + Send + 'static> {
        self.to.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().flush()
    }
}

/// What a command line writes to, and what it may do with the process that it runs in.
#[derive(Clone)]
pub struct Host {
    /// Results.
    pub stdout: Stream,
    /// Notes, errors and the log; in a stream of somebody else, of the command's own thread.
    pub stderr: Stream,
    /// Ctrl-C, SIGTERM and SIGHUP may be taken over, from the first command on and for good: they end the command in good
    /// order, and the process if that takes too long.
    pub takes_signals: bool,
    /// What may be started, with the path of a table as its last word, to [decode](super::decode_table) that with limited memory: tables
    /// that no hash vouches for are decoded there first. Without it they are decoded in this process, and one that is damaged may end it.
    pub decoder: Option<Vec<OsString>>,
    /// Who is told what goes on, beside the streams: how far steps and episodes are.
    pub watch: Option<Arc<dyn Watch + Send>>,
}

impl Host {
    /// A process that is the program itself.
    #[must_use]
    pub fn program() -> Self {
        Self {
            stdout: Stream::stdout(),
            stderr: Stream::stderr(),
            takes_signals: true,
            decoder: Some(decode::own()),
            watch: None,
        }
    }

    /// A process of somebody else, which keeps its signals and starts no decoder.
    #[must_use]
    pub fn embedded(stdout: Stream, stderr: Stream) -> Self {
        Self { stdout, stderr, takes_signals: false, decoder: None, watch: None }
    }
}
