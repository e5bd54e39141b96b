//! What another program that works out features and asks students has to come to, question by question.
//!
//! ```text
//! state_rows make FILE [--episodes N]             writes states, one JSON object a line, as clients of `distill serve` tell them
//! state_rows rows FILE STUDENT... [--full|--decisions] [--every N]   prints the rows of all candidates, and what students decide
//! ```
//!
//! The port to Java (`spark/`) has a twin, `distill.tools.StateRows`, whose lines must be the same.

mod drawn;
mod make;
mod rows;

use std::error::Error;

const USAGE: &str =
    "state_rows make FILE [--episodes N] | state_rows rows FILE STUDENT... [--full|--decisions] [--every N]";

fn main() -> Result<(), Box<dyn Error>> {
    let (mut words, mut detail, mut number) = (Vec::new(), rows::Detail::Hashes, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--full" => detail = rows::Detail::Full,
            "--decisions" => detail = rows::Detail::Decisions,
            "--every" | "--episodes" => number = Some(args.next().ok_or(USAGE)?.parse()?),
            _ => words.push(arg),
        }
    }
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", file] => make::make(file, number.unwrap_or(8)),
        ["rows", file, ref students @ ..] if !students.is_empty() => {
            let lines = rows::lines(file, number.unwrap_or(1))?;
            students.iter().try_for_each(|student| rows::rows(&lines, student, detail))
        }
        _ => Err(USAGE.into()),
    }
}
