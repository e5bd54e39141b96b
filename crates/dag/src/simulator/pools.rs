//! Pools: where executors are, which of them are idle, and to whom a pool has promised some of them.

use super::state::NONE;

/// Destination of commitments: a stage index, or [`NONE`] for the common pool.
pub(super) type Destination = u32;

#[derive(Clone, Copy, Debug)]
struct Pool {
    /// Executors in it, busy ones included.
    size: u32,
    /// Sum of its commitments.
    committed: u32,
    /// Its commitments, in the order in which their destinations were first named.
    first: u32,
    last: u32,
    /// One of its idle executors; the others follow by their links.
    idle: u32,
}

/// A promise of executors; what `next` leads to belongs to the same pool, or is free too.
#[derive(Clone, Copy, Debug)]
struct Commitment {
    destination: Destination,
    count: u32,
    next: u32,
}

/// Neighbours of an idle executor in its pool's list; `before` is [`BUSY`] for one that is in no list.
#[derive(Clone, Copy, Debug)]
struct Links {
    before: u32,
    after: u32,
}

const BUSY: u32 = NONE - 1;

/// All pools. Lists are linked through two arrays, so that nothing is allocated after the beginning.
#[derive(Clone, Debug)]
pub(super) struct Pools {
    pools: Vec<Pool>,
    commitments: Vec<Commitment>,
    /// First entry of `commitments` that is not in use.
    free: u32,
    /// By executor.
    links: Vec<Links>,
}

impl Pools {
    /// Pools `0..pools`; all executors are idle in pool 0.
    pub(super) fn new(pools: usize, executors: u32) -> Self {
        let none = Pool { size: 0, committed: 0, first: NONE, last: NONE, idle: NONE };
        let mut all = Self {
            pools: vec![none; pools],
            // A pool promises no more executors than it has, so there are hardly more commitments than executors.
            commitments: Vec::with_capacity(executors as usize),
            free: NONE,
            links: vec![Links { before: NONE, after: NONE }; executors as usize],
        };
        for e in (0..executors).rev() {
            all.enter(e, 0);
            all.rest(e, 0);
        }
        all
    }

    /// Makes so many pools of them. Those that are new or gone are empty.
    pub(super) fn resize(&mut self, pools: usize) {
        self.pools.resize(pools, Pool { size: 0, committed: 0, first: NONE, last: NONE, idle: NONE });
    }

    /// Executors in a pool, busy ones included.
    pub(super) fn size(&self, pool: u32) -> u32 {
        self.pools[pool as usize].size
    }

    /// Executors of a pool that are not promised; 0 for [`NONE`].
    pub(super) fn committable(&self, pool: u32) -> u32 {
        self.pools.get(pool as usize).map_or(0, |p| p.size.saturating_sub(p.committed))
    }

    /// Executor `e` enters a pool, busy for now.
    pub(super) fn enter(&mut self, e: u32, pool: u32) {
        self.pools[pool as usize].size += 1;
        self.links[e as usize].before = BUSY;
    }

    /// Executor `e` leaves its pool.
    pub(super) fn leave(&mut self, e: u32, pool: u32) {
        self.pools[pool as usize].size -= 1;
        let Links { before, after } = self.links[e as usize];
        if before == BUSY {
            return;
        }
        match self.links.get_mut(before as usize) {
            Some(previous) => previous.after = after,
            None => self.pools[pool as usize].idle = after,
        }
        if let Some(next) = self.links.get_mut(after as usize) {
            next.before = before;
        }
    }

    /// Executor `e` of a pool, busy so far, becomes idle.
    pub(super) fn rest(&mut self, e: u32, pool: u32) {
        let after = std::mem::replace(&mut self.pools[pool as usize].idle, e);
        self.links[e as usize] = Links { before: NONE, after };
        if let Some(next) = self.links.get_mut(after as usize) {
            next.before = e;
        }
    }

    /// Writes the idle executors of a pool to `out`, lowest id first.
    pub(super) fn idle(&self, pool: u32, out: &mut Vec<u32>) {
        out.clear();
        let mut e = self.pools[pool as usize].idle;
        while e != NONE {
            out.push(e);
            e = self.links[e as usize].after;
        }
        out.sort_unstable();
    }

    /// The destination that a pool named first among those still open.
    pub(super) fn promised(&self, pool: u32) -> Option<Destination> {
        self.commitments.get(self.pools[pool as usize].first as usize).map(|c| c.destination)
    }

    /// Writes the commitments of a pool to `out`, in order: destination and number.
    pub(super) fn commitments(&self, pool: u32, out: &mut Vec<(Destination, u32)>) {
        out.clear();
        let mut at = self.pools[pool as usize].first;
        while let Some(c) = self.commitments.get(at as usize) {
            out.push((c.destination, c.count));
            at = c.next;
        }
    }

    /// Promises `count` executors of a pool.
    pub(super) fn commit(&mut self, pool: u32, destination: Destination, count: u32) {
        let p = &mut self.pools[pool as usize];
        p.committed += count;
        let mut at = p.first;
        while let Some(c) = self.commitments.get_mut(at as usize) {
            if c.destination == destination {
                c.count += count;
                return;
            }
            at = c.next;
        }
        let new = Commitment { destination, count, next: NONE };
        let at = match self.commitments.get_mut(self.free as usize) {
            Some(unused) => {
                let at = std::mem::replace(&mut self.free, unused.next);
                *unused = new;
                at
            }
            None => {
                self.commitments.push(new);
                self.commitments.len() as u32 - 1
            }
        };
        match std::mem::replace(&mut p.last, at) {
            NONE => p.first = at,
            last => self.commitments[last as usize].next = at,
        }
    }

    /// Takes one executor off a promise that the pool has made.
    pub(super) fn fulfil(&mut self, pool: u32, destination: Destination) {
        let p = &mut self.pools[pool as usize];
        p.committed -= 1;
        let (mut before, mut at) = (NONE, p.first);
        while self.commitments[at as usize].destination != destination {
            before = at;
            at = self.commitments[at as usize].next;
        }
        let c = &mut self.commitments[at as usize];
        c.count -= 1;
        if c.count > 0 {
            return;
        }
        let next = std::mem::replace(&mut c.next, self.free);
        self.free = at;
        match self.commitments.get_mut(before as usize) {
            Some(c) => c.next = next,
            None => p.first = next,
        }
        if next == NONE {
            p.last = before;
        }
    }
}
