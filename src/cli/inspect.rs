//! `distill inspect`: what is this, and is it sound?

use super::{
    common::{Common, Verdict},
    history,
    inputs::Inputs,
    looks::{Looks, looks, spec},
    output::Output,
    parts::{count, ranges},
    progress::Watched,
    table::Table,
};
use crate::{
    dag::network::DecimaCheckpoint,
    model::Pick,
    network::{Tensors, scorer::ScorerWeights},
    pipeline::quoted,
    serve::PRESENT_SCHEDULER,
    spec::Spec,
    text::one_line,
    trace::{self, Manifest, Unfinished},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use std::{
    collections::BTreeMap,
    io::Read as _,
    path::{Path, PathBuf},
};

/// Describe a trace, student, network, workload or log, and check that it is sound
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill inspect runs/demo/traces/train\n  distill inspect runs/demo/student.json\n  \
distill inspect --replay eventlog_v2_application_1",
    after_long_help = "Examples:\n  distill inspect runs/demo/traces/train\n  distill inspect runs/demo/student.json\n\n\
What a cluster left behind (docs/histories.md), and how near the simulator comes to it:\n  \
distill inspect --replay eventlog_v2_application_1\n  distill inspect spark:logs,split=time\n\n\
A trace that another program wrote (docs/trace-format.md):\n  distill inspect --seal my-trace\n\n\
Exit code 2 if something is wrong with it."
)]
pub(super) struct InspectArgs {
    /// Trace directory, student file, checkpoint of a network, workload, or log of a cluster; of another file it says which command takes it
    #[arg(help_heading = "Input")]
    path: PathBuf,
    /// Carry the schedule that a log records out again, and say how far the simulator's times are from the recorded ones
    #[arg(long, help_heading = "Input")]
    replay: bool,
    /// Fill in row counts and hashes of a trace that another program wrote
    #[arg(long, help_heading = "Output")]
    seal: bool,
}

impl InspectArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        let named = self.path.to_string_lossy();
        let is_workload = || named.parse::<Spec>().is_ok_and(|spec| spec.file.is_some());
        match history::located(&named).is_some() || is_workload() {
            true => history::inputs(&named),
            false => Inputs::default().anything(&self.path),
        }
    }
}

pub(super) fn run(args: &InspectArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if args.seal {
        let manifest = trace::seal(&args.path)?;
        let hash = trace::Trace::open(&args.path)?.hash;
        output.text(format!("sealed: {} files, trace {hash}", manifest.tables.len()))?;
        output.json("sealed", &json!({"hash": hash, "files": manifest.tables.len()}))?;
        return Ok(Verdict::Done);
    }
    if let Some(found) = history::find(&args.path.to_string_lossy(), common)? {
        return inspect_history(&found, args.replay, output);
    }
    if !args.path.exists() {
        bail!("{}: no such file or directory", args.path.display());
    }
    if args.replay {
        bail!("{}: no log of a cluster that is read here; --replay is for logs with a schedule", args.path.display());
    }
    match args.path.is_dir() {
        true => inspect_trace(&args.path, common, output),
        false if is_checkpoint(&args.path) => inspect_network(&args.path, common, output),
        false => inspect_file(&args.path, common, output),
    }
}

fn inspect_history(found: &history::Found, replays: bool, output: &mut Output) -> Result<Verdict> {
    let survey = found.scenario.survey(&found.workload)?;
    history::describe(found, &survey, output)?;
    let replay = match replays {
        true => Some(found.scenario.replay(&found.workload, Watched::new(output).caller())?),
        false => None,
    };
    if let Some(replay) = &replay {
        history::describe_replay(replay.as_ref(), output)?;
    }
    let info = found.scenario.info();
    let policies: Vec<String> =
        found.scenario.baselines().iter().take(2).map(|id| format!("-p {}", quoted(id))).collect();
    output.text("\nsound; schedule it with:")?;
    output.text(format!(
        "  distill simulate --scenario {} {} -w {}",
        info.name,
        policies.join(" "),
        quoted(&found.workload)
    ))?;
    output.json(
        "history",
        &json!({"scenario": info.name, "workload": found.workload, "survey": survey, "replay": replay.flatten()}),
    )?;
    Ok(Verdict::Done)
}

fn inspect_file(path: &Path, common: &Common, output: &mut Output) -> Result<Verdict> {
    let bytes = std::fs::read(path).with_context(|| format!("{}: cannot read", path.display()))?;
    match looks(path, &bytes, common) {
        Looks::Student => inspect_student(path, common, output),
        Looks::Workload(info, policy, spec) => {
            output.text(format!("workload of `{}`\n", info.name))?;
            let survey = common.registry.find(info.name).map(|scenario| scenario.survey(&spec)).transpose()?;
            if let Some(survey) = &survey {
                history::of_jobs(info, survey, output)?;
            }
            output.text("\nsound; schedule it with:")?;
            let (policy, spec) = (quoted(policy), quoted(&spec));
            output.text(format!("  distill simulate --scenario {} -p {policy} -w {spec}", info.name))?;
            output.json("workload", &json!({"scenario": info.name, "workload": spec, "survey": survey}))?;
            Ok(Verdict::Done)
        }
        Looks::Other(words) => bail!("{}: looks like {words}", path.display()),
    }
}

fn inspect_trace(dir: &Path, common: &Common, output: &mut Output) -> Result<Verdict> {
    let found = trace::inspect(dir);
    if let Some(m) = &found.manifest {
        common.allow(dir, &m.feature_set)?;
    }
    output.json("inspection", &found)?;
    if let Some(unfinished) = &found.unfinished {
        describe_unfinished(dir, unfinished, output)?;
    }
    if let Some(m) = &found.manifest {
        output.text(format!("trace {}", found.hash.as_deref().unwrap_or("without hash")))?;
        describe_source(m, output)?;
        output.text(format!("  features   {}\n", one_line(&m.feature_set_hash)))?;
    }
    if !found.levels.is_empty() {
        let mut table = Table::new(&["level", "choices", "rows", "forced", "candidates (median, most)", "kinds"]);
        for l in &found.levels {
            let kinds: Vec<String> = l.kinds.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
            table.row([
                l.level.clone(),
                l.choices.to_string(),
                l.rows.to_string(),
                format!("{:.0} %", 100.0 * l.forced_share),
                format!("{}, {}", l.median_candidates, l.max_candidates),
                kinds.join(", "),
            ]);
        }
        output.text(table)?;
    }
    if found.problem_count == 0 {
        output.text("\nsound")?;
        return Ok(Verdict::Done);
    }
    let mut problems = found.problems.iter();
    // That a recording is unfinished is said by the error.
    let unfinished = found.unfinished.as_ref().and_then(|_| problems.next());
    for problem in problems {
        output.text(format!("problem: {}", one_line(&problem.to_string())))?;
    }
    if let Some(problem) = unfinished {
        bail!("{problem}");
    }
    bail!("{}: {} problem(s) found", dir.display(), found.problem_count);
}

/// Which policy decided about what.
fn describe_source(m: &Manifest, output: &mut Output) -> Result<()> {
    output.text(format!("  scenario   {}", one_line(&m.scenario)))?;
    output.text(format!("  policy     {}", one_line(&m.driver.id)))?;
    if m.labeller != m.driver {
        output.text(format!("  labels by  {}", one_line(&m.labeller.id)))?;
    }
    output.text(format!("  workload   {}", one_line(&m.workload.id)))?;
    output.text(format!("  episodes   {} ({} seeds, seed {})", m.episodes, m.split.name(), m.seed))
}

/// What was planned, what is there, and what to do about the rest.
fn describe_unfinished(dir: &Path, unfinished: &Unfinished, output: &mut Output) -> Result<()> {
    let Unfinished { plan, parts, done, missing, damaged, episodes } = unfinished;
    let damaged: Vec<u32> = damaged.iter().map(|d| d.part).collect();
    let listed = |numbers: &[u32]| match numbers {
        [] => "none".to_owned(),
        _ => ranges(numbers),
    };
    output.text("unfinished recording")?;
    describe_source(plan, output)?;
    output.text(format!("  recorded   {}: {}", count(episodes.len(), "episode"), listed(episodes)))?;
    output.text(format!("  parts      {parts} planned, numbered from 0"))?;
    output.text(format!("    done     {}", listed(done)))?;
    output.text(format!("    missing  {}", listed(missing)))?;
    output.text(format!("    damaged  {}", listed(&damaged)))?;
    output.text(format!("  to complete it:\n    {}\n", one_line(&command(dir, plan))))
}

/// The command that completes a recording.
fn command(dir: &Path, plan: &Manifest) -> String {
    if plan.driver.id == PRESENT_SCHEDULER {
        return format!("distill shadow {}", quoted(&dir.display().to_string()));
    }
    if plan.driver != plan.labeller || plan.first_episode > 0 {
        return "the `distill loop` command that began it, again".to_owned();
    }
    let words = [
        ("-p", plan.driver.id.as_str()),
        ("-w", &plan.workload.id),
        ("-n", &plan.episodes.to_string()),
        ("--split", plan.split.name()),
        ("--seed", &plan.seed.to_string()),
        ("-o", &dir.display().to_string()),
    ]
    .map(|(option, value)| format!(" {option} {}", quoted(value)));
    format!("distill record{}", words.concat())
}

/// Whether a file is one of tensors rather than a student's.
fn is_checkpoint(path: &Path) -> bool {
    let mut start = [0; 9];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    // The length of a header of safetensors, of which no text begins so, or a zip archive.
    read.is_ok() && ((start[7] == 0 && start[8] == b'{') || start.starts_with(b"PK\x03\x04"))
}

fn inspect_decima(path: &Path, tensors: &Tensors, output: &mut Output) -> Result<Verdict> {
    let found = DecimaCheckpoint::read(tensors, &path.display().to_string())?;
    output.text("checkpoint of Decima's network, for the scenario `dag`")?;
    output.text(format!("  sha256     {}", tensors.sha256()))?;
    output.text(format!("  size       {} numbers\n", found.numbers()))?;
    let mut table = Table::new(&["perceptron", "neurons"]).with_words(2);
    for (name, widths) in found.widths() {
        let widths: Vec<String> = widths.iter().map(ToString::to_string).collect();
        table.row([name.to_owned(), widths.join("-")]);
    }
    output.text(table)?;
    let trainable = found.usual("").is_ok();
    output.text(match trainable {
        true => "\nit schedules, and `train decima --init` and `explain --gradients` take it",
        false => "\nit schedules; `train decima --init` and `explain --gradients` take only the widths of the public checkpoint",
    })?;
    for note in found.notes() {
        output.text(format!("note: {note}"))?;
    }
    let widths: BTreeMap<&str, Vec<usize>> = found.widths().collect();
    output.json(
        "decima",
        &json!({"sha256": tensors.sha256(), "numbers": found.numbers(), "widths": widths, "notes": found.notes(),
            "usual_widths": trainable}),
    )?;
    output.text("\nsound")?;
    Ok(Verdict::Done)
}

fn inspect_network(path: &Path, common: &Common, output: &mut Output) -> Result<Verdict> {
    let tensors = Tensors::load(path)?;
    match DecimaCheckpoint::is_in(&tensors) {
        true => inspect_decima(path, &tensors, output),
        false if ScorerWeights::is_in(&tensors) => inspect_scorer(path, &tensors, common, output),
        false => bail!(
            "{}: looks like the weights of a network, but not of a scorer or of Decima; `distill check-policy --scenario training -p {}` says \
             whether it is a DL2 network",
            path.display(),
            spec("dl2", path)
        ),
    }
}

fn inspect_scorer(path: &Path, tensors: &Tensors, common: &Common, output: &mut Output) -> Result<Verdict> {
    let weights = ScorerWeights::from_tensors(tensors, &path.display().to_string())?;
    let (set, shape) = (weights.feature_set(), weights.shape());
    common.allow(path, set)?;
    let here = common.known_scenario(set).map(|scenario| (scenario.info().feature_set)());
    let difference = here.and_then(|here| set.difference(here));
    output.text(format!("scorer of `{}`", one_line(&set.scenario)))?;
    output.text(format!("  sha256     {}", tensors.sha256()))?;
    output.text(format!(
        "  size       {} neurons, {} layers: {} numbers",
        shape.width,
        shape.depth,
        weights.numbers()
    ))?;
    output.text(format!("  features   {}\n", set.hash()))?;
    let mut table = Table::new(&["level", "question", "features"]);
    for level in &set.levels {
        table.row([level.name.clone(), level.question.clone(), level.features.len().to_string()]);
    }
    output.text(table)?;
    output.json(
        "scorer",
        &json!({"scenario": set.scenario, "sha256": tensors.sha256(), "features": set.hash(), "shape": shape,
            "numbers": weights.numbers(), "schedules_here": here.is_some() && difference.is_none()}),
    )?;
    if let Some(difference) = difference {
        bail!("{}: it reads other features than this program extracts: {difference}", path.display());
    }
    output.text("\nsound")?;
    Ok(Verdict::Done)
}

fn inspect_student(path: &Path, common: &Common, output: &mut Output) -> Result<Verdict> {
    let student = common.student(path)?;
    output.text(format!("student {}", student.hash()))?;
    output.text(format!("  scenario   {}", one_line(&student.scenario)))?;
    output.text(format!("  structure  {}", student.structure.name()))?;
    let [teacher, workload, trace] = {
        let of = &student.provenance;
        [&of.teacher, &of.workload, &of.trace_hash].map(|name| one_line(name))
    };
    output.text(format!("  teacher    {teacher}\n  workload   {workload}\n  trace      {trace}"))?;
    output.text(format!("  features   {}\n", student.feature_set_hash))?;
    let mut table = Table::new(&["level", "model", "size", "temperature", "schedules"]);
    for level in &student.levels {
        for m in &level.models {
            let used = match (m.name == level.used, level.pick) {
                (false, _) => "",
                (true, Pick::Mode) => "yes",
                (true, Pick::Median) => "yes, by the median",
            };
            let (size, temperature) = (crate::model::ScoreCandidates::size(&m.model), format!("{:.3}", m.temperature));
            table.row([level.level.clone(), m.name.clone(), size.to_string(), temperature, used.to_owned()]);
        }
    }
    output.text(table)?;
    let here = common.known_scenario(&student.feature_set).map(|scenario| (scenario.info().feature_set)());
    let other = match here {
        None => Some(format!("its scenario `{}` is not one of this program", student.scenario)),
        Some(here) => student.feature_set.difference(here).map(|difference| {
            format!("it reads other features than this program extracts for `{}`: {difference}", student.scenario)
        }),
    };
    output.text("\nsound")?;
    if let Some(other) = &other {
        output.text(format!(
            "but it does not schedule here: {other}. `fit`, `evaluate TRACE`, `explain`, `report`, `diff` and `export` take it, with \
             traces that have its features; `simulate`, `serve`, `augment` and all else that runs it as a scheduler do not"
        ))?;
    }
    let (hash, size) = (student.hash(), student.size());
    output.json(
        "student",
        &json!({"hash": hash, "size": size, "structure": student.structure, "provenance": student.provenance,
            "schedules_here": other.is_none()}),
    )?;
    Ok(Verdict::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() {
        for (word, expected) in [
            ("decima:model.pt,cap=2", "decima:model.pt,cap=2"),
            ("", "''"),
            ("my dir", "'my dir'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
