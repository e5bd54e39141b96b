//! A sum of terms as a scorecard: a row per quantity with a small curve of points; who has most points in all is taken.
//!
//! Points are scores on a scale that can be read: so many more make a candidate twice as likely by the model's own
//! probabilities. Rows are the model's terms put together, nothing left out: the points of all rows differ between two
//! candidates exactly as their scores do.

mod curve;
mod phrase;
mod row;
mod typical;
mod unit;

use super::plain::Plain;
use phrase::Phrases;
use row::{Case, Line, Row};
use sched_distill_core::{
    level::{FLAG, LevelSpec},
    model::{Additive, Factor, NamedModel, Term},
};
use sched_distill_explain::{LevelExplanation, WhatIfLevel};
use serde::Serialize;
use serde_json::{Value, json};
use typical::Typical;

/// Rows that are shown at once; weaker ones are folded.
const SHOWN: usize = 8;

/// What is known of a level beside its model.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) plain: Plain<'a>,
    pub(super) recorded: Option<&'a WhatIfLevel>,
    pub(super) explained: Option<&'a LevelExplanation>,
}

/// A scorecard for the page.
#[derive(Debug, Serialize)]
pub(super) struct Scorecard {
    /// File stem in `data/`.
    pub(super) file: String,
    /// What a candidate is, with its article.
    candidate: String,
    /// Points that make a candidate twice as likely.
    doubling: u32,
    /// The rules in words.
    sentences: Vec<String>,
    rows: Vec<RowView>,
    /// Rows that are folded.
    weaker: Vec<RowView>,
    /// The most that one of these moves.
    weaker_span: String,
    #[serde(skip)]
    pub(super) data: Value,
}

#[derive(Debug, Serialize)]
struct RowView {
    title: String,
    /// What each curve does; its case, where there are several.
    lines: Vec<LineView>,
    /// Points between the best and the worst of usual values.
    span: String,
    /// The same in per cent of the strongest row's.
    length: String,
    svg: String,
}

#[derive(Debug, Serialize)]
struct LineView {
    /// `where work left is above 15 min`; empty if there is one curve alone.
    case: String,
    does: String,
}

impl Scorecard {
    /// The scorecard of a sum of terms, called `card-SLUG`.
    pub(super) fn new(named: &NamedModel, sum: &Additive, spec: &LevelSpec, slug: &str, known: Known<'_>) -> Self {
        let typical = Typical::new(spec, known.recorded, known.explained);
        let per_doubling = |points: f64| points / (std::f64::consts::LN_2 * named.temperature);
        let mut doubling = 10;
        let mut rows = row::rows(sum, spec, &typical, per_doubling(f64::from(doubling)));
        let strongest = rows.first().map_or(0.0, |r| r.span);
        if !(5.0..=2000.0).contains(&strongest) {
            doubling = if strongest < 5.0 { 100 } else { 1 };
            rows = row::rows(sum, spec, &typical, per_doubling(f64::from(doubling)));
        }
        let phrases = Phrases { plain: known.plain, spec };
        let largest = rows.first().map_or(0.0, |r| r.span).max(f64::MIN_POSITIVE);
        let name = format!("card-{slug}");
        let mut views: Vec<RowView> =
            rows.iter().enumerate().map(|(i, r)| view(r, &phrases, &format!("{name}-{i}"), largest)).collect();
        let weaker = if views.len() > SHOWN + 1 { views.split_off(SHOWN) } else { Vec::new() };
        let weaker_span = rows.get(views.len()).map_or(String::new(), |r| unit::points(r.span));
        let candidate = known.plain.level(&spec.name).candidate();
        let data = json!({
            "points_that_double_the_odds": doubling,
            "rows": rows.iter().map(|r| data(r, &phrases)).collect::<Vec<_>>(),
        });
        Self {
            file: name,
            candidate: format!("{} {candidate}", phrase::article(candidate)),
            doubling,
            sentences: phrases.sentences(&rows),
            rows: views,
            weaker,
            weaker_span: weaker_span.trim_start_matches('+').to_owned(),
            data,
        }
    }
}

fn view(row: &Row, phrases: &Phrases<'_>, name: &str, largest: f64) -> RowView {
    let several = row.lines.len() > 1 || matches!(row.lines[0].case, Some(Case::At(_)));
    let of = |line: &Line| LineView {
        case: match (row.other, line.case) {
            (Some(other), Some(case)) if several => phrases.case(other, case),
            _ => String::new(),
        },
        does: phrases.curve(row, line),
    };
    let lines: Vec<LineView> = row.lines.iter().map(of).collect();
    let title = phrases.title(row);
    let said: Vec<String> = lines.iter().map(|l| format!("{} {}", l.case, l.does).trim().to_owned()).collect();
    let flag = phrases.spec.features[row.feature].unit == FLAG;
    let svg = curve::draw_row(row, &phrases.unit(row), flag, name, &title, &said.join("; "));
    RowView {
        title,
        lines,
        span: unit::points(row.span).trim_start_matches('+').to_owned(),
        length: format!("{:.1}", 100.0 * row.span / largest),
        svg,
    }
}

/// The numbers of a row: terms in points, and the curves as they are drawn with the values for which each counts.
fn data(row: &Row, phrases: &Phrases<'_>) -> Value {
    let name = |column: usize| phrases.spec.features[column].name.as_str();
    let factor = |f: &Factor| {
        let mut shown = json!({"feature": name(f.feature as usize), "shape": f.shape});
        if let Some(threshold) = f.threshold {
            shown["threshold"] = threshold.into();
        }
        shown
    };
    let factors = |t: &Term| t.factors.iter().map(factor).collect::<Vec<_>>();
    let term = |t: &Term| json!({"points": t.coefficient, "factors": factors(t)});
    let case = |case: Case| match case {
        Case::At(value) => json!({"about": value}),
        Case::Is(is) => {
            json!({"above": if is { Some(0.5) } else { None }, "at_most": if is { None } else { Some(0.5) }})
        }
        Case::Within(above, at_most) => json!({"above": above, "at_most": at_most}),
    };
    let line = |l: &Line| json!({"case": l.case.map(case), "curve": l.points});
    json!({
        "row": phrases.title(row), "feature": name(row.feature), "cases_of": row.other.map(name),
        "terms": row.terms.iter().map(term).collect::<Vec<_>>(),
        "lines": row.lines.iter().map(line).collect::<Vec<_>>(),
        "points_over_usual_values": row.span,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReportError, svg::register_fonts};
    use sched_distill_core::{
        level::{Scope, Words},
        model::{Model, ScoreCandidates, Shape},
        rng::Stream,
    };
    use sched_distill_dag::feature::{feature_set, words};

    fn factor(feature: u32, shape: Shape, threshold: Option<f32>) -> Factor {
        Factor { feature, shape, threshold }
    }

    fn term(coefficient: f64, factors: &[Factor]) -> Term {
        Term { factors: factors.to_vec(), ..Term::linear(0, coefficient, 1.0) }
    }

    fn column(spec: &LevelSpec, name: &str) -> u32 {
        spec.features.iter().position(|f| f.name == name).expect("a feature of the scenario") as u32
    }

    /// Every shape alone, and products of every kind.
    fn sum(spec: &LevelSpec) -> Additive {
        let [source, work, rank, stages, held] =
            ["is_source", "remaining_work", "remaining_work_rank", "ready_stages", "held_of_fair_share"]
                .map(|name| column(spec, name));
        let above = |feature, t| factor(feature, Shape::Above, Some(t));
        let linear = |feature| factor(feature, Shape::Linear, None);
        let excess = |feature, t| factor(feature, Shape::Excess, Some(t));
        Additive {
            intercept: 3.0,
            terms: vec![
                term(9.0, &[linear(source)]),
                term(-4e-6, &[linear(work)]),
                term(4e-6, &[excess(work, 600_000.0)]),
                term(-1.5, &[above(stages, 1.5)]),
                term(-1.0, &[factor(held, Shape::Log, None)]),
                term(0.7, &[above(work, 300_000.0), linear(rank)]),
                term(0.4, &[above(work, 900_000.0), linear(rank)]),
                term(-0.3, &[linear(source), excess(rank, 2.0)]),
                term(0.2, &[linear(stages), linear(held)]),
                term(0.1, &[linear(held), above(held, 0.5)]),
                term(0.0, &[linear(held)]),
            ],
        }
    }

    fn card(sum: &Additive, temperature: f64) -> (Vec<Row>, Scorecard, LevelSpec) {
        let features = feature_set();
        let spec = features.levels[0].clone();
        let words = words();
        let named = NamedModel { name: "spline-logit".to_owned(), temperature, model: Model::Additive(sum.clone()) };
        let plain = Plain { words: &words, features };
        let known = Known { plain, recorded: None, explained: None };
        let card = Scorecard::new(&named, sum, &spec, "job", known);
        let doubling = f64::from(card.doubling);
        let typical = Typical::new(&spec, None, None);
        let rows = row::rows(sum, &spec, &typical, doubling / (std::f64::consts::LN_2 * temperature));
        (rows, card, spec)
    }

    #[test]
    fn points_differ_as_scores_do_and_so_many_make_twice_as_likely() -> Result<(), ReportError> {
        register_fonts()?;
        let spec = feature_set().levels[0].clone();
        let (sum, temperature) = (sum(&spec), 1.6);
        let (rows, card, _) = card(&sum, temperature);
        let mut stream = Stream::new(5, "scorecards");
        let width = spec.features.len();
        let candidates: Vec<Vec<f32>> = (0..40)
            .map(|_| {
                let value = |f: &sched_distill_core::level::FeatureSpec| match f.unit.as_str() {
                    FLAG => stream.below(2) as f32,
                    "ms" | "ms·tasks" => stream.uniform_in(0.0, 2e6) as f32,
                    _ => stream.below(6) as f32 * 0.5,
                };
                spec.features.iter().map(value).collect()
            })
            .collect();
        let mut scores = vec![0.0; candidates.len()];
        sum.score_choice(&candidates.concat(), width, &mut scores);
        let points: Vec<f64> = candidates.iter().map(|c| rows.iter().map(|r| r.points(c)).sum()).collect();
        for i in 1..candidates.len() {
            let odds = ((scores[i] - scores[0]) / temperature).exp();
            let told = 2f64.powf((points[i] - points[0]) / f64::from(card.doubling));
            assert!((odds.ln() - told.ln()).abs() < 1e-9, "{odds} {told}");
            assert_eq!(scores[i] > scores[i - 1], points[i] > points[i - 1]);
        }
        // The curves show these points: a line without a case, and one per case that gives any.
        for (row, candidate) in rows.iter().flat_map(|r| candidates.iter().map(move |c| (r, c))) {
            let other = row.other.map(|o| candidate[o]);
            let holds = |case: &Option<Case>| match (case, other) {
                (Some(Case::Within(above, most)), Some(v)) => {
                    above.is_none_or(|t| v > t) && most.is_none_or(|t| v <= t)
                }
                (Some(Case::Is(is)), Some(v)) => *is == (v > 0.5),
                (Some(Case::At(at)), Some(v)) => *at == v,
                _ => true,
            };
            let line = row.lines.iter().find(|l| holds(&l.case));
            if row.lines.iter().any(|l| matches!(l.case, Some(Case::At(_)))) && line.is_none() {
                continue;
            }
            let shown = line.map_or(0.0, |l| l.at(f64::from(candidate[row.feature])));
            assert!((shown - row.points(candidate)).abs() < 1e-9, "{shown} {}", row.points(candidate));
        }
        Ok(())
    }

    #[test]
    fn every_term_has_a_row_the_strongest_first() -> Result<(), ReportError> {
        register_fonts()?;
        let spec = feature_set().levels[0].clone();
        let (rows, card, _) = card(&sum(&spec), 1.0);
        assert_eq!(rows.iter().map(|r| r.terms.len()).sum::<usize>(), 10);
        assert!(rows.windows(2).all(|pair| pair[0].span >= pair[1].span));
        let of = |title: &str| {
            let all: Vec<&RowView> = card.rows.iter().chain(&card.weaker).collect();
            let found = all.iter().find(|r| r.title == title);
            let Some(row) = found else { panic!("{title}: {:?}", all.iter().map(|r| &r.title).collect::<Vec<_>>()) };
            row.lines.iter().map(|l| format!("{}|{}", l.case, l.does)).collect::<Vec<_>>()
        };
        assert_eq!(of("Job that freed the executors itself"), ["|+130 points"]);
        assert_eq!(of("Work left"), ["|\u{2212}3.46 points per minute, up to 10\u{a0}min"]);
        assert_eq!(of("Stages that can run now"), ["|\u{2212}21.6 points from 2\u{a0}stages on"]);
        assert_eq!(
            of("Place by work left (0 has the least), by work left"),
            [
                "where work left is above 5\u{a0}min and at most 15\u{a0}min|+10.1 points per place",
                "where work left is above 15\u{a0}min|+15.9 points per place",
            ]
        );
        assert_eq!(
            of("Place by work left (0 has the least), only for a job that freed the executors itself"),
            ["|\u{2212}4.33 points per place, above 2"]
        );
        assert!(card.sentences[0].starts_with("Most of all, it prefers a job"), "{:?}", card.sentences);
        assert!((2..=5).contains(&card.sentences.len()), "{:?}", card.sentences);
        assert_eq!(card.data["rows"].as_array().map(Vec::len), Some(rows.len()));
        Ok(())
    }

    #[test]
    fn what_candidates_have_in_common_is_a_condition_and_prefers_nobody() {
        let features = feature_set();
        let spec = &features.levels[1];
        let (path, held) = (column(spec, "critical_path"), column(spec, "job_executors_held"));
        let words = words();
        let phrases = Phrases { plain: Plain { words: &words, features }, spec };
        let said = |factors: &[Factor], typical: &Typical| {
            let sum = Additive { intercept: 0.0, terms: vec![term(0.3, factors)] };
            let rows = row::rows(&sum, spec, typical, 10.0);
            (phrases.sentences(&rows).concat(), rows[0].span)
        };
        let log = factor(path, Shape::Log, None);
        let factors = [log, factor(held, Shape::Linear, None)];
        let (shared, own) = (Typical::with_common(spec, held), Typical::new(spec, None, None));
        let (text, _) = said(&factors, &shared);
        let expected = "it prefers a stage with more work from it to the end of the job, and more so where executors its job holds is large (up to ";
        assert!(text.contains(expected), "{text}");
        // It moves a stage by the height of a curve, and not by what it adds to all stages of a job.
        let ratio =
            spec.features.iter().position(|f| f.scope == Scope::Ratio).expect("a ratio, which is 1 at least") as u32;
        let product = [factor(ratio, Shape::Linear, None), factor(held, Shape::Linear, None)];
        assert!(said(&product, &shared).1 < said(&product, &own).1);
        let (text, _) = said(&factors, &own);
        assert!(
            !text.contains("prefers") && text.to_lowercase().contains("it gets more points for a larger value of"),
            "{text}"
        );
        let steps = [log, factor(held, Shape::Above, Some(3.0))];
        let (text, _) = said(&steps, &shared);
        assert!(text.contains("here executors its job holds is above 3"), "{text}");
        let (text, span) = said(&[factor(held, Shape::Linear, None)], &shared);
        assert!(span == 0.0 && !text.contains("prefers"), "{text}");
    }

    #[test]
    fn both_directions_of_a_bend_are_said() -> Result<(), ReportError> {
        register_fonts()?;
        let spec = feature_set().levels[0].clone();
        let work = column(&spec, "remaining_work");
        let bent = Additive {
            intercept: 0.0,
            terms: vec![
                term(2e-6, &[factor(work, Shape::Linear, None)]),
                term(-6e-6, &[factor(work, Shape::Excess, Some(600_000.0))]),
            ],
        };
        let (_, card, _) = card(&bent, 1.0);
        assert_eq!(
            card.sentences,
            [
                "One thing alone counts: it prefers a job with more work left up to 10\u{a0}min, and with less work left beyond it \
             (+1.73 points per minute up to 10\u{a0}min, \u{2212}3.46 points per minute above 10\u{a0}min)."
            ]
        );
        Ok(())
    }

    #[test]
    fn a_level_without_words_or_terms_has_a_card_too() -> Result<(), ReportError> {
        register_fonts()?;
        let features = feature_set();
        let (words, sum) = (Words::default(), sum(&features.levels[0]));
        let known = Known { plain: Plain { words: &words, features }, recorded: None, explained: None };
        let empty = Additive { intercept: 1.0, terms: Vec::new() };
        for (sum, rows) in [(sum, 7), (empty, 0)] {
            let model = Model::Additive(sum.clone());
            let named = NamedModel { name: "logit".to_owned(), temperature: 1.0, model };
            let card = Scorecard::new(&named, &sum, &features.levels[0], "job", known);
            assert_eq!(card.rows.len(), rows, "{:?}", card.sentences);
        }
        Ok(())
    }
}
