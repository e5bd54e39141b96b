//! `distill list`: what there is.

use super::{Verdict, output::Output, table::Table};
use crate::{
    policy::POLICIES,
    scenario::{GUARDS, RULES, dag},
    workload::{EDGE_CASES, WORKLOADS},
};
use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;

/// Show the policies, workloads, features, guards or rules there are
#[derive(Args)]
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
}

pub(super) fn run(args: &ListArgs, output: &mut Output) -> Result<Verdict> {
    match args.what {
        What::Policies => {
            for p in POLICIES {
                output.text(format!("{}\n    {}", p.usage, p.meaning))?;
                output.json("policy", &json!({"name": p.name, "usage": p.usage, "meaning": p.meaning}))?;
            }
        }
        What::Workloads => {
            for w in WORKLOADS {
                output.text(format!("{}\n    {}", w.usage, w.meaning))?;
                output.json("workload", &json!({"usage": w.usage, "meaning": w.meaning}))?;
            }
            output.text("edge=NAME of builtin and tpch (docs/edge-cases.md)")?;
            for e in EDGE_CASES {
                output.text(format!("    {:<16}{}", e.name, e.meaning))?;
                output.json("edge_case", &json!({"name": e.name, "meaning": e.meaning}))?;
            }
        }
        What::Guards => {
            output.text(
                "Guards that `distill augment` tries and `distill patch --guard` takes; {} stands for a number.\n",
            )?;
            for g in GUARDS {
                let values: Vec<String> = g.values.iter().map(ToString::to_string).collect();
                let tried = if values.is_empty() {
                    String::new()
                } else {
                    format!("; {} is one of {}", "{}", values.join(", "))
                };
                output.text(format!("{}: {}\n    {}{tried}", g.name, g.text, g.meaning))?;
                output.json(
                    "guard",
                    &json!({"name": g.name, "text": g.text, "values": g.values, "meaning": g.meaning}),
                )?;
            }
        }
        What::Rules => {
            output
                .text("Heuristics that `distill identify` compares a teacher with; --rule takes more of the kind.\n")?;
            for r in RULES {
                output.text(format!("{}: {}\n    {}", r.name, r.text, r.meaning))?;
                output.json("rule", &json!({"name": r.name, "text": r.text, "meaning": r.meaning}))?;
            }
        }
        What::Features => {
            for level in &dag::feature_set().levels {
                output.text(format!("{} level: {}", level.name, level.question))?;
                let mut table = Table::new(&["feature", "unit"]);
                for f in &level.features {
                    table.row([f.name.clone(), f.unit.clone(), String::new()]);
                    output.json("feature", &json!({"level": level.name, "feature": f}))?;
                }
                let meanings = level.features.iter().map(|f| f.meaning.as_str());
                let lines: Vec<String> = table.to_string().lines().map(str::to_owned).collect();
                output.text(&lines[0])?;
                for (line, meaning) in lines[1..].iter().zip(meanings) {
                    output.text(format!("{line:<46}{meaning}"))?;
                }
                output.text("")?;
            }
            output.text(format!("feature set {}", dag::feature_set().hash()))?;
        }
    }
    Ok(Verdict::Done)
}
