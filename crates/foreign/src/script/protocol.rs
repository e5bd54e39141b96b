//! The lines that go to a process and come back, as `docs/foreign-policies.md` describes them.

use super::process::{cut, escaped};
use sched_distill_core::{
    contract::{Contract, Inputs, Scores, Values},
    text::without_mark,
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::{fmt, io::Write as _};

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;

/// The line that introduces us: which columns there are, and of which scenario where the contract says that.
pub(super) fn hello(contract: &Contract) -> String {
    let tables = contract.inputs.iter().filter(|input| !input.columns.is_empty());
    let columns: serde_json::Map<String, serde_json::Value> =
        tables.map(|input| (input.name.to_owned(), input.columns.iter().map(|column| column.name).collect())).collect();
    let mut hello = serde_json::json!({"type": "hello", "protocol": PROTOCOL, "columns": columns});
    if let Some(scenario) = contract.scenario {
        hello["scenario"] = scenario.into();
    }
    format!("{hello}\n")
}

/// Reads the answer to [`hello`]; what is wrong with it, if anything.
pub(super) fn read_ready(line: &[u8]) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Ready {
        protocol: u32,
        r#type: Option<IgnoredAny>,
    }
    match serde_json::from_slice::<Ready>(without_mark(line)) {
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

/// Appends a question: every input by its name, tables as lists of rows.
pub(super) fn write_question(id: u64, inputs: &Inputs, out: &mut Vec<u8>) {
    write(out, format_args!("{{\"type\":\"question\",\"id\":{id}"));
    for (input, values) in inputs.contract().inputs.iter().zip(inputs.values()) {
        write(out, format_args!(",\"{}\":", input.name));
        let mut shape = inputs.shape(input);
        let shape = (shape.next().unwrap_or(0), shape.next());
        match values {
            Values::F32(values) => write_values(out, values, shape),
            Values::I64(values) => write_values(out, values, shape),
            Values::Bool(values) => write_values(out, values, shape),
        }
    }
    out.extend_from_slice(b"}\n");
}

fn write(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    // A vector takes in everything.
    let _ = out.write_fmt(text);
}

/// A list, or a list of rows if there is a second size.
fn write_values(out: &mut Vec<u8>, values: &[impl fmt::Display], (rows, columns): (usize, Option<usize>)) {
    let Some(columns) = columns else { return list(out, values) };
    out.push(b'[');
    for row in 0..rows {
        if row > 0 {
            out.push(b',');
        }
        list(out, &values[row * columns..][..columns]);
    }
    out.push(b']');
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

/// Reads the answer to question `id` into `scores`, which is empty; what is wrong with it, if anything.
pub(super) fn read_answer(line: &[u8], id: u64, scores: &mut Scores) -> Result<(), String> {
    let mut json = serde_json::Deserializer::from_slice(line);
    let answer = Answer(scores).deserialize(&mut json).and_then(|head| json.end().map(|()| head));
    let head = answer.map_err(|error| {
        let error = brief(&error);
        let bare = |word: &[u8]| line.windows(word.len()).any(|w| w == word);
        match bare(b"NaN") || bare(b"Infinity") {
            true => format!("{error}; JSON has no NaN and no Infinity, write null for what may not be chosen"),
            false if !line.trim_ascii_start().starts_with(b"{") => {
                format!("{error}; standard output is for answers only, write notes to standard error")
            }
            false => error,
        }
    })?;
    if let Some(error) = head.error {
        return Err(format!("it says: {}", error.chars().take(1000).flat_map(escaped).collect::<String>()));
    }
    let mut given = scores.contract().outputs.iter().zip(scores.outputs());
    match head.id {
        Some(found) if found != id => Err(format!("this answers question {found}, but question {id} is open")),
        // What was read has a shape.
        _ => match given.find(|(_, tensor)| tensor.shape.is_empty()) {
            Some((output, _)) => Err(format!("there are no `{}`", output.name)),
            None => Ok(()),
        },
    }
}

/// What an answer says besides scores.
#[derive(Default)]
struct Head {
    id: Option<u64>,
    error: Option<String>,
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
        write!(f, "an object with {}", self.0.contract().outputs_named("`", " and "))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
        let (mut head, scores) = (Head::default(), self.0);
        let contract = scores.contract();
        while let Some(key) = map.next_key_seed(KeyOf(contract))? {
            let place = match key {
                Key::Id => {
                    head.id = map.next_value()?;
                    continue;
                }
                Key::Error => {
                    head.error = map.next_value()?;
                    continue;
                }
                Key::Output(place) => place,
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                    let names = contract.outputs_named("", ", ");
                    return Err(A::Error::custom(format!("it may have id, {names} and error, and no other key")));
                }
            };
            let (output, tensor) = (&contract.outputs[place], &mut scores.outputs_mut()[place]);
            tensor.values.clear();
            tensor.shape.clear();
            match output.shape.len() {
                1 => {
                    let length = map.next_value_seed(Row(&mut tensor.values))?;
                    tensor.shape.push(length);
                }
                _ => {
                    let (rows, columns) = map.next_value_seed(Rows(&mut tensor.values, output.name))?;
                    tensor.shape.extend([rows, columns]);
                }
            }
        }
        Ok(head)
    }
}

/// A key of an answer.
enum Key {
    Id,
    Error,
    /// An output, by its place in the contract.
    Output(usize),
    Other,
}

/// Reads a key of an answer by a contract.
struct KeyOf(&'static Contract);

impl<'de> DeserializeSeed<'de> for KeyOf {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
        Ok(match key {
            "id" => Key::Id,
            "error" => Key::Error,
            key => self.0.output(key).map_or(Key::Other, Key::Output),
        })
    }
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

/// Appends lists of equally many scores, of an output of that name; the number of lists and that of scores in each.
struct Rows<'a>(&'a mut Vec<f32>, &'static str);

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
                let name = self.1;
                let unequal = format!("{name}[{rows}] has {width} entries, {name}[0] has {columns}");
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
    use sched_distill_core::contract::{Tables, Tabular};
    use sched_distill_dag::{Dag, DagTables};
    use sched_distill_training::Training;

    fn empty() -> Scores {
        Scores::new(Dag::contract())
    }

    #[test]
    fn answers_are_read_into_the_buffers() {
        let mut scores = empty();
        let line = br#"{"id": 3, "stage_scores": [1, -2.5, null], "amount_scores": [[0.1, 2], [3, 4e-1]]}"#;
        for _ in 0..2 {
            scores.clear();
            assert_eq!(read_answer(line, 3, &mut scores), Ok(()));
            let [stage, amount] = scores.outputs() else { unreachable!("two outputs") };
            assert_eq!((&stage.shape[..], &amount.shape[..]), (&[3][..], &[2, 2][..]));
            assert_eq!((&stage.values[..2], &amount.values[..]), (&[1.0, -2.5][..], &[0.1, 2.0, 3.0, 0.4][..]));
            assert!(stage.values[2].is_nan());
        }
        scores.clear();
        assert_eq!(read_answer(br#"{"amount_scores": [], "stage_scores": []}"#, 9, &mut scores), Ok(()));
        assert_eq!(scores.outputs()[1].shape, [0, 0]);
        // A key twice: the last one counts.
        scores.clear();
        let line = br#"{"amount_scores": [[1]], "stage_scores": [1, 2], "amount_scores": [[2]], "stage_scores": [3]}"#;
        assert_eq!(read_answer(line, 9, &mut scores), Ok(()));
        assert_eq!((&scores.outputs()[0].values, &scores.outputs()[1].values), (&vec![3.0], &vec![2.0]));
    }

    #[test]
    fn other_answers_are_refused_with_the_reason() {
        let said = |line: &str| read_answer(line.as_bytes(), 3, &mut empty()).err().unwrap_or_default();
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
            (r#"{"scores": [1]}"#, "it may have id, stage_scores, amount_scores and error, and no other key"),
            (r#"{"error": "no such model"}"#, "it says: no such model"),
            (r#"{"id": 2, "stage_scores": [1], "amount_scores": [[1]]}"#, "answers question 2, but question 3 is open"),
            (r#"{"stage_scores": [1], "amount_scores": [[1]]} {}"#, "trailing characters"),
        ] {
            assert!(said(line).contains(words), "{line}: {}", said(line));
        }
        let line = br#"{"stage_scores": [1], "amount_scores": [[1]]}"#;
        let said_of_training = read_answer(line, 3, &mut Scores::new(Training::contract())).err().unwrap_or_default();
        assert!(said_of_training.contains("it may have id, task_scores, close_score and error"), "{said_of_training}");
        assert_eq!(read_ready(br#"{"protocol": 1, "name": "mine"}"#), Ok(()));
        assert!(read_ready(br#"{"protocol": 2}"#).is_err_and(|e| e.contains("speaks protocol 2")));
        assert!(read_ready(b"Loading weights...").is_err_and(|e| e.contains("in answer to the first line")));
        // What is refused may be long; the error is not.
        let long = "x".repeat(1 << 20);
        assert!(said(&format!(r#"{{"stage_scores": ["{long}"]}}"#)).len() < 1000);
        assert!(read_ready(format!(r#"{{"protocol": "{long}"}}"#).as_bytes()).is_err_and(|e| e.len() < 1000));
    }

    /// Processes count on these bytes.
    #[test]
    fn the_lines_of_protocol_1_are_as_they_were() -> Result<(), Box<dyn std::error::Error>> {
        assert_eq!(
            hello(Dag::contract()),
            concat!(
                r#"{"columns":{"cluster":["executors","offered","busy_executors","moving_executors","active_jobs","#,
                r#""arrived_jobs","time_ms"],"jobs":["executors","room","is_source","attached_executors","stages","#,
                r#""age_ms"],"nodes":["remaining_tasks","running_tasks","total_tasks","task_ms","coming_executors","#,
                r#""wanted_executors","unfinished_parents"]},"protocol":1,"type":"hello"}"#,
                "\n"
            )
        );
        let mut line = Vec::new();
        write_reset(8_070_450_532_247_928_832, &mut line);
        assert_eq!(line, b"{\"type\":\"reset\",\"seed\":8070450532247928832}\n");
        let stages = [(7, 1023.5), (11, 1155.0)]
            .map(|(num_tasks, rough_ms)| sched_distill_dag::StageSpec { num_tasks, rough_ms });
        let mut state = sched_distill_dag::ClusterState::new(3)?;
        for (job, edges) in [(0, &[[0, 1]][..]), (1, &[])] {
            state.add_job(job, 0.0, sched_distill_dag::JobGraph::new("two", stages.to_vec(), edges)?)?;
        }
        let view = state.offer(sched_distill_dag::Source::Common, 3)?.ok_or("a question")?;
        let (mut tables, mut inputs) = (DagTables::default(), Inputs::new(Dag::contract()));
        tables.read(&view, &mut inputs);
        line.clear();
        write_question(7, &inputs, &mut line);
        assert_eq!(
            String::from_utf8(line)?,
            concat!(
                r#"{"type":"question","id":7,"nodes":[[7,0,7,1023.5,0,7,0],[11,0,11,1155,0,11,1],"#,
                r#"[7,0,7,1023.5,0,7,0],[11,0,11,1155,0,11,0]],"edges":[[0],[1]],"#,
                r#""job_ptr":[0,2,4],"node_job":[0,0,1,1],"#,
                r#""mask":[true,false,true,true],"jobs":[[0,3,0,0,2,0],[0,3,0,0,2,0]],"cluster":[3,3,0,0,2,2,0],"#,
                r#""amounts":[1,2,3]}"#,
                "\n"
            )
        );
        Ok(())
    }

    #[test]
    fn what_is_empty_is_written_too() {
        let mut inputs = Inputs::new(Dag::contract());
        if let [_, Values::I64(edges), ..] = inputs.values_mut() {
            edges.clear();
        }
        let mut line = Vec::new();
        write_question(8, &inputs, &mut line);
        assert!(line.windows(15).any(|w| w == b"\"edges\":[[],[]]"), "{}", String::from_utf8_lossy(&line));
        assert!(
            hello(Training::contract()).ends_with("\"protocol\":1,\"scenario\":\"training\",\"type\":\"hello\"}\n")
        );
    }

    #[test]
    fn damaged_answers_are_read_or_refused() {
        let seeds = [
            &br#"{"protocol": 1}"#[..],
            br#"{"id": 3, "stage_scores": [0.4, null, -1e3], "amount_scores": [[0.1, 0.2], [1, 2], [3e-9, 4]]}"#,
            br#"{"error": "no such layer"}"#,
        ];
        let count = mutate::each_mutant(&seeds.map(<[u8]>::to_vec), |_, line| {
            let mut scores = empty();
            let _ = read_ready(line);
            if read_answer(line, 3, &mut scores).is_ok() {
                let are_whole = |tensor: &sched_distill_core::contract::Tensor| {
                    tensor.values.len() == tensor.shape.iter().product::<usize>()
                };
                assert!(scores.outputs().iter().all(are_whole));
            }
        });
        assert!(count > 0);
    }
}
