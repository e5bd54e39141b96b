//! Would other episodes give the same rules? Fits on other draws of the training episodes against the student.

use crate::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    plain::Plain,
    run_dir::RunDir,
    svg::{BLUE, Chart},
    to_data,
    words::{count, list, percent},
};
use sched_distill_explain::{Extent, LevelStability};
use sched_distill_judge::evaluator::Estimate;
use sched_distill_learn::Refit;
use serde::Serialize;

/// What the page shows.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// Why the student cannot be fitted again; `None` if it can.
    refused: Option<String>,
    measured: Option<Measured>,
}

#[derive(Debug, Serialize)]
struct Measured {
    /// Whether it is of the student without the edits that it has.
    before_edits: bool,
    fits: usize,
    episodes: String,
    sentences: Vec<String>,
    rows: Vec<TableRow>,
    families: Vec<FamilyRow>,
    /// `None` if all fits always agree.
    chart: Option<Chart>,
}

#[derive(Debug, Serialize)]
struct TableRow {
    level: String,
    kind: String,
    choices: String,
    /// Means with the least and the largest.
    student: (String, String),
    pairs: (String, String),
}

#[derive(Debug, Serialize)]
struct FamilyRow {
    level: String,
    name: String,
    student: bool,
    used: String,
    root: Option<String>,
}

/// Draws and words what an explanation says of other fits.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn section(run: &RunDir) -> Result<Section, ReportError> {
    let levels = run.explanation.as_ref().map_or(&[][..], |e| &e.stability);
    let refused = Refit::of(&run.student).err().map(|why| why.to_string());
    let of_fit = refused.is_some();
    let measured = levels.first().map(|first| measured(levels, (first, of_fit), run.plain())).transpose()?;
    Ok(Section { refused, measured })
}

impl Section {
    pub(super) fn into_chart(self) -> Option<Chart> {
        self.measured.and_then(|m| m.chart)
    }
}

fn measured(
    levels: &[LevelStability],
    (first, before_edits): (&LevelStability, bool),
    plain: Plain<'_>,
) -> Result<Measured, ReportError> {
    let rows = levels.iter().flat_map(|level| {
        level.agreement.iter().map(|k| TableRow {
            level: level.level.clone(),
            kind: k.kind.clone(),
            choices: count(k.choices as u64),
            student: shown(&k.student),
            pairs: shown(&k.pairs),
        })
    });
    let families = levels.iter().flat_map(|level| {
        level.families.iter().map(|f| FamilyRow {
            level: level.level.clone(),
            name: plain.level(&level.level).noun(&f.name),
            student: f.student,
            used: whole(f.used),
            root: f.root.map(whole),
        })
    });
    Ok(Measured {
        before_edits,
        fits: first.sizes.len(),
        episodes: count(first.episodes as u64),
        sentences: levels.iter().map(|level| sentence(level, plain)).collect(),
        rows: rows.collect(),
        families: families.collect(),
        chart: match levels.iter().flat_map(|l| &l.agreement).all(|k| k.student.least == 1.0 && k.pairs.least == 1.0) {
            true => None,
            false => Some(chart(levels)?),
        },
    })
}

fn shown(e: &Extent) -> (String, String) {
    let hundredfold = |share: f64| format!("{:.1}", 100.0 * share);
    (hundredfold(e.mean), format!("{} to {}", hundredfold(e.least), hundredfold(e.largest)))
}

/// `Level job: the other fits take the student's candidate in 93.1 % of choices on average, in 90.2 % at least; ...`
fn sentence(level: &LevelStability, plain: Plain<'_>) -> String {
    let agreement = level.agreement.last().map_or(String::new(), |all| {
        format!(
            "the other fits take the student's candidate in {} of choices on average, at worst in {}",
            percent(all.student.mean),
            percent(all.student.least)
        )
    });
    let size = |of: Option<&usize>| of.map_or(String::new(), |&n| count(n as u64));
    let (least, most) = (size(level.sizes.iter().min()), size(level.sizes.iter().max()));
    let range = if least == most { least } else { format!("{least} to {most}") };
    let sizes = format!("their size is {range}, the student's {}", count(level.size as u64));
    let quoted = |f: &sched_distill_explain::FamilyStability| plain.level(&level.level).noun(&f.name);
    let always: Vec<String> =
        level.families.iter().filter(|f| f.student && f.used >= 1.0 && level.families.len() > 1).map(quoted).collect();
    let seldom: Vec<String> = level.families.iter().filter(|f| f.student && f.used <= 0.5).map(quoted).collect();
    let mut text = format!("Level {}: {agreement}; {sizes}.", level.level);
    if !always.is_empty() && always.len() < level.families.len() {
        text += &format!(" All of them go by {}.", list(&always));
    }
    if !seldom.is_empty() {
        text += &format!(" Half of them or fewer go by {}, which the student goes by.", list(&seldom));
    }
    text
}

fn chart(levels: &[LevelStability]) -> Result<Chart, ReportError> {
    let dot = |e: &Extent| Cell::Dot(Estimate { value: e.mean, low: e.least, high: e.largest });
    let mut lines = Vec::new();
    let mut description = String::new();
    for level in levels {
        lines.push(Row::Heading(format!("level {} ({})", level.level, level.model)));
        for k in &level.agreement {
            description += &format!("{}, {}: {}. ", level.level, k.kind, percent(k.student.mean));
            let cells = vec![dot(&k.student), dot(&k.pairs)];
            lines.push(Row::Item { label: format!("{} choices", k.kind), colour: BLUE, cells });
        }
    }
    let panel = |title: &str| Panel {
        title: title.into(),
        axis: "share of choices".into(),
        range: (0.5, 1.0),
        reference: None,
        write: percent,
        tick: whole,
    };
    let panels = [panel("Agree with the student"), panel("Agree with each other")];
    let title = "Rules from other draws of the training episodes".to_owned();
    let pictures = draw("stability", &title, &description, &panels, &lines)?;
    Ok(pictures.chart("stability", title, to_data("stability", levels)?))
}

fn whole(share: f64) -> String {
    format!("{:.0}\u{a0}%", share * 100.0)
}
