//! Jobs that are drawn from those of a file, and arrive as they are generated to.

use super::{Arrivals, Cluster, JobArrival, JobTemplate};
use crate::Dag;
use sched_distill_core::{
    rng::{EpisodeId, Split, Stream, hash},
    simulation::Source,
    workload::Work,
};
use std::{collections::BTreeMap, sync::Arc};

/// Shares of the jobs that each [`Split`] draws from, in their order: as of histories that are cut by time.
const SHARES: [f64; 4] = [0.5, 0.15, 0.2, 0.15];

/// Kinds of jobs that are divided, at least: fewer would leave a split the same jobs in every episode.
const LEAST_KINDS: usize = 20;

/// Jobs of a file, each as likely as any other.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// At least one.
    jobs: Vec<Arc<JobTemplate>>,
    /// By [`Split`] the places of those that it draws from; `None` for all of them.
    parts: Option<[Vec<u32>; 4]>,
    arrivals: Arrivals,
    /// What the luck of the draws is called.
    stream: &'static str,
}

impl Drawn {
    /// These jobs, at least one, for every split.
    pub(super) fn new(jobs: Vec<Arc<JobTemplate>>, arrivals: Arrivals, stream: &'static str) -> Self {
        Self { jobs, parts: None, arrivals, stream }
    }

    /// The same, where each split draws from jobs of its own: those of one kind are in one split. If there are few kinds, all draw from all of
    /// them.
    pub(super) fn divided(mut self, kind: impl Fn(usize, &JobTemplate) -> String) -> Self {
        let mut kinds: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (place, job) in self.jobs.iter().enumerate() {
            kinds.entry(kind(place, job)).or_default().push(place as u32);
        }
        if kinds.len() < LEAST_KINDS {
            return self;
        }
        // The largest first, which leaves small ones to even out the shares; of equals in an order that names do not tell.
        let mut kinds: Vec<(usize, u64, Vec<u32>)> = kinds
            .into_iter()
            .map(|(name, places)| (places.len(), hash(&name.bytes().map(u64::from).collect::<Vec<_>>()), places))
            .collect();
        kinds.sort_by_key(|&(count, key, _)| (std::cmp::Reverse(count), key));
        let mut parts: [Vec<u32>; 4] = Default::default();
        for (.., places) in kinds {
            let filled = parts.iter().zip(SHARES).map(|(part, share)| part.len() as f64 / share).enumerate();
            let least = filled.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(split, _)| split);
            parts[least].extend(places);
        }
        parts.iter_mut().for_each(|part| part.sort_unstable());
        self.parts = Some(parts);
        self
    }

    /// The same at a rate at which as much work arrives as all executors can do, if it is more than nothing.
    pub(super) fn at_full_load(mut self) -> Self {
        let rate = self.arrivals.rate / self.load();
        if (1e-12..=1e3).contains(&rate) {
            self.arrivals.rate = rate;
        }
        self
    }

    /// Work that arrives, as a share of what all executors can do.
    fn load(&self) -> f64 {
        let work = |job: &Arc<JobTemplate>| {
            let stages = job.graph().stages().iter().zip(job.tables());
            stages.map(|(stage, table)| f64::from(stage.num_tasks) * table.mean()).sum::<f64>()
        };
        let mean_ms = self.jobs.iter().map(work).sum::<f64>() / self.jobs.len() as f64;
        mean_ms * self.arrivals.rate / f64::from(self.arrivals.cluster().num_executors)
    }

    /// What is to be said of it: how fast jobs come, and which of them a split draws from; `what` they are.
    pub(super) fn notes(&self, what: &str) -> [String; 2] {
        let arrive = format!(
            "when {what} came is not recorded: they are drawn, and come at a rate of {:.3e} a ms, which is a load of {:.2} on {} executors (`rate` \
             and `executors` set others)",
            self.arrivals.rate,
            self.load(),
            self.arrivals.cluster().num_executors
        );
        let divided = match &self.parts {
            None => {
                format!(
                    "there are fewer than {LEAST_KINDS} different {what}, too few to be divided: every split draws from all"
                )
            }
            Some(parts) => {
                let each =
                    Split::ALL.iter().zip(parts).map(|(split, part)| format!("{} for {}", part.len(), split.name()));
                format!("no two splits draw from the same {what}: {}", each.collect::<Vec<_>>().join(", "))
            }
        };
        [arrive, divided]
    }

    /// The cluster that the jobs meet.
    pub(super) fn cluster(&self) -> Cluster {
        self.arrivals.cluster()
    }

    #[cfg(test)]
    pub(super) fn part(&self, split: Split) -> Vec<&JobTemplate> {
        match &self.parts {
            None => self.jobs.iter().map(|job| &**job).collect(),
            Some(parts) => parts[split as usize].iter().map(|&place| &*self.jobs[place as usize]).collect(),
        }
    }
}

impl Source<Dag> for Drawn {
    fn work(&self, _: &Cluster) -> Work {
        let stages = self.jobs.iter().flat_map(|job| job.graph().stages());
        let tasks: f64 = stages.clone().map(|stage| f64::from(stage.num_tasks)).sum();
        let count = self.jobs.len() as f64;
        self.arrivals.work(tasks / count, stages.count() as f64 / count, true)
    }

    fn jobs(&self, _: &Cluster, id: EpisodeId) -> Vec<JobArrival> {
        let part = self.parts.as_ref().map(|parts| &parts[id.split() as usize]);
        let draw = |stream: &mut Stream| {
            let place = match part {
                Some(part) => part[stream.below(part.len())] as usize,
                None => stream.below(self.jobs.len()),
            };
            Arc::clone(&self.jobs[place])
        };
        self.arrivals.jobs(id.seed, draw, || {
            let mut stream = Stream::new(id.seed, self.stream);
            (0..self.arrivals.jobs).map(|_| draw(&mut stream)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{DurationTable, StageTemplate};
    use std::collections::BTreeSet;

    fn jobs(count: u32) -> Vec<Arc<JobTemplate>> {
        let durations = DurationTable::uniform(vec![1000.0], 0.0).unwrap();
        let stage = |num_tasks| StageTemplate { num_tasks, rough_ms: 1000.0, durations: durations.clone() };
        let job = |n: u32| JobTemplate::new(format!("job-{n}"), vec![stage(n + 1)], &[]).unwrap();
        (0..count).map(|n| Arc::new(job(n))).collect()
    }

    #[test]
    fn jobs_of_a_kind_are_in_one_split_and_splits_have_their_shares() {
        // 100 kinds of one to seven jobs.
        let kind = |place: usize| format!("{}", place % 100 / (1 + place / 100));
        let drawn = Drawn::new(jobs(400), Arrivals::default(), "test").divided(|place, _| kind(place));
        let mut seen = BTreeSet::new();
        for (split, share) in Split::ALL.into_iter().zip(SHARES) {
            let part = drawn.part(split);
            assert!((part.len() as f64 / 400.0 - share).abs() < 0.02, "{split:?} {}", part.len());
            let kinds: BTreeSet<String> =
                part.iter().map(|job| kind(job.graph().stages()[0].num_tasks as usize - 1)).collect();
            assert!(kinds.iter().all(|kind| seen.insert(kind.clone())), "{split:?}");
            let drawn: Vec<JobArrival> =
                (0..40).flat_map(|i| drawn.jobs(&drawn.cluster(), EpisodeId::new(3, split, i))).collect();
            assert!(drawn.iter().all(|job| part.contains(&&*job.template)));
            // All of them come up.
            let names: BTreeSet<&str> = drawn.iter().map(|job| job.template.graph().name()).collect();
            assert_eq!(names.len(), part.len());
        }
        let few = Drawn::new(jobs(90), Arrivals::default(), "test").divided(|place, _| format!("{}", place % 19));
        assert!(Split::ALL.into_iter().all(|split| few.part(split).len() == 90));
        assert!(few.notes("jobs")[1].starts_with("there are fewer than 20 different jobs"));
    }

    #[test]
    fn full_load_is_what_all_executors_can_do() {
        let drawn = Drawn::new(jobs(9), Arrivals::default(), "test").at_full_load();
        // 1 to 9 tasks of a second, on ten executors.
        assert!((drawn.arrivals.rate - 10.0 / 5000.0).abs() < 1e-12 && (drawn.load() - 1.0).abs() < 1e-12);
        assert!(drawn.notes("jobs")[0].ends_with(
            "at a rate of 2.000e-3 a ms, which is a load of 1.00 on 10 executors (`rate` and `executors` set others)"
        ));
    }
}
