//! Compares this simulator with the reference simulator (spark-sched-sim) in distribution.
//!
//! The reference's results are given per seed together with the exact job sequence that it drew. This program runs the
//! same job sequences, with its own draws of task durations, and prints Markdown tables: the mean over seeds of
//! ln(ours / reference) in mean job completion time with its standard error, and plain rules against greedy Decima.
//!
//! ```text
//! cargo run --release --example reference_study -- REFERENCE.json TPCH_PROFILES.json.gz DECIMA.safetensors
//! ```

use rayon::prelude::*;
use sched_distill::{
    dag::{
        Dag,
        simulator::Simulator,
        workload::{Cluster, JobArrival, TpchProfiles},
    },
    registry::Registered as _,
    scenario::Said,
    simulation::Simulation as _,
    spec::Spec,
};
use serde_json::Value;
use std::{error::Error, path::Path, sync::Arc};

/// Mean job completion time, s, of one run.
fn run(policy: &str, cluster: Cluster, jobs: &[JobArrival], seed: u64) -> Result<f64, String> {
    let spec: Spec = policy.parse().map_err(|e| format!("{e}"))?;
    let mut policy = Dag::open(&spec).map_err(|e| e.to_string())?;
    let mut sim = Simulator::new(cluster, jobs.to_vec(), seed);
    policy.reset(seed);
    let mut probabilities = Said::default();
    while let Some(seen) = sim.view() {
        probabilities.clear();
        let decision = policy.decide(&seen, &mut probabilities).map_err(|e| e.to_string())?;
        sim.step(decision).map_err(|e| e.to_string())?;
    }
    let outcome = sim.outcome().ok_or("the episode has not ended")?;
    outcome.objective().map(|ms| ms / 1e3).ok_or_else(|| "the cluster was stranded".to_owned())
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// 0.995 quantile of Student's t with `df` degrees of freedom (standard table; the normal one from 120 on).
fn t_995(df: usize) -> f64 {
    const SMALL: [f64; 10] = [63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169];
    match df {
        1..=10 => SMALL[df - 1],
        11..=20 => 2.845,
        21..=30 => 2.750,
        31..=60 => 2.660,
        61..=119 => 2.617,
        _ => 2.576,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [reference, profiles, decima] = args.as_slice() else {
        return Err("usage: reference_study REFERENCE.json TPCH_PROFILES.json.gz DECIMA.safetensors".into());
    };
    let reference: Value = serde_json::from_str(&std::fs::read_to_string(reference)?)?;
    let greedy = format!("decima:{decima},mode=greedy");
    let compared = [
        ("fair", "fair".to_owned()),
        ("fifo", "fifo".to_owned()),
        ("random", "random".to_owned()),
        ("decima", format!("decima:{decima},mode=sample")),
        ("decima-greedy", greedy.clone()),
    ];
    let plain = ["sjf", "sjf,source=first", "sjf-cp", "srpt-fair", "srpt-fair,cap=0.8", "weighted-fair", "fair"];
    for set in reference["sets"].as_array().ok_or("no sets")? {
        let number = |key: &str| set[key].as_f64().ok_or(format!("no {key}"));
        let cluster = Cluster::new(number("num_executors")? as u32, number("moving_delay_ms")?);
        let profiles = TpchProfiles::load(Path::new(profiles), number("warmup_delay_ms")?)?;
        let seeds = set["seeds"].as_array().ok_or("no seeds")?;
        let mut episodes = Vec::new();
        for seed in seeds {
            let mut jobs = Vec::new();
            for job in seed["jobs"].as_array().ok_or("no jobs")? {
                let (query, size) = (job[1].as_u64().ok_or("no query")?, job[2].as_str().ok_or("no size")?);
                let template = profiles.job(query as u32, size).ok_or("unknown query")?;
                jobs.push(JobArrival {
                    arrival_ms: job[0].as_f64().ok_or("no arrival")?,
                    template: Arc::clone(template),
                });
            }
            episodes.push((seed["seed"].as_u64().ok_or("no seed")?, jobs));
        }
        let all = |policy: &str| -> Result<Vec<f64>, String> {
            episodes.par_iter().map(|(seed, jobs)| run(policy, cluster, jobs, *seed)).collect()
        };
        println!("\n## {} executors, {} jobs, {} seeds\n", cluster.num_executors, episodes[0].1.len(), episodes.len());
        println!("| policy | reference, s | ours, s | mean ln(ours/reference) ± SE | allowed | |");
        println!("| --- | ---: | ---: | ---: | ---: | --- |");
        for (name, policy) in &compared {
            let theirs: Vec<Option<f64>> =
                seeds.iter().map(|s| s["results"][name]["avg_job_duration_s"].as_f64()).collect();
            let ours = all(policy)?;
            let pairs: Vec<(f64, f64)> =
                ours.iter().zip(&theirs).filter_map(|(&ours, theirs)| theirs.map(|t| (ours, t))).collect();
            let logs: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
            let (mean, error) = mean_and_error(&logs);
            let allowed = (t_995(logs.len() - 1) * error).max(0.03);
            let average = |f: fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / pairs.len() as f64;
            let verdict = if mean.abs() <= allowed { "within" } else { "OUTSIDE" };
            println!(
                "| {name} ({} seeds) | {:.1} | {:.1} | {mean:+.4} ± {error:.4} | {allowed:.4} | {verdict} |",
                pairs.len(),
                average(|p| p.1),
                average(|p| p.0)
            );
        }
        let teacher = all(&greedy)?;
        println!("\n| plain rule | mean JCT, s | geometric mean ratio to greedy Decima (ours) ± SE of ln |");
        println!("| --- | ---: | ---: |");
        for policy in plain {
            let ours = all(policy)?;
            let logs: Vec<f64> = ours.iter().zip(&teacher).map(|(a, b)| (a / b).ln()).collect();
            let (mean, error) = mean_and_error(&logs);
            let average = ours.iter().sum::<f64>() / ours.len() as f64;
            println!("| `{policy}` | {average:.1} | {:.3} ± {error:.3} |", mean.exp());
        }
    }
    Ok(())
}
