//! The lines that go to a process and come back, as `docs/foreign-policies.md` describes them.

use super::{
    super::{CLUSTER_COLUMNS, Column, Inputs, JOB_COLUMNS, NODE_COLUMNS, Scores},
    process::{cut, escaped},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::{fmt, io::Write as _};

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;

/// The line that introduces us.
pub(super) fn hello() -> String {
    let names = |columns: &[Column]| -> Vec<&str> { columns.iter().map(|c| c.name).collect() };
    let hello = serde_json::json!({
        "type": "hello",
        "protocol": PROTOCOL,
        "columns": {"nodes": names(&NODE_COLUMNS), "jobs": names(&JOB_COLUMNS), "cluster": names(&CLUSTER_COLUMNS)},
    });
    format!("{hello}\n")
}

/// Reads the answer to [`hello`]; what is wrong with it, if anything.
pub(super) fn read_ready(line: &[u8]) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Ready {
        protocol: u32,
        r#type: Option<IgnoredAny>,
    }
    match serde_json::from_slice::<Ready>(line) {
        Ok(Ready { r#type: Some(_), .. }) => Err("this is what it was told; it must answer".to_owned()),
        Ok(Ready { protocol: PROTOCOL, .. }) => Ok(()),
        Ok(Ready { protocol, .. }) => {
            Err(format!("it speaks protocol {protocol}, this build of distill protocol {PROTOCOL}"))
        }
        Err(error) => {
            Err(format!("expected {{\"protocol\": {PROTOCOL}}} in answer to the first line: {}", brief(&error)))
        }
    }
}

/// What the reader of JSON says, which may quote a value of any length.
fn brief(error: &serde_json::Error) -> String {
    cut(error.to_string().as_bytes())
}

/// Appends the line that begins an episode.
pub(super) fn write_reset(seed: u64, out: &mut Vec<u8>) {
    write(out, format_args!("{{\"type\":\"reset\",\"seed\":{seed}}}\n"));
}

/// Appends a question.
pub(super) fn write_question(id: u64, inputs: &Inputs, out: &mut Vec<u8>) {
    write(out, format_args!("{{\"type\":\"question\",\"id\":{id}"));
    table(out, "nodes", &inputs.nodes, NODE_COLUMNS.len());
    let (parents, children) = inputs.edges.split_at(inputs.num_edges());
    key(out, "edges");
    out.push(b'[');
    list(out, parents);
    out.push(b',');
    list(out, children);
    out.push(b']');
    key(out, "job_ptr");
    list(out, &inputs.job_ptr);
    key(out, "node_job");
    list(out, &inputs.node_job);
    key(out, "mask");
    list(out, &inputs.mask);
    table(out, "jobs", &inputs.jobs, JOB_COLUMNS.len());
    key(out, "cluster");
    list(out, &inputs.cluster);
    key(out, "amounts");
    list(out, &inputs.amounts);
    out.extend_from_slice(b"}\n");
}

fn write(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    // A vector takes in everything.
    let _ = out.write_fmt(text);
}

fn key(out: &mut Vec<u8>, name: &str) {
    write(out, format_args!(",\"{name}\":"));
}

fn list(out: &mut Vec<u8>, values: &[impl fmt::Display]) {
    out.push(b'[');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(out, format_args!("{value}"));
    }
    out.push(b']');
}

fn table(out: &mut Vec<u8>, name: &str, values: &[f32], width: usize) {
    key(out, name);
    out.push(b'[');
    for (i, row) in values.chunks(width).enumerate() {
        if i > 0 {
            out.push(b',');
        }
        list(out, row);
    }
    out.push(b']');
}

/// Reads the answer to question `id` into `scores`; what is wrong with it, if anything.
pub(super) fn read_answer(line: &[u8], id: u64, scores: &mut Scores) -> Result<(), String> {
    let mut json = serde_json::Deserializer::from_slice(line);
    let answer = Answer(scores).deserialize(&mut json).and_then(|head| json.end().map(|()| head));
    let head = answer.map_err(|error| {
        let error = brief(&error);
        let bare = |word: &[u8]| line.windows(word.len()).any(|w| w == word);
        match bare(b"NaN") || bare(b"Infinity") {
            true => format!("{error}; JSON has no NaN and no Infinity, write null for a stage that may not be chosen"),
            false if !line.trim_ascii_start().starts_with(b"{") => {
                format!("{error}; standard output is for answers only, write notes to standard error")
            }
            false => error,
        }
    })?;
    if let Some(error) = head.error {
        return Err(format!("it says: {}", error.chars().take(1000).flat_map(escaped).collect::<String>()));
    }
    match head.id {
        Some(found) if found != id => Err(format!("this answers question {found}, but question {id} is open")),
        _ if !head.stage => Err("there are no `stage_scores`".to_owned()),
        _ if !head.amount => Err("there are no `amount_scores`".to_owned()),
        _ => Ok(()),
    }
}

/// What an answer says besides scores.
#[derive(Default)]
struct Head {
    id: Option<u64>,
    error: Option<String>,
    stage: bool,
    amount: bool,
}

/// Reads an answer into buffers that are there.
struct Answer<'a>(&'a mut Scores);

impl<'de> DeserializeSeed<'de> for Answer<'_> {
    type Value = Head;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Head, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Answer<'_> {
    type Value = Head;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `stage_scores` and `amount_scores`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
        let (mut head, scores) = (Head::default(), self.0);
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Id => head.id = map.next_value()?,
                Key::Error => head.error = map.next_value()?,
                Key::StageScores => {
                    scores.stage.clear();
                    map.next_value_seed(Row(&mut scores.stage))?;
                    scores.stage_shape.clear();
                    scores.stage_shape.push(scores.stage.len());
                    head.stage = true;
                }
                Key::AmountScores => {
                    scores.amount.clear();
                    let (rows, columns) = map.next_value_seed(Rows(&mut scores.amount))?;
                    scores.amount_shape.clear();
                    scores.amount_shape.extend([rows, columns]);
                    head.amount = true;
                }
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                    return Err(A::Error::custom(
                        "it may have id, stage_scores, amount_scores and error, and no other key",
                    ));
                }
            }
        }
        Ok(head)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Key {
    Id,
    Error,
    StageScores,
    AmountScores,
    #[serde(other)]
    Other,
}

/// Appends a list of scores; their number.
struct Row<'a>(&'a mut Vec<f32>);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<usize, A::Error> {
        let before = self.0.len();
        // In 64 bits first: that is how languages write numbers, and the nearest 32-bit number is then the same.
        while let Some(score) = seq.next_element::<Option<f64>>()? {
            self.0.push(score.map_or(f32::NAN, |score| score as f32));
        }
        Ok(self.0.len() - before)
    }
}

/// Appends lists of equally many scores; the number of lists and that of scores in each.
struct Rows<'a>(&'a mut Vec<f32>);

impl<'de> DeserializeSeed<'de> for Rows<'_> {
    type Value = (usize, usize);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = (usize, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of lists of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let (mut rows, mut columns) = (0, 0);
        while let Some(width) = seq.next_element_seed(Row(self.0))? {
            if rows > 0 && width != columns {
                let unequal = format!("amount_scores[{rows}] has {width} entries, amount_scores[0] has {columns}");
                return Err(A::Error::custom(unequal));
            }
            (rows, columns) = (rows + 1, width);
        }
        Ok((rows, columns))
    }
}

#[cfg(test)]
#[path = "../../../../tests/support/mutate.rs"]
mod mutate;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_into_the_buffers() {
        let mut scores = Scores::default();
        let line = br#"{"id": 3, "stage_scores": [1, -2.5, null], "amount_scores": [[0.1, 2], [3, 4e-1]]}"#;
        for _ in 0..2 {
            assert_eq!(read_answer(line, 3, &mut scores), Ok(()));
            assert_eq!((&scores.stage_shape[..], &scores.amount_shape[..]), (&[3][..], &[2, 2][..]));
            assert_eq!((&scores.stage[..2], &scores.amount[..]), (&[1.0, -2.5][..], &[0.1, 2.0, 3.0, 0.4][..]));
            assert!(scores.stage[2].is_nan());
        }
        assert_eq!(read_answer(br#"{"amount_scores": [], "stage_scores": []}"#, 9, &mut scores), Ok(()));
        assert_eq!(scores.amount_shape, [0, 0]);
    }

    #[test]
    fn other_answers_are_refused_with_the_reason() {
        let said = |line: &str| read_answer(line.as_bytes(), 3, &mut Scores::default()).err().unwrap_or_default();
        for (line, words) in [
            ("debug: hello", "standard output is for answers only"),
            ("", "EOF"),
            ("[1, 2]", "an object with `stage_scores` and `amount_scores`"),
            (r#"{"stage_scores": [1]}"#, "no `amount_scores`"),
            (r#"{"amount_scores": [[1]]}"#, "no `stage_scores`"),
            (r#"{"stage_scores": [NaN], "amount_scores": [[1]]}"#, "write null"),
            (r#"{"stage_scores": [1], "amount_scores": [[1], [1, 2]]}"#, "amount_scores[1] has 2 entries"),
            (r#"{"stage_scores": [1], "amount_scores": [1]}"#, "a list of numbers"),
            (r#"{"stage_scores": ["1"], "amount_scores": [[1]]}"#, "invalid type: string"),
            (r#"{"scores": [1]}"#, "no other key"),
            (r#"{"error": "no such model"}"#, "it says: no such model"),
            (r#"{"id": 2, "stage_scores": [1], "amount_scores": [[1]]}"#, "answers question 2, but question 3 is open"),
            (r#"{"stage_scores": [1], "amount_scores": [[1]]} {}"#, "trailing characters"),
        ] {
            assert!(said(line).contains(words), "{line}: {}", said(line));
        }
        assert_eq!(read_ready(br#"{"protocol": 1, "name": "mine"}"#), Ok(()));
        assert!(read_ready(br#"{"protocol": 2}"#).is_err_and(|e| e.contains("speaks protocol 2")));
        assert!(read_ready(b"Loading weights...").is_err_and(|e| e.contains("in answer to the first line")));
        // What is refused may be long; the error is not.
        let long = "x".repeat(1 << 20);
        assert!(said(&format!(r#"{{"stage_scores": ["{long}"]}}"#)).len() < 1000);
        assert!(read_ready(format!(r#"{{"protocol": "{long}"}}"#).as_bytes()).is_err_and(|e| e.len() < 1000));
    }

    #[test]
    fn a_question_is_one_line_of_json() -> Result<(), serde_json::Error> {
        let mut inputs = Inputs::default();
        inputs.nodes.extend((0..14).map(|i| i as f32 * 0.5));
        inputs.edges.extend([0, 1]);
        inputs.job_ptr.extend([0, 2]);
        inputs.node_job.extend([0, 0]);
        inputs.mask.extend([true, false]);
        inputs.jobs.extend([1.0; 6]);
        inputs.cluster.extend([1e9; 7]);
        inputs.amounts.extend([1.0, 2.0]);
        let mut line = Vec::new();
        write_question(7, &inputs, &mut line);
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        let value: serde_json::Value = serde_json::from_slice(&line)?;
        assert_eq!((&value["type"], &value["id"]), (&"question".into(), &7.into()));
        assert_eq!(value["nodes"], serde_json::json!([[0, 0.5, 1, 1.5, 2, 2.5, 3], [3.5, 4, 4.5, 5, 5.5, 6, 6.5]]));
        assert_eq!(value["edges"], serde_json::json!([[0], [1]]));
        assert_eq!(value["mask"], serde_json::json!([true, false]));
        assert_eq!(value["cluster"][0], serde_json::json!(1_000_000_000));
        inputs.edges.clear();
        line.clear();
        write_question(8, &inputs, &mut line);
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&line)?["edges"], serde_json::json!([[], []]));
        let hello: serde_json::Value = serde_json::from_str(&hello())?;
        assert_eq!(hello["columns"]["nodes"][3], "task_ms");
        Ok(())
    }

    #[test]
    fn damaged_answers_are_read_or_refused() {
        let seeds = [
            &br#"{"protocol": 1}"#[..],
            br#"{"id": 3, "stage_scores": [0.4, null, -1e3], "amount_scores": [[0.1, 0.2], [1, 2], [3e-9, 4]]}"#,
            br#"{"error": "no such layer"}"#,
        ];
        let count = mutate::each_mutant(&seeds.map(<[u8]>::to_vec), |_, line| {
            let mut scores = Scores::default();
            let _ = read_ready(line);
            if read_answer(line, 3, &mut scores).is_ok() {
                assert_eq!(scores.amount.len(), scores.amount_shape.iter().product::<usize>());
            }
        });
        assert!(count > 0);
    }
}
