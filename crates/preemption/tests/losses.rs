//! What suspending and resuming a job costs, as a scheduler is told and as it comes.

use sched_distill_core::simulation::Simulation as _;
use sched_distill_preemption::{
    Decision, policies,
    simulator::{Change, Simulator, What},
    workload::PreemptionWorkload,
};
use std::collections::HashMap;

/// Predictions and what followed, by what they are about.
type Pairs = HashMap<&'static str, Vec<(f64, f64)>>;

/// Runs an episode and notes what suspending was predicted to take when that was decided, and loading when a job was
/// served.
fn predictions(workload: &PreemptionWorkload, seed: u64, policy: &str, pairs: &mut Pairs) {
    let mut policy = policies::open(&policy.parse().unwrap()).unwrap();
    let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(seed), seed);
    sim.record_changes();
    let spread_slowdown = workload.cluster().spread_slowdown;
    // Of condemned jobs: when, whether the counter had told, predicted times to the epoch's end, to save and to load.
    let mut condemned: HashMap<u32, (f64, bool, [f64; 3])> = HashMap::new();
    let (mut served, mut saving, mut loading) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut saved: HashMap<u32, f64> = HashMap::new();
    let mut known = 0;
    loop {
        for &Change { time_ms, job, what, .. } in &sim.changes()[known..] {
            let mut note = |of: &'static str, said: f64, really: f64| pairs.entry(of).or_default().push((said, really));
            match what {
                What::Begins => {
                    loading.insert(job, time_ms);
                }
                What::Computes => {
                    let loading_ms = time_ms - loading[&job];
                    if let Some((said_ms, is_first)) = served.remove(&job) {
                        note("loading", said_ms, loading_ms);
                        note(if is_first { "first loading" } else { "loading again" }, said_ms, loading_ms);
                    }
                    if let Some(saving_ms) = saved.remove(&job) {
                        let (_, _, [_, save_ms, load_ms]) = condemned[&job];
                        note("loss", save_ms + load_ms, saving_ms + loading_ms);
                    }
                }
                What::Saves => {
                    // It stopped with the epoch that it was in.
                    let most_ms = (1.0 + spread_slowdown) * sim.truth(job).unwrap().epoch_ms;
                    assert!((-1e-3..=most_ms + 1e-3).contains(&(time_ms - condemned[&job].0)));
                    saving.insert(job, time_ms);
                }
                What::Suspended => {
                    let (at_ms, told, [end_ms, save_ms, _]) = condemned[&job];
                    let saving_ms = time_ms - saving[&job];
                    note("latency", end_ms + save_ms, time_ms - at_ms);
                    note(
                        if told { "latency, observed" } else { "latency, not observed" },
                        end_ms + save_ms,
                        time_ms - at_ms,
                    );
                    note("saving", save_ms, saving_ms);
                    saved.insert(job, saving_ms);
                }
                What::Ends | What::Failed => {}
            }
        }
        known = sim.changes().len();
        let Some(seen) = sim.view() else { return };
        let decision = policy.decide(&seen, &mut Default::default()).unwrap();
        match decision {
            Decision::Condemn { job } => {
                let job = seen.job(job);
                let said = [job.to_epoch_end_ms(), job.saving_ms(), job.loading_ms()];
                condemned.insert(job.id(), (seen.time_ms(), job.is_observed(), said));
            }
            Decision::Serve { job } if seen.job(job).gpus() <= seen.free() => {
                served.insert(job, (seen.job(job).loading_ms(), seen.job(job).preemptions() == 0));
            }
            _ => {}
        }
        sim.step(decision).unwrap();
    }
}

/// How far predictions are off in the mean, as a share of what followed, and all of them as a share of all that followed. At the
/// question at which a job is condemned nobody knows where it will go on: its data are predicted to be there.
#[test]
fn losses_are_predicted() {
    for policy in ["srtf", "pickyman"] {
        let mut pairs = Pairs::new();
        for (spec, seeds) in [("builtin,jobs=20", 60), ("builtin,jobs=150", 12)] {
            let workload = PreemptionWorkload::open(&spec.parse().unwrap()).unwrap();
            (0..seeds).for_each(|seed| predictions(&workload, seed, policy, &mut pairs));
        }
        for (of, most, most_of_sum) in [
            ("latency", 0.08, 0.05),
            ("latency, observed", 0.05, 0.05),
            ("latency, not observed", 0.2, 0.1),
            ("saving", 0.01, 0.01),
            ("loading", 0.05, 0.05),
            ("first loading", 0.05, 0.05),
            ("loading again", 0.3, 0.2),
            ("loss", 0.3, 0.4),
        ] {
            let pairs = &pairs[of];
            let mean = pairs.iter().map(|(said, really)| (said / really - 1.0).abs()).sum::<f64>() / pairs.len() as f64;
            let ratio = pairs.iter().map(|(said, really)| (said - really).abs()).sum::<f64>()
                / pairs.iter().map(|(_, really)| really).sum::<f64>();
            println!("{policy}, {of}: {} times, off by {mean:.4}, of the sum {ratio:.4}", pairs.len());
            let fine = pairs.len() > 20 && mean < most && ratio < most_of_sum;
            assert!(fine, "{policy}, {of}: {} times, off by {mean}, of the sum {ratio}", pairs.len());
        }
    }
}
