//! `distill list`: what there is.

use super::{
    common::{Common, Verdict},
    output::Output,
    table::Table,
};
use crate::{
    level::HOW_COLUMNS_ARE_FORMED,
    pipeline::{AnyScenario, Registry},
    policy::PolicyInfo,
    scenario::ScenarioInfo,
};
use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;

/// Show the policies, workloads, features, guards, rules or scenarios there are
#[derive(Args)]
#[command(after_help = "Examples:\n  distill list policies\n  distill list workloads --scenario training")]
pub(super) struct ListArgs {
    /// What to show
    what: What,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Policies,
    Workloads,
    Features,
    Guards,
    Rules,
    Scenarios,
}

pub(super) fn run(args: &ListArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let scenario = common.scenario()?;
    let info = scenario.info();
    match args.what {
        What::Policies => policies(&scenario.policies(), output),
        What::Workloads => workloads(scenario, output),
        What::Features => features(info, output),
        What::Guards => guards(info, output),
        What::Rules => rules(info, output),
        What::Scenarios => scenarios(&common.registry, output),
    }?;
    Ok(Verdict::Done)
}

fn scenarios(registry: &Registry, output: &mut Output) -> Result<()> {
    for s in registry.iter().map(|scenario| scenario.info()) {
        output.text(format!("{}\n    {}", s.name, s.meaning))?;
        output.json("scenario", &json!({"name": s.name, "meaning": s.meaning}))?;
    }
    Ok(())
}

fn policies(all: &[PolicyInfo], output: &mut Output) -> Result<()> {
    for p in all {
        let own = p.own_name.map_or(String::new(), |name| format!(": {name}"));
        output.text(format!("{}\n    {}{own}", p.usage, p.meaning))?;
        output.json("policy", &json!({"name": p.name, "usage": p.usage, "meaning": p.meaning}))?;
    }
    Ok(())
}

fn workloads(scenario: &dyn AnyScenario, output: &mut Output) -> Result<()> {
    let all = scenario.workloads();
    for w in &all {
        output.text(format!("{}\n    {}", w.usage, w.meaning))?;
        output.json("workload", &json!({"usage": w.usage, "meaning": w.meaning}))?;
    }
    let with_edges: Vec<&str> = all.iter().filter(|w| w.has_edge_cases()).map(|w| w.name).collect();
    if !with_edges.is_empty() {
        output.text(format!("edge=NAME of {} (docs/edge-cases.md)", with_edges.join(" and ")))?;
    }
    for (name, meaning) in scenario.edge_cases() {
        output.text(format!("    {name:<18}{meaning}"))?;
        output.json("edge_case", &json!({"name": name, "meaning": meaning}))?;
    }
    Ok(())
}

fn guards(info: &ScenarioInfo, output: &mut Output) -> Result<()> {
    output.text("Guards that `distill augment` tries and `distill patch --guard` takes; {} stands for a number.\n")?;
    for g in info.catalogue.guards {
        let values: Vec<String> = g.values.iter().map(ToString::to_string).collect();
        let tried = match values.is_empty() {
            true => String::new(),
            false => format!("; {} is one of {}", "{}", values.join(", ")),
        };
        output.text(format!("{}: {}\n    {}{tried}", g.name, g.text, g.meaning))?;
        output.json("guard", &json!({"name": g.name, "text": g.text, "values": g.values, "meaning": g.meaning}))?;
    }
    Ok(())
}

fn rules(info: &ScenarioInfo, output: &mut Output) -> Result<()> {
    output.text("Heuristics that `distill identify` compares a teacher with; --rule takes more of the kind.\n")?;
    for r in info.catalogue.rules {
        output.text(format!("{}: {}\n    {}", r.name, r.text, r.meaning))?;
        output.json("rule", &json!({"name": r.name, "text": r.text, "meaning": r.meaning}))?;
    }
    Ok(())
}

fn features(info: &ScenarioInfo, output: &mut Output) -> Result<()> {
    let set = (info.feature_set)();
    for level in &set.levels {
        output.text(format!("{} level: {}", level.name, level.question))?;
        if !level.candidates.is_empty() {
            output.text(format!("Candidates: {}", level.candidates))?;
        }
        let mut table = Table::new(&["feature", "unit", "who says so"]);
        for (column, f) in level.features.iter().enumerate() {
            table.row([f.name.clone(), f.unit.clone(), f.control.name().to_owned(), String::new()]);
            let formula = level.formula(column);
            output.json(
                "feature",
                &json!({"level": level.name, "candidates": level.candidates, "feature": f, "formula": formula}),
            )?;
        }
        let meanings = (0..level.features.len()).map(|column| level.meaning(column));
        let lines: Vec<String> = table.to_string().lines().map(str::to_owned).collect();
        output.text(&lines[0])?;
        for (line, meaning) in lines[1..].iter().zip(meanings) {
            output.text(format!("{line:<58}{meaning}"))?;
        }
        output.text("")?;
    }
    output.text(HOW_COLUMNS_ARE_FORMED.join("\n"))?;
    output.text(format!("\nfeature set {}", set.hash()))
}
