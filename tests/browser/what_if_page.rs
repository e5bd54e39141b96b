//! What trying changes costs the page, and the page without it.

use crate::what_if::{PROGRAM, STUDENTS, done, run};
use serde_json::{Value, json};
use std::{fs, process::Command};

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn the_page_stays_small_and_is_there_at_once() {
    let run = run(STUDENTS[0]);
    let size = fs::metadata(run.dir.path().join("report/report.html")).expect("the page").len();
    let page = run.page();
    let timing = "performance.getEntriesByType('navigation')[0].domComplete";
    let ms = page.eval(timing).as_f64().expect("a time");
    println!("{size} bytes, complete after {ms:.0} ms");
    assert!(size < 3_000_000, "{size} bytes");
    assert!(ms < 3_000.0, "{ms} ms");
    assert!(page.shows("#decision-what-if form") && page.shows("#rules details[data-level] summary"));
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn a_run_without_choices_has_a_page_without_them() {
    let run = run(STUDENTS[1]);
    fs::remove_file(run.dir.path().join("run/what_if.json")).expect("a file");
    done(Command::new(PROGRAM).current_dir(&run.dir).args(["report", "run", "-o", "report"]));
    let page = run.page();
    assert_eq!(page.count("#what-if-data, #rules details[data-level], #decision-what-if form"), 0);
    assert!(page.shows("#decision-view .verdict"));
    let data: Value = page.eval("typeof whatIf");
    assert_eq!(data, json!("object"));
}
