//! What trying changes costs the page, and the page without it.

use crate::what_if::{PROGRAM, Run, STUDENTS, done, run};
use serde_json::{Value, json};
use std::{fs, process::Command};

/// What a reader waits for at most, and what of it the processor may work; in ms. Beside other work that took both cores two times
/// over, this page of 0.9 MB took 213 ms, 135 of them busy, and one of 1.5 MB 318 ms, some 200 of them busy.
const LIMITS: [f64; 2] = [1_000.0, 400.0];

/// Loads to try: other work on the machine makes a page slower, never faster.
const LOADS: usize = 8;

/// How long a load takes until the page can be used, and how long the processor works on it until then; in ms.
fn load(run: &Run) -> [f64; 2] {
    let page = run.page();
    let busy = page.busy_ms();
    assert!(page.shows("#decision-what-if form") && page.shows("#rules details[data-level] summary"));
    let timing = "performance.getEntriesByType('navigation')[0].domComplete";
    [page.eval(timing).as_f64().expect("a time"), busy]
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn the_page_stays_small_and_is_there_at_once() {
    let run = run(STUDENTS[0]);
    let size = fs::metadata(run.dir.path().join("report/report.html")).expect("the page").len();
    assert!(size < 3_000_000, "{size} bytes");
    let mut best = [f64::INFINITY; 2];
    for _ in 0..LOADS {
        let [ms, busy] = load(&run);
        println!("{size} bytes, complete after {ms:.0} ms, {busy:.0} of them busy");
        best = [best[0].min(ms), best[1].min(busy)];
        if best[0] < LIMITS[0] && best[1] < LIMITS[1] {
            return;
        }
    }
    panic!("the best of {LOADS} loads: {best:?} ms");
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
