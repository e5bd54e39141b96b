//! The report in a real browser. A test opens a page, does what a reader would, and looks at what the page shows:
//!
//! ```ignore
//! #[test]
//! #[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
//! fn everything_opens() {
//!     let page = report();
//!     page.click("[data-open=true]");
//!     assert!(page.shows("#look details p"));
//! }
//! ```
//!
//! Every test has a tab of its own, and fails if the page complains on its console or asks for anything from outside.

mod chromium;
mod driver;
#[path = "../integration/report/fixture.rs"]
mod fixture;
mod interaction;
mod layout;
mod page;

use page::Page;
use sched_distill::reporter::write_report;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

type Outcome = Result<(), Box<dyn Error>>;

/// A new page with the report of the hand-made run.
fn report() -> Page {
    report_at("")
}

/// The same, opened at a place in the page such as `#look`.
fn report_at(place: &str) -> Page {
    static URL: OnceLock<String> = OnceLock::new();
    let url = URL.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
        fixture::write_run(&dir.join("run"), |_, _, _| ()).expect("a run directory");
        let summary = write_report(&dir.join("run"), &dir.join("report")).expect("a report");
        format!("file://{}", summary.page.display())
    });
    Page::open(&format!("{url}{place}"))
}

/// A page of its own with the given body, in a folder that has to be kept while the page is looked at.
fn page_of(body: &str) -> (tempfile::TempDir, Page) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("page.html");
    fs::write(&path, format!("<!doctype html><meta charset=utf-8><title>page</title>{body}")).expect("a page");
    let page = Page::open(&format!("file://{}", path.display()));
    (dir, page)
}
