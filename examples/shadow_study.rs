//! Does a shadow flag a workload that has changed, and only that? Twenty logs of the workload of the training trace, and twenty
//! of one with twice the arrivals and tasks half as long, each of other episodes. Usage:
//! `cargo run --release --example shadow_study [EPISODES_OF_A_LOG] [RUNS] [PRESENT_SCHEDULER]`.

use sched_distill::{
    dag::{
        Dag,
        workload::{Cluster, DagWorkload, JobArrival},
    },
    pipeline::{Caller, Entry, shadow_report},
    recorder::{RecordRequest, policy_source, record, run_episode},
    registry::Registered,
    rng::{EpisodeId, Split},
    scenario::{Scenario, State},
    serve::{Limits, Service, Session, ShadowLog},
    simulation::Source,
    trace::{Shard, Trace},
};
use serde_json::json;
use std::{
    error::Error,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The scheduler of the training trace, and the policy beside which the present one is watched.
const DRIVER: &str = "sjf-cp,temperature=0.3";
const WORKLOAD: &str = "builtin,jobs=20,executors=10,rate=5e-5";
const TRAINING_EPISODES: u32 = 40;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let episodes: u32 = args.next().map_or(Ok(10), |n| n.parse())?;
    let runs: u64 = args.next().map_or(Ok(20), |n| n.parse())?;
    let present = args.next().unwrap_or_else(|| DRIVER.to_owned());
    let entry: &Entry<Dag> = Dag::entry();
    let (folder, policy) = (tempfile::tempdir()?, entry.policy(DRIVER)?);
    let training = folder.path().join("training");
    let request = RecordRequest {
        policy_id: DRIVER,
        policy: &*policy,
        labeller: None,
        workload_id: WORKLOAD,
        workload: &entry.workload(WORKLOAD)?,
        seed: 0,
        split: Split::Train,
        first_episode: 0,
        episodes: TRAINING_EPISODES,
        shard: Shard::WHOLE,
        force: false,
    };
    record(&training, &request, &(), &AtomicBool::new(false))?;
    let training = Trace::open(&training)?;
    println!("{TRAINING_EPISODES} episodes of training by {DRIVER}, logs of {episodes} episodes by {present}");
    println!("{:<34} {:>5} {:>20} {:>20}", "workload", "runs", "flagged beyond 0.1", "flagged beyond 0.25");
    for (name, factor, workload) in [
        ("that of the training trace", 1.0, WORKLOAD.to_owned()),
        ("twice the arrivals, half as long", 0.5, WORKLOAD.replace("5e-5", "1e-4")),
    ] {
        let inner = entry.workload(&workload)?;
        let workload = DagWorkload::new(*inner.cluster(), Stretched(inner, factor), Vec::new());
        let mut flagged = [0, 0];
        for run in 0..runs {
            let dir = folder.path().join(format!("{factor}-{run}"));
            log(&dir, &workload, &present, 1000 + run, episodes)?;
            let caller = Caller { watch: &(), stop: &AtomicBool::new(false) };
            let found = shadow_report(&Trace::open(&dir)?, Some(&training), 0, run, caller)?;
            let drift = found.drift.ok_or("a training trace was given")?;
            for (count, most) in flagged.iter_mut().zip([0.1, 0.25]) {
                *count += u32::from(drift.beyond(most).next().is_some());
            }
            std::fs::remove_dir_all(&dir)?;
        }
        println!("{name:<34} {runs:>5} {:>20} {:>20}", flagged[0], flagged[1]);
    }
    Ok(())
}

/// What a shadow hears of a scheduler.
fn log(dir: &Path, workload: &DagWorkload, present: &str, seed: u64, episodes: u32) -> Result<()> {
    let entry: &Entry<Dag> = Dag::entry();
    let policy = entry.policy(DRIVER)?;
    let source = policy_source(DRIVER, &*policy)?;
    let shadow = ShadowLog::create(dir, &Dag::INFO, &source, policy.abstains(), 0)?;
    let limits = Limits::default();
    let service = Arc::new(Service { source, policy, scorers: None, seed: 0, limits, shadow: Some(shadow) });
    let (mut session, mut out) = (Session::new(&service), Vec::new());
    let mut present = entry.policy(present)?;
    for episode in 0..episodes {
        session.line(json!({"type": "reset", "seed": episode}).to_string().as_bytes(), &mut out);
        let id = EpisodeId::new(seed, Split::Test, episode);
        run_episode::<Dag>(workload, &mut *present, id, |seen, decision, _| {
            out.clear();
            let state = <Dag as Scenario>::State::of(seen);
            session.line(json!({"state": state, "did": [decision]}).to_string().as_bytes(), &mut out);
            assert_eq!(out, b"{\"type\":\"noted\"}\n");
        })?;
    }
    session.end().map_err(|e| e.to_string())?;
    service.shadow.as_ref().ok_or("a shadow")?.finish()?;
    Ok(())
}

/// The same jobs with tasks of other lengths.
#[derive(Debug)]
struct Stretched(DagWorkload, f64);

impl Source<Dag> for Stretched {
    fn jobs(&self, _: &Cluster, id: EpisodeId) -> Vec<JobArrival> {
        let stretched = |JobArrival { arrival_ms, template }: JobArrival| JobArrival {
            arrival_ms,
            template: Arc::new(template.stretched(self.1)),
        };
        self.0.jobs(id).into_iter().map(stretched).collect()
    }
}
