//! A policy that answers cluster states: the same decisions over every way, and nothing that a client does harms the others.

mod agreement;
mod conversation;
mod hostile;
#[cfg(all(feature = "cli", unix))]
mod program;
mod schema;
mod shadow;
#[cfg(unix)]
mod sockets;

use super::states::student;
use sched_distill::{
    distiller::FitParams,
    model::{Guard, Structure, Student},
    policy::{Policy, StudentPolicy},
    registry::Registered,
    serve::{Limits, Scorers, Service, Session},
    simulation::Workload,
    trace::Source,
};
use serde_json::Value;
use std::{path::Path, sync::Arc};

/// A student of a heuristic with a guard.
fn guarded<S: Registered>(workload: &Workload<S>, driver: &str, guard: &str, structure: Structure) -> Student {
    let driver = S::open(&driver.parse().unwrap()).unwrap();
    let params = FitParams { max_leaf_nodes: 24, structure, ..FitParams::default() };
    let mut rules = student::<S>(workload, &*driver, &params);
    rules.guards.push(Guard::parse(guard, (S::INFO.feature_set)()).unwrap());
    rules
}

pub(super) fn by_student<S: Registered>(student: &Student) -> Service<S> {
    let policy = StudentPolicy::<S>::new(student, Path::new("in memory"), None).unwrap();
    Service { scorers: Some(Arc::new(Scorers::new(student, None).unwrap())), ..by(Box::new(policy)) }
}

fn by<S: Registered>(policy: Box<dyn Policy<S>>) -> Service<S> {
    let source = Source { id: "served".to_owned(), ..Source::default() };
    Service { source, policy, scorers: None, seed: 0, limits: Limits::default(), shadow: None }
}

/// What a session answers to a line.
pub(super) fn said<S: Registered>(session: &mut Session<S>, line: &str) -> Value {
    let mut out = Vec::new();
    session.line(line.as_bytes(), &mut out);
    match out.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&out).unwrap(),
    }
}
