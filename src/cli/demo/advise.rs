//! `distill advise`: what would another scheduler have cost or saved?

use super::{DemoArgs, all_of_it};
use crate::{
    cli::{
        common::{Common, Verdict},
        compare::closed_loops,
        files::write_json,
        history::{self, Found},
        inputs::Inputs,
        output::Output,
        progress::Watched,
    },
    evaluator::{ClosedLoop, Role},
    model::Student,
    pipeline::{Advice, AnyScenario, CompareParams, Contender, ReplayError, Survey},
    policy::Sort,
    rng::Split,
    spec::Spec,
};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::{Path, PathBuf};

/// Say which scheduler would have served a cluster's users better, from its logs
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill advise eventlogs -o runs/advice\n  \
distill advise philly:jobs.csv,nodes=10 --scenario preemption -o runs/advice",
    after_long_help = "Examples:\n  distill advise eventlogs -o runs/advice\n  \
distill advise philly:jobs.csv,nodes=10 --scenario preemption -o runs/advice\n\n\
The history is cut by time (docs/histories.md). Schedulers are tried on one period, the best of them is distilled into rules on another, a \
search betters them, and what the report says first is of the last period, on which nothing was chosen. Where a schedule is recorded, it \
is carried out again first: no difference that is smaller than what the simulator misses it by is called an improvement."
)]
pub(in crate::cli) struct AdviseArgs {
    /// Log of a cluster, or a folder of logs; or a workload with parameters (`distill list workloads`)
    #[arg(value_name = "HISTORY", help_heading = "Input")]
    history: String,
    /// Fewer episodes and choices, and no search for a better schedule
    #[arg(long, help_heading = "Input")]
    fast: bool,
    /// Run directory; the report goes to its `report` folder
    #[arg(short, long, default_value = "runs/advice", value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    /// Replace a run that was made with other arguments
    #[arg(long, help_heading = "Output")]
    force: bool,
}

impl AdviseArgs {
    /// What it reads.
    pub(in crate::cli) fn inputs(&self) -> Inputs {
        history::inputs(&self.history)
    }
}

/// Windows on which schedulers are tried before one of them is distilled.
const TRIED: u32 = 30;

/// Windows of closing figures at most.
const CLOSING: u32 = 200;

pub(in crate::cli) fn run(args: &AdviseArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let Some(Found { scenario, workload, also }) = history::find(&args.history, common)? else {
        let what = match Path::new(&args.history).exists() {
            true => "no log of a cluster that is read here",
            false => "no such file or folder, and no workload of that name",
        };
        bail!("{}: {what}; `distill list workloads` says what is read, `distill inspect` what a file is", args.history);
    };
    let mut spec: Spec = workload.parse()?;
    spec.params.entry("split".to_owned()).or_insert_with(|| "time".to_owned());
    let workload = spec.to_string();
    // A history that is too short is said to be before any work is done.
    let period = scenario.period(&workload, Split::Final)?;
    let period = period
        .with_context(|| format!("{workload}: is not cut by time, so that nothing would be left to measure on"))?;
    let survey = scenario.survey(&workload)?;
    history::describe(&Found { scenario, workload: workload.clone(), also }, &survey, output)?;
    let replay = scenario.replay(&workload, Watched::new(output).caller())?;
    history::describe_replay(replay.as_ref(), output)?;

    output.text("\nschedulers on the validation period:")?;
    let tried = try_all(scenario, &workload, replay.is_some(), common, output)?;
    let teacher = best(&tried).context("no scheduler got through the history: every one stalled")?;
    output.text(format!("\nthe best of them, {teacher}, is distilled\n"))?;

    let demo = DemoArgs {
        teacher: Some(teacher.to_owned()),
        teacher_name: None,
        workload: workload.clone(),
        episodes: None,
        fast: args.fast,
        max_choices: None,
        output: args.output.clone(),
        force: args.force,
        history: Some(args.history.clone()),
    };
    let mut closing = Some((survey, replay));
    let mut add = |student: &Student, output: &mut Output| -> Result<()> {
        let Some((survey, replay)) = closing.take() else { return Ok(()) };
        let advice =
            Closing { scenario, workload: &workload, teacher, tried: &tried, seed: common.seed, survey, replay };
        write_json(&args.output.join(Advice::FILE), &advice.measured(student, period, &args.output, output)?)
    };
    all_of_it(&demo, (scenario, common), &mut add, output)
}

/// All schedulers that come with the program, and the recorded order if there is one, on the validation period.
fn try_all(
    scenario: &dyn AnyScenario,
    workload: &str,
    is_recorded: bool,
    common: &Common,
    output: &mut Output,
) -> Result<ClosedLoop> {
    let heuristics = scenario.policies().into_iter().filter(|p| p.sort == Sort::Heuristic).map(|p| p.name);
    let mut ids: Vec<&str> = scenario.baselines().to_vec();
    ids.extend(heuristics.filter(|name| !scenario.baselines().contains(name)));
    ids.push(scenario.teacher());
    let recorded = is_recorded.then_some(Contender::AsRecorded);
    let params = CompareParams {
        contenders: recorded.into_iter().chain(ids.into_iter().map(Contender::named)).collect(),
        workloads: vec![workload.to_owned()],
        seed: common.seed,
        split: Split::Validation,
        episodes: TRIED.into(),
    };
    let compared = closed_loops(scenario, &params, output)?;
    Ok(compared.into_iter().next().context("one workload was compared")?.closed_loop)
}

/// The scheduler with the best objective, of those that can be asked.
fn best(tried: &ClosedLoop) -> Option<&str> {
    let objective = tried.objective();
    let cost = |p: &&crate::evaluator::PolicyOutcome| objective.cost(p.figure(&objective.name).map(|e| e.value));
    let asked = tried.policies.iter().filter(|p| p.stalled == 0 && p.policy != crate::pipeline::AS_RECORDED);
    asked.min_by(|a, b| cost(a).total_cmp(&cost(b))).map(|p| p.policy.as_str())
}

/// What the closing figures are made of.
struct Closing<'a> {
    scenario: &'a dyn AnyScenario,
    workload: &'a str,
    teacher: &'a str,
    tried: &'a ClosedLoop,
    seed: u64,
    survey: Survey,
    replay: Option<ReplayError>,
}

impl Closing<'_> {
    /// Lets the student, its teacher, who scheduled before and the best rule schedule the last period.
    fn measured(
        self,
        student: &Student,
        period: crate::pipeline::Period,
        dir: &Path,
        output: &Output,
    ) -> Result<Advice> {
        let named = |id: &str, role| Contender::Named { id: id.to_owned(), role: Some(role) };
        let is_network = self.scenario.sort_of(self.teacher) == Some(Sort::Network);
        let before = match self.replay {
            Some(_) => Contender::AsRecorded,
            // What clusters do of which nothing else is known.
            None => {
                let baselines = self.scenario.baselines();
                let usual = baselines.iter().find(|&&name| name == "fifo").or(baselines.first());
                named(usual.copied().unwrap_or(self.teacher), Role::Heuristic)
            }
        };
        let mut contenders = vec![before];
        let mut add = |contender: Contender<'static>| {
            if contenders.iter().all(|c| c.id() != contender.id()) {
                contenders.push(contender);
            }
        };
        add(named(&format!("student:{}", dir.join("student.json").display()), Role::Student));
        add(named(self.teacher, if is_network { Role::Teacher } else { Role::Heuristic }));
        if let Some(rule) = self.best_rule() {
            add(named(rule, Role::Heuristic));
        }
        let params = CompareParams {
            contenders,
            workloads: vec![self.workload.to_owned()],
            seed: self.seed,
            split: Split::Final,
            episodes: CLOSING.into(),
        };
        let mut go_on = |_: &ClosedLoop| std::ops::ControlFlow::Continue(());
        let compared = self.scenario.compare(&params, &mut go_on, Watched::new(output).caller())?;
        Ok(Advice {
            student: student.hash(),
            workload: self.workload.to_owned(),
            survey: self.survey,
            replay: self.replay,
            period,
            closed_loop: compared.into_iter().next().context("one workload was compared")?.closed_loop,
        })
    }

    /// The best heuristic on the validation period.
    fn best_rule(&self) -> Option<&str> {
        let objective = self.tried.objective();
        let baselines = self.scenario.baselines();
        let is_rule = |id: &str| self.scenario.sort_of(id) == Some(Sort::Heuristic) || baselines.contains(&id);
        let rules = self.tried.policies.iter().filter(|p| p.stalled == 0 && is_rule(&p.policy));
        let cost = |p: &&crate::evaluator::PolicyOutcome| objective.cost(p.figure(&objective.name).map(|e| e.value));
        rules.min_by(|a, b| cost(a).total_cmp(&cost(b))).map(|p| p.policy.as_str())
    }
}
