//! Fitting, choosing and understanding models, from the command line.

use crate::program::{TINY, done, record, refused, run, text};
use sched_distill::{evaluator::Evaluation, explainer::Explanation, model::Student};
use serde_json::Value;
use std::fs;

#[test]
fn a_teacher_is_identified_and_its_exceptions_schedule() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "8", "train");
    record(dir, "validation", "4", "validation");
    let said = done(dir, &["identify", "train"]);
    assert!(said.contains("* ") && said.contains("choices of level job it acts as"), "{said}");
    assert!(said.contains("jobs_in_system <= "), "{said}");
    let lines = done(dir, &["--json", "identify", "train", "--rule", "mine=job: is_source last, largest age"]);
    let found: Value = serde_json::from_str(&lines).unwrap();
    let rows = found["rows"].as_array().unwrap();
    assert!(rows.iter().any(|r| r["rule"] == "mine" && r["regimes"].as_array().is_some_and(|p| !p.is_empty())));
    let search = ["identify", "train", "--validation", "validation", "--exceptions", "fair", "--exceptions", "best"];
    let said = done(dir, &[&search[..], &["-o", "rules.json", "-j", "1"]].concat());
    assert!(said.contains("written to rules.json") && said.contains("but "), "{said}");
    done(dir, &[&search[..], &["-o", "again.json", "-j", "2"]].concat());
    assert_eq!(fs::read(dir.join("rules.json")).unwrap(), fs::read(dir.join("again.json")).unwrap());
    let said = done(dir, &["evaluate", "rules.json", "validation"]);
    assert!(said.contains("of all departures"), "{said}");
    done(dir, &["simulate", "-p", "student:rules.json", "-w", TINY, "-n", "2"]);
    assert!(done(dir, &["list", "rules"]).contains("shortest-job"));
    refused(dir, &["identify", "train", "--exceptions", "sjf"], &["no rule `sjf`", "shortest-job"]);
    refused(dir, &["identify", "train", "--rule", "x=job: smallest colour"], &["no feature `colour`"]);
    refused(dir, &["identify", "train", "--exceptions", "best", "--kind", "forced"], &["no kind `forced`", "free"]);
}

#[test]
fn every_learner_is_fitted_compared_and_can_schedule() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "8", "train");
    record(dir, "test", "4", "test");
    let names = "tree,linear,linear-tree,logit,pairwise-tree,linfa-trees";
    fs::write(dir.join("two.json"), r#"{"interactions": [["remaining_work", "jobs_in_system"]]}"#).unwrap();
    let two = ["--params", "two.json", "--use", "logit", "--max-leaves", "16"];
    let args = ["fit", "train", "-o", "s.json", "--learner", names];
    let fitted = done(dir, &[&args[..], &two[..]].concat());
    let compared = done(dir, &["evaluate", "s.json", "test"]);
    for name in names.split(',') {
        assert!(fitted.contains(name) && compared.contains(name), "{name}: {fitted}{compared}");
        let policy = format!("student:s.json,model={name}");
        assert!(done(dir, &["simulate", "-p", &policy, "-w", TINY, "-n", "2"]).contains("student:s.json"));
    }
    assert!(done(dir, &["inspect", "s.json"]).contains("pairwise-tree"));
    let student = Student::load(&dir.join("s.json")).unwrap();
    assert_eq!(student.level("job").unwrap().used, "logit");
    let noted = text(&run(dir, &["fit", "train", "-o", "logit.json", "--learner", "logit"]).stderr);
    assert!(noted.contains("note: level job: no part of the logit") && noted.contains("jobs_in_system"), "{noted}");
    // The file does not depend on the number of threads; what is fitted besides does not change a model.
    let again = args.map(|a| if a == "s.json" { "again.json" } else { a });
    done(dir, &[&again[..], &two[..], &["-j", "1"]].concat());
    let [first, second] = ["s.json", "again.json"].map(|path| {
        let mut student = Student::load(&dir.join(path)).unwrap();
        // Fits of linfa-trees differ from one to the next.
        student.levels.iter_mut().for_each(|l| l.models.retain(|m| m.name != "linfa-trees"));
        student.provenance.fidelity.retain(|name, _| !name.contains("linfa-trees"));
        student.to_json()
    });
    assert_eq!(first, second);
    let params = r#"{"engine": {"histogram": {"max_bins": 255}}, "round_thresholds": false, "ccp_alpha": 1e-4, "max_leaf_nodes": 99}"#;
    fs::write(dir.join("params.json"), params).unwrap();
    let options = ["--params", "params.json", "--max-leaves", "16"];
    done(dir, &[&["fit", "train", "-o", "options.json"][..], &options].concat());
    done(dir, &["fit", "train", "-o", "plain.json", "--max-leaves", "16"]);
    assert_ne!(fs::read(dir.join("options.json")).unwrap(), fs::read(dir.join("plain.json")).unwrap());
    // The first learner schedules where none is named.
    fs::write(dir.join("logit.json"), r#"{"learners": ["logit", "tree"]}"#).unwrap();
    done(dir, &["fit", "train", "-o", "first.json", "--params", "logit.json"]);
    assert_eq!(Student::load(&dir.join("first.json")).unwrap().level("job").unwrap().used, "logit");
    // An option counts for more than the file.
    let params = &Student::load(&dir.join("options.json")).unwrap().provenance.parameters;
    assert_eq!((&params["max_leaf_nodes"], &params["ccp_alpha"]), (&16.into(), &1e-4.into()));
    let plain = Student::load(&dir.join("plain.json")).unwrap();
    for (level, more) in plain.levels.iter().zip(&student.levels) {
        assert_eq!(level.models, more.models[..2]);
        assert_eq!(level.used, "tree");
    }
}

#[test]
fn sizes_are_chosen_from_the_front_and_features_selected() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "6", "train");
    record(dir, "validation", "3", "validation");
    let learners = ["--learner", "tree,spline-logit,logit"];
    let front =
        ["front", "train", "--validation", "validation", "-o", "front", "--max-size", "12", "--max-choices", "800"];
    let printed = done(dir, &[&front[..], &learners, &["-t", "fair", "-w", TINY, "-n", "2"]].concat());
    assert!(printed.contains("total size") && printed.contains("mean JCT ÷ teacher"), "{printed}");
    let whole: Value = serde_json::from_str(&fs::read_to_string(dir.join("front/front.json")).unwrap()).unwrap();
    for total in whole["totals"].as_array().unwrap() {
        let student = Student::load(&dir.join(total["student"].as_str().unwrap())).unwrap();
        assert_eq!(total["size"], student.size());
        assert!(student.size() <= 12);
    }
    let fit = ["fit", "train", "--validation", "validation", "-o", "small.json", "--max-choices", "800"];
    done(dir, &[&fit[..], &learners, &["--max-size", "12"]].concat());
    let levels = |path| Student::load(&dir.join(path)).unwrap().levels;
    let last = whole["totals"].as_array().unwrap().last().unwrap()["student"].as_str().unwrap();
    assert_eq!(levels("small.json"), levels(last), "both take the best of size 12");
    done(
        dir,
        &[&fit[..], &learners, &["--min-fidelity", "job/all/top1=0.1,stage/all/top1=0.1,amount/all/top1=0.1"]].concat(),
    );
    let gate = |gate: &'static str| [&fit[..], &learners, &["--min-fidelity", gate]].concat();
    refused(dir, &gate("job/all/top1=1.1"), &["job/all/top1=1.1 is out of reach", "raise the size (--max-size)"]);
    refused(dir, &gate("job/huge/top1=0.1"), &["no choices of level `job`, kind `huge`", "affinity, all, free"]);
    let printed =
        done(dir, &["features", "train", "--level", "job", "--families", "2", "--folds", "3", "--max-choices", "300"]);
    assert!(printed.contains("family left out") && printed.contains("--features "), "{printed}");
    refused(dir, &["features", "train", "--folds", "9"], &["6 episodes cannot be divided into 9 folds"]);
}

#[test]
fn an_evaluation_tells_where_the_student_departs() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "6", "train");
    record(dir, "test", "6", "test");
    done(dir, &["fit", "train", "-o", "s.json", "--max-leaves", "2"]);
    let lines = done(dir, &["--json", "evaluate", "s.json", "test", "--selection", "train"]);
    let evaluation: Value = serde_json::from_str(&lines).unwrap();
    let candidates: Vec<u64> =
        evaluation["leads"].as_array().unwrap().iter().map(|l| l["candidates"].as_u64().unwrap()).collect();
    assert!(candidates.contains(&2) && candidates.contains(&5), "{candidates:?}");
    let said = done(dir, &["evaluate", "s.json", "test", "--selection", "train"]);
    assert!(said.contains("ahead of the best single-feature rule"), "{said}");
    let evaluate = ["evaluate", "s.json", "test", "--disagreement", "--max-regions", "3"];
    let said = done(dir, &[&evaluate[..], &["-o", "e.json", "-j", "1"]].concat());
    assert!(said.contains("found on 3 episodes, measured on") && said.contains("of the regret"), "{said}");
    let lines = done(dir, &[&["--json"], &evaluate[..], &["-o", "again.json", "-j", "2"]].concat());
    assert_eq!(fs::read(dir.join("e.json")).unwrap(), fs::read(dir.join("again.json")).unwrap());
    let evaluation: Value = serde_json::from_str(&lines).unwrap();
    let levels = evaluation["disagreement"].as_array().unwrap();
    assert_eq!(levels[0]["level"], "job");
    for level in levels {
        let regions = level["regions"].as_array().unwrap();
        assert!((1..=3).contains(&regions.len()));
        let choices: u64 = regions.iter().map(|r| r["choices"].as_u64().unwrap()).sum();
        assert_eq!(choices, level["choices"].as_u64().unwrap());
    }
    // Files without regions are read as before, and those with them too.
    for name in ["e.json", "old.json"] {
        let read: Evaluation = serde_json::from_slice(&fs::read(dir.join("e.json")).unwrap()).unwrap();
        let kept =
            if name == "e.json" { read.clone() } else { Evaluation { disagreement: Vec::new(), ..read.clone() } };
        let text = serde_json::to_string(&kept).unwrap();
        assert_eq!(text.contains("\"disagreement\""), name == "e.json");
        assert_eq!(serde_json::from_str::<Evaluation>(&text).unwrap(), kept);
    }
    refused(dir, &["evaluate", "s.json", "-t", "sjf", "-w", TINY, "--disagreement"], &["--disagreement needs a trace"]);
    refused(dir, &[&evaluate[..4], &["--max-leaves", "0"]].concat(), &["max-leaves"]);
    record(dir, "one", "1", "test");
    refused(dir, &["evaluate", "s.json", "one", "--disagreement"], &["needs two episodes or more", "one"]);
}

#[test]
fn a_flat_student_is_fitted_shown_compared_and_exported() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "6", "train");
    record(dir, "test", "4", "test");
    let fit = ["fit", "train", "--learner", "linear"];
    done(dir, &[&fit[..], &["-o", "s.json"]].concat());
    done(dir, &[&fit[..], &["-o", "flat.json", "--structure", "flat"]].concat());
    let file = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    assert!(!file("s.json").contains("\"structure\"") && file("flat.json").contains("\"structure\": \"flat\""));
    assert_eq!(Student::load(&dir.join("flat.json")).unwrap().to_json(), file("flat.json"));
    for (name, structure) in [("s.json", "hierarchical"), ("flat.json", "flat")] {
        assert!(done(dir, &["inspect", name]).contains(&format!("structure  {structure}")));
        let said = done(dir, &["evaluate", name, "test", "-o", "e.json", "--force"]);
        assert!(said.contains(&format!("decisions, {structure}")) && said.contains("take what was executed"), "{said}");
        let evaluation: Evaluation = serde_json::from_str(&file("e.json")).unwrap();
        let departures = evaluation.departures.unwrap();
        assert_eq!(departures.structure.name(), structure);
        let departed: f64 = departures.rows.iter().map(|r| r.share.value).sum();
        assert!((departures.joint.value + departed - 1.0).abs() < 1e-9);
    }
    assert!(
        done(dir, &["diff", "s.json", "flat.json", "-w", TINY, "-n", "2"]).contains("A is hierarchical, B is flat")
    );
    assert!(done(dir, &["export", "flat.json", "--to", "c"]).contains("those above the amount are asked at once"));
    let patch =
        ["patch", "s.json", "--structure", "flat", "-w", TINY, "-n", "2", "--trace", "test", "-o", "p.json", "--force"];
    assert!(done(dir, &patch).contains("whole decisions, amounts aside, that are those executed: "));
    let parameters = |name: &str| Student::load(&dir.join(name)).unwrap().provenance.parameters;
    assert_eq!(parameters("flat.json")["structure"], "flat");
    let models = |name: &str| Student::load(&dir.join(name)).unwrap().levels;
    assert_eq!(models("p.json"), models("flat.json"));
    refused(dir, &[&fit[..], &["-o", "x.json", "--structure", "round"]].concat(), &["'round' for '--structure"]);
    let median = file("flat.json").replacen("\"use\"", "\"pick\": \"median\", \"use\"", 1);
    fs::write(dir.join("median.json"), median).unwrap();
    refused(dir, &["inspect", "median.json"], &["level `job`", "the most probable path"]);
    // A teacher without probabilities tells nothing of the jobs that it does not choose.
    done(dir, &["record", "-p", "sjf", "-w", TINY, "-n", "2", "-o", "plain"]);
    let said = done(dir, &["--json", "evaluate", "flat.json", "plain"]);
    assert!(!said.contains("\"departures\""), "{said}");
}

#[test]
fn a_student_is_fitted_again_on_other_draws_of_its_episodes() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "8", "train");
    record(dir, "test", "4", "test");
    done(dir, &["fit", "train", "-o", "student.json", "--max-leaves", "8"]);
    let explain = ["explain", "student.json", "test", "--run", "run", "--choices", "200", "--decisions", "6"];
    let said = done(dir, &[&explain[..], &["--train", "train", "--resamples", "3"]].concat());
    assert!(said.contains("fitted again 3 times, each on 8 training episodes drawn with replacement"), "{said}");
    let read =
        || -> Explanation { serde_json::from_slice(&fs::read(dir.join("run/explanation.json")).unwrap()).unwrap() };
    let found = read().stability;
    assert_eq!(found.iter().map(|l| l.level.as_str()).collect::<Vec<_>>(), ["job", "stage", "amount"]);
    for level in &found {
        assert_eq!((level.model.as_str(), level.episodes, level.sizes.len()), ("tree", 8, 3));
        let all = level.agreement.last().unwrap();
        assert!(all.kind == "all" && all.student.least > 0.3 && all.student.largest <= 1.0 + 1e-9, "{all:?}");
        let roots: f64 = level.families.iter().filter_map(|f| f.root).sum();
        // A tree without a split asks nothing first.
        assert!((0.0..=1.0 + 1e-9).contains(&roots), "{:?}", level.families);
    }
    // Another trace than the student's, and a student that was edited, are left as they are, with a note.
    let noted = |args: &[&str], words: &str| {
        let output = run(dir, args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    };
    noted(&[&explain[..], &["--train", "test"]].concat(), "note: test: the student was not fitted on this trace");
    assert!(read().stability.is_empty());
    let mut edited: Value = serde_json::from_slice(&fs::read(dir.join("student.json")).unwrap()).unwrap();
    edited["provenance"]["parameters"] = serde_json::json!({"depth": 3});
    fs::write(dir.join("foreign.json"), edited.to_string()).unwrap();
    let foreign = ["explain", "foreign.json", "test", "--choices", "50", "--decisions", "3", "--train", "train"];
    noted(&foreign, "note: the student cannot be fitted again: the parameters of its fit cannot be read back");
    refused(dir, &["explain", "student.json", "test", "--resamples", "4"], &["required arguments"]);
}
