//! From a policy to rules, for any scenario: traces, the recorder, the evaluator, the distiller, the explainer and the search for
//! better students.
//!
//! ```text
//! recorder ──▶ trace ──▶ distiller ──▶ evaluator ──▶ augment
//!                │                         │
//!                └────────▶ explainer ◀────┘
//! ```
//!
//! Nothing here knows a kind of cluster: what is left of the recorder sees scenarios through their contract, what is right of the
//! trace sees levels and choices only.

pub mod attack;
pub mod augment;
pub mod conformance;
pub mod distiller;
pub mod evaluator;
pub mod explainer;
pub mod pipeline;
pub mod practice;
pub mod recorder;
mod sealed;
pub mod serve;
pub mod trace;
