//! Edits of a student by hand or by a search: every number that schedules has a name.

use super::{Additive, Evidence, Model, Regime, Slot, Student};
use crate::{
    level::LevelSpec,
    model::guard::{quantity, single},
    nearest::edit_distance,
};
use serde::{Deserialize, Serialize};

/// Where a number of a student stands.
///
/// | written | number |
/// | --- | --- |
/// | `job.node[5].threshold` | what a node of a tree compares with |
/// | `job.node[5].value` | a leaf's value, or its intercept |
/// | `job.node[5].coefficient[age]` | a coefficient of a linear leaf |
/// | `job.coefficient[age]` | the coefficient of a feature in a sum of terms; `[age*offered]` of a product |
/// | `job.term[3].coefficient` | the coefficient of any of its terms, counted from 0 |
/// | `job.term[3].threshold` | where its first factor steps or bends; `job.term[3].threshold[1]` its second |
/// | `job.regime[0].threshold` | where a regime passes from one model to another |
/// | `guard[0].value` | what a guard compares with; `guard[0].value[1]` in its second condition |
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A number of the model that schedules at a level.
    Model {
        /// Place of the level in the student.
        level: usize,
        /// Where in its model.
        slot: Slot,
    },
    /// What a guard's condition compares with.
    Guard {
        /// Place of the guard in the student.
        guard: usize,
        /// Place of the condition in the guard.
        condition: usize,
    },
}

impl Place {
    /// Whether the number is kept as a 32-bit float, since values of features are compared with it.
    #[must_use]
    pub fn is_single(&self) -> bool {
        match self {
            Self::Guard { .. } => true,
            Self::Model { slot, .. } => {
                matches!(slot, Slot::Threshold { .. } | Slot::Border { .. } | Slot::Knot { .. })
            }
        }
    }
}

/// Numbers of a student's models that were changed together after the fit.
///
/// Later patches may change the same numbers again. What guards compare with is not recorded here: the guards themselves
/// are an addition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// What was changed.
    pub changes: Vec<Change>,
    /// Why, and what it does.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// A number before and after a patch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Which number, as in [`Place`].
    pub place: String,
    /// What it was.
    pub was: f64,
    /// What it became.
    pub now: f64,
}

/// Why an edit cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("edit `{text}`: {problem}")]
pub struct EditError {
    /// What was written.
    pub text: String,
    /// What is wrong with it, and what was expected.
    pub problem: String,
}

impl Student {
    /// All numbers that schedule: those of the models in use, level by level, then those of the guards.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        let models = self.levels.iter().enumerate().flat_map(|(level, models)| {
            models.scheduler().model.slots().into_iter().map(move |slot| Place::Model { level, slot })
        });
        let guards = self
            .guards
            .iter()
            .enumerate()
            .flat_map(|(guard, g)| (0..g.when.len()).map(move |condition| Place::Guard { guard, condition }));
        models.chain(guards).collect()
    }

    /// The number at a place; `None` if the student has no such place.
    #[must_use]
    pub fn number(&self, place: &Place) -> Option<f64> {
        match *place {
            Place::Model { level, slot } => self.levels.get(level)?.scheduler().model.number(slot),
            Place::Guard { guard, condition } => Some(f64::from(self.guards.get(guard)?.when.get(condition)?.value)),
        }
    }

    /// Changes the number at a place, without a record of it; `false` if the student has no such place.
    pub fn set_number(&mut self, place: &Place, value: f64) -> bool {
        match *place {
            Place::Model { level, slot } => {
                let Some(models) = self.levels.get_mut(level) else { return false };
                let used = models.used.clone();
                let model = models.models.iter_mut().find(|m| m.name == used);
                model.is_some_and(|m| m.model.set_number(slot, value))
            }
            Place::Guard { guard, condition } => {
                let condition = self.guards.get_mut(guard).and_then(|g| g.when.get_mut(condition));
                condition.map(|c| c.value = value as f32).is_some()
            }
        }
    }

    /// The name of a place, e.g. `job.node[5].threshold`.
    #[must_use]
    pub fn place_name(&self, place: &Place) -> String {
        match *place {
            Place::Model { level, slot } => {
                let name = &self.levels[level].level;
                let feature = |column: usize| self.column_name(level, column);
                match slot {
                    Slot::Threshold { node } => format!("{name}.node[{node}].threshold"),
                    Slot::Value { node } => format!("{name}.node[{node}].value"),
                    Slot::LeafTerm { node, column } => format!("{name}.node[{node}].coefficient[{}]", feature(column)),
                    Slot::Feature { column } => match self.odd_term(level, column) {
                        Some(term) => format!("{name}.term[{term}].coefficient"),
                        None => format!("{name}.coefficient[{}]", feature(column)),
                    },
                    Slot::Term { term } => match self.product_name(level, term) {
                        Some(product) => format!("{name}.coefficient[{product}]"),
                        None => format!("{name}.term[{term}].coefficient"),
                    },
                    Slot::Border { node } => format!("{name}.regime[{node}].threshold"),
                    Slot::Knot { term, factor: 0 } => format!("{name}.term[{term}].threshold"),
                    Slot::Knot { term, factor } => format!("{name}.term[{term}].threshold[{factor}]"),
                }
            }
            Place::Guard { guard, condition: 0 } => format!("guard[{guard}].value"),
            Place::Guard { guard, condition } => format!("guard[{guard}].value[{condition}]"),
        }
    }

    /// The place of a name.
    ///
    /// # Errors
    ///
    /// What is not understood, and what there is.
    pub fn place(&self, name: &str) -> Result<Place, EditError> {
        let found = self.parse_place(name).and_then(|place| match self.number(&place) {
            Some(_) => Ok(place),
            None => Err("there is no such number".to_owned()),
        });
        found.map_err(|problem| EditError {
            text: name.to_owned(),
            problem: format!("{problem}; {}", self.nearest_places(name)),
        })
    }

    /// In words, the places whose names are most like one that there is not.
    fn nearest_places(&self, name: &str) -> String {
        let places = self.places();
        let mut names: Vec<String> = places.iter().map(|place| self.place_name(place)).collect();
        for (level, models) in self.levels.iter().enumerate() {
            let Model::Additive(_) = &models.scheduler().model else { continue };
            let width = self.feature_set.level(&models.level).map_or(0, |spec| spec.features.len());
            let unused = (0..width).map(|column| Place::Model { level, slot: Slot::Feature { column } });
            names.extend(unused.filter(|place| !places.contains(place)).map(|place| self.place_name(&place)));
        }
        // Those of numbers that the student has come first among equals.
        names.sort_by_cached_key(|known| edit_distance(name, known));
        let all = names.len();
        names.truncate(NEAREST);
        match all {
            0 => "the student has no places".to_owned(),
            _ if all <= NEAREST => format!("the places are {}", names.join(", ")),
            _ => format!("of {all} places the nearest are {}", names.join(", ")),
        }
    }

    /// Carries out `PLACE=VALUE`, where a threshold or guard may have a unit (`job.node[5].threshold=300s`), and keeps a
    /// record of it in [`Student::patches`]. Returns what the number was.
    ///
    /// # Errors
    ///
    /// What is not understood, and what was expected. The student is then as it was.
    pub fn edit(&mut self, text: &str, reason: &str) -> Result<f64, EditError> {
        let fail = |problem: String| EditError { text: text.to_owned(), problem };
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| fail("expected PLACE=VALUE, e.g. job.node[5].threshold=300s".to_owned()))?;
        let place = self.place(name.trim()).map_err(|e| fail(e.problem))?;
        let text = value.trim();
        let value = quantity(text, &self.unit(&place)).map_err(fail)?;
        if place.is_single() {
            single(text, value).map_err(fail)?;
        }
        let was = self.number(&place).unwrap_or(f64::NAN);
        self.patch(&[(place, value)], reason);
        Ok(was)
    }

    /// Changes numbers and keeps a record of those of models in [`Student::patches`]. Places that the student does not have
    /// are passed over.
    pub fn patch(&mut self, changes: &[(Place, f64)], reason: &str) {
        let mut made = Vec::new();
        for (place, value) in changes {
            let Some(was) = self.number(place) else { continue };
            // Beforehand, since a leaf's term that becomes 0 is gone.
            let name = self.place_name(place);
            self.set_number(place, *value);
            // What stands in the student, thresholds being 32-bit floats.
            let now = self.number(place).unwrap_or(*value);
            if now != was && matches!(place, Place::Model { .. }) {
                made.push(Change { place: name, was, now });
            }
        }
        if !made.is_empty() {
            let evidence = Evidence { reason: reason.to_owned(), ..Evidence::default() };
            self.patches.push(Patch { changes: made, evidence });
        }
    }

    /// Takes a patch back: numbers that no later patch has changed become what they were.
    ///
    /// # Panics
    ///
    /// If there is no such patch.
    pub fn revert_patch(&mut self, patch: usize) {
        let gone = self.patches.remove(patch);
        for change in gone.changes {
            // A student is checked when it is loaded, so that its patches name places that it has.
            let Ok(place) = self.place(&change.place) else { continue };
            match self.next_change(patch, &place) {
                Some((patch, later)) => self.patches[patch].changes[later].was = change.was,
                None => _ = self.set_number(&place, change.was),
            }
        }
    }

    /// Checks the record of patches: what is wrong, in words.
    pub fn check_patches(&self) -> Result<(), String> {
        let mut known: Vec<(usize, Place, &Change)> = Vec::new();
        for (i, change) in self.patches.iter().enumerate().flat_map(|(i, p)| p.changes.iter().map(move |c| (i, c))) {
            let place = self.place(&change.place).map_err(|e| format!("patch {i}, `{}`: {}", e.text, e.problem))?;
            known.push((i, place, change));
        }
        for (i, place, change) in &known {
            let later = known.iter().find(|(j, p, _)| j > i && p == place);
            let expected = later.map_or_else(|| self.number(place), |(_, _, next)| Some(next.was));
            if expected != Some(change.now) {
                return Err(format!(
                    "patch {i} made `{}` {}, but another number stands there",
                    change.place, change.now
                ));
            }
        }
        Ok(())
    }

    /// The first change of a number, whatever its place is called, in the patches from number `from` on: the patch and the change.
    fn next_change(&self, from: usize, place: &Place) -> Option<(usize, usize)> {
        (from..self.patches.len()).find_map(|patch| {
            let of_it = |c: &Change| self.parse_place(&c.place).is_ok_and(|p| p == *place);
            Some((patch, self.patches[patch].changes.iter().position(of_it)?))
        })
    }

    /// What stands in the brackets of a feature's coefficient.
    fn column_name(&self, level: usize, column: usize) -> &str {
        let spec = self.feature_set.level(&self.levels[level].level);
        spec.and_then(|s| s.features.get(column)).map_or("", |f| f.name.as_str())
    }

    /// The same of a product of features, `None` of other terms and of a product that stood there before.
    fn product_name(&self, level: usize, term: usize) -> Option<String> {
        let Model::Additive(Additive { terms, .. }) = &self.levels[level].scheduler().model else { return None };
        let factors = &terms.get(term).filter(|t| t.is_linear() && t.factors.len() > 1)?.factors;
        let names: Vec<&str> = factors.iter().map(|f| self.column_name(level, f.feature as usize)).collect();
        let known = terms[..term].iter().any(|t| t.factors == *factors);
        (!known && !names.iter().any(|name| is_odd(name))).then(|| names.join("*"))
    }

    /// The term of a feature as it is whose name cannot stand in the brackets of a place.
    fn odd_term(&self, level: usize, column: usize) -> Option<usize> {
        let Model::Additive(additive) = &self.levels[level].scheduler().model else { return None };
        let slot = Slot::Feature { column };
        is_odd(self.column_name(level, column))
            .then(|| (0..additive.terms.len()).find(|&t| additive.slot(t) == slot))?
    }

    /// The unit in which a place is written.
    fn unit(&self, place: &Place) -> String {
        let unit = |level: &LevelSpec, column: usize| level.features.get(column).map(|f| f.unit.clone());
        let unit = match *place {
            Place::Model { level, slot: Slot::Threshold { node } | Slot::Border { node } } => {
                let spec = self.feature_set.level(&self.levels[level].level);
                let column = |tree: &super::Tree| tree.feature.get(node).map(|&f| f as usize);
                let column = match &self.levels[level].scheduler().model {
                    Model::Tree(tree) | Model::Regime(Regime { tree, .. }) => column(tree),
                    Model::Pairwise(pairwise) => {
                        let width = spec.map_or(1, |s| s.features.len());
                        column(&pairwise.tree).map(|c| c % width)
                    }
                    _ => None,
                };
                spec.zip(column).and_then(|(spec, column)| unit(spec, column))
            }
            Place::Model { level, slot: Slot::Knot { term, factor } } => match &self.levels[level].scheduler().model {
                Model::Additive(additive) => {
                    let column = additive.terms[term].factors[factor].feature as usize;
                    self.feature_set.level(&self.levels[level].level).and_then(|spec| unit(spec, column))
                }
                _ => None,
            },
            Place::Guard { guard, condition } => {
                let guard = &self.guards[guard];
                let feature = &guard.when[condition].feature;
                let spec = self.feature_set.level(&guard.level);
                spec.and_then(|s| s.features.iter().find(|f| f.name == *feature)).map(|f| f.unit.clone())
            }
            Place::Model { .. } => None,
        };
        unit.unwrap_or_default()
    }

    fn parse_place(&self, name: &str) -> Result<Place, String> {
        let parts: Vec<(&str, Option<&str>)> = parts(name)?;
        let number = |text: Option<&str>| {
            let text = text.ok_or("a number in brackets is missing")?;
            text.parse::<usize>().map_err(|_| format!("`{text}` is not a number"))
        };
        match parts[..] {
            [("guard", guard), ("value", condition)] => {
                let condition = if condition.is_some() { number(condition)? } else { 0 };
                Ok(Place::Guard { guard: number(guard)?, condition })
            }
            [(level, None), ref rest @ ..] => {
                let level = self.feature_set.name_of(level);
                let known: Vec<&str> = self.levels.iter().map(|l| l.level.as_str()).collect();
                let at = known.iter().position(|l| *l == level);
                let at = at.ok_or_else(|| format!("there is no level `{level}`, only {}", known.join(", ")))?;
                let model = &self.levels[at].scheduler().model;
                let column = |feature: Option<&str>| {
                    let feature = feature.ok_or("a feature in brackets is missing")?;
                    let spec = self.feature_set.level(level);
                    let found = spec.and_then(|s| s.features.iter().position(|f| f.name == feature));
                    found.ok_or_else(|| format!("level `{level}` has no feature `{feature}`"))
                };
                let slot_of = |term: usize| match model {
                    Model::Additive(additive) => additive.slot(term),
                    _ => Slot::Term { term },
                };
                let terms = if let Model::Additive(additive) = model { additive.terms.len() } else { 0 };
                let product = |name: &str| (0..terms).find(|&t| self.product_name(at, t).as_deref() == Some(name));
                let slot = match *rest {
                    [("node", node), ("threshold", None)] => Slot::Threshold { node: number(node)? },
                    [("node", node), ("value", None)] => Slot::Value { node: number(node)? },
                    [("node", node), ("coefficient", feature)] => {
                        Slot::LeafTerm { node: number(node)?, column: column(feature)? }
                    }
                    [("coefficient", feature)] => match feature.and_then(product) {
                        Some(term) => Slot::Term { term },
                        None => Slot::Feature { column: column(feature)? },
                    },
                    [("regime", node), ("threshold", None)] => Slot::Border { node: number(node)? },
                    [("term", term), ("coefficient", None)] => slot_of(number(term)?),
                    [("term", term), ("threshold", factor)] => {
                        let factor = if factor.is_some() { number(factor)? } else { 0 };
                        Slot::Knot { term: number(term)?, factor }
                    }
                    _ => return Err(FORMS.to_owned()),
                };
                Ok(Place::Model { level: at, slot })
            }
            _ => Err(FORMS.to_owned()),
        }
    }
}

/// Places that are named where one is not known.
const NEAREST: usize = 10;

/// Whether a name of a feature would be read as something else in a place.
fn is_odd(name: &str) -> bool {
    name.contains(['[', ']', '.', '=', '*']) || name.trim() != name
}

const FORMS: &str = "expected LEVEL.node[I].threshold, LEVEL.node[I].value, LEVEL.node[I].coefficient[FEATURE], \
                     LEVEL.coefficient[FEATURE], LEVEL.term[I].coefficient, LEVEL.term[I].threshold or guard[I].value";

/// `a[1].b` as (`a`, `1`), (`b`, none).
fn parts(name: &str) -> Result<Vec<(&str, Option<&str>)>, String> {
    name.split('.')
        .map(|part| match part.split_once('[') {
            None => Ok((part, None)),
            Some((word, rest)) => match rest.strip_suffix(']') {
                Some(inside) => Ok((word, Some(inside))),
                None => Err(format!("`{part}` lacks a closing bracket")),
            },
        })
        .collect()
}

#[cfg(test)]
mod tests;
