//! Processes that hang, flood, die, fork or ignore signals: the command ends soon, with one clear line, and leaves nothing
//! running.

use crate::program::{TINY, command, done, text};
use std::{
    fs,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

/// More than a machine that is busy with other work, or stopped for a while, takes for what ends by itself.
const PATIENCE: Duration = Duration::from_secs(300);

/// A policy that does so after two answers; `mark` names what it starts. It is waited for that many seconds.
fn policy(how: &str, mark: &str, seconds: u32) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign/misbehaves.py");
    format!("script:python3 {} '{how}' {mark},timeout={seconds}", script.display())
}

/// Numbers of the processes with such an argument, other than this program's own.
#[cfg(target_os = "linux")]
fn running(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let of = |process: &fs::DirEntry| {
        let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
        words.split(|&byte| byte == 0).any(|word| word == mark.as_bytes())
    };
    processes.filter(of).map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(not(target_os = "linux"))]
fn running(_mark: &str) -> Vec<String> {
    Vec::new()
}

/// Waits until nothing with that argument runs any more.
fn nothing_is_left(how: &str, mark: &str) {
    let end = Instant::now() + PATIENCE;
    while !running(mark).is_empty() {
        assert!(Instant::now() < end, "{how}: {:?} still run", running(mark));
        thread::sleep(Duration::from_millis(10));
    }
}

/// A word that no other test and no other run has.
fn mark(test: &str) -> String {
    format!("distill-test-{test}-{}", std::process::id())
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn the_command_ends_soon_with_one_line_and_nothing_is_left() {
    let mark = mark("misbehaves");
    for (how, words) in [
        ("says nothing", "no answer within 2 s"),
        ("hangs", "no answer within 2 s"),
        ("ignores signals", "no answer within 2 s"),
        ("floods", "a line of more than 64 MiB"),
        ("complains without end", "no answer within 2 s"),
        ("is killed", "ended (signal: 9 (SIGKILL)) instead of answering"),
        ("is killed beside a worker", "ended (signal: 9 (SIGKILL)) instead of answering"),
        ("is killed beside a worker of its own session", "ended (signal: 9 (SIGKILL)) instead of answering"),
        ("stops in the middle", "having written `{\"id\":` without an end of line"),
        ("hangs with children", "no answer within 2 s"),
        ("closes its output", "closed its standard output instead of answering"),
        ("closes its input", "no answer within 2 s"),
        ("drips", "no answer within 2 s"),
        ("nests", "invalid type: sequence, expected an object"),
        ("paints", r"it says: \u{1b}[31mno\u{1b}[2J\r more"),
        ("overflows", "is inf; scores of stages"),
        ("is too wide", "amount_scores of shape ("),
        ("is no text", "standard output is for answers only"),
    ] {
        let (dir, begin) = (tempfile::tempdir().unwrap(), Instant::now());
        // Silence is a matter of time; all else is told when it happens, however late.
        let seconds = if words.contains("within 2 s") { 2 } else { 600 };
        let output = command(
            dir.path(),
            &["record", "-p", &policy(how, &mark, seconds), "-w", TINY, "-n", "1", "-q", "-o", "t"],
        )
        .output()
        .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{how}: {said}");
        assert!(said.starts_with("error: ") && said.contains(words), "{how}: {said}");
        let lines = said.lines().filter(|line| !line.starts_with("    ")).count();
        assert!(lines == 1 && !said.contains('\u{1b}'), "{how}: {said}");
        assert!(begin.elapsed() < PATIENCE, "{how}: {:?}", begin.elapsed());
        nothing_is_left(how, &mark);
    }
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn nothing_is_left_after_success_either() {
    let dir = tempfile::tempdir().unwrap();
    let mark = mark("success");
    done(dir.path(), &["record", "-p", &policy("leaves children", &mark, 600), "-w", TINY, "-n", "2", "-q", "-o", "t"]);
    nothing_is_left("leaves children", &mark);
}

#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn no_script_outlives_a_signal() {
    for name in ["INT", "TERM", "HUP", "KILL"] {
        let dir = tempfile::tempdir().unwrap();
        let mark = mark(name);
        // After a KILL nobody is there to end what the script has started.
        let how = if name == "KILL" { "hangs" } else { "hangs with children" };
        let policy = policy(how, &mark, 600);
        let mut child = command(dir.path(), &["record", "-p", &policy, "-w", TINY, "-n", "1", "-q", "-o", "t"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let expected = if name == "KILL" { 1 } else { 3 };
        let end = Instant::now() + PATIENCE;
        // `distill` itself has the mark within a longer word.
        while running(&mark).len() < expected {
            assert!(Instant::now() < end, "{name}: {:?}", running(&mark));
            thread::sleep(Duration::from_millis(10));
        }
        std::process::Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), (name != "KILL").then_some(130), "{name}");
        nothing_is_left(name, &mark);
    }
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn raw_milliseconds_are_legal_scores() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign/raw_ms.py");
    let policy = format!("script:python3 {}", script.display());
    done(dir, &["check-policy", "-p", &policy, "--decisions", "30", "-q"]);
    done(dir, &["record", "-p", &policy, "-w", "builtin,executors=3,jobs=8", "-n", "2", "-q", "-o", "trace"]);
    assert!(done(dir, &["inspect", "trace"]).ends_with("sound\n"));
    done(
        dir,
        &[
            "loop",
            "dagger",
            "-t",
            &policy,
            "-w",
            TINY,
            "-n",
            "2",
            "--validation-episodes",
            "2",
            "--iterations",
            "1",
            "-q",
            "-o",
            "loop",
        ],
    );
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn more_time_is_not_another_policy() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/script_policy.py");
    let record = |timeout: &str, name: &str| {
        let policy = format!("script:python3 {}{timeout}", example.display());
        done(dir, &["record", "-p", &policy, "-w", TINY, "-n", "2", "-q", "-o", name]);
    };
    record("", "trace");
    fs::remove_file(dir.join("trace/manifest.json")).unwrap();
    fs::remove_file(dir.join("trace/parts/part-00000.json")).unwrap();
    record(",timeout=600", "trace");
    record("", "at-once");
    assert_eq!(crate::common::files(&dir.join("trace")), crate::common::files(&dir.join("at-once")));
}
