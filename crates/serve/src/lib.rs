//! A policy that answers over a pipe or a socket: cluster states in, decisions out, one JSON line each (`docs/serve.md`).
//!
//! [`Session`] is one client's conversation, lines in and lines out; [`Server`] is where clients come from. [`ShadowLog`] is what
//! they tell where the policy only looks on.

mod access;
mod address;
mod fault;
mod lines;
mod priority;
mod protocol;
mod reason;
mod server;
mod session;
mod shadow;

pub use access::{Access, Token, TokenError};
pub use address::{Address, AddressError};
pub use fault::Fault;
pub use protocol::SERVE_PROTOCOL;
pub use reason::{GuardSpoke, LevelScores, Reason, RegimeTaken, Scorers, TermShare};
pub use server::{ServeError, Served, Server};
pub use session::{Service, Session};
pub use shadow::{PRESENT_SCHEDULER, ShadowError, ShadowLog};

use std::time::Duration;

/// What clients may ask of a server. Defaults: lines of 1 MiB, states of an extent of 32,768, 64 clients, 10 s for the rest of a
/// line and for taking an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Longest line, bytes.
    pub line: usize,
    /// Largest extent of a state ([`State::extent`](sched_distill_core::scenario::State::extent)).
    pub extent: usize,
    /// Most clients at a time; each process that a policy starts for one counts as a client more.
    pub clients: usize,
    /// How long a client may take for the rest of a line that it has begun, and for taking an answer.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: 1 << 20, extent: 1 << 15, clients: 64, patience: Duration::from_secs(10) }
    }
}
