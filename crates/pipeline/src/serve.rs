//! A policy that answers clients, or looks on.

use super::{Caller, Entry, PipelineError};
use sched_distill_core::{model::Student, policy::Sort, scenario::Scenario, simulation::Simulated, spec::Spec};
use sched_distill_serve::{Access, Address, Limits, Scorers, Served, Server, Service, ShadowLog};
use sched_distill_trace::recorder::policy_source;
use std::{
    io::{Read, Write},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

/// What to serve, and to whom.
#[derive(Clone, Debug, PartialEq)]
pub struct ServeParams {
    /// The policy, as a spec.
    pub policy: String,
    /// Seed of the episodes of clients that name none.
    pub seed: u64,
    /// Where clients come from; none for the pipes.
    pub listen: Vec<Address>,
    /// Who may come in over TCP.
    pub access: Access,
    /// What clients may ask.
    pub limits: Limits,
    /// Where to note what was done instead of answering.
    pub shadow: Option<PathBuf>,
    /// How long it may take to answer what has come when the server is to end.
    pub patience: Duration,
}

/// A reader and a writer, for one client.
pub type Pipes = (Box<dyn Read + Send>, Box<dyn Write + Send>);

/// Serves a policy until the caller wants it to end, or until the pipes do where there is no address. `started` hears where it
/// listens.
///
/// # Errors
///
/// A policy that cannot be opened, an address where nobody can listen, a log that cannot be written.
pub fn serve<S: Simulated>(
    entry: &Entry<S>,
    params: &ServeParams,
    pipes: Pipes,
    started: &mut dyn FnMut(&[Address]),
    caller: Caller<'_>,
) -> Result<Served, PipelineError> {
    let spec: Spec = params.policy.parse()?;
    let policy = (entry.open)(&spec)?;
    let scorers = match entry.sort_of(&spec.name) {
        Some(Sort::Student) => Some(Arc::new(scorers(&spec)?)),
        _ => None,
    };
    let source = policy_source(&params.policy, &*policy).map_err(PipelineError::Record)?;
    let shadow = match &params.shadow {
        Some(dir) => Some(ShadowLog::create(dir, &<S as Scenario>::INFO, &source, policy.abstains(), params.seed)?),
        None => None,
    };
    let processes = policy.processes();
    let service = Service { source, policy, scorers, seed: params.seed, limits: params.limits, shadow };
    let server = Server::listen(service, processes, &params.listen, &params.access)?;
    started(server.addresses());
    Ok(match params.listen.is_empty() {
        true => server.run_piped(pipes.0, pipes.1)?,
        false => server.run(caller.stop, params.patience)?,
    })
}

/// What a student's levels say of themselves.
fn scorers(spec: &Spec) -> Result<Scorers, PipelineError> {
    let student = Student::load(spec.require_file("a student written by `distill fit`")?)?;
    Ok(Scorers::new(&student, spec.args().text("model").as_deref())?)
}
