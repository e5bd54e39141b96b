//! A process that answers questions: one JSON line each way.

mod family;
pub(crate) mod named;
mod pipe;
mod process;
mod protocol;

pub use process::kill_processes;
pub use protocol::PROTOCOL;

use super::{ForeignError, Network};
use pipe::Failure;
use process::{Process, cut};
use sched_distill_core::contract::{Contract, Inputs, Scores};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// A network behind a process.
///
/// A process is started when the first question is asked. It goes on to the next episode's copy when a copy is dropped, so
/// there are as many processes as episodes that run at a time; all are ended when the last copy is dropped.
pub struct ScriptNetwork {
    pool: Arc<Pool>,
    process: Option<Process>,
    /// The seed of an episode that the process has not been told of.
    reset: Option<u64>,
    questions: u64,
    lines: Vec<u8>,
}

/// What copies share.
struct Pool {
    /// What it is called: its name, or the whole command.
    command: String,
    /// Whether that is a name, of which nothing else is to be written.
    is_named: bool,
    words: Vec<String>,
    timeout: Duration,
    contract: &'static Contract,
    /// Processes that no copy uses.
    idle: Mutex<Vec<Process>>,
}

impl ScriptNetwork {
    /// A process that `command` starts, for questions of a contract. Words are separated by spaces; quotes, 'single' or "double", keep words together.
    /// No shell takes part.
    ///
    /// # Errors
    ///
    /// A command without a word, or with a quote that is not closed.
    pub fn new(command: &str, timeout: Duration, contract: &'static Contract) -> Result<Self, ForeignError> {
        let bad = |problem: &str| ForeignError::Command { command: command.to_owned(), problem: problem.to_owned() };
        let words = words(command).ok_or_else(|| bad("a quote is not closed"))?;
        if words.first().is_none_or(String::is_empty) {
            return Err(bad("no program; expected script:PROGRAM ARGUMENTS..., e.g. script:python3 policy.py"));
        }
        let pool =
            Pool { command: command.to_owned(), is_named: false, words, timeout, contract, idle: Mutex::default() };
        Ok(Self::with(Arc::new(pool)))
    }

    /// The same under a name, which stands for the command wherever the process is spoken of.
    ///
    /// # Errors
    ///
    /// As of [`Self::new`].
    pub fn named(
        name: &str,
        command: &str,
        timeout: Duration,
        contract: &'static Contract,
    ) -> Result<Self, ForeignError> {
        let mut network = Self::new(command, timeout, contract)?;
        if let Some(pool) = Arc::get_mut(&mut network.pool) {
            (pool.command, pool.is_named) = (name.to_owned(), true);
        }
        Ok(network)
    }

    fn with(pool: Arc<Pool>) -> Self {
        Self { pool, process: None, reset: None, questions: 0, lines: Vec::new() }
    }

    /// A process that has been introduced: one that is idle, or a new one.
    fn process(&mut self) -> Result<Process, ForeignError> {
        if let Some(process) = self.process.take() {
            return Ok(process);
        }
        // What a process learnt from other episodes must not show.
        self.reset.get_or_insert(0);
        let idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(process) = idle {
            return Ok(process);
        }
        let Pool { words, timeout, command, contract, .. } = &*self.pool;
        let mut process = Process::start(words, *timeout).map_err(|source| ForeignError::Start {
            command: command.clone(),
            program: words[0].clone(),
            source,
        })?;
        let hello = protocol::hello(contract);
        let checked = match process.ask(hello.as_bytes()) {
            Ok(line) => protocol::read_ready(line).map_err(|problem| (line.to_vec(), problem)),
            Err(failure) => return Err(self.failed(process, failure, hello.as_bytes())),
        };
        match checked {
            Ok(()) => Ok(process),
            Err((line, problem)) => Err(self.refused(process, &line, problem)),
        }
    }

    /// The error that a process gave no answer. Its end is awaited, since its last words belong to the error.
    fn failed(&self, process: Process, failure: Failure, asked: &[u8]) -> ForeignError {
        // What was asked last is the end of what was sent.
        let asked = asked.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        let (command, asked) = (self.pool.command.clone(), cut(asked));
        match failure {
            Failure::TimedOut => {
                let seconds = self.pool.timeout.as_secs_f64();
                ForeignError::TimedOut { command, seconds, asked, stderr: process.end_now().stderr }
            }
            Failure::TooLong => {
                let problem = "a line of more than 64 MiB".to_owned();
                ForeignError::Answer { command, line: asked, problem, stderr: process.end_now().stderr }
            }
            Failure::More(more) => {
                let problem = "this came after the answer; one line is allowed".to_owned();
                ForeignError::Answer { command, line: cut(&more), problem, stderr: process.end_now().stderr }
            }
            Failure::Ended(partial) => {
                let last = process.end();
                let mut how = last.how;
                if !partial.is_empty() {
                    how += &format!(", having written `{}` without an end of line,", cut(&partial));
                }
                ForeignError::Ended { command, how, asked, stderr: last.stderr }
            }
        }
    }

    /// The error that an answer is none.
    fn refused(&self, process: Process, line: &[u8], problem: String) -> ForeignError {
        let stderr = process.end().stderr;
        ForeignError::Answer { command: self.pool.command.clone(), line: cut(line), problem, stderr }
    }
}

impl Network for ScriptNetwork {
    fn name(&self) -> String {
        format!("script:{}", self.pool.command)
    }

    fn fresh(&self) -> Box<dyn Network> {
        Box::new(Self::with(Arc::clone(&self.pool)))
    }

    fn reset(&mut self, episode_seed: u64) {
        self.reset = Some(episode_seed);
    }

    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
        let mut process = self.process()?;
        self.lines.clear();
        if let Some(seed) = self.reset.take() {
            protocol::write_reset(seed, &mut self.lines);
        }
        self.questions += 1;
        protocol::write_question(self.questions, inputs, &mut self.lines);
        let answer = match process.ask(&self.lines) {
            Ok(line) => protocol::read_answer(line, self.questions, out).map_err(|problem| (line.to_vec(), problem)),
            Err(failure) => return Err(self.failed(process, failure, &self.lines)),
        };
        match answer {
            Ok(()) => {
                self.process = Some(process);
                Ok(())
            }
            Err((line, problem)) => Err(self.refused(process, &line, problem)),
        }
    }

    fn processes(&self) -> usize {
        1
    }

    fn files(&self) -> Vec<PathBuf> {
        // Those of a named command are part of its hash.
        let words = self.pool.words.iter().filter(|_| !self.pool.is_named);
        words.map(PathBuf::from).filter(|path| path.is_file()).collect()
    }
}

impl Drop for ScriptNetwork {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        }
    }
}

/// The words of a command; `None` if a quote is not closed.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::contract::Tabular as _;

    #[test]
    fn quotes_keep_words_together() {
        let split = |command| words(command).map(|words| words.join("|"));
        assert_eq!(split("python3  a.py --x=1 "), Some("python3|a.py|--x=1".to_owned()));
        assert_eq!(split("sh -c 'a \"b\" c' \"\""), Some("sh|-c|a \"b\" c|".to_owned()));
        assert_eq!(split("a'b c'd"), Some("ab cd".to_owned()));
        assert_eq!(split("a 'b"), None);
        assert_eq!(split("  "), Some(String::new()));
    }

    #[test]
    fn a_command_without_a_program_is_refused() {
        let contract = sched_distill_dag::Dag::contract();
        let said = |command| ScriptNetwork::new(command, Duration::from_secs(1), contract).err().map(|e| e.to_string());
        assert!(said(" ").is_some_and(|s| s.contains("no program")));
        assert!(said("'' x").is_some_and(|s| s.contains("no program")));
        assert!(said("a 'b").is_some_and(|s| s.contains("quote is not closed")));
        assert_eq!(said("a b"), None);
    }
}
