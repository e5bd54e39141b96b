//! Progress bars on stderr, only on a terminal.

use super::{
    interrupt::STOP,
    output::{Notes, Output, printable},
};
use crate::{
    pipeline::{Caller, Watch},
    recorder::Progress,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// Counts episodes and shows decisions per second and the time left.
struct EpisodeBar {
    bar: ProgressBar,
    decisions: AtomicU64,
    start: Instant,
    notes: Notes,
}

impl EpisodeBar {
    fn new(label: &str, episodes: u64, notes: Notes) -> Self {
        let bar = ProgressBar::new(episodes);
        if !notes.are_drawn() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template(
            "{prefix:<28} {bar:24} {pos:>4}/{len} episodes  {msg:>18}  {elapsed} elapsed, {eta} left",
        );
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(label.to_owned());
        Self { bar, decisions: AtomicU64::new(0), start: Instant::now(), notes }
    }

    /// A line above the bar, or on stderr where there is no bar.
    fn note(&self, line: &str) {
        match self.bar.is_hidden() {
            true => self.notes.note(line),
            false => self.bar.println(printable(line)),
        }
    }

    /// Removes the bar.
    fn finish(self) {
        self.bar.finish_and_clear();
        let seconds = self.start.elapsed().as_secs_f64();
        tracing::info!("{}: {} decisions in {seconds:.2} s", self.bar.prefix(), self.decisions.into_inner());
    }
}

/// Shows on stderr what a step of the pipeline does, and tells who else wants to know.
pub(super) struct Watched {
    notes: Notes,
    bar: Mutex<Bar>,
    also: Option<Arc<dyn Watch + Send>>,
}

/// What is shown.
enum Bar {
    None,
    /// Steps, and whether one has begun.
    Steps(StepBar, bool),
    Episodes(EpisodeBar),
}

impl Watched {
    pub(super) fn new(output: &Output) -> Self {
        Self { notes: output.notes(), bar: Mutex::new(Bar::None), also: output.watch() }
    }

    /// For the step: shown here, stopped as the program is.
    pub(super) fn caller(&self) -> Caller<'_> {
        Caller { watch: self, stop: &STOP }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.show(Bar::None);
    }
}

impl Watched {
    fn tell(&self, what: impl FnOnce(&dyn Watch)) {
        if let Some(also) = &self.also {
            what(&**also);
        }
    }

    /// Replaces what is shown; the bar that there was goes.
    fn show(&self, bar: Bar) {
        if let Bar::Episodes(bar) = std::mem::replace(&mut *lock(&self.bar), bar) {
            bar.finish();
        }
    }
}

impl Watch for Watched {
    fn note(&self, line: &str) {
        if !self.notes.is_new(line) {
            return;
        }
        self.tell(|also| also.note(line));
        match &*lock(&self.bar) {
            Bar::Episodes(bar) => bar.note(line),
            _ => self.notes.note(line),
        }
    }

    fn steps(&self, count: usize) {
        self.tell(|also| also.steps(count));
        self.show(Bar::Steps(StepBar::new(count, &self.notes), false));
    }

    fn step(&self, what: &str) {
        self.tell(|also| also.step(what));
        if let Bar::Steps(bar, begun) = &mut *lock(&self.bar) {
            if std::mem::replace(begun, true) {
                bar.step();
            }
            bar.begin(what.to_owned());
        }
    }

    fn episodes(&self, what: &str, count: u64) {
        self.tell(|also| also.episodes(what, count));
        self.show(Bar::Episodes(EpisodeBar::new(what, count, self.notes.clone())));
    }

    fn done(&self) {
        self.tell(|also| also.done());
        self.show(Bar::None);
    }
}

impl Progress for Watched {
    fn episode(&self, decisions: u64) {
        self.tell(|also| also.episode(decisions));
        if let Bar::Episodes(bar) = &*lock(&self.bar) {
            bar.episode(decisions);
        }
    }
}

/// What one thread left behind in the middle of a word is of no matter to a bar.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts steps of a search.
pub(super) struct StepBar(ProgressBar);

impl StepBar {
    pub(super) fn new(steps: usize, notes: &Notes) -> Self {
        let bar = ProgressBar::new(steps as u64);
        if !notes.are_drawn() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{msg:<32} {bar:24} {pos:>3}/{len}  {elapsed} elapsed");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }

    /// Says what comes next.
    pub(super) fn begin(&self, what: String) {
        self.0.set_message(printable(&what).into_owned());
    }

    /// One step is done.
    pub(super) fn step(&self) {
        self.0.inc(1);
    }
}

/// Counts iterations of a training and shows how it goes.
#[cfg(feature = "torch")]
pub(super) struct TrainingBar {
    bar: ProgressBar,
    /// What the bar runs to, where time is limited: seconds.
    limit: Option<std::time::Duration>,
    decisions: AtomicU64,
    start: Instant,
}

#[cfg(feature = "torch")]
impl TrainingBar {
    pub(super) fn new(iterations: u64, limit: Option<std::time::Duration>, done_s: f64, notes: &Notes) -> Self {
        let bar = ProgressBar::new(limit.map_or(iterations, |limit| limit.as_secs()));
        if !notes.are_drawn() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("training {bar:24} {msg}  {elapsed} elapsed, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if limit.is_some() {
            bar.set_position(done_s as u64);
            bar.reset_eta();
        }
        Self { bar, limit, decisions: AtomicU64::new(0), start: Instant::now() }
    }

    /// An iteration is done, `elapsed` seconds into the training.
    pub(super) fn step(&self, row: &crate::trainer::IterationRow, figure: &crate::figure::Figure, elapsed: f64) {
        let total = self.decisions.fetch_add(row.decisions, Ordering::Relaxed) + row.decisions;
        let rate = total as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        let value = |value: f64| match &*figure.unit {
            "ms" => format!("{} {:.1} s", figure.label, value / 1e3),
            _ => format!("{} {value:.3}", figure.label),
        };
        let value = row.objective.map_or("stalled".to_owned(), value);
        self.bar.set_position(if self.limit.is_some() { elapsed as u64 } else { u64::from(row.iteration) });
        self.bar.set_message(format!("iteration {}, {value}, {rate:.0} decisions/s", row.iteration));
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for StepBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Progress for EpisodeBar {
    fn episode(&self, decisions: u64) {
        let total = self.decisions.fetch_add(decisions, Ordering::Relaxed) + decisions;
        let rate = total as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        self.bar.set_message(format!("{rate:.0} decisions/s"));
        self.bar.inc(1);
    }
}
