//! The commands with schedulers that a user already has.

use super::{Tested, example, python};
use crate::{
    common::files,
    program::{TINY, done, refused, run, text},
};
use sched_distill::{dag::Dag, deadlines::Deadlines, preemption::Preemption, serving::Serving, training::Training};
use serde_json::Value;
use std::path::Path;

fn passes_the_check<S: Tested>(workload: &str) {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let with = |args: &[&'static str], more: &[&str]| -> String { done(dir, &[args, S::ARGS, more].concat()) };
    let policy = example::<S>();
    let said = with(&["check-policy"], &["-p", &policy, "--decisions", "40"]);
    assert!(said.contains("passed") && said.contains("per decision") && !said.contains("FAILED"), "{said}");
    let sampled = format!("{policy},mode=sample");
    with(&["check-policy"], &["-p", &sampled, "--against", &policy, "-w", workload]);
    with(&["record", "-n", "2", "-o", "trace"], &["-p", &sampled, "-w", workload]);
    assert!(done(dir, &["inspect", "trace"]).ends_with("sound\n"));
    let manifest = std::fs::read_to_string(dir.join("trace/manifest.json")).unwrap();
    assert!(manifest.contains(S::EXAMPLE), "the file's hash is recorded");
    let listed = with(&["list", "policies"], &[]);
    assert!(
        ["script:[NAME=]COMMAND", "onnx:FILE", "torchscript:FILE"].iter().all(|usage| listed.contains(usage)),
        "{listed}"
    );
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn the_examples_pass_the_check() {
    passes_the_check::<Dag>(TINY);
    passes_the_check::<Training>(Training::WORKLOAD);
    passes_the_check::<Deadlines>(Deadlines::WORKLOAD);
    passes_the_check::<Preemption>(Preemption::WORKLOAD);
    passes_the_check::<Serving>(Serving::WORKLOAD);
}

#[test]
fn a_failed_check_is_exit_code_1_and_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let said = done(dir, &["check-policy", "-p", "sjf", "-w", TINY, "-n", "2"]);
    assert!(said.lines().next().is_some_and(|l| l.starts_with("check") && l.ends_with("result")), "{said}");
    assert!(said.contains("not applicable") && said.contains("2 episodes"), "{said}");

    let output = run(dir, &["check-policy", "-p", "sjf", "--against", "fifo", "-w", TINY]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("same actions as fifo") && said.contains("first difference") && said.contains("FAILED"),
        "{said}"
    );

    let args = ["check-policy", "-p", "sjf,temperature=1", "--against", "sjf,temperature=2", "-w", TINY, "--json"];
    let output = run(dir, &args);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["type"], &found["passed"]), (&"conformance".into(), &false.into()));
    assert!(found["found"]["concordance"]["stage_log_prob"].as_f64().is_some_and(|apart| apart > 0.1), "{found}");
    assert_eq!(found["found"]["checks"].as_array().map(Vec::len), Some(8));

    let args = [
        "check-policy",
        "--scenario",
        "training",
        "-p",
        "optimus",
        "--against",
        "drf",
        "-w",
        Training::WORKLOAD,
        "--json",
    ];
    let output = run(dir, &args);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["passed"], &found["found"]["concordance"]["action_log_prob"]), (&false.into(), &Value::Null));

    refused(dir, &["check-policy", "-p", "fiar"], &["unknown policy `fiar`", "did you mean `fair`"]);
    refused(dir, &["check-policy", "-p", "sjf", "--tolerance=-1"], &["--tolerance must be"]);
    refused(dir, &["check-policy", "-p", "sjf", "-w", "nothing"], &["unknown workload"]);
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn what_was_recorded_before_a_crash_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let policy = python("");
    let record = |name: &'static str, threads: &'static str| {
        ["record", "-p", &policy, "-w", TINY, "-n", "12", "-j", threads, "-o", name].map(str::to_owned)
    };
    let args = record("trace", "1");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // As if the machine failed in the sixth episode.
    std::fs::write(dir.join("failing"), "").unwrap();
    refused(dir, &args, &["cannot record", "episode 5", "the process ended (exit status: 1)", "\"type\":\"question\""]);
    let parts = || std::fs::read_dir(dir.join("trace/parts")).unwrap().count();
    let kept = parts();
    assert!(kept >= 1, "the first four episodes are a part");
    std::fs::remove_file(dir.join("failing")).unwrap();
    done(dir, &args);
    let whole = record("whole", "2");
    done(dir, &whole.each_ref().map(String::as_str));
    assert_eq!(files(&dir.join("trace")), files(&dir.join("whole")));
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn no_process_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    // The name tells these processes from those of other tests.
    let script = dir.path().join(format!("policy-{}.py", std::process::id()));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/script_policy.py");
    std::fs::copy(example, &script).unwrap();
    let policy = format!("script:python3 {}", script.display());
    done(dir.path(), &["simulate", "-p", &policy, "-w", TINY, "-n", "6", "-j", "2"]);
    assert_eq!(processes_of(&script), 0);
}

/// Processes one of whose arguments is a file.
#[cfg(target_os = "linux")]
fn processes_of(script: &Path) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).split('\0').any(|word| Path::new(word) == script)).count()
}

#[cfg(not(target_os = "linux"))]
fn processes_of(_script: &Path) -> usize {
    0
}

/// The first Ctrl-C ends a recording by its own rules, the second at once: no process may outlive either.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(not(python), ignore = "needs python3")]
fn an_interruption_ends_the_processes() {
    use std::{
        process::{Command, Stdio},
        thread::sleep,
        time::{Duration, Instant},
    };
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join(format!("interrupted-{}.py", std::process::id()));
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign/network.py");
    std::fs::copy(network, &script).unwrap();
    let wait_for = |what: &dyn Fn() -> bool, words: &str| {
        let end = Instant::now() + Duration::from_secs(300);
        while !what() {
            assert!(Instant::now() < end, "{words}");
            sleep(Duration::from_millis(20));
        }
    };
    for (fault, presses) in [("", 1), ("silent", 2)] {
        let policy = format!("script:python3 {} {fault}", script.display()).trim_end().to_owned();
        let args = ["record", "-p", &policy, "-n", "100000", "-j", "1", "-o", "endless", "--force"];
        let mut program = Command::new(env!("CARGO_BIN_EXE_distill"))
            .current_dir(dir.path())
            .args(args)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(&|| processes_of(&script) > 0, "the process starts");
        sleep(Duration::from_millis(1500));
        for _ in 0..presses {
            assert!(
                Command::new("sh").args(["-c", &format!("kill -INT {}", program.id())]).status().unwrap().success()
            );
            sleep(Duration::from_millis(300));
        }
        assert_eq!(program.wait().unwrap().code(), Some(130), "{fault}");
        wait_for(&|| processes_of(&script) == 0, "a process is left behind");
    }
}
