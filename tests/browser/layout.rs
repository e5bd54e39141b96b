//! The page fits its window, and its charts hold their words.

use crate::{page::Page, page_of, report, report_of};
use sched_distill::report::write_report;
use serde_json::{Value, from_value, json};
use std::fs;

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
fn no_chart_is_cut_or_scrolls_sideways_and_one_of_two_drawings_is_there() {
    let page = report();
    page.click("[data-open=true]");
    for (width, narrow) in [(390, true), (820, false), (1280, false)] {
        page.size(width, 900);
        holds(&page, "chartsCut");
        // Charts have a wide drawing, or a narrow one; a tree has its list instead.
        assert_eq!(page.shows("#fidelity-job .narrow"), narrow, "{width}");
        assert_eq!(page.shows("#fidelity-job .wide"), !narrow, "{width}");
        assert_eq!(page.shows("#tree-job"), !narrow, "{width}");
        let hidden = "[...document.querySelectorAll('#rules details.outline')].every((d) => d.querySelector('li').checkVisibility())";
        page.click("[data-open=false]");
        assert!(!narrow || page.eval(hidden) == json!(true), "{width}");
        page.click("[data-open=true]");
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn scorecards_fit_every_window() {
    let (dir, _) = report_of(|_, _, _| ());
    let run = dir.path().join("run");
    let text = fs::read(run.join("student.json")).unwrap();
    let mut student: Value = serde_json::from_slice(&text).unwrap();
    for level in student["levels"].as_array_mut().unwrap() {
        level["use"] = json!("linear");
        level["models"] = json!([level["models"][1]]);
    }
    fs::write(run.join("student.json"), student.to_string()).unwrap();
    crate::explained::explain(&run).unwrap();
    let written = write_report(&run, &dir.path().join("report")).unwrap();
    let page = Page::open(&format!("file://{}", written.page.display()));
    assert!(page.count("#rules .card svg") > 10);
    page.click("[data-open=true]");
    for (width, height) in SIZES {
        page.size(width, height);
        for measure in ["sticksOut", "chartsCut", "textsCollide"] {
            holds(&page, measure);
        }
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn words_in_charts_are_whole_and_apart() {
    let page = report();
    page.click("[data-open=true]");
    for (width, height) in [SIZES[0], SIZES[2]] {
        page.size(width, height);
        holds(&page, "textsCollide");
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn long_and_hostile_names_change_nothing() {
    let evil = format!("</title><script>throw 1</script><img src=x onerror='throw 2'>{}", "very_long_".repeat(20));
    let (_dir, page) = report_of(|info, features, evaluation| {
        for text in [&mut info.title, &mut info.workload, &mut info.teacher.id, &mut info.created_by] {
            text.clone_from(&evil);
        }
        info.notes.push(evil.clone());
        info.commands.push(evil.clone());
        for level in &mut features.levels {
            level.name = format!("{} {evil}", level.name);
            level.question.clone_from(&evil);
            for (i, feature) in level.features.iter_mut().enumerate() {
                feature.name = format!("{evil}{i}");
                (feature.meaning, feature.unit) = (evil.clone(), evil.clone());
            }
        }
        for row in &mut evaluation.fidelity {
            row.level = format!("{} {evil}", row.level);
            row.kind = format!("{} {evil}", row.kind);
            row.scorer = format!("{} {evil}", row.scorer);
        }
        let closed_loop = evaluation.closed_loop.as_mut().expect("the fixture has one");
        closed_loop.workload.clone_from(&evil);
        closed_loop.policies[0].policy.clone_from(&evil);
        closed_loop.comparisons.iter_mut().for_each(|pair| pair.baseline.clone_from(&evil));
    });
    page.click("[data-open=true]");
    for (width, height) in SIZES {
        page.size(width, height);
        holds(&page, "sticksOut");
    }
    holds(&page, "textsCollide");
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
         <svg id=both viewBox='0 0 300 60' width=300>{}{}</svg>
         <svg id=box viewBox='0 0 300 60' width=300><a><rect width=30 height=60 />{}</a></svg>",
        text(5, 20, "apart"),
        text(5, 50, "below"),
        text(270, 30, "too long"),
        text(5, 30, "one on"),
        text(25, 35, "another"),
        text(5, 30, "wider"),
    ));
    holds(&page, "sticksOut");
    let cut = wrong(&page, "chartsCut");
    assert!(cut.is_empty(), "{cut:?}");
    page.eval(
        "document.querySelector('.scroll').insertAdjacentHTML('beforeend', '<svg id=broad width=3000></svg>'); 0",
    );
    let cut = wrong(&page, "chartsCut");
    assert!(cut.len() == 2 && cut[0].contains("broad: 3000 px") && cut[1].contains("scrolls"), "{cut:?}");
    page.eval("document.getElementById('broad').remove(); 0");
    let expected = [
        "cut: \"too long\" is cut off",
        "both: \"one on\" and \"another\" overlap",
        "box: \"wider\" sticks out of its box",
    ];
    assert_eq!(wrong(&page, "textsCollide"), expected);
    page.eval("document.body.insertAdjacentHTML('beforeend', '<p id=wide style=\"width:2000px\">wide</p>'); 0");
    let wrong = wrong(&page, "sticksOut");
    assert!(wrong.len() == 2 && wrong[0].contains("2008 px wide") && wrong[1].contains("id=\"wide\""), "{wrong:?}");
}
