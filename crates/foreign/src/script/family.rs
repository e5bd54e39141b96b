//! All that a process has started: how it is found and ended.
//!
//! On Unix a process gets a group of its own. Ctrl-C in the terminal then does not reach it, so that a recording ends by its
//! own rules, and what it has started in that group ends with it. On Linux it also carries a mark in its environment, which
//! whatever it starts inherits: so what has left the group is found too, unless it has wiped its environment as well. And the
//! system ends it when this program is killed; what it has started is then no longer followed.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    io,
    process::{Child, Command},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// Name of the mark in the environment.
const MARK: &str = "DISTILL_SCRIPT";

/// What the marks of this program begin with.
static OURS: LazyLock<String> = LazyLock::new(|| format!("{:016x}-", RandomState::new().build_hasher().finish()));

/// A process with all that it starts.
#[derive(Debug)]
pub(super) struct Family {
    mark: String,
}

impl Family {
    /// Starts a process as the head of a family.
    pub(super) fn start(mut command: Command) -> io::Result<(Self, Child)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let family = Self { mark: format!("{}{}.", *OURS, NUMBER.fetch_add(1, Ordering::Relaxed)) };
        command.env(MARK, &family.mark);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok((family, spawn(command)?))
    }

    /// Ends all of it. The head must not have been waited for: its number could be that of another process.
    pub(super) fn kill(&self, head: u32) {
        kill_group(head);
        kill_marked(&self.mark);
    }

    /// Ends what is left of it once the head has been waited for.
    pub(super) fn kill_rest(&self) {
        kill_marked(&self.mark);
    }
}

/// Ends the families of this program that are left.
pub(super) fn kill_all() {
    kill_marked(&OURS);
}

/// Whether a process has ended. It is not waited for, so that its number stays its own.
#[cfg(unix)]
pub(super) fn has_ended(child: u32) -> bool {
    // SAFETY: a structure of numbers may be zero, and the call only fills it.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // A process that somebody has waited for is gone as well.
        libc::waitid(libc::P_PID, child, &raw mut info, how) != 0 || info.si_pid() != 0
    }
}

#[cfg(unix)]
fn kill_group(head: u32) {
    if let Ok(group @ 2..) = i32::try_from(head) {
        // SAFETY: takes two numbers and keeps nothing.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

#[cfg(not(unix))]
fn kill_group(_head: u32) {}

/// Ends the processes whose environment holds a mark that begins so.
#[cfg(target_os = "linux")]
fn kill_marked(mark: &str) {
    let entry = format!("{MARK}={mark}");
    // What is found may have started others meanwhile.
    for _ in 0..20 {
        let found = marked(entry.as_bytes());
        if found.is_empty() {
            return;
        }
        for process in found {
            // SAFETY: takes two numbers and keeps nothing.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[cfg(not(target_os = "linux"))]
fn kill_marked(_mark: &str) {}

/// Numbers of the processes, other than this one, in whose environment a variable begins with `entry`.
#[cfg(target_os = "linux")]
fn marked(entry: &[u8]) -> Vec<i32> {
    let number = |name: std::ffi::OsString| name.to_str()?.parse::<i32>().ok();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|p| number(p.file_name()));
    let is_marked = |process: &i32| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable.starts_with(entry))
    };
    let us = std::process::id();
    all.filter(|&process| process > 1 && process.unsigned_abs() != us).filter(is_marked).collect()
}

/// Starts a process that the system ends with this program. That is bound to the thread that starts it, so a thread that
/// lives as long as the program starts them all.
#[cfg(target_os = "linux")]
fn spawn(mut command: Command) -> io::Result<Child> {
    use std::{
        os::unix::process::CommandExt,
        sync::mpsc::{Sender, channel},
    };
    type Order = (Command, Sender<io::Result<Child>>);
    static STARTER: LazyLock<io::Result<std::sync::Mutex<Sender<Order>>>> = LazyLock::new(|| {
        let (orders, received) = channel::<Order>();
        std::thread::Builder::new().name("starts scripts".to_owned()).spawn(move || {
            for (mut command, answer) in received {
                // Who asked waits for the answer.
                let _ = answer.send(command.spawn());
            }
        })?;
        Ok(std::sync::Mutex::new(orders))
    });
    let us = std::process::id();
    // SAFETY: between fork and exec only calls to the system are made, none of which allocates.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // The program may have ended before it was asked for.
            match libc::getppid().unsigned_abs() == us {
                true => Ok(()),
                false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        });
    }
    let gone = || io::Error::other("the thread that starts scripts is gone");
    let orders = STARTER.as_ref().map_err(|e| io::Error::new(e.kind(), e.to_string()))?;
    let (answer, answered) = channel();
    orders.lock().map_err(|_| gone())?.send((command, answer)).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

#[cfg(not(target_os = "linux"))]
fn spawn(mut command: Command) -> io::Result<Child> {
    command.spawn()
}
