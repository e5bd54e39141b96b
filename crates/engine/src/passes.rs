//! What is shown of passes over the traces: a line for each, and on a terminal a bar for the one that goes on.

use indicatif::{ProgressBar, ProgressStyle};
use sched_distill_engine::scan::rows_read;
use sched_distill_pipeline::Watch;
use sched_distill_trace::recorder::Progress;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How often a bar is drawn.
const TICK: Duration = Duration::from_millis(100);

/// Says on stderr what goes on, with the seconds since the beginning.
pub(crate) struct Passes {
    start: Instant,
    /// Whether this process reads the rows itself, and so knows how far it is.
    reads: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Passes {
    pub(crate) fn new(reads: bool) -> Self {
        Self { start: Instant::now(), reads, bar: Mutex::default() }
    }

    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Passes {
    fn episode(&self, _decisions: u64) {}
}

impl Watch for Passes {
    fn note(&self, line: &str) {
        eprintln!("{:>7.1} s  {line}", self.start.elapsed().as_secs_f64());
    }

    fn pass(&self, what: &str, rows: u64) {
        self.note(what);
        let template = match self.reads {
            true => "{bar:24} {human_pos} of {human_len} rows  {per_sec}  {elapsed} elapsed, {eta} left",
            false => "{spinner} {human_len} rows on the cluster  {elapsed} elapsed",
        };
        // Hidden where stderr is no terminal.
        let bar = ProgressBar::new(rows);
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(TICK);
        *self.bar() = Some(bar.clone());
        if self.reads && !bar.is_hidden() {
            let before = rows_read();
            thread::spawn(move || {
                while !bar.is_finished() {
                    bar.set_position((rows_read() - before).min(rows));
                    thread::sleep(TICK);
                }
            });
        }
    }

    fn done(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }
}
