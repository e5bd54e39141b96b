//! Scenarios: the kinds of cluster there are. A scenario ties a simulator's questions to levels, choices and features.

pub mod dag;
mod guards;

pub use guards::{BORDERS, GUARDS, GuardTemplate, ORDERS};
