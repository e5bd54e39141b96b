//! `distill attack`: whether a user can game a scheduler by describing her job differently.

use super::{
    certify,
    common::{Common, Verdict},
    compare::{SplitArg, WorkloadArgs},
    files::{check_folder, check_none_within, files_of, shown},
    gamed::{most_effective, print, side_by_side},
    inputs::Inputs,
    output::Output,
    progress::Watched,
    table::paragraph,
};
use crate::{
    attack::{AttackParams, Method, MethodFigures},
    evaluator::Role,
    level::sha256_hex,
    model::Student,
    pipeline::{AnyScenario, AttackRequest, AttackedScheduler, RunDir},
    simulation::{EditBudget, EditInfo},
};
use anyhow::{Result, bail};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Try whether a user is served sooner who describes her job differently
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill attack -p decima -o runs/attack\n  \
distill attack --run runs/demo",
    after_long_help = "Examples:\n  distill attack -p decima -o runs/attack\n  \
distill attack -p student:runs/demo/student.json -n 10 -o runs/attack-student\n  \
distill attack -p decima --budget edits=1 --budget edits=2 -o runs/budgets\n  \
distill attack -p fair --method query,random --edits split -o runs/splits\n  \
distill attack -p student:runs/demo/student.json --edits-of runs/attack -o runs/transfer\n  \
distill attack --run runs/demo\n  \
distill attack --certify runs/demo/student.json runs/demo/traces/test\n\n\
A job is edited so that it computes what it did, and the episode is run again with the same luck. Methods: `gradient` (by \
the slope of the scheduler's own probabilities), `gradient-path` (the same along the job's critical path), `query` (by what \
it decides about edited jobs), `proxy` (by a student that stands in for it) and `random`, the control. All of them make as \
many edits and try out as many. With --run the schedulers of a run are attacked side by side, and its report shows what came of it. An interrupted attack goes on with the same command (docs/attack.md)."
)]
pub(super) struct AttackArgs {
    /// The scheduler that is attacked (`distill list policies`); with --run repeatable
    #[arg(short, long = "policy", value_name = "POLICY", required_unless_present_any = ["certify", "run"], help_heading = "Input")]
    policies: Vec<String>,
    /// Certify this student instead: of which choices no edit can take what it gives
    ///
    /// At the questions of TRACE, by other declared numbers of any job within `--budget duration=SHARE`, repeatable [default: 0.05, 0.1 and
    /// 0.25]; with `--edits split,edge` by any one of these. Where the questions cannot be made again, over boxes of what rows say. With
    /// --run the report of a run shows it.
    #[arg(
        long, value_name = "STUDENT", requires = "trace", help_heading = "Certificates",
        conflicts_with_all = ["policies", "workload", "proxy", "edits_of", "methods", "trials", "questions", "episodes", "targets", "split", "output", "force"]
    )]
    certify: Option<PathBuf>,
    /// Trace whose questions are looked at
    #[arg(value_name = "TRACE", requires = "certify", help_heading = "Certificates")]
    trace: Option<PathBuf>,
    /// Random edits of each job of each choice that are tried, to contradict certificates
    #[arg(long, default_value_t = 2, value_name = "N", requires = "certify", value_parser = clap::value_parser!(u32).range(..=1000), help_heading = "Certificates", hide_short_help = true)]
    tries: u32,
    /// Workload [default: that of the student, else builtin]
    #[arg(short, long, value_name = "WORKLOAD", help_heading = "Input")]
    workload: Option<String>,
    /// Student that stands in for the scheduler; makes `proxy` a method
    ///
    /// Where the method is named and no student is, one is fitted on 20 recorded episodes.
    #[arg(long, value_name = "STUDENT", help_heading = "Input")]
    proxy: Option<PathBuf>,
    /// Folder of an attack on another scheduler, whose edits are made against this one
    ///
    /// The jobs, methods and budgets are those of that attack.
    #[arg(long = "edits-of", value_name = "DIR", help_heading = "Input", hide_short_help = true, conflicts_with_all = ["methods", "budgets", "edits", "trials", "questions", "episodes", "targets", "split", "proxy", "run"])]
    edits_of: Option<PathBuf>,
    /// Methods, with commas between [default: all that can be]
    #[arg(long = "method", value_parser = method(), value_delimiter = ',', value_name = "METHODS", help_heading = "Attack")]
    methods: Vec<Method>,
    /// How much may be edited, repeatable: `edits=N` and by how much a number may change [default: edits=1,duration=0.5]
    ///
    /// Shares of numbers are 0.5 where nothing is said: a duration may be half or one and a half of what it was.
    #[arg(long = "budget", value_name = "BUDGET", help_heading = "Attack")]
    budgets: Vec<EditBudget>,
    /// Sorts of edits, with commas between [default: duration,split,edge in `dag`, epochs in `training`]
    #[arg(long, value_delimiter = ',', value_name = "SORTS", help_heading = "Attack")]
    edits: Vec<String>,
    /// Edits that a method may try out in the episode before it keeps the best
    ///
    /// With 1 the first counts, whatever it brings.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Attack")]
    trials: u32,
    /// Questions at which a method asks what an edit would change
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Attack", hide_short_help = true)]
    questions: u32,
    /// Number of episodes
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Closed loop")]
    episodes: u32,
    /// Jobs of each episode that are attacked, one at a time
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Closed loop")]
    targets: u32,
    /// Seeds of the episodes: train, validation, test or final
    #[arg(long, value_enum, value_name = "SPLIT", hide_possible_values = true, default_value_t = SplitArg::Test, help_heading = "Closed loop", hide_short_help = true)]
    split: SplitArg,
    /// Run directory for whose report it is
    ///
    /// Where no scheduler is named, its teacher, student and augmented student and the two best heuristics are attacked on its workload,
    /// with budgets of 1, 2 and 4 edits (of numbers, within 10, 25 and 50 %).
    #[arg(long, value_name = "RUN_DIR", help_heading = "Output")]
    run: Option<PathBuf>,
    /// Folder for what comes of it [default with --run: RUN_DIR/attacks]
    #[arg(short, long, value_name = "DIR", required_unless_present_any = ["certify", "run"], help_heading = "Output")]
    output: Option<PathBuf>,
    /// Begin anew where the folder holds another attack
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    force: bool,
}

/// A method, as the user writes it.
fn method() -> impl TypedValueParser<Value = Method> {
    let named = |name: String| Method::ALL.into_iter().find(|m| m.name() == name);
    PossibleValuesParser::new(Method::ALL.map(Method::name))
        .map(move |name| named(name).expect("the parser lets no other names through"))
}

impl AttackArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        let inputs = Inputs::default().policies(&self.policies).workloads(&self.workload).traces(&self.trace);
        let inputs = inputs.students(self.proxy.iter().chain(&self.certify));
        self.run.iter().fold(inputs, Inputs::run_directory)
    }
}

/// Who is attacked, and what it is in a run.
struct Party {
    policy: String,
    role: Option<Role>,
    workload: String,
    dir: PathBuf,
}

pub(super) fn run(args: &AttackArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let run = args.run.as_ref().map(|dir| entered(dir, common)).transpose()?;
    if let (Some(student), Some(trace)) = (&args.certify, &args.trace) {
        return certify::run((student, trace), (&args.budgets, &args.edits), args.tries, run.as_ref(), common, output);
    }
    let (parties, scenario) = match &run {
        Some((run, student)) => (parties(args, run)?, common.scenario_of(&student.feature_set)?),
        None => {
            let ([policy], Some(dir)) = (&args.policies[..], &args.output) else {
                bail!(
                    "several schedulers are attacked side by side for the report of a run: name its directory with --run"
                );
            };
            let student = common.student_of_policy(policy)?;
            let scenario = common.scenario_of_policy(policy)?;
            let workload = WorkloadArgs::one(args.workload.as_ref(), scenario, student.as_ref(), output)?;
            (vec![Party { policy: policy.clone(), role: None, workload, dir: dir.clone() }], scenario)
        }
    };
    let mut found = Vec::new();
    for party in &parties {
        found.push(attack(args, party, scenario, common, output)?);
    }
    if let Some((run, _)) = &run {
        let all = run.add_attacks(found, Vec::new(), scenario.info().objective(), scenario.beliefs())?;
        let now = |s: &&AttackedScheduler| parties.iter().any(|p| (&p.policy, &p.workload) == (&s.policy, &s.workload));
        let now: Vec<&AttackedScheduler> = all.schedulers.iter().filter(now).collect();
        side_by_side(&now, scenario.info().objective(), output)?;
        let dir = args.run.as_deref().map_or(String::new(), shown);
        output.text(format!("kept in {dir}: attacks.json, attacks/; `distill report {dir} -o DIR` shows it"))?;
    }
    Ok(Verdict::Done)
}

/// A run directory and its student; the command at hand is noted there.
fn entered(dir: &Path, common: &Common) -> Result<(RunDir, Student)> {
    let student = common.student(&dir.join("student.json"))?;
    let command = common.command_line();
    Ok((RunDir::enter(dir, &student, [], common.visit(&student, &command))?, student))
}

/// Those whom the user names, or those of the run.
fn parties(args: &AttackArgs, run: &RunDir) -> Result<Vec<Party>> {
    let of_run = run.parties()?;
    let role = |policy: &String| of_run.policies.iter().find(|(id, _)| id == policy).map(|(_, role)| *role);
    let named: Vec<(String, Option<Role>)> = match args.policies.is_empty() {
        true => of_run.policies.iter().map(|(policy, role)| (policy.clone(), Some(*role))).collect(),
        false => args.policies.iter().map(|policy| (policy.clone(), role(policy))).collect(),
    };
    let workload = args.workload.as_ref().unwrap_or(&of_run.workload);
    let dir = args.output.clone().unwrap_or_else(|| args.run.iter().map(|run| run.join("attacks")).collect());
    let party = |(policy, role): (String, Option<Role>)| Party {
        dir: dir.join(folder(&policy, workload)),
        policy,
        role,
        workload: workload.clone(),
    };
    Ok(named.into_iter().map(party).collect())
}

/// A folder's name for a scheduler on a workload: what can be read of it, and what tells it from others.
fn folder(policy: &str, workload: &str) -> String {
    let tame = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = policy.rsplit(['/', '\\']).next().unwrap_or(policy).chars().take(40).map(tame).collect();
    format!("{name}-{}", &sha256_hex(format!("{policy}\n{workload}").as_bytes())[..8])
}

/// What may be edited where the user names no budget: once what the default says, for a report more and more.
fn usual_budgets(in_report: bool, edits: &[EditInfo]) -> Vec<EditBudget> {
    let numbers = edits.iter().filter(|edit| edit.usual).all(|edit| edit.is_number);
    match (in_report, numbers) {
        (false, _) => vec![EditBudget::default()],
        (true, false) => [1, 2, 4].map(|edits| EditBudget { edits, ..EditBudget::default() }).into(),
        (true, true) => {
            let within = |share| edits.iter().map(|edit| (edit.name.to_owned(), share)).collect();
            [0.1, 0.25, 0.5].map(|share| EditBudget { shares: within(share), ..EditBudget::default() }).into()
        }
    }
}

/// Attacks one scheduler, and says what came of it.
fn attack(
    args: &AttackArgs,
    party: &Party,
    scenario: &dyn AnyScenario,
    common: &Common,
    output: &mut Output,
) -> Result<AttackedScheduler> {
    let Party { policy, role, workload, dir } = party;
    let mut methods = args.methods.clone();
    if methods.is_empty() {
        methods = match args.run {
            Some(_) if args.proxy.is_some() => vec![Method::Proxy, Method::Random],
            // The report shows the one of them that knows most.
            Some(_) => vec![Method::Gradient, Method::Query, Method::Random],
            None => Method::ALL.into_iter().filter(|m| *m != Method::Proxy || args.proxy.is_some()).collect(),
        };
    }
    if let Some(twice) = (1..methods.len()).find(|&i| methods[..i].contains(&methods[i])) {
        bail!("--method: `{}` is named twice", methods[twice]);
    }
    let mut budgets = args.budgets.clone();
    if budgets.is_empty() {
        budgets = usual_budgets(args.run.is_some(), &scenario.edits());
    }
    budgets.iter_mut().for_each(|budget| budget.sorts.clone_from(&args.edits));
    check_folder(dir)?;
    let files = files_of([policy, workload]);
    check_none_within(dir, files.iter().chain(&args.proxy).map(PathBuf::as_path))?;
    let request = AttackRequest {
        policy: policy.clone(),
        proxy: args.proxy.clone(),
        found: args.edits_of.clone(),
        workload: workload.clone(),
        strongest: args.methods.is_empty() && args.run.is_some(),
        params: AttackParams {
            seed: common.seed,
            split: args.split.into(),
            episodes: args.episodes,
            targets: args.targets,
            methods,
            budgets,
            trials: args.trials,
            questions: args.questions,
        },
        dir: dir.clone(),
        force: args.force,
    };
    let found = scenario.attack(&request, Watched::new(output).caller())?;
    for method in &found.left_out {
        output.note(format!("note: `{method}` is left out: {policy} does not say how probable its choices are"));
    }
    // Of an attack whose edits were found elsewhere these are what they were there.
    let params: AttackParams = serde_json::from_value(found.plan["params"].clone())?;
    output.json("attack", &json!({"dir": shown(dir), "plan": found.plan, "figures": found.figures}))?;
    if args.run.is_some() {
        return Ok(AttackedScheduler::new((policy, *role), workload, params, found));
    }
    let sample = found.figures.first().map_or(0, |f| f.targets);
    let (episodes, split) = (params.episodes, params.split.name());
    output.text(format!("{sample} jobs of {episodes} episodes ({split} seeds), one at a time"))?;
    for (number, budget) in params.budgets.iter().enumerate() {
        let of: Vec<&MethodFigures> = found.figures.iter().filter(|f| f.budget == number).collect();
        print(&of, budget, (policy, episodes), output)?;
    }
    if let Some((notable, best)) = found.notable.as_ref().and_then(|notable| Some((notable, notable.best.first()?))) {
        output.text(paragraph("most     ", &most_effective(best, notable.method)))?;
    }
    output.text(format!("written to {}: attack.json, episodes/", shown(dir)))?;
    Ok(AttackedScheduler::new((policy, *role), workload, params, found))
}
