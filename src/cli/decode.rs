//! Decoding a table that nobody vouches for in a process of its own: what ends that one does not end this one.

use crate::trace::{self, check_untrusted_tables_with};
use std::{
    ffi::OsString,
    io::Read,
    path::Path,
    process::{Command, ExitCode, Stdio},
    sync::{PoisonError, RwLock},
    thread,
    time::{Duration, Instant},
};

/// The first argument of that process; no command of a user's.
const NAME: &str = "decode-table";

/// Memory that decoding may take: so much, and so many times the file's size.
const MEMORY: u64 = 1 << 30;
const TIMES_SIZE: u64 = 64;

/// Time that it may take: so much, and a second for so many bytes.
const TIME: Duration = Duration::from_secs(30);
const BYTES_PER_S: u64 = 1 << 20;

const DAMAGED: &str = "is not a readable Parquet file: its contents are damaged";

/// The words that start such a process.
static COMMAND: RwLock<Vec<OsString>> = RwLock::new(Vec::new());

/// Has tables without hashes decoded elsewhere first, by a process that these words start.
pub(super) fn guard(command: &[OsString]) {
    *COMMAND.write().unwrap_or_else(PoisonError::into_inner) = command.to_vec();
    check_untrusted_tables_with(check);
}

/// The words that start this program as a decoder.
pub(super) fn own() -> Vec<OsString> {
    // A file that cannot be told cannot be started either, which is said then.
    vec![std::env::current_exe().unwrap_or_default().into(), NAME.into()]
}

/// Runs such a process if this is one.
pub(super) fn run_as_decoder() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let path = words.next().filter(|word| word == NAME).and_then(|_| words.next())?;
    Some(ExitCode::from(decode_table(Path::new(&path))))
}

/// All that the process of a [`Host::decoder`](super::Host::decoder) has to do with the table of its last word; its exit code. It
/// writes to standard error of the process.
#[must_use]
pub fn decode_table(path: &Path) -> u8 {
    // What is wrong is told by how the process ends.
    std::panic::set_hook(Box::new(|_| {}));
    match trace::decode_table(path) {
        Ok(()) => 0,
        Err(reason) => {
            eprintln!("{reason}");
            2
        }
    }
}

/// Decodes a table in a process of its own.
fn check(path: &Path) -> Result<(), String> {
    let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
    let (memory, time) = (MEMORY + TIMES_SIZE * size, TIME + Duration::from_secs(size / BYTES_PER_S));
    let told = |e: std::io::Error| format!("cannot be decoded in a process of its own: {e}");
    let too_large = || format!("{DAMAGED}, or more than {} MiB of memory are needed to decode it", memory >> 20);
    let words = COMMAND.read().unwrap_or_else(PoisonError::into_inner).clone();
    let mut command = Command::new(words.first().cloned().unwrap_or_default());
    command.args(words.iter().skip(1)).arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // Threads of libraries reserve memory.
    command.env("POLARS_MAX_THREADS", "1").env("RAYON_NUM_THREADS", "1").env("MALLOC_ARENA_MAX", "2");
    limit_memory(&mut command, memory);
    let mut child = command.spawn().map_err(told)?;
    let end = Instant::now() + time;
    let status = loop {
        match child.try_wait().map_err(told)? {
            Some(status) => break status,
            None if Instant::now() < end => thread::sleep(Duration::from_millis(1)),
            None => {
                let (_, _) = (child.kill(), child.wait());
                return Err(format!("{DAMAGED}: decoding it does not end in {} s", time.as_secs()));
            }
        }
    };
    match status.code() {
        Some(0) => Ok(()),
        Some(2) => {
            let mut reason = String::new();
            // A few lines at most, which have been written.
            let read = child.stderr.take().map(|said| said.take(1 << 16).read_to_string(&mut reason));
            match reason.trim_end() {
                out_of_memory if out_of_memory.contains("not enough memory") => Err(too_large()),
                reason if matches!(read, Some(Ok(_))) => Err(reason.to_owned()),
                _ => Err(DAMAGED.to_owned()),
            }
        }
        _ => Err(too_large()),
    }
}

/// Lets a process have so many bytes of memory.
#[cfg(unix)]
fn limit_memory(command: &mut Command, bytes: u64) {
    use std::os::unix::process::CommandExt;
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: between fork and exec only one call to the system is made, with a structure of two numbers.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_AS, &raw const limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}

#[cfg(not(unix))]
fn limit_memory(_command: &mut Command, _bytes: u64) {}
