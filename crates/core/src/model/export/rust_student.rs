//! A whole student as Rust source.

use super::{
    decider::{Decider, Level, Scores},
    identifier, plain,
    rust::{comment, functions},
    source::double,
};
use crate::model::{Pick, guard::CompiledGuard};

/// How it is called.
const CALL: &str = r#"
The caller lists the candidates of a choice when it is asked for them. With the rows of all jobs one after the other:

```ignore
impl student::Choices for Cluster {
    fn candidates(&mut self, path: &[usize]) -> &[f32] {
        match *path {
            [] => &self.job_rows,
            [job] => ... the candidates for that job, and so on
        }
    }
}

let (mut scores, mut path) = ([0.0; 1000], [0; student::LEVELS]);
let path = student::decide(&mut cluster, &mut scores, &mut path)?;
```

The decision is the path: numbers of candidates, level by level. Nothing is allocated, and nothing kept between calls.
Needs no `std`.
"#;

/// The caller's side.
const CONTRACT: &str = "
/// The caller's side of a decision.
pub trait Choices {
    /// Tells who the candidates at a path are: those of level `path.len()`, where the candidates in `path` have been
    /// taken at the levels above it; numbers count from 0. Returns their rows, one after the other, each with all
    /// features of the level in order; what a single candidate's row holds is of no matter. No row says that there is
    /// nothing to choose: the path is a whole decision.
    fn candidates(&mut self, path: &[usize]) -> &[f32];
}

/// There are more candidates than room for scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewScores {
    /// So many scores there must be room for; choices that are not reached before may need still more.
    pub needed: usize,
}

impl ::core::fmt::Display for TooFewScores {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        write!(f, \"no room for {} scores\", self.needed)
    }
}
";

/// What every student uses.
const RUN: &str = "
/// The first of the largest; NaN never is.
fn first_max(scores: &[f64]) -> usize {
    let (mut best, mut most) = (0, f64::NEG_INFINITY);
    for (i, &score) in scores.iter().enumerate() {
        if score > most {
            (best, most) = (i, score);
        }
    }
    best
}

/// Scores the candidates at a path into the places from `used` on, and returns their number. One alone has the score 0.
fn score<C: Choices + ?Sized>(
    choices: &mut C,
    path: &[usize],
    scores: &mut [f64],
    used: usize,
) -> Result<usize, TooFewScores> {
    let level = path.len();
    let rows = choices.candidates(path);
    let n = rows.len() / FEATURES[level];
    let needed = used + n;
    let scores = scores.get_mut(used..needed).ok_or(TooFewScores { needed })?;
    match n {
        0 | 1 => scores.fill(0.0),
        _ => score_choice(level, rows, scores),
    }
    Ok(n)
}
";

/// Scores by rows.
const ROWS: &str = "
/// Writes what a function says of every row.
#[inline(always)]
fn by_row<const W: usize>(rows: &[f32], scores: &mut [f64], of: impl Fn(&[f32; W]) -> f64) {
    for (x, score) in rows.chunks_exact(W).zip(scores) {
        if let Ok(x) = x.try_into() {
            *score = of(x);
        }
    }
}
";

/// Pairwise trees.
const PAIRS: &str = "
/// Writes the sum of every row's chances against all others. A pair is a row, then its differences to the other's.
#[inline(always)]
fn by_pair<const W: usize, const P: usize>(rows: &[f32], scores: &mut [f64], beats: fn(&[f32; P]) -> f64) {
    let mut pair = [0.0; P];
    for (i, (x, score)) in rows.chunks_exact(W).zip(scores).enumerate() {
        pair[..W].copy_from_slice(x);
        let mut sum = -0.0;
        for (_, opponent) in rows.chunks_exact(W).enumerate().filter(|(j, _)| *j != i) {
            let both = x.iter().zip(opponent);
            pair[W..].iter_mut().zip(both).for_each(|(difference, (a, b))| *difference = a - b);
            sum += beats(&pair);
        }
        *score = sum;
    }
}
";

/// Guards.
const GUARD: &str = "
#[derive(Clone, Copy, PartialEq)]
enum Action {
    First,
    Last,
    Never,
}

/// Candidates that a guard rules out get the score minus infinity; at least one remains. Who gives nothing, by the flag
/// in the column `none`, does not meet it, and is none of the others.
fn guard<const W: usize>(
    rows: &[f32],
    scores: &mut [f64],
    none: Option<usize>,
    meets: fn(&[f32]) -> bool,
    action: Action,
) {
    let is_none = |x: &[f32]| matches!(none, Some(column) if x[column] > 0.5);
    let meets = |x: &[f32]| !is_none(x) && meets(x);
    let (mut met, mut open, mut first) = (0, 0, 0);
    for (i, (x, score)) in rows.chunks_exact(W).zip(scores.iter()).enumerate() {
        if *score > f64::NEG_INFINITY && !is_none(x) {
            open += 1;
            if meets(x) {
                if met == 0 {
                    first = i;
                }
                met += 1;
            }
        }
    }
    if met == 0 || (met == open && action != Action::Never) {
        return;
    }
    for (i, (x, score)) in rows.chunks_exact(W).zip(scores).enumerate() {
        let out = match met == open {
            true => i != first && !is_none(x),
            false => meets(x) != (action == Action::First),
        };
        if out {
            *score = f64::NEG_INFINITY;
        }
    }
}
";

/// The median.
const MEDIAN: &str = "
/// The first up to which the probabilities add up to one half.
fn median(scores: &[f64], temperature: f64) -> usize {
    let most = first_max(scores);
    let share = |score: &f64| exp((score - scores[most]) / temperature);
    let half = scores.iter().map(share).fold(-0.0, |sum, share| sum + share) / 2.0;
    let mut sum = 0.0;
    for (i, score) in scores.iter().enumerate() {
        sum += share(score);
        if sum >= half {
            return i;
        }
    }
    most
}
";

/// The search of a flat student.
const SEARCH: &str = "
/// The most probable path found so far, the first of equals.
struct Best {
    path: [usize; LEVELS],
    depth: usize,
    log_prob: f64,
}

fn log_sum_exp(scores: &[f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + ln(scores.iter().fold(-0.0, |sum, score| sum + exp(score - most)))
}

/// Finds the most probable continuation of a path with that log-probability through the levels above the amount.
fn search<C: Choices + ?Sized>(
    choices: &mut C,
    (scores, used): (&mut [f64], usize),
    (path, depth): (&mut [usize; LEVELS], usize),
    so_far: f64,
    best: &mut Best,
) -> Result<(), TooFewScores> {
    let n = if depth < TEMPERATURE.len() { score(choices, &path[..depth], scores, used)? } else { 0 };
    if n == 0 {
        let before = path[..depth] < best.path[..best.depth];
        if so_far > best.log_prob || (so_far == best.log_prob && before) {
            *best = Best { path: *path, depth, log_prob: so_far };
        }
        return Ok(());
    }
    let end = used + n;
    let own = &mut scores[used..end];
    own.iter_mut().for_each(|score| *score /= TEMPERATURE[depth]);
    let (total, first) = (log_sum_exp(own), first_max(own));
    // The best candidate, then the others in order: no path is more probable than its beginning, so that few are left
    // to be looked at.
    for candidate in ::core::iter::once(first).chain((0..n).filter(|&c| c != first)) {
        let with = so_far + (scores[used + candidate] - total);
        if with >= best.log_prob {
            path[depth] = candidate;
            search(choices, (&mut *scores, end), (&mut *path, depth + 1), with, best)?;
        }
    }
    Ok(())
}
";

const DECIDE: &str = "
/// Decides; the path of the decision, empty if there is no candidate at all. `scores` is room for scores: SCRATCH.
///
/// # Errors
///
/// [`TooFewScores`] if there are more candidates than room for scores.
pub fn decide<'p, C: Choices + ?Sized>(
    choices: &mut C,
    scores: &mut [f64],
    path: &'p mut [usize; LEVELS],
) -> Result<&'p [usize], TooFewScores> {
BEGIN    while depth < LEVELS {
        let n = score(choices, &path[..depth], scores, 0)?;
        if n == 0 {
            break;
        }
        path[depth] = pick(depth, &scores[..n]);
        depth += 1;
    }
    Ok(&path[..depth])
}
";

/// How a flat student begins to decide.
const BEGIN: &str = "    let mut best = Best { path: [0; LEVELS], depth: 0, log_prob: f64::NEG_INFINITY };
    search(choices, (&mut *scores, 0), (&mut *path, 0), 0.0, &mut best)?;
    *path = best.path;
    let mut depth = best.depth;
";

pub(super) fn export(decider: &Decider<'_>) -> String {
    let mut text = comment("//!", &decider.preface(CALL));
    text +=
        "\n// Callers need not use all of it, and it was not written by hand.\n#![allow(dead_code, clippy::all)]\n\n";
    text += &constants(decider);
    text += CONTRACT;
    text += &functions(decider.pieces, &decider.names, decider.math());
    text += ROWS;
    if decider.has_pairs() {
        text += PAIRS;
    }
    if decider.has_guards() {
        text += GUARD;
    }
    for level in &decider.levels {
        text += &choice(level);
    }
    text += &dispatch(decider);
    text += RUN;
    if decider.has_medians() {
        text += MEDIAN;
    }
    text += &pick(decider);
    if decider.searched > 0 {
        let temperatures = decider.levels[..decider.searched].iter().map(|l| double(&l.temperature));
        let list = temperatures.collect::<Vec<_>>().join(", ");
        text += "\n/// Of the levels above the amount.\n";
        text += &format!("const TEMPERATURE: [f64; {}] = [{list}];\n", decider.searched);
        text += SEARCH;
    }
    let (begin, scratch) = match decider.searched {
        0 => ("    let mut depth = 0;\n", "as many as a choice has\n/// candidates at most"),
        _ => (BEGIN, "as many as the choices along\n/// a path have candidates at most, all together"),
    };
    text + &DECIDE.replace("BEGIN", begin).replace("SCRATCH", scratch)
}

fn constants(decider: &Decider<'_>) -> String {
    let student = decider.student;
    let widths: Vec<String> = decider.levels.iter().map(|level| level.spec.features.len().to_string()).collect();
    let mut text = format!(
        "/// Questions of a decision at most.\npub const LEVELS: usize = {};\n\
         /// Features of a row, by level.\npub const FEATURES: [usize; LEVELS] = [{}];\n\
         /// What the student schedules.\npub const SCENARIO: &str = {};\n\
         /// SHA-256 of the features' names, units and versions.\npub const FEATURE_SET: &str = {};\n\
         /// Whether to give nothing is a candidate of the first level.\npub const ABSTAINS: bool = {};\n",
        decider.levels.len(),
        widths.join(", "),
        string(&student.scenario),
        string(&student.feature_set.hash()),
        student.abstains
    );
    let names: Vec<String> = decider.levels.iter().map(|level| level.name.clone()).collect();
    for (level, module) in decider.levels.iter().zip(identifier::modules(&names)) {
        let columns = identifier::columns(level.spec, &["FEATURES"]);
        text += &format!("\n// Level {}.\n/// Features of a row of a level, by place.\n", plain(&level.spec.name));
        text += &format!("pub mod {module} {{\n    /// Their number.\n");
        text += &format!("    pub const FEATURES: usize = {};\n", columns.len());
        for (i, (column, about)) in columns.iter().zip(decider.about_columns(level)).enumerate() {
            text += &format!("    pub const {column}: usize = {i}; // {about}\n");
        }
        text += "}\n";
    }
    text
}

/// The function that scores a choice of a level.
fn choice(level: &Level<'_>) -> String {
    let width = level.spec.features.len();
    let mut text = format!("\nfn scores_{}(rows: &[f32], scores: &mut [f64]) {{\n", level.name);
    text += &format!("    {};\n", scores(&level.scores, width));
    for (about, CompiledGuard { none, when, action }) in &level.guards {
        let when = when.iter().map(|(column, operator, value)| format!("x[{column}] {} {value:?}", operator.symbol()));
        let when = when.collect::<Vec<_>>().join(" && ");
        text +=
            &format!("    // {about}\n    guard::<{width}>(rows, scores, {none:?}, |x| {when}, Action::{action:?});\n");
    }
    text + "}\n"
}

/// An expression that fills `scores`.
fn scores(of: &Scores, width: usize) -> String {
    match of {
        Scores::Row(name) => format!("by_row(rows, scores, {name})"),
        Scores::Outputs(name, outputs) => {
            format!("by_row(rows, scores, |x| {{ let mut all = [0.0; {outputs}]; {name}(x, &mut all); all[0] }})")
        }
        Scores::Pairs(name) => format!("by_pair::<{width}, {}>(rows, scores, {name})", 2 * width),
        Scores::Regime(name, models) => {
            let mut text =
                format!("let Some(first) = rows.first_chunk() else {{ return }};\n    match {name}(first) {{\n");
            for (i, model) in models.iter().enumerate() {
                let label = if i + 1 < models.len() { i.to_string() } else { "_".to_owned() };
                text += &format!("        {label} => {},\n", scores(model, width));
            }
            text + "    }"
        }
    }
}

/// By level: the function that scores a choice of it.
fn dispatch(decider: &Decider<'_>) -> String {
    let mut text =
        "\nfn score_choice(level: usize, rows: &[f32], scores: &mut [f64]) {\n    match level {\n".to_owned();
    for (i, level) in decider.levels.iter().enumerate() {
        let label = if i + 1 < decider.levels.len() { i.to_string() } else { "_".to_owned() };
        text += &format!("        {label} => scores_{}(rows, scores),\n", level.name);
    }
    text + "    }\n}\n"
}

/// By level: what it takes of the scores.
fn pick(decider: &Decider<'_>) -> String {
    if !decider.has_medians() {
        return "\nfn pick(_: usize, scores: &[f64]) -> usize {\n    first_max(scores)\n}\n".to_owned();
    }
    let mut text = "\nfn pick(level: usize, scores: &[f64]) -> usize {\n    match level {\n".to_owned();
    for (i, level) in decider.levels.iter().enumerate().filter(|(_, level)| level.pick == Pick::Median) {
        text += &format!("        {i} => median(scores, {}),\n", double(&level.temperature));
    }
    text + "        _ => first_max(scores),\n    }\n}\n"
}

/// A string of the language.
fn string(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}
