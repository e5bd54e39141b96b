//! One pass over the cluster at a question: what the features of all levels are made of.

use crate::{
    heuristic,
    state::{JobView, Question, View},
};

/// Longest time that jobs are said to be able to wait, ms.
const LONGEST_MS: f64 = 1e9;

/// How a job is taken on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It gets a number of cores and uses all of them; so does every running job that is asked about.
    Elastic = 0,
    /// It gets a number of cores and uses as many as it was submitted with.
    AsSubmitted = 1,
    /// Its deadline is given up.
    BestEffort = 2,
    /// It is refused.
    Refused = 3,
}

impl How {
    /// All there are, in order.
    pub const ALL: [How; 4] = [How::Elastic, How::AsSubmitted, How::BestEffort, How::Refused];

    /// The most cores that a job can be given in this way; 0 if it gives none.
    #[must_use]
    pub fn most(self, job: &JobView<'_>) -> u32 {
        match self {
            How::Elastic => job.most_now(true),
            How::AsSubmitted => job.most_now(false),
            How::BestEffort | How::Refused => 0,
        }
    }
}

/// A job that is asked about: one that waits, or the running one.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its number.
    pub job: u32,
    /// Whether it may be taken on in each way of [`How::ALL`].
    pub legal: [bool; 4],
    /// The smallest size that suffices with the reserve; the largest if none does.
    pub(super) size: u32,
    /// Whether it is predicted to be late whatever it gets.
    pub(super) hopeless: bool,
    /// Whether that size could be had now.
    pub(super) fits: bool,
    /// Core time that it would take at that size, ms.
    pub(super) core_ms: f64,
}

impl Candidate {
    /// The ways in which it may be taken on.
    pub fn ways(&self) -> impl Iterator<Item = How> + Clone {
        let legal = self.legal;
        How::ALL.into_iter().filter(move |&how| legal[how as usize])
    }

    /// The most cores that it can be given in a way; 0 for ways that give none.
    #[must_use]
    pub fn most(&self, seen: &View<'_>, how: How) -> u32 {
        how.most(&seen.job(self.job))
    }

    fn new(seen: &View<'_>, job: &JobView<'_>) -> Self {
        let size = heuristic::size(job);
        let waits = !job.is_running();
        Self {
            job: job.id(),
            legal: [true, waits, waits, waits && seen.cluster().may_refuse],
            size,
            hopeless: job.is_hopeless(),
            fits: size <= job.room(),
            core_ms: f64::from(size) * job.work_ms(size),
        }
    }
}

/// The cluster at a question, summed up.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The running job that is asked about, or the waiting ones in order of arrival.
    candidates: Vec<Candidate>,
    /// Whether a running job is asked about.
    pub(super) is_running: bool,
    /// Waiting jobs that are hopeless, and others whose size could be had now.
    pub(super) hopeless: u32,
    pub(super) fitting: u32,
    /// Core time of the waiting jobs that are not hopeless ÷ cores, ms.
    pub(super) backlog_ms: f64,
    /// Cores that are missing to begin the waiting job that needs fewest, of those that are not hopeless; 0 if one fits.
    pub(super) missing: u32,
    /// Sizes of the waiting jobs that are not hopeless.
    sizes: Vec<u32>,
    /// How long the first of these could still wait at its best, ms; [`LONGEST_MS`] without any.
    pub(super) urgent_ms: f64,
}

impl Snapshot {
    /// The jobs that are asked about.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Waiting jobs that are not hopeless and whose size fits so many cores.
    pub(super) fn begin(&self, cores: u32) -> usize {
        self.sizes.iter().filter(|&&size| size <= cores).count()
    }

    pub(super) fn update(&mut self, seen: &View<'_>) {
        self.candidates.clear();
        self.sizes.clear();
        (self.hopeless, self.fitting, self.backlog_ms) = (0, 0, 0.0);
        self.urgent_ms = LONGEST_MS;
        let (mut least, room) = (u32::MAX, seen.room());
        for &id in seen.waiting() {
            let job = seen.job(id);
            let candidate = Candidate::new(seen, &job);
            if candidate.hopeless {
                self.hopeless += 1;
            } else {
                self.fitting += u32::from(candidate.size <= room);
                self.backlog_ms += candidate.core_ms;
                least = least.min(candidate.size);
                self.sizes.push(candidate.size);
                self.urgent_ms = self.urgent_ms.min(job.best_slack_ms());
            }
            self.candidates.push(candidate);
        }
        self.backlog_ms /= f64::from(seen.cluster().cores());
        self.missing = if least == u32::MAX { 0 } else { least.saturating_sub(room) };
        self.is_running = false;
        if let Question::Running(job) = seen.question() {
            self.is_running = true;
            self.candidates.clear();
            self.candidates.push(Candidate::new(seen, &seen.job(job)));
        }
    }
}
