//! `distill attack --run`: the schedulers of a run are attacked side by side, and its report shows it; and the student that stands in
//! for a scheduler where none is named.

use crate::{common::files, program};
use serde_json::{Value, json};
use std::{error::Error, fs, path::Path};

type Outcome = Result<(), Box<dyn Error>>;

fn distill(args: &[&str]) -> Result<String, Box<dyn Error>> {
    let done = program::run(Path::new("."), args);
    match done.status.success() {
        true => Ok(String::from_utf8(done.stdout)?),
        false => Err(String::from_utf8_lossy(&done.stderr).into()),
    }
}

fn read(path: &Path) -> Result<Value, Box<dyn Error>> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

#[test]
fn schedulers_of_a_run_are_attacked_side_by_side() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name).to_str().expect("a file's name").to_owned();
    let (trace, run) = (path("trace"), path("run"));
    const W: &str = "builtin,jobs=10";
    distill(&["record", "-p", "sjf,temperature=0.3", "-w", W, "-n", "6", "-o", &trace])?;
    distill(&["fit", &trace, "--run", &run, "-o", &path("student.json"), "--learner", "tree", "--max-leaves", "12"])?;
    let student = format!("{run}/student.json");
    distill(&[
        "evaluate",
        &student,
        "-t",
        "sjf,temperature=0.3",
        "-w",
        W,
        "-p",
        "fifo",
        "-p",
        "srpt-fair",
        "-n",
        "6",
        "--run",
        &run,
    ])?;
    let attack = ["attack", "--run", &run, "-n", "6", "--targets", "2"];
    let said = distill(&attack)?;
    let attacks = Path::new(&run).join("attacks.json");
    let found = read(&attacks)?;
    let own = found["schedulers"].as_array().ok_or("a list")?;
    let roles: Vec<&Value> = own.iter().map(|s| &s["role"]).collect();
    assert_eq!(roles, ["teacher", "student", "heuristic", "heuristic"], "{said}");
    for scheduler in own {
        let episodes = scheduler["objective"].as_array().ok_or("a list")?;
        assert!(episodes.len() == 6 && episodes.iter().all(Value::is_number));
        assert_eq!(scheduler["params"]["budgets"].as_array().map(Vec::len), Some(3));
        let strongest = if scheduler["role"] == "heuristic" { "query" } else { "gradient" };
        let methods: Vec<&Value> =
            scheduler["figures"].as_array().ok_or("a list")?.iter().map(|f| &f["method"]).collect();
        assert_eq!(methods, [strongest, "random"].repeat(3), "{scheduler}");
    }
    // Compared with itself in the same episodes, the teacher is as good as itself.
    assert_eq!(own[0]["to_teacher"], json!({"value": 1.0, "low": 1.0, "high": 1.0}));
    let of = |s: &Value, i: usize| s["objective"][i].as_f64().unwrap_or(f64::NAN);
    for scheduler in own {
        let shown = scheduler["to_teacher"]["value"].as_f64().ok_or("a figure")?;
        let ratio = ((0..6).map(|i| (of(scheduler, i) / of(&own[0], i)).ln()).sum::<f64>() / 6.0).exp();
        assert!((shown - ratio).abs() < 1e-9, "{shown} {ratio}");
    }

    // The same again is the same; another scheduler, and the same ones where less is believed, come beside them.
    let before = fs::read(&attacks)?;
    distill(&attack)?;
    assert_eq!(fs::read(&attacks)?, before);
    let wary = format!("{W},parts=merged");
    distill(&["attack", "--run", &run, "-n", "6", "--targets", "2", "-p", &format!("student:{student}"), "-w", &wary])?;
    distill(&["attack", "--certify", &student, &trace, "--run", &run])?;
    let found = read(&attacks)?;
    let all = found["schedulers"].as_array().ok_or("a list")?;
    assert_eq!((all.len(), &all[4]["workload"], &all[4]["role"]), (5, &json!(wary), &json!("student")));
    // Nothing was split in the episodes themselves.
    assert_eq!(all[4]["objective"], all[1]["objective"]);
    assert_eq!(found["certificates"].as_array().map(Vec::len), Some(1));
    // Certificates of something else come beside, the same ones take their place.
    distill(&["attack", "--certify", &student, &trace, "--run", &run, "--edits", "edge"])?;
    distill(&["attack", "--certify", &student, &trace, "--run", &run])?;
    assert_eq!(read(&attacks)?["certificates"].as_array().map(Vec::len), Some(2));
    // Jobs that are alone, in other episodes than the teacher's.
    distill(&["attack", "--run", &run, "-n", "6", "--targets", "2", "-p", "fifo", "-w", "builtin,jobs=1"])?;
    let alone = read(&attacks)?["schedulers"][5].clone();
    assert!(alone["to_teacher"].is_null() && alone["figures"][0]["others"].is_null(), "{alone}");
    let commands = read(&Path::new(&run).join("run.json"))?["commands"].to_string();
    assert!(commands.contains("attack --run") && commands.contains("attack --certify"), "{commands}");
    distill(&["report", &run, "-o", &path("report")])?;
    let page = fs::read_to_string(path("report/report.html"))?;
    assert!(page.contains("6 episodes tell too little, 10 are the least"), "few episodes are no evidence");
    for name in ["gaming-curve", "gaming-price"] {
        assert!(
            page.contains(&format!("id=\"{name}\""))
                && Path::new(&path("report/charts")).join(format!("{name}.png")).is_file()
        );
    }
    Ok(())
}

#[test]
fn a_scheduler_of_which_decisions_alone_are_known_is_imitated_first() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name).to_str().expect("a file's name").to_owned();
    let attack = |out: &str, threads: &str| {
        let of = ["-p", "sjf-cp", "--method", "proxy,random", "-w", "builtin,jobs=8", "-n", "3", "--targets", "2"];
        distill(&[&["attack", "-o", out, "--threads", threads][..], &of].concat())
    };
    let (one, two) = (path("one"), path("two"));
    let said = attack(&one, "1")?;
    assert!(said.contains("proxy"), "{said}");
    let student = Path::new(&one).join("proxy/student.json");
    let of = read(&student)?;
    assert_eq!(
        (&of["provenance"]["teacher"], &of["provenance"]["workload"]),
        (&json!("sjf-cp"), &json!("builtin,jobs=8"))
    );
    attack(&two, "2")?;
    let small = |dir: &str| {
        files(Path::new(dir)).into_iter().filter(|(name, _)| !name.starts_with("proxy/trace")).collect::<Vec<_>>()
    };
    assert_eq!(small(&one), small(&two));
    // It is there already when the attack goes on.
    let made = fs::metadata(&student)?.modified()?;
    fs::remove_file(Path::new(&one).join("episodes/00001.json"))?;
    attack(&one, "2")?;
    assert_eq!((fs::metadata(&student)?.modified()?, small(&one)), (made, small(&two)));
    Ok(())
}

#[test]
fn a_run_is_needed_for_several_and_its_scenario_must_know_them() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name).to_str().expect("a file's name").to_owned();
    let out = path("out");
    program::refused(dir.path(), &["attack", "-p", "fifo", "-p", "fair", "-o", &out], &["several schedulers", "--run"]);
    let (trace, run) = (path("trace"), path("run"));
    distill(&["record", "-p", "sjf", "-w", "builtin,jobs=4", "-n", "4", "-o", &trace])?;
    distill(&["fit", &trace, "--run", &run, "-o", &path("student.json"), "--learner", "tree"])?;
    program::refused(dir.path(), &["attack", "--run", &run, "-p", "dl2"], &["unknown policy `dl2`"]);
    fs::create_dir(path("empty"))?;
    program::refused(dir.path(), &["attack", "--run", &path("empty")], &["empty"]);
    Ok(())
}
