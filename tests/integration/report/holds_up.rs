//! "Does it hold up?": the numbers behind its charts, and runs that lack them.

use super::{
    Outcome,
    fixture::{closed_loop, write_run},
    report,
};
use sched_distill::{
    evaluator::{BySize, Estimate, Evaluation, IdleSpell, OfSize, PairedTail, Schedule, WorstEpisode},
    report::write_report,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

#[test]
fn the_distribution_has_the_quantiles_of_at_most_six_policies() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| {
        let policies = &mut evaluation.closed_loop.as_mut().expect("the fixture has one").policies;
        for name in ["fast", "slow"] {
            let mut more = policies[3].clone();
            more.policy = name.into();
            let factor = if name == "fast" { 0.1 } else { 10.0 };
            more.completion_quantiles_ms.iter_mut().for_each(|t| *t *= factor);
            policies.push(more);
        }
    })?;
    let (html, numbers) = report(dir.path(), "completion-times")?;
    let policies = numbers["policies"].as_array().ok_or("a list")?;
    let names: Vec<&str> = policies.iter().filter_map(|p| p["policy"].as_str()).collect();
    let expected =
        ["decima:model.pt,mode=sample", "student:student.json", "fast", "weighted-fair,alpha=-1", "fair", "slow"];
    assert_eq!(names, expected, "teacher, student, then the best heuristics; those that stalled come last");
    assert_eq!(policies[1]["completion_quantiles_ms"][0], json!(8_190.0));
    assert_eq!(policies[1]["completion_quantiles_ms"].as_array().map(Vec::len), Some(101));
    assert!(html.contains("Not drawn:\nrandom.") && !html.contains("which flatters it"), "the stalled one is left out");
    Ok(())
}

#[test]
fn episodes_are_paired_and_sorted() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| {
        let policies = &mut evaluation.closed_loop.as_mut().expect("the fixture has one").policies;
        policies[0].episode_objective = vec![Some(100.0), Some(50.0), None, Some(10.0), Some(0.0)];
        policies[1].episode_objective = vec![Some(150.0), Some(25.0), Some(1.0), Some(10.0), Some(1.0)];
    })?;
    let (html, numbers) = report(dir.path(), "paired-episodes")?;
    let expected = json!([{"episode": 1, "ratio": 0.5}, {"episode": 3, "ratio": 1.0}, {"episode": 0, "ratio": 1.5}]);
    assert_eq!((&numbers["episodes"], &numbers["better"]), (&expected, &json!(1)));
    assert!(html.contains("<b>1 of 3</b>") && html.contains("2 episodes that one of the two did not finish are"));
    Ok(())
}

#[test]
fn who_waits_longest_is_told_with_the_sizes_of_jobs() -> Outcome {
    let dir = tempfile::tempdir()?;
    let e = |value: f64| Estimate { value, low: value - 0.02, high: value + 0.02 };
    write_run(dir.path(), |_, _, evaluation| {
        let closed_loop = evaluation.closed_loop.as_mut().expect("the fixture has one");
        let pair = closed_loop.comparisons.first_mut().expect("the student beside the teacher");
        assert_eq!(pair.policy, "student:student.json");
        let worst_episode = WorstEpisode { episode: 17, compared: 1.4 };
        pair.tail = Some(PairedTail { p95: e(0.99), p99: e(1.18), slowest: e(1.21), worst_episode });
        let class = |size: f64| OfSize { sizes: [size, 1.9 * size], jobs: 100, time: e(0.9 + size / 1.2e5) };
        let classes = [1e3, 2e3, 4e3, 8e3, 16e3].map(class).to_vec();
        pair.by_size = Some(BySize { label: "work".to_owned(), unit: "ms".to_owned(), classes, halves: None });
    })?;
    let (html, numbers) = report(dir.path(), "by-size")?;
    assert_eq!(numbers["by_size"]["classes"].as_array().map(Vec::len), Some(5));
    let text = html.replace('\u{a0}', " ");
    assert!(text.contains("(ratio 1.180 [1.160, 1.200])"), "before deploying");
    assert!(
        text.contains("In its worst episode, number 17, its mean JCT is 1.400 × that of the teacher."),
        "the worst episode"
    );
    assert!(
        text.contains("of 1 surely take longer than under the teacher, of 4 surely less long"),
        "the picture in words"
    );
    // Without them nothing is said.
    write_run(dir.path(), |_, _, _| ())?;
    let (html, _) = report(dir.path(), "closed-loop")?;
    assert!(!html.contains("id=\"by-size\"") && !html.contains("Who waits longest</dt>"));
    Ok(())
}

#[test]
fn the_longest_idle_spells_are_on_the_page() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| {
        let policies = &mut evaluation.closed_loop.as_mut().expect("the fixture has one").policies;
        policies[0].longest_idle = Some(IdleSpell { ms: 4_000.0, episode: 3 });
        policies[1].longest_idle = Some(IdleSpell { ms: 96_000.0, episode: 17 });
    })?;
    let (html, _) = report(dir.path(), "closed-loop")?;
    let text = html.replace('\u{a0}', " ");
    assert!(text.contains("was 96 s under the student (episode 17), under the teacher 4 s."), "the sentence");
    assert!(
        text.contains("96 s<small>episode 17</small>") && text.contains("4 s<small>episode 3</small>"),
        "the table"
    );
    // Without a measurement nothing is said of it.
    write_run(dir.path(), |_, _, _| ())?;
    assert!(!report(dir.path(), "closed-loop")?.0.contains("idle spell"));
    Ok(())
}

#[test]
fn work_over_time_adds_up() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, _| ())?;
    let (_, numbers) = report(dir.path(), "utilisation")?;
    let schedules: Vec<Schedule> = serde_json::from_slice(&fs::read(dir.path().join("schedules.json"))?)?;
    let bin = numbers["bin_ms"].as_f64().ok_or("a length")?;
    for (schedule, shown) in schedules.iter().zip(numbers["policies"].as_array().ok_or("a list")?) {
        let work: f64 = schedule.runs.iter().map(|r| r.end_ms - r.start_ms).sum();
        let end = shown["end_ms"].as_f64().ok_or("an end")?;
        let busy: Vec<f64> = serde_json::from_value(shown["busy"].clone())?;
        assert!((80..=200).contains(&busy.len()), "{} bins", busy.len());
        let lengths = (0..busy.len()).map(|i| (end - i as f64 * bin).min(bin));
        let sum: f64 = busy.iter().zip(lengths).map(|(share, length)| share * length * f64::from(schedule.lanes)).sum();
        assert!((sum / work - 1.0).abs() < 1e-9, "{sum} {work}");
    }

    let stretch: Value = serde_json::from_slice(&fs::read(dir.path().join("report/data/by-job.json"))?)?;
    let number = |name: &str| stretch[name].as_f64().unwrap_or(f64::NAN);
    let (start, end, bin) = (number("start_ms"), number("end_ms"), number("bin_ms"));
    for (schedule, shown) in schedules.iter().zip(stretch["schedules"].as_array().ok_or("a list")?) {
        let work: f64 = schedule.runs.iter().map(|r| (r.end_ms.min(end) - r.start_ms.max(start)).max(0.0)).sum();
        let jobs = shown["jobs"].as_array().ok_or("a list")?;
        let all = jobs.iter().flat_map(|j| j["busy"].as_array().into_iter().flatten()).filter_map(Value::as_f64);
        assert!((all.sum::<f64>() * bin / work - 1.0).abs() < 1e-9);
        assert!(jobs.len() <= 9 && jobs.iter().filter(|j| j["job"].is_null()).count() <= 1);
    }
    Ok(())
}

#[test]
fn other_workloads_stand_beside_the_runs_own() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| {
        evaluation.other_workloads = vec![
            closed_loop("tpch:a/b/profiles.json.gz,edge=giant", 71_460.0, 0),
            closed_loop("tpch:a/b/profiles.json.gz,edge=wide", 90_000.0, 2),
        ];
        if let Some(own) = &mut evaluation.closed_loop {
            own.workload = "tpch:a/b/profiles.json.gz".into();
        }
    })?;
    let (html, numbers) = report(dir.path(), "workloads")?;
    let of = |place: usize, name: &str| numbers[place][name].clone();
    assert_eq!(of(1, "workload"), "tpch:profiles.json.gz,edge=giant");
    // Table and chart name a workload by what tells it from the others, as the command line does; the id stands below.
    assert_eq!((of(1, "name"), of(2, "name")), (json!("edge=giant"), json!("edge=wide")));
    assert!(html.contains("edge=giant<br><small>tpch:profiles.json.gz,edge=giant</small>"), "the table");
    let ratio = of(1, "student_to_teacher")["value"].as_f64().ok_or("a ratio")?;
    assert!((ratio - 0.9).abs() < 1e-12);
    assert_eq!((of(1, "heuristic"), of(2, "student_to_teacher")), (json!("weighted-fair,alpha=-1"), Value::Null));
    assert!(html.contains("student stalled in 2 of 20") && !html.contains("not run on other workloads"));
    Ok(())
}

/// Workloads that differ in one number make a curve over it, in order of the number, whatever others there are.
#[test]
fn workloads_that_differ_in_a_number_make_a_curve() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| {
        evaluation.other_workloads = vec![
            closed_loop("builtin,rate=3e-5,jobs=50", 90_000.0, 0),
            closed_loop("builtin,jobs=50,rate=1e-5", 71_460.0, 0),
            closed_loop("builtin,jobs=50,rate=2e-5,edge=wide", 90_000.0, 0),
            closed_loop("builtin,jobs=50,rate=2e-5", 80_000.0, 3),
        ];
    })?;
    let (html, numbers) = report(dir.path(), "curve-1")?;
    assert_eq!(numbers["parameter"], "rate");
    let values = |points: &Value| -> Vec<f64> {
        points.as_array().into_iter().flatten().filter_map(|point| point["value"].as_f64()).collect()
    };
    assert_eq!(values(&numbers["workloads"]), [1e-5, 2e-5, 3e-5]);
    let policies = numbers["policies"].as_array().ok_or("a list")?;
    let of = |name: &str| policies.iter().find(|p| p["policy"].as_str().is_some_and(|p| p.starts_with(name)));
    let student = of("student").ok_or("the student has a line")?;
    let first = student["points"][0]["figure"]["value"].as_f64().ok_or("a figure")?;
    assert!((first - 71_460.0).abs() < 1e-6, "{first}");
    assert_eq!(values(&student["points"]), [1e-5, 3e-5], "where it stalled it has no figure");
    assert_eq!(values(&of("decima").ok_or("so has the teacher")?["points"]).len(), 3);
    assert!(html.contains("differ in this number only"));
    // Two make no curve.
    write_run(dir.path(), |_, _, evaluation| {
        evaluation.other_workloads =
            ["1e-5", "2e-5"].map(|rate| closed_loop(&format!("builtin,rate={rate}"), 9e4, 0)).to_vec();
    })?;
    let summary = write_report(dir.path(), &dir.path().join("report"))?;
    assert!(!summary.charts.iter().any(|path| path.to_string_lossy().contains("curve-")));
    Ok(())
}

#[test]
fn what_was_not_run_is_said_with_the_command_that_runs_it() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_run(dir.path(), |_, _, evaluation| {
        for policy in &mut evaluation.closed_loop.as_mut().expect("the fixture has one").policies {
            policy.completion_quantiles_ms.clear();
            policy.episode_objective.fill(None);
        }
    })?;
    let summary = write_report(dir.path(), &dir.path().join("report"))?;
    let html = fs::read_to_string(&summary.page)?;
    for words in [
        "The completion times of single jobs were not kept",
        "There is no episode that both the teacher and the student finished.",
        "-w WORKLOAD --edge-cases --run RUN_DIR</code> runs",
    ] {
        assert!(html.contains(words), "{words}");
    }
    Ok(())
}

/// Empty and extreme figures are drawn or left out, but never break the page.
#[test]
fn odd_figures_draw_what_there_is() -> Outcome {
    let dir = tempfile::tempdir()?;
    let drawn = |edit: fn(&mut Evaluation)| -> Result<Vec<String>, Box<dyn std::error::Error>> {
        write_run(dir.path(), |_, _, evaluation| edit(evaluation))?;
        let summary = write_report(dir.path(), &dir.path().join("report"))?;
        let stem = |p: &Path| p.file_stem().map_or(String::new(), |s| s.to_string_lossy().into_owned());
        Ok(summary.charts.iter().map(|p| stem(p)).collect())
    };
    let has = |charts: &[String], name: &str| charts.iter().any(|c| c == name);
    // One episode, one job.
    let one = drawn(|e| {
        let policies = &mut e.closed_loop.as_mut().expect("the fixture has one").policies;
        for p in policies.iter_mut() {
            p.episode_objective = vec![Some(5.0)];
            p.completion_quantiles_ms = vec![5.0; 101];
        }
        policies[1].episode_objective = vec![Some(4.0)];
    })?;
    assert!(has(&one, "paired-episodes") && has(&one, "completion-times"));
    // Jobs that take no time, and ratios far apart.
    let far = drawn(|e| {
        let policies = &mut e.closed_loop.as_mut().expect("the fixture has one").policies;
        policies[0].completion_quantiles_ms = vec![0.0; 101];
        policies[1].completion_quantiles_ms = (0..=100).map(|i| f64::from(i) * 1e12).collect();
        policies[1].episode_objective = (0..20).map(|i| Some(10f64.powi(i - 5))).collect();
    })?;
    assert!(has(&far, "paired-episodes") && has(&far, "completion-times"));
    let nobody = drawn(|e| {
        let result = e.closed_loop.as_mut().expect("the fixture has one");
        (result.policies, result.comparisons) = (Vec::new(), Vec::new());
        e.other_workloads = vec![result.clone()];
    })?;
    assert!(has(&nobody, "workloads") && !has(&nobody, "paired-episodes"));
    Ok(())
}

#[test]
fn broken_times_are_refused_by_name() -> Outcome {
    let dir = tempfile::tempdir()?;
    let said = |edit: fn(&mut Evaluation)| -> Result<String, Box<dyn std::error::Error>> {
        write_run(dir.path(), |_, _, evaluation| edit(evaluation))?;
        Ok(write_report(dir.path(), &dir.path().join("report")).err().map(|e| e.to_string()).unwrap_or_default())
    };
    let short = said(|e| e.closed_loop.iter_mut().for_each(|c| c.policies[0].completion_quantiles_ms = vec![1.0; 7]))?;
    assert!(
        short.contains("evaluation.json: policy `decima:model.pt,mode=sample`: completion_quantiles_ms holds 7"),
        "{short}"
    );
    let negative = said(|e| {
        e.other_workloads = vec![closed_loop("w", 1.0, 0)];
        e.other_workloads[0].policies[1].episode_objective[3] = Some(-2.0);
    })?;
    assert!(negative.contains("episode_objective holds -2, expected numbers from 0 to 1e15"), "{negative}");
    Ok(())
}
