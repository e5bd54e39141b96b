//! The end of memory in a process that is somebody else's: an exception, never the end of the interpreter. The same of threads that
//! stayed behind as a process was forked.
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
    process,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
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

/// The process that has loaded this, or has found itself forked from that without need of its threads.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Whether a command was begun in it: some of what it starts and locks outlives it.
static COMMANDED: AtomicBool = AtomicBool::new(false);

/// Room that is set aside until a thread stops, so that the others can say so: bytes of addresses, of which none is used.
const RESERVE: usize = 1 << 24;

static RESERVED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

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

/// Notes the process, sets memory aside, and leaves it to readers of tables to say what their decoder panics about.
pub(super) fn begin() {
    of_python();
    PROCESS.store(process::id(), Ordering::Relaxed);
    if let Ok(mut reserved) = RESERVED.lock() {
        *reserved = Vec::with_capacity(RESERVE);
    }
    cli::quiet_decoders(|| without(0));
}

/// Notes that a command begins.
pub(super) fn begins_command() {
    COMMANDED.store(true, Ordering::Relaxed);
}

/// The exception for a process that was forked from one with threads: they are not in it, and it would wait for them for ever.
pub(super) fn forked() -> Option<PyErr> {
    let own = process::id();
    if PROCESS.load(Ordering::Relaxed) == own {
        return None;
    }
    // Rayon says whether it has started its pool only to who starts it: a process whose parent had none gets one of its own here.
    if COMMANDED.load(Ordering::Relaxed) || rayon::ThreadPoolBuilder::new().build_global().is_err() {
        return Some(PyRuntimeError::new_err(
            "this process was forked from one that had worked with sched_distill, whose threads are not here; \
             start processes with multiprocessing's \"spawn\" or \"forkserver\"",
        ));
    }
    PROCESS.store(own, Ordering::Relaxed);
    None
}

/// The exception for a thread that has stopped, if one has, or for threads that are not here.
pub(super) fn error() -> Option<PyErr> {
    if !STOPPED.load(Ordering::Acquire) {
        return forked();
    }
    let bytes = Some(BYTES.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0);
    let said = cli::shortage(bytes);
    Some(PyMemoryError::new_err(format!(
        "{said}; save what you need and start Python anew: no other command is begun here"
    )))
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
    if let Ok(mut reserved) = RESERVED.try_lock() {
        *reserved = Vec::new();
    }
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
