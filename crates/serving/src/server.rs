//! The server: accelerators, and the applications that share them.

use crate::law::{Batch, Law};
use sched_distill_core::state::StateError;
use serde::{Deserialize, Serialize};

/// Most accelerators and applications.
const MOST_ACCELERATORS: u32 = 64;
const MOST_APPLICATIONS: usize = 256;

/// Largest size of a task.
pub(crate) const MOST_SIZE: u32 = 1 << 24;

/// Accelerators of one kind, and the applications that share them. What is left out of a file has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Accelerators, each of which runs one batch at a time. Default 1.
    #[serde(default = "one_accelerator")]
    pub accelerators: u32,
    /// After how long what an application has used counts half, ms. Default 500.
    #[serde(default = "half_life_ms")]
    pub half_life_ms: f64,
    /// The applications.
    pub applications: Vec<Application>,
}

fn one_accelerator() -> u32 {
    1
}

fn half_life_ms() -> f64 {
    500.0
}

fn one() -> f64 {
    1.0
}

fn timeout_ms() -> f64 {
    5.0
}

fn most() -> u32 {
    16
}

fn queue() -> u32 {
    10_000
}

impl Default for Server {
    fn default() -> Self {
        Self { accelerators: one_accelerator(), half_life_ms: half_life_ms(), applications: Vec::new() }
    }
}

/// An application: a model, and what is promised to those who ask it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// What it is called.
    pub name: Box<str>,
    /// How long batches take.
    pub law: Law,
    /// What it is to have of the accelerators, as a share of all weights. Default 1.
    #[serde(default = "one")]
    pub weight: f64,
    /// Time within which tasks are to be answered, ms.
    pub objective_ms: f64,
    /// After how long a task that waits makes schedulers look again, ms. Default 5.
    #[serde(default = "timeout_ms")]
    pub timeout_ms: f64,
    /// Tasks of a batch at most. Default 16.
    #[serde(default = "most")]
    pub most: u32,
    /// Numbers of tasks for which the model is compiled, ascending, the last at least `most`: smaller batches are padded up to the next.
    /// Empty, which is the default, for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<u32>,
    /// Count × largest size, padding included, that memory holds at most; `None`, which is the default, for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_units: Option<u64>,
    /// Tasks that may wait; others are refused. Default 10 000.
    #[serde(default = "queue")]
    pub queue: u32,
}

/// [`Application::pays`] of a batch of so many tasks, by its time, that with the task, and that of the task alone.
#[inline]
pub(crate) fn pays(ms: f64, with_ms: f64, solo_ms: f64, count: f64) -> bool {
    with_ms <= ms + solo_ms && with_ms / (count + 1.0) <= ms / count
}

impl Application {
    /// An application with this law and the defaults.
    #[must_use]
    pub fn new(name: &str, law: Law, objective_ms: f64) -> Self {
        Self {
            name: name.into(),
            law,
            weight: one(),
            objective_ms,
            timeout_ms: timeout_ms(),
            most: most(),
            shapes: Vec::new(),
            most_units: None,
            queue: queue(),
        }
    }

    /// Tasks of a batch with those that pad it up to a shape.
    #[inline]
    #[must_use]
    pub fn padded(&self, count: u32) -> u32 {
        match self.shapes.is_empty() {
            true => count,
            false => self.shape(count),
        }
    }

    // Out of line, so that the rest is inlined.
    #[inline(never)]
    fn shape(&self, count: u32) -> u32 {
        self.shapes.get(self.shapes.partition_point(|s| *s < count)).map_or(count, |s| *s)
    }

    /// Time of a batch, ms.
    // A few instructions, but for tables and shapes, which are not inlined; a call would take as long.
    #[inline(always)]
    #[must_use]
    pub fn ms(&self, batch: Batch) -> f64 {
        match self.law {
            // Nothing is padded.
            Law::Dynamic { .. } => self.law.ms(batch),
            _ => self.law.ms(Batch { count: self.padded(batch.count), ..batch }),
        }
    }

    /// Time of a task in a batch of its own, ms: what slowdowns are measured by.
    #[must_use]
    pub fn solo_ms(&self, size: u32) -> f64 {
        self.ms(Batch::of(size))
    }

    /// Units of size that a batch takes on the accelerator, padding included.
    #[must_use]
    pub fn units(&self, batch: Batch) -> u64 {
        match self.law.pads() {
            true => u64::from(self.padded(batch.count)) * u64::from(batch.largest),
            false => batch.total,
        }
    }

    /// The largest size of which memory holds one task.
    #[must_use]
    pub fn most_size(&self) -> u32 {
        let units = if self.law.pads() { u64::from(self.padded(1)) } else { 1 };
        self.most_units.map_or(MOST_SIZE, |most| (most / units).min(MOST_SIZE.into()) as u32)
    }

    /// Whether a batch can be run: so many tasks, and memory for them.
    #[inline]
    #[must_use]
    pub fn holds(&self, batch: Batch) -> bool {
        batch.count <= self.most && self.most_units.is_none_or(|most| self.units(batch) <= most)
    }

    /// Time per task of a full batch of tasks of this size, ms.
    #[must_use]
    pub fn full_ms(&self, size: u32) -> f64 {
        let total = u64::from(self.most) * u64::from(size);
        self.ms(Batch { count: self.most, largest: size, total }) / f64::from(self.most)
    }

    /// Whether nobody is worse off with one more task in a batch that has one: it ends no later than that task in a batch of its own
    /// right after, and the time per task does not rise.
    #[inline]
    #[must_use]
    pub fn pays(&self, batch: Batch, size: u32) -> bool {
        pays(self.ms(batch), self.ms(batch.with(size)), self.solo_ms(size), batch.count.into())
    }

    fn check(&self) -> Result<(), String> {
        self.law.check()?;
        for (name, value) in
            [("weight", self.weight), ("objective_ms", self.objective_ms), ("timeout_ms", self.timeout_ms)]
        {
            if !(value > 0.0 && value <= 1e9) {
                return Err(format!("{name} must be a positive number up to 1e9, got {value}"));
            }
        }
        if !(1..=4096).contains(&self.most) {
            return Err(format!("most must be in 1..=4096, got {}", self.most));
        }
        if self.queue == 0 {
            return Err("queue must be at least 1, got 0".to_owned());
        }
        let is_shaped = self.shapes.is_empty()
            || (self.shapes[0] > 0
                && self.shapes.is_sorted_by(|a, b| a < b)
                && self.shapes.last().is_some_and(|last| *last >= self.most && *last <= 4096));
        match is_shaped {
            true => Ok(()),
            false => Err(format!(
                "shapes must be ascending numbers from 1 on, the last in {}..=4096 (`most`), got {:?}",
                self.most, self.shapes
            )),
        }
    }
}

impl Server {
    /// Whether the server can be; if not, why.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(1..=MOST_ACCELERATORS).contains(&self.accelerators) {
            return Err(format!("accelerators must be in 1..={MOST_ACCELERATORS}, got {}", self.accelerators));
        }
        if !(self.half_life_ms > 0.0 && self.half_life_ms <= 1e9) {
            return Err(format!("half_life_ms must be a positive number up to 1e9, got {}", self.half_life_ms));
        }
        let count = self.applications.len();
        if !(1..=MOST_APPLICATIONS).contains(&count) {
            return Err(format!("there must be 1 to {MOST_APPLICATIONS} applications, got {count}"));
        }
        for (place, application) in self.applications.iter().enumerate() {
            application.check().map_err(|problem| format!("application {place}: {problem}"))?;
            if self.applications[..place].iter().any(|other| other.name == application.name) {
                return Err(format!("application {place}: there is another one named `{}`", application.name));
            }
        }
        Ok(())
    }

    /// Whether a task of a size can be asked of an application; if not, why.
    pub(crate) fn check_task(&self, application: u32, size: u32) -> Result<(), StateError> {
        let wrong = |field: &str, problem: String| Err(StateError::new(field, problem));
        let Some(to) = self.applications.get(application as usize) else {
            return wrong("application", format!("must be in 0..={}, got {application}", self.applications.len() - 1));
        };
        if !(1..=MOST_SIZE).contains(&size) {
            return wrong("size", format!("must be in 1..={MOST_SIZE}, got {size}"));
        }
        match to.holds(Batch::of(size)) {
            true => Ok(()),
            false => wrong("size", format!("{size} is more than memory holds (`most_units`)")),
        }
    }
}
