//! Charts in which everything would stand at one place: a sentence takes their place, and the tables stay.

use super::{
    Outcome,
    fixture::{closed_loop as closed_loop_on, write_run},
    report, sentences,
};
use sched_distill::{
    evaluator::{Estimate, Role},
    explainer::Explanation,
    report::write_report,
};
use std::{fs, path::Path};

fn certain(value: f64) -> Estimate {
    Estimate { value, low: value, high: value }
}

fn page(dir: &Path) -> Result<String, Box<dyn std::error::Error>> {
    Ok(fs::read_to_string(write_report(dir, &dir.join("report"))?.page)?)
}

#[test]
fn a_level_where_one_rule_is_always_right_has_no_chart_of_fidelity() -> Outcome {
    let dir = tempfile::tempdir()?;
    let write = |own: f64| {
        write_run(dir.path(), |_, _, evaluation| {
            for row in evaluation.fidelity.iter_mut().filter(|r| r.level == "amount") {
                match (row.role, row.scorer.as_str()) {
                    (Role::Student, _) => row.top1 = certain(own),
                    (_, "smallest remaining_work") => {
                        (row.scorer, row.top1) = ("largest amount".to_owned(), certain(1.0));
                    }
                    _ => {}
                }
                row.executed = None;
            }
        })
    };
    write(1.0)?;
    let html = page(dir.path())?;
    let trust = sentences::section(&html, "trust");
    assert!(trust.contains("(in all 14,403 choices). The rules found here always choose the same: there is nothing else to learn at this level."), "{trust}");
    assert!(!html.contains("id=\"fidelity-amount\"") && html.contains("id=\"fidelity-stage\""));
    assert!(trust.contains("All fidelity figures at level amount"), "the table stays");
    // Rules that miss some of it are drawn.
    write(0.9)?;
    assert!(page(dir.path())?.contains("id=\"fidelity-amount\""));
    Ok(())
}

#[test]
fn where_all_heuristics_always_agree_a_sentence_says_so() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let (html, _) = report(dir.path(), "likeness-job")?;
    assert!(html.contains("id=\"likeness-job\"") && !html.contains("there is nothing to choose"));
    let path = dir.path().join("explanation.json");
    let mut explanation: Explanation = serde_json::from_slice(&fs::read(&path)?)?;
    let mut choices = 0;
    for group in explanation.levels[0].likeness.chunk_by_mut(|a, b| a.kind == b.kind) {
        choices += group[0].choices;
        group.iter_mut().for_each(|l| (l.teacher, l.student, l.behind) = (certain(1.0), certain(1.0), None));
    }
    fs::write(&path, serde_json::to_vec(&explanation)?)?;
    let html = page(dir.path())?;
    assert!(
        html.contains(&format!(
            "Every known heuristic agrees here in all {choices} choices: there is nothing to choose."
        ))
    );
    assert!(!html.contains("id=\"likeness-job\""));
    Ok(())
}

#[test]
fn episodes_without_jobs_are_told_and_judge_nobody() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| {
        let closed_loop = evaluation.closed_loop.as_mut().expect("the fixture has one");
        closed_loop.empty_episodes = vec![2, 5, 7];
        evaluation.other_workloads = vec![closed_loop_on("builtin,edge=wide", 90_000.0, 0)];
    })?;
    let html = page(dir.path())?.replace('\u{a0}', " ");
    assert!(html.contains("In 3 of the episodes no job arrived:"), "the paragraph");
    assert!(html.contains("20 test, 3 without a job"), "the table of workloads");
    write_run(dir.path(), |_, _, evaluation| {
        let closed_loop = evaluation.closed_loop.as_mut().expect("the fixture has one");
        closed_loop.empty_episodes = (0..closed_loop.episodes).collect();
        for policy in &mut closed_loop.policies {
            (policy.stalled, policy.stalls, policy.empty) = (0, Default::default(), closed_loop.episodes);
            policy.figures.values_mut().for_each(|figure| *figure = None);
            policy.episode_objective.iter_mut().for_each(|value| *value = None);
            policy.completion_quantiles_ms.clear();
        }
        closed_loop.comparisons.iter_mut().for_each(|pair| pair.figures.values_mut().for_each(|figure| *figure = None));
    })?;
    let html = page(dir.path())?;
    assert!(html.contains("had nothing to do: no job arrived."));
    assert!(!html.contains("it stalls") && !html.contains("which stalled") && !html.contains("an episode stalled"));
    assert!(fs::read_to_string(dir.path().join("report/model_card.md"))?.contains("no job arrived"));
    Ok(())
}

#[test]
fn two_policies_that_do_alike_are_not_drawn_episode_by_episode() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| {
        let closed_loop = evaluation.closed_loop.as_mut().expect("the fixture has one");
        let same = closed_loop.policies[0].episode_objective.clone();
        closed_loop.policies[1].episode_objective = same;
    })?;
    let html = page(dir.path())?;
    assert!(html.contains("The two do exactly alike in every episode: there is nothing to draw."));
    assert!(!html.contains("id=\"paired-episodes\""));
    Ok(())
}
