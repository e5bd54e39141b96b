//! What each heuristic is known for.

use sched_distill_core::{policy::Policy, simulation::Simulation as _};
use sched_distill_serving::{
    Application, Decision, Law, NewTask, Server, ServerState, Serving, policies, simulator::Simulator,
    workload::ServingWorkload,
};

fn open(policy: &str) -> Box<dyn Policy<Serving>> {
    policies::open(&policy.parse().unwrap()).unwrap()
}

/// Three applications with batches of four tasks at most, which take 4 ms and 0.1 ms per unit, and objectives of 50 ms.
fn applications() -> Vec<Application> {
    let law = Law::Padded { alpha_ms: 4.0, beta_ms: 0.1 };
    ["a", "b", "c"].map(|name| Application { most: 4, ..Application::new(name, law.clone(), 50.0) }).to_vec()
}

/// A server at which tasks (application, size, arrival) have arrived, numbered in their order.
fn server(applications: Vec<Application>, tasks: &[(u32, u32, f64)]) -> ServerState {
    let mut state = ServerState::new(Server { applications, ..Server::default() }).unwrap();
    for (id, &(application, size, arrival_ms)) in (0..).zip(tasks) {
        assert!(state.add_task(NewTask { id, application, size, arrival_ms }).unwrap());
    }
    state
}

/// Asks until a batch has begun or none is to; its application and tasks, or until when one waits.
fn next(policy: &mut dyn Policy<Serving>, state: &mut ServerState, time_ms: f64) -> Result<(u32, Vec<u32>), f64> {
    state.ask(time_ms).unwrap();
    while let Some(seen) = state.view() {
        let decision = policy.decide(&seen, &mut Default::default()).unwrap();
        if let Decision::Wait { until_ms } = decision {
            state.answer(decision).unwrap();
            return Err(until_ms.unwrap_or(f64::INFINITY));
        }
        state.answer(decision).unwrap();
    }
    let running = state.running(0).expect("a batch runs");
    Ok((running.application, running.tasks.to_vec()))
}

/// What a policy that has just been opened does at a time.
fn said(policy: &str, state: &ServerState, time_ms: f64) -> Result<(u32, Vec<u32>), f64> {
    next(&mut *open(policy), &mut state.clone(), time_ms)
}

/// All batches one after the other, each of which ends when it is predicted to.
fn batches(policy: &str, state: &ServerState, time_ms: f64) -> Vec<(u32, Vec<u32>)> {
    let (mut policy, mut state, mut time_ms, mut all) = (open(policy), state.clone(), time_ms, Vec::new());
    while let Ok(batch) = next(&mut *policy, &mut state, time_ms) {
        all.push(batch);
        time_ms = state.running(0).expect("a batch runs").ends_ms;
        state.set_time(time_ms).unwrap();
        state.set_done(0).unwrap();
        if state.ask(time_ms).unwrap().is_none() {
            break;
        }
    }
    all
}

/// So many tasks of an application and a size, all at once.
fn many(count: u32, application: u32, size: u32) -> Vec<(u32, u32, f64)> {
    (0..count).map(|_| (application, size, 0.0)).collect()
}

#[test]
fn tf_serving_waits_for_a_full_batch_or_a_timeout() {
    let state = server(applications(), &[(0, 10, 0.0), (0, 30, 1.0), (0, 10, 2.0), (1, 10, 3.5)]);
    // Three of four, and three ms of seven.
    assert_eq!(said("tf-serving,timeout=7", &state, 4.0), Err(7.0));
    assert_eq!(said("tf-serving,timeout=7", &state, 6.999), Err(7.0));
    assert_eq!(said("tf-serving,timeout=7", &state, 7.0), Ok((0, vec![0, 1, 2])));
    // By default nobody waits, and a smaller most is full sooner.
    assert_eq!(said("tf-serving", &state, 4.0), Ok((0, vec![0, 1, 2])));
    assert_eq!(said("tf-serving,timeout=7,max=2", &state, 4.0), Ok((0, vec![0, 1])));
    assert_eq!(said("tf-serving,timeout=7,max=9", &state, 4.0), Err(7.0));
    // Four are full, a fifth waits for the next batch.
    let full = server(applications(), &many(5, 1, 10));
    assert_eq!(said("tf-serving,timeout=7", &full, 0.0), Ok((1, vec![0, 1, 2, 3])));
    assert_eq!(said("tf-serving,timeout=7,max=9", &full, 0.0), Ok((1, vec![0, 1, 2, 3])));
}

#[test]
fn tf_serving_takes_turns() {
    let mut tasks = many(2, 2, 10);
    tasks.extend(many(3, 0, 10).into_iter().chain(many(2, 1, 10)));
    let state = server(applications(), &tasks);
    let in_turn = [(0, vec![2]), (1, vec![5]), (2, vec![0]), (0, vec![3]), (1, vec![6]), (2, vec![1]), (0, vec![4])];
    assert_eq!(batches("tf-serving,max=1", &state, 0.0), in_turn);
    // Who is not ready is passed over.
    assert_eq!(said("tf-serving,max=3,timeout=9", &state, 1.0), Ok((0, vec![2, 3, 4])));
    let state = server(applications(), &[(0, 10, 3.0), (1, 10, 3.0), (1, 10, 3.0), (2, 10, 3.0)]);
    assert_eq!(batches("tf-serving,max=2,timeout=9", &state, 4.0), [(1, vec![1, 2])]);
}

#[test]
fn batches_are_padded_by_shapes() {
    let shaped = |mut all: Vec<Application>| {
        all[0].shapes = vec![1, 4];
        all
    };
    let mut state = server(shaped(applications()), &[(0, 10, 0.0), (0, 30, 0.0)]);
    assert_eq!(next(&mut *open("tf-serving"), &mut state, 1.0), Ok((0, vec![0, 1])));
    // Two of 30 run as four: 4 + 0.1 · 120.
    assert_eq!(state.running(0).unwrap().ends_ms, 1.0 + 16.0);
    let mut state = server(shaped(applications()), &[(0, 10, 0.0)]);
    assert_eq!(next(&mut *open("tf-serving"), &mut state, 1.0), Ok((0, vec![0])));
    assert_eq!(state.running(0).unwrap().ends_ms, 1.0 + 5.0);
    // Memory holds 90 units, but two of 30 have 120.
    let mut little = shaped(applications());
    little[0].most_units = Some(90);
    let state = server(little, &[(0, 10, 0.0), (0, 20, 0.0), (0, 30, 0.0)]);
    for policy in ["tf-serving", "triton", "lazy", "dybatch,by-size=off"] {
        assert_eq!(said(policy, &state, 1.0), Ok((0, vec![0, 1])), "{policy}");
    }
}

#[test]
fn triton_prefers_sizes() {
    let of = |count: u32| server(applications(), &many(count, 0, 10));
    for (policy, count, expected) in [
        ("triton", 3, Ok(3)),
        ("triton,delay=6", 3, Err(6.0)),
        ("triton,delay=6", 4, Ok(4)),
        ("triton,delay=6", 5, Ok(4)),
        ("triton,preferred=2,delay=6", 1, Err(6.0)),
        ("triton,preferred=2,delay=6", 2, Ok(2)),
        ("triton,preferred=2/3,delay=6", 3, Ok(3)),
        ("triton,preferred=2,delay=6", 3, Ok(2)),
        ("triton,preferred=2,delay=6", 4, Ok(4)),
        ("triton,preferred=2/9,delay=6", 7, Ok(4)),
        // Without a delay whatever there is, but no more than is preferred.
        ("triton,preferred=2", 1, Ok(1)),
        ("triton,preferred=2", 3, Ok(2)),
    ] {
        let found = said(policy, &of(count), 1.0).map(|(_, tasks)| tasks.len());
        assert_eq!(found, expected, "{policy} of {count}");
    }
    assert_eq!(said("triton,preferred=3,delay=6", &of(2), 6.0), Ok((0, vec![0, 1])));
}

#[test]
fn triton_serves_whose_task_has_waited_longest() {
    let state = server(applications(), &[(1, 10, 0.0), (2, 10, 1.0), (2, 10, 1.5), (0, 10, 2.0), (0, 10, 2.0)]);
    assert_eq!(batches("triton", &state, 3.0), [(1, vec![0]), (2, vec![1, 2]), (0, vec![3, 4])]);
    // Of those that are ready.
    assert_eq!(said("triton,preferred=2,delay=6", &state, 3.0), Ok((2, vec![1, 2])));
    assert_eq!(said("triton,preferred=2,delay=6", &state, 6.0), Ok((1, vec![0])));
    assert_eq!(said("triton,preferred=3,delay=6", &state, 3.0), Err(6.0));
}

/// Numbers of tasks of Clipper's batches of an application with an objective.
fn clipped(objective_ms: f64, most: u32, tasks: u32) -> Vec<usize> {
    let mut all = applications();
    (all[0].objective_ms, all[0].most) = (objective_ms, most);
    let state = server(all, &many(tasks, 0, 10));
    batches("clipper", &state, 0.0).into_iter().map(|(_, tasks)| tasks.len()).collect()
}

#[test]
fn clipper_grows_by_one_and_shrinks_by_a_tenth() {
    assert_eq!(clipped(50.0, 64, 15), [1, 2, 3, 4, 5]);
    assert_eq!(clipped(50.0, 3, 12), [1, 2, 3, 3, 3]);
    // A batch of n takes 4 + n ms: 2 are too many, and 0.9 of that is 1.8, which is tried as 1; that grows to 2.8, and 2.52 shrinks.
    assert_eq!(clipped(5.5, 64, 8), [1, 2, 1, 2, 2]);
    assert_eq!(clipped(4.5, 64, 3), [1, 1, 1]);
    // 12 are too many: 10.8, 11.8, 12.8 are tried next.
    assert_eq!(clipped(15.5, 64, 78 + 10 + 11 + 12), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 10, 11, 12]);
}

#[test]
fn clipper_takes_turns_and_forgets() {
    let mut tasks = many(2, 0, 10);
    tasks.extend(many(1, 1, 10).into_iter().chain(many(2, 2, 10)));
    let state = server(applications(), &tasks);
    let in_turn = |all: Vec<(u32, Vec<u32>)>| all.into_iter().map(|(application, _)| application).collect::<Vec<u32>>();
    assert_eq!(in_turn(batches("clipper", &state, 0.0))[..3], [0, 1, 2]);
    let mut clipper = open("clipper");
    let mut first = || {
        clipper.reset(1);
        next(&mut *clipper, &mut state.clone(), 0.0)
    };
    assert_eq!(first(), first());
    assert!(!open("clipper").forgets() && open("lazy").forgets());
}

#[test]
fn lazy_stops_before_it_makes_a_task_late() {
    let tasks = [(0, 10, 0.0), (0, 10, 20.0), (0, 90, 21.0), (0, 10, 22.0)];
    let state = server(applications(), &tasks);
    // At 40 two tasks take 6 ms, with the third 31.
    assert_eq!(said("lazy", &state, 40.0), Ok((0, vec![0, 1])));
    // To end just at the objective is no lateness: 23 + 31 − 4 is 50.
    assert_eq!(said("lazy", &state, 22.0), Ok((0, vec![0, 1])));
    let ended = server(applications(), &[(0, 10, 0.0), (0, 10, 1.0)]);
    assert_eq!(said("lazy", &ended, 44.0), Ok((0, vec![0, 1])));
    assert_eq!(said("lazy", &ended, 44.001), Ok((0, vec![0])));
    // Who is late anyway holds nobody back.
    assert_eq!(said("lazy", &ended, 45.001), Ok((0, vec![0, 1])));
    assert_eq!(said("lazy", &state, 49.5), Ok((0, vec![0, 1])));
}

#[test]
fn lazy_serves_the_least_slack_first() {
    let mut all = applications();
    (all[1].objective_ms, all[2].objective_ms) = (30.0, 50.0);
    // Slack from 0 on: 50 − 5, 10 + 30 − 5, 4 + 50 − 14.
    let state = server(all, &[(0, 10, 0.0), (2, 100, 4.0), (1, 10, 10.0)]);
    assert_eq!(batches("lazy", &state, 10.0), [(1, vec![2]), (2, vec![1]), (0, vec![0])]);
}

#[test]
fn dybatch_joins_like_sizes_as_long_as_that_pays() {
    // Two of 10 take 6 ms instead of 5 and 5; three with 14 take 8.2, but 4 + 0.1 · 4 · 30 is 16, more than 8.2 and 7.
    let tasks = [(0, 10, 0.0), (0, 30, 1.0), (0, 14, 2.0), (0, 10, 3.0), (0, 31, 3.0)];
    let state = server(applications(), &tasks);
    assert_eq!(batches("dybatch", &state, 5.0), [(0, vec![0, 3, 2]), (0, vec![1, 4])]);
    assert_eq!(said("dybatch,by-size=off", &state, 5.0), Ok((0, vec![0, 1, 2, 3])));
    // The oldest opens, the nearer joins, of equals the smaller; 8 joins 12 although it is smaller.
    let state = server(applications(), &[(0, 12, 0.0), (0, 16, 1.0), (0, 8, 2.0), (0, 13, 3.0), (0, 13, 4.0)]);
    assert_eq!(said("dybatch", &state, 5.0), Ok((0, vec![0, 3, 4, 1])));
    let state = server(applications(), &[(0, 12, 0.0), (0, 16, 1.0), (0, 8, 2.0)]);
    assert_eq!(said("dybatch", &state, 5.0), Ok((0, vec![0, 2, 1])));
    // Nobody is worse off but the time per task would rise: 8 for one, 17 for two.
    let table = Application {
        law: serde_json::from_value(serde_json::json!({"measured": {"sizes": [1, 2], "batches": [1, 2],
            "ms": [[8.0, 12.0], [17.0, 17.0]]}}))
        .unwrap(),
        ..applications()[0].clone()
    };
    let state = server(vec![table], &[(0, 1, 0.0), (0, 2, 0.0)]);
    assert_eq!(batches("dybatch", &state, 5.0), [(0, vec![0]), (0, vec![1])]);
}

#[test]
fn dybatch_serves_who_has_had_the_least_by_weight() {
    let state = server(applications(), &[many(2, 0, 10), many(2, 1, 200), many(2, 2, 10)].concat());
    let had = |policy: &str, weights: [f64; 3], used_ms: [f64; 3]| {
        let mut value = serde_json::to_value(&state).unwrap();
        for (place, weight) in weights.into_iter().enumerate() {
            value["server"]["applications"][place]["weight"] = weight.into();
            value["queues"][place]["used_ms"] = used_ms[place].into();
        }
        value["served"] = 0.into();
        said(policy, &serde_json::from_value(value).unwrap(), 0.0).unwrap().0
    };
    assert_eq!(had("dybatch", [1.0; 3], [3.0, 5.0, 4.0]), 0);
    assert_eq!(had("dybatch", [1.0, 2.0, 1.0], [3.0, 5.0, 4.0]), 1);
    assert_eq!(had("dybatch", [1.0, 1.0, 2.0], [3.0, 5.0, 4.0]), 2);
    // Of equals the next in the round.
    assert_eq!(had("dybatch", [1.0; 3], [5.0; 3]), 1);
    assert_eq!(had("dybatch", [1.0; 3], [4.0, 5.0, 4.0]), 2);
    assert_eq!(had("dybatch,fair=off", [1.0; 3], [3.0, 5.0, 4.0]), 1);
    // A batch of large ones takes 84 ms, the others 8: all of these are answered before large ones come again.
    let apart = server(applications(), &[many(9, 0, 10), many(9, 1, 200), many(9, 2, 10)].concat());
    let order = |policy: &str| batches(policy, &apart, 0.0).into_iter().map(|batch| batch.0).collect::<Vec<u32>>();
    assert_eq!(order("dybatch"), [0, 1, 2, 0, 2, 0, 2, 1, 1]);
    assert_eq!(order("dybatch,fair=off"), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn dybatch_lets_tasks_of_age_join_first() {
    let mut state = server(applications(), &[(0, 10, 0.0), (0, 150, 1.0), (0, 10, 2.0), (0, 10, 3.0)]);
    state.set_time(3.0).unwrap();
    let passed = |policy: &str, passed: u64| {
        let mut value = serde_json::to_value(&state).unwrap();
        value["queues"][0]["begun"] = 5.into();
        // The one of 150 is the oldest once the first has joined the batch.
        value["waiting"][1]["passed"] = passed.into();
        said(policy, &serde_json::from_value(value).unwrap(), 3.0).unwrap().1
    };
    assert_eq!(passed("dybatch", 5), [0, 2, 3]);
    assert_eq!(passed("dybatch,age=2", 1), [0, 2, 3]);
    // Beside one of 150 others of 10 take more than they save.
    assert_eq!(passed("dybatch,age=2", 2), [0, 1]);
    assert_eq!(passed("dybatch,age=0", 0), [0, 1, 2, 3]);
    assert_eq!(passed("dybatch,age=2,by-size=off", 5), [0, 1, 2, 3]);
}

#[test]
fn the_best_batch_answers_many_per_time_and_is_efficient() {
    let served =
        |tasks: &[(u32, u32, f64)], time_ms: f64| batches("best-batch", &server(applications(), tasks), time_ms);
    // Four of 10 take 8 ms, two of them 6.
    assert_eq!(served(&[many(2, 0, 10), many(4, 1, 10)].concat(), 0.0), [(1, vec![2, 3, 4, 5]), (0, vec![0, 1])]);
    // One of 10 is answered in 5 ms, four of 100 in 44; but these fill their batch, and it takes 5 ms in place of 2.
    let tasks = [many(1, 0, 10), many(4, 1, 100)].concat();
    assert_eq!(served(&tasks, 0.0), [(1, vec![1, 2, 3, 4]), (0, vec![0])]);
    // Of these three and three the larger and one of the smaller are four, in 8.8 ms in place of 8.6.
    let tasks = [many(3, 0, 10), many(3, 0, 12)].concat();
    assert_eq!(served(&tasks, 0.0), [(0, vec![3, 4, 5, 0]), (0, vec![1, 2])]);
    // What is unlike all others waits: 2/6 · (4/6)⁴ is 2.7 times as much as 1/24 · (21/24)⁴, until its root of 1 and the ms waited is.
    let tasks = [(0, 200, 0.0), (0, 10, 6.0), (0, 10, 6.0)];
    assert_eq!(served(&tasks[..], 6.0), [(0, vec![1, 2]), (0, vec![0])]);
    let tasks = [(0, 200, 0.0), (0, 10, 7.0), (0, 10, 7.0)];
    assert_eq!(served(&tasks[..], 7.0), [(0, vec![0]), (0, vec![1, 2])]);
    // Memory holds two of 12.
    let mut little = applications();
    little[0].most_units = Some(30);
    assert_eq!(said("best-batch", &server(little, &many(3, 0, 12)), 0.0), Ok((0, vec![0, 1])));
}

/// A figure over the same episodes.
fn mean(policy: &str, figure: &str) -> f64 {
    let workload = ServingWorkload::open(&"builtin,load=1,seconds=4".parse().unwrap()).unwrap();
    let mut policy = open(policy);
    let mut one = |seed: u64| {
        let mut sim =
            Simulator::new(workload.cluster().server.clone(), workload.jobs(seed), workload.cluster().horizon_ms);
        policy.reset(seed);
        while let Some(seen) = sim.view() {
            let decision = policy.decide(&seen, &mut Default::default()).unwrap();
            sim.step(decision).unwrap();
        }
        sim.outcome().unwrap().figure(figure).unwrap()
    };
    (1000..1003).map(&mut one).sum::<f64>() / 3.0
}

/// As published: batches of like sizes pad less, so that more is answered sooner.
#[test]
fn dybatch_slows_down_less_and_answers_more_than_tf_serving() {
    for (figure, is_less) in [("slowdown", true), ("waste", true), ("throughput", false)] {
        let (own, other) = (mean("dybatch", figure), mean("tf-serving", figure));
        println!("{figure}: dybatch {own:.3}, tf-serving {other:.3}, {:.3}", own / other);
        assert!(own != other && (own < other) == is_less, "{figure}: dybatch {own}, tf-serving {other}");
    }
    let (own, other) = (mean("best-batch", "slowdown"), mean("dybatch,fair=off", "slowdown"));
    assert!(own < 0.8 * other, "best-batch {own}, batches by size and turns {other}");
}
