//! Earlier jobs of the cluster: how much GPU time jobs take, and a small tree that predicts how long they run.

use serde::{Deserialize, Serialize, Serializer};

/// Leaves of the tree, and fewest jobs of a leaf.
const LEAVES: usize = 8;
const LEAST_JOBS: usize = 4;

/// An earlier job: what was known of it when it arrived, and how long it ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierJob {
    /// GPUs that it ran on.
    pub gpus: u32,
    /// Epochs that its user declared.
    pub epochs: f64,
    /// Time of an epoch as it was predicted when it arrived, ms.
    pub epoch_ms: f64,
    /// Time that it ran, ms.
    pub ran_ms: f64,
}

impl EarlierJob {
    #[inline]
    fn known(&self) -> [f64; 3] {
        [f64::from(self.gpus), self.epochs, self.epoch_ms]
    }

    pub(crate) fn is_sound(&self) -> bool {
        let numbers = [self.epochs, self.epoch_ms, self.ran_ms];
        self.gpus > 0 && numbers.iter().all(|x| (0.0..=1e15).contains(x)) && self.ran_ms > 0.0
    }
}

/// Earlier jobs and what was learned from them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Vec<EarlierJob>")]
pub struct History {
    jobs: Vec<EarlierJob>,
    /// GPU times, ascending, ms, and their sums up to each.
    services_ms: Vec<f64>,
    sums_ms: Vec<f64>,
    /// Nodes of the tree; the first is its root.
    tree: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    /// Less than the threshold of what is known goes to the first, other to the second.
    Split { known: usize, threshold: f64, below: [usize; 2] },
    /// The run time, ms.
    Leaf(f64),
}

impl From<Vec<EarlierJob>> for History {
    fn from(jobs: Vec<EarlierJob>) -> Self {
        Self::new(jobs)
    }
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.jobs.serialize(serializer)
    }
}

impl History {
    /// Takes earlier jobs in.
    #[must_use]
    pub fn new(jobs: Vec<EarlierJob>) -> Self {
        let mut services_ms: Vec<f64> = jobs.iter().map(|job| f64::from(job.gpus) * job.ran_ms).collect();
        services_ms.sort_by(f64::total_cmp);
        let sums = services_ms.iter().scan(0.0, |sum, ms| {
            *sum += ms;
            Some(*sum)
        });
        let sums_ms = sums.collect();
        let tree = grow(&jobs);
        Self { jobs, services_ms, sums_ms, tree }
    }

    /// The earlier jobs.
    #[must_use]
    pub fn jobs(&self) -> &[EarlierJob] {
        &self.jobs
    }

    /// Gittins index of a job that has had so much GPU time: the largest ratio, over all times that it may still get, of the
    /// probability to complete to the GPU time spent on it, per ms (as Tiresias, NSDI 2019, takes it). 0 for one that has had more than
    /// all earlier ones.
    #[must_use]
    pub fn gittins(&self, service_ms: f64) -> f64 {
        let all = &self.services_ms;
        let first = all.partition_point(|&ms| ms <= service_ms);
        let before_ms = if first == 0 { 0.0 } else { self.sums_ms[first - 1] };
        let index = |last: usize| {
            let complete = (last - first + 1) as f64;
            let spent_ms = self.sums_ms[last] - before_ms - complete * service_ms;
            complete / (spent_ms + (all.len() - 1 - last) as f64 * (all[last] - service_ms))
        };
        (first..all.len()).map(index).fold(0.0, f64::max)
    }

    /// Run time that the tree predicts, ms; 0 without earlier jobs.
    #[must_use]
    pub fn run_ms(&self, gpus: u32, epochs: f64, epoch_ms: f64) -> f64 {
        let known = [f64::from(gpus), epochs, epoch_ms];
        let mut at = 0;
        loop {
            match self.tree.get(at) {
                Some(Node::Split { known: of, threshold, below }) => at = below[usize::from(known[*of] >= *threshold)],
                Some(Node::Leaf(ms)) => return *ms,
                None => return 0.0,
            }
        }
    }
}

/// Number, sum and sum of squares of the logarithms of run times.
#[derive(Clone, Copy, Default)]
struct Logs(f64, f64, f64);

impl Logs {
    fn with(self, job: &EarlierJob) -> Self {
        let x = job.ran_ms.ln();
        Self(self.0 + 1.0, self.1 + x, self.2 + x * x)
    }

    fn less(self, part: Self) -> Self {
        Self(self.0 - part.0, self.1 - part.1, self.2 - part.2)
    }

    /// Sum of squared distances from their mean.
    fn spread(self) -> f64 {
        self.2 - self.1 * self.1 / self.0
    }
}

/// A split of jobs: how much less spread it leaves, what is known, threshold.
type Split = (f64, usize, f64);

/// The split that leaves least spread.
fn best_split(jobs: &mut [EarlierJob]) -> Option<Split> {
    let (whole, mut best) = (jobs.iter().fold(Logs::default(), Logs::with), None::<Split>);
    for known in 0..3 {
        jobs.sort_by(|a, b| a.known()[known].total_cmp(&b.known()[known]).then(a.ran_ms.total_cmp(&b.ran_ms)));
        let mut below = Logs::default();
        for at in 1..jobs.len() {
            below = below.with(&jobs[at - 1]);
            let (low, high) = (jobs[at - 1].known()[known], jobs[at].known()[known]);
            if low >= high || at < LEAST_JOBS || at + LEAST_JOBS > jobs.len() {
                continue;
            }
            let gain = whole.spread() - below.spread() - whole.less(below).spread();
            if best.is_none_or(|(most, ..)| gain > most) {
                best = Some((gain, known, 0.5 * (low + high)));
            }
        }
    }
    best.filter(|(gain, ..)| *gain > 1e-9)
}

/// Grows a tree leaf by leaf, the most useful split first.
fn grow(jobs: &[EarlierJob]) -> Vec<Node> {
    if jobs.is_empty() {
        return Vec::new();
    }
    let typical = |jobs: &[EarlierJob]| {
        Node::Leaf((jobs.iter().map(|job| job.ran_ms.ln()).sum::<f64>() / jobs.len() as f64).exp())
    };
    let mut nodes = vec![typical(jobs)];
    let mut root = jobs.to_vec();
    let mut open = vec![(best_split(&mut root), 0, root)];
    for _ in 1..LEAVES {
        let gain = |split: &Option<Split>| split.map_or(0.0, |(gain, ..)| gain);
        let Some(place) = (0..open.len()).max_by(|&a, &b| gain(&open[a].0).total_cmp(&gain(&open[b].0))) else { break };
        let (Some((_, known, threshold)), node, jobs) = open.swap_remove(place) else { break };
        let (low, high): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.known()[known] < threshold);
        nodes[node] = Node::Split { known, threshold, below: [nodes.len(), nodes.len() + 1] };
        for mut part in [low, high] {
            open.push((best_split(&mut part), nodes.len(), Vec::new()));
            nodes.push(typical(&part));
            if let Some(last) = open.last_mut() {
                last.2 = part;
            }
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Stream;

    fn jobs(count: usize) -> Vec<EarlierJob> {
        let mut stream = Stream::new(2, "earlier");
        let mut one = || {
            let (epochs, epoch_ms) = (stream.uniform_in(2.0, 60.0).round(), stream.uniform_in(3e4, 6e5));
            let ran_ms = epochs * epoch_ms * stream.uniform_in(0.9, 1.1);
            EarlierJob { gpus: 1 << stream.below(4), epochs, epoch_ms, ran_ms }
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn the_index_is_the_best_ratio() {
        let history = History::new(jobs(40));
        let services: Vec<f64> = history.jobs().iter().map(|job| f64::from(job.gpus) * job.ran_ms).collect();
        for service in [0.0, 1e6, 1e7, 5e7, 1e12] {
            let longer: Vec<f64> = services.iter().copied().filter(|&s| s > service).collect();
            let ratio = |most: f64| {
                let complete = longer.iter().filter(|&&s| s <= most).count() as f64;
                complete / longer.iter().map(|s| s.min(most) - service).sum::<f64>()
            };
            let expected = longer.iter().map(|&most| ratio(most)).fold(0.0, f64::max);
            let found = history.gittins(service);
            assert!((found - expected).abs() <= 1e-9 * expected, "{service}: {found} {expected}");
        }
    }

    #[test]
    fn the_tree_is_small_and_tells_short_from_long() {
        let history = History::new(jobs(64));
        let leaves = history.tree.iter().filter(|node| matches!(node, Node::Leaf(_))).count();
        assert!((4..=LEAVES).contains(&leaves), "{leaves}");
        let (mut error, mut alone) = (0.0, 0.0);
        for job in jobs(400) {
            error += (history.run_ms(job.gpus, job.epochs, job.epoch_ms) / job.ran_ms).ln().abs();
            alone += (history.run_ms(1, 30.0, 3e5) / job.ran_ms).ln().abs();
        }
        assert!(error < 0.6 * alone, "{error} {alone}");
        assert_eq!(History::new(Vec::new()).run_ms(1, 1.0, 1.0), 0.0);
    }
}
