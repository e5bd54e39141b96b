//! The rows of all candidates at every question of every round, and what a student decides.

use sched_distill_core::{
    policy::{Policy, StudentPolicy},
    scenario::Said,
};
use sched_distill_dag::{Change, ClusterState, Dag, Decision, View, feature::Extractor, feature::feature_set};
use serde::Deserialize;
use serde_json::Value;
use std::{
    error::Error,
    fmt::Write as _,
    fs::File,
    io::{BufRead, BufReader, Write},
    path::Path,
};

/// What is told of rows.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Detail {
    /// The bits of every column.
    Full,
    /// A hash of these.
    Hashes,
    /// Nothing: decisions alone.
    Decisions,
}

/// A line of a client.
#[derive(Deserialize)]
pub(crate) struct Line {
    id: u64,
    state: Option<Value>,
    change: Option<Value>,
}

/// The lines of a file: every so many of those that tell a whole state, and what changes after these.
pub(crate) fn lines(file: &str, every: usize) -> Result<Vec<Line>, Box<dyn Error>> {
    let (mut lines, mut whole) = (Vec::new(), 0);
    for line in BufReader::new(File::open(file)?).lines() {
        let line = line?;
        // Whether it tells a whole state is seen without reading all of it.
        whole += usize::from(!line.starts_with(r#"{"change""#));
        if (whole - 1) % every == 0 {
            lines.push(serde_json::from_str(&line)?);
        }
    }
    Ok(lines)
}

/// FNV-1a of the bits of a row, the low byte of each column first.
fn hash(row: &[f32]) -> u64 {
    row.iter()
        .flat_map(|value| value.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Who prints.
struct Printer {
    detail: Detail,
    widths: Vec<usize>,
    extractor: Extractor,
    x: Vec<f32>,
    out: String,
    /// States that could be read, questions and rows.
    counts: [u64; 3],
}

impl Printer {
    /// Prints the rows that stand in the buffer.
    fn print(&mut self, level: usize, of: &[u32]) {
        self.out.push_str(["jobs", "stages", "amounts"][level]);
        of.iter().for_each(|number| _ = write!(self.out, " {number}"));
        for row in self.x.chunks_exact(self.widths[level]) {
            self.counts[2] += 1;
            match self.detail {
                Detail::Full => {
                    self.out.push_str("\n ");
                    row.iter().for_each(|value| _ = write!(self.out, " {:08x}", value.to_bits()));
                }
                Detail::Hashes | Detail::Decisions => _ = write!(self.out, " {:016x}", hash(row)),
            }
        }
        self.out.push('\n');
        self.x.clear();
    }

    /// The rows of all candidates of all levels.
    fn question(&mut self, seen: &View<'_>, abstains: bool) {
        self.counts[1] += 1;
        if self.detail == Detail::Decisions {
            return;
        }
        self.extractor.update(seen);
        self.extractor.job_rows(seen, abstains, &mut self.x);
        self.print(0, &[]);
        let jobs: Vec<u32> = self.extractor.snapshot().candidate_jobs().collect();
        for (candidate, job) in jobs.into_iter().enumerate() {
            self.extractor.stage_rows(seen, candidate, &mut self.x);
            self.print(1, &[job]);
            for stage in self.extractor.snapshot().candidate_stages(candidate).to_vec() {
                self.extractor.amount_rows(seen, stage, &mut self.x);
                self.print(2, &[job, stage.stage]);
            }
        }
    }

    fn decision(&mut self, decision: Decision) {
        _ = match decision {
            Decision::Assign { stage, executors } => {
                writeln!(self.out, "decision assign {} {} {executors}", stage.job, stage.stage)
            }
            Decision::Abstain => writeln!(self.out, "decision abstain"),
        };
    }
}

/// The state of a line; `None` if it is refused, or says what has changed in one that was.
fn read(line: &Line, before: Option<ClusterState>) -> Option<ClusterState> {
    match (&line.state, &line.change, before) {
        (Some(state), None, _) => ClusterState::deserialize(state).ok(),
        (None, Some(change), Some(mut state)) => {
            state.change(Change::deserialize(change).ok()?).ok()?;
            Some(state)
        }
        _ => None,
    }
}

/// Prints what comes of the states of these lines.
pub(crate) fn rows(lines: &[Line], student: &str, detail: Detail) -> Result<(), Box<dyn Error>> {
    let mut policy = StudentPolicy::<Dag>::load(Path::new(student), None)?;
    let abstains = Policy::<Dag>::abstains(&policy);
    let widths = feature_set().levels.iter().map(|level| level.features.len()).collect();
    let (extractor, x, out) = (Extractor::default(), Vec::new(), String::new());
    let mut printer = Printer { detail, widths, extractor, x, out, counts: [0; 3] };
    let mut stdout = std::io::stdout().lock();
    let mut before = None;
    for line in lines {
        let Some(mut state) = read(line, before.take()) else {
            writeln!(printer.out, "refused {}", line.id)?;
            continue;
        };
        printer.counts[0] += 1;
        writeln!(printer.out, "state {}", line.id)?;
        while let Some(seen) = state.view() {
            printer.question(&seen, abstains);
            let decision = policy.decide(&seen, &mut Said::default())?;
            printer.decision(decision);
            state.answer(decision)?;
        }
        before = Some(state);
        stdout.write_all(printer.out.as_bytes())?;
        printer.out.clear();
    }
    let [states, questions, rows] = printer.counts;
    writeln!(printer.out, "total of {student}: {states} states {questions} questions {rows} rows")?;
    Ok(stdout.write_all(printer.out.as_bytes())?)
}
