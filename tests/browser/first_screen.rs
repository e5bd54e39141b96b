//! The first screen decides: verdict, figures, picture and rules are there before anybody scrolls.

use crate::{page::Page, report_of, written};
use serde_json::json;

const PARTS: [&str; 3] = ["#ruling", "#four-figures", "figure#verdict"];

/// A page whose student was run on another workload too.
fn page() -> (tempfile::TempDir, Page) {
    report_of(|_, _, evaluation| {
        let mut other = evaluation.closed_loop.clone().expect("the fixture has one");
        other.workload = "builtin,edge=giant".into();
        evaluation.other_workloads = vec![other];
    })
}

/// Where an element ends, in px from the top of the page.
fn end(page: &Page, selector: &str) -> f64 {
    let at = format!("document.querySelector({}).getBoundingClientRect().bottom + scrollY", json!(selector));
    page.eval(&at).as_f64().expect("a place")
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn the_verdict_is_above_the_fold_and_on_a_phone_within_two_screens() {
    let (_dir, page) = page();
    for scheme in ["light", "dark"] {
        page.colours(scheme);
        for (width, height, screens) in [(1280, 800, 1.0), (820, 1180, 1.0), (390, 844, 2.0)] {
            page.size(width, height);
            page.screenshot(&format!("first-screen-{width}-{scheme}"));
            for part in PARTS {
                assert!(page.shows(part), "{part} at {width}");
                let end = end(&page, part);
                assert!(end <= screens * f64::from(height), "{part} ends at {end} of {width} x {height}");
            }
            // The verdict itself needs no scrolling anywhere.
            assert!(end(&page, "#ruling") <= f64::from(height), "{width}");
            assert!(end(&page, "#first-screen") <= screens * f64::from(height), "{width}");
        }
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn every_figure_says_what_is_good_and_the_gates_open() {
    let (_dir, page) = page();
    assert_eq!(page.count("#four-figures li"), 4);
    assert_eq!(
        page.eval("[...document.querySelectorAll('#four-figures small')].every((e) => e.innerText.length > 5)"),
        json!(true)
    );
    assert!(!page.shows("#gates li"));
    page.click("#gates summary");
    assert!(page.shows("#gates li") && page.text("#gates").contains("teacher"));
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn what_matters_before_deploying_comes_next_and_sections_are_folded_behind_a_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let page = Page::as_it_is(&written(dir.path(), |_, _, _| ()));
    page.size(1280, 800);
    let folds = page.count("details.fold");
    assert!(folds >= 9 && page.count("details.fold[open]") == 0, "{folds} folds");
    // Every section after what comes before deploying has one, and a line that says what is in it.
    let open =
        "[...document.querySelectorAll('main > section')].filter((s) => !s.querySelector('.fold')).map((s) => s.id)";
    assert_eq!(page.eval(open), json!(["first-screen", "deploy"]));
    let said = "[...document.querySelectorAll('.fold > summary')].every((e) => e.innerText.length > 20)";
    assert_eq!(page.eval(said), json!(true));
    assert!(end(&page, "#deploy") <= 2.0 * 800.0, "two screens");
    // A link to what is inside opens it.
    assert!(!page.shows("#tail"));
    page.eval("location.hash = '#tail'; null");
    page.wait_for("document.querySelector('#holds-up .fold').open");
    assert!(page.shows("#tail"));
}
