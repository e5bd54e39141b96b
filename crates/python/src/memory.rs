//! The end of memory in a process that is somebody else's: an exception, never the end of the interpreter.
//!
//! Rust has no way back from an allocation that fails. Commands therefore run on threads of their own: the thread that gets no more
//! memory stops where it is, for good, and the one that waits for it raises `MemoryError`. What the stopped thread holds is lost,
//! locks included, so that no other command is begun in that process.

use pyo3::{
    PyErr, PyResult, Python,
    exceptions::{PyMemoryError, PyRuntimeError},
};
use sched_distill::cli;
use std::{
    cell::Cell,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// How late the end of memory may be noticed.
const PATIENCE: Duration = Duration::from_millis(20);

/// Stack of a thread that works on somebody's data: trees may be as deep as they have leaves, and are walked down by recursion. It is
/// room that is set aside, and not taken before it is used.
const STACK: usize = 1 << 28;

/// Whether the process is the program's own, which then ends as the program does.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Whether a thread has stopped, and the bytes that it asked for; 0 where that is not known.
static STOPPED: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this is a thread of the interpreter's, which must not stop.
    static OF_PYTHON: Cell<bool> = const { Cell::new(false) };
}

/// From now on the process is the program's own.
pub(super) fn is_program() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// Marks the thread at hand as one of the interpreter's.
pub(super) fn of_python() {
    OF_PYTHON.set(true);
}

/// Leaves it to readers of tables to say what their decoder panics about.
pub(super) fn quiet() {
    of_python();
    cli::quiet_decoders(|| without(0));
}

/// The exception for a thread that has stopped, if one has.
pub(super) fn error() -> Option<PyErr> {
    STOPPED.load(Ordering::Acquire).then(|| {
        let bytes = Some(BYTES.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0);
        let said = cli::shortage(bytes);
        PyMemoryError::new_err(format!(
            "{said}; save what you need and start Python anew: no other command is begun here"
        ))
    })
}

/// Work on a thread that may run out of memory.
pub(super) struct Apart<T>(mpsc::Receiver<T>);

impl<T: Send + 'static> Apart<T> {
    /// Begins it. What it works on is its own: where memory ends, that stays behind with the thread.
    pub(super) fn begin(work: impl FnOnce() -> T + Send + 'static) -> PyResult<Self> {
        let (tell, told) = mpsc::channel();
        // Nobody listens any more where another thread has stopped.
        let work = move || drop(tell.send(work()));
        let started = thread::Builder::new().stack_size(STACK).spawn(work);
        started.map_err(|e| PyMemoryError::new_err(format!("no thread could be started to work on this: {e}")))?;
        Ok(Self(told))
    }

    /// Waits for its end, or until some thread has stopped.
    pub(super) fn end(self) -> PyResult<T> {
        loop {
            match self.0.recv_timeout(PATIENCE) {
                Ok(done) => return Ok(done),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("a mistake in distill: please report it"));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if let Some(error) = error() {
                        return Err(error);
                    }
                }
            }
        }
    }
}

/// Does something on a thread that may run out of memory, without the GIL.
pub(super) fn apart<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    of_python();
    if let Some(error) = error() {
        return Err(error);
    }
    py.detach(|| Apart::begin(work)?.end())
}

/// Stops the thread at hand, unless the interpreter needs it.
#[cold]
fn stop(bytes: usize) {
    if OF_PYTHON.get() {
        return;
    }
    BYTES.store(bytes, Ordering::Relaxed);
    STOPPED.store(true, Ordering::Release);
    loop {
        thread::park();
    }
}

/// What is done where the system has no more memory.
#[cold]
pub(super) fn without(bytes: usize) {
    match IS_PROGRAM.load(Ordering::Relaxed) {
        true => cli::end_for_memory(Some(bytes)),
        false => stop(bytes),
    }
}
