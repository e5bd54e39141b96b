//! Picking decisions, comparing candidates, sorting tables, unfolding the outline.

use crate::{Outcome, fixture, report};
use sched_distill::{
    explainer::Decisions,
    level::Words,
    model::Student,
    report::{DecisionView, decision_page},
};
use serde_json::json;
use std::fs;

const VIEW: &str = "#decision-view";

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn a_decision_is_picked_and_turned_over() {
    let page = report();
    assert!(page.shows("#decision-picker") && page.shows(VIEW));
    let options = || page.count("#decision-picker [name=decision] option");
    let verdict = || page.text(&format!("{VIEW} .verdict"));
    assert!(verdict().contains("the teacher finds"), "the costliest departures come first: {}", verdict());
    let costly = options();
    page.choose("#decision-picker [name=selection]", "agreements");
    assert!(verdict().contains("as the teacher would most likely"), "{}", verdict());
    page.choose("#decision-picker [name=selection]", "all");
    assert!(options() > costly);
    page.choose("#decision-picker [name=level]", "stage");
    page.choose("#decision-picker [name=kind]", "free: when any job may get the executors");
    assert!(page.text(&format!("{VIEW} caption")).contains("Free: when any job may get the executors. Level stage"));
    assert_eq!(page.text("#decision-count"), format!("{} decisions", options()));
    let first = page.text(&format!("{VIEW} caption"));
    page.click("#decision-picker [name=next]");
    assert_ne!(page.text(&format!("{VIEW} caption")), first);
    page.focus("#decision-picker [name=before]");
    page.press("Enter");
    assert_eq!(page.text(&format!("{VIEW} caption")), first);
    assert!(page.text(VIEW).contains("would have been taken if"));
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn candidates_are_compared_and_the_bars_are_the_numbers() {
    let page = report();
    page.choose("#decision-picker [name=level]", "job");
    // Two candidates may have the same score, and nothing then tells them apart.
    while page.count(".wide .waterfall rect") < 4 {
        page.click("#decision-picker [name=next]");
    }
    let buttons = page.count(&format!("{VIEW} button[aria-pressed]"));
    assert_eq!(buttons + 1, page.count(&format!("{VIEW} .dense tbody tr")), "one for each but the student's");
    // The length of each bar is the number beside it, and they add up to the last one.
    let right = page.eval(
        "(() => {
            const bars = [...document.querySelectorAll('.wide .waterfall rect')];
            const number = (bar) => Number(bar.nextElementSibling.textContent.replace('\u{2212}', '-'));
            const total = number(bars.at(-1));
            const sum = bars.slice(0, -1).reduce((sum, bar) => sum + number(bar), 0);
            const wide = bars.filter((b) => b.width.baseVal.value > 20);
            const scale = Math.max(...wide.map((b) => b.width.baseVal.value / Math.abs(number(b))));
            const long = bars.every((b) => Math.abs(b.width.baseVal.value - Math.abs(number(b)) * scale) < 2 + 0.02 * b.width.baseVal.value);
            return Math.abs(sum - total) < 0.02 * Math.max(...bars.map((b) => Math.abs(number(b)))) && long;
        })()",
    );
    assert_eq!(right, json!(true));
    page.click(&format!("{VIEW} button[aria-pressed=false]"));
    assert_eq!(page.count(&format!("{VIEW} button[aria-pressed=true]")), 1);
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn a_table_sorts_by_its_heads() {
    let page = report();
    page.click("[data-open=true]");
    let table = "#likeness details table";
    page.eval("document.querySelectorAll('#likeness details').forEach((d) => { d.open = true; })");
    let number = |row: Vec<String>| row[4].split('\n').next().and_then(|cell| cell.parse::<f64>().ok()).unwrap();
    let column = || page.rows(table).into_iter().map(number).collect::<Vec<f64>>();
    let shown = column();
    page.click(&format!("{table} th:nth-child(5) button"));
    let sorted = column();
    assert!(
        shown != sorted && sorted.len() == shown.len() && sorted.is_sorted_by(|a, b| a >= b),
        "{shown:?} {sorted:?}"
    );
    page.focus(&format!("{table} th:nth-child(5) button"));
    page.press("Enter");
    assert!(column().is_sorted());
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn the_outline_folds() {
    let page = report();
    let deep = "#rules .outline ul ul ul ul > li";
    assert!(page.count(deep) > 0 && !page.shows(deep));
    page.click("[data-open=true]");
    assert!(page.shows(deep));
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn one_decision_has_a_page_of_its_own() -> Outcome {
    let dir = tempfile::tempdir()?;
    fixture::write_run(dir.path(), |_, _, _| ())?;
    let student = Student::load(&dir.path().join("student.json"))?;
    let decisions: Decisions = serde_json::from_slice(&fs::read(dir.path().join("decisions.json"))?)?;
    let (choice, of) = (&decisions.choices[0], &decisions.levels[0]);
    let spec = student.feature_set.level(&choice.level).ok_or("a level")?;
    let view = DecisionView::new(choice, of, spec, &student, &Words::default());
    let path = dir.path().join("decision.html");
    fs::write(&path, decision_page(&view)?)?;
    let page = crate::page::Page::open(&format!("file://{}", path.display()));
    assert!(page.text(VIEW).contains(&view.verdict));
    Ok(())
}
