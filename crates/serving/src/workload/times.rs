//! Times of prompts as they were measured: a table of models, hardware, sizes of prompts and of batches, of which a set of a model on some hardware
//! becomes a law.
//!
//! Such tables are not full: that of Splitwise has prompts of seven sizes one at a time, and batches of seven sizes of one prompt. What lies
//! between is filled by how many tokens a batch has, which is what its time goes by ([`Filler`]).

use super::{ServingTask, requests::counts};
use crate::{Server, Table};
use sched_distill_core::{
    spec::{Args, SpecError},
    workload::{self, WorkloadError},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Which times are meant: a file, and a set of it.
pub(super) struct Selected {
    path: PathBuf,
    model: Option<String>,
    hardware: Option<String>,
    parallel: Option<u32>,
}

/// A model on some hardware, with so many devices that share each layer.
type Set = (String, String, u32);

/// Measured times, ms, by prompt (tokens) and batch: repeats of one pair.
type Repeats = BTreeMap<(u32, u32), Vec<f64>>;

impl Selected {
    /// Reads `times`, `model`, `hardware` and `parallel`; `None` without `times`.
    pub(super) fn from_args(args: &mut Args<'_>) -> Result<Option<Self>, SpecError> {
        let times = args.text("times");
        let (model, hardware) = (args.text("model"), args.text("hardware"));
        let parallel = args.optional_count("parallel", 1..=1 << 16)?;
        if let Some(path) = times {
            return Ok(Some(Self { path: path.into(), model, hardware, parallel }));
        }
        let given = [("model", model), ("hardware", hardware), ("parallel", parallel.map(|n| n.to_string()))];
        match given.iter().find_map(|(key, value)| Some((key, value.as_ref()?))) {
            Some((key, value)) => {
                Err(args.conflict(key, value, "given with `times=FILE`, the times of which it names a set"))
            }
            None => Ok(None),
        }
    }

    fn is(&self, (model, hardware, parallel): &Set) -> bool {
        self.model.as_ref().is_none_or(|named| named == model)
            && self.hardware.as_ref().is_none_or(|named| named == hardware)
            && self.parallel.is_none_or(|named| named == *parallel)
    }

    /// Reads the set that is meant, with sizes in units of so many tokens.
    pub(super) fn load(self, unit: u32) -> Result<Times, WorkloadError> {
        let table = workload::Table::load(&self.path)?;
        let refused = |problem: String| WorkloadError::Format { path: self.path.clone(), problem };
        let sets = read(&table).map_err(refused)?;
        let mut meant = sets.iter().filter(|(set, _)| self.is(set));
        let (set, repeats) = match (meant.next(), meant.next()) {
            (Some(one), None) => one,
            (found, _) => {
                let found = if found.is_some() { "more than one set" } else { "no set" };
                return Err(refused(format!(
                    "has {found} of times that is meant here; `model`, `hardware` and `parallel` name one of {}",
                    listed(sets.keys())
                )));
            }
        };
        if let Some(&(prompt, _)) = repeats.keys().find(|(prompt, _)| prompt % unit != 0) {
            return Err(refused(format!(
                "has times of prompts of {prompt} tokens, which are not whole units of {unit}; give a `unit` that divides all sizes of prompts, \
                 such as {}",
                repeats.keys().fold(0, |all, &(prompt, _)| gcd(all, prompt))
            )));
        }
        let (model, hardware, parallel) = set;
        let name = format!("{model} on {hardware} with tensor parallelism {parallel}");
        Times::new(name, repeats, unit, self.path.clone()).map_err(refused)
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// All sets of a file.
fn read(table: &workload::Table) -> Result<BTreeMap<Set, Repeats>, String> {
    let (models, hardware) = (table.texts("model")?, table.texts("hardware")?);
    let parallel = table.counts("tensor_parallel", 1..=1 << 16)?;
    let prompts = table.counts("prompt_size", 1..=1 << 20)?;
    let batches = table.counts("batch_size", 1..=1 << 12)?;
    let times = table.numbers("prompt_time", 1e-6..=1e9)?;
    let mut sets: BTreeMap<Set, Repeats> = BTreeMap::new();
    let rows = models.into_iter().zip(hardware).zip(parallel).zip(prompts.into_iter().zip(batches)).zip(times);
    for ((((model, hardware), parallel), pair), ms) in rows {
        sets.entry((model, hardware, parallel)).or_default().entry(pair).or_default().push(ms);
    }
    Ok(sets)
}

/// Sets in words: `llama on a100 (parallel 2, 4), bloom on a100 (parallel 8)`.
fn listed<'a>(sets: impl Iterator<Item = &'a Set>) -> String {
    let mut parallel: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (model, hardware, n) in sets {
        parallel.entry((model, hardware)).or_default().push(n.to_string());
    }
    let set = |((model, hardware), n): ((&str, &str), Vec<String>)| {
        format!("model={model} hardware={hardware} parallel={}", n.join("|"))
    };
    parallel.into_iter().map(set).collect::<Vec<_>>().join(", ")
}

/// Times of one set as a law.
#[derive(Debug)]
pub(super) struct Times {
    name: String,
    path: PathBuf,
    unit: u32,
    /// By prompt (tokens) and batch the median over its repeats, ms.
    measured: BTreeMap<(u32, u32), f64>,
    /// By size, in units, and batch.
    table: Table,
    /// Pairs whose time is less than that of fewer tokens, by a tenth at least.
    falls: Vec<(u32, u32)>,
}

impl Times {
    fn new(name: String, repeats: &Repeats, unit: u32, path: PathBuf) -> Result<Self, String> {
        let measured: BTreeMap<(u32, u32), f64> = repeats.iter().map(|(&pair, ms)| (pair, median(ms))).collect();
        let filler = Filler::of(&measured);
        let prompts: BTreeSet<u32> = measured.keys().map(|&(prompt, _)| prompt).collect();
        let batches: BTreeSet<u32> = measured.keys().map(|&(_, batch)| batch).collect();
        let time = |prompt: u32, batch: u32| {
            measured.get(&(prompt, batch)).copied().unwrap_or_else(|| filler.ms(&measured, prompt, batch))
        };
        let ms = batches.iter().map(|&batch| prompts.iter().map(|&prompt| time(prompt, batch)).collect()).collect();
        let sizes = prompts.iter().map(|prompt| prompt / unit).collect();
        let table = Table::new(sizes, batches.into_iter().collect(), ms).map_err(|error| error.to_string())?;
        let falls = filler.falls;
        Ok(Self { name, path, unit, measured, table, falls })
    }

    /// By size, in units, and batch.
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the times are from, and how many of those that batches of these tasks can ask for are measured.
    pub(super) fn notes(&self, server: &Server, tasks: &[ServingTask]) -> Vec<String> {
        let sizes: BTreeSet<u32> = tasks.iter().map(|task| task.size).collect();
        let counts = counts(server);
        let ends = |each: &dyn Fn(&(u32, u32)) -> u32| {
            let all = || self.measured.keys().map(each);
            all().min().unwrap_or_default()..=all().max().unwrap_or_default()
        };
        let (prompts, batches) = (ends(&|pair| pair.0), ends(&|pair| pair.1));
        let [mut measured, mut between, mut beyond] = [0u64; 3];
        for &count in &counts {
            for &size in &sizes {
                let prompt = size.saturating_mul(self.unit);
                match () {
                    () if self.measured.contains_key(&(prompt, count)) => measured += 1,
                    () if prompts.contains(&prompt) && batches.contains(&count) => between += 1,
                    () => beyond += 1,
                }
            }
        }
        let mut notes = vec![
            format!(
                "a batch takes what its prompts took {}: sizes are contexts, and what is generated is left to other machines",
                self.name
            ),
            format!(
                "of {} pairs of a number of tasks and a size that batches can have, {measured} were measured, {between} lie between measured ones \
                 and {beyond} outside of them (docs/serving.md#times-of-a-table)",
                measured + between + beyond
            ),
        ];
        let pair = |&(prompt, batch): &(u32, u32)| format!("prompts of {prompt} tokens in batches of {batch}");
        if !self.falls.is_empty() {
            notes.push(format!(
                "{} took less than fewer tokens did, by a tenth at least: these times stand as they were measured, and fill no others",
                self.falls.iter().map(pair).collect::<Vec<_>>().join(" and ")
            ));
        }
        notes
    }
}

/// The middle one, or the mean of the two in the middle.
fn median(of: &[f64]) -> f64 {
    let mut of = of.to_vec();
    of.sort_by(f64::total_cmp);
    let middle = of.len() / 2;
    if of.len() % 2 == 1 { of[middle] } else { f64::midpoint(of[middle - 1], of[middle]) }
}

/// Times of pairs that were not measured.
///
/// A batch of `b` prompts of `p` tokens takes `t(p, b₀) · f(p · b) / f(p · b₀)`, or `f(p · b)` where `t(p, b₀)` was not measured: `b₀` is the batch of
/// which most prompts were measured, and `f` the time by the number of all tokens, from batches of the prompt of which most batches were, and
/// below its tokens from the prompts in batches of `b₀`. `f` is linear between measured ones, as the least below them, and as the last two
/// have it above.
struct Filler {
    batch: u32,
    /// Tokens and ms, both ascending.
    by_tokens: Vec<(f64, f64)>,
    falls: Vec<(u32, u32)>,
}

impl Filler {
    /// Of at least one measured pair.
    fn of(measured: &BTreeMap<(u32, u32), f64>) -> Self {
        let most = |each: &dyn Fn(&(u32, u32)) -> u32| {
            let mut found: BTreeMap<u32, usize> = BTreeMap::new();
            measured.keys().for_each(|pair| *found.entry(each(pair)).or_default() += 1);
            // Of equals the least.
            let best = found.into_iter().rev().max_by_key(|&(_, n)| n);
            best.map_or(1, |(value, _)| value)
        };
        let (prompt, batch) = (most(&|pair| pair.0), most(&|pair| pair.1));
        let used = measured.iter().filter(|(pair, _)| pair.0 == prompt || pair.1 == batch && pair.0 < prompt);
        let mut all: Vec<(u64, (u32, u32), f64)> =
            used.map(|(&pair, &ms)| (u64::from(pair.0) * u64::from(pair.1), pair, ms)).collect();
        all.sort_by_key(|&(tokens, ..)| tokens);
        let (mut by_tokens, mut falls) = (Vec::<(f64, f64)>::new(), Vec::new());
        for (tokens, pair, ms) in all {
            match by_tokens.last() {
                // More tokens do not take less time.
                Some(&(_, last_ms)) if ms <= last_ms => {
                    if ms < 0.9 * last_ms {
                        falls.push(pair);
                    }
                }
                _ => by_tokens.push((tokens as f64, ms)),
            }
        }
        Self { batch, by_tokens, falls }
    }

    fn of_tokens(&self, tokens: f64) -> f64 {
        let all = &self.by_tokens;
        let after = all.partition_point(|&(n, _)| n <= tokens).clamp(1, all.len().saturating_sub(1).max(1));
        match (all.get(after - 1), all.get(after)) {
            (Some(&(from, a)), Some(&(to, b))) => a + (b - a) * ((tokens - from) / (to - from)).max(0.0),
            (Some(&(_, only)), None) => only,
            _ => 1.0,
        }
    }

    fn ms(&self, measured: &BTreeMap<(u32, u32), f64>, prompt: u32, batch: u32) -> f64 {
        let of = |batch: u32| self.of_tokens(f64::from(prompt) * f64::from(batch));
        match measured.get(&(prompt, self.batch)) {
            Some(ms) => ms * of(batch) / of(self.batch),
            None => of(batch),
        }
    }
}

#[cfg(test)]
mod tests;
