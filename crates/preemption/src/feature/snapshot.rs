//! One pass over the cluster at a question: what the features of all levels are made of.

use crate::{
    heuristic::{Division, claims_ready_ms, is_last, load_ms},
    state::{Question, View},
};

/// Longest time that is said, ms: until claims are settled where there are none.
const LONGEST_MS: f64 = 1e9;

/// A job that is asked about: one that can be served, or the one for which others are condemned.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its number.
    pub job: u32,
    /// GPUs that it needs beyond those that no claim reserves.
    pub(super) need: u32,
    /// Whether there is a division for it, PickyMan's, and whether that pays.
    pub(super) divides: bool,
    pub(super) pays: bool,
    /// What it costs: GPU time, and by how much jobs are delayed; and until there is room for it, ms. 0 without a division.
    pub(super) price_ms: f64,
    pub(super) delay_ms: f64,
    pub(super) ready_ms: f64,
    /// Until there is room for it without suspending anyone, ms.
    pub(super) otherwise_ms: f64,
    /// Whether jobs with more time left have GPUs enough.
    pub(super) longer_cover: bool,
    /// Whether it will be the last to end.
    pub(super) is_last: bool,
}

impl Candidate {
    /// What the division gains, ms.
    pub(super) fn gain_ms(&self) -> f64 {
        if self.divides { self.otherwise_ms - self.ready_ms - self.delay_ms } else { 0.0 }
    }
}

/// The cluster at a question, summed up.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    jobs: Vec<Candidate>,
    /// Jobs that can be condemned for the one in question; empty if no one is.
    victims: Vec<u32>,
    /// Those of them that are in the division.
    chosen: Vec<u32>,
    /// Whether the question is who is condemned.
    pub(super) is_condemning: bool,
    /// GPU time that is left of jobs that wait, and of all, ÷ GPUs of the cluster, ms.
    pub(super) backlog_ms: f64,
    pub(super) load_ms: f64,
    /// Jobs that could begin at once on unreserved GPUs.
    pub(super) fitting: u32,
    /// Claims, GPUs that they reserve, and until the first has all it needs, ms.
    pub(super) claims: u32,
    pub(super) reserved: u32,
    pub(super) claims_ms: f64,
    /// Jobs that compute.
    pub(super) computing: u32,
    pub(super) quiet_gaps: f64,
    division: Division,
    /// Time left, and GPUs of those that have at least so much, of the jobs that can be condemned, most time first.
    longest: Vec<(f64, u32)>,
    /// Time left, and GPU time of those that have at most so much, of the jobs that wait, least time first.
    shortest: Vec<(f64, f64)>,
}

impl Snapshot {
    /// The jobs that are asked about.
    #[must_use]
    pub fn jobs(&self) -> &[Candidate] {
        &self.jobs
    }

    /// The jobs that can be condemned; empty at a question who is served.
    #[must_use]
    pub fn victims(&self) -> &[u32] {
        &self.victims
    }

    /// Whether serving no job can be the answer.
    #[must_use]
    pub fn none_served(&self) -> bool {
        !self.is_condemning
    }

    pub(super) fn is_chosen(&self, job: u32) -> bool {
        self.chosen.contains(&job)
    }

    /// How many waiting jobs have less time left than this, and their GPU time left, ms.
    pub(super) fn shorter(&self, left_ms: f64) -> (usize, f64) {
        let count = self.shortest.partition_point(|(other_ms, _)| *other_ms < left_ms);
        (count, if count == 0 { 0.0 } else { self.shortest[count - 1].1 })
    }

    pub(super) fn update(&mut self, seen: &View<'_>) {
        let (room, gpus) = (seen.unreserved(), f64::from(seen.cluster().gpus()));
        self.load_ms = load_ms(seen);
        self.shortest.clear();
        let waiting = seen.waiting().iter().map(|&id| seen.job(id));
        self.shortest.extend(waiting.map(|job| (job.left_ms(), f64::from(job.gpus()) * job.left_ms())));
        self.shortest.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        for (_, gpu_ms) in &mut self.shortest {
            sum += *gpu_ms;
            *gpu_ms = sum;
        }
        self.backlog_ms = sum / gpus;
        self.fitting = seen.waiting().iter().filter(|&&id| seen.job(id).gpus() <= room).count() as u32;
        self.claims = seen.claimed().count() as u32;
        self.reserved = seen.free() - room;
        self.claims_ms = claims_ready_ms(seen).min(LONGEST_MS);
        self.quiet_gaps = seen.quiet_gaps();
        self.computing = seen.busy().iter().filter(|&&id| seen.job(id).is_computing()).count() as u32;
        self.division.prepare(seen, None);
        self.longest.clear();
        let can = seen.busy().iter().map(|&id| seen.job(id)).filter(|job| job.can_be_condemned());
        self.longest.extend(can.map(|job| (job.left_ms(), job.gpus())));
        self.longest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let mut sum = 0;
        for (_, gpus) in &mut self.longest {
            sum += *gpus;
            *gpus = sum;
        }
        self.jobs.clear();
        self.victims.clear();
        self.chosen.clear();
        self.is_condemning = false;
        match seen.question() {
            Question::Serve => seen.candidates().for_each(|job| {
                let need = seen.job(job).gpus().saturating_sub(room);
                self.add(seen, job, need);
            }),
            Question::Condemn(job) => {
                self.is_condemning = true;
                self.add(seen, job, seen.need());
                self.victims.extend(seen.candidates());
                self.chosen.extend(self.division.chosen());
            }
        }
    }

    fn add(&mut self, seen: &View<'_>, id: u32, need: u32) {
        let job = seen.job(id);
        let divides = need > 0 && self.division.find(&job, need);
        let of = |value: f64| if divides { value } else { 0.0 };
        let place = self.longest.partition_point(|(left_ms, _)| *left_ms > job.left_ms());
        let longer = if place == 0 { 0 } else { self.longest[place - 1].1 };
        self.jobs.push(Candidate {
            job: id,
            need,
            divides,
            pays: divides && self.division.pays(need),
            price_ms: of(self.division.price_ms()),
            delay_ms: of(self.division.delay_ms()),
            ready_ms: of(self.division.ready_ms()),
            otherwise_ms: if need > 0 { self.division.otherwise_ms(need).min(LONGEST_MS) } else { 0.0 },
            longer_cover: longer >= need,
            is_last: is_last(&job, self.load_ms),
        });
    }
}
