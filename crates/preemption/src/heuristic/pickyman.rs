//! The policy of "PickyMan" (Chen et al., IPCCC 2022), as far as its abstract tells, with the numbers of `docs/preemption.md`.

use super::{least, waiting};
use crate::state::{Decision, JobView, Question, View};

/// A job that was suspended so often is left alone.
const MOST_PREEMPTIONS: u32 = 3;

/// How many times what those suspended lose the job in question must gain.
const MARGIN: f64 = 1.25;

/// Mean gaps between arrivals without one after which no more are expected.
const QUIET_GAPS: f64 = 8.0;

/// Waiting jobs in order of their predicted time left; whom to condemn for them is an ordered division of the running jobs, found greedily
/// by what suspending and resuming costs, and only where the one in question gains more than those suspended lose.
#[derive(Clone, Copy, Debug)]
pub struct PickyMan {
    /// Whether GPUs that claims reserve are lent to jobs that are back in time. Default: yes.
    pub lend: bool,
    /// Whether, when no more jobs are expected, those that will be the last to end are protected. Default: yes.
    pub protect: bool,
}

impl Default for PickyMan {
    fn default() -> Self {
        Self { lend: true, protect: true }
    }
}

/// A job that may be condemned at a price.
#[derive(Clone, Copy, Debug)]
struct Offer {
    id: u32,
    gpus: u32,
    /// Time lost per GPU that it gives, as a share of what it has left.
    rank: f64,
    /// How long a job in its place may take for it to be the longer one, ms.
    worth_ms: f64,
    /// Time that suspending and resuming it takes, ms.
    lost_ms: f64,
    /// Until it has given its GPUs back, ms.
    ready_ms: f64,
}

/// Whom to condemn for waiting jobs: the ordered division, and room for it that is used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Division {
    /// Who may be condemned, cheapest first.
    offers: Vec<Offer>,
    /// Time left and GPUs of the jobs that hold some and are not condemned, the least time first.
    ends: Vec<(f64, u32)>,
    /// Places of those chosen among the offers, and the GPUs that they have together.
    chosen: Vec<usize>,
    covered: u32,
    /// What the job in question takes, ms.
    takes_ms: f64,
}

/// GPU time that is left of all jobs that are there, per GPU of the cluster, ms: how long it takes at least until all are complete.
pub(crate) fn load_ms(seen: &View<'_>) -> f64 {
    let left = seen.present().map(|job| f64::from(seen.job(job).gpus()) * seen.job(job).left_ms());
    left.sum::<f64>() / f64::from(seen.cluster().gpus())
}

/// Whether a job has at least as much time left as the cluster needs for all that is there: it will be the last to end.
pub(crate) fn is_last(job: &JobView<'_>, load_ms: f64) -> bool {
    job.left_ms() >= load_ms
}

impl Division {
    /// Takes in who may be condemned at a question: who can be, was not suspended too often, and, given the load, will not be the last to
    /// end.
    pub(crate) fn prepare(&mut self, seen: &View<'_>, load_ms: Option<f64>) {
        self.offers.clear();
        self.ends.clear();
        self.chosen.clear();
        for job in seen.busy().iter().map(|&job| seen.job(job)).filter(|job| !job.is_condemned()) {
            let left_ms = job.left_ms();
            self.ends.push((left_ms, job.gpus()));
            let eligible = job.can_be_condemned()
                && job.preemptions() < MOST_PREEMPTIONS
                && load_ms.is_none_or(|load_ms| !is_last(&job, load_ms));
            if eligible {
                let (loading_ms, end_ms) = (job.loading_ms(), job.to_epoch_end_ms());
                let lost_ms = job.saving_ms() + loading_ms;
                self.offers.push(Offer {
                    id: job.id(),
                    gpus: job.gpus(),
                    rank: (end_ms / f64::from(job.gpus()) + lost_ms) / left_ms.max(1.0),
                    worth_ms: job.left_after_epoch_ms() - loading_ms,
                    lost_ms,
                    ready_ms: job.to_suspended_ms(),
                });
            }
        }
        self.offers.sort_unstable_by(|a, b| a.rank.total_cmp(&b.rank).then(a.id.cmp(&b.id)));
        self.ends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    }

    /// Finds whom to condemn for a job that needs so many GPUs more: of those that are longer than it by more than loading them takes the
    /// cheapest until they cover the need, without those that the others make superfluous. `false` if they do not.
    pub(crate) fn find(&mut self, claimant: &JobView<'_>, need: u32) -> bool {
        self.takes_ms = claimant.left_ms() + claimant.loading_ms();
        self.chosen.clear();
        self.covered = 0;
        for (place, offer) in self.offers.iter().enumerate() {
            if self.covered >= need {
                break;
            }
            if offer.worth_ms > self.takes_ms {
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

    /// Whether what the job in question gains is worth what those found for it lose.
    pub(crate) fn pays(&self, need: u32) -> bool {
        self.otherwise_ms(need) - self.ready_ms() > MARGIN * self.delay_ms()
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
        self.all().map(|offer| f64::from(offer.gpus) * offer.lost_ms).sum()
    }

    /// By how much they are delayed, added up, ms: each by all that the job in question takes, and by its own suspension.
    pub(crate) fn delay_ms(&self) -> f64 {
        self.all().map(|offer| self.takes_ms + offer.lost_ms).sum()
    }

    /// Until the last of them has given its GPUs back, ms.
    pub(crate) fn ready_ms(&self) -> f64 {
        self.all().map(|offer| offer.ready_ms).fold(0.0, f64::max)
    }

    /// Until so many GPUs are given back by jobs that end, ms; infinite if they never are.
    pub(crate) fn otherwise_ms(&self, need: u32) -> f64 {
        let mut covered = 0;
        let end = self.ends.iter().find(|(_, gpus)| {
            covered += gpus;
            covered >= need
        });
        end.map_or(f64::INFINITY, |(left_ms, _)| *left_ms)
    }
}

/// Until the first claim has all it needs, as is predicted, ms; infinite without a claim. One that lacks GPUs though no one is condemned for
/// it any more waits for what was lent or is being repaired: it counts as ready, so that no more is lent.
pub(crate) fn claims_ready_ms(seen: &View<'_>) -> f64 {
    let Some(claim) = seen.state.claims.first() else { return f64::INFINITY };
    let ready = claim.condemned.iter().map(|&id| seen.job(id).to_suspended_ms());
    ready.fold(0.0, f64::max)
}

impl PickyMan {
    /// Answers a question.
    #[must_use]
    pub fn decide(self, seen: &View<'_>) -> Decision {
        self.decide_with(seen, &mut Division::default())
    }

    /// As [`PickyMan::decide`], with room for the division that is used again.
    pub(crate) fn decide_with(self, seen: &View<'_>, division: &mut Division) -> Decision {
        let protects = self.protect && seen.quiet_gaps() >= QUIET_GAPS;
        let load_ms = protects.then(|| load_ms(seen));
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
            let last = least(waiting(seen), |id| {
                let job = seen.job(id);
                (job.gpus() <= room && is_last(&job, load_ms)).then(|| -job.left_ms())
            });
            if last.is_some() {
                return last;
            }
        }
        let back_ms = claims_ready_ms(seen);
        least(waiting(seen), |id| {
            let job = seen.job(id);
            let need = job.gpus().saturating_sub(room);
            let can = match job.gpus() <= free {
                // Reserved GPUs are lent to who is back in time.
                true => need == 0 || (self.lend && job.loading_ms() + job.left_ms() <= back_ms),
                false => need <= seen.condemnable() && division.find(&job, need) && division.pays(need),
            };
            can.then(|| job.left_ms())
        })
    }
}
