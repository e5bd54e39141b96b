//! How long an answer of `distill serve` takes: a bare decision, a line without a socket, and round trips over a Unix socket and
//! TCP, by one client and by eight, who tell the whole state each time or what has changed. Usage:
//! `cargo run --release --example serve_latency [STUDENT]`.

#[path = "../tests/support/changes.rs"]
mod changes;

use sched_distill::{
    dag::{Dag, workload::DagWorkload},
    distiller::{FitParams, Subject, fit_student},
    model::{Provenance, Student},
    pipeline::Entry,
    policy::{Policy, StudentPolicy},
    recorder::{ChoiceLog, EpisodeId, run_episode},
    registry::Registered,
    rng::Split,
    scenario::{Scenario, State},
    serve::{Access, Address, Limits, Scorers, Server, Service, Session},
    trace::Source,
};
use serde_json::Value;
use std::{
    error::Error,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Questions asked per measurement and client.
const ASKED: usize = 20_000;

fn main() -> Result<()> {
    let student = std::env::args_os().nth(1).map(PathBuf::from);
    println!(
        "{:<10} {:>6} {:>9} {:<26} {:>9} {:>9} {:>11}",
        "cluster", "bytes", "stages", "what", "p50", "p99", "answers/s"
    );
    for (name, workload) in
        [("10 / 50", "builtin,executors=10,jobs=50"), ("50 / 200", "builtin,executors=50,jobs=200,rate=2e-4")]
    {
        let workload = Dag::entry().workload(workload)?;
        let student = match &student {
            Some(path) => Student::load(path)?,
            None => fitted(&workload)?,
        };
        measure(name, &workload, &student)?;
    }
    Ok(())
}

/// A student of the teacher that comes with the program.
fn fitted(workload: &DagWorkload) -> Result<Student> {
    let entry: &Entry<Dag> = Dag::entry();
    let teacher = entry.policy(entry.teacher)?;
    let tables = [Split::Train, Split::Validation].map(|split| {
        let mut log = ChoiceLog::<Dag>::new(false);
        let mut step = 0;
        let id = EpisodeId::new(1, split, 0);
        let run = run_episode(workload, &mut *teacher.fresh(), id, |seen, decision, p| {
            log.push(0, step, seen, decision, p);
            step += 1;
        });
        run.map(|_| log.into_tables())
    });
    let [train, validation] = tables;
    let subject = Subject { feature_set: (Dag::INFO.feature_set)(), abstains: false };
    Ok(fit_student(subject, (&train?, &validation?), &FitParams::default(), Provenance::default())?)
}

fn measure(name: &str, workload: &DagWorkload, student: &Student) -> Result<()> {
    let mut policy = StudentPolicy::<Dag>::new(student, Path::new("in memory"), None)?;
    // The questions of an episode that the student itself drives.
    let (mut states, mut lines, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    for episode in 0..2 {
        let id = EpisodeId::new(2, Split::Test, episode);
        let mut before = None;
        run_episode(workload, &mut policy, id, |seen, decision, _| {
            let mut state = <Dag as Scenario>::State::of(seen);
            let now = serde_json::to_value(seen).expect("a state goes into memory");
            let line = |told: &str, what: &Value| {
                format!("{{\"id\":{},\"most\":1,\"scores\":false,\"{told}\":{what}}}\n", states.len())
            };
            lines.push(line("state", &now));
            changes.push(match &before {
                None => line("state", &now),
                Some(before) => line("change", &changes::change(before, &now)),
            });
            states.push(state.clone());
            state.answer(decision).expect("a student decides legally");
            before = Some(serde_json::to_value(&state).expect("a state goes into memory"));
        })?;
    }
    let bytes = |lines: &[String]| lines.iter().map(String::len).sum::<usize>() / lines.len();
    let stages = states.iter().map(State::extent).sum::<usize>() / states.len();
    let row = |what: &str, bytes: usize, mut times: Vec<f64>, wall: f64, answers: usize| {
        times.sort_by(f64::total_cmp);
        let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize];
        let rate = answers as f64 / wall;
        println!("{name:<10} {bytes:>6} {stages:>9} {what:<26} {:>6.1} µs {:>6.1} µs {rate:>11.0}", at(0.5), at(0.99));
    };

    let each = |mut ask: Box<dyn FnMut(usize) + '_>| {
        let mut times = Vec::with_capacity(ASKED);
        let began = Instant::now();
        for i in 0..ASKED {
            let start = Instant::now();
            ask(i % lines.len());
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        (times, began.elapsed().as_secs_f64())
    };
    let (times, wall) = each(Box::new(|i| {
        let view = states[i].view().expect("a question is open");
        std::hint::black_box(policy.decide(&view, &mut Default::default())).expect("a student answers");
    }));
    row("bare decision", 0, times, wall, ASKED);

    let service = || -> Result<Service<Dag>> {
        Ok(Service {
            source: Source { id: "student".to_owned(), ..Source::default() },
            policy: Box::new(StudentPolicy::<Dag>::new(student, Path::new("in memory"), None)?),
            scorers: Some(Arc::new(Scorers::new(student, None)?)),
            seed: 0,
            limits: Limits::default(),
            shadow: None,
        })
    };
    let shared = Arc::new(service()?);
    let mut session = Session::new(&shared);
    let mut out = Vec::new();
    let (times, wall) = each(Box::new(|i| {
        out.clear();
        session.line(lines[i].as_bytes(), &mut out);
    }));
    row("line without a socket", bytes(&lines), times, wall, ASKED);

    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("distill.sock");
    let addresses = [Address::Unix(socket.clone()), Address::Tcp("127.0.0.1:0".to_owned())];
    let server = Server::listen(service()?, 0, &addresses, &Access::default())?;
    let port = match &server.addresses()[1] {
        Address::Tcp(address) => address.clone(),
        Address::Unix(_) => return Err("the second address is TCP".into()),
    };
    static STOP: AtomicBool = AtomicBool::new(false);
    STOP.store(false, Ordering::Relaxed);
    let running = std::thread::spawn(move || server.run(&STOP, Duration::from_secs(5)));
    for (told, lines) in [("state", &lines), ("change", &changes)] {
        for (what, connect, clients) in [("Unix", true, 1), ("TCP", false, 1), ("Unix", true, 8), ("TCP", false, 8)] {
            let began = Instant::now();
            let times: Vec<f64> = std::thread::scope(|scope| {
                let one = || {
                    let (socket, port) = (&socket, &port);
                    scope.spawn(move || -> Vec<f64> {
                        let asked = ASKED / clients;
                        match connect {
                            true => ask(UnixStream::connect(socket).expect("it listens"), lines, asked),
                            false => {
                                let stream = TcpStream::connect(port).expect("it listens");
                                stream.set_nodelay(true).expect("an option that there is");
                                ask(stream, lines, asked)
                            }
                        }
                    })
                };
                let threads: Vec<_> = (0..clients).map(|_| one()).collect();
                threads.into_iter().flat_map(|thread| thread.join().expect("no client dies")).collect()
            });
            let wall = began.elapsed().as_secs_f64();
            let who = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
            let answers = times.len();
            row(&format!("{told}, {what}, {who}"), bytes(lines), times, wall, answers);
        }
    }
    STOP.store(true, Ordering::Relaxed);
    running.join().map_err(|_| "the server died")??;
    Ok(())
}

fn ask<W: Read + Write + Another>(mut stream: W, lines: &[String], asked: usize) -> Vec<f64> {
    let mut reader = BufReader::new(stream.another());
    let mut answer = String::new();
    (0..asked)
        .map(|i| {
            let line = &lines[i % lines.len()];
            let start = Instant::now();
            stream.write_all(line.as_bytes()).expect("it reads");
            answer.clear();
            reader.read_line(&mut answer).expect("it answers");
            assert!(answer.starts_with("{\"type\":\"answer\""), "{answer}");
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect()
}

trait Another {
    fn another(&self) -> Self;
}

impl Another for UnixStream {
    fn another(&self) -> Self {
        self.try_clone().expect("a file is left")
    }
}

impl Another for TcpStream {
    fn another(&self) -> Self {
        self.try_clone().expect("a file is left")
    }
}
