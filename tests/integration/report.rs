//! The report of a hand-made run directory: complete, self-contained, reproducible, safe against hostile names.

mod augmented;
mod decision_times;
mod directions;
mod evidence;
mod explained;
mod explanation;
mod fixture;
mod gaming;
mod holds_up;
mod live;
mod model_card;
mod nothing;
mod rules;
mod scorecard;
mod sentences;
mod trust;
mod verdict;
mod what_if;

use crate::common::files;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use fixture::{fidelity, write_run};
use resvg::usvg;
use sched_distill::{
    evaluator::Evaluation,
    report::{ReportError, write_report},
    text::acts,
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{error::Error, fs, path::Path};

type Outcome = Result<(), Box<dyn Error>>;

/// The page, and the numbers behind the picture of that name.
fn report(dir: &Path, name: &str) -> Result<(String, Value), Box<dyn Error>> {
    let summary = write_report(dir, &dir.join("report"))?;
    let numbers = dir.join("report/data").join(format!("{name}.json"));
    Ok((fs::read_to_string(&summary.page)?, serde_json::from_slice(&fs::read(numbers)?)?))
}

/// The pictures inside a page.
fn pictures(html: &str) -> Vec<&str> {
    html.match_indices("<svg ")
        .filter_map(|(start, _)| html[start..].find("</svg>").map(|end| &html[start..start + end + 6]))
        .collect()
}

#[test]
fn the_page_holds_every_figure_and_nothing_from_outside() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let out = dir.path().join("report");
    let summary = write_report(dir.path(), &out)?;
    let html = fs::read_to_string(&summary.page)?;
    assert_eq!(html.len(), summary.page_bytes);
    assert!(html.len() < 1_500_000, "{} bytes", html.len());

    for figure in ["decima:model.pt,mode=sample", "14,403", "Kendall", "stalled in 3 of 20", "0.782", &"3f".repeat(32)]
    {
        assert!(html.contains(figure), "{figure}");
    }
    for row in fidelity() {
        let shown = format!("<td class=\"n\">{:.1}<small>", row.top1.value * 100.0);
        assert!(html.contains(&shown), "{} {} {}: {shown}", row.level, row.kind, row.scorer);
    }
    // Every address is the namespace of SVG, an anchor, or a file beside the page.
    for attribute in ["href=\"", "src=\""] {
        for (at, _) in html.match_indices(attribute) {
            let target = &html[at + attribute.len()..];
            assert!(["#", "charts/", "data/"].iter().any(|p| target.starts_with(p)), "{}", &target[..40]);
        }
    }
    assert_eq!(html.matches("http:").count(), html.matches("http://www.w3.org/2000/svg").count());
    assert_eq!(html.matches("https:").count(), 0);
    // A browser runs the script of the page, byte for byte, and nothing else.
    let script = html.rsplit_once("<script>").and_then(|(_, rest)| rest.split_once("</script>")).map(|(s, _)| s);
    let hash = BASE64_STANDARD.encode(Sha256::digest(script.ok_or("a script")?));
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#x27;none&#x27;; script-src \
         &#x27;sha256-{hash}&#x27;; "
    );
    let policy = policy.replace('/', "&#x2f;");
    assert!(html.replace('/', "&#x2f;").contains(&policy), "{policy}");
    assert_eq!(html.matches("<script").count(), 3, "the program, its decisions, and its choices");
    assert!(!html.contains("url(") && !html.contains("@import"));

    // A link to a place in the page finds it, and no two places share a name.
    let ids: Vec<&str> =
        html.match_indices(" id=\"").filter_map(|(at, s)| html[at + s.len()..].split('"').next()).collect();
    let mut distinct = ids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(ids.len(), distinct.len());
    for (at, s) in html.match_indices("href=\"#") {
        let target = html[at + s.len()..].split('"').next().unwrap_or_default();
        assert!(ids.contains(&target), "{target}");
    }
    Ok(())
}

#[test]
fn every_picture_is_well_formed_and_has_its_png_and_numbers() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let summary = write_report(dir.path(), &dir.path().join("report"))?;
    let html = fs::read_to_string(&summary.page)?;
    let pictures = pictures(&html);
    // Every chart but a tree stands there twice: wide and narrow.
    let (narrow, wide): (Vec<&str>, Vec<&str>) = pictures.iter().partition(|p| p.contains("-narrow-title"));
    assert_eq!(wide.len(), summary.charts.len());
    let trees =
        summary.charts.iter().filter(|c| c.file_name().is_some_and(|n| n.to_string_lossy().starts_with("tree-")));
    assert_eq!(narrow.len(), wide.len() - trees.count());
    assert!(narrow.iter().all(|p| p.contains("viewBox=\"0 0 340 ")));
    for picture in pictures {
        usvg::Tree::from_str(picture, &usvg::Options::default())?;
        assert!(picture.contains("<title") && picture.contains("<desc"));
    }
    for chart in &summary.charts {
        assert!(fs::read(chart)?.starts_with(b"\x89PNG"));
    }
    for data in &summary.data {
        let numbers: Value = serde_json::from_slice(&fs::read(data)?)?;
        assert!(!numbers.is_null());
    }
    // Every node of the tree is in the data of one of its pictures.
    let of_job = |p: &Path| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("tree-job"));
    let mut leaves = 0;
    for path in summary.data.iter().filter(|p| of_job(p)) {
        let nodes: Vec<Value> = serde_json::from_slice(&fs::read(path)?)?;
        leaves += nodes.iter().filter(|n| n.get("left").is_none()).count();
    }
    assert_eq!(leaves, 34);
    Ok(())
}

#[test]
fn same_run_same_bytes() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    write_report(dir.path(), &a)?;
    write_report(dir.path(), &b)?;
    write_report(dir.path(), &b)?;
    let (a, b) = (files(&a), files(&b));
    assert!(a.len() > 20 && a == b);
    Ok(())
}

#[test]
fn a_report_over_another_one_leaves_nothing_of_it_and_all_that_is_of_somebody_else() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let out = dir.path().join("page");
    let before = write_report(dir.path(), &out)?;
    // Every file is named on the page, by which the next report knows what this one wrote.
    let html = fs::read_to_string(&before.page)?;
    for path in before.charts.iter().chain(&before.data) {
        let name = path.strip_prefix(&out)?.to_string_lossy().into_owned();
        assert!(html.contains(&format!("href=\"{name}\"")), "{name}");
    }
    let own = ["charts/own.png", "data/own.json", "notes.txt"];
    own.iter().try_for_each(|name| fs::write(out.join(name), name))?;
    for name in ["explanation.json", "decisions.json", "what_if.json", "schedules.json"] {
        fs::remove_file(dir.path().join(name))?;
    }
    let after = write_report(dir.path(), &out)?;
    assert!(after.charts.len() < before.charts.len() && after.data.len() < before.data.len());
    let count = after.charts.len() + after.data.len() + ["report.html", "model_card.md"].len() + own.len();
    let found = files(&out);
    assert_eq!(found.len(), count, "{:?}", found.keys());
    assert!(own.iter().all(|name| found[*name] == name.as_bytes()));
    // The page of somebody else is no list of what may go.
    fs::write(&after.page, html.replace("sched-distill", "other"))?;
    let chart = before.charts.iter().find(|path| !after.charts.contains(path)).ok_or("one that went")?;
    fs::write(chart, "mine")?;
    write_report(dir.path(), &out)?;
    assert_eq!(fs::read(chart)?, b"mine");
    Ok(())
}

#[test]
fn hostile_names_stay_text() -> Outcome {
    let dir = tempfile::tempdir()?;
    let evil = "</title><script>alert(1)</script>\"'&{{ 7*7 }}\u{0}../../x\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\u{2028}";
    write_run(dir.path(), |info, features, evaluation| {
        info.title = evil.into();
        info.notes.push(evil.into());
        info.commands.push(evil.into());
        info.teacher.id = evil.into();
        for level in &mut features.levels {
            level.name = format!("{evil} {}", level.name);
            level.question = evil.into();
            for f in &mut level.features {
                f.meaning = evil.into();
                f.unit = evil.into();
            }
            level.features[0].name = evil.into();
        }
        for row in &mut evaluation.fidelity {
            row.level = evil.into();
            row.kind = evil.into();
            row.scorer = evil.into();
        }
        let closed_loop = evaluation.closed_loop.as_mut().expect("the fixture has one");
        closed_loop.workload = evil.into();
        closed_loop.policies[0].policy = evil.into();
        closed_loop.comparisons[0].baseline = evil.into();
        evaluation.other_workloads = vec![closed_loop.clone()];
    })?;
    let out = dir.path().join("deep/report");
    let summary = write_report(dir.path(), &out)?;
    let html = fs::read_to_string(&summary.page)?;
    assert_eq!(html.matches("<script").count(), 3, "the program, its decisions, and its choices");
    assert!(html.contains("{{ 7*7 }}") && html.contains(r"x\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\u{2028}"));
    for text in [&html, &fs::read_to_string(&summary.card)?] {
        let found = text.chars().find(|c| acts(*c) && *c != '\n');
        assert_eq!(found, None, "nothing acts on who reads the file");
    }
    for picture in pictures(&html) {
        usvg::Tree::from_str(picture, &usvg::Options::default())?;
    }
    for path in summary.charts.iter().chain(&summary.data) {
        assert!(path.canonicalize()?.starts_with(out.canonicalize()?), "{}", path.display());
    }
    Ok(())
}

#[test]
fn a_missing_or_broken_file_is_named_with_the_command_that_makes_it() -> Outcome {
    let dir = tempfile::tempdir()?;
    let out = dir.path().join("report");
    let said = |expected: &str| {
        let error = write_report(dir.path(), &out).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(expected), "{error}");
    };
    write_run(dir.path(), |_, _, _| ())?;
    fs::remove_file(dir.path().join("student.json"))?;
    said("student.json: no such file; `distill fit` writes it");
    write_run(dir.path(), |_, _, evaluation| evaluation.fidelity[0].top1.low = 2.0)?;
    said("evaluation.json: fidelity of `tree` at level `job`, kind `all`: top1 is");
    write_run(dir.path(), |info, _, _| info.format_version = 9)?;
    said("run.json: format version 9 is not supported (this build reads 1)");
    fs::write(dir.path().join("run.json"), r#"{"format_version": 1, "clock": 3}"#)?;
    let error = write_report(dir.path(), &out).err();
    assert!(
        matches!(&error, Some(ReportError::Malformed { source, .. }) if source.to_string().contains("clock")),
        "{error:?}"
    );
    assert!(!out.exists());
    Ok(())
}

#[test]
fn without_schedules_and_closed_loop_the_page_says_so() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| *evaluation = Evaluation::default())?;
    fs::remove_file(dir.path().join("schedules.json"))?;
    let summary = write_report(dir.path(), &dir.path().join("report"))?;
    let html = fs::read_to_string(&summary.page)?;
    for words in ["Fidelity was not measured", "The student was not run as a scheduler", "No schedule was kept"] {
        assert!(html.contains(words), "{words}");
    }
    Ok(())
}

#[test]
fn a_stalled_student_is_said_to_have_stalled_and_gets_no_ratio() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| {
        let closed_loop = evaluation.closed_loop.as_mut().expect("the fixture has one");
        closed_loop.policies[1].stalled = 2;
        for pair in closed_loop.comparisons.iter_mut().filter(|pair| pair.policy == "student:student.json") {
            pair.figures.values_mut().for_each(|figure| *figure = None);
        }
    })?;
    let summary = write_report(dir.path(), &dir.path().join("report"))?;
    let html = fs::read_to_string(&summary.page)?;
    let summary = sentences::section(&html, "summary");
    assert!(summary.contains("the student stalled in 2 of 20: it left jobs unfinished."));
    assert!(html.contains("student:student.json: stalled in 2 of 20."));
    assert!(!html.contains(">1.031<"));
    Ok(())
}
