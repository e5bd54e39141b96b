//! The end of memory: one clear line instead of an abort.

use crate::{file, trace::lacks_memory};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    io::Write,
    sync::{
        RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// What is being worked on, and how it could do with less memory.
static DOING: RwLock<&str> = RwLock::new("");

/// Whether a thread is ending the program.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Says what is being worked on from now on, and how it could do with less memory, for the line that ends a program that
/// has not enough.
pub(super) fn doing(what: String) {
    // Some words for every level of a trace: they are never given back.
    if let Ok(mut doing) = DOING.write() {
        *doing = Box::leak(what.into_boxed_str());
    }
}

/// The system's allocator, and what is done where that has no more memory: it is told how many bytes were asked for. If it returns, the
/// allocation fails, which ends the process unless who asked can do without.
#[derive(Clone, Copy, Debug)]
pub struct Allocator(pub fn(usize));

impl Allocator {
    /// Hands on what there is.
    fn checked(self, at: *mut u8, bytes: usize) -> *mut u8 {
        if at.is_null() {
            self.0(bytes);
        }
        at
    }
}

// SAFETY: all calls go to the system's allocator as they come, and so does what it returns.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.checked(unsafe { System.realloc(at, layout, size) }, size)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

/// What is to be said where so many bytes more could not be had: `not enough memory: 512 MiB more are needed while ...`.
#[must_use]
pub fn shortage(bytes: Option<usize>) -> String {
    let doing = DOING.try_read().map_or("", |doing| *doing);
    match bytes {
        Some(bytes) => format!("not enough memory: {} MiB more are needed{doing}", bytes.div_ceil(1 << 20)),
        None => format!("not enough memory{doing}"),
    }
}

/// Ends the program where so many bytes more could not be had, without asking for memory.
#[cold]
pub fn end_for_memory(bytes: Option<usize>) -> ! {
    // One thread has the last word.
    while ENDS.swap(true, Ordering::Relaxed) {
        thread::sleep(Duration::from_secs(1));
    }
    let mut text = [0; 1024];
    let mut rest = &mut text[..];
    let doing = DOING.try_read().map_or("", |doing| *doing);
    // What does not fit is left out.
    let _ = match bytes {
        Some(bytes) => {
            writeln!(rest, "error: not enough memory: {} MiB more are needed{doing}", bytes.div_ceil(1 << 20))
        }
        None => writeln!(rest, "error: not enough memory{doing}"),
    };
    let left = rest.len();
    let _ = std::io::stderr().write_all(&text[..text.len() - left]);
    file::remove_pending();
    exit()
}

#[cfg(unix)]
fn exit() -> ! {
    // SAFETY: takes a number and does not return.
    unsafe { libc::_exit(2) }
}

#[cfg(not(unix))]
fn exit() -> ! {
    std::process::exit(2)
}

/// Leaves it to those who read tables and networks to say what their decoder panics about, unless that is the end of memory, which it asks
/// the system for by itself: then `out_of_memory` is called.
pub fn quiet_decoders(out_of_memory: fn()) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let of_decoder = |file: &str| ["polars", "tract-", "zstd"].iter().any(|name| file.contains(name));
        match panic.location().is_some_and(|at| of_decoder(at.file())) {
            true if panic.payload_as_str().is_some_and(lacks_memory) => out_of_memory(),
            true => {}
            false => usual(panic),
        }
    }));
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_words_are_kept() {
        super::doing(" while testing".to_owned());
        assert_eq!(*super::DOING.read().unwrap(), " while testing");
    }
}
