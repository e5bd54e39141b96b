//! What each heuristic is known for.

use sched_distill_core::simulation::Simulation as _;
use sched_distill_preemption::{
    Cluster, ClusterState, Decision, Model, NewJob, View, policies, simulator::Simulator, workload::PreemptionWorkload,
};

/// GPUs, epochs of a minute each, and GB of a checkpoint, which loads and is written at 1 GB/s.
type Job = (u32, f64, f64);

/// Nodes of four GPUs on which these jobs have just begun their first epoch, at time 0.
fn running(nodes: u32, jobs: &[Job]) -> ClusterState {
    let models = vec![Model::new("m", [1000.0, 0.0], Vec::new())];
    let cluster = Cluster { nodes, storage_gbps: 100.0, link_gbps: 1.0, models, ..Cluster::default() };
    let mut state = ClusterState::new(cluster).unwrap();
    (0..).zip(jobs).for_each(|(id, &job)| arrives(&mut state, id, 0.0, job));
    state.ask(0.0).unwrap();
    for job in 0..jobs.len() as u32 {
        state.answer(serve(job)).unwrap();
    }
    (0..jobs.len() as u32).for_each(|job| state.set_computing(job, 0.0).unwrap());
    state
}

fn arrives(state: &mut ClusterState, id: u32, arrival_ms: f64, (gpus, epochs, checkpoint_gb): Job) {
    let job = NewJob { arrival_ms, gpus, samples: 1e4, batch: 10, epochs, data_gb: 0.0, checkpoint_gb };
    state.add_job(id, "m", job).unwrap();
}

fn decide(policy: &str, seen: &View<'_>) -> Decision {
    policies::open(&policy.parse().unwrap()).unwrap().decide(seen, &mut Default::default()).unwrap()
}

/// Who is served, at whose expense, before nobody is any more: all that is said at a time.
fn said(policy: &str, state: &ClusterState, time_ms: f64) -> Vec<Decision> {
    let (mut state, mut all) = (state.clone(), Vec::new());
    state.ask(time_ms).unwrap();
    while let Some(seen) = state.view() {
        let decision = decide(policy, &seen);
        all.push(decision);
        state.answer(decision).unwrap();
    }
    all
}

const fn serve(job: u32) -> Decision {
    Decision::Serve { job }
}

const fn condemn(job: u32) -> Decision {
    Decision::Condemn { job }
}

const WAIT: Decision = Decision::Wait;

#[test]
fn fifo_blocks_and_queues_never_preempt() {
    let mut state = running(2, &[(4, 100.0, 1.0)]);
    arrives(&mut state, 1, 0.0, (8, 5.0, 1.0));
    arrives(&mut state, 2, 0.0, (1, 20.0, 1.0));
    arrives(&mut state, 3, 0.0, (2, 10.0, 1.0));
    // The first does not fit: nobody passes it.
    assert_eq!(said("fifo", &state, 0.0), [WAIT]);
    assert_eq!(said("sjf", &state, 0.0), [serve(3), serve(2)]);
    // Without earlier jobs all are the same to it but for their GPUs.
    assert_eq!(said("lucid-like", &state, 0.0).len(), 2);
    for policy in ["fifo", "sjf", "lucid-like"] {
        let mut asked = state.clone();
        asked.ask(0.0).unwrap();
        let seen = asked.answer(serve(1)).unwrap().unwrap();
        assert_eq!((seen.need(), decide(policy, &seen)), (4, WAIT), "{policy}");
    }
}

#[test]
fn srtf_suspends_the_longest_whatever_that_costs() {
    let mut state = running(1, &[(2, 10.0, 1.0), (2, 50.0, 1000.0)]);
    arrives(&mut state, 2, 0.0, (2, 3.0, 1.0));
    assert_eq!(said("srtf", &state, 0.0), [serve(2), condemn(1)]);
    // As many as it takes, the longest first, and nobody who is shorter.
    arrives(&mut state, 3, 0.0, (4, 9.0, 1.0));
    assert_eq!(said("srtf", &state, 0.0), [serve(2), condemn(1)]);
    state.remove_job(2).unwrap();
    assert_eq!(said("srtf", &state, 0.0), [serve(3), condemn(1), condemn(0)]);
    state.remove_job(3).unwrap();
    arrives(&mut state, 4, 0.0, (4, 20.0, 1.0));
    assert_eq!(said("srtf", &state, 0.0), [WAIT]);
    // Nobody knows the true times here: those that are predicted then.
    arrives(&mut state, 5, 0.0, (2, 9.0, 1.0));
    assert_eq!(said("srtf,times=true", &state, 0.0), said("srtf", &state, 0.0));
}

#[test]
fn las_goes_by_service() {
    let mut state = running(1, &[(2, 900.0, 1.0), (2, 900.0, 1.0)]);
    arrives(&mut state, 2, 0.0, (2, 1e6, 1.0));
    // 2 GPUs have had 18 000 GPU·s after 9000 s.
    assert_eq!(said("las", &state, 8.9e6), [WAIT]);
    assert_eq!(said("las", &state, 9.1e6), [serve(2), condemn(1)]);
    assert_eq!(said("las,limit=1000", &state, 0.6e6), [serve(2), condemn(1)]);
    // A job that has been suspended comes after one that is new.
    state.set_time(9.1e6).unwrap();
    state.set_waiting(1).unwrap();
    assert_eq!(said("las", &state, 9.1e6), [serve(2), WAIT]);
    assert_eq!(said("srtf", &state, 9.1e6)[0], serve(1));
}

#[test]
fn pickyman_suspends_the_cheapest_share_where_it_pays() {
    // The longer one has a checkpoint that takes 1000 s to write and as long to load.
    let mut state = running(1, &[(2, 10.0, 1.0), (2, 50.0, 1000.0)]);
    arrives(&mut state, 2, 0.0, (2, 3.0, 1.0));
    assert_eq!(said("pickyman", &state, 0.0), [serve(2), condemn(0)]);
    // Of equal ones the longer: what it costs is a smaller share of what it has left.
    let mut equal = running(1, &[(2, 40.0, 1.0), (2, 50.0, 1.0)]);
    arrives(&mut equal, 2, 0.0, (2, 3.0, 1.0));
    assert_eq!(said("pickyman", &equal, 0.0), [serve(2), condemn(1)]);
    // The one at the end of its epoch is cheaper.
    equal.set_time(59_000.0).unwrap();
    equal.set_done(1, 0.0, 58_000.0).unwrap();
    assert_eq!(said("pickyman", &equal, 59_000.0), [serve(2), condemn(0)]);
    // Two cheap ones rather than a dear one.
    let mut two = running(2, &[(4, 20.0, 10.0), (2, 90.0, 1.0), (2, 90.0, 1.0)]);
    arrives(&mut two, 3, 0.0, (4, 3.0, 1.0));
    assert_eq!(said("pickyman", &two, 0.0), [serve(3), condemn(1), condemn(2)]);
    // The cheapest does not suffice, and is not needed beside the next.
    let mut one = running(2, &[(2, 90.0, 1.0), (4, 40.0, 1.0), (2, 20.0, 200.0)]);
    arrives(&mut one, 3, 0.0, (4, 3.0, 1.0));
    assert_eq!(said("pickyman", &one, 0.0), [serve(3), condemn(1)]);
}

#[test]
fn pickyman_suspends_nobody_where_more_is_lost_than_gained() {
    // Who waits gains 240 s: a turn in 360 s instead of 600. Who is suspended loses 781 s.
    let mut state = running(1, &[(4, 10.0, 300.0)]);
    arrives(&mut state, 1, 0.0, (4, 3.0, 1.0));
    assert_eq!(said("srtf", &state, 0.0), [serve(1), condemn(0)]);
    assert_eq!(said("pickyman", &state, 0.0), [WAIT]);
    // Without so large a checkpoint it gains 540 s, and the other one loses 180 s.
    let mut state = running(1, &[(4, 10.0, 0.5)]);
    arrives(&mut state, 1, 0.0, (4, 3.0, 1.0));
    assert_eq!(said("pickyman", &state, 0.0), [serve(1), condemn(0)]);
    // Who is hardly longer is not suspended.
    state.remove_job(1).unwrap();
    arrives(&mut state, 2, 0.0, (4, 9.5, 1.0));
    assert_eq!((said("pickyman", &state, 0.0), said("srtf", &state, 0.0)), (vec![WAIT], vec![serve(2), condemn(0)]));
    // Nor who was suspended all too often.
    let mut value = serde_json::to_value(&state).unwrap();
    value["jobs"][0]["preemptions"] = 1000.into();
    value["jobs"][1]["epochs"] = 3.into();
    let often: ClusterState = serde_json::from_value(value).unwrap();
    assert_eq!((said("pickyman", &often, 0.0), said("srtf", &often, 0.0)), (vec![WAIT], vec![serve(2), condemn(0)]));
}

#[test]
fn pickyman_lends_reserved_gpus_to_who_is_back_in_time() {
    let mut state = running(2, &[(4, 100.0, 1.0)]);
    arrives(&mut state, 1, 0.0, (8, 5.0, 1.0));
    state.ask(0.0).unwrap();
    for decision in [serve(1), condemn(0)] {
        assert_eq!(decide("pickyman", &state.view().unwrap()), decision);
        state.answer(decision).unwrap();
    }
    // The claim waits for 61 s. The one would take 21 s on what it reserves, the other 601 s.
    arrives(&mut state, 2, 0.0, (2, 2.0, 1.0));
    arrives(&mut state, 3, 0.0, (2, 10.0, 1.0));
    state.set_epoch(2, 1e4).unwrap();
    assert_eq!(said("pickyman", &state, 0.0), [serve(2), WAIT]);
    for policy in ["pickyman,lend=off", "srtf", "sjf", "fifo"] {
        assert_eq!(said(policy, &state, 0.0), [WAIT], "{policy}");
    }
    // 50 s later it would not be back any more.
    assert_eq!(said("pickyman", &state, 5e4), [WAIT]);
}

#[test]
fn pickyman_protects_the_last_to_end_only_after_a_quiet_time() {
    // The first one needs 6000 s, all GPUs 4890 s.
    let mut state = running(2, &[(4, 100.0, 1.0), (4, 60.0, 1.0)]);
    arrives(&mut state, 2, 1000.0, (4, 3.0, 1.0));
    for (policy, time_ms, expected) in [
        ("pickyman", 1000.0, condemn(0)),
        ("pickyman", 2000.0, condemn(0)),
        ("pickyman", 3e4, condemn(1)),
        ("pickyman,protect=off", 3e4, condemn(0)),
        ("srtf", 3e4, condemn(0)),
    ] {
        assert_eq!(said(policy, &state, time_ms), [serve(2), expected], "{policy} at {time_ms}");
    }
    // It also begins first then.
    let mut state = running(1, &[]);
    arrives(&mut state, 0, 0.0, (1, 100.0, 1.0));
    arrives(&mut state, 1, 1000.0, (4, 3.0, 1.0));
    assert_eq!(said("pickyman", &state, 1000.0)[0], serve(1));
    assert_eq!(said("pickyman", &state, 3e4)[0], serve(0));
    assert_eq!(said("pickyman,protect=off", &state, 3e4)[0], serve(1));
}

/// Mean waiting on the same episodes, s.
fn waiting_s(spec: &str, policy: &str, episodes: u64) -> f64 {
    let workload = PreemptionWorkload::open(&spec.parse().unwrap()).unwrap();
    let mut policy = policies::open(&policy.parse().unwrap()).unwrap();
    let mut one = |seed: u64| {
        let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(seed), seed);
        policy.reset(seed);
        while let Some(seen) = sim.view() {
            let decision = policy.decide(&seen, &mut Default::default()).unwrap();
            sim.step(decision).unwrap();
        }
        1e-3 * sim.outcome().unwrap().figure("waiting_ms").unwrap()
    };
    (1000..1000 + episodes).map(&mut one).sum::<f64>() / episodes as f64
}

/// As published, the price decides: who heeds it has jobs wait less than those who are blind to it or never preempt.
#[test]
fn jobs_wait_least_under_pickyman() {
    let own_s = waiting_s("builtin", "pickyman", 20);
    for (policy, most) in
        [("srtf", 1.0), ("las", 0.9), ("sjf", 1.0), ("gittins", 1.0), ("lucid-like", 1.0), ("fifo", 0.7)]
    {
        let other_s = waiting_s("builtin", policy, 20);
        println!("pickyman {own_s:.0} s, {policy} {other_s:.0} s, {:.3}", own_s / other_s);
        assert!(own_s < most * other_s, "pickyman {own_s} s, {policy} {other_s} s");
    }
}
