//! The report in a real browser. A test opens a page, does what a reader would, and looks at what the page shows:
//!
//! ```ignore
//! #[test]
//! #[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
//! fn everything_opens() {
//!     let page = report();
//!     page.click("[data-open=true]");
//!     assert_eq!(page.count("#rules details:not([open])"), 0);
//! }
//! ```
//!
//! Every test has a tab of its own, and fails if the page complains on its console or asks for anything from outside.

mod decisions;
mod driver;
mod evaluator;
#[path = "../integration/report/explained.rs"]
mod explained;
mod first_screen;
#[path = "../integration/report/fixture.rs"]
mod fixture;
mod interaction;
mod layout;
mod page;
#[path = "../support/random_student.rs"]
mod random_student;
#[path = "../support/random_tree.rs"]
#[expect(dead_code, reason = "rows come with the questions of random students")]
mod random_tree;
#[path = "../support/replay.rs"]
#[expect(dead_code, reason = "exported programs are replayed elsewhere")]
mod replay;
#[cfg(feature = "cli")]
mod what_if;
#[cfg(feature = "cli")]
mod what_if_page;

use page::Page;
use sched_distill::{evaluator::Evaluation, level::FeatureSet, pipeline::RunInfo, report::write_report};
use std::{error::Error, fs, path::Path, sync::OnceLock};
use tempfile::TempDir;

type Outcome = Result<(), Box<dyn Error>>;

/// A new page with the report of the hand-made run.
fn report() -> Page {
    report_at("")
}

/// The same, opened at a place in the page such as `#look`.
fn report_at(place: &str) -> Page {
    static URL: OnceLock<String> = OnceLock::new();
    let url = URL.get_or_init(|| written(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser"), |_, _, _| ()));
    let open = if place.is_empty() { Page::open } else { Page::as_it_is };
    open(&format!("{url}{place}"))
}

/// A new page with the report of a run that `edit` has changed, in a folder that has to be kept while the page is looked at.
fn report_of(edit: impl FnOnce(&mut RunInfo, &mut FeatureSet, &mut Evaluation)) -> (TempDir, Page) {
    let dir = tempfile::tempdir().expect("a folder");
    let page = Page::open(&written(dir.path(), edit));
    (dir, page)
}

/// Writes a run and its report below `dir`. Returns the report's address.
fn written(dir: &Path, edit: impl FnOnce(&mut RunInfo, &mut FeatureSet, &mut Evaluation)) -> String {
    fixture::write_run(&dir.join("run"), edit).expect("a run directory");
    let summary = write_report(&dir.join("run"), &dir.join("report")).expect("a report");
    format!("file://{}", summary.page.display())
}

/// A new page with the given body, in such a folder.
fn page_of(body: &str) -> (TempDir, Page) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("page.html");
    fs::write(&path, format!("<!doctype html><meta charset=utf-8><title>page</title>{body}")).expect("a page");
    let page = Page::open(&format!("file://{}", path.display()));
    (dir, page)
}
