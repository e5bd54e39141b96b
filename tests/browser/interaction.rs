//! What a reader can do with the page: fold and unfold, follow links, ask for meanings, move by keyboard, print.

use crate::{report, report_at};
use serde_json::json;

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn buttons_open_and_close_everything() {
    let page = report();
    let all = page.count("#rules details:not(.fold)");
    assert!(all > 10 && page.count("#rules details:not(.fold)[open]") < all);
    page.click("[data-open=true]");
    assert_eq!(page.count("#rules details:not(.fold)[open]"), all);
    page.focus("[data-open=false]");
    page.press("Enter");
    assert_eq!(page.count("#rules details:not(.fold)[open]"), 0);
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn a_link_to_a_folded_branch_opens_it() {
    let branch = "#tree-job_a";
    let page = report();
    assert!(!page.shows(branch));
    page.click(&format!("svg a[href='{branch}']"));
    page.wait_for("document.querySelector('#tree-job_a').checkVisibility()");
    page.wait_for("document.querySelector('#tree-job_a').getBoundingClientRect().top < innerHeight");

    let page = report_at(branch);
    assert!(page.shows(branch));
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn a_test_says_what_its_feature_means() {
    let page = report();
    let node = "#tree-job a[data-tip]";
    let meaning = page.eval(&format!("document.querySelector({}).dataset.tip", json!(node)));
    assert!(!page.shows("#tip"));
    page.hover(node);
    assert!(page.shows("#tip"));
    assert_eq!(json!(page.text("#tip")), meaning);
    page.press("Escape");
    assert!(!page.shows("#tip"));

    // The page scrolls to what has the keyboard; a mouse left lying somewhere does not matter.
    page.hover("h1");
    page.focus(node);
    assert!(page.shows("#tip"));
    assert_eq!(json!(page.text("#tip")), meaning);
    let inside = "(() => { const r = tip.getBoundingClientRect();
        return r.left >= 0 && r.top >= 0 && r.right <= innerWidth && r.bottom <= innerHeight })()";
    assert_eq!(page.eval(inside), json!(true));
    page.size(390, 844);
    page.hover("#rules .condition[data-tip]");
    assert_eq!(page.eval(inside), json!(true));
    page.focus("[data-open=true]");
    assert!(!page.shows("#tip"));
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn the_tab_key_reaches_everything() {
    let page = report();
    page.click("[data-open=true]");
    page.eval("document.activeElement.blur(); scrollTo(0, 0); getSelection().collapse(document.querySelector('h1'))");
    page.eval("reached = new Set(); addEventListener('focusin', (event) => reached.add(event.target)); 0");
    let controls = "[...document.querySelectorAll('a[href], button, summary, input, select, textarea, [tabindex]')]
        .filter((e) => e.checkVisibility() && e.tabIndex >= 0)";
    let all = page.eval(&format!("{controls}.length")).as_u64().unwrap();
    assert!(all > 50, "{all}");
    // At the end of the page the keyboard leaves it once before it comes back at the top.
    for _ in 0..all + 2 {
        page.press("Tab");
    }
    let missed = page.eval(&format!("{controls}.filter((e) => !reached.has(e)).map((e) => e.outerHTML.slice(0, 120))"));
    assert_eq!(missed, json!([]));
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn paper_shows_everything() {
    let page = report();
    let folded = "[...document.querySelectorAll('details')]
        .filter((d) => !d.lastElementChild.checkVisibility() || d.lastElementChild.getBoundingClientRect().height == 0).length";
    assert!(page.eval(folded).as_u64() > Some(10));
    page.as_on_paper();
    assert_eq!(page.eval(folded), json!(0));
    assert!(!page.shows("nav") && !page.shows("button"));

    page.colours("light");
    page.eval("open_in_print = null; addEventListener('beforeprint', () => { open_in_print = document.querySelectorAll('details:not([open])').length }); 0");
    let before = page.count("details[open]");
    let pdf = page.print();
    assert_eq!((page.eval("open_in_print"), page.count("details[open]")), (json!(0), before));
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 100_000, "{} bytes", pdf.len());
}
