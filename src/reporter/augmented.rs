//! The augmented policy: guards, patches and regimes in words, what each brings, and the search that found them.

use super::dot_chart::{self, Cell, Panel, Row};
use super::line_chart::{ABOVE, Area, Axis, BELOW, BESIDE, Key, Mark, Plot, Series, draw, legend};
use super::run_dir::RunDir;
use super::svg::{self, BLUE, Chart, GREY, ORANGE, frame};
use super::tree::children;
use super::words::{self, count, list, number, percent};
use super::{ReportError, to_data};
use crate::augment::Step;
use crate::evaluator::Estimate;
use crate::level::{FeatureSpec, LevelSpec, Scope};
use crate::model::{
    Action, Condition, Evidence, Guard, Linear, Model, Operator, Patch, Regime, ScoreCandidates, Structure, Student,
};
use serde::Serialize;
use serde_json::json;

const WIDTH: f64 = 900.0;
/// A 95 % interval is this many standard errors to either side.
const NORMAL_95: f64 = 1.96;

/// Everything that the section shows.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// Whether job and stage are asked at once.
    flat: bool,
    regimes: Vec<RegimeView>,
    guards: Vec<GuardView>,
    patches: Vec<PatchView>,
    gains: Option<Chart>,
    search: Option<SearchView>,
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
    /// For readers, e.g. `a job comes first if age > 5 min`.
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

/// The search.
#[derive(Debug, Serialize)]
struct SearchView {
    tried: usize,
    kept: usize,
    /// What the kept steps take away together.
    together: String,
    episodes: String,
    /// What, gain on training, gain on validation with its interval, kept, episodes spent.
    rows: Vec<SearchRow>,
    chart: Chart,
}

#[derive(Debug, Serialize)]
struct SearchRow {
    what: String,
    train: String,
    gain: (String, String),
    kept: bool,
    spent: String,
}

/// Words and draws a student's edits, and the search for them if the run has it.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(run: &RunDir) -> Result<Section, ReportError> {
    let student = &run.student;
    let guards = student.guards.iter().map(|g| guard(g, student.feature_set.level(&g.level)));
    Ok(Section {
        flat: student.structure == Structure::Flat,
        regimes: regimes(student),
        guards: guards.collect(),
        patches: student.patches.iter().map(patch).collect(),
        gains: gains(student)?,
        search: run.steps.as_deref().filter(|s| !s.is_empty()).map(search).transpose()?,
    })
}

impl Section {
    /// The charts in the page's order.
    pub(super) fn into_charts(self) -> impl Iterator<Item = Chart> {
        [self.gains, self.search.map(|s| s.chart)].into_iter().flatten()
    }
}

fn regimes(student: &Student) -> Vec<RegimeView> {
    let levels = student.levels.iter().filter_map(|models| {
        let Model::Regime(regime) = &models.scheduler().model else { return None };
        let spec = student.feature_set.level(&models.level)?;
        Some(RegimeView { level: models.level.clone(), parts: parts(regime, spec) })
    });
    levels.collect()
}

/// The leaves of a regime's tree from left to right: where, and which model.
fn parts(regime: &Regime, spec: &LevelSpec) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    let mut stack = vec![(0, Vec::new())];
    while let Some((node, path)) = stack.pop() {
        let Some([left, right]) = children(&regime.tree, node) else {
            let place = if path.is_empty() { "always".to_owned() } else { list(&path) };
            let model = regime.models.get(regime.tree.value[node] as usize);
            parts.push((place, model.map_or(String::new(), |m| model_words(m, spec))));
            continue;
        };
        let test = words::test(&spec.features[regime.tree.feature[node] as usize], regime.tree.threshold[node]);
        for (child, condition) in [(right, test.right), (left, test.left)] {
            let path = path.iter().cloned().chain([condition]).collect();
            stack.push((child, path));
        }
    }
    parts
}

/// What a model is, in a few words.
fn model_words(model: &Model, spec: &LevelSpec) -> String {
    let size = model.size();
    let of = |what: &str, one: &str, many: &str| format!("a {what} {size} {}", if size == 1 { one } else { many });
    match model {
        Model::Tree(_) => of("tree of", "leaf", "leaves"),
        Model::Pairwise(_) => of("tree that compares two candidates, of", "leaf", "leaves"),
        Model::Linear(linear) => order(linear, spec).unwrap_or_else(|| of("linear score of", "feature", "features")),
        Model::ChoiceLogit(_) => of("choice model of", "coefficient", "coefficients"),
        Model::SplineLogit(_) => of("choice model of", "term", "terms"),
        Model::Regime(_) => of("regime of size", "", ""),
    }
}

/// A linear score of one feature is an order.
fn order(linear: &Linear, spec: &LevelSpec) -> Option<String> {
    let mut used = linear.coefficient.iter().enumerate().filter(|(_, c)| **c != 0.0);
    let (Some((column, coefficient)), None) = (used.next(), used.next()) else { return None };
    let first = if *coefficient > 0.0 { "largest" } else { "smallest" };
    Some(format!("the {first} {} first", spec.features.get(column)?.name.replace('_', " ")))
}

fn guard(guard: &Guard, spec: Option<&LevelSpec>) -> GuardView {
    let who = spec.and_then(|s| s.entities.last()).map_or(guard.level.as_str(), String::as_str);
    let article = if who.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let does = match guard.action {
        Action::First => "comes first",
        Action::Last => "comes last",
        Action::Never => "is never taken while there is another",
    };
    let conditions: Vec<String> = guard.when.iter().map(|c| condition(c, spec)).collect();
    GuardView {
        sentence: format!("{article} {who} {does} if {}", list(&conditions)),
        exact: guard.to_string(),
        evidence: evidence(&guard.evidence),
    }
}

/// A guard's condition in words.
fn condition(c: &Condition, spec: Option<&LevelSpec>) -> String {
    let Some(feature) = spec.and_then(|s| s.features.iter().find(|f| f.name == c.feature)) else {
        return format!("{} {} {}", c.feature, c.operator.symbol(), c.value);
    };
    let whole = feature.unit == "0/1" || feature.scope == Scope::Rank;
    match c.operator {
        Operator::AtMost => words::test(feature, c.value).left,
        Operator::Above => words::test(feature, c.value).right,
        // Flags and ranks are whole numbers: at least 1 is above 0.5.
        Operator::Below if whole => words::test(feature, c.value.ceil() - 0.5).left,
        Operator::AtLeast if whole => words::test(feature, c.value.ceil() - 0.5).right,
        Operator::Below => format!("{} < {}", words::label(feature), bound(feature, c.value)),
        Operator::AtLeast => format!("{} ≥ {}", words::label(feature), bound(feature, c.value)),
    }
}

fn bound(feature: &FeatureSpec, value: f32) -> String {
    match feature.scope {
        Scope::Ratio => format!("{} × the smallest", number(f64::from(value))),
        _ => words::quantity(f64::from(value), feature),
    }
}

fn patch(patch: &Patch) -> PatchView {
    let change = |c: &crate::model::Change| [c.place.clone(), number(c.was), number(c.now)];
    PatchView { changes: patch.changes.iter().map(change).collect(), evidence: evidence(&patch.evidence) }
}

fn evidence(e: &Evidence) -> EvidenceView {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    EvidenceView {
        reason: e.reason.clone(),
        gain: or_dash(e.gain.map(gain_text)),
        fires: or_dash(e.firing_rate.map(percent)),
    }
}

/// A gain as a percentage with its sign.
fn gain_text(gain: f64) -> String {
    format!("{:+.2}\u{a0}%", 100.0 * gain).replace('-', "\u{2212}")
}

/// What every edit brings, and how often it decides; `None` if no edit has a gain.
fn gains(student: &Student) -> Result<Option<Chart>, ReportError> {
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
    let panel = |title: &str, axis: &str, reference, write| Panel {
        title: title.into(),
        axis: axis.into(),
        range: (0.0, 0.01),
        reference,
        write,
        tick: |share| format!("{}\u{a0}%", number(100.0 * share)),
    };
    let panels = [
        panel("Gain", "of the mean completion time (more is better)", Some(0.0), gain_text as fn(f64) -> String),
        panel("Fires", "share of decisions that it changes", None, percent),
    ];
    let said = edits.iter().map(|(label, e)| format!("{label}: {}. ", e.gain.map_or("not measured".into(), gain_text)));
    let title = "What every edit brings".to_owned();
    let (svg, width) = dot_chart::draw("edits", &title, &said.collect::<String>(), &panels, &rows)?;
    let data: Vec<_> =
        edits.iter().map(|(label, e)| json!({"edit": label, "gain": e.gain, "firing_rate": e.firing_rate})).collect();
    Ok(Some(Chart { name: "edits".into(), title, svg, width, data: data.into() }))
}

/// Share of the completion time that all kept steps up to each one take away together.
fn together(steps: &[Step]) -> Vec<f64> {
    let left = steps.iter().scan(1.0, |left, s| {
        *left *= if s.kept { 1.0 - s.validation_gain } else { 1.0 };
        Some(1.0 - *left)
    });
    left.collect()
}

fn interval(step: &Step) -> (f64, f64) {
    let half = NORMAL_95 * step.standard_error;
    (step.validation_gain - half, step.validation_gain + half)
}

fn search(steps: &[Step]) -> Result<SearchView, ReportError> {
    let row = |s: &Step| SearchRow {
        what: s.what.clone(),
        train: s.train_gain.map_or("–".into(), gain_text),
        gain: (gain_text(s.validation_gain), format!("{} to {}", gain_text(interval(s).0), gain_text(interval(s).1))),
        kept: s.kept,
        spent: count(s.spent),
    };
    Ok(SearchView {
        tried: steps.len(),
        kept: steps.iter().filter(|s| s.kept).count(),
        together: together(steps).last().copied().map_or(String::new(), gain_text),
        episodes: steps.last().map_or(String::new(), |s| count(s.spent)),
        rows: steps.iter().map(row).collect(),
        chart: search_chart(steps)?,
    })
}

fn search_chart(steps: &[Step]) -> Result<Chart, ReportError> {
    svg::register_fonts()?;
    let last = steps.iter().map(|s| s.spent).max().unwrap_or(1) as f64;
    let tries = |kept: bool, label: &str, colour, mark| {
        let of = || steps.iter().filter(move |s| s.kept == kept);
        Series {
            label: label.to_owned(),
            colour,
            dash: None,
            mark,
            points: of().map(|s| (s.spent as f64, s.validation_gain)).collect(),
            whiskers: of().map(interval).collect(),
        }
    };
    let tried = vec![tries(false, "not kept", GREY, Mark::Ring), tries(true, "kept", BLUE, Mark::Dot)];
    let sums = together(steps);
    let mut climb = vec![(0.0, 0.0)];
    for (step, &sum) in steps.iter().zip(&sums) {
        let at = step.spent as f64;
        climb.extend([(at, climb.last().map_or(0.0, |p| p.1)), (at, sum)]);
    }
    climb.push((last, sums.last().copied().unwrap_or(0.0)));
    let line = Series {
        label: "all kept steps together".into(),
        colour: ORANGE,
        dash: Some(""),
        mark: Mark::None,
        points: climb,
        whiskers: Vec::new(),
    };
    let keys = [Key::Series(&line), Key::Series(&tried[1]), Key::Series(&tried[0])];
    let (mut body, below) = legend(&keys, (BESIDE + 10.0, 6.0), WIDTH - 20.0);
    let extent = |values: &mut dyn Iterator<Item = (f64, f64)>| {
        let (low, high) = values.fold((0.0_f64, 0.01_f64), |(a, b), (low, high)| (a.min(low), b.max(high)));
        (low - 0.03 * (high - low), high + 0.03 * (high - low))
    };
    let upper = extent(&mut sums.iter().map(|&s| (s, s)));
    let lower = extent(&mut steps.iter().map(interval));
    let mut top = below;
    for (title, words, range, series) in [
        (
            "Completion time taken away so far",
            "of the mean completion time of the student to begin with",
            upper,
            vec![line.clone()],
        ),
        ("Each try", "gain over the student at that time, on validation episodes", lower, tried.clone()),
    ] {
        let area = Area { left: BESIDE + 10.0, top: top + ABOVE, width: WIDTH - BESIDE - 40.0, height: 170.0 };
        let plot = Plot {
            series,
            level: Some(0.0),
            ..Plot::new(
                title.to_owned(),
                Axis::linear("episodes run so far", (0.0, last), 8, number),
                Axis::linear(words, range, 6, |share| format!("{}\u{a0}%", number(100.0 * share))),
            )
        };
        body += &draw(&plot, &area);
        top = area.bottom() + BELOW;
    }
    let title = "The search, step by step".to_owned();
    let kept = steps.iter().filter(|s| s.kept).map(|s| format!("{}: {}. ", s.what, gain_text(s.validation_gain)));
    let description = format!("Of {} tries these were kept: {}", steps.len(), kept.collect::<String>());
    let size = (WIDTH as u32, top.ceil() as u32);
    let svg = frame("search", "img", size, &title, &description, &body);
    let data = json!({"steps": to_data("search", steps)?, "together": sums});
    Ok(Chart { name: "search".into(), title, svg, width: size.0, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> LevelSpec {
        let feature = |name: &str, unit: &str, scope| FeatureSpec {
            name: name.into(),
            unit: unit.into(),
            meaning: String::new(),
            scope,
            version: 1,
        };
        let features = vec![
            feature("age", "ms", Scope::Absolute),
            feature("is_source", "0/1", Scope::Absolute),
            feature("work_rank", "1", Scope::Rank),
        ];
        LevelSpec { name: "job".into(), question: String::new(), entities: vec!["job".into()], features }
    }

    #[test]
    fn guards_are_sentences() {
        let when = |feature: &str, operator, value| Condition { feature: feature.into(), operator, value };
        let said = |when: Vec<Condition>, action| {
            guard(&Guard { level: "job".into(), when, action, evidence: Evidence::default() }, Some(&spec())).sentence
        };
        let old = when("age", Operator::AtLeast, 300e3);
        assert_eq!(said(vec![old.clone()], Action::First), "a job comes first if age ≥ 5\u{a0}min");
        let both = vec![old, when("is_source", Operator::Below, 1.0)];
        assert_eq!(said(both, Action::Last), "a job comes last if age ≥ 5\u{a0}min and is source: no");
        let rank = vec![when("work_rank", Operator::AtLeast, 3.0)];
        assert_eq!(
            said(rank, Action::Never),
            "a job is never taken while there is another if work: not among the 3 smallest"
        );
    }

    #[test]
    fn regimes_say_where_each_model_schedules() {
        let linear = |coefficient: [f64; 3]| {
            Model::Linear(Linear { coefficient: coefficient.into(), intercept: 0.0, feature_sd: vec![1.0; 3] })
        };
        let regime = Regime::split(0, 60e3, linear([0.0, 0.0, -1.0]), linear([1.0, 0.0, 2.0]));
        let expected =
            [("age ≤ 60\u{a0}s", "the smallest work rank first"), ("age > 60\u{a0}s", "a linear score of 2 features")];
        assert_eq!(parts(&regime, &spec()), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn kept_gains_multiply() {
        let step = |validation_gain, kept| Step {
            what: String::new(),
            train_gain: None,
            validation_gain,
            standard_error: 0.0,
            kept,
            spent: 1,
        };
        let sums = together(&[step(0.5, true), step(0.9, false), step(0.2, true)]);
        assert!((sums[0] - 0.5).abs() < 1e-12 && (sums[1] - 0.5).abs() < 1e-12 && (sums[2] - 0.6).abs() < 1e-12);
    }
}
