//! Named rules: heuristics written as guards and an order by features.

use super::{Additive, Guard, Model, NamedModel};
use crate::level::{FLAG, FeatureSet, LevelSpec, Scope};

/// A heuristic of one level: its guards divide the candidates, then the features decide, the next one among equals of the
/// one before; the first of equals wins.
///
/// ```
/// use sched_distill_dag::feature::feature_set;
/// use sched_distill_core::model::Rule;
/// let set = feature_set();
/// let rule = Rule::parse("sjf", "job: is_source first, smallest remaining_work_rank", &set)?;
/// assert_eq!((rule.guards.len(), rule.order[0].feature.as_str()), (1, "remaining_work_rank"));
/// # Ok::<(), sched_distill_core::model::RuleError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What it is called.
    pub name: String,
    /// Level whose candidates it orders.
    pub level: String,
    /// What comes before the order.
    pub guards: Vec<Guard>,
    /// Features that decide, the most important one first; at least one.
    pub order: Vec<OrderKey>,
}

/// A feature to order candidates by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderKey {
    /// Name of the feature.
    pub feature: String,
    /// Whether the largest comes first; else the smallest does.
    pub largest: bool,
}

/// Why a rule cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "rule `{text}`: {problem}; write `LEVEL: [GUARD, ...] smallest|largest FEATURE, ...`, e.g. `job: is_source first, smallest remaining_work_rank`"
)]
pub struct RuleError {
    /// What was written.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Ranks are below this, so that an order by several of them can be written as one sum.
const MOST_CANDIDATES: f64 = 65_536.0;

impl Rule {
    /// Reads a rule: `LEVEL:`, then guards (as [`Guard::parse`] reads them) and `smallest FEATURE` or `largest FEATURE`, with
    /// commas between them. An order by several features takes ranks and flags only, at most three ranks.
    ///
    /// # Errors
    ///
    /// What is not understood, and what was expected.
    pub fn parse(name: &str, text: &str, set: &FeatureSet) -> Result<Self, RuleError> {
        let error = |problem: String| RuleError { text: text.to_owned(), problem };
        let (level, clauses) = text.split_once(':').ok_or_else(|| error("it names no level".to_owned()))?;
        let level = level.trim();
        let spec = set.level(level).ok_or_else(|| {
            let known: Vec<&str> = set.levels.iter().map(|l| l.name.as_str()).collect();
            error(format!("there is no level `{level}`, only {}", known.join(", ")))
        })?;
        let (mut guards, mut order) = (Vec::new(), Vec::new());
        for clause in clauses.split(',').map(str::trim) {
            match clause.split_once(' ') {
                Some((word @ ("smallest" | "largest"), feature)) => {
                    order.push(OrderKey { feature: feature.trim().to_owned(), largest: word == "largest" });
                }
                _ => {
                    let guard = Guard::parse(&format!("{level}: {clause}"), set);
                    guards.push(guard.map_err(|e| error(e.to_string()))?);
                }
            }
        }
        let rule = Self { name: name.to_owned(), level: spec.name.clone(), guards, order };
        rule.coefficients(spec).map_err(error)?;
        Ok(rule)
    }

    /// The order as a linear score. It is exact: the sum keeps the features' order of importance.
    ///
    /// # Errors
    ///
    /// A level that lacks a feature, in words.
    pub fn model(&self, spec: &LevelSpec) -> Result<NamedModel, RuleError> {
        let error = |problem| RuleError { text: self.name.clone(), problem };
        let coefficient = self.coefficients(spec).map_err(error)?;
        let model = Model::Additive(Additive::linear(&coefficient, &vec![0.0; coefficient.len()]));
        Ok(NamedModel { name: self.name.clone(), temperature: 1.0, model })
    }

    /// The last feature weighs 1; each one before weighs more than all that those after it can add up to.
    fn coefficients(&self, spec: &LevelSpec) -> Result<Vec<f64>, String> {
        let mut coefficient = vec![0.0; spec.features.len()];
        let mut weight = 1.0;
        for OrderKey { feature, largest } in self.order.iter().rev() {
            let column = spec.features.iter().position(|f| f.name == *feature);
            let column = column.ok_or_else(|| format!("level `{}` has no feature `{feature}`", spec.name))?;
            if coefficient[column] != 0.0 {
                return Err(format!("`{feature}` is named twice"));
            }
            coefficient[column] = if *largest { weight } else { -weight };
            weight *= match (&spec.features[column].scope, spec.features[column].unit.as_str()) {
                (Scope::Rank, _) => MOST_CANDIDATES,
                (_, FLAG) => 2.0,
                _ if self.order.len() == 1 => 1.0,
                _ => return Err(format!("`{feature}` is neither a rank nor a flag, so it cannot be one of several")),
            };
        }
        match weight {
            _ if self.order.is_empty() => Err("it has no order".to_owned()),
            // Sums of whole numbers are exact up to here.
            w if w > 2f64.powi(52) => Err("its order has too many features; three ranks fit".to_owned()),
            _ => Ok(coefficient),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::ScoreCandidates, testing::feature_set};

    #[test]
    fn orders_are_exact_whatever_the_later_features_say() {
        let set = feature_set();
        let spec = set.level("job").unwrap();
        let text = "job: largest is_source, smallest remaining_work_rank, largest age_rank, smallest room_rank";
        let rule = Rule::parse("r", text, set).unwrap();
        let model = rule.model(spec).unwrap().model;
        let columns: Vec<usize> =
            rule.order.iter().map(|k| spec.features.iter().position(|f| f.name == k.feature).unwrap()).collect();
        let keys =
            [[0.0, 0.0, 0.0, 65_535.0], [0.0, 0.0, 0.0, 0.0], [1.0, 65_535.0, 0.0, 65_535.0], [0.0, 0.0, 1.0, 9.0]];
        let width = spec.features.len();
        let mut x = vec![0.0; width * keys.len()];
        for (i, key) in keys.iter().enumerate() {
            columns.iter().zip(key).for_each(|(&c, &k)| x[i * width + c] = k);
        }
        let mut scores = [0.0; 4];
        model.score_choice(&x, width, &mut scores);
        let mut order = [0, 1, 2, 3];
        order.sort_by(|&a: &usize, &b| scores[b].total_cmp(&scores[a]));
        assert_eq!(order, [2, 3, 1, 0]);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let set = feature_set();
        for (text, expected) in [
            ("smallest age", "it names no level"),
            ("node: smallest age", "no level `node`"),
            ("job: smallest colour", "no feature `colour`"),
            ("job: is_source first", "it has no order"),
            ("job: smallest age, largest room_rank", "`age` is neither a rank nor a flag"),
            ("job: smallest age_rank, largest age_rank", "named twice"),
            ("job: age first, smallest age", "compared with nothing"),
            (
                "job: smallest age_rank, smallest room_rank, smallest ready_work_rank, smallest ready_tasks_rank",
                "too many",
            ),
        ] {
            let message = Rule::parse("r", text, set).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
