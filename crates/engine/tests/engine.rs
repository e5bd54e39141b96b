//! The engine, with made-up work: here and in processes of its own.

#[path = "support/cluster.rs"]
mod cluster;

use cluster::{Cluster, Process, note};
use sched_distill_engine::{
    ask::{Engine, Part},
    toy::{self, Scan, Sleep},
};
use std::{
    fs,
    time::{Duration, Instant},
};
use tokio::time::sleep;

fn engine(cluster: &Cluster, partitions: usize) -> Engine {
    Engine::cluster(&cluster.address, partitions).unwrap()
}

fn numbers(count: u32) -> (Vec<u32>, Vec<Part>) {
    let parts = (0..count).map(|number| Part { number, weight: u64::from(number % 3) });
    ((0..count).collect(), parts.collect())
}

async fn asked(engine: &Engine, scan: &Scan, parts: &[Part], question: &[u8]) -> Result<Vec<u8>, String> {
    engine.ask(&scan.to_bytes().unwrap(), parts, question).await.map_err(|failure| format!("{failure:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn this_process_answers() {
    let question = toy::question(5, b"own");
    for (count, threads) in [(0, 2), (1, 2), (7, 1), (40, 2)] {
        let (numbers, parts) = numbers(count);
        let answer = asked(&Engine::local(threads), &Scan::default(), &parts, &question).await;
        assert_eq!(answer, Ok(toy::answer(&numbers, &question)), "{count} parts, {threads} threads");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_here_keep_their_text() {
    let (_, parts) = numbers(6);
    let question = toy::question(0, &[]);
    let text = "part 4 of \"x\" is broken:\nwrite it again";
    let fail = Scan { fail: Some((4, text.to_owned())), ..Scan::default() };
    assert_eq!(asked(&Engine::local(2), &fail, &parts, &question).await, Err(text.to_owned()));
    let panic = Scan { panic: Some((4, "no such thing".to_owned())), ..Scan::default() };
    let expected = Err("reading a part panicked: no such thing".to_owned());
    assert_eq!(asked(&Engine::local(2), &panic, &parts, &question).await, expected);
    let short = asked(&Engine::local(2), &Scan::default(), &parts, &[1]).await;
    assert_eq!(short, Err("a question of the toy has 8 bytes or more, this one 1".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_answers_the_same() {
    let mut cluster = Cluster::start(3);
    let (numbers, parts) = numbers(7);
    let question = toy::question(5, b"own");
    let expected = toy::answer(&numbers, &question);
    for partitions in [1, 2, 7, 100] {
        let answer = asked(&engine(&cluster, partitions), &Scan::default(), &parts, &question).await;
        assert_eq!(answer.as_ref(), Ok(&expected), "{partitions} partitions");
    }
    assert_eq!(asked(&engine(&cluster, 4), &Scan::default(), &[], &question).await, Ok(toy::answer(&[], &question)));

    let text = "part 4 of \"x\" is broken:\nwrite it again";
    let fail = Scan { fail: Some((4, text.to_owned())), ..Scan::default() };
    let start = Instant::now();
    assert_eq!(asked(&engine(&cluster, 7), &fail, &parts, &question).await, Err(text.to_owned()));
    let panic = Scan { panic: Some((4, "no such thing".to_owned())), ..Scan::default() };
    let expected = Err("reading a part panicked: no such thing".to_owned());
    assert_eq!(asked(&engine(&cluster, 7), &panic, &parts, &question).await, expected);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(5), "two failures took {took:?}");

    // Told to stop, all do, and well.
    for executor in &mut cluster.executors {
        executor.signal("-TERM");
        let (seconds, well) = executor.ended();
        assert!(well && seconds < 8., "an executor took {seconds} s to stop, well: {well}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_carries_large_messages() {
    let cluster = Cluster::start(2);
    let (numbers, parts) = numbers(4);
    let question = toy::question(64 << 20, &vec![3; 20 << 20]);
    let start = Instant::now();
    let answer = asked(&engine(&cluster, 4), &Scan::default(), &parts, &question).await.unwrap();
    println!("a question of 20 MiB and an answer of 64 MiB: {:.1} s", start.elapsed().as_secs_f64());
    assert!(answer == toy::answer(&numbers, &question));
}

/// Asks while a part is read for so long, and kills the executor that reads it, or so many that do not.
async fn asked_and_killed(name: &str, millis: u64, others: usize) -> Duration {
    let cluster = Cluster::start(3);
    let (numbers, parts) = numbers(9);
    let question = toy::question(1000, b"own");
    let note = note(name);
    let sleeps = Scan { sleep: Some(Sleep { part: 3, millis, note: note.clone() }), ..Scan::default() };
    let start = Instant::now();
    let engine = engine(&cluster, 9);
    let kill = async {
        let process = loop {
            match fs::read_to_string(&note) {
                Ok(process) if !process.is_empty() => break process,
                _ => sleep(Duration::from_millis(10)).await,
            }
        };
        // The others have done their parts by then.
        sleep(Duration::from_millis(1500)).await;
        let reads = |executor: &&Process| executor.0.id().to_string() == process;
        let (readers, rest): (Vec<_>, Vec<_>) = cluster.executors.iter().partition(reads);
        let killed = if others == 0 { &readers[..] } else { &rest[..others] };
        killed.iter().for_each(|executor| executor.signal("-KILL"));
    };
    let (answer, ()) = tokio::join!(asked(&engine, &sleeps, &parts, &question), kill);
    assert_eq!(answer, Ok(toy::answer(&numbers, &question)));
    fs::remove_file(note).unwrap();
    println!("{name}: {:?}", start.elapsed());
    start.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_executor_is_replaced() {
    let took = asked_and_killed("killed while it reads", 120_000, 0).await;
    assert!(took < Duration::from_secs(20), "it took {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_of_killed_executors_are_made_again() {
    for others in [1, 2] {
        let took = asked_and_killed("killed when they had read", 3000, others).await;
        assert!(took < Duration::from_secs(30), "with {others} killed, it took {took:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_of_this_machine_end_together() {
    for stop in ["-TERM", "-KILL"] {
        let (mut local, address) = Process::start(&["local", "--executors", "2"], &[]);
        let (numbers, parts) = numbers(3);
        let question = toy::question(0, &[]);
        let engine = Engine::cluster(&address, 3).unwrap();
        let answer = asked(&engine, &Scan::default(), &parts, &question).await;
        assert_eq!(answer, Ok(toy::answer(&numbers, &question)));
        local.signal(stop);
        local.ended();
        let start = Instant::now();
        while tokio::net::TcpStream::connect(address.trim_start_matches("df://")).await.is_ok() {
            assert!(start.elapsed() < Duration::from_secs(5), "the scheduler outlived {stop}");
            sleep(Duration::from_millis(50)).await;
        }
    }
}
