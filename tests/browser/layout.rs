//! The page fits its window, and its charts hold their words.

use crate::page::Page;
use crate::{page_of, report};
use serde_json::from_value;

const MEASURES: &str = include_str!("layout.js");

/// Phone, tablet, desk.
const SIZES: [(u32, u32); 3] = [(390, 844), (820, 1180), (1440, 900)];

/// What a measure of `layout.js` finds wrong.
fn wrong(page: &Page, measure: &str) -> Vec<String> {
    from_value(page.eval(&format!("{MEASURES}.{measure}()"))).expect("complaints in words")
}

/// Fails with what a measure finds wrong.
fn holds(page: &Page, measure: &str) {
    let wrong = wrong(page, measure);
    assert!(wrong.is_empty(), "{measure}: {wrong:#?}");
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn nothing_sticks_out_at_any_width_in_light_and_in_dark() {
    let page = report();
    for (open, state) in [("false", "folded"), ("true", "open")] {
        page.click(&format!("[data-open={open}]"));
        for scheme in ["light", "dark"] {
            page.colours(scheme);
            for (width, height) in SIZES {
                page.size(width, height);
                holds(&page, "sticksOut");
                if state == "folded" {
                    page.screenshot(&format!("report-{width}-{scheme}"));
                }
            }
        }
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn words_in_charts_are_whole_and_apart() {
    let page = report();
    page.click("[data-open=true]");
    for (width, height) in SIZES {
        page.size(width, height);
        holds(&page, "textsCollide");
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn colours_follow_the_reader() {
    let page = report();
    let ground = || page.eval("getComputedStyle(document.body).backgroundColor");
    let ink = || page.eval("getComputedStyle(document.querySelector('svg text')).fill");
    let light = (ground(), ink());
    page.colours("dark");
    let dark = (ground(), ink());
    assert!(light.0 != dark.0 && light.1 != dark.1, "{light:?} {dark:?}");
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn the_measures_find_what_is_wrong() {
    let text = |x: u32, y: u32, words: &str| format!("<text x={x} y={y}>{words}</text>");
    let (_dir, page) = page_of(&format!(
        "<div class=scroll style='overflow:auto'><p style='width:9000px'>scrolls</p></div>
         <svg id=good viewBox='0 0 300 60' width=300>{}{}</svg><svg id=cut viewBox='0 0 300 60' width=300>{}</svg>
         <svg id=both viewBox='0 0 300 60' width=300>{}{}</svg>",
        text(5, 20, "apart"),
        text(5, 50, "below"),
        text(270, 30, "too long"),
        text(5, 30, "one on"),
        text(25, 35, "another"),
    ));
    holds(&page, "sticksOut");
    assert_eq!(
        wrong(&page, "textsCollide"),
        ["cut: \"too long\" is cut off", "both: \"one on\" and \"another\" overlap"]
    );
    page.eval("document.body.insertAdjacentHTML('beforeend', '<p id=wide style=\"width:2000px\">wide</p>'); 0");
    let wrong = wrong(&page, "sticksOut");
    assert!(wrong.len() == 2 && wrong[0].contains("2008 px wide") && wrong[1].contains("id=\"wide\""), "{wrong:?}");
}
