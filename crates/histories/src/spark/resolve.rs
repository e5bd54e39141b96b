//! Which stage ran in place of one that was skipped?
//!
//! A job lists all stages that its result rests on. Those whose output is there are skipped, and where an earlier job computed it, as with
//! adaptive execution each query stage does, they stand in the list under a new id that is never submitted. What they have in common with the
//! stage that ran is the RDD that they compute.

use super::{
    log::{Application, Stage},
    rebuild::Tally,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most stages that are passed through in search of parents, over all searches: far more than any log has, and a limit to what a made-up
/// one takes.
const MOST_STEPS: usize = 5_000_000;

/// Stages that were completed and compute the same RDD: when each was, and its id, by time.
#[derive(Default)]
struct Computed {
    /// For a shuffle, whose output a later job can read.
    shuffled: Vec<(i64, u32)>,
    /// To give a result.
    other: Vec<(i64, u32)>,
}

/// What a stage waited for.
#[derive(Default)]
pub(super) struct Parents {
    /// Ids, ascending.
    pub(super) ids: Vec<u32>,
    /// Whether a parent that ran nowhere was passed.
    pub(super) passed: bool,
    /// Whether the search was given up, as all searches together took too long.
    pub(super) is_cut: bool,
}

/// The stages of an application by id, attempts taken together.
pub(super) struct Stages<'a> {
    by_id: BTreeMap<u32, Vec<&'a Stage>>,
    /// What their tasks say of them.
    tallies: &'a HashMap<u32, Tally>,
    /// The stage that ran in place of one that was skipped.
    in_place: HashMap<u32, u32>,
    /// Stages that were skipped.
    pub(super) skipped: usize,
    steps: usize,
}

impl<'a> Stages<'a> {
    pub(super) fn of(application: &'a Application, tallies: &'a HashMap<u32, Tally>) -> Self {
        let mut by_id: BTreeMap<u32, Vec<&Stage>> = BTreeMap::new();
        for stage in &application.stages {
            by_id.entry(stage.id).or_default().push(stage);
        }
        let mut computed: HashMap<u32, Computed> = HashMap::new();
        for stage in application.stages.iter().filter(|stage| stage.was_submitted && stage.has_succeeded()) {
            if let (Some(rdd), Some(completion_ms)) = (stage.final_rdd, stage.completion_ms) {
                let computed = computed.entry(rdd).or_default();
                let is_shuffled = tallies.get(&stage.id).is_some_and(|tally| tally.is_shuffle);
                if is_shuffled { &mut computed.shuffled } else { &mut computed.other }.push((completion_ms, stage.id));
            }
        }
        for computed in computed.values_mut() {
            computed.shuffled.sort_unstable();
            computed.other.sort_unstable();
        }
        let mut stages = Self { by_id, tallies, in_place: HashMap::new(), skipped: 0, steps: 0 };
        for (&id, attempts) in &stages.by_id {
            let Some(stage) = attempts.first().filter(|_| attempts.iter().all(|stage| !stage.was_submitted)) else {
                continue;
            };
            stages.skipped += 1;
            let job = stage.job.and_then(|job| application.jobs.get(job as usize));
            let by_ms = job.and_then(|job| job.submission_ms).unwrap_or(i64::MAX);
            if let Some(computed) = stage.final_rdd.and_then(|rdd| computed.get(&rdd)) {
                // The last one that was complete when the job began; of a shuffle, as results are not kept.
                let last = |list: &[(i64, u32)]| {
                    list.get(list.partition_point(|&(ms, _)| ms <= by_ms).wrapping_sub(1)).map(|&(_, id)| id)
                };
                let any = || computed.shuffled.last().or(computed.other.last()).map(|&(_, id)| id);
                let found = last(&computed.shuffled).or_else(|| last(&computed.other)).or_else(any);
                stages.in_place.extend(found.map(|found| (id, found)));
            }
        }
        stages
    }

    /// Skipped stages for which the one that ran in their place is known.
    pub(super) fn matched(&self) -> usize {
        self.in_place.len()
    }

    /// Attempts of a stage.
    pub(super) fn attempts(&self, id: u32) -> &[&'a Stage] {
        self.by_id.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The stages with tasks that a stage waited for: its parents, those that ran in their place, and past parents that ran nowhere the
    /// ones before these.
    pub(super) fn parents(&mut self, id: u32) -> Parents {
        let mut found = Parents::default();
        let mut seen = HashSet::from([id]);
        let mut left: Vec<u32> = self.listed(id).collect();
        while let Some(parent) = left.pop() {
            let parent = self.in_place.get(&parent).copied().unwrap_or(parent);
            self.steps += 1;
            if self.steps > MOST_STEPS {
                found.is_cut = true;
                break;
            }
            if !seen.insert(parent) {
                continue;
            }
            if self.tallies.get(&parent).is_some_and(|tally| tally.has_run) {
                found.ids.push(parent);
            } else {
                found.passed = true;
                left.extend(self.listed(parent));
            }
        }
        found.ids.sort_unstable();
        found
    }

    /// Parents as the log lists them.
    fn listed(&self, id: u32) -> impl Iterator<Item = u32> {
        self.attempts(id).iter().flat_map(|stage| &stage.parents).copied()
    }
}
