//! Everyone gets the answer to what they asked, once, whatever others do.

use crate::client::{Client, Running, count, model, path, workload};
use sched_distill_batcher::{Metrics, Models, NoAnswer, Scheduler, http::Limits};
use sched_distill_core::{
    model::{LevelModels, Model, NamedModel, Provenance, Student, Tree},
    rng::Stream,
};
use sched_distill_foreign::BatchModel;
use sched_distill_serving::{feature::feature_set, heuristic::DyBatch};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::Write as _,
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::runtime;

/// What the model makes of texts when it is asked alone.
fn alone(model: &BatchModel, words: &[u32]) -> Vec<f32> {
    let words: Vec<f64> = words.iter().map(|&word| word.into()).collect();
    model.answer(&[&words], 0).unwrap().remove(0)
}

fn is_near(found: &Value, expected: &[f32]) -> bool {
    let found: Vec<f64> = found.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - f64::from(*b)).abs() < 1e-5)
}

fn words(stream: &mut Stream) -> Vec<u32> {
    (0..1 + stream.below(64)).map(|_| 1 + stream.below(999) as u32).collect()
}

/// 10,000 requests of 16 clients at a time, of which a quarter go away, send garbage, ask for what cannot be or give up.
#[test]
fn no_answer_is_lost_or_doubled() {
    const CLIENTS: u64 = 16;
    const REQUESTS: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { patience: Duration::from_secs(3), ..Limits::default() };
    let server = Running::start(&workload(folder.path(), ""), "dybatch", limits);
    let (at, model) = (server.at, BatchModel::load(&model()).unwrap());
    let begun = AtomicUsize::new(0);
    let counts: Vec<BTreeMap<&str, usize>> = thread::scope(|scope| {
        let one = |seed: u64| {
            let mut stream = Stream::new(seed, "what a client does");
            let mut counts = BTreeMap::new();
            let mut client = Client::new(at);
            while begun.fetch_add(1, Ordering::Relaxed) < REQUESTS {
                let name = if stream.below(2) == 0 { "long" } else { "short" };
                let asked = words(&mut stream);
                let body = json!({"instances": [asked]}).to_string();
                let what = match stream.below(4000) {
                    0..3000 => {
                        let reply = client.ask(name, &asked);
                        assert_eq!(reply.status, 200, "{reply:?}");
                        assert_eq!(reply.body["predictions"].as_array().unwrap().len(), 1);
                        assert!(is_near(&reply.body["predictions"][0], &alone(&model, &asked)), "{asked:?}: {reply:?}");
                        "answered"
                    }
                    3000..3400 => {
                        // Asks and goes away at once.
                        client.send(&path(name), &body).unwrap();
                        client = Client::new(at);
                        "left"
                    }
                    3400..3600 => {
                        // Waits a little and gives up.
                        client.send(&path(name), &body).unwrap();
                        thread::sleep(Duration::from_millis(stream.below(4) as u64));
                        client = Client::new(at);
                        "gave up"
                    }
                    3600..3750 => {
                        // No HTTP.
                        let noise: Vec<u8> = (0..200).map(|_| stream.below(256) as u8).collect();
                        let _ = client.stream().write_all(&noise);
                        client = Client::new(at);
                        "noise"
                    }
                    3750..3950 => {
                        let bad =
                            ["{\"instances\": [[1, 2", "{\"instances\": [[1.5]]}", "{\"instances\": []}", "[]", ""];
                        client.send(&path(name), bad[stream.below(bad.len())]).unwrap();
                        let reply = client.reply().unwrap();
                        assert_eq!(reply.status, 400, "{reply:?}");
                        assert!(reply.body["error"].is_string());
                        "bad"
                    }
                    3950..3990 => {
                        // A word that the model does not know, which no other task of the batch has to suffer for.
                        assert_eq!(client.ask(name, &[7, 1_000_000]).status, 500);
                        "unknown word"
                    }
                    _ => {
                        // Half a request, and then nothing.
                        let head = "content-type: application/json\r\ncontent-length: 50";
                        write!(client.stream(), "POST {} HTTP/1.1\r\n{head}\r\n\r\n{{\"inst", path(name)).unwrap();
                        let status = client.reply().map(|reply| reply.status);
                        assert!(matches!(status, Ok(408) | Err(_)), "{status:?}");
                        client = Client::new(at);
                        "half"
                    }
                };
                *counts.entry(what).or_insert(0) += 1;
            }
            assert!(client.is_silent(), "more came than was asked for");
            counts
        };
        let threads: Vec<_> = (0..CLIENTS).map(|seed| scope.spawn(move || one(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let total = |what: &str| -> usize { counts.iter().filter_map(|counts| counts.get(what)).sum() };
    assert_eq!(counts.iter().flat_map(BTreeMap::values).sum::<usize>(), REQUESTS);
    let page = server.metrics.clone();
    assert!(server.end(), "all was answered");
    // The books balance: whoever stayed has an answer, and no task of those who went is in two places.
    let page = page.page();
    let of = |outcome: &str| -> usize {
        let one = |name: &str| {
            let counter = format!("distill_batcher_tasks_total{{application=\"{name}\",outcome=\"{outcome}\"}}");
            count(&page, &counter) as usize
        };
        one("long") + one("short")
    };
    let went = total("left") + total("gave up");
    let ended = of("answered") + of("gone") + of("unheard");
    assert_eq!((of("failed"), of("refused")), (total("unknown word"), 0));
    // Of some who went at once nothing was ever read.
    assert!((total("answered")..=total("answered") + went).contains(&ended), "{counts:?}, {page}");
    assert!(of("answered") >= total("answered") && of("gone") + of("unheard") <= went, "{counts:?}, {page}");
    assert!(total("answered") > 7000 && went > 1000 && total("half") > 5, "{counts:?}");
}

#[test]
fn full_queues_refuse_and_say_when_to_come_again() {
    let folder = tempfile::tempdir().unwrap();
    let workload = workload(folder.path(), ",queue=2,timeout=3000");
    let server = Running::start(&workload, "tf-serving,timeout=3000", Limits::default());
    let mut waiting: Vec<Client> = (0..2).map(|_| Client::new(server.at)).collect();
    for client in &mut waiting {
        client.send(&path("long"), "{\"instances\": [[1, 2, 3]]}").unwrap();
    }
    server.wait_for("distill_batcher_waiting_tasks{application=\"long\"}", 2.0);
    let mut other = Client::new(server.at);
    let reply = other.ask("long", &[4]);
    assert_eq!(reply.status, 429, "{reply:?}");
    assert!(reply.head.contains("retry-after: 1\r\n"), "{reply:?}");
    // Another queue is another matter. Of one request all tasks are taken in or none.
    let several = json!({"instances": [[1], [2, 3]]}).to_string();
    let mut first = Client::new(server.at);
    first.send(&path("short"), "{\"instances\": [[5]]}").unwrap();
    server.wait_for("distill_batcher_waiting_tasks{application=\"short\"}", 1.0);
    other.send(&path("short"), &several).unwrap();
    assert_eq!(other.reply().unwrap().status, 429);
    assert_eq!(server.count("distill_batcher_waiting_tasks{application=\"short\"}"), 1.0);
    other.send(&path("short"), &json!({"instances": [[1], [2], [3]]}).to_string()).unwrap();
    let reply = other.reply().unwrap();
    assert!(reply.status == 400 && reply.body["error"].as_str().unwrap().contains("1 to 2 tasks, got 3"), "{reply:?}");
    for client in waiting.iter_mut().chain([&mut first]) {
        assert_eq!(client.reply().unwrap().status, 200);
    }
    other.send(&path("short"), &several).unwrap();
    let reply = other.reply().unwrap();
    assert_eq!(reply.body["predictions"].as_array().map(Vec::len), Some(2), "{reply:?}");
    assert!(server.end());
}

/// Who finds no room is told at once.
#[test]
fn connections_have_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { connections: 2, ..Limits::default() };
    let server = Running::start(&workload(folder.path(), ""), "dybatch", limits);
    let mut inside: Vec<Client> = (0..2).map(|_| Client::new(server.at)).collect();
    inside.iter_mut().for_each(|client| assert_eq!(client.ask("long", &[1]).status, 200));
    let reply = Client::new(server.at).reply().unwrap();
    assert!(reply.status == 503 && reply.head.contains("retry-after: 1\r\n"), "{reply:?}");
    assert_eq!(inside[0].ask("long", &[1]).status, 200);
    drop(inside);
    assert!(server.end());
}

#[test]
fn what_cannot_be_asked_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&workload(folder.path(), ""), "triton", Limits { body: 2000, ..Limits::default() });
    let mut client = Client::new(server.at);
    for (path, body, status, says) in [
        ("/v1/models/none:predict", "{\"instances\": [[1]]}", 404, "there is no model `none`; there are long, short"),
        ("/v1/models/long", "{\"instances\": [[1]]}", 400, "must be NAME:predict"),
        ("/v1/models/long:predict", "{\"instances\": [[]]}", 400, "instance 0 must be 1 to 64 numbers, got 0"),
        (
            "/v1/models/long:predict",
            "{\"instances\": [[1], [1, 0.5]]}",
            400,
            "instance 1 must be whole numbers of at most 9.007199254740992e15 either way, got 0.5",
        ),
        ("/v1/models/long:predict", "{\"instances\": [[\"a\"]]}", 400, "instance 0 must be numbers, got \"a\""),
        ("/v1/models/long:predict", "{\"inputs\": [[1]]}", 400, "unknown field `inputs`"),
    ] {
        client.send(path, body).unwrap();
        let reply = client.reply().unwrap();
        assert_eq!(reply.status, status, "{body}: {reply:?}");
        assert!(reply.body["error"].as_str().unwrap().contains(says), "{body}: {reply:?}");
    }
    let long = json!({"instances": [vec![1; 65]]}).to_string();
    client.send("/v1/models/long:predict", &long).unwrap();
    assert_eq!(client.reply().unwrap().status, 400);
    client.send("/v1/models/long:predict", &" ".repeat(3000)).unwrap();
    assert_eq!(client.reply().unwrap().status, 413);
    assert!(server.end());
}

/// Batches are those of the policy: full ones of four, and in the order in which the tasks came.
#[test]
fn the_policy_decides() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Running::start(&workload(folder.path(), ",timeout=5000"), "tf-serving,max=4,timeout=5000", Limits::default());
    let asked = json!({"instances": (1..=8).map(|word| vec![word; 3]).collect::<Vec<_>>()}).to_string();
    let mut client = Client::new(server.at);
    client.send(&path("long"), &asked).unwrap();
    assert_eq!(client.reply().unwrap().body["predictions"].as_array().map(Vec::len), Some(8));
    assert_eq!(server.count("distill_batcher_batch_tasks_count{application=\"long\"}"), 2.0);
    assert_eq!(server.count("distill_batcher_batch_tasks_sum{application=\"long\"}"), 8.0);
    assert_eq!(server.count("distill_batcher_units_total{application=\"long\"}"), 24.0);
    assert!(server.count("distill_batcher_questions_total") >= 10.0);
    assert_eq!(server.count("distill_batcher_fallbacks_total"), 0.0);
    assert!(server.end());
}

/// A student that serves who has had the least, and closes no batch before it is full.
#[test]
fn a_student_decides() {
    let set = feature_set();
    let stump = |level: usize, name: &str, values: [f64; 2]| {
        let features = &set.levels[level].features;
        let column = features.iter().position(|feature| feature.name == name).unwrap();
        let model = Model::Tree(Tree::stump(column as u32, 0.5, values));
        let named = NamedModel { name: "tree".to_owned(), temperature: 1.0, model };
        LevelModels::new(&set.levels[level].name, "tree", vec![named])
    };
    let levels = vec![stump(0, "used_rank", [1.0, 0.0]), stump(1, "is_none", [1.0, 0.0])];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("student.json");
    Student::new(set.clone(), true, levels, Provenance::default()).save(&file).unwrap();
    let policy = format!("student:{}", file.display());
    let server = Running::start(&workload(folder.path(), ""), &policy, Limits::default());
    let asked = json!({"instances": (1..=40).map(|word| vec![word; 3]).collect::<Vec<_>>()}).to_string();
    let mut clients: Vec<Client> = (0..2).map(|_| Client::new(server.at)).collect();
    for (client, name) in clients.iter_mut().zip(["long", "short"]) {
        client.send(&path(name), &asked).unwrap();
    }
    for client in &mut clients {
        assert_eq!(client.reply().unwrap().body["predictions"].as_array().map(Vec::len), Some(40));
    }
    // One by one they would be 80 batches.
    let batches = |name: &str| server.count(&format!("distill_batcher_batch_tasks_count{{application=\"{name}\"}}"));
    assert!(batches("long") + batches("short") <= 16.0, "{}", server.metrics.page());
    assert_eq!(server.count("distill_batcher_fallbacks_total"), 0.0);
    assert!(server.end());
}

/// A request that nobody answers in time is taken back.
#[test]
fn patience_ends() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { answer: Duration::from_millis(100), ..Limits::default() };
    let server = Running::start(&workload(folder.path(), ",timeout=3000"), "tf-serving,timeout=3000", limits);
    assert_eq!(Client::new(server.at).ask("long", &[1]).status, 504);
    server.wait_for("distill_batcher_tasks_total{application=\"long\",outcome=\"gone\"}", 1.0);
    assert_eq!(server.count("distill_batcher_waiting_tasks{application=\"long\"}"), 0.0);
    assert!(server.end());
}

/// A server outlives the numbers of its state.
#[test]
fn numbers_do_not_run_out() {
    let folder = tempfile::tempdir().unwrap();
    let models = Models::load(&workload(folder.path(), "")).unwrap();
    let metrics = Arc::new(Metrics::new(models.server().clone()));
    let policy = sched_distill_core::policy::stateless(|seen| DyBatch::default().decide(seen));
    let (door, thread) = Scheduler::start_renewed(models, policy, metrics.clone(), 3).unwrap();
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    for _ in 0..10 {
        let mut tickets = door.ask(0, vec![(2, vec![1.0, 2.0]); 2]);
        tickets.iter_mut().for_each(|ticket| assert_eq!(runtime.block_on(ticket.answer()).unwrap().len(), 4));
    }
    door.end();
    thread.join().unwrap().unwrap();
    let answered = "distill_batcher_tasks_total{application=\"long\",outcome=\"answered\"}";
    assert_eq!(count(&metrics.page(), answered), 20.0);
    // Nobody waits for an answer that will not come.
    assert_eq!(runtime.block_on(door.ask(0, vec![(1, vec![1.0])])[0].answer()), Err(NoAnswer::Ending));
}

/// A browser sends what pages of others ask for, but says for whom, and not as JSON unless it was allowed to.
#[test]
fn pages_of_others_are_kept_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&workload(folder.path(), ""), "dybatch", Limits::default());
    let at = server.at;
    let (json, body) = ("content-type: application/json\r\n", "{\"instances\": [[1, 2]]}");
    for (head, status, words) in [
        (format!("host: {at}\r\n{json}"), 200, ""),
        (format!("host: batcher.example\r\n{json}"), 200, ""),
        (format!("host: localhost\r\n{}", json.replace("json", "json; charset=utf-8")), 200, ""),
        (format!("host: evil.example\r\n{json}"), 421, "this server is not `evil.example`"),
        (format!("host: {at}\r\n"), 415, "must be application/json, got none"),
        (format!("host: {at}\r\ncontent-type: text/plain\r\n"), 415, "must be application/json, got text/plain"),
        (format!("host: {at}\r\ncontent-type: application/x-www-form-urlencoded\r\n"), 415, "must be application/json"),
    ] {
        let mut client = Client::new(at);
        client.send_as(&head, &path("long"), body).unwrap();
        let reply = client.reply().unwrap();
        let said = reply.body["error"].as_str().unwrap_or_default();
        assert!(reply.status == status && said.contains(words), "{head}: {reply:?}");
    }
    let answered = "distill_batcher_tasks_total{application=\"long\",outcome=\"answered\"}";
    assert_eq!(server.count(answered), 3.0, "and nothing else was taken in");
    // Nor can they read, under a name that stands for this address.
    let mut client = Client::new(at);
    client.stream().write_all(b"GET /metrics HTTP/1.1\r\nhost: evil.example\r\n\r\n").unwrap();
    assert_eq!(client.reply().unwrap().status, 421);
    assert!(server.end());
}

/// Those who come and hang up at once, on and on, take nobody's place.
#[test]
fn clients_that_vanish_keep_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { connections: 4, ..Limits::default() };
    let server = Running::start(&workload(folder.path(), ""), "dybatch", limits);
    let (at, stop) = (server.at, AtomicBool::new(false));
    let mut times: Vec<Duration> = thread::scope(|scope| {
        scope.spawn(|| {
            let began = Instant::now();
            while !stop.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(120) {
                // Whether it is let in is all the same.
                drop(TcpStream::connect(at));
            }
        });
        let newcomer = |_| {
            let began = Instant::now();
            let mut client = Client::new(at);
            client.stream().write_all(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
            assert_eq!(client.reply().unwrap().status, 200);
            began.elapsed()
        };
        let times = (0..100).map(newcomer).collect();
        stop.store(true, Ordering::Relaxed);
        times
    });
    times.sort_unstable();
    // Before, they waited until they gave up.
    assert!(times[98] < Duration::from_secs(30), "{times:?}");
    assert!(server.end());
}
