//! The program within another one: `cli::run`, again and again in one process.

use crate::program::{TINY, text};
use sched_distill::{
    cli::{Host, Stream, run, stop},
    registry,
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// One command at a time.
static TURN: Mutex<()> = Mutex::new(());

/// The exit code of a command, and what it wrote to standard output and standard error.
fn ran(args: &[&str]) -> (u8, String, String) {
    let [out, err] = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
    let host = Host::embedded(Stream::new(out.clone()), Stream::new(err.clone()));
    let words = ["distill"].iter().chain(args).map(Into::into);
    let code = run(words, registry::all(), &host);
    let said = |to: Arc<Mutex<Vec<u8>>>| text(&to.lock().unwrap());
    (code, said(out), said(err))
}

/// Of commands, twice: nothing that one leaves behind is in the way of the next.
fn twice(args: &[&str]) -> (u8, String, String) {
    let first = ran(args);
    assert_eq!(ran(args), first, "{args:?}");
    first
}

#[test]
fn commands_are_carried_out_again_and_again_in_one_process() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let version = format!("distill {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(twice(&["--version"]), (0, version, String::new()));
    let (code, out, err) = twice(&["--help"]);
    assert!(code == 0 && out.contains("Usage: distill [OPTIONS] <COMMAND>") && err.is_empty(), "{out}{err}");
    assert!(!out.contains('\x1b'), "no colours: {out}");
    let (code, out, err) = twice(&["simulate", "--polcy", "fair"]);
    assert!(code == 2 && out.is_empty(), "{code}: {out}");
    assert!(err.starts_with("error: unexpected argument '--polcy' found") && err.contains("--policy"), "{err}");
    let (code, out, err) = twice(&["simulate", "-p", "script:python3", "x.py"]);
    assert!(code == 2 && out.is_empty() && err.contains("-p 'script:python3 x.py'"), "{err}");
    let (code, out, err) = twice(&["simulate", "-p", "nobody"]);
    assert!(
        code == 2 && out == "workload builtin\n" && err.starts_with("error: unknown policy `nobody`"),
        "{out}{err}"
    );
}

#[test]
fn threads_are_those_of_one_command_and_change_nothing() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let simulate =
        |more: &[&'static str]| [&["simulate", "-p", "fair", "-p", "sjf", "-n", "3", "-w", TINY], more].concat();
    let simulated = |more: &[&'static str]| twice(&simulate(more));
    // Once: its log says how long it took.
    let (code, out, err) = ran(&simulate(&["-j", "1", "-v"]));
    assert!(code == 0 && out.contains("sjf"), "{out}{err}");
    assert!(err.contains("INFO") && err.contains("decisions in") && !err.contains('\x1b'), "the log: {err}");
    for threads in [&["-j", "2"][..], &[]] {
        assert_eq!(simulated(threads), (0, out.clone(), String::new()));
    }
    let (code, _, err) = simulated(&["-j", "100000"]);
    assert!(code == 0 && err.starts_with("note: 100000 threads would be no faster than "), "{err}");
}

#[test]
fn a_command_is_stopped_and_the_next_one_is_not() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let endless = ["simulate", "-p", "fair", "-n", "4000000"];
    let (code, _, err) = thread::scope(|scope| {
        let running = scope.spawn(|| ran(&endless));
        // Until one comes after the command has begun.
        while !running.is_finished() {
            stop();
            thread::sleep(Duration::from_millis(20));
        }
        running.join().unwrap()
    });
    let said = "error: interrupted; results are written at the end, so none is kept; the same command begins anew\n";
    assert_eq!((code, err.lines().last().map(|line| format!("{line}\n"))), (130, Some(said.to_owned())));
    assert_eq!(ran(&["simulate", "-p", "fair", "-n", "1", "-w", TINY]).0, 0);
}
