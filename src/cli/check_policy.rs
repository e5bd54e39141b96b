//! `distill check-policy`: does a policy keep its contract, and does it decide as another one?

use super::{
    common::{Common, Verdict},
    inputs::Inputs,
    output::Output,
    parts::count,
    progress::Watched,
    table::Table,
};
use crate::{
    conformance::{Check, Concordance, Conformance},
    pipeline::CheckParams,
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

/// Check that a policy keeps its contract, and whether it decides as another one
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill check-policy -p 'script:python3 examples/script_policy.py'\n  \
distill check-policy -p decima --against student:runs/demo/student.json",
    after_long_help = "Examples:\n  distill check-policy -p 'script:python3 examples/script_policy.py'\n  \
distill check-policy -p onnx:policy.onnx --against 'script:python3 policy.py'\n  \
distill check-policy -p decima:model.pt -w tpch:tpch_profiles.json.gz,jobs=50 -n 3\n  \
distill check-policy --scenario training -p 'script:python3 policy.py'\n\n\
Without -w the policy meets ordinary workloads of the scenario and corner cases, such as one job, many jobs, a large cluster. \
Exit code 1 if a check fails (docs/foreign-policies.md)."
)]
pub(super) struct CheckPolicyArgs {
    /// Policy to check (see `distill list policies`)
    #[arg(short, long, value_name = "POLICY", help_heading = "Input")]
    policy: String,
    /// Workload, repeatable [default: a battery of built-in ones]
    #[arg(short, long = "workload", value_name = "WORKLOAD", help_heading = "Input")]
    workloads: Vec<String>,
    /// Another policy that must decide the same
    ///
    /// Near ties, below 1e-4 in log-probability, are counted apart.
    #[arg(long, value_name = "POLICY", help_heading = "Checks")]
    against: Option<String>,
    /// The largest difference of log-probabilities to the other policy that passes
    #[arg(long, default_value_t = 1e-5, value_name = "X", help_heading = "Checks", hide_short_help = true)]
    tolerance: f64,
    /// Episodes of each workload
    #[arg(
        short = 'n', long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Checks"
    )]
    episodes: u32,
    /// End an episode after so many decisions
    #[arg(
        long, default_value_t = 300, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Checks"
    )]
    decisions: u32,
}

impl CheckPolicyArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().policies([&self.policy].into_iter().chain(&self.against)).workloads(&self.workloads)
    }
}

pub(super) fn run(args: &CheckPolicyArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if args.tolerance.is_nan() || args.tolerance < 0.0 {
        bail!("--tolerance must be a number of at least 0, got {}", args.tolerance);
    }
    let params = CheckParams {
        policy: args.policy.clone(),
        against: args.against.clone(),
        workloads: args.workloads.clone(),
        seed: common.seed,
        episodes: args.episodes,
        decisions: args.decisions,
    };
    let watched = Watched::new(output);
    let checked = common.scenario_of_policy(&args.policy)?.check_policy(&params, watched.caller())?;
    drop(watched);
    let found = checked.found;
    let alike = found.concordance.as_ref().is_none_or(|concordance| concordance.holds(args.tolerance));
    let passed = found.passed() && alike;
    let fields = json!({"policy": args.policy, "against": args.against, "workloads": checked.workloads,
        "tolerance": args.tolerance, "passed": passed, "found": found});
    output.json("conformance", &fields)?;
    print(args, &found, passed, output)?;
    Ok(if passed { Verdict::Done } else { Verdict::GateFailed })
}

fn print(args: &CheckPolicyArgs, found: &Conformance, passed: bool, output: &mut Output) -> Result<()> {
    let mut table = Table::new(&["check", "tested", "result"]).with_words(1);
    for check in &found.checks {
        table.row([check.name.to_owned(), check.tested.to_string(), result(check)]);
    }
    if let (Some(other), Some(concordance)) = (&args.against, &found.concordance) {
        rows_of_concordance(&mut table, other, concordance, args.tolerance);
    }
    output.text(table)?;
    let firsts = found.checks.iter().filter_map(|check| Some((check.name, check.first.as_ref()?)));
    for (name, first) in firsts {
        output.text(format!("\nfirst failure of \"{name}\":\n  {first}"))?;
    }
    if let Some(first) = found.concordance.as_ref().and_then(|concordance| concordance.first.as_ref()) {
        output.text(format!("\nfirst difference:\n  {first}"))?;
    }
    let stalled = match found.stalled {
        0 => String::new(),
        n => format!("; it left the cluster stranded in {}, where jobs never end", count(n as usize, "episode")),
    };
    output.text(format!(
        "\n{} in {}{stalled}\nper decision: {} median, {} for all but 1 in 100, {} at most\n{}: {}",
        count(found.decisions as usize, "decision"),
        count(found.episodes as usize, "episode"),
        time(found.median_ms),
        time(found.p99_ms),
        time(found.longest_ms),
        args.policy,
        if passed { "passed" } else { "FAILED" }
    ))
}

fn result(check: &Check) -> String {
    match check {
        Check { failed: 0, tested: 0, .. } => "not applicable".to_owned(),
        Check { failed: 0, .. } => "ok".to_owned(),
        Check { failed, .. } => format!("FAILED {failed} times"),
    }
}

fn rows_of_concordance(table: &mut Table, other: &str, concordance: &Concordance, tolerance: f64) {
    let Concordance { questions, differing, near_ties, log_probs, .. } = concordance;
    let ties = match near_ties {
        0 => String::new(),
        n => format!("; {n} near ties"),
    };
    let actions = if *differing == 0 { format!("ok{ties}") } else { format!("FAILED {differing} times{ties}") };
    table.row([format!("same actions as {other}"), questions.to_string(), actions]);
    for (of, apart) in log_probs {
        let (tested, verdict) = match *apart {
            None => ("-".to_owned(), "not applicable".to_owned()),
            Some(apart) if apart <= tolerance => (questions.to_string(), format!("ok, {apart:.1e} apart at most")),
            Some(apart) => (questions.to_string(), format!("FAILED, {apart:.1e} apart, {tolerance:.0e} allowed")),
        };
        table.row([format!("same log-probabilities ({of})"), tested, verdict]);
    }
}

/// Milliseconds with a fitting unit.
fn time(ms: f64) -> String {
    match ms {
        ms if ms < 0.1 => format!("{:.1} µs", ms * 1e3),
        ms if ms < 1e3 => format!("{ms:.2} ms"),
        ms => format!("{:.1} s", ms / 1e3),
    }
}
