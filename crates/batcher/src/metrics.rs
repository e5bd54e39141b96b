//! What a server has done, for those who look after it: the text that Prometheus reads.

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use sched_distill_core::text::one_line;
use sched_distill_serving::{Batch, Server};
use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

type Histograms = Family<Of, Histogram, fn() -> Histogram>;

/// Seconds, counted.
type Seconds = Counter<f64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    application: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    application: String,
    outcome: &'static str,
}

/// Counters, and the page that shows them.
pub struct Metrics {
    registry: Registry,
    server: Arc<Server>,
    tasks: Family<Ended, Counter>,
    waiting: Family<Of, Gauge>,
    latency: Histograms,
    slowdown: Histograms,
    batches: Histograms,
    units: Family<Of, Counter>,
    padding: Family<Of, Counter>,
    taken: Family<Of, Seconds>,
    predicted: Family<Of, Seconds>,
    questions: Counter,
    deciding: Seconds,
    fallbacks: Counter,
}

impl Metrics {
    /// Nothing counted yet.
    #[must_use]
    pub fn new(server: Arc<Server>) -> Self {
        let mut registry = Registry::with_prefix("distill_batcher");
        let latency: Histograms = Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 17)));
        let slowdown: Histograms = Family::new_with_constructor(|| Histogram::new(exponential_buckets(1.0, 2.0, 14)));
        let batches: Histograms = Family::new_with_constructor(|| Histogram::new(exponential_buckets(1.0, 2.0, 9)));
        let new = Self {
            tasks: Family::default(),
            waiting: Family::default(),
            latency,
            slowdown,
            batches,
            units: Family::default(),
            padding: Family::default(),
            taken: Family::default(),
            predicted: Family::default(),
            questions: Counter::default(),
            deciding: Seconds::default(),
            fallbacks: Counter::default(),
            registry: Registry::default(),
            server,
        };
        let of = "answered, refused (429), failed (500), gone before a batch had it, or unheard: gone later";
        registry.register("tasks", format!("Tasks that have ended: {of}"), new.tasks.clone());
        registry.register("waiting_tasks", "Tasks in queues", new.waiting.clone());
        let help = "From arrival to answer";
        registry.register_with_unit("latency", help, Unit::Seconds, new.latency.clone());
        registry.register("slowdown", "The same, in times that the task takes alone", new.slowdown.clone());
        registry.register("batch_tasks", "Tasks in a batch", new.batches.clone());
        registry.register("units", "Sizes of tasks in batches", new.units.clone());
        registry.register("padding_units", "What batches were padded by", new.padding.clone());
        let help = "Time of accelerators";
        registry.register_with_unit("accelerator", help, Unit::Seconds, new.taken.clone());
        let help = "The same, as predicted when batches began";
        registry.register_with_unit("predicted", help, Unit::Seconds, new.predicted.clone());
        registry.register("questions", "Questions to the policy", new.questions.clone());
        let help = "Time of the policy";
        registry.register_with_unit("deciding", help, Unit::Seconds, new.deciding.clone());
        registry.register(
            "fallbacks",
            "Answers of the policy that could not be carried out; dybatch answered",
            new.fallbacks.clone(),
        );
        // Applications of which nothing was asked are there, too.
        for application in 0..new.server.applications.len() as u32 {
            new.waiting(application, 0);
            for outcome in ["answered", "refused", "failed", "gone", "unheard"] {
                drop(new.tasks.get_or_create(&new.ended_as(application, outcome)));
            }
        }
        Self { registry, ..new }
    }

    /// The page.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = String::new();
        // A string takes in anything.
        let _ = encode(&mut page, &self.registry);
        page
    }

    fn name(&self, application: u32) -> String {
        one_line(&self.server.applications[application as usize].name).into_owned()
    }

    fn of(&self, application: u32) -> Of {
        Of { application: self.name(application) }
    }

    fn ended_as(&self, application: u32, outcome: &'static str) -> Ended {
        Ended { application: self.name(application), outcome }
    }

    fn end(&self, application: u32, outcome: &'static str) {
        self.tasks.get_or_create(&self.ended_as(application, outcome)).inc();
    }

    pub(crate) fn waiting(&self, application: u32, tasks: u32) {
        self.waiting.get_or_create(&self.of(application)).set(tasks.into());
    }

    pub(crate) fn refused(&self, application: u32) {
        self.end(application, "refused");
    }

    pub(crate) fn gone(&self, application: u32) {
        self.end(application, "gone");
    }

    pub(crate) fn failed(&self, application: u32) {
        self.end(application, "failed");
    }

    pub(crate) fn unheard(&self, application: u32) {
        self.end(application, "unheard");
    }

    pub(crate) fn answered(&self, application: u32, latency: Duration, slowdown: f64) {
        self.end(application, "answered");
        self.latency.get_or_create(&self.of(application)).observe(latency.as_secs_f64());
        self.slowdown.get_or_create(&self.of(application)).observe(slowdown);
    }

    pub(crate) fn began(&self, application: u32, batch: Batch, predicted_ms: f64) {
        let of = self.of(application);
        let units = self.server.applications[application as usize].units(batch);
        self.batches.get_or_create(&of).observe(batch.count.into());
        self.units.get_or_create(&of).inc_by(batch.total);
        self.padding.get_or_create(&of).inc_by(units - batch.total);
        self.predicted.get_or_create(&of).inc_by(1e-3 * predicted_ms);
    }

    pub(crate) fn ended(&self, application: u32, took: Duration) {
        self.taken.get_or_create(&self.of(application)).inc_by(took.as_secs_f64());
    }

    pub(crate) fn asked(&self, questions: u64, took: Duration) {
        self.questions.inc_by(questions);
        self.deciding.inc_by(took.as_secs_f64());
    }

    /// How often that was so before.
    pub(crate) fn fell_back(&self) -> u64 {
        self.fallbacks.inc()
    }
}
