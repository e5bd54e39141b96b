//! A child process that answers lines with lines: asked in time, and never left behind.

use super::{
    family::{self, Family},
    pipe::{Failure, Pipes},
};
use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long a process may take to end after its input has ended, and to be gone after it was killed.
const GRACE: Duration = Duration::from_millis(500);
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
    let running = std::mem::take(&mut *lock(&RUNNING));
    if running.is_empty() {
        return;
    }
    running.iter().filter_map(Weak::upgrade).for_each(|running| running.kill());
    family::kill_all();
}

/// What is guarded stays sound even where a thread has panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The beginning of a line, for an error. What would act on a terminal is written out.
pub(super) fn cut(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(8 * SHOWN)]);
    let mut shown: String = text.trim_end().chars().take(SHOWN).flat_map(escaped).collect();
    if text.trim_end().chars().nth(SHOWN).is_some() {
        shown += &format!("... ({} bytes)", line.len());
    }
    shown
}

/// A character as it is, or written out if it controls a terminal.
pub(super) fn escaped(c: char) -> impl Iterator<Item = char> {
    let written_out = c.is_control().then(|| c.escape_default());
    let as_it_is = written_out.is_none().then_some(c);
    as_it_is.into_iter().chain(written_out.into_iter().flatten())
}

/// What a process left behind.
pub(super) struct LastWords {
    /// In what way it ended.
    pub(super) how: String,
    /// The last lines on its standard error, introduced; or nothing.
    pub(super) stderr: String,
}

/// A child and all that it has started.
struct Running {
    /// Its number; that of another process once `child` is empty.
    id: u32,
    /// Empty once it has been waited for.
    child: Mutex<Option<Child>>,
    family: Family,
}

impl Running {
    fn kill(&self) {
        match &mut *lock(&self.child) {
            Some(child) => {
                self.family.kill(self.id);
                // Where there are no groups.
                let _ = child.kill();
            }
            None => self.family.kill_rest(),
        }
    }

    fn has_ended(&self) -> bool {
        #[cfg(unix)]
        return family::has_ended(self.id);
        #[cfg(not(unix))]
        lock(&self.child).as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// Waits for a while until it has ended.
    fn ends_within(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while !self.has_ended() {
            if Instant::now() >= end {
                return false;
            }
            thread::sleep(Duration::from_millis(3));
        }
        true
    }

    /// Waits until it has ended by itself and kills it when the grace is over; in either case ends what it has started.
    fn end(&self, grace: Duration) -> Option<ExitStatus> {
        let by_itself = self.ends_within(grace);
        self.kill();
        // A process that not even this ends waits for the system, which this program does not do.
        let status = match self.ends_within(GRACE) {
            true => lock(&self.child).take().and_then(|mut child| child.wait().ok()),
            false => None,
        };
        // What it started at the last moment.
        self.family.kill_rest();
        status.filter(|_| by_itself)
    }
}

/// A running process.
pub(super) struct Process {
    running: Arc<Running>,
    pipes: Pipes,
    timeout: Duration,
    stderr: Arc<Mutex<VecDeque<String>>>,
    /// Reads standard error; gone once the process has been ended.
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
        let (family, mut child) = Family::start(command)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let running = Arc::new(Running { id: child.id(), child: Mutex::new(Some(child)), family });
        {
            let mut all = lock(&RUNNING);
            all.retain(|running| running.strong_count() > 0);
            all.push(Arc::downgrade(&running));
        }
        let begin = || {
            // All three are there, since all three were asked for.
            let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
                return Err(std::io::Error::other("the process has no output"));
            };
            let kept = Arc::new(Mutex::new(VecDeque::new()));
            let listener = thread::Builder::new().spawn({
                let kept = Arc::clone(&kept);
                move || keep_last_lines(BufReader::new(stderr), &kept)
            })?;
            Ok((Pipes::new(stdin, stdout)?, kept, listener))
        };
        let (pipes, stderr, listener) = begin().inspect_err(|_| {
            running.end(Duration::ZERO);
        })?;
        Ok(Self { running, pipes, timeout, stderr, listener: Some(listener), line: Vec::new() })
    }

    /// Sends lines and waits for one in answer to the last of them, which is returned with its end of line.
    pub(super) fn ask(&mut self, lines: &[u8]) -> Result<&[u8], Failure> {
        self.line.clear();
        let deadline = Instant::now() + self.timeout;
        self.pipes.ask(lines, &mut self.line, deadline, || self.running.has_ended())?;
        Ok(&self.line)
    }

    /// Ends the process, if it has not ended yet, and says how it ended.
    pub(super) fn end(mut self) -> LastWords {
        self.finish(GRACE)
    }

    /// Ends the process, which had its chance to answer.
    pub(super) fn end_now(mut self) -> LastWords {
        self.finish(Duration::ZERO)
    }

    fn finish(&mut self, grace: Duration) -> LastWords {
        // The end of its input tells a process to end.
        self.pipes.close();
        let status = self.running.end(grace);
        if let Some(listener) = self.listener.take() {
            // What could not be ended may hold standard error open; it is not waited for.
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
        if self.listener.is_some() {
            self.finish(GRACE);
        }
    }
}

/// Reads lines until there are no more.
fn keep_last_lines(mut from: impl BufRead, kept: &Mutex<VecDeque<String>>) {
    let mut line = Vec::new();
    // A line that is too long comes as several.
    while let Ok(1..) = (&mut from).take(1 << 16).read_until(b'\n', &mut line) {
        let text = String::from_utf8_lossy(&line[..line.len().min(KEPT_BYTES)]);
        let text: String = text.trim_end().chars().flat_map(escaped).collect();
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
        let parent = process.running.id;
        assert!(runs(child) && runs(parent));
        assert!(matches!(process.ask(b"a\n"), Err(Failure::TimedOut)));
        drop(process);
        assert!(started.elapsed() < Duration::from_secs(20));
        assert!(!runs(parent));
        goes(child);
    }

    /// Waits until a process is gone.
    fn goes(id: u32) {
        let end = Instant::now() + Duration::from_secs(10);
        while runs(id) {
            assert!(Instant::now() < end, "{id} still runs");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn number(line: &[u8]) -> u32 {
        std::str::from_utf8(line).unwrap().trim().parse().unwrap()
    }

    #[test]
    fn a_death_is_noticed_though_a_child_holds_the_output() {
        let mut process = start("sleep 1000 & echo $!; read line; kill -9 $$", 600_000);
        let child = number(process.ask(b"").unwrap());
        assert!(runs(child));
        let begin = Instant::now();
        assert!(matches!(process.ask(b"a\n"), Err(Failure::Ended(partial)) if partial.is_empty()));
        let last = process.end();
        assert!(begin.elapsed() < Duration::from_secs(30));
        assert!(last.how.contains("signal: 9"), "{}", last.how);
        goes(child);
    }

    #[test]
    fn what_a_process_has_written_before_its_end_is_read() {
        let mut process = start("sleep 1000 & read line; echo answer; printf more; exit 0", 600_000);
        assert!(matches!(process.ask(b"a\n"), Ok(b"answer\n") | Err(Failure::More(_))));
        drop(process);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn children_in_sessions_of_their_own_end_too() {
        let mut process = start("setsid sleep 1000 & echo $!; read line; echo $line", 60_000);
        let child = number(process.ask(b"").unwrap());
        assert_eq!(process.ask(b"a\n").unwrap(), b"a\n");
        assert!(runs(child));
        assert_eq!(process.end().how, "ended (exit status: 0)");
        goes(child);
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
        let id = process.running.id;
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
