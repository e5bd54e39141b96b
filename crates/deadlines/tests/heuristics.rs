//! What each heuristic is known for.

use sched_distill_core::simulation::Simulation as _;
use sched_distill_deadlines::{
    Cluster, ClusterState, Decision, Estimate, Law, Model, NewJob, Question, View, policies, simulator::Simulator,
    workload::DeadlineWorkload,
};

/// A node of so many cores, and jobs whose iterations take 1 s on one core and share it perfectly: deadline, iterations, requested.
fn state(node_cores: u32, jobs: &[(f64, f64, u32)]) -> ClusterState {
    let law = Law { serial_ms: 0.0, parallel_ms: 1000.0, overhead_ms: 0.0 };
    let model = Model { name: "m".into(), earlier: Estimate::from(law), cores_used: vec![2; 10] };
    let cluster = Cluster {
        nodes: 1,
        node_cores,
        check_ms: 1e4,
        restart_ms: 1e4,
        window: 20,
        noise: 0.05,
        may_refuse: false,
        models: vec![model],
    };
    let mut state = ClusterState::new(cluster).unwrap();
    for (id, &(deadline_ms, iterations, requested)) in (0..).zip(jobs) {
        let job = NewJob { arrival_ms: 0.0, deadline_ms, iterations, requested, threads: 2, largest: 8 };
        state.add_job(id, "m", job).unwrap();
    }
    state
}

fn decide(policy: &str, seen: &View<'_>) -> Decision {
    policies::open(&policy.parse().unwrap()).unwrap().decide(seen, &mut Default::default()).unwrap()
}

/// The first answer at time 0.
fn first(policy: &str, node_cores: u32, jobs: &[(f64, f64, u32)]) -> Decision {
    let mut state = state(node_cores, jobs);
    let seen = state.ask(0.0).unwrap().unwrap();
    decide(policy, &seen)
}

const fn submitted(job: u32, cores: u32) -> Decision {
    Decision::Start { job, cores, elastic: false }
}

const fn elastic(job: u32, cores: u32) -> Decision {
    Decision::Start { job, cores, elastic: true }
}

#[test]
fn queues_pass_over_what_does_not_fit() {
    let jobs = [(9e6, 100.0, 6), (8e5, 1000.0, 3), (7e5, 100.0, 3)];
    assert_eq!(first("fifo", 8, &jobs), submitted(0, 6));
    assert_eq!(first("fifo", 6, &[(9e6, 100.0, 6)]), submitted(0, 6));
    assert_eq!(first("edf", 8, &jobs), submitted(2, 3));
    // Job 1 needs 500 s on two cores and has 300 to spare, job 2 needs 50 s and has 650.
    assert_eq!(first("least-slack", 8, &jobs), submitted(1, 3));
    let mut full = state(8, &[(9e6, 1e5, 6), (8e5, 10.0, 6), (7e5, 10.0, 2)]);
    full.ask(0.0).unwrap();
    full.answer(submitted(0, 6)).unwrap();
    let seen = full.ask(1.0).unwrap().unwrap();
    assert_eq!((decide("fifo", &seen), decide("edf", &seen)), (submitted(2, 2), submitted(2, 2)));
}

#[test]
fn tests_give_up_what_cannot_be() {
    // As submitted it takes 500 s; on 8 cores 125 s.
    assert_eq!(first("edf-test", 8, &[(4e5, 1000.0, 2)]), Decision::BestEffort { job: 0 });
    assert_eq!(first("qos", 8, &[(4e5, 1000.0, 2)]), elastic(0, 3));
    assert_eq!(first("qos", 8, &[(1e5, 1000.0, 2)]), Decision::BestEffort { job: 0 });
    // 8 % in reserve do not fit any more: as many as it can use.
    assert_eq!(first("qos", 8, &[(1.26e5, 1000.0, 2)]), elastic(0, 8));
    // Refusals only where they are allowed.
    assert_eq!(first("qos,refuse=1", 8, &[(1e5, 1000.0, 2)]), Decision::BestEffort { job: 0 });
}

#[test]
fn orders_of_qos() {
    let jobs = [(4e5, 1000.0, 2), (3e5, 100.0, 2), (2.8e5, 1900.0, 2)];
    assert_eq!(first("qos", 8, &jobs), elastic(2, 8));
    assert_eq!(first("qos,order=work", 8, &jobs), elastic(1, 1));
    assert_eq!(first("qos,order=slack", 8, &jobs), elastic(2, 8));
}

#[test]
fn running_jobs_grow_when_late_and_shrink_when_ahead() {
    // 1000 iterations in 900 s: two cores with the reserve.
    let mut state = state(8, &[(9e5, 1000.0, 2)]);
    let seen = state.ask(0.0).unwrap().unwrap();
    assert_eq!(decide("qos", &seen), elastic(0, 2));
    state.answer(elastic(0, 2)).unwrap();
    // Nothing is done after 450 s: 1000 s of one core in 440 s after a restart need three, 8 % more reserve included.
    let seen = state.ask_all(4.5e5).unwrap().unwrap();
    assert_eq!(decide("qos", &seen), Decision::Resize { job: 0, cores: 3 });
    assert_eq!(decide("qos,autoscale=off", &seen), Decision::Resize { job: 0, cores: 2 });
    state.answer(Decision::Resize { job: 0, cores: 6 }).unwrap();
    // Ahead at one check and at the next: three suffice.
    let seen = state.ask_all(4.7e5).unwrap().unwrap();
    assert_eq!(decide("qos", &seen), Decision::Resize { job: 0, cores: 6 });
    state.answer(Decision::Resize { job: 0, cores: 6 }).unwrap();
    state.set_done(0, 100.0).unwrap();
    let seen = state.ask_all(4.8e5).unwrap().unwrap();
    assert_eq!(seen.job(0).spare_checks(), 2);
    // 900 s in 410 s after a restart: three cores take 300 s, less than 50 restarts.
    assert_eq!(decide("qos", &seen), Decision::Resize { job: 0, cores: 6 });
}

#[test]
fn an_autoscaler_of_use_grows_whoever_uses_all() {
    let workload = DeadlineWorkload::open(&"builtin,jobs=1,check=15".parse().unwrap()).unwrap();
    let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(3), 3);
    let mut policy = policies::open(&"hpa".parse().unwrap()).unwrap();
    let mut sizes = Vec::new();
    while let Some(seen) = sim.view() {
        if let Question::Running(job) = seen.question() {
            sizes.push(seen.job(job).cores());
        }
        let decision = policy.decide(&seen, &mut Default::default()).unwrap();
        sim.step(decision).unwrap();
    }
    sizes.dedup();
    assert_eq!(sizes.last(), Some(&16), "{sizes:?}");
    assert!(sizes.windows(2).all(|pair| pair[1] <= (2 * pair[0]).max(pair[0] + 4)), "{sizes:?}");
}

#[test]
fn recommended_requests_replace_those_of_users() {
    // Earlier jobs used two cores: 15 % more than the bucket's end is three.
    assert_eq!(first("vpa", 8, &[(9e6, 100.0, 4)]), submitted(0, 3));
}
