//! States made by hand: the simulator's questions again, and what is refused.

#[path = "../../../tests/support/refusals.rs"]
mod refusals;
#[path = "../../../tests/support/state_laws.rs"]
mod state_laws;

use refusals::{read_with, refused};
use sched_distill_core::{rng::Stream, scenario::State as _, simulation::Simulation as _};
use sched_distill_serving::{
    Change, Decision, Question, ServerState, Serving, View, policies, simulator::Simulator, workload::ServingWorkload,
};
use serde_json::{Value, json};
use state_laws::{said, same, states_keep_questions};

/// Any candidate, seldom none.
fn random(seen: &View<'_>, stream: &mut Stream) -> Decision {
    let mut all: Vec<Decision> = match seen.question() {
        Question::Serve => seen.candidates().map(|application| Decision::Serve { application }).collect(),
        Question::Form(_) => seen.groups().map(|group| Decision::Add { task: group.task }).collect(),
    };
    match seen.question() {
        Question::Serve if !seen.strands(Decision::WAIT) => all.push(Decision::WAIT),
        Question::Form(_) if seen.batch().count > 0 => all.push(Decision::Close),
        _ => {}
    }
    all[stream.below(all.len())]
}

fn task(id: u32, application: u32, size: u32, arrival_ms: f64) -> Value {
    json!({"id": id, "application": application, "size": size, "arrival_ms": arrival_ms, "passed": 0})
}

/// Servers, and who decides; nobody: at random.
const EPISODES: [(&str, Option<&str>); 6] = [
    ("builtin,seconds=0.3,load=1.2", Some("dybatch")),
    ("builtin,seconds=0.3,accelerators=2,edge=understated,load=1.2", Some("dybatch")),
    ("builtin,seconds=0.3,edge=burst,queue=20", Some("tf-serving,timeout=4")),
    ("builtin,seconds=0.3,accelerators=3,shapes=4/16,edge=giants", None),
    ("builtin,seconds=0.3,memory=100,understated=0.5,queue=6,load=1.5", None),
    ("builtin,seconds=0.3,law=dynamic,load=0.5", Some("triton,preferred=4,delay=3")),
];

#[test]
fn a_question_as_a_value_says_the_same_and_goes_on_the_same() {
    let places =
        ["/ask/forming/tasks/0", "/running/0/tasks/1", "/served", "/waiting/1", "/queues/0/used_ms", "/last_arrival"];
    let (mut reached, mut met) = (0, [0; 6]);
    let mut stream = Stream::new(1, "answers");
    for (spec, policy) in EPISODES {
        let mut policy = policy.map(|policy| policies::open(&policy.parse().unwrap()).unwrap());
        let decide = |seen: &View<'_>| match &mut policy {
            Some(policy) => policy.decide(seen, &mut Default::default()).unwrap(),
            None => random(seen, &mut stream),
        };
        reached += states_keep_questions::<Serving>(spec, [2], usize::MAX, decide, |value, [state, read]| {
            assert_eq!(read.ask_again_ms(), state.ask_again_ms());
            met.iter_mut().zip(places).for_each(|(met, place)| *met += u32::from(value.pointer(place).is_some()));
        });
    }
    assert!(reached > 500 && met.iter().all(|met| *met > 20), "{reached}, {met:?}");
}

/// Who is told of arrivals and ends when they happen asks what the simulator asks, to the last bit.
#[test]
fn changes_lead_through_the_simulators_episode() {
    let (mut stream, mut compared, mut refused) = (Stream::new(2, "answers"), 0, 0.0);
    for (spec, policy) in EPISODES {
        let workload = ServingWorkload::open(&spec.parse().unwrap()).unwrap();
        let tasks = workload.jobs(2);
        let mut sim = Simulator::new(workload.cluster().server.clone(), tasks.clone(), workload.cluster().horizon_ms);
        sim.record_batches();
        let mut policy = policy.map(|policy| policies::open(&policy.parse().unwrap()).unwrap());
        let mut own = ServerState::new(workload.cluster().server.clone()).unwrap();
        let change = |own: &mut ServerState, value: Value| own.change(serde_json::from_value(value).unwrap()).unwrap();
        let (mut last_ms, mut again_ms, mut arrived) = (-1.0, None, 0);
        while let Some(seen) = sim.view() {
            let now_ms = seen.time_ms();
            if now_ms > last_ms {
                assert!(own.view().is_none() && again_ms.is_none_or(|ms| now_ms <= ms), "{now_ms} {again_ms:?}");
                // All moments since, those included at which nothing was asked.
                let ends = sim.batches().iter().filter(|batch| last_ms < batch.end_ms && batch.end_ms <= now_ms);
                let done: Vec<(f64, u32)> = ends.map(|batch| (batch.end_ms, batch.accelerator)).collect();
                let come = tasks[arrived..].iter().map(|task| task.arrival_ms).take_while(|ms| *ms <= now_ms);
                let mut moments: Vec<f64> = done.iter().map(|(ms, _)| *ms).chain(come).chain([now_ms]).collect();
                moments.sort_by(f64::total_cmp);
                moments.dedup();
                for ms in moments {
                    let ended: Vec<u32> = done.iter().filter(|(end_ms, _)| *end_ms == ms).map(|(_, a)| *a).collect();
                    let count = tasks[arrived..].iter().take_while(|task| task.arrival_ms == ms).count();
                    let came = (arrived..arrived + count).map(|id| (id as u32, &tasks[id]));
                    let new: Vec<Value> =
                        came.map(|(id, of)| task(id, of.application, of.declared_size, of.arrival_ms)).collect();
                    arrived += count;
                    change(&mut own, json!({"time_ms": ms, "done": ended, "arrived": new, "ask": ms == now_ms}));
                }
                last_ms = now_ms;
            }
            let view = own.view().unwrap();
            same::<Serving>(&view, &seen);
            let decision = match &mut policy {
                Some(policy) => policy.decide(&view, &mut Default::default()).unwrap(),
                None => random(&seen, &mut stream),
            };
            own.answer(decision).unwrap();
            again_ms = own.ask_again_ms();
            sim.step(decision).unwrap();
            compared += 1;
        }
        refused += sim.outcome().unwrap().figure("refused").unwrap();
        // Places are used again: there are no more than tasks have been there at once.
        assert!(own.extent() < arrived, "{}", own.extent());
    }
    assert!(compared > 1000 && refused > 0.05, "{compared} {refused}");
}

/// Batches of up to four tasks of the first application, for one of which a batch runs; of both tasks wait.
fn small() -> Value {
    let law = json!({"padded": {"alpha_ms": 3, "beta_ms": 0.1}});
    json!({
        "server": {"accelerators": 2, "half_life_ms": 500.0, "applications": [
            {"name": "a", "law": law, "weight": 1, "objective_ms": 50, "timeout_ms": 5,
                "most": 4, "most_units": 200, "queue": 3},
            {"name": "b", "law": law, "objective_ms": 50, "timeout_ms": 8}]},
        "time_ms": 100.0, "ask": {},
        "waiting": [task(3, 0, 10, 90.0), task(5, 1, 20, 95.0), task(8, 0, 10, 97.0), task(9, 0, 40, 97.0)],
        "running": [{"accelerator": 0, "application": 0, "count": 2, "largest": 30, "total": 40,
            "started_ms": 92, "ends_ms": 101}],
        "queues": [{"begun": 1, "used_ms": 9, "used_at_ms": 92, "arrivals": 2, "arrivals_at_ms": 97}],
        "served": 0, "arrived": 12, "last_arrival": [11, 98.0]
    })
}

fn read(value: Value) -> ServerState {
    serde_json::from_value(value).unwrap()
}

/// Sizes of the waiting tasks of an application with their numbers and the oldest.
fn groups(state: &ServerState, application: u32) -> Vec<(u32, u32, u32)> {
    state.view().unwrap().queue(application).groups().map(|group| (group.size, group.count, group.task)).collect()
}

#[test]
fn changes_are_taken_in() {
    let mut state = read(small());
    let change = |state: &mut ServerState, value: Value| state.change(serde_json::from_value(value).unwrap()).unwrap();
    // What waits of all, idle accelerators.
    let books = |state: &ServerState| (state.view().unwrap().waiting(), state.view().unwrap().idle());
    assert_eq!((books(&state), groups(&state, 0)), ((4, 1), vec![(10, 2, 3), (40, 1, 9)]));
    // Nothing new: the question stays open; another time closes it.
    change(&mut state, json!({}));
    assert!(state.view().is_some());
    change(&mut state, json!({"time_ms": 100.5}));
    assert!(state.view().is_none() && state.ask_again_ms() == Some(103.0));
    change(&mut state, json!({"time_ms": 101.5, "done": [0], "gone": [8], "ask": true}));
    assert_eq!((books(&state), groups(&state, 0)), ((3, 2), vec![(10, 1, 3), (40, 1, 9)]));
    // The batch took 0.5 ms more than was predicted.
    let used_ms = state.view().unwrap().queue(0).used_ms();
    assert!((used_ms - (9.0 * (-9.5_f64 / 500.0).exp2() + 0.5)).abs() < 1e-12, "{used_ms}");
    // A task closes the question; one that comes when three wait is refused.
    let came = [12, 13].map(|id| task(id, 0, 10, 101.5));
    change(&mut state, json!({"arrived": came, "ask": true}));
    assert_eq!((books(&state), groups(&state, 0)), ((4, 2), vec![(10, 2, 3), (40, 1, 9)]));
    assert_eq!(said(&state.view().unwrap())["arrived"], 14);
    // A batch that is being formed begins as it is when something else happens; one without tasks is none.
    state.answer(Decision::Serve { application: 1 }).unwrap();
    change(&mut state, json!({"time_ms": 102, "ask": true}));
    assert_eq!((books(&state), state.running(0)), ((4, 2), None));
    for decision in [Decision::Serve { application: 0 }, Decision::Add { task: 3 }, Decision::Add { task: 12 }] {
        state.answer(decision).unwrap();
    }
    change(&mut state, json!({"time_ms": 103, "ask": true}));
    assert_eq!((books(&state), groups(&state, 0)), ((2, 1), vec![(40, 1, 9)]));
    let running = state.running(0).unwrap();
    assert_eq!((running.tasks, running.started_ms, running.ends_ms), (&[3, 12][..], 102.0, 107.0));
    assert_eq!(state.view().unwrap().queue(0).oldest().unwrap().passed, 1);
}

#[test]
fn changes_that_cannot_be_are_refused_by_name() {
    let comes = |id: u32, application: u32, size: u32, arrival_ms: f64| {
        let new = task(id, application, size, arrival_ms);
        json!({"arrived": [new], "ask": true})
    };
    for (value, expected) in [
        (json!({"time_ms": 99}), "time_ms: must be a number up to 1e15, not before 100, got 99"),
        (json!({"time_ms": 1e16}), "time_ms: must be a number up to 1e15, not before 100, got 10000000000000000"),
        (json!({"done": [1]}), "accelerator 1: is idle"),
        (json!({"done": [0, 0]}), "accelerator 0: is idle"),
        (json!({"done": [2]}), "accelerator 2: there are 0..2"),
        (json!({"gone": [4]}), "task 4: does not wait: it is unknown, in a batch, or answered"),
        (json!({"gone": [3, 3]}), "task 3: does not wait: it is unknown, in a batch, or answered"),
        (comes(12, 2, 1, 100.0), "task 12, `application`: must be in 0..=1, got 2"),
        (comes(12, 0, 0, 100.0), "task 12, `size`: must be in 1..=16777216, got 0"),
        (comes(12, 1, 1 << 25, 100.0), "task 12, `size`: must be in 1..=16777216, got 33554432"),
        (comes(12, 0, 201, 100.0), "task 12, `size`: 201 is more than memory holds (`most_units`)"),
        (comes(12, 0, 1, -1.0), "task 12, `arrival_ms`: must be a number in 0..=1e15, got -1"),
        (comes(11, 0, 1, 100.0), "task 11, `id`: comes after task 11; numbers ascend in order of arrival"),
        (comes(u32::MAX, 0, 1, 100.0), "task 4294967295, `id`: must be below 4294967295, which stands for none"),
        (comes(12, 0, 1, 97.5), "task 12, `arrival_ms`: 97.5 is before the arrival of task 11, 98"),
        (comes(12, 0, 1, 100.5), "time_ms: 100 is before the arrival of task 12, 100.5"),
    ] {
        let message = read(small()).change(serde_json::from_value(value).unwrap()).unwrap_err().to_string();
        assert_eq!(message, expected);
    }
    assert!(serde_json::from_value::<Change>(json!({"colour": 1})).unwrap_err().to_string().contains("unknown field"));
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let forming = |application: u32, tasks: &[Value]| json!({"forming": {"application": application, "tasks": tasks}});
    let cannot_join = "ask.forming: no other task can join the batch; it is no question which does";
    let cases = [
        ("/server/accelerators", json!(0), "server: accelerators must be in 1..=64, got 0"),
        ("/server/half_life_ms", json!(0), "server: half_life_ms must be a positive number up to 1e9, got 0"),
        ("/server/applications", json!([]), "server: there must be 1 to 256 applications, got 0"),
        ("/server/applications/1/name", json!("a"), "server: application 1: there is another one named `a`"),
        ("/server/applications/0/weight", json!(-1), "server: application 0: weight must be a positive number"),
        ("/server/applications/0/most", json!(0), "server: application 0: most must be in 1..=4096, got 0"),
        ("/server/applications/0/queue", json!(0), "server: application 0: queue must be at least 1, got 0"),
        ("/server/applications/0/queue", json!(2), "application 0: more tasks wait than its queue takes"),
        (
            "/server/applications/0/law/padded/beta_ms",
            json!(0),
            "beta_ms must be a number from 0.000000001 to 1e9, got 0",
        ),
        ("/time_ms", json!(-1), "time_ms: must be a number up to 1e15, not before 0, got -1"),
        ("/time_ms", json!(91), "queue 0, `used_at_ms`: must be up to `time_ms`, 91, got 92"),
        ("/time_ms", json!("soon"), "invalid type"),
        ("/waiting/1/id", json!(3), "task 3, `id`: comes after task 3; numbers ascend in order of arrival"),
        ("/waiting/1/id", json!(9), "task 8, `id`: comes after task 9; numbers ascend in order of arrival"),
        ("/waiting/1/application", json!(2), "task 5, `application`: must be in 0..=1, got 2"),
        ("/waiting/0/size", json!(0), "task 3, `size`: must be in 1..=16777216, got 0"),
        ("/waiting/0/size", json!(300), "task 3, `size`: 300 is more than memory holds (`most_units`)"),
        ("/waiting/2/arrival_ms", json!(94), "task 8, `arrival_ms`: 94 is before the arrival of task 5, 95"),
        ("/waiting/3/arrival_ms", json!(101), "task 9, `arrival_ms`: must be up to `time_ms`, 100, got 101"),
        (
            "/waiting/0/passed",
            json!(2),
            "task 3, `passed`: must be up to the batches that have begun (`queues`), 1, got 2",
        ),
        (
            "/waiting/1/passed",
            json!(1),
            "task 5, `passed`: must be up to the batches that have begun (`queues`), 0, got 1",
        ),
        ("/running/0/accelerator", json!(2), "running on 2, `accelerator`: must be in 0..2, each once, got 2"),
        ("/running/0/application", json!(2), "running on 0, `application`: must be in 0..2, got 2"),
        ("/running/0/count", json!(0), "running on 0, `count`: there must be a task at least, and `total` fit"),
        ("/running/0/total", json!(61), "running on 0, `count`: there must be a task at least, and `total` fit"),
        ("/running/0/total", json!(29), "running on 0, `count`: there must be a task at least, and `total` fit"),
        (
            "/running/0/started_ms",
            json!(101),
            "running on 0, `started_ms`: must be a number up to `time_ms`, 100, got 101",
        ),
        (
            "/running/0/ends_ms",
            json!(91),
            "running on 0, `ends_ms`: must be a number from `started_ms` to 1e15, got 91",
        ),
        ("/queues", json!([{}, {}, {}]), "queues: 3 queues for 2 applications"),
        (
            "/queues/0/used_ms",
            json!(-2e15),
            "queue 0, `used_ms`: must be a number in -1e15..=1e15, got -2000000000000000",
        ),
        ("/queues/0/arrivals", json!(-1), "queue 0, `arrivals`: must be a number in 0..=1e15, got -1"),
        ("/queues/0/arrivals_at_ms", json!(101), "queue 0, `arrivals_at_ms`: must be up to `time_ms`, 100, got 101"),
        ("/served", json!(2), "served: must be in 0..2, got 2"),
        (
            "/last_arrival",
            json!([8, 98]),
            "last_arrival: must be no earlier than those of waiting tasks and `time_ms`, got 8 at 98",
        ),
        ("/last_arrival", json!([11, 96]), "last_arrival: must be no earlier than those of waiting tasks"),
        ("/last_arrival", json!([11, 101]), "last_arrival: must be no earlier than those of waiting tasks"),
        ("/ask", forming(2, &[]), "ask.forming.application: must be in 0..2, got 2"),
        ("/ask", forming(0, &[task(4, 1, 10, 96.0)]), "ask.forming, task 4: is of another application"),
        ("/ask", forming(0, &[task(3, 0, 10, 96.0)]), "ask.forming, task 3: stands there twice"),
        ("/ask", forming(0, &[task(4, 0, 10, 96.0), task(4, 0, 10, 96.0)]), "ask.forming, task 4: stands there twice"),
        ("/ask", forming(0, &[task(4, 0, 0, 96.0)]), "task 4, `size`: must be in 1..=16777216, got 0"),
        ("/ask", forming(0, &[1, 2, 4, 6].map(|id| task(id, 0, 10, 96.0))), cannot_join),
        ("/ask", forming(0, &[task(4, 0, 150, 96.0)]), cannot_join),
        ("/waiting", json!([]), "ask: nothing can be asked: no task waits, or no accelerator is idle"),
    ];
    refused::<ServerState>(&small(), cases);
    // Where no accelerator is idle nothing can be asked, and no batch be formed.
    let mut busy = small();
    let mut other = busy["running"][0].clone();
    busy["running"].as_array_mut().unwrap().push(other.clone());
    let refused = |value: &Value| serde_json::from_value::<ServerState>(value.clone()).unwrap_err().to_string();
    assert_eq!(refused(&busy), "running on 0, `accelerator`: must be in 0..2, each once, got 0");
    other["accelerator"] = json!(1);
    busy["running"][1] = other;
    assert_eq!(refused(&busy), "ask: nothing can be asked: no task waits, or no accelerator is idle");
    busy["ask"] = forming(0, &[task(4, 0, 10, 96.0)]);
    assert_eq!(refused(&busy), "ask.forming: no accelerator is idle");
    // A batch in which there is room is one that can be asked about.
    let roomy = forming(0, &[task(4, 0, 10, 96.0), task(1, 0, 10, 96.0)]);
    assert!(read_with::<ServerState>(&small(), "/ask", &roomy).is_ok());
}

/// Tasks are not smaller than 1.
#[test]
fn what_runs_has_tasks_of_a_size() {
    for (count, largest, total) in [(1, 0, 0), (3, 30, 30), (2, 30, 30)] {
        let mut value = small();
        for (field, number) in [("count", count), ("largest", largest), ("total", total)] {
            value["running"][0][field] = json!(number);
        }
        let found = serde_json::from_value::<ServerState>(value).map(|_| ()).map_err(|e| e.to_string());
        assert!(found.is_err(), "{count} tasks, the largest of {largest}, {total} in all");
    }
}
