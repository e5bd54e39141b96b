//! Commands that are killed or interrupted at any moment: the same command then ends with the same bytes as one that nobody
//! disturbed, and nothing temporary stays. `scripts/kills.sh` runs hundreds of these; here a handful per command.

use crate::{
    common::copy,
    program::{TINY, command, done, files, record, text},
};
use sched_distill::rng::Stream;
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Rounds, in each of which every command is killed once and interrupted once.
fn rounds() -> usize {
    std::env::var("DISTILL_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Commands that write, over the inputs that [`inputs`] makes. What they write is below `out`, which is there.
const WRITERS: [(&str, &[&str]); 13] = [
    ("record", &["record", "-p", "decima", "-w", TINY, "-n", "24", "-o", "out/trace"]),
    ("fit", &["fit", "train", "-o", "out/student.json"]),
    ("fit --run", &["fit", "train", "--run", "out/run"]),
    ("front", &["front", "train", "-t", "sjf", "-w", TINY, "-n", "4", "--max-size", "16", "-o", "out/front"]),
    ("identify", &["identify", "train", "--exceptions", "best", "-o", "out/rules.json"]),
    (
        "loop",
        &[
            "loop",
            "dagger",
            "-t",
            "decima",
            "-w",
            TINY,
            "-n",
            "4",
            "--validation-episodes",
            "4",
            "--iterations",
            "2",
            "-o",
            "out/loop",
        ],
    ),
    (
        "augment",
        &[
            "augment",
            "student.json",
            "-w",
            TINY,
            "--budget",
            "400",
            "--validation-episodes",
            "10",
            "-n",
            "4",
            "-o",
            "out/search",
        ],
    ),
    (
        "patch",
        &[
            "patch",
            "student.json",
            "--set",
            "job.node[0].threshold=1",
            "-w",
            TINY,
            "-n",
            "20",
            "--force",
            "-o",
            "out/new.json",
        ],
    ),
    (
        "evaluate",
        &[
            "evaluate",
            "student.json",
            "test",
            "-t",
            "decima",
            "-w",
            TINY,
            "-n",
            "4",
            "--run",
            "out/run",
            "-o",
            "out/e.json",
        ],
    ),
    ("explain", &["explain", "student.json", "test", "--run", "out/run"]),
    ("export", &["export", "student.json", "--to", "c", "-o", "out/c"]),
    ("demo", &["demo", "-o", "out/demo", "-n", "4", "--workload", TINY]),
    ("report", &["report", "run", "-o", "out/report"]),
];

/// What the commands read: a trace to learn from, one to judge on, a student, and a run directory.
fn inputs(dir: &Path) {
    record(dir, "train", "6", "train");
    record(dir, "test", "3", "test");
    done(dir, &["fit", "train", "-o", "student.json", "--max-leaves", "6"]);
    done(dir, &["evaluate", "student.json", "test", "-t", "sjf", "-w", TINY, "-n", "2", "--run", "run", "-q"]);
}

/// More than a machine that is busy with other work takes for what ends by itself.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(dir: &Path, args: &[&str]) -> Child {
    command(dir, args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Everything below the folder but for clock times, and the page that shows one of them.
fn results(dir: &Path) -> BTreeMap<String, String> {
    let timed = ["timings.json", "latency.json", "demo/report/report.html"];
    files(dir).into_iter().filter(|(name, _)| !timed.iter().any(|end| name.ends_with(end))).collect()
}

#[test]
fn a_command_that_was_killed_or_interrupted_ends_with_the_same_bytes() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("inputs")).unwrap();
    inputs(&home.path().join("inputs"));
    let mut chance = Stream::new(1, "kills");
    let (mut killed, mut interrupted) = (0, 0);
    for (number, (name, args)) in WRITERS.into_iter().enumerate() {
        let args = &[args, &["-q", "-j", "2"]].concat()[..];
        let fresh = |folder: &str| {
            let dir = home.path().join(folder);
            let _ = fs::remove_dir_all(&dir);
            copy(&home.path().join("inputs"), &dir);
            fs::create_dir(dir.join("out")).unwrap();
            dir
        };
        let undisturbed = fresh("undisturbed");
        let begin = Instant::now();
        done(&undisturbed, args);
        let (expected, takes) = (results(&undisturbed), begin.elapsed());
        for round in 0..rounds() {
            let dir = fresh("disturbed");
            // A run directory that has its student takes no other.
            let is_taken = || name == "fit --run" && dir.join("out/run/student.json").exists();
            // It is killed and interrupted, in either order by turns, and then left alone.
            for disturbance in (round + number..).take(2).take_while(|_| !is_taken()) {
                let mut child = start(&dir, args);
                thread::sleep(takes.mul_f64(1.1 * chance.uniform()));
                match disturbance % 2 {
                    0 => {
                        let _ = child.kill();
                        killed += usize::from(child.wait().unwrap().code().is_none());
                    }
                    _ => {
                        // It may have ended already.
                        if child.try_wait().unwrap().is_none() {
                            signal(&child, "-INT");
                        }
                        let begin = Instant::now();
                        let output = child.wait_with_output().unwrap();
                        // Two seconds are promised, on a machine that does nothing else.
                        assert!(begin.elapsed() < PATIENCE, "{name}: {:?}", begin.elapsed());
                        let said = text(&output.stderr);
                        match output.status.code() {
                            Some(0) => {}
                            // It had not begun yet.
                            None if said.is_empty() => {}
                            code => {
                                assert_eq!(code, Some(130), "{name}: {said}");
                                assert!(
                                    said.starts_with("error: interrupted; ") && said.lines().count() == 1,
                                    "{name}: {said}"
                                );
                                interrupted += 1;
                            }
                        }
                    }
                }
            }
            if !is_taken() {
                done(&dir, args);
            }
            let found = results(&dir);
            let differs = |file: &&String| found.get(*file) != expected.get(*file);
            let different: Vec<&String> = found.keys().chain(expected.keys()).filter(differs).collect();
            assert!(different.is_empty(), "{name}, round {round}: {different:?}");
        }
    }
    println!("{killed} killed, {interrupted} interrupted");
    // On a machine that is less busy by now more of them are done before.
    assert!(killed + interrupted >= rounds() * WRITERS.len() / 4, "{killed} killed, {interrupted} interrupted");
}

#[test]
fn every_signal_that_asks_ends_a_command_and_its_word_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    // Work without a safe point for a long time.
    let args = |out: &'static str| {
        ["record", "-p", "decima", "-w", "builtin,jobs=200,executors=20", "-n", "200", "-o", out, "-q"]
    };
    let begins = |out: &str| {
        let begin = Instant::now();
        while !dir.join(out).exists() {
            assert!(begin.elapsed() < PATIENCE, "{out} does not begin");
            thread::sleep(Duration::from_millis(10));
        }
    };
    for name in ["-INT", "-TERM", "-HUP"] {
        let child = start(dir, &args(&name[1..]));
        begins(&name[1..]);
        signal(&child, name);
        let begin = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("finished parts are kept"), "{name}");
        assert!(begin.elapsed() < PATIENCE, "{name}: {:?}", begin.elapsed());
    }
    // Who was started to outlive the terminal does.
    let program = env!("CARGO_BIN_EXE_distill");
    let mut child = std::process::Command::new("nohup")
        .current_dir(dir)
        .arg(program)
        .args(args("nohup"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    begins("nohup");
    signal(&child, "-HUP");
    thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "a hangup ended it");
    child.kill().unwrap();
    child.wait().unwrap();
}
