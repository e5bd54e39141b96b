//! What a scenario offers to searches and comparisons by name: guards, orders, borders, terms and heuristics.

use crate::{
    level::{FeatureSet, NONE_FLAG},
    model::{Guard, GuardError, OrderKey, Rule, Shape},
};

/// What there is for one scenario.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue {
    /// Guards that a search may try.
    pub guards: &'static [GuardTemplate],
    /// Orders by one feature that named heuristics go by: level, feature, and whether the largest comes first.
    pub orders: &'static [(&'static str, &'static str, bool)],
    /// Where a search may pass from one model to another: level, a feature that all candidates of a choice share, and values.
    pub borders: &'static [(&'static str, &'static str, &'static [f32])],
    /// Terms that a search may add to a student, the more important ones of each level first.
    pub terms: &'static [TermTemplate],
    /// Heuristics that teachers are compared with.
    pub rules: &'static [RuleTemplate],
}

/// A guard with a number left open.
#[derive(Clone, Copy, Debug)]
pub struct GuardTemplate {
    /// What it is called.
    pub name: &'static str,
    /// The guard, with `{}` where the number belongs.
    pub text: &'static str,
    /// Numbers to try, ascending; empty if the guard has none.
    pub values: &'static [f64],
    /// What it is for.
    pub meaning: &'static str,
}

impl GuardTemplate {
    /// How it is written, `{}` in place of its number, and the numbers that a search may try there.
    #[must_use]
    pub const fn is(self, text: &'static str, values: &'static [f64]) -> Self {
        Self { text, values, ..self }
    }

    /// The guards that the template stands for, one per value.
    ///
    /// # Errors
    ///
    /// A template about other features than those of `set`.
    pub fn guards(&self, set: &FeatureSet) -> Result<Vec<Guard>, GuardError> {
        let texts: Vec<String> = match self.values {
            [] => vec![self.text.to_owned()],
            values => values.iter().map(|v| self.text.replace("{}", &v.to_string())).collect(),
        };
        let with_reason = |text: &String| {
            let mut guard = Guard::parse(text, set)?;
            guard.evidence.reason = format!("{}: {}", self.name, self.meaning);
            Ok(guard)
        };
        texts.iter().map(with_reason).collect()
    }
}

/// A guard of a catalogue: its name, and what it does in words. [`GuardTemplate::is`] says how it is written.
///
/// ```
/// use sched_distill_core::scenario::guard;
/// let small = guard("small", "small jobs come first").is("job: remaining_work <= {} first", &[1e4, 1e5]);
/// assert_eq!((small.name, small.values), ("small", &[1e4, 1e5][..]));
/// ```
#[must_use]
pub const fn guard(name: &'static str, meaning: &'static str) -> GuardTemplate {
    GuardTemplate { name, text: "", values: &[], meaning }
}

/// A heuristic with its meaning.
#[derive(Clone, Copy, Debug)]
pub struct RuleTemplate {
    /// What it is called.
    pub name: &'static str,
    /// The rule, as [`Rule::parse`] reads it.
    pub text: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// A heuristic of a catalogue: its name, and what it does in words. [`RuleTemplate::is`] says how it is written.
#[must_use]
pub const fn rule(name: &'static str, meaning: &'static str) -> RuleTemplate {
    RuleTemplate { name, text: "", meaning }
}

impl RuleTemplate {
    /// How it is written.
    #[must_use]
    pub const fn is(self, text: &'static str) -> Self {
        Self { text, ..self }
    }
}

/// A term that a direct search may add to a student: its level, and the features whose functions are multiplied.
pub type TermTemplate = (&'static str, &'static [(&'static str, Shape)]);

impl Catalogue {
    /// Nothing.
    pub const EMPTY: Self = Self { guards: &[], orders: &[], borders: &[], terms: &[], rules: &[] };

    /// The heuristics that a trace has the features for. Where the policy may give nothing, they do so only if nothing else
    /// is left.
    #[must_use]
    pub fn rules(&self, set: &FeatureSet, abstains: bool) -> Vec<(Rule, &'static str)> {
        let known = |t: &RuleTemplate| {
            let mut rule = Rule::parse(t.name, t.text, set).ok()?;
            let named = rule.order.iter().any(|key| key.feature == NONE_FLAG);
            if abstains && !named && set.level(&rule.level)?.features.iter().any(|f| f.name == NONE_FLAG) {
                rule.order.insert(0, OrderKey { feature: NONE_FLAG.to_owned(), largest: false });
            }
            Some((rule, t.meaning))
        };
        self.rules.iter().filter_map(known).collect()
    }
}
