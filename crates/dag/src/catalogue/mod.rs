//! What searches may try in the `dag` scenario: guards, orders, borders, terms, and heuristics by name.

mod guards;
mod rules;
mod terms;

use sched_distill_core::scenario::Catalogue;

/// All of it.
pub(super) const CATALOGUE: Catalogue = Catalogue {
    guards: &guards::GUARDS,
    orders: &guards::ORDERS,
    borders: &guards::BORDERS,
    terms: &terms::TERMS,
    rules: &rules::RULES,
};
