//! The rules of Tiresias' simulator (NSDI 2019), event by event: for comparison with it where preemption is free
//! ([`Cluster::free`](crate::Cluster::free)).

use crate::state::{Decision, Question, View};

/// An order of Tiresias' simulator, by its name there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// In order of arrival, up to the first that does not fit; no preemption.
    Fifo,
    /// As `Fifo`, passing over those that do not fit.
    Fjf,
    /// The fewest GPUs first.
    Sjf,
    /// The least time left first.
    Shortest,
    /// The least GPU time left first.
    ShortestGpu,
    /// Queues by the time that jobs have run.
    Dlas,
    /// Queues by the GPU time that jobs have run.
    DlasGpu,
}

impl Rule {
    /// All there are, by name.
    pub const ALL: [(&str, Rule); 7] = [
        ("fifo", Rule::Fifo),
        ("fjf", Rule::Fjf),
        ("sjf", Rule::Sjf),
        ("shortest", Rule::Shortest),
        ("shortest-gpu", Rule::ShortestGpu),
        ("dlas", Rule::Dlas),
        ("dlas-gpu", Rule::DlasGpu),
    ];

    fn has_queues(self) -> bool {
        matches!(self, Self::Dlas | Self::DlasGpu)
    }
}

/// What is kept of a job; seconds, as in the original.
#[derive(Clone, Debug)]
struct Tracked {
    id: u32,
    gpus: u32,
    /// Time that it has run since it arrived or was last promoted, and waited since, if it had run.
    ran_s: f64,
    waited_s: f64,
    queue: usize,
    runs: bool,
}

/// A rule, and what it remembers from event to event.
#[derive(Clone, Debug)]
pub struct Tiresias {
    rule: Rule,
    /// Borders between queues, s or GPU·s.
    limits: Vec<f64>,
    /// Waiting for so many times as long as it has run a job is promoted to the first queue; 0: never.
    promote: f64,
    /// Time between two decisions, s; 0: at every event.
    tick_s: f64,
    time_s: f64,
    wake_s: Option<f64>,
    /// In order of arrival.
    jobs: Vec<Tracked>,
    /// Numbers in the order of the last event, and by queue.
    order: Vec<u32>,
    queues: Vec<Vec<u32>>,
    /// Who is to run, in the order in which that was decided.
    target: Vec<u32>,
    moves: Vec<(f64, u32, usize, usize)>,
}

impl Tiresias {
    /// A rule; borders between queues in s (GPU·s for `dlas-gpu`).
    #[must_use]
    pub fn new(rule: Rule, limits: Vec<f64>, promote: f64, tick_s: f64) -> Self {
        Self {
            rule,
            queues: vec![Vec::new(); limits.len() + 1],
            limits,
            promote,
            tick_s,
            time_s: -1.0,
            wake_s: None,
            jobs: Vec::new(),
            order: Vec::new(),
            target: Vec::new(),
            moves: Vec::new(),
        }
    }

    /// Changes of queues in order: when, s, which job, from which queue, to which.
    #[must_use]
    pub fn moves(&self) -> &[(f64, u32, usize, usize)] {
        &self.moves
    }

    /// Answers a question.
    pub fn decide(&mut self, seen: &View<'_>) -> Decision {
        let now_s = (seen.time_ms() / 1e3).round();
        if now_s != self.time_s || !seen.cluster().free {
            self.event(seen, now_s);
        }
        match seen.question() {
            Question::Serve => {
                let next = self.target.iter().find(|&&job| seen.is_candidate(job));
                next.map_or(Decision::Wait, |&job| Decision::Serve { job })
            }
            Question::Condemn(_) => {
                let mut out = seen.candidates().filter(|job| !self.target.contains(job));
                out.next().map_or(Decision::Wait, |job| Decision::Condemn { job })
            }
        }
    }

    /// A moment: takes note of what has happened and decides who is to run, if it is time to.
    fn event(&mut self, seen: &View<'_>, now_s: f64) {
        let passed_s = now_s - self.time_s;
        let left = self.jobs.len();
        let last = self.jobs.last().map(|job| job.id);
        let arrivals: Vec<u32> =
            seen.jobs().map(|job| job.id()).filter(|id| last.is_none_or(|last| *id > last)).collect();
        let there: Vec<u32> = seen.jobs().map(|job| job.id()).collect();
        let is_there = |id: u32| there.binary_search(&id).is_ok();
        let completed = self.jobs.iter().any(|job| !is_there(job.id));
        let is_event = match self.tick_s > 0.0 {
            true => now_s % self.tick_s == 0.0,
            false => completed || !arrivals.is_empty() || self.wake_s == Some(now_s) || !seen.cluster().free,
        };
        if !is_event {
            return;
        }
        self.jobs.retain(|job| is_there(job.id));
        self.order.retain(|&id| is_there(id));
        self.queues.iter_mut().for_each(|queue| queue.retain(|&id| is_there(id)));
        debug_assert!(self.jobs.len() <= left);
        let known = self.jobs.len();
        for id in arrivals {
            let gpus = seen.job(id).gpus();
            self.jobs.push(Tracked { id, gpus, ran_s: 0.0, waited_s: 0.0, queue: 0, runs: false });
            self.order.push(id);
            self.queues[0].push(id);
        }
        if self.rule.has_queues() {
            self.move_between_queues(known, passed_s, now_s);
        }
        self.time_s = now_s;
        self.choose(seen);
        for job in &mut self.jobs {
            job.runs = self.target.contains(&job.id);
        }
        if self.rule.has_queues() {
            if self.tick_s == 0.0 {
                let runs = |id: &u32| self.target.contains(id);
                self.queues.iter_mut().for_each(|queue| queue.sort_by_key(|id| !runs(id)));
            }
            self.wake_s = self.jobs.iter().filter_map(|job| self.wake_for(job)).reduce(f64::min);
        }
    }

    fn attained(&self, job: &Tracked) -> f64 {
        job.ran_s * if self.rule == Rule::DlasGpu { f64::from(job.gpus) } else { 1.0 }
    }

    /// Brings times up to date; demotes and promotes.
    fn move_between_queues(&mut self, known: usize, passed_s: f64, now_s: f64) {
        for place in 0..known {
            let job = &mut self.jobs[place];
            if job.runs {
                job.ran_s += passed_s;
            } else if job.ran_s > 0.0 {
                job.waited_s += passed_s;
            }
            let job = &self.jobs[place];
            let (id, from) = (job.id, job.queue);
            let to = if job.runs {
                if from < self.limits.len() && self.attained(job) >= self.limits[from] { from + 1 } else { from }
            } else {
                let is_due = self.promote > 0.0
                    && from > 0
                    && job.ran_s > 0.0
                    && job.waited_s >= (job.ran_s * self.promote).floor();
                if is_due { 0 } else { from }
            };
            if to != from {
                let job = &mut self.jobs[place];
                job.queue = to;
                if to == 0 {
                    (job.ran_s, job.waited_s) = (0.0, 0.0);
                }
                self.queues[from].retain(|&other| other != id);
                self.queues[to].push(id);
                self.moves.push((now_s, id, from, to));
            }
        }
    }

    /// When a job will change its queue. That GPUs do not multiply what it has run is a slip of the original that decides much.
    fn wake_for(&self, job: &Tracked) -> Option<f64> {
        if job.runs {
            let limit = *self.limits.get(job.queue)?;
            let gpus = if self.rule == Rule::DlasGpu { f64::from(job.gpus) } else { 1.0 };
            return Some(self.time_s + ((limit - job.ran_s) / gpus).ceil());
        }
        if self.promote <= 0.0 || job.queue == 0 || job.ran_s <= 0.0 {
            return None;
        }
        let after_s = (job.ran_s * self.promote - job.waited_s).trunc();
        (after_s > 0.0).then_some(self.time_s + after_s)
    }

    /// Who is to run: all GPUs are counted free, and who fits gets its own, in order. Without preemption who runs goes on.
    fn choose(&mut self, seen: &View<'_>) {
        let gpus = |id: &u32| seen.job(*id).gpus();
        let left_s = |id: &u32| (seen.truth.left_ms(&seen.job(*id)) / 1e3).round();
        match self.rule {
            Rule::Sjf => self.order.sort_by_key(gpus),
            Rule::Shortest => self.order.sort_by(|a, b| left_s(a).total_cmp(&left_s(b))),
            Rule::ShortestGpu => self.order.sort_by(|a, b| {
                let product = |id: &u32| left_s(id) * f64::from(gpus(id));
                product(a).total_cmp(&product(b))
            }),
            Rule::Fifo | Rule::Fjf => self.order.sort_by_key(|&id| (!seen.busy().contains(&id), id)),
            Rule::Dlas | Rule::DlasGpu => {
                self.order.clear();
                self.order.extend(self.queues.iter().flatten());
            }
        }
        self.target.clear();
        let mut room = seen.cluster().gpus();
        for &id in &self.order {
            if gpus(&id) <= room {
                room -= gpus(&id);
                self.target.push(id);
            } else if self.rule == Rule::Fifo {
                break;
            }
        }
    }
}
