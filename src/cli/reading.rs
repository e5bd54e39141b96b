//! A bar on stderr while a log is read that takes longer than a moment, only on a terminal.

use super::output::Notes;
use crate::workload::reading;
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// How often it is looked.
const PERIOD: Duration = Duration::from_millis(250);

/// Does the work, and shows how far a log is read meanwhile.
pub(super) fn shown<T>(notes: &Notes, work: impl FnOnce() -> T) -> T {
    if !notes.are_drawn() {
        return work();
    }
    let (done, waits) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut bar: Option<ProgressBar> = None;
            // The other end is dropped when the work is done, however it ended.
            while let Err(RecvTimeoutError::Timeout) = waits.recv_timeout(PERIOD) {
                match (reading(), &bar) {
                    (Some((read, of)), Some(bar)) => {
                        bar.set_length(of);
                        bar.set_position(read);
                    }
                    (Some((_, of)), None) => bar = Some(new(of)),
                    (None, Some(shown)) => {
                        shown.finish_and_clear();
                        bar = None;
                    }
                    (None, None) => {}
                }
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        });
        // Dropped when this closure ends, also where the work panics.
        let _done = done;
        work()
    })
}

fn new(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    let style = ProgressStyle::with_template(
        "reading the log              {bar:24} {bytes:>10}/{total_bytes}  {bytes_per_sec}  {elapsed} elapsed, {eta} left",
    );
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
