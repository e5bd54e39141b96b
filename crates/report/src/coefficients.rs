//! The coefficients of a linear score as a table.

use super::words::{full_label, number, quantity};
use sched_distill_core::{
    level::LevelSpec,
    model::{ChoiceLogit, Factor, Linear, Model, NamedModel, Shape, SplineLogit, SplineTerm},
};
use serde::Serialize;
use serde_json::json;

/// A 95 % interval is this many standard errors to either side.
const NORMAL_95: f64 = 1.96;

/// A linear score, its features sorted by effect.
#[derive(Debug, Serialize)]
pub(super) struct Coefficients {
    /// File stem in `data/`.
    pub(super) file: String,
    /// Name of the model.
    name: String,
    /// What it is, for readers.
    kind: &'static str,
    /// Whether there are standard errors.
    intervals: bool,
    /// Whether its terms have steps and kinks.
    steps: bool,
    rows: Vec<Row>,
    #[serde(skip)]
    pub(super) data: serde_json::Value,
}

#[derive(Debug, Serialize)]
struct Row {
    feature: String,
    unit: String,
    coefficient: String,
    interval: String,
    effect: String,
    /// Length of the bar in per cent of the largest effect, and its side.
    length: String,
    positive: bool,
}

impl Coefficients {
    /// The table of a linear model; `None` of others.
    pub(super) fn new(named: &NamedModel, spec: &LevelSpec, slug: &str) -> Option<Self> {
        // A spline's terms as the columns that they are.
        let own: (Vec<f64>, Vec<f64>, Option<Vec<f64>>) = match &named.model {
            Model::SplineLogit(SplineLogit { terms }) => (
                terms.iter().map(|t| t.coefficient).collect(),
                terms.iter().map(|t| t.sd).collect(),
                terms.iter().map(|t| t.standard_error).collect(),
            ),
            _ => Default::default(),
        };
        let (coefficient, sd, errors, kind) = match &named.model {
            Model::SplineLogit(_) => (&own.0, &own.1, own.2.as_ref(), "sum of terms of a choice model"),
            Model::Linear(Linear { coefficient, feature_sd, .. }) => (coefficient, feature_sd, None, "linear score"),
            Model::ChoiceLogit(ChoiceLogit { coefficient, feature_sd, standard_error, .. }) => {
                (coefficient, feature_sd, standard_error.as_ref(), "linear score of a choice model")
            }
            Model::Tree(_) | Model::Pairwise(_) | Model::Regime(_) => return None,
        };
        let columns = |term: usize| match &named.model {
            Model::ChoiceLogit(logit) => logit.columns(term),
            Model::SplineLogit(spline) => spline.terms[term].factors.iter().map(|f| f.feature as usize).collect(),
            _ => vec![term],
        };
        let joined = |term: usize, what: fn(&LevelSpec, usize) -> &str| {
            let parts: Vec<&str> = columns(term).into_iter().map(|c| what(spec, c)).collect();
            parts.join(" × ")
        };
        let mut terms: Vec<(usize, f64, f64)> =
            coefficient.iter().zip(sd).enumerate().map(|(i, (&c, sd))| (i, c, c * sd)).collect();
        terms.retain(|term| term.1 != 0.0);
        terms.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()).then(a.0.cmp(&b.0)));
        let largest = terms.first().map_or(1.0, |t| t.2.abs()).max(f64::MIN_POSITIVE);
        let name = |term: usize| match &named.model {
            Model::SplineLogit(spline) => spline.terms[term].words(spec),
            _ => joined(term, |spec, c| &spec.features[c].name),
        };
        let data = terms.iter().map(|&(i, c, e)| {
            let mut row = json!({"feature": name(i), "coefficient": c, "effect_of_one_sd": e});
            if let Some(errors) = errors {
                row["standard_error"] = errors[i].into();
            }
            row
        });
        let data = data.collect();
        let interval = |i: usize, c: f64| match errors {
            None => String::new(),
            Some(e) => format!("{} to {}", number(c - NORMAL_95 * e[i]), number(c + NORMAL_95 * e[i])),
        };
        let row = |&(i, c, e): &(usize, f64, f64)| Row {
            feature: match &named.model {
                Model::SplineLogit(spline) => in_words(&spline.terms[i], spec),
                _ => name(i),
            },
            unit: match &named.model {
                Model::SplineLogit(spline) => unit(&spline.terms[i], spec),
                _ => joined(i, |spec, c| &spec.features[c].unit),
            },
            coefficient: number(c),
            interval: interval(i, c),
            effect: number(e),
            length: format!("{:.1}", 100.0 * e.abs() / largest),
            positive: e > 0.0,
        };
        let rows = terms.iter().map(row).collect();
        // A student's author may have called it anything.
        let plain: String =
            named.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
        let file = format!("{plain}-{slug}");
        Some(Self {
            file,
            name: named.name.clone(),
            kind,
            intervals: errors.is_some(),
            steps: matches!(named.model, Model::SplineLogit(_)),
            rows,
            data,
        })
    }
}

/// A term for readers: thresholds have the units of their features.
fn in_words(term: &SplineTerm, spec: &LevelSpec) -> String {
    let factor = |f: &Factor| {
        let feature = &spec.features[f.feature as usize];
        let (name, threshold) = (full_label(feature), f64::from(f.threshold.unwrap_or(0.0)));
        match f.shape {
            Shape::Linear => name,
            Shape::Log => format!("ln(1 + {name})"),
            Shape::Above if feature.whole && threshold.fract() != 0.0 => {
                format!("[{name} ≥ {}]", quantity(threshold.ceil(), feature))
            }
            Shape::Above => format!("[{name} > {}]", quantity(threshold, feature)),
            Shape::Excess => format!("({name} above {})", quantity(threshold, feature)),
        }
    };
    term.factors.iter().map(factor).collect::<Vec<_>>().join(" × ")
}

/// What a term's coefficient is per: steps and logarithms have no unit.
fn unit(term: &SplineTerm, spec: &LevelSpec) -> String {
    let with_unit = term.factors.iter().filter(|f| matches!(f.shape, Shape::Linear | Shape::Excess));
    let units: Vec<&str> = with_unit.map(|f| spec.features[f.feature as usize].unit.as_str()).collect();
    if units.is_empty() { "1".to_owned() } else { units.join(" × ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_dag::feature::feature_set;

    #[test]
    fn a_logit_shows_intervals_and_products_with_their_units() {
        let mut spec = feature_set().levels[0].clone();
        spec.features.truncate(2);
        spec.features[0].unit = "ms".to_owned();
        let model = Model::ChoiceLogit(ChoiceLogit {
            coefficient: vec![0.0, -2.0, 0.5],
            standard_error: Some(vec![0.0, 1.0, 0.1]),
            feature_sd: vec![0.0, 1.0, 10.0],
            interactions: vec![[0, 1]],
        });
        let named = NamedModel { name: "logit".to_owned(), temperature: 1.0, model };
        let table = Coefficients::new(&named, &spec, "job").unwrap();
        assert_eq!((table.file.as_str(), table.intervals, table.rows.len()), ("logit-job", true, 2));
        let names: Vec<&str> = spec.features.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(table.rows[0].feature, names.join(" × "));
        assert_eq!(table.rows[0].unit, format!("ms × {}", spec.features[1].unit));
        assert_eq!(table.rows[1].interval, "\u{2212}3.96 to \u{2212}0.04");
        assert_eq!(table.data[1]["standard_error"], 1.0);
    }

    #[test]
    fn a_step_has_no_unit_and_an_excess_that_of_its_feature() {
        let mut spec = feature_set().levels[0].clone();
        spec.features[2].unit = "ms".to_owned();
        let factor = |shape| Factor { feature: 2, shape, threshold: Some(5.0) };
        let term = |factors| SplineTerm { factors, coefficient: 1.0, sd: 1.0, standard_error: None };
        assert_eq!(unit(&term(vec![factor(Shape::Above)]), &spec), "1");
        assert_eq!(unit(&term(vec![factor(Shape::Above), factor(Shape::Excess)]), &spec), "ms");
    }
}
