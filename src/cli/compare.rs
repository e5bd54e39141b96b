//! Closed-loop comparisons as they are asked for and shown.

use super::{common::Common, output::Output, progress::Watched, table, table::Names};
use crate::{
    evaluator::{ClosedLoop, Estimate, Role},
    figure::Figure,
    model::Student,
    pipeline::{AnyScenario, CompareParams, Comparison, Contender, FrontLoop, with_edge_cases},
    rng::Split,
    simulation::Stall,
    spec::Spec,
    trace::Trace,
};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use std::ops::ControlFlow;

/// Which episodes.
#[derive(Args, Clone, Copy)]
pub(super) struct EpisodeArgs {
    /// Number of episodes in closed loop
    #[arg(
        short = 'n', long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Closed loop"
    )]
    pub(super) episodes: u32,
    #[command(flatten)]
    pub(super) split: SplitArgs,
}

/// Whose seeds episodes have.
#[derive(Args, Clone, Copy)]
pub(super) struct SplitArgs {
    /// Their seeds: train, validation, test or final
    ///
    /// Fitting sees train, searching sees validation, development looks at test. What is kept for closing figures,
    /// final, is read only where it is asked for.
    #[arg(
        long, value_enum, value_name = "SPLIT", hide_possible_values = true, default_value_t = SplitArg::Test,
        help_heading = "Closed loop"
    )]
    split: SplitArg,
}

impl From<SplitArgs> for Split {
    fn from(args: SplitArgs) -> Self {
        args.split.into()
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum SplitArg {
    Train,
    Validation,
    Test,
    Final,
}

impl From<SplitArg> for Split {
    fn from(split: SplitArg) -> Self {
        match split {
            SplitArg::Train => Split::Train,
            SplitArg::Validation => Split::Validation,
            SplitArg::Test => Split::Test,
            SplitArg::Final => Split::Final,
        }
    }
}

/// Which workloads.
#[derive(Args)]
pub(super) struct WorkloadArgs {
    /// Workload, repeatable [default: that of the student, else builtin]
    ///
    /// The default is the one that the student was fitted on, where a student schedules. `distill list workloads` shows
    /// what there is.
    #[arg(short, long = "workload", value_name = "WORKLOAD", help_heading = "Closed loop")]
    workloads: Vec<String>,
    /// Run every edge case of these workloads too (docs/edge-cases.md)
    #[arg(long, help_heading = "Closed loop")]
    edge_cases: bool,
}

impl WorkloadArgs {
    /// The workloads as they were named.
    pub(super) fn names(&self) -> &[String] {
        &self.workloads
    }

    /// The one that was named, or else the one that a student was fitted on, if there is a student. The first line of the output tells
    /// which.
    ///
    /// # Errors
    ///
    /// One that the student names and is not here.
    pub(super) fn one(
        named: Option<&String>,
        scenario: &dyn AnyScenario,
        student: Option<&Student>,
        output: &mut Output,
    ) -> Result<String> {
        let id = named.map_or_else(|| own_workload(scenario, student), |id| Ok(id.clone()))?;
        tell(std::slice::from_ref(&id), student.filter(|_| named.is_none()), output)?;
        Ok(id)
    }

    /// The workloads in order, each followed by its edge cases if those are asked for; where none was named, the one that a
    /// student was fitted on, if there is a student. The first line of the output tells which.
    ///
    /// # Errors
    ///
    /// A workload that has no edge cases where they are asked for, or that the student names and is not here.
    pub(super) fn ids(
        &self,
        scenario: &dyn AnyScenario,
        student: Option<&Student>,
        output: &mut Output,
    ) -> Result<Vec<String>> {
        let named = match &self.workloads[..] {
            [] => vec![own_workload(scenario, student)?],
            named => named.to_vec(),
        };
        tell(&named, self.workloads.is_empty().then_some(student).flatten(), output)?;
        match self.edge_cases {
            true => Ok(with_edge_cases(scenario, &named)?),
            false => Ok(named),
        }
    }
}

/// The workload that was named, or the one that a student was fitted on; the first line of the output tells which.
///
/// # Errors
///
/// One that the student names and is not here.
pub(super) fn workload_or_own(
    named: Option<&String>,
    scenario: &dyn AnyScenario,
    student: &Student,
    output: &mut Output,
) -> Result<String> {
    let id = named.map_or_else(|| own_workload(scenario, Some(student)), |id| Ok(id.clone()))?;
    tell(std::slice::from_ref(&id), named.is_none().then_some(student), output)?;
    Ok(id)
}

/// The closed loop in which students of a trace schedule beside a teacher, on the workload that was named or the one that was
/// recorded; the first line of the output tells which.
///
/// # Errors
///
/// A workload that the trace names and is not here.
pub(super) fn beside_teacher(
    teacher: &str,
    workload: Option<&String>,
    (seed, episodes): (u64, u32),
    (scenario, trace): (&dyn AnyScenario, &Trace),
    output: &mut Output,
) -> Result<FrontLoop> {
    let recorded = || own(scenario, &trace.manifest.workload.id, "the trace records");
    let id = workload.map_or_else(recorded, |id| Ok(id.clone()))?;
    let whose = if workload.is_none() { ", the one that was recorded" } else { "" };
    output.text(format!("workload {id}{whose}"))?;
    Ok(FrontLoop { teacher: teacher.to_owned(), workload: id, seed, episodes })
}

fn tell(ids: &[String], own: Option<&Student>, output: &mut Output) -> Result<()> {
    let whose = if own.is_some() { ", the one that the student was fitted on" } else { "" };
    output.text(format!("workload {}{whose}", ids.join(", ")))
}

/// The workload that a student was fitted on; `builtin` without a student.
fn own_workload(scenario: &dyn AnyScenario, student: Option<&Student>) -> Result<String> {
    let Some(student) = student else { return Ok("builtin".to_owned()) };
    own(scenario, &student.provenance.workload, "the student was fitted on")
}

/// A workload that a student or trace names.
///
/// # Errors
///
/// One that this program does not know, or whose file is not here.
fn own(scenario: &dyn AnyScenario, id: &str, made: &str) -> Result<String> {
    let spec: Option<Spec> = id.parse().ok();
    match spec.filter(|spec| scenario.workloads().iter().any(|w| w.name == spec.name)) {
        None => bail!("{made} the workload `{id}`, which this program cannot run; name one with -w"),
        Some(Spec { file: Some(file), .. }) if !file.exists() => {
            bail!("{made} `{id}`, and {} is not here; name a workload with -w", file.display())
        }
        Some(_) => Ok(id.to_owned()),
    }
}

/// Runs and prints one comparison per workload, and what they come to if there are several.
pub(super) fn closed_loops(
    scenario: &dyn AnyScenario,
    params: &CompareParams<'_>,
    output: &mut Output,
) -> Result<Vec<Comparison>> {
    let watched = Watched::new(output);
    let mut shown = Shown::default();
    let compared = scenario.compare(params, &mut |result| shown.next(result, output), watched.caller());
    drop(watched);
    shown.end(compared, output)
}

/// Prints comparisons as they come.
#[derive(Default)]
pub(super) struct Shown {
    results: Vec<ClosedLoop>,
    /// What went wrong with printing.
    failed: Option<anyhow::Error>,
}

/// Whether to go on after printing; what went wrong is kept.
pub(super) fn unless_failed(printed: Result<()>, failed: &mut Option<anyhow::Error>) -> ControlFlow<()> {
    match printed {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *failed = Some(error);
            ControlFlow::Break(())
        }
    }
}

impl Shown {
    pub(super) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Prints one more; work that cannot be shown need not go on.
    pub(super) fn next(&mut self, result: &ClosedLoop, output: &mut Output) -> ControlFlow<()> {
        let gap = if self.results.is_empty() { Ok(()) } else { output.text("") };
        let printed = gap.and_then(|()| print_closed_loop(result, self.results.is_empty(), output));
        self.results.push(result.clone());
        unless_failed(printed, &mut self.failed)
    }

    /// What came of the work, with the objective by workload if there are several; what went wrong with printing has
    /// the first word.
    pub(super) fn end<T, E: Into<anyhow::Error>>(self, done: Result<T, E>, output: &mut Output) -> Result<T> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let done = done.map_err(Into::into)?;
        if self.results.len() > 1 {
            print_by_workload(&self.results, output)?;
        }
        Ok(done)
    }
}

/// The objective against the baseline's, a line per workload.
fn print_by_workload(results: &[ClosedLoop], output: &mut Output) -> Result<()> {
    let all: Vec<&str> = results[0].policies.iter().map(|p| p.policy.as_str()).collect();
    let [baseline, names @ ..] = &all[..] else { return Ok(()) };
    if names.is_empty() {
        return Ok(());
    }
    let short = Names::new(all.iter().copied());
    let places = Names::of_workloads(names.len(), results.iter().map(|result| result.workload.as_str()));
    let title = results[0].objective().against(short.of(baseline));
    let header: Vec<&str> = std::iter::once(title.as_str()).chain(names.iter().map(|name| short.of(name))).collect();
    let mut table = table::Table::new(&header);
    for result in results {
        let cells = names.iter().map(|name| comparison_cell(result, name, baseline));
        table.row(std::iter::once(places.of(&result.workload).to_owned()).chain(cells));
    }
    output.text(format!("\n{table}"))?;
    places.legend().into_iter().try_for_each(|line| output.text(line))
}

/// The comparison as a table, and what short names in it stand for if that was not told yet.
fn print_closed_loop(c: &ClosedLoop, first: bool, output: &mut Output) -> Result<()> {
    let names = Names::new(c.policies.iter().map(|p| p.policy.as_str()));
    let episodes = if c.episodes == 1 { "1 episode".to_owned() } else { format!("{} episodes", c.episodes) };
    output.text(format!("{episodes} ({} seeds) of {}{}\n", c.split, c.workload, looks_in_words(c)))?;
    let mut baselines: Vec<&str> = c.comparisons.iter().map(|pair| pair.baseline.as_str()).collect();
    // Comparisons come baseline by baseline.
    baselines.dedup();
    let against: Vec<String> = baselines.iter().map(|baseline| c.objective().against(names.of(baseline))).collect();
    let rejects = c.policies.iter().any(|p| p.rejected > 0);
    let mut header = vec!["policy"];
    header.extend(c.figures.iter().map(|figure| &*figure.label));
    header.extend(rejects.then_some("jobs rejected"));
    let stalls = c.policies.iter().any(|p| p.stalled > 0);
    header.extend(stalls.then_some("stalled"));
    header.extend(against.iter().map(String::as_str));
    let further: Vec<&str> = c.figures.iter().skip(1).rev().map(|figure| &*figure.label).collect();
    let mut table = table::Table::new(&header).without_if_wide(&further);
    for p in &c.policies {
        let mut row = vec![names.of(&p.policy).to_owned()];
        // Policies are told apart by the objective, so that it has an interval.
        let cell = |(i, f): (usize, &Figure)| p.figure(&f.name).map_or("-".to_owned(), |e| table::figure(f, e, i == 0));
        row.extend(c.figures.iter().enumerate().map(cell));
        row.extend(rejects.then(|| p.rejected.to_string()));
        let stalled = || if p.stalled == 0 { "-".to_owned() } else { format!("{} of {}", p.stalled, c.episodes) };
        row.extend(stalls.then(stalled));
        row.extend(baselines.iter().map(|baseline| comparison_cell(c, &p.policy, baseline)));
        table.row(row);
    }
    output.text(table)?;
    if first {
        names.legend().into_iter().try_for_each(|line| output.text(line))?;
    }
    stalls_in_words(c, &names).into_iter().try_for_each(|line| output.text(line))?;
    if !c.empty_episodes.is_empty() {
        output.text(format!(
            "empty: no job arrived in {} of {} episodes; figures of jobs are those of the others, rates count all",
            c.empty_episodes.len(),
            c.episodes
        ))?;
    }
    if let Some(line) = idle_in_words(c, &names) {
        output.text(line)?;
    }
    if let Some(table) = tails(c, &names) {
        output.text(table)?;
    }
    if c.identical_episodes {
        output.text(format!(
            "no intervals: the jobs are the same in all {} episodes, and every policy had the same figures in each",
            c.episodes
        ))?;
    }
    let Some(floor) = &c.floor else { return Ok(()) };
    let compared =
        floor.compared.as_ref().map(|r| format!(", {} of {}", table::interval(r, 3), names.of(&c.policies[0].policy)));
    output.text(format!(
        "each job alone at its best from its arrival on: {}{}",
        table::figure(c.objective(), &floor.objective, true),
        compared.unwrap_or_default()
    ))
}

/// After how many episodes it was looked, and what intervals are then; nothing where the number was given.
fn looks_in_words(c: &ClosedLoop) -> String {
    let Some(looks) = &c.looks else { return String::new() };
    let planned: Vec<String> = looks.planned.iter().map(u32::to_string).collect();
    format!(
        ", looked at after {}; intervals hold together with 95 % ({:.2} % each)",
        planned.join(", "),
        100.0 * looks.level()
    )
}

/// Those who wait longest under each policy, against the first one, and the episode in which it does worst; `None` if nothing is known.
fn tails(c: &ClosedLoop, names: &Names) -> Option<table::Table> {
    let baseline = &c.policies.first()?.policy;
    let first = format!("times ÷ {}", names.of(baseline));
    let mut table = table::Table::new(&[&first, "p95", "p99", "slowest job", "worst episode"])
        .without_if_wide(&["p95", "slowest job"]);
    let mut known = false;
    for policy in c.policies.iter().skip(1) {
        let Some(tail) = c.tail_of(&policy.policy, baseline) else { continue };
        let worst = &tail.worst_episode;
        known = true;
        table.row([
            names.of(&policy.policy).to_owned(),
            table::interval(&tail.p95, 3),
            table::interval(&tail.p99, 3),
            table::interval(&tail.slowest, 3),
            format!("{} in {}", table::exactly(c.objective(), worst.compared), worst.episode),
        ]);
    }
    known.then_some(table)
}

/// For how long more than half of the cluster idled beside work, under whom and where; `None` if it never did.
fn idle_in_words(c: &ClosedLoop, names: &Names) -> Option<String> {
    let spells = || c.policies.iter().filter_map(|p| Some((p, p.longest_idle?)));
    let (worst, spell) =
        spells().reduce(|a, b| if b.1.ms > a.1.ms { b } else { a }).filter(|(_, spell)| spell.ms > 0.0)?;
    let time = |ms: f64| table::time(&Estimate { value: ms, low: ms, high: ms });
    let others = spells().filter(|(p, _)| p.policy != worst.policy).map(|(_, spell)| spell.ms).reduce(f64::max);
    let others = others.map_or(String::new(), |ms| format!("; under the others at most {}", time(ms)));
    let (longest, policy, episode) = (time(spell.ms), names.of(&worst.policy), spell.episode);
    Some(format!(
        "longest time in which more than half of the cluster idled beside work that could start:\n\
         \x20 {longest} under {policy} in episode {episode}{others}"
    ))
}

/// Who stalled, how often and why, a line each.
fn stalls_in_words(c: &ClosedLoop, names: &Names) -> Vec<String> {
    let each = c.policies.iter().flat_map(|p| p.stalls.iter().map(move |(why, count)| (p, why, count)));
    each.map(|(p, why, count)| {
        let episodes = if *count == 1 { "1 episode".to_owned() } else { format!("{count} episodes") };
        format!("stalled: {} in {episodes}: {}", names.of(&p.policy), Stall::meaning(why))
    })
    .collect()
}

/// How a policy compares with a baseline, in words.
fn comparison_cell(c: &ClosedLoop, policy: &str, baseline: &str) -> String {
    let stalled = |name: &str| c.policies.iter().any(|p| p.policy == name && p.stalled > 0);
    match c.compared(policy, baseline).map(|pair| pair.figure(&c.objective().name)) {
        Some(Some(e)) => table::interval(e, 3),
        Some(None) if stalled(policy) => "stalled".to_owned(),
        Some(None) => "none".to_owned(),
        None => c.objective().neutral().to_string(),
    }
}

/// Episodes in which departing decisions are counted at most.
const COUNTED: u32 = 10;

/// The share of the first student's decisions that the second would take differently.
pub(super) fn departing(
    scenario: &dyn AnyScenario,
    [student, other]: [&Student; 2],
    workload: &str,
    which: EpisodeArgs,
    common: &Common,
    output: &Output,
) -> Result<f64> {
    let episodes = (common.seed, which.split.into(), which.episodes.min(COUNTED));
    Ok(scenario.departures(student, other, workload, episodes, Watched::new(output).caller())?)
}

/// Lets two students schedule the same episodes, and prints what comes out.
pub(super) fn side_by_side(
    scenario: &dyn AnyScenario,
    students: [(&str, &Student); 2],
    workload: String,
    which: EpisodeArgs,
    common: &Common,
    output: &mut Output,
) -> Result<ClosedLoop> {
    let params = CompareParams {
        contenders: students
            .map(|(id, student)| Contender::Student { id: id.to_owned(), student, role: Role::Student })
            .to_vec(),
        workloads: vec![workload],
        seed: common.seed,
        split: which.split.into(),
        episodes: which.episodes.into(),
    };
    let compared = closed_loops(scenario, &params, output)?;
    compared.into_iter().next().map(|one| one.closed_loop).context("one workload gives one comparison")
}
