//! Traces of requests: a published one against another reading of it, and what goes wrong in small ones.

use sched_distill_histories::{HistoryError, requests};
use std::{error::Error, fs, path::Path};

type Outcome = Result<(), Box<dyn Error>>;

fn read(text: &[u8]) -> Result<requests::RequestLog, HistoryError> {
    let dir = tempfile::tempdir().expect("there is room for a file");
    let path = dir.path().join("requests.jsonl");
    fs::write(&path, text).expect("there is room for a file");
    requests::read(&path, &mut |read, of| assert!(read <= of))
}

/// Another reading, with Python:
/// `python3 -c 'import json,sys; r=[json.loads(l) for l in sys.stdin]; print(len(r), r[0]["timestamp"], r[-1]["timestamp"],
/// sum(x["input_length"] for x in r), sum(x["output_length"] for x in r))' < mooncake_conversation_4000.jsonl` prints
/// `4000 0 1301999 53249359 1388321`.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn the_conversations_of_mooncake_are_read() -> Outcome {
    let path = "../../../shared/histories/llm/mooncake_conversation_4000.jsonl";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    assert!(requests::is_log(&path));
    let log = requests::read(&path, &mut |_, _| {})?;
    assert_eq!((log.requests.len(), log.skipped.len(), log.hashed), (4000, 0, 4000));
    let span = [log.requests.first(), log.requests.last()].map(|request| request.map(|r| r.arrival_ms));
    assert_eq!(span, [Some(0.0), Some(1_301_999.0)]);
    assert_eq!(log.requests.iter().map(|r| u64::from(r.context)).sum::<u64>(), 53_249_359);
    assert_eq!(log.requests.iter().map(|r| u64::from(r.generated)).sum::<u64>(), 1_388_321);
    Ok(())
}

#[test]
fn bad_rows_are_counted_and_left_out() -> Outcome {
    let text = "\u{feff}{\"timestamp\": 50, \"input_length\": 5, \"output_length\": 6}\r\n\n\
                {\"timestamp\": 20, \"input_length\": 7, \"output_length\": 8, \"hash_ids\": [1], \"more\": {}}\n\
                {\"timestamp\": 20, \"input_length\": 7}\n\
                {\"timestamp\": 20, \"input_length\": -7, \"output_length\": 8}\n\
                {\"timestamp\": -1, \"input_length\": 7, \"output_length\": 8}\n\
                {\"timestamp\": 1, \"input_length\": 2000000, \"output_length\": 8}\n\
                {\"timestamp\": 20, \"inp";
    let log = read(text.as_bytes())?;
    let all: Vec<_> = log.requests.iter().map(|r| (r.arrival_ms, r.context, r.generated)).collect();
    assert_eq!(all, [(20.0, 7, 8), (50.0, 5, 6)]);
    let notes = [
        "1 of 2 requests tell by `hash_ids` which parts of contexts are the same; that is not used: a server that keeps them has less to compute",
        "2 rows are left out, the first of them 4: it lacks a number, or has one that is not whole and from 0 on",
        "row 6 is left out: its `timestamp` is not in 0..=1e12",
        "row 7 is left out: its `input_length` is more than 1048576",
        "row 8 is left out: it is no JSON object",
    ];
    assert_eq!(log.notes(), notes);
    Ok(())
}

#[test]
fn a_file_without_a_request_is_refused() {
    let refused = |text: &str| read(text.as_bytes()).map(|_| ()).map_err(|error| error.to_string()).unwrap_err();
    let message = refused("\n{\"timestamp\": 1}\nx\n");
    assert!(message.contains("row 2: none of 2 rows is a request; here it lacks a number"), "{message}");
    assert!(message.contains("a row is an object with the numbers `timestamp`"), "{message}");
    assert!(refused("").contains("there is no row; a row is an object"));
    assert!(refused("a,b\n1,2\n").contains("row 1: none of 2 rows is a request; here it is no JSON object: \"a,b\""));
}
