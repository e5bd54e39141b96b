//! Who may work when many want to: whoever has worked least of late.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Time in which what a client has used is halved.
const HALF_LIFE: f64 = 1.0;

/// As many places as there are processors. Where all are taken, clients wait, and the one that has used least comes first: whoever
/// floods a server waits for himself.
#[derive(Debug)]
pub(super) struct Turns {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// What those that wait have used, in no order.
    waiting: Vec<(f64, u64)>,
    next: u64,
}

/// What one client has used, s of work that are forgotten by and by.
#[derive(Debug)]
pub(super) struct Usage {
    seconds: f64,
    at: Instant,
}

impl Usage {
    pub(super) fn new() -> Self {
        Self { seconds: 0.0, at: Instant::now() }
    }

    fn now(&mut self) -> f64 {
        let now = Instant::now();
        self.seconds *= (-(now - self.at).as_secs_f64() / HALF_LIFE).exp2();
        self.at = now;
        self.seconds
    }

    fn add(&mut self, used: Duration) {
        self.seconds = self.now() + used.as_secs_f64();
    }
}

impl Turns {
    pub(super) fn new(places: usize) -> Self {
        let state = State { free: places.max(1), waiting: Vec::new(), next: 0 };
        Self { state: Mutex::new(state), freed: Condvar::new() }
    }

    /// Works once a place is free.
    pub(super) fn take<T>(&self, usage: &mut Usage, work: impl FnOnce() -> T) -> T {
        self.enter(usage.now());
        let place = Place(self);
        let began = Instant::now();
        let done = work();
        usage.add(began.elapsed());
        drop(place);
        done
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Numbers alone, which no panic leaves half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, used: f64) {
        let mut state = self.state();
        if state.free > 0 && state.waiting.is_empty() {
            state.free -= 1;
            return;
        }
        let me = state.next;
        state.next += 1;
        state.waiting.push((used, me));
        loop {
            let first = state.waiting.iter().min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            if state.free > 0 && first.is_some_and(|first| first.1 == me) {
                state.free -= 1;
                state.waiting.retain(|waiting| waiting.1 != me);
                // Another place may be free for the next.
                self.freed.notify_all();
                return;
            }
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A place that is given back, also by a panic.
struct Place<'a>(&'a Turns);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.free += 1;
        if !state.waiting.is_empty() {
            self.0.freed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn whoever_has_used_least_comes_first() {
        let turns = Turns::new(1);
        let (order, came) = channel();
        std::thread::scope(|scope| {
            let mut holder = Usage::new();
            turns.take(&mut holder, || {
                for used in [3.0, 0.5, 2.0, 1.0] {
                    let (turns, order) = (&turns, order.clone());
                    scope.spawn(move || {
                        let mut usage = Usage { seconds: used, at: Instant::now() };
                        turns.take(&mut usage, || order.send(used).unwrap());
                    });
                }
                while turns.state().waiting.len() < 4 {
                    std::thread::yield_now();
                }
            });
        });
        drop(order);
        assert_eq!(came.into_iter().collect::<Vec<f64>>(), [0.5, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn a_panic_gives_its_place_back() {
        let turns = Turns::new(1);
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            turns.take(&mut Usage::new(), || panic!("on purpose"));
        }));
        assert!(died.is_err());
        assert_eq!(turns.take(&mut Usage::new(), || 7), 7);
    }

    #[test]
    fn what_was_used_is_forgotten_by_and_by() {
        let mut usage = Usage { seconds: 4.0, at: Instant::now() - Duration::from_secs(2) };
        assert!((0.9..=1.0).contains(&usage.now()), "{usage:?}");
    }
}
