//! Scenarios: the kinds of cluster there are. A scenario ties a simulator's questions to levels, choices and features.

pub mod dag;
mod guards;
mod rules;
mod terms;

pub use guards::{BORDERS, GUARDS, GuardTemplate, ORDERS};
pub use rules::{RULES, RuleTemplate, rules};
pub use terms::{TERMS, TermTemplate};
