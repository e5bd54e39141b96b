//! Processes that break: what is said, and what is left behind.

use super::{episode, open, python, python_of, refused, refused_in};
use sched_distill::{dag::Dag, training::Training};
use std::time::{Duration, Instant};

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn a_process_goes_on_to_the_next_copy() {
    let policy = open::<Dag>(&python("")).unwrap();
    let decisions: Vec<u32> = (0..3).map(|_| episode(&mut *policy.fresh(), 1).unwrap()).collect();
    assert!(decisions[0] > 10 && decisions.windows(2).all(|w| w[0] == w[1]), "{decisions:?}");
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn a_crash_is_told_with_the_question_and_the_last_words() {
    let words = [
        "script:python3 ",
        "the process ended (exit status: 1) instead of answering `{\"type\":\"question\",\"id\":3,\"nodes\":[[",
        "...",
        "loading weights",
        "ValueError: no such layer",
    ];
    refused(&python("crash"), &words);
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn silence_is_told_in_time() {
    let start = Instant::now();
    refused(&format!("{},timeout=1.5", python("silent")), &["no answer within 1.5 s", "\"id\":3", "timeout=SECONDS"]);
    assert!(start.elapsed() < Duration::from_secs(300), "the usual limit");
    refused(&python("closes"), &["closed its standard output instead of answering"]);
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn what_is_no_answer_is_shown() {
    for (fault, words) in [
        ("malformed", &["answered `step 3 done`", "standard output is for answers only"][..]),
        ("nan", &["answered `{\"id\": 3, \"stage_scores\": [NaN", "write null"]),
        ("short", &["stage_scores of shape (", "one per node"]),
        ("narrow", &["amount_scores of shape (", ", 0)", "executors on offer"]),
        ("rows", &["amount_scores of shape (", "a row per job"]),
        ("null", &["stage_scores[", "is NaN", "must be finite"]),
        ("twice", &["answered `{}`", "one line is allowed"]),
        ("old", &["answers question 2, but question 3 is open"]),
        ("refuses", &["it says: the cluster is too large"]),
        ("version", &["answered `{\"protocol\": 2}`", "speaks protocol 2", "protocol 1"]),
    ] {
        refused(&python(fault), words);
    }
}

/// The outputs and their shapes are those of the scenario, and so are the words.
#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn what_is_no_answer_in_training_is_shown() {
    for (fault, words) in [
        ("malformed", &["answered `step 3 done`", "standard output is for answers only"][..]),
        ("nan", &["\"task_scores\": [[NaN", "write null"]),
        ("short", &["task_scores of shape (", ", 3); it must be (", "a row per job"]),
        ("narrow", &["task_scores of shape (", ", 2); it must be (", "a worker, a parameter server, one of each"]),
        ("two", &["close_score of shape (2); it must be (1): one number"]),
        ("null", &["close_score[0] is NaN; scores of tasks that fit, and that of closing the slot, must be finite"]),
        ("missing", &["there are no `close_score`"]),
        ("old", &["answers question 2, but question 3 is open"]),
        ("crash", &["`{\"type\":\"question\",\"id\":3,\"jobs\":[[", "ValueError: no such layer"]),
        ("refuses", &["it says: the cluster is too large"]),
        ("version", &["answered `{\"protocol\": 2}`", "speaks protocol 2", "protocol 1"]),
    ] {
        refused_in::<Training>(&python_of::<Training>(fault), words);
    }
    // Who is made for one scenario is not for the other.
    refused_in::<Training>(&python(""), &["the process ended (exit status: 1)", "KeyError: 'nodes'"]);
    refused(&python_of::<Training>(""), &["the process ended (exit status: 1)", "KeyError: 'scenario'"]);
}

#[test]
fn what_cannot_be_started_is_named() {
    refused("script:no-such-program x", &["cannot start `no-such-program`", "on the path"]);
    refused("script", &["needs a command: script:COMMAND"]);
    refused("script:a 'b", &["a quote is not closed"]);
    refused("script:cat,timeout=0", &["timeout must be a number in"]);
    refused("script:cat,what=1", &["unknown parameter `what`; it takes timeout, mode"]);
    #[cfg(unix)]
    {
        refused("script:true", &["instead of answering `{\"columns\":"]);
        // It answers with what it was asked.
        refused("script:cat", &["answered `{\"columns\":", "this is what it was told"]);
    }
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn the_files_of_a_command_are_known() {
    let files = open::<Dag>(&python("crash")).unwrap().files();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].ends_with("tests/foreign/network.py"));
}
