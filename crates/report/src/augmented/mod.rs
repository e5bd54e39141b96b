//! Guards and edits: guards, patches and regimes in words, and what each brings.

mod search;

use super::{
    ReportError,
    dot_chart::{self, Cell, Panel, Row},
    goal,
    plain::{Plain, capital},
    run_dir::RunDir,
    svg::{BLUE, Chart},
    tree::children,
    words::{list, number, percent},
};
use sched_distill_core::{
    figure::Figure,
    level::LevelSpec,
    model::{Evidence, Guard, Model, Patch, Regime, ScoreCandidates, Structure, Student},
};
use sched_distill_judge::evaluator::Estimate;
use serde::Serialize;
use serde_json::json;

/// Everything that the section shows.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// Whether it is another student than the one that the page explains.
    beside: bool,
    /// Guards, and numbers that were changed.
    edits: usize,
    /// The edits in a line each, and what they bring.
    brief: Vec<String>,
    /// Whether job and stage are asked at once.
    flat: bool,
    regimes: Vec<RegimeView>,
    guards: Vec<GuardView>,
    patches: Vec<PatchView>,
    gains: Option<Chart>,
    search: Option<search::View>,
    objective: String,
    /// What a gain is.
    gained: String,
}

/// Which model schedules where, at one level.
#[derive(Debug, Serialize)]
struct RegimeView {
    level: String,
    /// Where, and which model.
    parts: Vec<(String, String)>,
}

/// A guard, written out.
#[derive(Debug, Serialize)]
struct GuardView {
    /// For readers, e.g. `a job with time since it arrived above 5 min comes first`.
    sentence: String,
    /// As it is written in commands.
    exact: String,
    evidence: EvidenceView,
}

/// A patch, written out.
#[derive(Debug, Serialize)]
struct PatchView {
    /// Place, what it was, what it is.
    changes: Vec<[String; 3]>,
    evidence: EvidenceView,
}

/// Why an edit is there and what it does; `–` where it is not known.
#[derive(Debug, Serialize)]
struct EvidenceView {
    reason: String,
    gain: String,
    fires: String,
}

/// Words and draws a student's edits, and the search for them if the run has it.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(run: &RunDir) -> Result<Section, ReportError> {
    let student = run.augmented.as_ref().unwrap_or(&run.student);
    let objective = &run.info.objective;
    let plain = Plain { words: &run.info.words, features: &student.feature_set };
    let guards = student.guards.iter().map(|g| guard(objective, g, plain));
    Ok(Section {
        beside: run.augmented.is_some(),
        edits: student.guards.len() + student.patches.iter().map(|p| p.changes.len()).sum::<usize>(),
        brief: brief(student, objective, plain),
        flat: student.structure == Structure::Flat,
        regimes: regimes(student, run.plain()),
        guards: guards.collect(),
        patches: student.patches.iter().map(|p| patch(objective, p)).collect(),
        objective: objective.label.to_string(),
        gained: goal::gained(objective),
        gains: gains(objective, student)?,
        search: run
            .steps
            .as_deref()
            .filter(|s| !s.is_empty())
            .map(|steps| search::view(objective, steps))
            .transpose()?,
    })
}

impl Section {
    /// The charts in the page's order.
    pub(super) fn into_charts(self) -> impl Iterator<Item = Chart> {
        [self.gains, self.search.map(|s| s.chart)].into_iter().flatten()
    }
}

fn regimes(student: &Student, plain: Plain<'_>) -> Vec<RegimeView> {
    let levels = student.levels.iter().filter_map(|models| {
        let Model::Regime(regime) = &models.scheduler().model else { return None };
        let spec = student.feature_set.level(&models.level)?;
        let words = |model: usize| regime.models.get(model).map_or(String::new(), |m| model_words(m, spec, plain));
        let parts = places(regime, spec, plain).into_iter().map(|(place, model)| (place, words(model))).collect();
        Some(RegimeView { level: models.level.clone(), parts })
    });
    levels.collect()
}

/// The leaves of a regime's tree from left to right: where, and the number of the model.
pub(super) fn places(regime: &Regime, spec: &LevelSpec, plain: Plain<'_>) -> Vec<(String, usize)> {
    let mut places = Vec::new();
    let mut stack = vec![(0, Vec::new())];
    while let Some((node, path)) = stack.pop() {
        let Some([left, right]) = children(&regime.tree, node) else {
            let place = if path.is_empty() { "always".to_owned() } else { list(&path) };
            places.push((place, regime.tree.value[node] as usize));
            continue;
        };
        let feature = &spec.features[regime.tree.feature[node] as usize];
        let test = plain.test(&spec.name, feature, regime.tree.threshold[node]);
        for (child, condition) in [(right, test.right), (left, test.left)] {
            let path = path.iter().cloned().chain([condition]).collect();
            stack.push((child, path));
        }
    }
    places
}

/// What a model is, in a few words.
fn model_words(model: &Model, spec: &LevelSpec, plain: Plain<'_>) -> String {
    let size = model.size();
    let of = |what: &str, one: &str, many: &str| format!("a {what} {size} {}", if size == 1 { one } else { many });
    match model {
        Model::Tree(_) => of("tree of", "leaf", "leaves"),
        Model::Pairwise(_) => of("tree that compares two candidates, of", "leaf", "leaves"),
        Model::Additive(additive) => {
            let order = additive.as_linear(spec.features.len()).map(|coefficient| {
                order(&coefficient, spec, plain).unwrap_or_else(|| of("linear score of", "feature", "features"))
            });
            order.unwrap_or_else(|| of("sum of", "term", "terms"))
        }
        Model::Regime(_) => of("regime of size", "", ""),
    }
}

/// A linear score of one feature is an order, the same by its rank or ratio.
fn order(coefficient: &[f64], spec: &LevelSpec, plain: Plain<'_>) -> Option<String> {
    let mut used = coefficient.iter().enumerate().filter(|(_, c)| **c != 0.0);
    let (Some((column, coefficient)), None) = (used.next(), used.next()) else { return None };
    let first = if *coefficient > 0.0 { "largest" } else { "smallest" };
    Some(format!("the {first} {} first", plain.label(&spec.name, spec.features.get(column)?)))
}

fn guard(objective: &Figure, guard: &Guard, plain: Plain<'_>) -> GuardView {
    GuardView { sentence: plain.guard(guard), exact: guard.to_string(), evidence: evidence(objective, &guard.evidence) }
}

/// Every guard with what it brings and how often it decides, and that numbers were changed.
fn brief(student: &Student, objective: &Figure, plain: Plain<'_>) -> Vec<String> {
    let brings = |e: &Evidence| {
        let gain = e.gain.map(|gain| format!("gain {}", goal::gain(objective)(gain)));
        let fires = e.firing_rate.map(|rate| format!("changes {} of the decisions", percent(rate)));
        let known: Vec<String> = gain.into_iter().chain(fires).collect();
        if known.is_empty() { String::new() } else { format!(": {}", known.join(", ")) }
    };
    let guards = student.guards.iter().map(|g| format!("{}{}.", capital(&plain.guard(g)), brings(&g.evidence)));
    let numbers: usize = student.patches.iter().map(|patch| patch.changes.len()).sum();
    let changed = match numbers {
        0 => None,
        1 => Some("One number of the rules was changed after the fit.".to_owned()),
        n => Some(format!("{n} numbers of the rules were changed after the fit.")),
    };
    guards.chain(changed).collect()
}

fn patch(objective: &Figure, patch: &Patch) -> PatchView {
    let change = |c: &sched_distill_core::model::Change| [c.place.clone(), number(c.was), number(c.now)];
    PatchView { changes: patch.changes.iter().map(change).collect(), evidence: evidence(objective, &patch.evidence) }
}

fn evidence(objective: &Figure, e: &Evidence) -> EvidenceView {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    EvidenceView {
        reason: e.reason.clone(),
        gain: or_dash(e.gain.map(goal::gain(objective))),
        fires: or_dash(e.firing_rate.map(percent)),
    }
}

/// What every edit brings, and how often it decides; `None` if no edit has a gain.
fn gains(objective: &Figure, student: &Student) -> Result<Option<Chart>, ReportError> {
    let guards = student.guards.iter().enumerate().map(|(i, g)| (format!("guard {}, {}", i + 1, g.level), &g.evidence));
    let patches = student.patches.iter().enumerate().map(|(i, p)| {
        let numbers = if p.changes.len() == 1 { "1 number".to_owned() } else { format!("{} numbers", p.changes.len()) };
        (format!("patch {}, {numbers}", i + 1), &p.evidence)
    });
    let edits: Vec<(String, &Evidence)> = guards.chain(patches).collect();
    if edits.iter().all(|(_, e)| e.gain.is_none()) {
        return Ok(None);
    }
    let exact = |value: f64| Cell::Dot(Estimate { value, low: value, high: value });
    let cell = |value: Option<f64>| value.map_or_else(|| Cell::Words("not measured".into()), exact);
    let rows: Vec<Row> = edits
        .iter()
        .map(|(label, e)| Row::Item {
            label: label.clone(),
            colour: BLUE,
            cells: vec![cell(e.gain), cell(e.firing_rate)],
        })
        .collect();
    let gain_text = goal::gain(objective);
    let panel = |title: &str, axis: &str, reference, write, tick| Panel {
        title: title.into(),
        axis: axis.into(),
        range: (0.0, 0.01),
        reference,
        write,
        tick,
    };
    let panels = [
        panel(
            "Gain",
            &format!("{} (more is better)", goal::gained(objective)),
            Some(0.0),
            gain_text,
            goal::gain_tick(objective),
        ),
        panel("Fires", "share of decisions that it changes", None, percent, |share| {
            format!("{}\u{a0}%", number(100.0 * share))
        }),
    ];
    let said = edits.iter().map(|(label, e)| format!("{label}: {}. ", e.gain.map_or("not measured".into(), gain_text)));
    let title = "What every edit brings".to_owned();
    let pictures = dot_chart::draw("edits", &title, &said.collect::<String>(), &panels, &rows)?;
    let data: Vec<_> =
        edits.iter().map(|(label, e)| json!({"edit": label, "gain": e.gain, "firing_rate": e.firing_rate})).collect();
    Ok(Some(pictures.chart("edits", title, data.into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::{
        level::{Control, FeatureSpec, Scope, Words},
        model::Additive,
    };

    fn spec() -> LevelSpec {
        let feature = |name: &str, unit: &str, scope| FeatureSpec {
            name: name.into(),
            unit: unit.into(),
            meaning: String::new(),
            scope,
            version: 1,
            whole: false,
            control: Control::Declared,
        };
        let features = vec![
            feature("age", "ms", Scope::Absolute),
            feature("is_source", "0/1", Scope::Absolute),
            feature("work_rank", "1", Scope::Rank),
        ];
        LevelSpec {
            name: "job".into(),
            question: String::new(),
            candidates: String::new(),
            entities: vec!["job".into()],
            features,
        }
    }

    #[test]
    fn regimes_say_where_each_model_schedules() {
        let linear = |coefficient: [f64; 3]| Model::Additive(Additive::linear(&coefficient, &[1.0; 3]));
        let regime = Regime::split(0, 60e3, linear([0.0, 0.0, -1.0]), linear([1.0, 0.0, 2.0]));
        let words = Words::default();
        let plain = Plain { words: &words, features: sched_distill_dag::feature::feature_set() };
        let found = places(&regime, &spec(), plain);
        let found: Vec<(&str, String)> =
            found.iter().map(|(at, model)| (&at[..], model_words(&regime.models[*model], &spec(), plain))).collect();
        let expected =
            [("age ≤ 60\u{a0}s", "the smallest work first"), ("age > 60\u{a0}s", "a linear score of 2 features")];
        assert_eq!(found, expected.map(|(place, words)| (place, words.to_owned())));
    }
}
