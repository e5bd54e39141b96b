//! "How far can you trust it?": the front of sizes, and where the student departs.

use super::{
    Outcome,
    fixture::{estimate, fidelity, write_run},
    pictures, report,
};
use sched_distill::{
    distiller::{By, FrontChoice, FrontEntry, FrontLevel, FrontTotal, SizeFront},
    evaluator::{Condition, DepartureRow, Departures, Disagreement, Evaluation, FidelityRow, Instead, Lead, Region},
    model::Structure,
    report::write_report,
};
use serde_json::json;
use std::fs;

/// A front of three sizes per level and learner, and of three total sizes, one of which stalled.
fn front() -> SizeFront {
    let rows = |level: &str, gain: f64| -> Vec<FidelityRow> {
        let tree = fidelity().into_iter().filter(|r| r.level == level && r.scorer == "tree");
        tree.map(|mut r| {
            r.top1 = estimate(r.top1.value - 0.3 + gain, 0.02);
            r
        })
        .collect()
    };
    let level = |level: &str| FrontLevel {
        level: level.into(),
        models: [
            ("tree", 2, 0.0),
            ("tree", 8, 0.1),
            ("tree", 64, 0.2),
            ("spline-logit", 4, 0.15),
            ("spline-logit", 6, 0.12),
        ]
        .map(|(learner, size, gain)| FrontEntry {
            learner: learner.into(),
            size,
            on_front: size != 8 && size != 6,
            fidelity: rows(level, gain),
        })
        .into(),
    };
    let total = |size, jct: Option<f64>| FrontTotal {
        size,
        student: format!("size-{size}.json"),
        models: vec![FrontChoice { level: "job".into(), learner: "tree".into(), size }],
        to_teacher: jct.map(|r| estimate(r, 0.03)),
    };
    SizeFront {
        trace: "77".repeat(32),
        by: By::Top1,
        levels: vec![level("job"), level("stage")],
        totals: vec![total(4, None), total(16, Some(1.2)), total(64, Some(0.98))],
    }
}

fn departures(evaluation: &mut Evaluation) {
    let row = |level: &str, kind: &str, departures, share| DepartureRow {
        level: level.into(),
        kind: kind.into(),
        decisions: 1000,
        departures,
        share: estimate(share, 0.01),
    };
    evaluation.departures = Some(Departures {
        structure: Structure::Hierarchical,
        decisions: 14_403,
        joint: estimate(0.7, 0.02),
        executed: estimate(0.62, 0.02),
        rows: vec![row("job", "free", 200, 0.2), row("stage", "forced", 0, 0.0), row("stage", "all", 100, 0.1)],
    });
    evaluation.leads = vec![Lead {
        level: "job".into(),
        kind: "free".into(),
        candidates: 5,
        over: "smallest remaining_work".into(),
        choices: 1_234,
        top1: estimate(-0.051, 0.02),
        top3: estimate(0.1, 0.02),
        regret: None,
    }];
    let bound = |column: &str, above, at_most| Condition { column: column.into(), above, at_most, or_none: false };
    let region = |conditions, cost: f64| Region {
        rule: "rule".into(),
        conditions,
        choices: 100,
        share: estimate(0.4, 0.05),
        disagree: estimate(0.3, 0.05),
        regret: Some(estimate(0.123, 0.01)),
        share_of_disagreement: Some(estimate(0.5, 0.1)),
        share_of_regret: Some(estimate(cost, 0.1)),
        instead: Some(Instead { feature: "remaining_work".into(), more: true, share: estimate(0.97, 0.01) }),
    };
    evaluation.disagreement = vec![Disagreement {
        level: "job".into(),
        by: "regret".into(),
        found_on: 10,
        measured_on: 11,
        choices: 5_000,
        disagree: estimate(0.25, 0.01),
        regret: Some(estimate(0.081, 0.01)),
        regions: vec![
            region(vec![bound("kind=free", Some(0.5), None), bound("teacher.age", None, Some(30e3))], 0.81),
            region(Vec::new(), 0.19),
        ],
    }];
}

#[test]
fn departures_are_told_in_words_and_figures() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| departures(evaluation))?;
    let (html, numbers) = report(dir.path(), "departures")?;
    assert_eq!(numbers["rows"].as_array().map(Vec::len), Some(3));
    for words in [
        "Of 14,403 decisions, 70.0\u{a0}% [68.0, 72.0] agree",
        "66.7\u{a0}%",
        "any job may get the executors; the teacher&#x27;s job: time since it arrived ≤ 30\u{a0}s",
        "all choices",
        "a job with more work left than the teacher&#x27;s (in 97.0\u{a0}% of the choices that go wrong)",
        "at a mean regret of 0.081 [0.071, 0.091]",
        "\u{2212}5.1<small>",
        "5 or more",
    ] {
        assert!(html.contains(words), "{words}");
    }
    for name in ["leads", "disagreement"] {
        assert!(dir.path().join(format!("report/data/{name}.json")).is_file(), "{name}");
    }
    Ok(())
}

#[test]
fn hostile_names_of_levels_kinds_and_learners_stay_text() -> Outcome {
    let dir = tempfile::tempdir()?;
    let evil = "<script>alert(1)</script>\"'\u{0}";
    write_run(dir.path(), |_, _, evaluation| {
        departures(evaluation);
        evaluation.departures.iter_mut().flat_map(|b| &mut b.rows).for_each(|r| r.kind = evil.into());
        evaluation.leads[0].over = evil.into();
        let region = &mut evaluation.disagreement[0].regions[0];
        region.conditions.iter_mut().for_each(|c| c.column = format!("kind={evil}"));
        region.instead.iter_mut().for_each(|i| i.feature = evil.into());
    })?;
    let mut front = front();
    for model in front.levels.iter_mut().flat_map(|l| &mut l.models) {
        model.learner = evil.into();
        model.fidelity.iter_mut().for_each(|r| r.kind = evil.into());
    }
    fs::write(dir.path().join("front.json"), serde_json::to_vec(&front)?)?;
    let (html, _) = report(dir.path(), "front-fidelity")?;
    assert_eq!(html.matches("<script").count(), 3, "the program, its decisions, and its choices");
    for picture in pictures(&html) {
        resvg::usvg::Tree::from_str(picture, &resvg::usvg::Options::default())?;
    }
    Ok(())
}

#[test]
fn the_front_shows_every_model_and_where_the_student_stands() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    fs::write(dir.path().join("front.json"), serde_json::to_vec(&front())?)?;
    let (html, numbers) = report(dir.path(), "front-fidelity")?;
    let panels = numbers["panels"].as_array().ok_or("a list")?;
    let places: Vec<_> = panels.iter().map(|p| (p["level"].clone(), p["kind"].clone())).collect();
    let expected = [("job", "affinity"), ("job", "free"), ("stage", "affinity"), ("stage", "free")];
    assert_eq!(places, expected.map(|(level, kind)| (json!(level), json!(kind))));
    let sizes: Vec<_> = panels[0]["models"].as_array().ok_or("a list")?.iter().map(|m| m["size"].clone()).collect();
    assert_eq!(sizes, [2, 4, 6, 8, 64].map(|n| json!(n)));
    assert_eq!(panels[0]["student"]["size"], json!(34));
    assert!(html.contains("has size 56 over all levels"));
    let times: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.path().join("report/data/front-closed-loop.json"))?)?;
    let shown: Vec<_> = times["totals"].as_array().ok_or("a list")?.iter().map(|t| t["size"].clone()).collect();
    assert_eq!((shown, &times["student"]["size"]), (vec![json!(16), json!(64)], &json!(56)));
    Ok(())
}

#[test]
fn a_level_where_every_size_does_the_same_is_a_sentence() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let mut front = front();
    let certain = sched_distill::evaluator::Estimate { value: 1.0, low: 1.0, high: 1.0 };
    let alike = |level: &mut FrontLevel| {
        level.models.iter_mut().flat_map(|m| &mut m.fidelity).for_each(|r| r.top1 = certain);
    };
    alike(&mut front.levels[1]);
    fs::write(dir.path().join("front.json"), serde_json::to_vec(&front)?)?;
    let (html, numbers) = report(dir.path(), "front-fidelity")?;
    let said = "Level stage, kind free: models of every size have a top-1 agreement of 100\u{a0}%. More size buys nothing there.";
    assert!(html.contains(said));
    assert_eq!(numbers["panels"].as_array().map(Vec::len), Some(2), "the level that differs");
    alike(&mut front.levels[0]);
    fs::write(dir.path().join("front.json"), serde_json::to_vec(&front)?)?;
    let html = fs::read_to_string(write_report(dir.path(), &dir.path().join("report"))?.page)?;
    assert!(!html.contains("id=\"front-fidelity\"") && html.contains("id=\"front-closed-loop\""));
    Ok(())
}

#[test]
fn without_a_front_and_departures_the_page_names_the_commands() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let empty = SizeFront { levels: Vec::new(), totals: Vec::new(), ..front() };
    for front in [None, Some(empty)] {
        if let Some(front) = front {
            fs::write(dir.path().join("front.json"), serde_json::to_vec(&front)?)?;
        }
        let summary = write_report(dir.path(), &dir.path().join("report"))?;
        let html = fs::read_to_string(&summary.page)?;
        assert!(html.contains("<code>distill front TRACE -o RUN_DIR</code> fits them"));
        assert!(html.contains("--disagreement --run RUN_DIR</code> measures it"));
    }
    Ok(())
}

#[test]
fn a_broken_front_is_refused() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let mut broken = front();
    broken.levels[1].models[0].size = 0;
    fs::write(dir.path().join("front.json"), serde_json::to_vec(&broken)?)?;
    let error = write_report(dir.path(), &dir.path().join("report")).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("front.json: level `stage`: a model of `tree` has size 0, expected 1 or more"), "{error}");
    Ok(())
}
