//! `distill attack`: what an edit cannot change it does not change, what can be gamed is found, and the same command finds the same.

use crate::{common::files, program};
use serde_json::Value;
use std::{collections::BTreeSet, error::Error, fs, path::Path};

type Outcome = Result<(), Box<dyn Error>>;

const SMALL: [&str; 8] = ["-w", "builtin,jobs=12", "-n", "10", "--targets", "3", "--seed", "3"];

fn distill(args: &[&str]) -> std::process::Output {
    program::run(Path::new("."), args)
}

fn attack(dir: &Path, more: &[&str]) -> (i32, String) {
    attack_on(dir, SMALL, more)
}

fn attack_on(dir: &Path, workload: [&str; 8], more: &[&str]) -> (i32, String) {
    let dir = dir.to_str().expect("a folder's name");
    let args: Vec<&str> = ["attack", "-o", dir].into_iter().chain(workload).chain(more.iter().copied()).collect();
    let done = distill(&args);
    let text = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    (done.status.code().unwrap_or(-1), text.into_owned())
}

/// All attempts, episode by episode.
fn attempts(dir: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut all = Vec::new();
    for (name, bytes) in files(dir) {
        if name.starts_with("episodes/") {
            let found: Value = serde_json::from_slice(&bytes)?;
            all.extend(found["attempts"].as_array().cloned().unwrap_or_default());
        }
    }
    Ok(all)
}

fn figures(dir: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    let found: Value = serde_json::from_slice(&fs::read(dir.join("attack.json"))?)?;
    Ok(found["figures"].as_array().cloned().unwrap_or_default())
}

#[test]
fn who_ignores_durations_cannot_be_gamed_by_them() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (code, text) = attack(dir.path(), &["-p", "fifo", "--edits", "duration", "--method", "query,random"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("no method did better against fifo than random edits"), "{text}");
    let all = attempts(dir.path())?;
    assert_eq!(all.len(), 10 * 3 * 2);
    for attempt in all {
        assert_eq!(attempt["edits"][0]["sort"], "duration");
        let [before, after] = [0, 1].map(|i| attempt["completion_ms"][i].clone());
        assert!(before == after && before.is_number(), "{attempt}");
        assert_eq!(attempt["others_ms"][0], attempt["others_ms"][1]);
    }
    Ok(())
}

#[test]
fn shortest_job_first_is_gamed_by_declaring_less() -> Outcome {
    let dir = tempfile::tempdir()?;
    let more =
        ["-p", "sjf,temperature=0.3", "--edits", "duration", "-w", "builtin,jobs=30,rate=8e-5", "--targets", "8"];
    let (code, text) = attack(dir.path(), &more[..4]);
    assert_eq!(code, 0, "{text}");
    let all = attempts(dir.path())?;
    let of = |method: &str| all.iter().filter(|a| a["method"] == method).cloned().collect::<Vec<_>>();
    for attempt in of("gradient") {
        assert!(attempt["edits"][0]["factor"].as_f64() < Some(1.0), "less declared work is served sooner: {attempt}");
        assert!(attempt["promised"].as_f64() >= Some(0.0) && attempt["queries"].as_u64() > Some(0));
    }
    let mean = |method: &str| {
        let found = figures(dir.path()).unwrap_or_default();
        found.iter().find(|f| f["method"] == method).and_then(|f| f["change"]["value"].as_f64()).unwrap_or(f64::NAN)
    };
    assert!(mean("gradient") < 0.0 && mean("gradient") < mean("random"), "{text}");
    Ok(())
}

#[test]
fn more_trials_are_never_worse_and_no_edit_is_made_that_brings_nothing() -> Outcome {
    let (one, many) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let of = ["-p", "srpt-fair", "--method", "random"];
    for (dir, trials) in [(&one, "2"), (&many, "12")] {
        let (code, text) = attack(dir.path(), &[&of[..], &["--trials", trials]].concat());
        assert_eq!(code, 0, "{text}");
    }
    let change = |a: &Value| Some(a["completion_ms"][1].as_f64()? - a["completion_ms"][0].as_f64()?);
    let (few, more) = (attempts(one.path())?, attempts(many.path())?);
    for (few, more) in few.iter().zip(&more) {
        assert!(change(more) <= change(few) && change(few) <= Some(0.0), "{few} {more}");
        assert_eq!(more["edits"].as_array().map(Vec::is_empty), Some(change(more) == Some(0.0)));
    }
    assert!(more.iter().any(|a| change(a) < Some(0.0)));
    Ok(())
}

#[test]
fn the_same_command_finds_the_same_and_goes_on_where_it_stopped() -> Outcome {
    let attack = |dir: &Path, more: &[&str]| {
        attack_on(dir, ["-w", "builtin,jobs=8", "-n", "5", "--targets", "2", "--seed", "3"], more)
    };
    let (one, two) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let of = ["-p", "decima", "--budget", "edits=2,duration=0.25", "--budget", "edits=1"];
    let (code, text) = attack(one.path(), &[&of[..], &["--threads", "1"]].concat());
    assert_eq!(code, 0, "{text}");
    assert_eq!(attack(two.path(), &[&of[..], &["--threads", "2"]].concat()).0, 0);
    let whole = files(one.path());
    assert_eq!(whole, files(two.path()));
    // Two edits, each within the budget.
    let attempt = attempts(one.path())?.into_iter().find(|a| a["budget"] == 0).ok_or("one")?;
    assert_eq!(attempt["edits"].as_array().map(Vec::len), Some(2));

    // What is missing or broken is made again, the rest is not.
    fs::remove_file(two.path().join("attack.json"))?;
    fs::remove_file(two.path().join("episodes/00004.json"))?;
    fs::write(two.path().join("episodes/00002.json"), "{\"episode\": 2, \"attem")?;
    assert_eq!(attack(two.path(), &of).0, 0);
    assert_eq!(files(two.path()), whole);

    // What was changed is not believed, and what an earlier version wrote without a check value is made again.
    let path = two.path().join("episodes/00003.json");
    let sound = fs::read_to_string(&path)?;
    let (before, after) = sound.split_once("\"queries\":").ok_or("a number")?;
    let changed = format!("{before}\"queries\":9{after}");
    fs::write(&path, &changed)?;
    let (code, text) = attack(two.path(), &of);
    let said = "00003.json: its `check` is not that of what it says, so that it was changed after distill wrote it; remove the file";
    assert!(code == 2 && text.contains(said), "{text}");
    fs::write(&path, changed.split_once(",\"check\"").ok_or("a check value")?.0.to_owned() + "}")?;
    assert_eq!(attack(two.path(), &of).0, 0);
    assert_eq!(files(two.path()), whole);

    let (code, text) = attack(two.path(), &["-p", "fair", "--method", "random"]);
    assert!(code == 2 && text.contains("holds another attack") && text.contains("--force"), "{text}");
    assert_eq!(files(two.path()), whole);
    assert_eq!(attack(two.path(), &["-p", "fair", "--method", "random", "--force"]).0, 0);
    assert_eq!(figures(two.path())?.len(), 1);
    Ok(())
}

#[test]
fn a_student_is_attacked_and_stands_in_for_another_scheduler() -> Outcome {
    let dir = tempfile::tempdir()?;
    let student = dir.path().join("student.json");
    let text = student.to_str().ok_or("a name")?;
    let trace = dir.path().join("trace");
    let trace = trace.to_str().ok_or("a name")?;
    let record = ["record", "-p", "sjf-cp,temperature=0.3", "-w", "builtin,jobs=12", "-n", "6", "-o", trace];
    assert!(distill(&record).status.success());
    assert!(distill(&["fit", trace, "-o", text, "--learner", "tree", "--max-leaves", "12"]).status.success());
    let victim = format!("student:{text}");
    let (code, said) = attack(&dir.path().join("own"), &["-p", &victim]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(figures(&dir.path().join("own"))?.len(), 4, "a student says how probable its choices are");
    let (code, said) = attack(&dir.path().join("proxy"), &["-p", "sjf-cp", "--proxy", text]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("`gradient` is left out: sjf-cp does not say how probable its choices are"), "{said}");
    let methods: Vec<Value> = figures(&dir.path().join("proxy"))?.iter().map(|f| f["method"].clone()).collect();
    assert_eq!(methods, ["query", "proxy", "random"]);
    Ok(())
}

#[test]
fn edits_that_were_found_elsewhere_are_made_again() -> Outcome {
    let dir = tempfile::tempdir()?;
    let [first, again, other] = ["first", "again", "other"].map(|name| dir.path().join(name));
    let (code, said) = attack(&first, &["-p", "sjf-cp", "--method", "query,random", "--budget", "edits=2"]);
    assert_eq!(code, 0, "{said}");
    let there = first.to_str().ok_or("a name")?;
    let take = |victim: &str, out: &Path| {
        let out = out.to_str().unwrap_or_default();
        let of = ["attack", "-p", victim, "-w", "builtin,jobs=12", "--seed", "3", "--edits-of", there, "-o", out];
        String::from_utf8_lossy(&distill(&of).stderr).into_owned()
    };
    // Against the same scheduler they bring the same, against another one something else.
    assert_eq!(take("sjf-cp", &again), "");
    assert_eq!(take("fifo", &other), "");
    let what = |dir: &Path, fields: &[&str]| -> Result<Vec<Vec<Value>>, Box<dyn Error>> {
        Ok(attempts(dir)?.iter().map(|a| fields.iter().map(|f| a[*f].clone()).collect()).collect())
    };
    let fields = ["job", "method", "edits", "completion_ms", "others_ms", "first_minute"];
    assert_eq!(what(&first, &fields)?, what(&again, &fields)?);
    assert_eq!(what(&first, &fields[..3])?, what(&other, &fields[..3])?);
    assert_ne!(what(&first, &fields)?, what(&other, &fields)?);
    assert_eq!(figures(&other)?.len(), 2);
    // Changed by hand, of other jobs, and of an attack that never ended.
    let path = first.join("episodes/00001.json");
    let sound = fs::read_to_string(&path)?;
    fs::write(&path, sound.replacen("\"queries\":", "\"queries\":9", 1))?;
    let said = take("sjf-cp", &dir.path().join("changed"));
    assert!(said.contains("00001.json: its `check`") && said.contains("out again with --force"), "{said}");
    fs::write(&path, sound)?;
    fs::remove_file(again.join("attack.json"))?;
    for (from, workload, says) in [
        (there, "builtin", "its attack was on the workload \"builtin,jobs=12\", not `builtin`"),
        (again.to_str().ok_or("a name")?, "builtin,jobs=12", "it holds no attack that was carried to its end"),
    ] {
        let out = dir.path().join("refused");
        program::refused(
            dir.path(),
            &["attack", "-p", "fifo", "-w", workload, "--edits-of", from, "-o", out.to_str().ok_or("a name")?],
            &[says],
        );
    }
    Ok(())
}

#[test]
fn jobs_of_training_clusters_declare_other_epochs() -> Outcome {
    let dir = tempfile::tempdir()?;
    let out = dir.path().to_str().ok_or("a name")?;
    let done = distill(&["attack", "--scenario", "training", "-p", "dl2", "-n", "2", "--targets", "3", "-o", out]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for attempt in attempts(dir.path())? {
        assert!(attempt["edits"][0]["was"].is_number() && attempt["edits"][0]["factor"].is_number(), "{attempt}");
    }
    assert_eq!(figures(dir.path())?.len(), 4);
    Ok(())
}

#[test]
fn jobs_with_deadlines_declare_others_and_other_iterations() -> Outcome {
    let dir = tempfile::tempdir()?;
    let out = dir.path().to_str().ok_or("a name")?;
    let workload = "builtin,jobs=15,arrivals=poisson";
    let args =
        ["attack", "--scenario", "deadlines", "-p", "scorer", "-w", workload, "-n", "2", "--targets", "3", "-o", out];
    let done = distill(&args);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found = attempts(dir.path())?;
    let sorts: BTreeSet<&str> = found.iter().filter_map(|attempt| attempt["edits"][0]["edit"].as_str()).collect();
    assert_eq!(sorts, BTreeSet::from(["deadline", "iterations"]));
    Ok(())
}

#[test]
fn jobs_that_can_be_suspended_declare_other_epochs() -> Outcome {
    let dir = tempfile::tempdir()?;
    let out = dir.path().to_str().ok_or("a name")?;
    let workload = "builtin,jobs=20,nodes=4";
    let args = [
        "attack",
        "--scenario",
        "preemption",
        "-p",
        "pickyman",
        "-w",
        workload,
        "-n",
        "2",
        "--targets",
        "3",
        "-o",
        out,
    ];
    let done = distill(&args);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found = attempts(dir.path())?;
    assert!(!found.is_empty() && found.iter().all(|attempt| attempt["edits"][0]["factor"].is_number()), "{found:?}");
    Ok(())
}

#[test]
fn tasks_declare_other_sizes() -> Outcome {
    let dir = tempfile::tempdir()?;
    let out = dir.path().to_str().ok_or("a name")?;
    let args = ["attack", "--scenario", "serving", "-p", "dybatch", "-w", "builtin,seconds=0.2"];
    let done = distill(&[&args[..], &["-n", "2", "--targets", "3", "-o", out]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found = attempts(dir.path())?;
    assert!(!found.is_empty() && found.iter().all(|attempt| attempt["edits"][0]["factor"].is_number()), "{found:?}");
    Ok(())
}

#[test]
fn what_cannot_be_is_refused_in_one_line() -> Outcome {
    let dir = tempfile::tempdir()?;
    let new = dir.path().join("new");
    fs::create_dir(&new)?;
    for (more, says) in [
        (&["-p", "fifo", "--method", "gradient"][..], "fifo: it does not say how probable its choices are"),
        (
            &["-p", "fifo", "--edits", "epochs"],
            "`epochs` is no sort of edits; there are duration, split, edge, edge-implied",
        ),
        (&["-p", "fifo", "--budget", "edits=0"], "a whole number in 1..=16 is needed"),
        (&["-p", "fifo", "--budget", "duration=0.9"], "a number above 0 and up to 0.5 is needed"),
        (&["-p", "fifo", "--budget", "split=0.2"], "it does not say `split`"),
        (&["-p", "fifo", "--method", "random,random"], "`random` is named twice"),
    ] {
        let (code, text) = attack(&new, more);
        assert!(code == 2 && text.contains(says), "{code} {text}");
        assert!(files(&new).is_empty(), "nothing is written: {text}");
    }
    Ok(())
}

/// A student that goes by measured features alone cannot be gamed by what is declared.
#[test]
fn who_trusts_what_is_measured_cannot_be_gamed_by_durations() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name).to_str().expect("a file's name").to_owned();
    let (trace, trusting, measured) = (path("trace"), path("trusting.json"), path("measured.json"));
    let done = distill(&["record", "-p", "sjf", "-w", "builtin,jobs=12", "-n", "10", "-o", &trace]);
    assert!(done.status.success());
    for (student, more) in [(&trusting, vec![]), (&measured, vec!["--trust", "measured"])] {
        let done = distill(&[&["fit", &trace, "-o", student], &more[..]].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let moved = |student: &str| -> Result<usize, Box<dyn Error>> {
        let dir = tempfile::tempdir()?;
        let policy = format!("student:{student}");
        let more = ["-p", &policy, "--edits", "duration", "--method", "gradient", "--budget", "edits=4"];
        let (code, text) = attack(dir.path(), &more);
        assert_eq!(code, 0, "{text}");
        let changed = attempts(dir.path())?.iter().filter(|a| a["completion_ms"][0] != a["completion_ms"][1]).count();
        Ok(changed)
    };
    assert!(moved(&trusting)? > 0);
    assert_eq!(moved(&measured)?, 0);

    // None of its models reads what is declared, and how it was made stands in it.
    let student: Value = serde_json::from_slice(&fs::read(&measured)?)?;
    assert_eq!(student["provenance"]["parameters"]["measured_at"], serde_json::json!(["*"]));
    let refused = distill(&["fit", &trace, "-o", &path("x.json"), "--trust", "jobs=measured"]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("`jobs=measured`") && text.contains("with a level of the trace"), "{text}");
    Ok(())
}

/// A search under attack tells what users gain before and after, and goes on from its journal to the same student.
#[test]
fn a_search_minds_what_users_gain() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name).to_str().expect("a file's name").to_owned();
    let (trace, student) = (path("trace"), path("student.json"));
    for args in [
        &["record", "-p", "sjf", "-w", "builtin,jobs=8", "-n", "10", "-o", &trace][..],
        &["fit", &trace, "-o", &student, "--learner", "logit"],
    ] {
        let done = distill(args);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let search = |to: &str, budget: &str| {
        let of = ["-w", "builtin,jobs=8", "--budget", "300", "--validation-episodes", "10", "-n", "3", "--json"];
        distill(&[&["augment", &student, "-o", to, &format!("--under-attack={budget}")], &of[..]].concat())
    };
    let (one, two) = (path("one"), path("two"));
    let done = search(&one, "edits=1,duration=0.5");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let last: Value = serde_json::from_str(said.lines().last().ok_or("a line")?)?;
    for found in [0, 1].map(|i| &last["gamed"][i]) {
        let methods: Vec<_> = found.as_array().ok_or("figures")?.iter().map(|f| f["method"].clone()).collect();
        assert_eq!(methods, ["gradient", "random"]);
        assert_eq!(found[0]["targets"], 15);
    }
    // Costs hold what users gain, so a plain search is another one.
    assert!(search(&two, "edits=1,duration=0.5").status.success());
    assert_eq!(files(Path::new(&one)), files(Path::new(&two)));
    let plain = ["-w", "builtin,jobs=8", "--budget", "300", "--validation-episodes", "10", "-n", "3"];
    let refused = distill(&[&["augment", &student, "-o", &one], &plain[..]].concat());
    assert_eq!(refused.status.code(), Some(2));

    let refused = search(&path("three"), "epochs=0.5");
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("--under-attack") && text.contains("it does not say `epochs`"), "{text}");
    Ok(())
}
