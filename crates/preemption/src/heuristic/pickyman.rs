//! The policy of "PickyMan" (Chen et al., IPCCC 2022), as far as its abstract tells, with the numbers of `docs/preemption.md`.

use super::{least, waiting};
use crate::state::{Decision, JobView, Question, View};

/// A job that was suspended so often is left alone.
const MOST_PREEMPTIONS: u32 = 3;

/// By what waiting jobs are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The least predicted time left first, as in the paper.
    #[default]
    Time,
    /// The least predicted GPU time left first.
    GpuTime,
}

/// Waiting jobs in order of their predicted time; whom to condemn for them is an ordered division of the running jobs, found greedily by
/// what suspending and resuming costs.
#[derive(Clone, Copy, Debug)]
pub struct PickyMan {
    /// By what waiting jobs are ordered. Default: time.
    pub by: By,
    /// Whether GPUs that claims reserve are lent to jobs that are back in time. Default: yes.
    pub lend: bool,
    /// Whether jobs that will be the last to end are protected. Default: yes.
    pub protect: bool,
}

impl Default for PickyMan {
    fn default() -> Self {
        Self { by: By::default(), lend: true, protect: true }
    }
}

/// A job that may be condemned at a price.
#[derive(Clone, Copy, Debug)]
struct Offer {
    id: u32,
    gpus: u32,
    /// Time lost per GPU that it gives, ms.
    rank_ms: f64,
    /// How long a job in its place may take for its preemption to pay, ms.
    worth_ms: f64,
    /// GPU time that suspending and resuming it costs, ms.
    price_ms: f64,
    /// Until it has given its GPUs back, ms.
    ready_ms: f64,
}

/// Whom to condemn for waiting jobs: the ordered division, and room for it that is used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Division {
    /// Who may be condemned, cheapest per GPU first.
    offers: Vec<Offer>,
    /// Places of those chosen among them, and the GPUs that they have together.
    chosen: Vec<usize>,
    covered: u32,
}

/// GPU time that is left of all jobs that are there, per GPU of the cluster, ms: how long it takes at least until all are complete.
pub(crate) fn load_ms(seen: &View<'_>) -> f64 {
    let left = seen.jobs().map(|job| f64::from(job.gpus()) * job.left_ms());
    left.sum::<f64>() / f64::from(seen.cluster().gpus())
}

/// Whether a job has more time left than the cluster needs for all that is there: it will be the last to end.
pub(crate) fn is_critical(job: &JobView<'_>, load_ms: f64) -> bool {
    job.left_ms() >= load_ms
}

impl Division {
    /// Takes in who may be condemned at a question: who can be, has run for an epoch, was not suspended too often, and, given the load,
    /// will not be the last to end.
    pub(crate) fn prepare(&mut self, seen: &View<'_>, load_ms: Option<f64>) {
        self.offers.clear();
        for job in seen.busy().iter().map(|&job| seen.job(job)) {
            let eligible = job.can_be_condemned()
                && job.epochs_since_start() >= 1.0
                && job.preemptions() < MOST_PREEMPTIONS
                && load_ms.is_none_or(|load_ms| !is_critical(&job, load_ms));
            if eligible {
                let (gpus, loading_ms) = (f64::from(job.gpus()), job.loading_ms());
                let lost_ms = job.saving_ms() + loading_ms;
                self.offers.push(Offer {
                    id: job.id(),
                    gpus: job.gpus(),
                    rank_ms: job.to_epoch_end_ms() / gpus + lost_ms,
                    worth_ms: job.left_after_epoch_ms() - loading_ms,
                    price_ms: gpus * lost_ms,
                    ready_ms: job.to_epoch_end_ms() + job.saving_ms(),
                });
            }
        }
        self.offers.sort_unstable_by(|a, b| a.rank_ms.total_cmp(&b.rank_ms).then(a.id.cmp(&b.id)));
    }

    /// Finds whom to condemn for a job that needs so many GPUs more: of those that are longer than it by more than their preemption
    /// costs the cheapest per GPU until they cover the need, without those that the others make superfluous. `false` if they do not.
    pub(crate) fn find(&mut self, claimant: &JobView<'_>, need: u32) -> bool {
        let takes_ms = claimant.left_ms() + claimant.loading_ms();
        self.chosen.clear();
        self.covered = 0;
        for (place, offer) in self.offers.iter().enumerate() {
            if self.covered >= need {
                break;
            }
            if offer.worth_ms > takes_ms {
                self.chosen.push(place);
                self.covered += offer.gpus;
            }
        }
        if self.covered < need {
            self.chosen.clear();
            return false;
        }
        // The largest that the others make superfluous goes first, of equals the dearest.
        loop {
            let gpus = |place: usize| self.offers[self.chosen[place]].gpus;
            let without = (0..self.chosen.len()).filter(|&place| self.covered - gpus(place) >= need);
            let Some(place) = without.max_by_key(|&place| (gpus(place), place)) else { return true };
            self.covered -= gpus(place);
            self.chosen.remove(place);
        }
    }

    fn all(&self) -> impl Iterator<Item = &Offer> {
        self.chosen.iter().map(|&place| &self.offers[place])
    }

    /// Those chosen, cheapest first.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = u32> {
        self.all().map(|offer| offer.id)
    }

    /// GPU time that suspending and resuming them costs, ms.
    pub(crate) fn price_ms(&self) -> f64 {
        self.all().map(|offer| offer.price_ms).sum()
    }

    /// Until the last of them has given its GPUs back, ms.
    pub(crate) fn ready_ms(&self) -> f64 {
        self.all().map(|offer| offer.ready_ms).fold(0.0, f64::max)
    }
}

/// Until the first claim has all it needs, as is predicted, ms; infinite without a claim.
pub(crate) fn claims_ready_ms(seen: &View<'_>) -> f64 {
    let Some(claim) = seen.state.claims.first() else { return f64::INFINITY };
    let ready = claim.condemned.iter().map(|&id| {
        let job = seen.job(id);
        if job.is_computing() { job.to_epoch_end_ms() + job.saving_ms() } else { job.saving_ms() }
    });
    ready.fold(0.0, f64::max)
}

impl PickyMan {
    fn key(self, job: &JobView<'_>) -> f64 {
        match self.by {
            By::Time => job.left_ms(),
            By::GpuTime => f64::from(job.gpus()) * job.left_ms(),
        }
    }

    /// Answers a question.
    #[must_use]
    pub fn decide(self, seen: &View<'_>) -> Decision {
        self.decide_with(seen, &mut Division::default())
    }

    /// As [`PickyMan::decide`], with room for the division that is used again.
    pub(crate) fn decide_with(self, seen: &View<'_>, division: &mut Division) -> Decision {
        let load_ms = self.protect.then(|| load_ms(seen));
        division.prepare(seen, load_ms);
        match seen.question() {
            Question::Condemn(id) => match division.find(&seen.job(id), seen.need()) {
                // The cheapest; the division of what is then left follows.
                true => division.chosen().next().map_or(Decision::Wait, |job| Decision::Condemn { job }),
                false => Decision::Wait,
            },
            Question::Serve => {
                self.serve(seen, load_ms, division).map_or(Decision::Wait, |job| Decision::Serve { job })
            }
        }
    }

    fn serve(self, seen: &View<'_>, load_ms: Option<f64>, division: &mut Division) -> Option<u32> {
        let (room, free) = (seen.unreserved(), seen.free());
        // The last to end begin first, if they can.
        if let Some(load_ms) = load_ms {
            let last = waiting(seen).filter(|&id| seen.job(id).gpus() <= room && is_critical(&seen.job(id), load_ms));
            let longest = last.max_by(|&a, &b| seen.job(a).left_ms().total_cmp(&seen.job(b).left_ms()).then(b.cmp(&a)));
            if longest.is_some() {
                return longest;
            }
        }
        let first = least(waiting(seen), |id| Some(self.key(&seen.job(id))))?;
        let job = seen.job(first);
        // With reserved GPUs it would begin at once: that is lending, and goes by the rule below.
        let claims = job.gpus() > free && division.find(&job, job.gpus() - room);
        if job.gpus() <= room || claims {
            return Some(first);
        }
        let back_ms = claims_ready_ms(seen);
        least(waiting(seen), |id| {
            let job = seen.job(id);
            let lent = self.lend && job.gpus() <= free && job.loading_ms() + job.left_ms() <= back_ms;
            (job.gpus() <= room || lent).then(|| self.key(&job))
        })
    }
}
