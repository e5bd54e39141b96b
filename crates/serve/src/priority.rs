//! Who has used much of late comes after the others: whoever floods a server waits for himself.

use std::time::Instant;

/// Time in which what a client has used is halved, s.
const HALF_LIFE: f64 = 1.0;
/// Processor time of late, s, above which a client's thread gives way to the others: a tenth of a processor for a while.
const MUCH: f64 = 0.15;

/// What the thread of a client has used, forgotten by and by.
#[derive(Debug)]
pub(super) struct Priority {
    seconds: f64,
    at: Instant,
    /// Processor time of the thread when it was looked at last, s.
    used: f64,
    low: bool,
}

impl Priority {
    pub(super) fn new() -> Self {
        Self { seconds: 0.0, at: Instant::now(), used: processor_time(), low: false }
    }

    /// Looks at what the thread has used since; once that is much while others are there, the system lets their threads come first. A client
    /// that is alone has nobody to give way to but other programs, among them its own.
    pub(super) fn look(&mut self, others: impl FnOnce() -> bool) {
        if self.low {
            return;
        }
        let (now, used) = (Instant::now(), processor_time());
        self.seconds *= (-(now - self.at).as_secs_f64() / HALF_LIFE).exp2();
        self.seconds += used - self.used;
        (self.at, self.used) = (now, used);
        if self.seconds > MUCH && others() {
            self.low = true;
            give_way();
        }
    }
}

/// Processor time of this thread, s.
#[cfg(target_os = "linux")]
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Lets all threads of usual priority come before this one.
#[cfg(target_os = "linux")]
fn give_way() {
    // SAFETY: takes numbers; 0 is this thread. A system that refuses leaves things as they are.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 15) };
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> f64 {
    0.0
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn work(seconds: f64) {
        let start = processor_time();
        while processor_time() < start + seconds {}
    }

    #[test]
    fn whoever_works_long_gives_way_and_whoever_rests_does_not() {
        std::thread::spawn(|| {
            let mut priority = Priority::new();
            for _ in 0..10 {
                work(0.001);
                std::thread::sleep(Duration::from_millis(20));
                priority.look(|| true);
            }
            assert!(!priority.low, "{priority:?}");
            work(0.2);
            priority.look(|| false);
            assert!(!priority.low, "{priority:?}");
            priority.look(|| true);
            assert!(priority.low, "{priority:?}");
        })
        .join()
        .unwrap();
    }
}
