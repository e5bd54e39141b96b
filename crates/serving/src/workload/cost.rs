//! What a recorded request costs: a law that is assumed, or times that were measured elsewhere.

use super::{
    ServingTask,
    times::{Selected, Times},
};
use crate::{Law, Server};
use sched_distill_core::{
    spec::{Args, SpecError},
    workload::WorkloadError,
};
use sched_distill_histories::requests::Request;
use std::path::PathBuf;

/// What requests cost, and in which units.
pub(super) struct Cost<T = Times> {
    /// Tokens of a unit of size.
    unit: u32,
    law: Costs<T>,
}

enum Costs<T> {
    /// Time of a batch and of a token, ms, and how many of the context's tokens one that is generated costs as much as.
    Assumed { alpha_ms: f64, beta_ms: f64, decode: f64 },
    /// Times of prompts.
    Measured(T),
}

impl Cost<Selected> {
    /// Reads `alpha`, `beta`, `decode` and `unit`, or `times` in place of the first three.
    pub(super) fn from_args(args: &mut Args<'_>) -> Result<Self, SpecError> {
        let selected = Selected::from_args(args)?;
        let given = ["alpha", "beta", "decode"].map(|key| (key, args.text(key)));
        let alpha_ms = args.number("alpha", 20.0, 0.0..=1e6)?;
        let beta_ms = args.number("beta", 0.05, 1e-6..=1e3)?;
        let decode = args.number("decode", 20.0, 0.0..=1e4)?;
        let unit = args.count("unit", 64, 1..=1 << 20)?;
        let Some(selected) = selected else {
            return Ok(Self { unit, law: Costs::Assumed { alpha_ms, beta_ms, decode } });
        };
        match given.iter().find_map(|(key, value)| Some((key, value.as_ref()?))) {
            Some((key, value)) => {
                Err(args.conflict(key, value, "left out with `times`, which say how long a batch of prompts takes"))
            }
            None => Ok(Self { unit, law: Costs::Measured(selected) }),
        }
    }

    /// The same with the times that it names.
    pub(super) fn load(self) -> Result<Cost, WorkloadError> {
        let law = match self.law {
            Costs::Assumed { alpha_ms, beta_ms, decode } => Costs::Assumed { alpha_ms, beta_ms, decode },
            Costs::Measured(selected) => Costs::Measured(selected.load(self.unit)?),
        };
        Ok(Cost { unit: self.unit, law })
    }
}

impl Cost {
    /// How long batches take, by sizes in units.
    pub(super) fn law(&self) -> Law {
        match &self.law {
            Costs::Assumed { alpha_ms, beta_ms, .. } => {
                Law::Padded { alpha_ms: *alpha_ms, beta_ms: beta_ms * f64::from(self.unit) }
            }
            Costs::Measured(times) => Law::Measured(times.table().clone()),
        }
    }

    /// The size of a request, in units: context and generated tokens, of which each counts so many of the context. Measured times are of
    /// prompts, so that there only the context counts.
    pub(super) fn size(&self, request: &Request) -> u32 {
        let generated = match self.law {
            Costs::Assumed { decode, .. } => decode * f64::from(request.generated),
            Costs::Measured(_) => 0.0,
        };
        let tokens = f64::from(request.context) + generated;
        (tokens / f64::from(self.unit)).ceil().max(1.0) as u32
    }

    /// The file of the times, if any was named.
    pub(super) fn file(&self) -> Option<PathBuf> {
        match &self.law {
            Costs::Assumed { .. } => None,
            Costs::Measured(times) => Some(times.path().to_owned()),
        }
    }

    /// What is to be said of times that were measured.
    pub(super) fn notes(&self, server: &Server, tasks: &[ServingTask]) -> Vec<String> {
        match &self.law {
            Costs::Assumed { .. } => Vec::new(),
            Costs::Measured(times) => times.notes(server, tasks),
        }
    }
}
