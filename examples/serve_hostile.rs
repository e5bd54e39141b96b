//! What clients that mean harm do to `distill serve`: damaged lines, huge ones, deep ones, clients that vanish, stall or flood,
//! while a polite client asks once in two milliseconds. Usage:
//! `cargo run --release --example serve_hostile -- target/release/distill`.

use sched_distill::{
    dag::Dag,
    recorder::{EpisodeId, run_episode},
    registry::Registered,
    rng::{Split, Stream},
};
use std::{
    error::Error,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Damaged lines in all, and what the polite client asks each time.
const HOSTILE: u64 = 100_000;
const ASKED: usize = 4_000;

fn main() -> Result<()> {
    let program = std::env::args_os().nth(1).ok_or("usage: serve_hostile PROGRAM")?;
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("d.sock");
    let mut server = Command::new(program)
        .args(["serve", "-p", "srpt-fair", "--listen"])
        .arg(format!("unix:{}", socket.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    BufReader::new(server.stdout.as_mut().ok_or("a pipe")?).read_line(&mut String::new())?;
    let lines = questions()?;
    let quiet = [polite(&socket, &lines)?, polite(&socket, &lines)?];
    report("alone", &quiet.concat(), &server)?;

    let damaged: Vec<Vec<u8>> = (0..2_000).map(|i| damage(&lines[i % lines.len()], i as u64)).collect();
    let (left, stop) = (AtomicU64::new(HOSTILE), AtomicBool::new(false));
    let went_on = |socket: &PathBuf| UnixStream::connect(socket).is_ok();
    for (name, clients, harm) in [
        ("damaged lines", 4, damaged_lines as Harm),
        ("huge, deep and dense lines", 4, huge_lines),
        ("clients that vanish", 4, vanishing),
        ("a client that connects and hangs up", 1, hanging_up),
        ("clients that stall", 30, stalling),
        ("clients that flood and never read", 8, flooding),
    ] {
        stop.store(false, Ordering::Relaxed);
        let times = thread::scope(|scope| {
            for client in 0..clients {
                let (socket, damaged, left, stop) = (&socket, &damaged, &left, &stop);
                scope.spawn(move || {
                    behind_the_others();
                    harm(&Hostile { socket, damaged, left, stop, client });
                });
            }
            thread::sleep(Duration::from_millis(200));
            let mut times = polite(&socket, &lines)?;
            // The damaged lines are all sent, however long that takes.
            while name == "damaged lines" && left.load(Ordering::Relaxed) > 0 {
                times.extend(polite(&socket, &lines)?);
            }
            stop.store(true, Ordering::Relaxed);
            Ok::<_, Box<dyn Error>>(times)
        })?;
        assert!(went_on(&socket), "the server is gone");
        report(name, &times, &server)?;
    }
    Command::new("kill").arg(server.id().to_string()).status()?;
    println!("ended with {}", server.wait()?);
    Ok(())
}

/// What hostile clients do with their own processors is not the server's affair; here they share them.
fn behind_the_others() {
    // SAFETY: takes numbers; 0 is this thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}

/// Questions of an episode, whose answers take a few microseconds.
fn questions() -> Result<Vec<String>> {
    let workload = Dag::entry().workload("builtin,executors=10,jobs=50")?;
    let mut lines = Vec::new();
    let id = EpisodeId::new(2, Split::Test, 0);
    run_episode(&workload, &mut *Dag::entry().policy("sjf")?, id, |seen, _, _| {
        let state = serde_json::to_string(seen).expect("a state goes into memory");
        lines.push(format!("{{\"id\":{},\"most\":1,\"scores\":false,\"state\":{state}}}", lines.len()));
    })?;
    Ok(lines)
}

/// Round trips of a client that asks and waits, µs.
fn polite(socket: &Path, lines: &[String]) -> Result<Vec<f64>> {
    let mut stream = UnixStream::connect(socket)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut times, mut answer) = (Vec::new(), String::new());
    for line in lines.iter().cycle().take(ASKED) {
        thread::sleep(Duration::from_millis(2));
        let start = Instant::now();
        stream.write_all(line.as_bytes())?;
        stream.write_all(b"\n")?;
        answer.clear();
        reader.read_line(&mut answer)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        assert!(answer.starts_with("{\"type\":\"answer\""), "{answer}");
    }
    Ok(times)
}

fn report(name: &str, times: &[f64], server: &Child) -> Result<()> {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize];
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id()))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    println!("{name:<36} p50 {:>7.1} µs  p99 {:>8.1} µs  peak memory {peak}", at(0.5), at(0.99));
    Ok(())
}

/// One client that means harm.
struct Hostile<'a> {
    socket: &'a Path,
    damaged: &'a [Vec<u8>],
    /// Damaged lines that have yet to be sent.
    left: &'a AtomicU64,
    stop: &'a AtomicBool,
    client: usize,
}

type Harm = fn(&Hostile<'_>);

impl Hostile<'_> {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn connect(&self) -> Option<UnixStream> {
        UnixStream::connect(self.socket).ok()
    }
}

/// A line with bytes changed, cut off, repeated.
fn damage(line: &str, seed: u64) -> Vec<u8> {
    let (mut bytes, mut stream) = (line.as_bytes().to_vec(), Stream::new(seed, "damage"));
    for _ in 0..1 + stream.below(4) {
        let at = stream.below(bytes.len().max(1));
        match stream.below(5) {
            0 => bytes.truncate(at + 1),
            1 => bytes[at] = b"{}[]:,-0919eE.\"x"[stream.below(16)],
            2 => bytes.splice(at..at, *b"99999999999999999999").for_each(drop),
            3 => bytes[at] ^= 1 << stream.below(8),
            _ => {
                let to = (at + 9).min(bytes.len());
                bytes.splice(at..to, *b"[[[\"a\"]]]").for_each(drop);
            }
        }
    }
    bytes.retain(|&byte| byte != b'\n');
    bytes.push(b'\n');
    bytes
}

/// Sends damaged lines and reads what comes, until all are sent; comes again where a conversation was ended.
fn damaged_lines(hostile: &Hostile<'_>) {
    let (mut connection, mut n) = (Connection::new(hostile), hostile.client);
    while hostile.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
        n += 7;
        let line = &hostile.damaged[n % hostile.damaged.len()];
        let heard = line.trim_ascii().is_empty() || connection.as_mut().is_some_and(|it| it.is_answered(line));
        assert!(heard, "the connection lives");
        if connection.as_ref().is_some_and(Connection::is_over) {
            connection = Connection::new(hostile);
        }
    }
}

/// A connection, and the answer that came last.
struct Connection {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
    answer: String,
}

impl Connection {
    fn new(hostile: &Hostile<'_>) -> Option<Self> {
        let stream = hostile.connect()?;
        Some(Self { reader: BufReader::new(stream.try_clone().ok()?), stream, answer: String::new() })
    }

    fn is_answered(&mut self, line: &[u8]) -> bool {
        self.answer.clear();
        self.stream.write_all(line).is_ok() && self.reader.read_line(&mut self.answer).is_ok_and(|bytes| bytes > 0)
    }

    fn is_over(&self) -> bool {
        self.answer.contains("; the conversation ends")
    }
}

/// Lines of megabytes, of brackets, of graphs that are long or dense on purpose.
fn huge_lines(hostile: &Hostile<'_>) {
    let stages = |parents: &dyn Fn(usize) -> String, n: usize| {
        let stage = |i: usize| format!("{{\"tasks\":1,\"rough_ms\":1,\"parents\":[{}]}}", parents(i));
        (0..n).map(stage).collect::<Vec<_>>().join(",")
    };
    let state = |stages: &str| {
        format!(
            "{{\"state\":{{\"num_executors\":1,\"offered\":1,\"jobs\":[{{\"id\":1,\"arrival_ms\":0,\"stages\":[{stages}]}}]}}}}\n"
        )
    };
    let list = |from: usize, to: usize| (from..to).map(|p| p.to_string()).collect::<Vec<_>>().join(",");
    let lines = [
        "x".repeat(8 << 20) + "\n",
        "[".repeat(1 << 20) + "\n",
        state(&stages(&|i| if i == 0 { String::new() } else { (i - 1).to_string() }, 2_700)),
        state(&stages(&|i| list(0, i), 600)),
        state(&stages(&|_| String::new(), 30_000)),
        state("{\"tasks\":1000000,\"rough_ms\":1}")
            .replace("\"num_executors\":1,\"offered\":1", "\"num_executors\":30000,\"offered\":30000"),
    ];
    let mut connection: Option<Connection> = None;
    for line in lines.iter().cycle().skip(hostile.client) {
        if !hostile.goes_on() {
            return;
        }
        connection = connection.filter(|it| !it.is_over()).or_else(|| Connection::new(hostile));
        connection = connection.and_then(|mut it| it.is_answered(line.as_bytes()).then_some(it));
    }
}

/// Comes, says half a line, and goes.
fn vanishing(hostile: &Hostile<'_>) {
    while hostile.goes_on() {
        if let Some(mut stream) = hostile.connect() {
            let line = &hostile.damaged[hostile.client];
            // Whether it is heard is all the same.
            let _ = stream.write_all(&line[..line.len() / 2]);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Comes and goes, as fast as it can.
fn hanging_up(hostile: &Hostile<'_>) {
    while hostile.goes_on() {
        drop(hostile.connect());
    }
}

/// Says half a line and stays.
fn stalling(hostile: &Hostile<'_>) {
    while hostile.goes_on() {
        let Some(mut stream) = hostile.connect() else { return };
        let _ = stream.write_all(b"{\"id\":");
        while hostile.goes_on() && stream.write_all(b" ").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Writes as fast as it is let and never reads.
fn flooding(hostile: &Hostile<'_>) {
    while hostile.goes_on() {
        let Some(mut stream) = hostile.connect() else { return };
        if stream.set_write_timeout(Some(Duration::from_millis(200))).is_err() {
            return;
        }
        while hostile.goes_on() && stream.write_all(&hostile.damaged[hostile.client]).is_ok() {}
    }
}
