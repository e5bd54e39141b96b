//! Lines to a process and a line back, in time: whatever holds its pipes, reads nothing or writes without end.

use std::{
    process::{ChildStdin, ChildStdout},
    time::{Duration, Instant},
};

/// The longest answer, in bytes.
const LONGEST: usize = 64 << 20;
/// How long a silent process may be gone before somebody looks.
const LOOK: Duration = Duration::from_millis(20);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The time was over.
    TimedOut,
    /// The process is gone, or has closed its output, after these bytes.
    Ended(Vec<u8>),
    /// The answer has no end.
    TooLong,
    /// There was more after the answer.
    More(Vec<u8>),
}

/// The line that came so far, with its end once it is whole.
struct Answer<'a> {
    line: &'a mut Vec<u8>,
    whole: bool,
}

impl Answer<'_> {
    /// Takes in what was read.
    fn add(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.whole {
            return if bytes.is_empty() { Ok(()) } else { Err(Failure::More(bytes.to_vec())) };
        }
        let end = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |end| end + 1);
        self.line.extend_from_slice(&bytes[..end]);
        self.whole = self.line.last() == Some(&b'\n');
        match self.line.len() > LONGEST {
            true => Err(Failure::TooLong),
            false => self.add_rest(&bytes[end..]),
        }
    }

    fn add_rest(&mut self, rest: &[u8]) -> Result<(), Failure> {
        if rest.is_empty() { Ok(()) } else { Err(Failure::More(rest.to_vec())) }
    }

    fn ended(&mut self) -> Failure {
        Failure::Ended(std::mem::take(self.line))
    }
}

#[cfg(unix)]
pub(super) use unix::Pipes;

#[cfg(unix)]
mod unix {
    use super::{Answer, ChildStdin, ChildStdout, Duration, Failure, Instant, LOOK};
    use std::{
        io::{ErrorKind, Read, Write},
        os::fd::{AsRawFd, RawFd},
    };

    /// Standard input and output of a process. Neither ever blocks.
    pub(in super::super) struct Pipes {
        stdin: Option<ChildStdin>,
        stdout: ChildStdout,
        buffer: Box<[u8]>,
    }

    impl Pipes {
        pub(in super::super) fn new(stdin: ChildStdin, stdout: ChildStdout) -> std::io::Result<Self> {
            never_block(stdin.as_raw_fd())?;
            never_block(stdout.as_raw_fd())?;
            Ok(Self { stdin: Some(stdin), stdout, buffer: vec![0; 1 << 16].into_boxed_slice() })
        }

        /// Tells the process that nothing more will come.
        pub(in super::super) fn close(&mut self) {
            self.stdin = None;
        }

        /// Sends `lines` and reads one into `line`. `has_ended` says whether the process is gone: another process may hold its
        /// output open.
        pub(in super::super) fn ask(
            &mut self,
            mut lines: &[u8],
            line: &mut Vec<u8>,
            deadline: Instant,
            has_ended: impl Fn() -> bool,
        ) -> Result<(), Failure> {
            let mut answer = Answer { line, whole: false };
            // Who does not read may still have written something that explains why.
            let (mut heard, mut ended) = (true, false);
            while !(answer.whole && lines.is_empty()) {
                if let (Some(stdin), false) = (&mut self.stdin, lines.is_empty()) {
                    match stdin.write(lines) {
                        Ok(written) => lines = &lines[written..],
                        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                        Err(_) => (heard, lines) = (false, &[]),
                    }
                }
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(Failure::TimedOut);
                }
                let stdin = self.stdin.as_ref().filter(|_| !lines.is_empty()).map(AsRawFd::as_raw_fd);
                let pause = if ended { Duration::ZERO } else { left.min(LOOK) };
                if !wait(stdin, self.stdout.as_raw_fd(), pause) {
                    // What it wrote before its end has been read.
                    if ended {
                        return Err(answer.ended());
                    }
                    ended = has_ended();
                    continue;
                }
                match self.stdout.read(&mut self.buffer) {
                    Ok(0) => return Err(answer.ended()),
                    Ok(read) => answer.add(&self.buffer[..read])?,
                    Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                    Err(_) => return Err(answer.ended()),
                }
            }
            if heard { Ok(()) } else { Err(answer.ended()) }
        }
    }

    fn never_block(fd: RawFd) -> std::io::Result<()> {
        // SAFETY: both calls take numbers, and the descriptor is open.
        let done = unsafe { libc::fcntl(fd, libc::F_SETFL, libc::fcntl(fd, libc::F_GETFL) | libc::O_NONBLOCK) };
        if done < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until something can be read, or written where `stdin` is given; false if nothing can when the time is over.
    fn wait(stdin: Option<RawFd>, stdout: RawFd, time: Duration) -> bool {
        let of = |fd, events| libc::pollfd { fd, events, revents: 0 };
        // A negative descriptor is left out.
        let mut fds = [of(stdout, libc::POLLIN), of(stdin.unwrap_or(-1), libc::POLLOUT)];
        // Rounded up: what is nearly over must not be asked for again and again.
        let ms = time.as_micros().div_ceil(1000) as libc::c_int;
        // SAFETY: the array holds as many entries as are named.
        unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, ms) > 0 }
    }
}

#[cfg(not(unix))]
pub(super) use threads::Pipes;

#[cfg(not(unix))]
mod threads {
    use super::{Answer, ChildStdin, ChildStdout, Failure, Instant, LOOK};
    use std::{
        io::{Read, Write},
        sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
        thread,
    };

    /// Standard input and output of a process; a thread reads. Who does not read its input is waited for.
    pub(in super::super) struct Pipes {
        stdin: Option<ChildStdin>,
        read: Receiver<Vec<u8>>,
    }

    impl Pipes {
        pub(in super::super) fn new(stdin: ChildStdin, mut stdout: ChildStdout) -> std::io::Result<Self> {
            let (send, read) = sync_channel(16);
            thread::Builder::new().spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(n @ 1..) = stdout.read(&mut buffer) {
                    if send.send(buffer[..n].to_vec()).is_err() {
                        break;
                    }
                }
            })?;
            Ok(Self { stdin: Some(stdin), read })
        }

        pub(in super::super) fn close(&mut self) {
            self.stdin = None;
        }

        pub(in super::super) fn ask(
            &mut self,
            lines: &[u8],
            line: &mut Vec<u8>,
            deadline: Instant,
            has_ended: impl Fn() -> bool,
        ) -> Result<(), Failure> {
            let mut answer = Answer { line, whole: false };
            let heard = self.stdin.as_mut().is_some_and(|stdin| stdin.write_all(lines).is_ok());
            let mut ended = false;
            while !answer.whole {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(Failure::TimedOut);
                }
                match self.read.recv_timeout(left.min(LOOK)) {
                    Ok(bytes) => answer.add(&bytes)?,
                    Err(RecvTimeoutError::Disconnected) => return Err(answer.ended()),
                    Err(RecvTimeoutError::Timeout) if ended => return Err(answer.ended()),
                    Err(RecvTimeoutError::Timeout) => ended = has_ended(),
                }
            }
            if heard { Ok(()) } else { Err(answer.ended()) }
        }
    }
}
