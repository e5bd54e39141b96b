//! The coefficients of a sum of terms as a table.

use super::{
    plain::Plain,
    words::{number, quantity},
};
use sched_distill_core::{
    level::LevelSpec,
    model::{Additive, Factor, Model, NamedModel, Shape, Term},
};
use serde::Serialize;
use serde_json::json;

/// A 95 % interval is this many standard errors to either side.
const NORMAL_95: f64 = 1.96;

/// A sum of terms, sorted by effect.
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
    /// The table of a sum of terms; `None` of other models.
    pub(super) fn new(named: &NamedModel, spec: &LevelSpec, plain: Plain<'_>, slug: &str) -> Option<Self> {
        let Model::Additive(Additive { terms, .. }) = &named.model else { return None };
        let steps = !terms.iter().all(Term::is_linear);
        let intervals = terms.iter().any(|t| t.standard_error.is_some());
        let kind = match (steps, intervals) {
            (true, _) => "sum of terms of a choice model",
            (false, true) => "linear score of a choice model",
            (false, false) => "linear score",
        };
        let effect = |t: &Term| t.coefficient * t.sd;
        let mut terms: Vec<&Term> = terms.iter().filter(|t| t.coefficient != 0.0).collect();
        terms.sort_by(|a, b| effect(b).abs().total_cmp(&effect(a).abs()));
        let largest = terms.first().map_or(1.0, |t| effect(t).abs()).max(f64::MIN_POSITIVE);
        let data = terms.iter().map(|t| {
            let mut row =
                json!({"feature": t.words(spec), "coefficient": t.coefficient, "effect_of_one_sd": effect(t)});
            if let Some(error) = t.standard_error {
                row["standard_error"] = error.into();
            }
            row
        });
        let data = data.collect();
        let interval = |t: &Term| {
            let reach = NORMAL_95 * t.standard_error?;
            Some(format!("{} to {}", number(t.coefficient - reach), number(t.coefficient + reach)))
        };
        let row = |t: &&Term| Row {
            feature: in_words(t, spec, plain, steps),
            unit: t.unit(spec),
            coefficient: number(t.coefficient),
            interval: interval(t).unwrap_or_default(),
            effect: number(effect(t)),
            length: format!("{:.1}", 100.0 * effect(t).abs() / largest),
            positive: effect(t) > 0.0,
        };
        let rows = terms.iter().map(row).collect();
        // A student's author may have called it anything.
        let plain: String =
            named.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
        let file = format!("{plain}-{slug}");
        Some(Self { file, name: named.name.clone(), kind, intervals, steps, rows, data })
    }
}

/// A term for readers: thresholds have the units of their features. Where no term has steps, features have the names that places of
/// edits have.
fn in_words(term: &Term, spec: &LevelSpec, plain: Plain<'_>, steps: bool) -> String {
    let factor = |f: &Factor| {
        let feature = &spec.features[f.feature as usize];
        let name = if steps { plain.full_label(&spec.name, feature) } else { feature.name.clone() };
        let threshold = f64::from(f.threshold.unwrap_or(0.0));
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

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::level::Words;
    use sched_distill_dag::feature::feature_set;

    #[test]
    fn a_logit_shows_intervals_and_products_with_their_units() {
        let mut spec = feature_set().levels[0].clone();
        spec.features.truncate(2);
        spec.features[0].unit = "ms".to_owned();
        let with_error = |error, term| Term { standard_error: Some(error), ..term };
        let mut product = with_error(0.1, Term::linear(0, 0.5, 10.0));
        product.factors.extend(Term::linear(1, 0.0, 0.0).factors);
        let terms = vec![with_error(1.0, Term::linear(1, -2.0, 1.0)), product];
        let model = Model::Additive(Additive { intercept: 0.0, terms });
        let named = NamedModel { name: "logit".to_owned(), temperature: 1.0, model };
        let table =
            Coefficients::new(&named, &spec, Plain { words: &Words::default(), features: feature_set() }, "job")
                .unwrap();
        assert_eq!((table.file.as_str(), table.intervals, table.rows.len()), ("logit-job", true, 2));
        let names: Vec<&str> = spec.features.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(table.rows[0].feature, names.join(" × "));
        assert_eq!(table.rows[0].unit, format!("ms × {}", spec.features[1].unit));
        assert_eq!(table.rows[1].interval, "\u{2212}3.96 to \u{2212}0.04");
        assert_eq!(table.data[1]["standard_error"], 1.0);
    }
}
