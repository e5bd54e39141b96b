//! `distill attack`: whether a user can game a scheduler by describing her job differently.

use super::{
    Common, Verdict, certify,
    compare::{SplitArg, WorkloadArgs},
    files::{check_folder, check_none_within, files_of, shown},
    inputs::Inputs,
    output::Output,
    progress::Watched,
    table::{Table, paragraph},
};
use crate::{
    attack::{AttackParams, Attempt, Method, MethodFigures},
    evaluator::Estimate,
    pipeline::{AttackRequest, Attacked},
    simulation::EditBudget,
};
use anyhow::{Result, bail};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde_json::json;
use std::path::PathBuf;

/// Try whether a user is served sooner who describes her job differently
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill attack -p decima -o runs/attack\n  \
distill attack -p student:runs/demo/student.json -n 10 -o runs/attack-student",
    after_long_help = "Examples:\n  distill attack -p decima -o runs/attack\n  \
distill attack -p student:runs/demo/student.json -n 10 -o runs/attack-student\n  \
distill attack -p decima --budget edits=1 --budget edits=2 -o runs/budgets\n  \
distill attack -p fair --method query,random --edits split -o runs/splits\n  \
distill attack -p student:runs/demo/student.json --edits-of runs/attack -o runs/transfer\n  \
distill attack --certify runs/demo/student.json runs/demo/traces/test\n\n\
A job is edited so that it computes what it did, and the episode is run again with the same luck. Methods: `gradient` (by \
the slope of the scheduler's own probabilities), `gradient-path` (the same along the job's critical path), `query` (by what \
it decides about edited jobs), `proxy` (by a student that stands in for it) and `random`, the control. All of them make as \
many edits and try out as many. An interrupted attack goes on with the same command (docs/attack.md)."
)]
pub(super) struct AttackArgs {
    /// The scheduler that is attacked (`distill list policies`)
    #[arg(short, long, value_name = "POLICY", required_unless_present = "certify", help_heading = "Input")]
    policy: Option<String>,
    /// Certify this student instead: of which choices no edit can take what it gives
    ///
    /// At the questions of TRACE, by other declared numbers of any job within `--budget duration=SHARE`, repeatable [default: 0.05, 0.1 and
    /// 0.25].
    #[arg(
        long, value_name = "STUDENT", requires = "trace", help_heading = "Certificates",
        conflicts_with_all = ["policy", "workload", "proxy", "edits_of", "methods", "edits", "trials", "questions", "episodes", "targets", "split", "output", "force"]
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
    /// Student that stands in for the scheduler, fitted on its decisions; makes `proxy` a method
    #[arg(long, value_name = "STUDENT", help_heading = "Input")]
    proxy: Option<PathBuf>,
    /// Folder of an attack on another scheduler, whose edits are made against this one
    ///
    /// The jobs, methods and budgets are those of that attack.
    #[arg(long = "edits-of", value_name = "DIR", help_heading = "Input", hide_short_help = true, conflicts_with_all = ["methods", "budgets", "edits", "trials", "questions", "episodes", "targets", "split", "proxy"])]
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
    /// Folder for what comes of it
    #[arg(short, long, value_name = "DIR", required_unless_present = "certify", help_heading = "Output")]
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
        let inputs = Inputs::default().policies(&self.policy).workloads(&self.workload).traces(&self.trace);
        inputs.students(self.proxy.iter().chain(&self.certify))
    }
}

pub(super) fn run(args: &AttackArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if let (Some(student), Some(trace)) = (&args.certify, &args.trace) {
        return certify::run((student, trace), &args.budgets, args.tries, common, output);
    }
    let (Some(policy), Some(dir)) = (&args.policy, &args.output) else { bail!("-p POLICY and -o DIR are needed") };
    let student = common.student_of_policy(policy)?;
    let scenario = common.scenario_of_policy(policy)?;
    let workload = WorkloadArgs::one(args.workload.as_ref(), scenario.info(), student.as_ref(), output)?;
    let mut methods = args.methods.clone();
    if methods.is_empty() {
        methods = Method::ALL.into_iter().filter(|m| *m != Method::Proxy || args.proxy.is_some()).collect();
    }
    if let Some(twice) = (1..methods.len()).find(|&i| methods[..i].contains(&methods[i])) {
        bail!("--method: `{}` is named twice", methods[twice]);
    }
    let mut budgets = args.budgets.clone();
    if budgets.is_empty() {
        budgets.push(EditBudget::default());
    }
    budgets.iter_mut().for_each(|budget| budget.sorts.clone_from(&args.edits));
    check_folder(dir)?;
    let files = files_of([policy, &workload]);
    check_none_within(dir, files.iter().chain(&args.proxy).map(PathBuf::as_path))?;
    let request = AttackRequest {
        policy: policy.clone(),
        proxy: args.proxy.clone(),
        found: args.edits_of.clone(),
        workload,
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
        output.note(format!("note: `{method}` is left out: {} does not say how probable its choices are", policy));
    }
    // Of an attack whose edits were found elsewhere these are what they were there.
    let AttackParams { episodes, split, budgets, .. } = serde_json::from_value(found.plan["params"].clone())?;
    let sample = found.figures.first().map_or(0, |f| f.targets);
    output.text(format!("{sample} jobs of {episodes} episodes ({} seeds), one at a time", split.name()))?;
    for (number, budget) in budgets.iter().enumerate() {
        let of: Vec<&MethodFigures> = found.figures.iter().filter(|f| f.budget == number).collect();
        print(&of, budget, (policy, episodes), output)?;
    }
    if let Some(best) = most_effective(&found) {
        output.text(paragraph("most     ", &best))?;
    }
    output.text(format!("written to {}: attack.json, episodes/", shown(dir)))?;
    output.json("attack", &json!({"dir": shown(dir), "plan": found.plan, "figures": found.figures}))?;
    Ok(Verdict::Done)
}

fn print(
    of: &[&MethodFigures],
    budget: &EditBudget,
    (policy, episodes): (&str, u32),
    output: &mut Output,
) -> Result<()> {
    let mut table =
        Table::new(&["", "sooner by 1 %", "by 5 %", "mean change", "if sooner", "others"]).without_if_wide(&["others"]);
    for f in of {
        table.row([
            f.method.to_string(),
            share(&f.sooner),
            share(&f.much_sooner),
            change(&f.change),
            f.change_if_sooner.as_ref().map_or("-".to_owned(), |e| format!("{:+.1} %", 100.0 * e.value)),
            change(&f.others),
        ]);
    }
    output.text(format!("\nbudget {budget}\n{table}"))?;
    let compared: Vec<(&MethodFigures, &[Estimate; 3])> =
        of.iter().filter_map(|f| Some((*f, f.net.as_ref()?))).collect();
    if !compared.is_empty() {
        let mut table =
            Table::new(&["beyond random edits", "sooner by 1 %", "by 5 %", "mean change", "first minute", "asked"]);
        for (f, [sooner, much, by]) in compared {
            let gained = format!("{:+.2} executors", f.first_minute.value);
            table.row([
                f.method.to_string(),
                change(sooner),
                change(much),
                change(by),
                gained,
                format!("{:.0} times", f.queries),
            ]);
        }
        output.text(format!("\n{table}"))?;
    }
    match verdict(of, policy, episodes) {
        Some(said) => output.text(paragraph("verdict  ", &said)),
        None => Ok(()),
    }
}

/// Episodes below which intervals tell too little for a verdict.
const ENOUGH: u32 = 10;

/// What the figures of a budget come to.
fn verdict(of: &[&MethodFigures], policy: &str, episodes: u32) -> Option<String> {
    if episodes < ENOUGH {
        return Some(format!("none: {episodes} episodes tell too little; {ENOUGH} are the least (-n)."));
    }
    let (best, net) = of
        .iter()
        .filter_map(|f| Some((f, f.net.as_ref()?)))
        .min_by(|(_, a), (_, b)| a[2].value.total_cmp(&b[2].value))?;
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let sooner = |change: f64| format!("{:.1} %", -100.0 * change);
    let beyond = net[2].high < 0.0;
    if let Some(random) = of.iter().find(|f| f.method == Method::Random && f.change.high < 0.0) {
        let more = match beyond {
            true => format!("`{}` gains another {}", best.method, sooner(net[2].value)),
            false => "no other method gains more, as far as these episodes tell".to_owned(),
        };
        return Some(format!(
            "{policy} can be gamed even by random edits, where the best of those tried out is kept: a user is served sooner in {} of \
             cases, and {} sooner in the mean over all; {more}.",
            percent(random.sooner.value),
            sooner(random.change.value)
        ));
    }
    let cases = format!("by `{}` a user is served sooner in {} of cases", best.method, percent(best.sooner.value));
    Some(match (beyond, best.change.high < 0.0, net[0].low > 0.0) {
        (true, true, _) => format!(
            "{policy} can be gamed: {cases}, and {} sooner in the mean over all, which random edits do not explain.",
            sooner(best.change.value)
        ),
        (true, false, _) | (false, _, true) => format!(
            "{policy} can be gamed now and then: {cases}, more often or by more than by random edits, but not for sure in the mean over all."
        ),
        (false, _, false) => {
            format!("no method did better against {policy} than random edits, as far as these episodes tell.")
        }
    })
}

/// The edit that brought most.
fn most_effective(found: &Attacked) -> Option<String> {
    let all = found.episodes.iter().flat_map(|e| e.attempts.iter().map(move |a| (e.episode, a)));
    let changed = all.filter_map(|(episode, a)| Some((episode, a, a.change()?)));
    let (episode, attempt, change): (u32, &Attempt, f64) = changed.min_by(|a, b| a.2.total_cmp(&b.2))?;
    (change < 0.0).then(|| {
        format!(
            "job {} of episode {episode}: {}; it completes {:.0} % sooner (by `{}`)",
            attempt.job,
            attempt.words.join(", and "),
            -100.0 * change,
            attempt.method
        )
    })
}

pub(super) fn share(e: &Estimate) -> String {
    let [value, low, high] = [e.value, e.low, e.high].map(|v| format!("{:.0}", 100.0 * v));
    if e.is_exact() { format!("{value} %") } else { format!("{value} % [{low}, {high}]") }
}

pub(super) fn change(e: &Estimate) -> String {
    let [value, low, high] = [e.value, e.low, e.high].map(|v| format!("{:+.1}", 100.0 * v));
    if e.is_exact() { format!("{value} %") } else { format!("{value} % [{low}, {high}]") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(method: Method, change: (f64, f64), net: Option<[(f64, f64); 3]>) -> MethodFigures {
        let exact = |value| Estimate { value, low: value, high: value };
        let between = |(low, high): (f64, f64)| Estimate { value: (low + high) / 2.0, low, high };
        MethodFigures {
            method,
            budget: 0,
            targets: 10,
            unfinished: 0,
            sooner: exact(0.6),
            much_sooner: exact(0.5),
            change_if_sooner: None,
            change: between(change),
            net: net.map(|all| all.map(between)),
            others: exact(0.0),
            first_minute: exact(0.0),
            queries: 0.0,
        }
    }

    #[test]
    fn a_verdict_is_no_stronger_than_its_intervals() {
        let (gain, none, less) = ((0.1, 0.3), (-0.1, 0.1), (-0.2, -0.1));
        let said = |change, net, random| {
            let of = [&figures(Method::Query, change, Some(net)), &figures(Method::Random, random, None)];
            verdict(&of, "decima", 10).unwrap_or_default()
        };
        assert!(
            said(less, [gain, gain, less], none)
                .starts_with("decima can be gamed: by `query` a user is served sooner in 60 %")
        );
        assert!(said(none, [gain, gain, less], none).starts_with("decima can be gamed now and then"));
        assert!(said(none, [gain, none, none], none).starts_with("decima can be gamed now and then"));
        assert!(said(none, [none, none, none], none).starts_with("no method did better"));
        assert!(
            said(less, [none, none, none], less)
                .ends_with("no other method gains more, as far as these episodes tell.")
        );
        assert!(said(less, [gain, none, less], less).ends_with("`query` gains another 15.0 %."));
        assert_eq!(verdict(&[&figures(Method::Random, less, None)], "decima", 10), None);
        let few = verdict(&[&figures(Method::Random, less, None)], "decima", 9).unwrap_or_default();
        assert!(few.starts_with("none: 9 episodes tell too little"));
    }
}
