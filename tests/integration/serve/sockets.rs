//! Clients over sockets: answered as in process, kept apart, kept within limits.

use super::{agreement, by, by_student, guarded};
use sched_distill::{
    dag::Dag,
    model::Structure,
    registry::Registered,
    scenario::Scenario as _,
    serve::{Access, Address, Fault, Limits, Served, Server, Service, ShadowLog, Token},
    training::Training,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// A server in a thread.
struct Running {
    folder: tempfile::TempDir,
    socket: PathBuf,
    tcp: String,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Served>,
}

/// More than a machine that is busy with other work, or stopped for a while, takes for what ends by itself.
const PATIENCE: Duration = Duration::from_secs(120);

fn start<S: Registered>(service: Service<S>, processes: usize) -> Running {
    start_for(service, processes, &Access::default())
}

fn start_for<S: Registered>(service: Service<S>, processes: usize, access: &Access) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("distill.sock");
    let addresses = [Address::Unix(socket.clone()), "tcp:127.0.0.1:0".parse().unwrap()];
    let server = Server::listen(service, processes, &addresses, access).unwrap();
    let Address::Tcp(tcp) = server.addresses()[1].clone() else { panic!("TCP") };
    let stop = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&stop);
    let thread = thread::spawn(move || server.run(&theirs, PATIENCE).unwrap());
    Running { folder, socket, tcp, stop, thread }
}

impl Running {
    fn unix(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.tcp).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn end(self) -> Served {
        self.stop.store(true, Ordering::Relaxed);
        let served = self.thread.join().unwrap();
        assert!(!self.socket.exists(), "the socket's file is gone");
        drop(self.folder);
        served
    }
}

fn ask(stream: &mut (impl Write + Read), line: &str) -> Value {
    // In one piece, so that a machine that is busy makes no stall of it.
    stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    answer(&mut BufReader::with_capacity(1, stream))
}

fn answer(reader: &mut impl BufRead) -> Value {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

/// All questions of ten episodes over both sockets at once, some of them sent before the answers are read.
fn over_sockets<S: Registered>(workload: &str, driver: &str, guard: &str) {
    let workload = S::open_workload(&workload.parse().unwrap()).unwrap();
    let student = guarded::<S>(&workload, driver, guard, Structure::Hierarchical);
    let episodes = agreement::recorded(&workload, driver, &by_student::<S>(&student));
    let running = start(by_student::<S>(&student), 0);
    let episode = |place: usize, mut write: Box<dyn Write>, read: Box<dyn Read>| {
        let mut reader = BufReader::new(read);
        for episode in &episodes {
            let lines = agreement::lines(episode);
            let mut answers = Vec::new();
            for some in lines.chunks(1 + place * 3) {
                let some: String = some.iter().map(|line| format!("{line}\n")).collect();
                write.write_all(some.as_bytes()).unwrap();
                let asked = some.lines().filter(|line| line.contains("\"state\"")).count();
                answers.extend((0..asked).map(|_| answer(&mut reader)));
            }
            agreement::compare(episode, answers.into_iter());
        }
    };
    thread::scope(|scope| {
        for place in 0..2 {
            let (running, episode) = (&running, &episode);
            scope.spawn(move || {
                let stream = running.unix();
                episode(place, Box::new(stream.try_clone().unwrap()), Box::new(stream));
            });
            scope.spawn(move || {
                let stream = running.tcp();
                episode(place, Box::new(stream.try_clone().unwrap()), Box::new(stream));
            });
        }
    });
    assert_eq!(running.end().clients, 4);
}

#[test]
fn sockets_answer_dag_as_in_process() {
    over_sockets::<Dag>("builtin,jobs=6,executors=5,rate=2e-4", "sjf-cp,temperature=0.3", "age > 60s first");
}

#[test]
fn sockets_answer_training_as_in_process() {
    over_sockets::<Training>("builtin,nodes=4,jobs=5,max=3", "optimus", "job: stay > 3 first");
}

fn fair(limits: Limits) -> Service<Dag> {
    Service { limits, ..by(Dag::open(&"fair".parse().unwrap()).unwrap()) }
}

const QUESTION: &str = r#"{"id":1,"state":{"num_executors":2,"offered":2,"jobs":[{"id":0,"arrival_ms":0,"stages":[{"tasks":8,"rough_ms":1}]}]}}"#;

#[test]
fn a_socket_is_for_its_owner_and_for_one_server() {
    let running = start(fair(Limits::default()), 0);
    let mode = std::fs::metadata(&running.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let listen = |address| Server::listen(fair(Limits::default()), 0, &[address], &Access::default());
    let another = |path: &PathBuf| listen(Address::Unix(path.clone()));
    let said = another(&running.socket).err().unwrap().to_string();
    assert!(said.contains("another server answers there"), "{said}");
    let file = running.folder.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    assert!(another(&file).err().unwrap().to_string().contains("no socket"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    // One that was left behind is in nobody's way.
    let left = running.folder.path().join("left.sock");
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    assert!(left.exists() && another(&left).is_ok());
    let remote = listen("tcp:0.0.0.0:0".parse().unwrap());
    assert!(remote.err().unwrap().to_string().contains("reached from other machines"));
    running.end();
}

#[test]
fn clients_beyond_the_limit_are_turned_away_with_a_word() {
    // Two places: one client whose policy starts a process takes both.
    for (processes, places, at_once) in [(0, 2, 2), (1, 4, 2), (1, 1, 1)] {
        let running = start(fair(Limits { clients: places, ..Limits::default() }), processes);
        let mut inside: Vec<UnixStream> = (0..at_once).map(|_| running.unix()).collect();
        inside.iter_mut().for_each(|stream| assert_eq!(ask(stream, QUESTION)["id"], 1));
        let refused = answer(&mut BufReader::new(running.tcp()));
        assert!(refused["error"].as_str().unwrap().contains("too many clients"), "{refused}");
        drop(inside.pop());
        // Its place is free before long.
        let end = Instant::now() + PATIENCE;
        let let_in = std::iter::repeat_with(|| {
            let mut stream = running.unix();
            writeln!(stream, "{QUESTION}")
                .and_then(|()| Ok(answer(&mut BufReader::new(stream))))
                .is_ok_and(|a| a["id"] == 1)
        });
        assert!(let_in.take_while(|_| Instant::now() < end).any(|is| is));
        running.end();
    }
}

#[test]
fn lines_without_end_are_passed_over() {
    let running = start(fair(Limits { line: 1000, ..Limits::default() }), 0);
    let mut long = running.unix();
    assert_eq!(ask(&mut long, QUESTION)["id"], 1);
    let filler = vec![b'x'; 1 << 16];
    (0..100).for_each(|_| long.write_all(&filler).unwrap());
    let refused = ask(&mut long, "");
    assert!(refused["error"].as_str().unwrap().contains("the line has 6553600 bytes, at most 1000"), "{refused}");
    assert_eq!(ask(&mut long, QUESTION)["id"], 1);
    // Of a first one nobody knows whether it is an object: the path of a request may be as long.
    let mut first = running.unix();
    let refused = ask(&mut first, &"x".repeat(2000));
    assert!(refused["error"].as_str().unwrap().ends_with("; the conversation ends"), "{refused}");
    assert_eq!(first.read(&mut [0; 8]).unwrap(), 0, "it is hung up");
    assert_eq!(running.end().errors.get(&Fault::TooLong), Some(&2));
}

#[test]
fn clients_that_stall_hurt_nobody() {
    let running = start(fair(Limits { patience: Duration::from_millis(300), ..Limits::default() }), 0);
    let mut stalled = running.tcp();
    stalled.write_all(b"{\"id\":").unwrap();
    let mut trickling = running.unix();
    let idle = running.unix();
    // Whoever asks and never reads is cut off once its pipes are full.
    let mut deaf = running.unix();
    deaf.set_write_timeout(Some(PATIENCE)).unwrap();
    let asked = (0..1_000_000).find(|_| writeln!(deaf, "{QUESTION}").is_err());
    assert!(asked.is_some(), "it was never cut off");
    let said = answer(&mut BufReader::new(&stalled));
    assert!(said["error"].as_str().unwrap().contains("did not come within 0.3 s"), "{said}");
    assert_eq!(stalled.read(&mut [0; 8]).unwrap(), 0, "it is hung up");
    // A line that comes byte by byte has no more time than one that does not come.
    let end = Instant::now() + PATIENCE;
    while trickling.write_all(b" ").is_ok() {
        assert!(Instant::now() < end, "it was never cut off");
        thread::sleep(Duration::from_millis(50));
    }
    // Silence between lines is no stall.
    let mut idle = idle;
    assert_eq!(ask(&mut idle, QUESTION)["id"], 1);
    running.end();
}

#[test]
fn what_has_come_is_answered_before_the_end() {
    let running = start(fair(Limits::default()), 0);
    let mut stream = running.unix();
    let mut slow = running.tcp();
    assert_eq!(ask(&mut stream, QUESTION)["id"], 1);
    assert_eq!(ask(&mut slow, QUESTION)["id"], 1);
    let many: String = (0..2000).map(|id| QUESTION.replace("\"id\":1", &format!("\"id\":{id}")) + "\n").collect();
    let reader = stream.try_clone().unwrap();
    stream.write_all(&many.as_bytes()[..many.len() / 3]).unwrap();
    let read = thread::spawn(move || BufReader::new(reader).lines().map_while(Result::ok).count());
    thread::sleep(Duration::from_millis(50));
    let began = Instant::now();
    let served = running.end();
    assert!(began.elapsed() < PATIENCE / 2, "nobody is waited for who says nothing");
    assert!(read.join().unwrap() >= 2000 / 3, "what had come is answered");
    assert!(served.lines > 2000 / 3);
    assert_eq!(slow.read(&mut [0; 8]).unwrap(), 0);
    assert!(json!(served.clients) == 2);
}

/// All that comes back until the connection is closed.
fn answers(mut stream: impl Read) -> Vec<Value> {
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A page in a browser posts lines to a shadow: one error, and nothing in the log.
#[test]
fn a_page_cannot_write_into_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let service = fair(Limits::default());
    let log = ShadowLog::create(&folder.path().join("log"), &Dag::INFO, &service.source, service.policy.abstains(), 3)
        .unwrap();
    let running = start(Service { shadow: Some(log), ..service }, 0);
    let done =
        QUESTION.replace("\"state\"", "\"did\":[{\"do\":\"assign\",\"job\":0,\"stage\":0,\"executors\":2}],\"state\"");
    let mut page = running.tcp();
    let head = format!("POST / HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n", running.tcp, done.len() + 1);
    page.write_all(format!("{head}{done}\n").as_bytes()).unwrap();
    let said = answers(page);
    assert!(said.len() == 1 && said[0]["type"] == "error", "{said:?}");
    let served = running.end();
    assert_eq!((served.log, served.lines, served.errors), (None, 1, [(Fault::NoObject, 1)].into()));
}

#[test]
fn who_comes_over_tcp_has_to_know_the_token() {
    const SECRET: &str = "0123456789abcdef";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), SECRET).unwrap();
    let token = Token::load(&folder.path().join("token")).unwrap();
    let access = Access { remote: false, token: Some(Arc::new(token)) };
    let running = start_for(fair(Limits { patience: PATIENCE, ..Limits::default() }), 0, &access);
    let hello = |token: &str| format!("{{\"type\":\"hello\",\"protocol\":1{token}}}");
    let with = |token: &str| hello(&format!(",\"token\":\"{token}\""));
    let mut known = running.tcp();
    assert_eq!(ask(&mut known, &with(SECRET))["type"], "ready");
    assert_eq!(ask(&mut known, QUESTION)["id"], 1);
    let strangers = [
        hello(""),
        with(""),
        with("0123456789abcdeF"),
        hello(",\"token\":123"),
        QUESTION.to_owned(),
        "GET /".to_owned(),
        String::new(),
    ];
    for first in &strangers {
        let mut stranger = running.tcp();
        stranger.write_all(format!("{first}\n{QUESTION}\n").as_bytes()).unwrap();
        let said = answers(stranger);
        assert!(said.len() == 1 && said[0]["error"].as_str().unwrap().contains("--token-file"), "{first}: {said:?}");
        assert!(!said[0].to_string().contains(SECRET));
    }
    // Those who have said it may be silent, and the socket's file asks for nothing.
    assert_eq!(ask(&mut known, QUESTION)["id"], 1);
    assert_eq!(ask(&mut running.unix(), QUESTION)["id"], 1);
    assert_eq!(running.end().errors, [(Fault::Token, strangers.len() as u64)].into());
    // Who says nothing is not waited for.
    let patience = Duration::from_millis(300);
    let running = start_for(fair(Limits { patience, ..Limits::default() }), 0, &access);
    let said = answers(running.tcp());
    assert!(said[0]["error"].as_str().unwrap().contains("did not come"), "{said:?}");
    assert_eq!(running.end().errors, [(Fault::Unfinished, 1)].into());
}

/// Those who come and hang up at once, on and on, keep nobody out, also where there is room for few.
#[test]
fn clients_that_vanish_keep_nobody_out() {
    let running = start(fair(Limits { clients: 4, ..Limits::default() }), 0);
    let stop = AtomicBool::new(false);
    let (mut times, refused) = thread::scope(|scope| {
        scope.spawn(|| {
            let began = Instant::now();
            while !stop.load(Ordering::Relaxed) && began.elapsed() < PATIENCE {
                // Whether it is let in is all the same.
                drop(UnixStream::connect(&running.socket));
                drop(TcpStream::connect(&running.tcp));
            }
        });
        let (mut times, mut refused) = (Vec::new(), Vec::new());
        for newcomer in 0..200 {
            let began = Instant::now();
            let hello = r#"{"type":"hello","protocol":1}"#;
            let said = if newcomer % 2 == 0 { ask(&mut running.unix(), hello) } else { ask(&mut running.tcp(), hello) };
            times.push(began.elapsed());
            refused.extend((said["type"] != "ready").then_some(said));
        }
        stop.store(true, Ordering::Relaxed);
        (times, refused)
    });
    assert!(refused.is_empty(), "{refused:?}");
    times.sort_unstable();
    // Before, they waited until they gave up.
    assert!(times[197] < PATIENCE / 4, "{times:?}");
    running.end();
}
