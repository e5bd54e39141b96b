//! Where clients come from: a pair of pipes, or sockets with a thread per client.

#[cfg(unix)]
use super::address::unix;
use super::{
    Access, Address, AddressError, Fault, Service, Session, ShadowError, Token,
    lines::{Lines, Next},
    priority::Priority,
};
use sched_distill_core::scenario::Scenario;
use sched_distill_trace::Manifest;
#[cfg(unix)]
use std::os::{
    fd::AsRawFd,
    unix::net::{UnixListener, UnixStream},
};
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Answers that are collected while further lines are here already.
const COLLECTED: usize = 64 << 10;
/// How long a client that goes on asking is answered once the server is to end.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often somebody looks whether the server is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Nobody can listen there.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// What a shadow has noted cannot be written.
    #[error(transparent)]
    Shadow(#[from] ShadowError),
    /// A thread cannot be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

/// What a server has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Served {
    /// Clients that were let in.
    pub clients: u64,
    /// Clients that were turned away, since there were too many.
    pub turned_away: u64,
    /// Lines that came.
    pub lines: u64,
    /// What was wrong with some of them, and how often.
    pub errors: BTreeMap<Fault, u64>,
    /// The trace of a shadow; `None` if nothing was noted.
    pub log: Option<Manifest>,
}

/// A server that clients can come to.
pub struct Server<S: Scenario> {
    shared: Arc<Shared<S>>,
    addresses: Vec<Address>,
    #[cfg(unix)]
    _files: Vec<unix::SocketFile>,
}

struct Shared<S: Scenario> {
    service: Arc<Service<S>>,
    /// What each client takes up of [`super::Limits::clients`].
    slots: usize,
    room: Mutex<Room>,
    left: Condvar,
    /// When it was told to end.
    ended: OnceLock<Instant>,
    clients: AtomicU64,
    turned_away: AtomicU64,
    lines: AtomicU64,
    /// By [`Fault`].
    errors: [AtomicU64; Fault::ALL.len()],
}

/// The clients that are there.
#[derive(Default)]
struct Room {
    next: u64,
    /// Their streams, by which their threads are told to end.
    here: BTreeMap<u64, Box<dyn Wire>>,
}

impl Room {
    /// Clients that have not hung up.
    fn live(&self) -> usize {
        self.here.values().filter(|wire| !wire.is_gone()).count()
    }
}

enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

/// A stream to a client.
trait Wire: Read + Write + Send {
    fn another(&self) -> io::Result<Box<dyn Wire>>;
    fn limit(&self, patience: Duration) -> io::Result<()>;
    fn hang_up(&self, how: Shutdown);
    /// Whether whoever was there has hung up, and nothing that they sent is left to read.
    fn is_gone(&self) -> bool;
}

#[cfg(unix)]
fn is_gone(stream: &impl AsRawFd) -> bool {
    let (mut byte, how) = (0u8, libc::MSG_PEEK | libc::MSG_DONTWAIT);
    // SAFETY: room for one byte, which stays where it is.
    match unsafe { libc::recv(stream.as_raw_fd(), (&raw mut byte).cast(), 1, how) } {
        0 => true,
        1.. => false,
        _ => !matches!(io::Error::last_os_error().kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
    }
}

/// It is noticed by who reads.
#[cfg(not(unix))]
fn is_gone<T>(_: &T) -> bool {
    false
}

macro_rules! wire {
    ($stream:ty, $prepare:expr) => {
        impl Wire for $stream {
            fn another(&self) -> io::Result<Box<dyn Wire>> {
                Ok(Box::new(self.try_clone()?))
            }

            fn limit(&self, patience: Duration) -> io::Result<()> {
                let prepare: fn(&$stream) -> io::Result<()> = $prepare;
                prepare(self)?;
                self.set_read_timeout(Some(patience))?;
                self.set_write_timeout(Some(patience))
            }

            fn hang_up(&self, how: Shutdown) {
                // Who is gone already needs no word.
                let _ = self.shutdown(how);
            }

            fn is_gone(&self) -> bool {
                is_gone(self)
            }
        }
    };
}

wire!(TcpStream, |stream| stream.set_nodelay(true));
#[cfg(unix)]
wire!(UnixStream, |_| Ok(()));

impl<S: Scenario> Server<S> {
    /// Listens at the addresses, over TCP for those to whom `access` is given. Each copy of the policy starts so many `processes`.
    ///
    /// # Errors
    ///
    /// An address where nobody can listen.
    pub fn listen(
        service: Service<S>,
        processes: usize,
        addresses: &[Address],
        access: &Access,
    ) -> Result<Self, ServeError> {
        let shared = Arc::new(Shared {
            service: Arc::new(service),
            slots: 1 + processes,
            room: Mutex::default(),
            left: Condvar::new(),
            ended: OnceLock::new(),
            clients: AtomicU64::new(0),
            turned_away: AtomicU64::new(0),
            lines: AtomicU64::new(0),
            errors: Default::default(),
        });
        let mut server = Self {
            shared,
            addresses: Vec::new(),
            #[cfg(unix)]
            _files: Vec::new(),
        };
        // All listen before anybody comes: until then one thread has the process and its mask to itself.
        let listeners = addresses.iter().map(|address| server.bind(address, access)).collect::<Result<Vec<_>, _>>()?;
        for listener in listeners {
            let shared = Arc::clone(&server.shared);
            match listener {
                Listener::Tcp(listener) => {
                    let token = access.token.clone();
                    spawn("accepts TCP", move || shared.accept(token, || listener.accept().map(|(stream, _)| stream)))?;
                }
                #[cfg(unix)]
                Listener::Unix(listener) => {
                    spawn("accepts Unix", move || shared.accept(None, || listener.accept().map(|(stream, _)| stream)))?;
                }
            }
        }
        Ok(server)
    }

    fn bind(&mut self, address: &Address, access: &Access) -> Result<Listener, AddressError> {
        match address {
            Address::Tcp(host) => {
                let listener = address.listen_tcp(host, access)?;
                let bound = listener.local_addr().map_err(address.io())?;
                self.addresses.push(Address::Tcp(bound.to_string()));
                Ok(Listener::Tcp(listener))
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                let (listener, file) = unix::listen(address, path)?;
                self._files.push(file);
                self.addresses.push(address.clone());
                Ok(Listener::Unix(listener))
            }
            #[cfg(not(unix))]
            Address::Unix(_) => Err(AddressError::Form(address.to_string())),
        }
    }

    /// Where it listens; ports that were left open are filled in.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Answers until `stop` is raised, then what has come until then, and ends; after `patience` also if answers are still open.
    ///
    /// # Errors
    ///
    /// If what a shadow has noted cannot be written.
    pub fn run(self, stop: &AtomicBool, patience: Duration) -> Result<Served, ServeError> {
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
            if let Some(log) = &self.shared.service.shadow {
                // What cannot be written now is kept for the next time.
                let _ = log.write_what_is_due();
            }
        }
        let end = *self.shared.ended.get_or_init(Instant::now) + patience;
        let mut room = self.shared.room();
        // What was sent before is still read.
        room.here.values().for_each(|wire| wire.hang_up(Shutdown::Read));
        while !room.here.is_empty() && Instant::now() < end {
            room = self.shared.left.wait_timeout(room, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(room);
        self.shared.served()
    }

    /// Answers the lines of one reader until it ends.
    ///
    /// # Errors
    ///
    /// If what a shadow has noted cannot be written.
    pub fn run_piped(self, input: impl Read, output: impl Write) -> Result<Served, ServeError> {
        self.shared.clients.fetch_add(1, Ordering::Relaxed);
        self.shared.converse(input, output, None, true);
        self.shared.served()
    }
}

/// Writes an answer to a client that takes it within so long.
fn write_in_time(writer: &mut impl Write, mut out: &[u8], patience: Duration) -> io::Result<()> {
    let began = Instant::now();
    while !out.is_empty() {
        match writer.write(out) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => out = &out[n..],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if !out.is_empty() && began.elapsed() >= patience {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    writer.flush()
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), ServeError> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(|_| ()).map_err(ServeError::Thread)
}

impl<S: Scenario> Shared<S> {
    fn room(&self) -> MutexGuard<'_, Room> {
        // Entries come and go by single calls.
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn served(&self) -> Result<Served, ServeError> {
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        Ok(Served {
            clients: count(&self.clients),
            turned_away: count(&self.turned_away),
            lines: count(&self.lines),
            errors: Fault::ALL.into_iter().zip(self.errors.iter().map(count)).filter(|(_, count)| *count > 0).collect(),
            log: match &self.service.shadow {
                Some(log) => log.finish()?,
                None => None,
            },
        })
    }

    /// Lets clients in, each with a thread of its own; they have to know the `token`.
    fn accept<W: Wire + 'static>(self: Arc<Self>, token: Option<Arc<Token>>, next: impl Fn() -> io::Result<W>) {
        loop {
            let came = next();
            if self.ended.get().is_some() {
                return;
            }
            match came {
                // Who comes and goes at once costs nothing more, and keeps nobody waiting.
                Ok(wire) if wire.is_gone() => {}
                Ok(wire) => self.let_in(wire, token.clone()),
                Err(e) if matches!(e.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => {}
                // Too many open files.
                Err(_) => thread::sleep(LOOK),
            }
        }
    }

    fn let_in<W: Wire + 'static>(self: &Arc<Self>, mut wire: W, token: Option<Arc<Token>>) {
        let limits = self.service.limits;
        let most = (limits.clients / self.slots).max(1);
        let mut room = self.room();
        // Those who are gone are not counted while their threads leave, or answer what they still asked: up to as many as may be there.
        let is_full = |room: &Room| room.here.len() >= most && (room.here.len() >= 2 * most || room.live() >= most);
        if room.here.len() >= 2 * most && room.live() < most {
            let until = self.left.wait_timeout_while(room, LOOK, |room| room.here.len() >= 2 * most);
            room = until.unwrap_or_else(PoisonError::into_inner).0;
        }
        if is_full(&room) {
            drop(room);
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            let line = format!(
                "{{\"type\":\"error\",\"error\":\"too many clients: {most} are let in at a time (--max-clients)\"}}\n"
            );
            // Who does not read this goes without it.
            let _ = wire.limit(LOOK).and_then(|()| wire.write_all(line.as_bytes()));
            return;
        }
        let (Ok(()), Ok(reader), Ok(handle)) = (wire.limit(limits.patience), wire.another(), wire.another()) else {
            return;
        };
        let id = room.next;
        room.next += 1;
        room.here.insert(id, handle);
        drop(room);
        self.clients.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(self);
        let started = spawn("answers", move || {
            let gone = Gone { shared: &shared, id };
            shared.converse(reader, wire, token, false);
            drop(gone);
        });
        if started.is_err() {
            self.room().here.remove(&id);
        }
    }

    /// Answers one client until it is gone. `alone` is the one client of a pair of pipes, whose last line needs no end.
    fn converse(&self, reader: impl Read, mut writer: impl Write, token: Option<Arc<Token>>, alone: bool) {
        let limits = self.service.limits;
        // Nobody else waits for a pair of pipes.
        let patience = if alone { Duration::MAX } else { limits.patience };
        let mut lines = Lines::new(reader, limits.line, patience, alone);
        if token.is_some() {
            // Strangers are not waited for.
            lines.hurry();
        }
        // A policy may start a process: not for somebody who only looks in.
        let mut session = None;
        let (mut priority, mut out) = (Priority::new(), Vec::new());
        loop {
            let next = match lines.next() {
                Ok(Next::End) | Err(_) => break,
                Ok(next) => next,
            };
            let session = session.get_or_insert_with(|| match token.clone() {
                Some(token) => Session::new(&self.service).asking_for(token),
                None => Session::new(&self.service),
            });
            let fault = match next {
                Next::Line(line) => session.line(line, &mut out),
                Next::TooLong(bytes) => Some(session.too_long(bytes, &mut out)),
                Next::Stalled | Next::End => Some(session.stalled(&mut out)),
            };
            if let Some(fault) = fault {
                self.errors[fault as usize].fetch_add(1, Ordering::Relaxed);
            }
            self.lines.fetch_add(1, Ordering::Relaxed);
            if !alone {
                priority.look(|| self.room().here.len() > 1);
            }
            // TCP goes on reading what comes after its end was told.
            let last = session.is_over() || self.ended.get().is_some_and(|at| at.elapsed() > LAST_WORDS);
            if !out.is_empty() && (last || out.len() >= COLLECTED || !lines.is_ready()) {
                if write_in_time(&mut writer, &out, patience).is_err() {
                    break;
                }
                out.clear();
                out.shrink_to(COLLECTED);
            }
            if last {
                break;
            }
        }
    }
}

/// Takes a client out of the room, also by a panic.
struct Gone<'a, S: Scenario> {
    shared: &'a Shared<S>,
    id: u64,
}

impl<S: Scenario> Drop for Gone<'_, S> {
    fn drop(&mut self) {
        let wire = self.shared.room().here.remove(&self.id);
        if let Some(wire) = wire {
            wire.hang_up(Shutdown::Both);
        }
        self.shared.left.notify_all();
    }
}
