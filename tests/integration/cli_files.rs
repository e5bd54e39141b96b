//! What commands write: never over what they read, whole or not at all, whatever the paths are called.

use crate::program::{TINY, command, done, files, record, refused, run, text};
use std::{fs, path::Path};

/// A trace in `train` and a student in `student.json`.
fn made(dir: &Path) {
    record(dir, "train", "4", "train");
    done(dir, &["fit", "train", "-o", "student.json", "--max-leaves", "6"]);
}

#[test]
fn an_output_that_is_an_input_is_refused_and_nothing_changes() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    made(dir);
    fs::write(dir.join("jobs.json"), "{}").unwrap();
    let before = files(dir);
    let part = "train/job/part-00000.parquet";
    for args in [
        &["fit", "train", "-o", "train/manifest.json"][..],
        &["fit", "train", "-o", part],
        &["fit", "train", "--validation", "train", "-o", "train/plan.json"],
        &["identify", "train", "--exceptions", "best", "-o", "train/manifest.json"],
        &["export", "student.json", "--to", "c", "-o", "student.json"],
        &["export", "student.json", "--to", "c", "-o", "train/../student.json"],
        &["evaluate", "student.json", "train", "-o", "student.json"],
        &["evaluate", "student.json", "train", "-o", part],
        &["evaluate", "student.json", "-t", "fair", "-w", "json:jobs.json", "-o", "jobs.json"],
        &["explain", "student.json", "train", "--choice", "1", "--html", "student.json"],
        &["patch", "student.json", "--set", "job.node[0].threshold=1", "-o", "student.json"],
    ] {
        refused(dir, args, &["would be replaced", "-o"]);
    }
    assert_eq!(files(dir), before);
    // What lies beside a trace's files is nobody's.
    done(dir, &["fit", "train", "-o", "train/mine.json", "--max-leaves", "6"]);
    done(dir, &["fit", "train", "-o", "train/mine.json", "--max-leaves", "6"]);
}

#[test]
fn a_loop_does_not_clear_the_folder_of_its_teacher() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    made(dir);
    fs::create_dir(dir.join("loop")).unwrap();
    fs::rename(dir.join("student.json"), dir.join("loop/student.json")).unwrap();
    let teacher = "student:loop/student.json";
    refused(
        dir,
        &["loop", "dagger", "-t", teacher, "-w", TINY, "-o", "loop", "--force"],
        &["loop/student.json", "--force"],
    );
    assert!(dir.join("loop/student.json").exists());
}

#[test]
fn what_cannot_be_written_is_said_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    made(dir);
    for args in [
        &["fit", "train", "-o", "no/where.json"][..],
        &["identify", "train", "--exceptions", "best", "-o", "no/where.json"],
        &["export", "student.json", "--to", "c", "-o", "no/where.c"],
        &["evaluate", "student.json", "train", "-o", "no/where.json"],
    ] {
        refused(dir, args, &["cannot write", "does not exist"]);
    }
    refused(dir, &["fit", "train", "-o", "train"], &["train: cannot write"]);
    fs::write(dir.join("file"), "").unwrap();
    for args in [&["front", "train", "-o", "file/x"][..], &["report", "train", "-o", "file"]] {
        refused(dir, args, &["cannot create the folder"]);
    }
}

#[cfg(unix)]
#[test]
fn links_are_neither_followed_nor_emptied() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    made(dir);
    fs::write(dir.join("victim"), "precious").unwrap();
    // An output is not written through a link, and a temporary name cannot be foreseen.
    for link in ["new.json", "other.json.tmp"] {
        symlink("victim", dir.join(link)).unwrap();
    }
    for output in ["new.json", "other.json"] {
        done(dir, &["fit", "train", "-o", output, "--max-leaves", "6", "--force"]);
        assert!(fs::symlink_metadata(dir.join(output)).unwrap().is_file());
    }
    assert_eq!(fs::read(dir.join("victim")).unwrap(), b"precious");
    // A link to an input is that input.
    symlink("student.json", dir.join("link.json")).unwrap();
    refused(dir, &["export", "student.json", "--to", "c", "-o", "link.json"], &["would be replaced"]);

    fs::create_dir(dir.join("elsewhere")).unwrap();
    fs::rename(dir.join("train/job"), dir.join("elsewhere/job")).unwrap();
    symlink("../elsewhere/job", dir.join("train/job")).unwrap();
    let before = files(dir);
    refused(dir, &["record", "-p", "fair", "-w", TINY, "-n", "1", "--force", "-o", "train"], &["train/job: is a link"]);
    assert_eq!(files(dir), before);
}

/// A full disk, for a process and without a disk: no file may grow beyond so many kB.
#[cfg(unix)]
fn with_files_up_to(kilobytes: u32, dir: &Path, args: &[&str]) -> std::process::Output {
    let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
    let mut shell = std::process::Command::new("bash");
    shell.current_dir(dir).args(["-c", &script, env!("CARGO_BIN_EXE_distill")]).args(args).output().unwrap()
}

#[cfg(unix)]
#[test]
fn on_a_full_disk_the_old_file_stays() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    made(dir);
    fs::create_dir(dir.join("out")).unwrap();
    for args in [
        &["export", "student.json", "--to", "c", "-o", "out/student.c"][..],
        &["export", "student.json", "--to", "c", "-o", "out"],
        &["fit", "train", "-o", "out/student.json", "--max-leaves", "6"],
        &["evaluate", "student.json", "train", "-o", "out/evaluation.json"],
    ] {
        done(dir, args);
        let before = files(dir);
        let output = with_files_up_to(1, dir, args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("cannot write") && !said.contains("panicked"), "{args:?}: {said}");
        assert_eq!(files(dir), before, "{args:?}");
    }
    // From the first file on, and where a table no longer fits.
    for (kilobytes, workload, out) in [(1, TINY, "full"), (40, "builtin,jobs=60", "fuller")] {
        let args = ["record", "-p", "fair", "-w", workload, "-n", "2", "-o", out];
        let output = with_files_up_to(kilobytes, dir, &args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot be written: File too large") && !said.contains("specification"), "{said}");
    }
    done(dir, &["record", "-p", "fair", "-w", TINY, "-n", "2", "-o", "full"]);
    done(dir, &["record", "-p", "fair", "-w", TINY, "-n", "2", "-o", "at-once"]);
    assert_eq!(files(&dir.join("full")), files(&dir.join("at-once")));
}

#[cfg(unix)]
#[test]
fn results_can_go_to_a_pipe_or_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    made(dir);
    assert!(done(dir, &["export", "student.json", "--to", "c", "-o", "/dev/stdout"]).contains("double score_job"));
    done(dir, &["fit", "train", "-o", "/dev/null", "--max-leaves", "6"]);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[cfg(target_os = "linux")]
#[test]
fn paths_need_not_be_text() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&home).unwrap();
    let at = |name: &str| home.join(name).into_os_string();
    let with_paths = |args: &[&str]| {
        // A word that begins with @ is a path below the folder.
        let mut command = command(dir.path(), &[]);
        for arg in args {
            match arg.strip_prefix('@') {
                Some(name) => command.arg(at(name)),
                None => command.arg(arg),
            };
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
        assert!(said.is_empty() || said.contains("not UTF-8"), "{args:?}: {said}");
        text(&output.stdout)
    };
    with_paths(&["record", "-p", "sjf", "-w", TINY, "-n", "4", "-o", "@train", "--json"]);
    with_paths(&["fit", "@train", "--run", "@run", "--max-leaves", "6", "--json", "-q"]);
    with_paths(&["fit", "@train", "-o", "@student.json", "--max-leaves", "6", "--json"]);
    with_paths(&["front", "@train", "-o", "@front", "--max-size", "6", "--learner", "tree", "--json", "-q"]);
    with_paths(&[
        "evaluate",
        "@student.json",
        "@train",
        "-t",
        "sjf",
        "-w",
        TINY,
        "-n",
        "2",
        "--run",
        "@run",
        "--json",
        "-q",
    ]);
    with_paths(&["explain", "@student.json", "@train", "--run", "@run", "--json", "-q"]);
    with_paths(&[
        "augment",
        "@student.json",
        "-w",
        TINY,
        "-o",
        "@augmented",
        "--budget",
        "400",
        "--validation-episodes",
        "10",
        "-n",
        "2",
        "--json",
        "-q",
    ]);
    with_paths(&[
        "patch",
        "@student.json",
        "--set",
        "job.node[0].threshold=1",
        "--force",
        "-w",
        TINY,
        "-n",
        "2",
        "-o",
        "@p.json",
        "--json",
        "-q",
    ]);
    with_paths(&[
        "loop",
        "dagger",
        "-t",
        "sjf",
        "-w",
        TINY,
        "-n",
        "2",
        "--validation-episodes",
        "2",
        "--iterations",
        "1",
        "-o",
        "@loop",
        "--json",
        "-q",
    ]);
    with_paths(&["export", "@student.json", "--to", "c", "-o", "@c", "--json"]);
    with_paths(&["inspect", "@train", "--json"]);
    with_paths(&["demo", "-o", "@demo", "-n", "4", "--workload", TINY, "--json", "-q"]);
    with_paths(&["report", "@demo", "-o", "@report", "--json"]);
    assert!(home.join("report/report.html").exists());
}

#[test]
fn names_from_files_do_not_reach_the_terminal_raw() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    made(dir);
    let student = fs::read_to_string(dir.join("student.json")).unwrap();
    let evil = student.replacen("\"teacher\": \"", "\"teacher\": \"\\u001b[2J\\u202e\\r", 1);
    assert_ne!(evil, student);
    fs::write(dir.join("evil.json"), evil).unwrap();
    let said = done(dir, &["inspect", "evil.json"]);
    assert!(said.contains(r"\u{1b}[2J\u{202e}\u{d}"), "{said}");
    assert!(!said.contains(['\u{1b}', '\u{202e}', '\r']), "{said}");
    let output = run(dir, &["inspect", "no\u{1b}[31mfile"]);
    assert!(text(&output.stderr).contains(r"no\u{1b}[31mfile"), "{}", text(&output.stderr));
}

#[test]
fn an_export_without_the_guards_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    made(dir);
    let guard = ["--guard", "job: age > 60s first", "-w", TINY, "-n", "2", "-o", "guarded.json", "-q", "--force"];
    done(dir, &[&["patch", "student.json"][..], &guard].concat());
    for (args, notes) in [
        (&["guarded.json", "--to", "c", "--level", "job"][..], true),
        (&["guarded.json", "--to", "c"], false),
        (&["guarded.json", "--to", "rust"], false),
        // Rules have them, as sentences.
        (&["guarded.json", "--to", "rules", "--json"], false),
        (&["guarded.json", "--to", "c", "--level", "stage"], false),
        (&["guarded.json", "--to", "json"], false),
        (&["student.json", "--to", "c"], false),
    ] {
        let output = run(dir, &[&["export"][..], args].concat());
        assert_eq!(text(&output.stderr).contains("1 guard is no part of the export"), notes, "{args:?}");
    }
    let rules = done(dir, &["export", "guarded.json", "--to", "rules"]);
    let sentence = "\n1. A job with time since it arrived above 60 s comes first # guard[0] job: age > 60000 first\n";
    let place = |what: &str| rules.find(what).unwrap_or_else(|| panic!("no {what:?} in {rules}"));
    assert!(place(sentence) < place("\nlevel job: "), "{rules}");
    assert!(!done(dir, &["export", "guarded.json", "--to", "rules", "--level", "stage"]).contains("guard[0]"));
}

#[test]
fn threads_beyond_use_are_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), &["simulate", "-p", "fair", "-w", TINY, "-n", "2", "-j", "100000"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("100000 threads would be no faster"), "{}", text(&output.stderr));
    assert_eq!(output.stdout, run(dir.path(), &["simulate", "-p", "fair", "-w", TINY, "-n", "2"]).stdout);
}
