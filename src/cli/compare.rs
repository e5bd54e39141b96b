//! Closed-loop comparisons, for `simulate`, `evaluate` and `demo`.

use super::{Common, Interrupted, STOP, output::Output, progress::EpisodeBar, table};
use crate::{
    evaluator::{ClosedLoop, EpisodeFigures, Role, Runs, Schedule, ScheduleRun, compare, floor},
    model::Student,
    policy::{Policy, Sort, StudentPolicy},
    recorder::{EpisodeRun, Episodes, RolloutError, rollouts},
    registry::{Policies, sort_of},
    rng::{Split, episode_seed},
    simulation::Simulated,
    spec::Spec,
};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use std::path::Path;

/// Which episodes.
#[derive(Args, Clone, Copy)]
pub(super) struct EpisodeArgs {
    /// Number of episodes
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) episodes: u32,
    /// Which seeds: fitting sees train, searching validation, development test; final is for closing figures
    #[arg(long, value_enum, default_value_t = SplitArg::Test)]
    pub(super) split: SplitArg,
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
    /// Workload, repeatable (see `distill list workloads`)
    #[arg(short, long = "workload", default_values_t = ["builtin".to_owned()], value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// Run every edge case of these workloads too (docs/edge-cases.md)
    #[arg(long)]
    edge_cases: bool,
}

impl WorkloadArgs {
    /// The workloads as they were named.
    pub(super) fn names(&self) -> &[String] {
        &self.workloads
    }

    /// The workloads in order, each followed by its edge cases if those are asked for.
    ///
    /// # Errors
    ///
    /// A workload that cannot be opened: better now than after the others have run.
    pub(super) fn ids<S: Policies>(&self) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for id in &self.workloads {
            let mut spec: Spec = id.parse()?;
            S::open_workload(&spec)?;
            ids.push(id.clone());
            if !self.edge_cases {
                continue;
            }
            let known = S::INFO.workloads.iter().filter(|w| w.edge_cases).map(|w| w.name);
            if !known.clone().any(|name| name == spec.name) || spec.params.contains_key("edge") {
                match known.collect::<Vec<&str>>()[..] {
                    [] => bail!("--edge-cases: the scenario {} has none", S::INFO.name),
                    ref known => bail!("--edge-cases: `{id}` has none; {} without edge=NAME have", known.join(" and ")),
                }
            }
            for (case, _) in S::INFO.edge_cases {
                spec.params.insert("edge".to_owned(), (*case).to_owned());
                ids.push(spec.to_string());
            }
        }
        Ok(ids)
    }
}

/// A policy that takes part.
pub(super) struct Contender<S: Policies> {
    pub(super) id: String,
    pub(super) role: Role,
    pub(super) policy: Box<dyn Policy<S>>,
}

impl<S: Policies> Contender<S> {
    /// Opens a policy by its spec. Without a role, networks count as teachers, students as students, others as heuristics.
    pub(super) fn open(id: &str, role: Option<Role>) -> Result<Self> {
        let spec: Spec = id.parse()?;
        let usual = match sort_of(S::INFO.name, &spec.name) {
            Some(Sort::Network) => Role::Teacher,
            Some(Sort::Student) => Role::Student,
            _ => Role::Heuristic,
        };
        Ok(Self { id: id.to_owned(), role: role.unwrap_or(usual), policy: S::open(&spec)? })
    }

    /// A student in memory under a name of its own.
    pub(super) fn in_memory(name: &str, student: &Student) -> Result<Self> {
        let policy = Box::new(StudentPolicy::new(student, name.as_ref(), None)?);
        Ok(Self { id: name.to_owned(), role: Role::Student, policy })
    }

    /// A student by its file, whatever its name.
    pub(super) fn student(path: &Path) -> Result<Self> {
        let policy = Box::new(StudentPolicy::load(path, None)?);
        Ok(Self { id: format!("student:{}", path.display()), role: Role::Student, policy })
    }
}

/// Opens a workload by its spec.
pub(super) fn open_workload<S: Simulated>(id: &str) -> Result<Box<S::Workload>> {
    Ok(S::open_workload(&id.parse::<Spec>()?)?)
}

/// A comparison, and the schedules of its first episode.
pub(super) struct Comparison {
    pub(super) comparison: ClosedLoop,
    pub(super) schedules: Vec<Schedule>,
}

/// Runs and prints one comparison per workload, and what they come to if there are several; with the schedules of the first
/// two contenders on the first workload.
pub(super) fn closed_loops<S: Policies>(
    contenders: &[Contender<S>],
    workload_ids: &[String],
    which: EpisodeArgs,
    common: &Common,
    output: &mut Output,
) -> Result<(Vec<ClosedLoop>, Vec<Schedule>)> {
    let (mut results, mut schedules) = (Vec::new(), Vec::new());
    for id in workload_ids {
        let Comparison { comparison: result, schedules: of_workload } =
            closed_loop(contenders, id, which, common, output)?;
        if results.is_empty() {
            // The first two are the teacher's and the student's.
            schedules = of_workload.into_iter().take(2).collect();
        }
        if !results.is_empty() {
            output.text("")?;
        }
        print_closed_loop(&result, output)?;
        results.push(result);
    }
    if results.len() > 1 {
        print_by_workload(&results, &contenders[0].id, output)?;
    }
    Ok((results, schedules))
}

/// The objective against the baseline's, a line per workload.
fn print_by_workload(results: &[ClosedLoop], baseline: &str, output: &mut Output) -> Result<()> {
    let names: Vec<String> =
        results[0].policies.iter().map(|p| p.policy.clone()).filter(|name| name != baseline).collect();
    if names.is_empty() {
        return Ok(());
    }
    let title = results[0].objective().against(baseline);
    let header: Vec<&str> = std::iter::once(title.as_str()).chain(names.iter().map(String::as_str)).collect();
    let mut table = table::Table::new(&header);
    for result in results {
        let cells = names.iter().map(|name| comparison_cell(result, name, baseline));
        table.row(std::iter::once(result.workload.clone()).chain(cells));
    }
    output.text(format!("\n{table}"))
}

/// Runs all contenders on the same episodes. They are compared with the first one, and to the scenario's first baseline if it takes part.
pub(super) fn closed_loop<S: Policies>(
    contenders: &[Contender<S>],
    workload_id: &str,
    which: EpisodeArgs,
    common: &Common,
    output: &Output,
) -> Result<Comparison> {
    let workload = open_workload::<S>(workload_id)?;
    let split = Split::from(which.split);
    let mut names: Vec<&str> = contenders.iter().map(|c| c.id.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
        bail!("policy `{}` is given twice; each may take part once", twice[0]);
    }
    let mut policies: Vec<(String, Role, Vec<EpisodeFigures>)> = Vec::new();
    let mut schedules = Vec::new();
    for contender in contenders {
        let bar = EpisodeBar::new(&contender.id, u64::from(which.episodes), output);
        let episodes = Episodes { seed: common.seed, split, count: which.episodes, timelines: 1 };
        let runs = rollouts(&*workload, &contender.id, &*contender.policy, episodes, &bar, &STOP);
        let (decisions, seconds) = bar.finish();
        let runs = runs.map_err(|e| match e {
            RolloutError::Interrupted => Interrupted.into(),
            other => anyhow::Error::from(other),
        })?;
        tracing::info!("{}: {decisions} decisions in {seconds:.2} s", contender.id);
        if let Some(first) = runs.first() {
            schedules.push(schedule(contender, first));
        }
        policies.push((contender.id.clone(), contender.role, runs.iter().map(EpisodeRun::figures).collect()));
    }
    let mut baselines = vec![contenders[0].id.clone()];
    let yardstick = S::BASELINES[0];
    if contenders[0].id != yardstick && contenders.iter().any(|c| c.id == yardstick) {
        baselines.push(yardstick.to_owned());
    }
    let runs = Runs { workload: workload_id, split: split.name(), figures: S::INFO.figures, policies: &policies };
    let mut comparison = compare(runs, &baselines, common.seed);
    let seeds = (0..which.episodes).map(|episode| episode_seed(common.seed, split, u64::from(episode)));
    let floors: Option<Vec<f64>> = seeds.map(|seed| S::floor_ms(&workload, &S::jobs(&workload, seed))).collect();
    let first = &comparison.policies[0].episode_objective;
    let compared = S::INFO.objective().compared;
    comparison.floor = floors.and_then(|floors| floor(&floors, compared, first, common.seed));
    Ok(Comparison { comparison, schedules })
}

fn schedule<S: Policies>(contender: &Contender<S>, run: &EpisodeRun) -> Schedule {
    let completion = run.outcome.jobs.iter().map(|end| end.completion_ms());
    Schedule {
        policy: contender.id.clone(),
        role: contender.role,
        episode: run.episode,
        lanes: run.lanes,
        lane: S::INFO.lane.to_owned(),
        part: S::INFO.part.to_owned(),
        parts: S::INFO.parts.iter().map(|&part| part.to_owned()).collect(),
        runs: run
            .timeline
            .iter()
            .map(|r| ScheduleRun { lane: r.lane, item: r.job, part: r.part, start_ms: r.start_ms, end_ms: r.end_ms })
            .collect(),
        items: run.arrivals_ms.iter().copied().zip(completion).collect(),
    }
}

/// The comparison as a table.
pub(super) fn print_closed_loop(c: &ClosedLoop, output: &mut Output) -> Result<()> {
    let episodes = if c.episodes == 1 { "1 episode".to_owned() } else { format!("{} episodes", c.episodes) };
    output.text(format!("{episodes} ({} seeds) of {}\n", c.split, c.workload))?;
    let mut baselines: Vec<&str> = c.comparisons.iter().map(|pair| pair.baseline.as_str()).collect();
    // Comparisons come baseline by baseline.
    baselines.dedup();
    let against: Vec<String> = baselines.iter().map(|baseline| c.objective().against(baseline)).collect();
    let rejects = c.policies.iter().any(|p| p.rejected > 0);
    let mut header = vec!["policy"];
    header.extend(c.figures.iter().map(|figure| &*figure.label));
    header.extend(rejects.then_some("jobs rejected"));
    header.push("stalled");
    header.extend(against.iter().map(String::as_str));
    let mut table = table::Table::new(&header);
    for p in &c.policies {
        let mut row = vec![p.policy.clone()];
        row.extend(c.figures.iter().map(|f| p.figure(&f.name).map_or("-".to_owned(), |e| table::figure(f, e))));
        row.extend(rejects.then(|| p.rejected.to_string()));
        row.push(if p.stalled == 0 { "-".to_owned() } else { format!("{} of {}", p.stalled, c.episodes) });
        row.extend(baselines.iter().map(|baseline| comparison_cell(c, &p.policy, baseline)));
        table.row(row);
    }
    output.text(table)?;
    let Some(floor) = &c.floor else { return Ok(()) };
    let compared = floor.compared.as_ref().map(|r| format!(", {} of {}", table::interval(r, 3), c.policies[0].policy));
    output.text(format!(
        "each job alone at its best from its arrival on: {}{}",
        table::figure(c.objective(), &floor.objective),
        compared.unwrap_or_default()
    ))
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
