//! The page: sections in the order of a reader's questions, put into the template with everything escaped.

use super::{
    Report, ReportError, ReportParams, augmented, closest,
    decision::{self, DecisionView, embedded},
    departures, fidelity, first_screen, gaming, history, holds_up, lead, likeness, live, matters, model_card, rules,
    run_dir::RunDir,
    scorecard, size_front, students, summary, to_data, what_if,
    words::count,
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use minijinja::{AutoEscape, Environment, Value, escape_formatter, syntax::SyntaxConfig, value::Serde};
use sched_distill_core::{model::Student, text::printable};
use sched_distill_pipeline::RunInfo;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

const STYLE: &str = include_str!("../assets/page/page.css");
const SCRIPT: &str = concat!(
    include_str!("../assets/page/page.js"),
    include_str!("../assets/page/dom.js"),
    include_str!("../assets/page/evaluate.js"),
    include_str!("../assets/page/what_if.js"),
    include_str!("../assets/page/what_if_rules.js"),
    include_str!("../assets/page/decision.js")
);

/// The page and its sections, one file each.
const TEMPLATES: [(&str, &str); 21] = [
    ("macros.html", include_str!("../assets/page/macros.html")),
    ("page.html", include_str!("../assets/page/page.html")),
    ("first_screen.html", include_str!("../assets/page/first_screen.html")),
    ("deploy.html", include_str!("../assets/page/deploy.html")),
    ("students.html", include_str!("../assets/page/students.html")),
    ("summary.html", include_str!("../assets/page/summary.html")),
    ("trust.html", include_str!("../assets/page/trust.html")),
    ("rules.html", include_str!("../assets/page/rules.html")),
    ("scorecard.html", include_str!("../assets/page/scorecard.html")),
    ("matters.html", include_str!("../assets/page/matters.html")),
    ("size_front.html", include_str!("../assets/page/size_front.html")),
    ("departures.html", include_str!("../assets/page/departures.html")),
    ("decision.html", include_str!("../assets/page/decision.html")),
    ("one_decision.html", include_str!("../assets/page/one_decision.html")),
    ("likeness.html", include_str!("../assets/page/likeness.html")),
    ("holds_up.html", include_str!("../assets/page/holds_up.html")),
    ("history.html", include_str!("../assets/page/history.html")),
    ("live.html", include_str!("../assets/page/live.html")),
    ("gaming.html", include_str!("../assets/page/gaming.html")),
    ("augmented.html", include_str!("../assets/page/augmented.html")),
    ("made.html", include_str!("../assets/page/made.html")),
];

/// Everything that the template shows. Charts bring their SVG, the only markup that enters the page unescaped: it is ours, and
/// every text in it was escaped when it was drawn.
#[derive(Serialize)]
struct Page<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    run: &'a RunInfo,
    /// Per split: name, episodes, decisions.
    splits: Vec<[String; 3]>,
    first_screen: &'a first_screen::Section,
    students: Option<&'a students::Section>,
    leads: lead::Leads,
    what_was_run: String,
    summary: Vec<summary::Sentence>,
    fidelity: &'a [fidelity::Section],
    levels: &'a [rules::Section],
    kinds: rules::Kinds,
    /// By kind of choice what completes "when ...".
    kind_words: BTreeMap<&'a str, &'a str>,
    stakes: Option<&'a matters::stakes::Section>,
    matters: &'a [matters::Section],
    gradients: Option<&'a matters::gradients::Section>,
    decisions: Option<&'a decision::Section>,
    what_if: Option<&'a what_if::Section>,
    likeness: Option<&'a likeness::Section>,
    front: Option<&'a size_front::Section>,
    departures: &'a departures::Section,
    holds_up: &'a holds_up::Section,
    gaming: &'a gaming::Section,
    history: Option<&'a history::Section>,
    live: Option<&'a live::Section>,
    augmented: &'a augmented::Section,
    scenario: &'a str,
    feature_set_hash: &'a str,
    /// What the student says of its making: (name, value).
    provenance: Vec<(String, String)>,
}

/// Draws all charts and fills the template.
///
/// # Errors
///
/// [`ReportError::Chart`], [`ReportError::Page`], or [`ReportError::Invalid`] if the student's levels do not fit its features.
pub(super) fn compose(run: &RunDir, params: &ReportParams) -> Result<Report, ReportError> {
    let specs = &run.student.feature_set.levels;
    let rows = &run.evaluation.fidelity;
    let (mut levels, mut matters) = (Vec::new(), Vec::new());
    let level_slugs = slugs(specs.iter().map(|l| l.name.as_str()));
    let explained = run.explanation.as_ref().map_or(&[][..], |e| &e.levels);
    for ((index, spec), slug) in specs.iter().enumerate().zip(&level_slugs) {
        let explained = explained.iter().find(|l| l.level == spec.name);
        if let Some(models) = run.student.level(&spec.name) {
            let recorded = run.what_if.as_ref().and_then(|w| w.levels.iter().find(|l| l.level == spec.name));
            let known = scorecard::Known { plain: run.plain(), recorded, explained };
            levels.push(rules::section(models, spec, index, slug, known)?);
        }
        if let Some(explained) = explained {
            let settled = run.plain().settled_alone(&spec.name, rows);
            matters.push(matters::section(explained, spec, slug, settled, run.plain())?);
        }
    }
    let stakes = matters::stakes::section(run);
    let gradients = run.explanation.as_ref().and_then(|e| e.gradients.as_ref());
    let gradients = gradients.map(matters::gradients::section).transpose()?;
    let slug_of =
        |level: &str| specs.iter().position(|l| l.name == level).map_or(String::new(), |i| level_slugs[i].clone());
    let likeness = likeness::section(explained, &run.evaluation.fidelity, run.plain(), slug_of)?;
    let decisions =
        run.decisions.as_ref().map(|d| decision::section(d, &run.student, run.plain())).transpose()?.flatten();
    let what_if = run.what_if.as_ref().map(|w| what_if::section(w, &run.student, run.plain())).transpose()?.flatten();
    let fidelity = fidelity::sections(rows, &slugs(closest::levels(rows).into_iter()), run.plain())?;
    let front = size_front::section(run)?;
    let departures = departures::section(&run.evaluation, run.plain())?;
    let holds_up = holds_up::section(run)?;
    let gaming = gaming::section(run)?;
    let history = history::section(run)?;
    let live = live::section(run)?;
    let augmented = augmented::section(run)?;
    let (first_screen, verdict) = first_screen::section(run, &params.gates, students::advice(run, &params.gates))?;
    let students = students::section(run, &params.gates)?;
    let page = Page {
        policy: policy(),
        style: STYLE,
        script: SCRIPT,
        run: &run.info,
        splits: run.info.splits.iter().map(|s| [s.split.clone(), count(s.episodes), count(s.decisions)]).collect(),
        first_screen: &first_screen,
        students: students.as_ref(),
        leads: lead::leads(run),
        what_was_run: summary::what_was_run(run),
        summary: summary::sentences(run, &levels),
        fidelity: &fidelity,
        levels: &levels,
        kinds: rules::Kinds::of(&levels, &run.student),
        kind_words: run.info.words.kinds.iter().map(|k| (k.kind.as_str(), k.when.as_str())).collect(),
        stakes: stakes.as_ref(),
        matters: &matters,
        gradients: gradients.as_ref(),
        decisions: decisions.as_ref(),
        what_if: what_if.as_ref(),
        likeness: likeness.as_ref(),
        front: front.as_ref(),
        departures: &departures,
        holds_up: &holds_up,
        gaming: &gaming,
        history: history.as_ref(),
        live: live.as_ref(),
        augmented: &augmented,
        scenario: &run.student.feature_set.scenario,
        feature_set_hash: &run.student.feature_set_hash,
        provenance: provenance(&run.student)?,
    };
    let html = render(&page).map_err(|e| ReportError::Page { source: Box::new(e) })?;
    let card = model_card::card(run, &verdict.text, &page.what_was_run, &page.summary, &holds_up.support.sentence);

    let (first_departures, departures) = departures.into_parts();
    let linear = levels.iter().flat_map(|l| &l.linear).map(|l| (l.table.file.clone(), l.table.data.clone()));
    let cards = levels.iter().flat_map(|l| &l.cards).map(|c| (c.card.file.clone(), c.card.data.clone()));
    let tables = departures.into_iter().chain(cards).chain(linear);
    let tables = tables.chain([holds_up.table()]);
    let tables = tables.chain(decisions.map(|d| ("decisions".to_owned(), d.data))).collect();
    let charts = first_screen
        .picture
        .into_iter()
        .chain(history.into_iter().flat_map(history::Section::into_charts))
        .chain(live.into_iter().flat_map(live::Section::into_charts))
        .chain(students.map(|s| s.chart))
        .chain(fidelity.into_iter().filter_map(|f| f.chart))
        .chain(front.into_iter().flat_map(size_front::Section::into_charts))
        .chain(first_departures)
        .chain(levels.into_iter().flat_map(|l| l.trees).flat_map(|t| t.pieces.into_iter().map(|p| p.chart)))
        .chain(matters.into_iter().flat_map(|m| [m.weights, m.points, m.effects]).flatten())
        .chain(gradients.map(|g| g.chart))
        .chain(likeness.into_iter().flat_map(|l| l.levels).filter_map(|l| l.chart))
        .chain(holds_up.into_charts())
        .chain(gaming.into_charts())
        .chain(augmented.into_charts())
        .collect();
    Ok(Report { html, card, charts, verdict, tables })
}

fn render(page: &Page<'_>) -> Result<String, minijinja::Error> {
    environment()?.get_template("page.html")?.render(Serde(page))
}

/// A page for one decision.
///
/// # Errors
///
/// [`ReportError::Page`] if it cannot be put together.
pub fn decision_page(decision: &DecisionView) -> Result<String, ReportError> {
    let data = to_data("decision", &[decision])?;
    render_decision(decision, &embedded(&data.to_string())).map_err(|e| ReportError::Page { source: Box::new(e) })
}

/// The page of one decision, whose data are `json`.
fn render_decision(decision: &DecisionView, json: &str) -> Result<String, minijinja::Error> {
    let page =
        minijinja::context! { policy => policy(), style => STYLE, script => SCRIPT, decision => Serde(decision), json };
    environment()?.get_template("one_decision.html")?.render(page)
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    // Names come from files that anybody may have made. What is safe was made here.
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(printable(text))),
        _ => escape_formatter(out, state, value),
    });
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    Ok(environment)
}

/// What a browser lets a page do: run the one script that is in it, and nothing else. Style attributes hold the lengths of
/// bars. Nothing is loaded and nothing is sent.
fn policy() -> String {
    // The template puts an end of line before the script.
    let hash = BASE64_STANDARD.encode(Sha256::new().chain_update("\n").chain_update(SCRIPT).finalize());
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
}

/// What the student says of its making, as (name, value) in the order of the names. Lists are left to the student file.
fn provenance(student: &Student) -> Result<Vec<(String, String)>, ReportError> {
    let value = super::to_data("provenance", &student.provenance)?;
    let entries = value.as_object().into_iter().flatten();
    Ok(entries
        // Figures at fit time are superseded by the evaluation's.
        .filter(|(name, value)| !value.is_array() && name.as_str() != "fidelity")
        .map(|(name, value)| {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (format!("Student: {}", name.replace('_', " ")), shown)
        })
        .collect())
}

/// File names for levels: lower-case letters, digits and hyphens, no two alike, whatever the levels are called.
fn slugs<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    names
        .map(|name| {
            let plain = |c: char| {
                if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }
            };
            let base: String = name.chars().take(40).map(plain).collect();
            let base = match base.trim_matches('-') {
                "" => "level",
                base => base,
            };
            let mut slug = base.to_owned();
            let mut n = 2;
            while !taken.insert(slug.clone()) {
                slug = format!("{base}-{n}");
                n += 1;
            }
            slug
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::slugs;

    #[test]
    fn file_names_are_tame_and_distinct() {
        let names = ["job", "../../etc/passwd", "Job", "", "…"];
        assert_eq!(slugs(names.into_iter()), ["job", "etc-passwd", "job-2", "level", "level-2"]);
    }
}
