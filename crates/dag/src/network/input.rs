//! What Decima is told about the cluster, and the numbers that its network sees.

use super::weights::FEATURES;
use sched_distill_core::network::NeuralError;
use std::ops::Range;

/// One observation: the active jobs in order of arrival, each with its active (not completed) stages, the *nodes*, in
/// order of stage id.
///
/// Plain buffers, to be cleared and filled again for every decision.
///
/// ```
/// use sched_distill_dag::network::DecimaInput;
/// // One job of two stages on 10 executors; the second stage needs the first.
/// let input = DecimaInput {
///     num_executors: 10,
///     committable: 4,
///     source_job: None,
///     ptr: vec![0, 2],
///     edges: vec![[0, 1]],
///     remaining: vec![5, 20],
///     most_recent_duration: vec![1500.0, 800.0],
///     supply: vec![6],
///     stage_mask: vec![true, false],
/// };
/// assert!(input.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecimaInput {
    /// Executors of the cluster; positive.
    pub num_executors: u32,
    /// Executors that may be given away now; at most `num_executors`.
    pub committable: u32,
    /// The job that released them, as an index into the active jobs; `None` if it is not active or there is none.
    pub source_job: Option<usize>,
    /// Nodes of job `j` are `ptr[j]..ptr[j + 1]`; shape `(jobs + 1,)`. Every job has a node.
    pub ptr: Vec<u32>,
    /// Edges (parent, child) between nodes of one job, sorted and without repetition; the child needs the parent's output.
    pub edges: Vec<[u32; 2]>,
    /// Tasks not yet launched, shape `(nodes,)`.
    pub remaining: Vec<u32>,
    /// Duration of the stage's last launched task or else its rough mean, ms, shape `(nodes,)`.
    pub most_recent_duration: Vec<f32>,
    /// Executors counted for each job, shape `(jobs,)`.
    pub supply: Vec<u32>,
    /// Whether the node may be chosen now, shape `(nodes,)`.
    pub stage_mask: Vec<bool>,
}

impl DecimaInput {
    /// Empties all buffers and keeps their memory. `ptr` is then empty too: push 0, and after each job the number of nodes
    /// so far.
    pub fn clear(&mut self) {
        let Self {
            num_executors,
            committable,
            source_job,
            ptr,
            edges,
            remaining,
            most_recent_duration,
            supply,
            stage_mask,
        } = self;
        (*num_executors, *committable, *source_job) = (0, 0, None);
        ptr.clear();
        edges.clear();
        remaining.clear();
        most_recent_duration.clear();
        supply.clear();
        stage_mask.clear();
    }

    /// Checks lengths, ranges and order; that the edges form no cycle is checked by [`super::Decima::embed`].
    ///
    /// # Errors
    ///
    /// [`NeuralError::Input`] says what was found and what was allowed.
    pub fn check(&self) -> Result<(), NeuralError> {
        let (jobs, nodes) = (self.supply.len(), self.remaining.len());
        let reason = if self.num_executors == 0 {
            "num_executors is 0, expected at least 1".to_owned()
        } else if self.committable > self.num_executors {
            let (found, most) = (self.committable, self.num_executors);
            format!("committable is {found}, expected at most num_executors = {most}")
        } else if self.ptr.len() != jobs + 1 {
            format!("ptr has {} entries, expected {} for {jobs} jobs", self.ptr.len(), jobs + 1)
        } else if (self.ptr[0], self.ptr[jobs] as usize) != (0, nodes) {
            format!("ptr runs from {} to {}, expected 0 to {nodes} nodes", self.ptr[0], self.ptr[jobs])
        } else if let Some(job) = (0..jobs).find(|&j| self.ptr[j] >= self.ptr[j + 1]) {
            format!("job {job} has no active stage; such jobs must be left out")
        } else if let Some(job) = self.source_job.filter(|&job| job >= jobs) {
            format!("source_job is {job}, but there are only {jobs} jobs")
        } else if self.most_recent_duration.len() != nodes {
            format!("most_recent_duration has {} entries, expected {nodes}", self.most_recent_duration.len())
        } else if self.stage_mask.len() != nodes {
            format!("stage_mask has {} entries, expected {nodes}", self.stage_mask.len())
        } else if let Some(v) = self.most_recent_duration.iter().position(|d| !d.is_finite()) {
            let found = self.most_recent_duration[v];
            format!("most_recent_duration of node {v} is {found} ms, expected a finite number")
        } else if let Some(reason) = self.bad_edge() {
            reason
        } else {
            return Ok(());
        };
        Err(NeuralError::Input { network: "decima", reason })
    }

    /// What is wrong with the first edge that is.
    fn bad_edge(&self) -> Option<String> {
        let nodes = self.remaining.len();
        let mut job = 0;
        for (i, edge) in self.edges.iter().enumerate() {
            if edge.iter().any(|&end| end as usize >= nodes) {
                return Some(format!("edge {i} is {edge:?}, but there are only {nodes} nodes"));
            }
            if i > 0 && self.edges[i - 1] >= *edge {
                let before = self.edges[i - 1];
                return Some(format!("edge {i} is {edge:?} after {before:?}; edges must be sorted and distinct"));
            }
            // Edges are sorted by their parents, so the jobs come in order.
            while self.ptr[job + 1] <= edge[0] {
                job += 1;
            }
            if !(self.ptr[job]..self.ptr[job + 1]).contains(&edge[1]) {
                return Some(format!("edge {i} is {edge:?}, from a stage of job {job} to one of another job"));
            }
        }
        None
    }

    /// The jobs with the ranges of their nodes and edges.
    pub(super) fn jobs(&self) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> {
        let mut end = 0;
        self.ptr.windows(2).enumerate().map(move |(job, nodes)| {
            let start = end;
            while self.edges.get(end).is_some_and(|edge| edge[0] < nodes[1]) {
                end += 1;
            }
            (job, nodes[0] as usize..nodes[1] as usize, start..end)
        })
    }

    /// Writes how many executor counts each job may be given.
    pub(super) fn caps(&self, caps: &mut Vec<u32>) {
        let room = |&supply: &u32| self.num_executors.saturating_sub(supply).min(self.committable);
        caps.clear();
        caps.extend(self.supply.iter().map(room));
        if let Some(job) = self.source_job {
            caps[job] = self.committable;
        }
    }

    /// Writes the features, shape `(nodes, 5)`, rounded where the network was trained with them rounded.
    pub(super) fn features(&self, caps: &[u32], x: &mut Vec<f32>) {
        let share = |count: u32| (f64::from(count) / f64::from(self.num_executors)) as f32;
        x.clear();
        for (j, range) in self.ptr.windows(2).enumerate() {
            let source = if self.source_job == Some(j) { 1.0 } else { -1.0 };
            let job: [f32; 3] = [share(caps[j]), source, share(self.supply[j])];
            for v in range[0] as usize..range[1] as usize {
                let remaining = self.remaining[v] as f32;
                let stage = [remaining / 200.0, remaining * self.most_recent_duration[v] / 1e5];
                x.extend_from_slice(&job);
                x.extend_from_slice(&stage);
            }
        }
        debug_assert_eq!(x.len(), self.remaining.len() * FEATURES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_jobs() -> DecimaInput {
        DecimaInput {
            num_executors: 10,
            committable: 4,
            source_job: Some(1),
            ptr: vec![0, 1, 3],
            edges: vec![[1, 2]],
            remaining: vec![3, 50, 0],
            most_recent_duration: vec![1e4, 2e3, 7.0],
            supply: vec![8, 12],
            stage_mask: vec![true, true, false],
        }
    }

    #[test]
    fn features_follow_the_published_formulas() {
        let (mut caps, mut x) = (Vec::new(), Vec::new());
        two_jobs().caps(&mut caps);
        two_jobs().features(&caps, &mut x);
        assert_eq!(caps, [2, 4]);
        assert_eq!(x, [0.2, -1.0, 0.8, 0.015, 0.3, 0.4, 1.0, 1.2, 0.25, 1.0, 0.4, 1.0, 1.2, 0.0, 0.0]);
    }

    #[test]
    fn impossible_observations_are_refused() {
        let error = |change: &dyn Fn(&mut DecimaInput)| {
            let mut input = two_jobs();
            change(&mut input);
            input.check().err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(error(&|_| ()), "");
        assert_eq!(error(&|i| i.num_executors = 0), "decima input: num_executors is 0, expected at least 1");
        assert!(error(&|i| i.committable = 11).contains("expected at most num_executors = 10"));
        assert!(error(&|i| i.ptr.clear()).contains("ptr has 0 entries, expected 3 for 2 jobs"));
        assert!(error(&|i| i.ptr[2] = 4).contains("ptr runs from 0 to 4, expected 0 to 3 nodes"));
        assert!(error(&|i| i.ptr[1] = 0).contains("job 0 has no active stage"));
        assert!(error(&|i| i.ptr[1] = 9).contains("job 1 has no active stage"));
        assert!(error(&|i| i.source_job = Some(2)).contains("source_job is 2, but there are only 2 jobs"));
        assert!(error(&|i| i.most_recent_duration.clear()).contains("most_recent_duration has 0 entries, expected 3"));
        assert!(error(&|i| i.stage_mask.clear()).contains("stage_mask has 0 entries, expected 3"));
        assert!(error(&|i| i.most_recent_duration[1] = f32::NAN).contains("of node 1 is NaN ms"));
        assert!(error(&DecimaInput::clear).contains("num_executors is 0"));
        assert!(error(&|i| i.edges[0] = [1, 3]).contains("edge 0 is [1, 3], but there are only 3 nodes"));
        assert!(error(&|i| i.edges = vec![[1, 2], [1, 2]]).contains("sorted and distinct"));
        assert!(error(&|i| i.edges[0] = [0, 1]).contains("from a stage of job 0 to one of another job"));
    }
}
