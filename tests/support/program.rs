//! Runs the `distill` program.

use sched_distill::level::sha256_hex;
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Output},
};

pub(crate) const TINY: &str = "builtin,jobs=4,executors=4";

pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_distill"));
    command.current_dir(dir).args(args).env_remove("RUST_BACKTRACE").env_remove("DISTILL_LOG");
    hear_hangups(&mut command);
    command
}

/// What `nohup` starts, and all that is started from there, does not hear hangups: tests that were started so would wait for ever.
#[cfg(unix)]
fn hear_hangups(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let by_default = || match unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) } {
        libc::SIG_ERR => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    };
    // SAFETY: `signal` is one of the functions that may be called between fork and exec.
    unsafe { command.pre_exec(by_default) };
}

#[cfg(not(unix))]
fn hear_hangups(_: &mut Command) {}

pub(crate) fn run(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs a command that must succeed; its standard output.
pub(crate) fn done(dir: &Path, args: &[&str]) -> String {
    let output = run(dir, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs a command that must fail with exit code 2 and one line that holds all the words.
pub(crate) fn refused(dir: &Path, args: &[&str], words: &[&str]) {
    let output = run(dir, args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    let errors: Vec<&str> = said.lines().filter(|l| l.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{args:?}: {said}");
    assert!(words.iter().all(|w| errors[0].contains(w)), "{args:?}: {said}\nexpected {words:?}");
    assert!(!said.contains("panicked"), "{said}");
}

/// The commands that a demo ends with are those that can be typed: runs them, but for the server, on fewer episodes.
pub(crate) fn type_what_comes_next(dir: &Path, said: &str) {
    let commands: Vec<&str> = said.lines().filter_map(|l| l.strip_prefix("  distill ")).collect();
    // Of a rule there is nothing to export.
    assert!((2..=3).contains(&commands.len()), "{said}");
    for command in commands.iter().filter(|c| !c.starts_with("serve ")) {
        let words = command.split('#').next().unwrap().replace(" -n 200", " -n 2");
        done(dir, &words.split_whitespace().collect::<Vec<_>>());
    }
}

/// SHA-256 of every file below a directory, by relative path.
pub(crate) fn files(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                found.insert(name, sha256_hex(&fs::read(&path).unwrap()));
            }
        }
    }
    found
}

pub(crate) fn record(dir: &Path, name: &str, episodes: &str, split: &str) {
    let policy = "sjf-cp,temperature=0.3,mode=sample";
    done(dir, &["record", "-p", policy, "-w", TINY, "-n", episodes, "--split", split, "-o", name]);
}
