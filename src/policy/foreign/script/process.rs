//! A child process that answers lines with lines: asked in time, and never left behind.
//!
//! On Unix it gets a process group of its own. Ctrl-C in the terminal then does not reach it, so that a recording ends by its
//! own rules, and whatever the process has started in that group ends with it.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long a process may take to end after its input has ended.
const GRACE: Duration = Duration::from_millis(500);
/// The longest answer, in bytes.
const LONGEST: u64 = 64 << 20;
/// How many of the last lines on standard error are kept, and how many bytes of each.
const KEPT_LINES: usize = 12;
const KEPT_BYTES: usize = 300;
/// How many characters of a line an error shows.
const SHOWN: usize = 200;

/// All processes that may still run.
static RUNNING: Mutex<Vec<Weak<Running>>> = Mutex::new(Vec::new());

/// Ends all processes that scripts have started, without waiting for answers. For a program that is about to exit at once;
/// otherwise processes end when the last copy of their policy is dropped.
pub fn kill_processes() {
    for running in lock(&RUNNING).iter().filter_map(Weak::upgrade) {
        running.kill();
    }
}

/// What is guarded stays sound even where a thread has panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The beginning of a line, for an error.
pub(super) fn cut(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], line.len()),
        None => text.to_owned(),
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The time was over, and the process was killed.
    TimedOut,
    /// The process is gone, or has closed its output, after these bytes.
    Ended(Vec<u8>),
    /// The answer has no end.
    TooLong,
    /// There was more after the answer.
    More(Vec<u8>),
}

/// What a process left behind.
pub(super) struct LastWords {
    /// In what way it ended.
    pub(super) how: String,
    /// The last lines on its standard error, introduced; or nothing.
    pub(super) stderr: String,
}

/// A child and its group.
struct Running {
    child: Mutex<Child>,
}

impl Running {
    fn kill(&self) {
        let mut child = lock(&self.child);
        // Once it has been waited for, its number may be that of another process.
        if matches!(child.try_wait(), Ok(None)) {
            kill_group(child.id());
            let _ = child.kill();
        }
    }

    /// Waits until it has ended by itself; kills it when the grace is over.
    fn wait(&self, grace: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + grace;
        loop {
            if let Ok(Some(status)) = lock(&self.child).try_wait() {
                return Some(status);
            }
            if Instant::now() >= end {
                break;
            }
            thread::sleep(Duration::from_millis(3));
        }
        self.kill();
        let _ = lock(&self.child).wait();
        None
    }
}

/// Ends all processes of a group.
#[cfg(unix)]
fn kill_group(group: u32) {
    const SIGKILL: i32 = 9;
    // SAFETY: `kill` of the system's C library, which takes two numbers and keeps nothing.
    unsafe extern "C" {
        safe fn kill(pid: i32, signal: i32) -> i32;
    }
    if let Ok(group @ 2..) = i32::try_from(group) {
        kill(-group, SIGKILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_group: u32) {}

/// Kills a process that does not answer in time.
#[derive(Default)]
struct Watch {
    state: Mutex<WatchState>,
    wake: Condvar,
}

#[derive(Default)]
struct WatchState {
    deadline: Option<Instant>,
    expired: bool,
    over: bool,
}

impl Watch {
    fn run(&self, timeout: Duration, running: &Running) {
        let mut state = lock(&self.state);
        while !state.over {
            let now = Instant::now();
            // Without a deadline it may sleep for the whole time: no deadline that is set meanwhile is earlier.
            let left = state.deadline.map_or(timeout, |deadline| deadline.saturating_duration_since(now));
            if left.is_zero() {
                (state.expired, state.deadline) = (true, None);
                running.kill();
                continue;
            }
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Begins to count; `None` ends it. Whether the time was over before.
    fn set(&self, deadline: Option<Instant>) -> bool {
        let mut state = lock(&self.state);
        state.deadline = deadline;
        state.expired
    }
}

/// A running process.
pub(super) struct Process {
    running: Arc<Running>,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    timeout: Duration,
    watch: Arc<Watch>,
    watcher: Option<JoinHandle<()>>,
    stderr: Arc<Mutex<VecDeque<String>>>,
    listener: Option<JoinHandle<()>>,
    line: Vec<u8>,
}

impl Process {
    /// Starts a program; it has to answer each time within `timeout`.
    pub(super) fn start(words: &[String], timeout: Duration) -> std::io::Result<Self> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Python holds lines back if its output is no terminal; many would wait for an answer that was given.
        command.env("PYTHONUNBUFFERED", "1");
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        // All three are there, since all three were asked for.
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let running = Arc::new(Running { child: Mutex::new(child) });
        {
            let mut all = lock(&RUNNING);
            all.retain(|running| running.strong_count() > 0);
            all.push(Arc::downgrade(&running));
        }
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            running.wait(Duration::ZERO);
            return Err(std::io::Error::other("the process has no output"));
        };
        let (watch, kept) = (Arc::new(Watch::default()), Arc::new(Mutex::new(VecDeque::new())));
        let watcher = thread::spawn({
            let (watch, running) = (Arc::clone(&watch), Arc::clone(&running));
            move || watch.run(timeout, &running)
        });
        let listener = thread::spawn({
            let kept = Arc::clone(&kept);
            move || keep_last_lines(BufReader::new(stderr), &kept)
        });
        Ok(Self {
            running,
            stdin,
            stdout: BufReader::with_capacity(1 << 16, stdout),
            timeout,
            watch,
            watcher: Some(watcher),
            stderr: kept,
            listener: Some(listener),
            line: Vec::new(),
        })
    }

    /// Sends lines and waits for one in answer to the last of them, which is returned with its end of line.
    pub(super) fn ask(&mut self, lines: &[u8]) -> Result<&[u8], Failure> {
        self.watch.set(Some(Instant::now() + self.timeout));
        self.line.clear();
        // Who does not read may still have written something that explains why.
        let sent = self.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(lines));
        let read = (&mut self.stdout).take(LONGEST).read_until(b'\n', &mut self.line);
        if self.watch.set(None) {
            return Err(Failure::TimedOut);
        }
        match self.line.last() {
            _ if self.line.len() as u64 == LONGEST => Err(Failure::TooLong),
            Some(b'\n') if read.is_ok() && sent.is_ok() => match self.stdout.buffer() {
                [] => Ok(&self.line),
                more => Err(Failure::More(more.to_vec())),
            },
            _ => Err(Failure::Ended(std::mem::take(&mut self.line))),
        }
    }

    /// Ends the process, if it has not ended yet, and says how it ended.
    pub(super) fn end(mut self) -> LastWords {
        self.finish()
    }

    fn finish(&mut self) -> LastWords {
        // The end of its input tells a process to end.
        self.stdin = None;
        let status = self.running.wait(GRACE);
        lock(&self.watch.state).over = true;
        self.watch.wake.notify_all();
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
        if let Some(listener) = self.listener.take() {
            // Something that has left the group may hold standard error open; it is not waited for.
            let end = Instant::now() + GRACE;
            while !listener.is_finished() && Instant::now() < end {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let kept = lock(&self.stderr);
        let stderr = match kept.is_empty() {
            true => String::new(),
            false => {
                let lines: Vec<String> = kept.iter().map(|line| format!("\n    {line}")).collect();
                format!("; its standard error ends with{}", lines.concat())
            }
        };
        let how = status.map_or("closed its standard output".to_owned(), |status| format!("ended ({status})"));
        LastWords { how, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.watcher.is_some() {
            self.finish();
        }
    }
}

/// Reads lines until there are no more.
fn keep_last_lines(mut from: impl BufRead, kept: &Mutex<VecDeque<String>>) {
    let mut line = Vec::new();
    // A line that is too long comes as several.
    while let Ok(1..) = (&mut from).take(1 << 16).read_until(b'\n', &mut line) {
        let text = String::from_utf8_lossy(&line[..line.len().min(KEPT_BYTES)]).trim_end().to_owned();
        line.clear();
        if text.is_empty() {
            continue;
        }
        let mut kept = lock(kept);
        if kept.len() == KEPT_LINES {
            kept.pop_front();
        }
        kept.push_back(text);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn start(script: &str, timeout_ms: u64) -> Process {
        let words = ["sh", "-c", script].map(str::to_owned);
        Process::start(&words, Duration::from_millis(timeout_ms)).unwrap()
    }

    /// Whether a process of this number is there and no zombie.
    fn runs(id: u32) -> bool {
        std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn lines_are_answered_until_the_end_of_input() {
        let mut process = start("while read line; do echo \"got $line\"; done", 60_000);
        for question in ["a", "b"] {
            assert_eq!(
                process.ask(format!("{question}\n").as_bytes()).unwrap(),
                format!("got {question}\n").as_bytes()
            );
        }
        let last = process.end();
        assert_eq!((&*last.how, &*last.stderr), ("ended (exit status: 0)", ""));
    }

    #[test]
    fn a_process_that_ends_leaves_its_last_words() {
        let mut process =
            start("read line; printf half; for i in 1 2 3; do echo \"word $i\" >&2; done; exit 3", 60_000);
        assert!(matches!(process.ask(b"a\n").unwrap_err(), Failure::Ended(partial) if partial == b"half"));
        let last = process.end();
        assert_eq!(last.how, "ended (exit status: 3)");
        assert!(last.stderr.ends_with("\n    word 1\n    word 2\n    word 3"), "{}", last.stderr);
    }

    #[test]
    fn silence_ends_in_time_and_leaves_no_process() {
        let started = Instant::now();
        // The loop does not end with its input; nor does the process that it has started.
        let mut process = start("sleep 1000 & echo $!; while :; do sleep 1000; done", 300);
        let child: u32 = std::str::from_utf8(process.ask(b"").unwrap()).unwrap().trim().parse().unwrap();
        let parent = lock(&process.running.child).id();
        assert!(runs(child) && runs(parent));
        assert!(matches!(process.ask(b"a\n"), Err(Failure::TimedOut)));
        drop(process);
        assert!(started.elapsed() < Duration::from_secs(20));
        assert!(!runs(parent));
        let end = Instant::now() + Duration::from_secs(10);
        while runs(child) {
            assert!(Instant::now() < end, "{child} still runs");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn who_does_not_read_is_timed_out_too() {
        let mut process = start("exec sleep 1000", 300);
        let lines = vec![b'x'; 1 << 20];
        assert!(matches!(process.ask(&lines), Err(Failure::TimedOut)));
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let process = start("exec sleep 1000", 60_000);
        let id = lock(&process.running.child).id();
        assert!(runs(id));
        drop(process);
        assert!(!runs(id));
    }

    #[test]
    fn more_than_one_line_is_noticed() {
        let mut process = start("read line; printf 'a\\nb\\n'; read line", 60_000);
        assert!(matches!(process.ask(b"a\n"), Err(Failure::More(more)) if more == b"b\n"));
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!(cut(b"short\n"), "short");
        let long = cut("é".repeat(500).as_bytes());
        assert!(long.ends_with("... (1000 bytes)") && long.chars().count() < 230, "{long}");
    }
}
