//! What a job declares of itself: its stages, how they depend on each other, and how long a task of each is thought to take.

/// A stage as its job declares it: identical tasks that can run side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageSpec {
    /// Number of tasks, at least 1.
    pub num_tasks: u32,
    /// Estimated task duration before any task has run, ms.
    pub rough_ms: f64,
}

/// A job's stages and edges; nothing of when it arrives or what its tasks really take. Stages are numbered from 0; the graph has
/// no cycle.
///
/// ```
/// use sched_distill_dag::{JobGraph, StageSpec};
/// let read = StageSpec { num_tasks: 8, rough_ms: 1500.0 };
/// let join = StageSpec { num_tasks: 4, rough_ms: 400.0 };
/// let job = JobGraph::new("two reads and a join", vec![read, read, join], &[[0, 2], [1, 2]])?;
/// assert_eq!(job.parents(2), [0, 1]);
/// assert_eq!(job.depth(2), 1);
/// assert!(JobGraph::new("circle", vec![read, join], &[[0, 1], [1, 0]]).unwrap_err().problem.contains("cycle"));
/// # Ok::<(), sched_distill_dag::JobError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JobGraph {
    name: String,
    stages: Vec<StageSpec>,
    parents: Vec<Vec<u32>>,
    children: Vec<Vec<u32>>,
    topological: Vec<u32>,
    descendants: Vec<Vec<u32>>,
    depth: Vec<u32>,
}

/// Why a job is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", stage.map_or(String::new(), |stage| format!("stage {stage} ")))]
pub struct JobError {
    /// The stage at fault, if it is one.
    pub stage: Option<usize>,
    /// What is wrong, as a sentence about the stage or the job.
    pub problem: String,
}

/// Times that a job may declare or take, ms: sums of them stay exact to the microsecond.
pub(crate) const TIMES_MS: std::ops::RangeInclusive<f64> = 0.0..=1e15;

/// Most tasks of a stage.
pub(crate) const MOST_TASKS: u32 = 1_000_000;

/// Most stages of a job, and most pairs of a stage and one that needs its output, directly or through others: what a chain of
/// 2,800 stages has. Both are kept in memory, and features look at them at every decision.
const MOST_STAGES: usize = 100_000;
const MOST_DESCENDANTS: usize = 4_000_000;

/// What several graphs together may come to, so that a short text cannot keep a program busy.
pub(crate) struct GraphBudget {
    /// Pairs of a stage and one that needs its output, directly or through others.
    pub(crate) pairs: usize,
    /// Edges that are walked to find them.
    pub(crate) steps: usize,
}

impl GraphBudget {
    /// Takes so many pairs away.
    pub(crate) fn take_pairs(&mut self, pairs: usize) -> Result<(), JobError> {
        self.pairs = self.pairs.checked_sub(pairs).ok_or_else(|| {
            JobError::job(format!(
                "its stages, with those of the jobs before it, form too long chains: too many pairs of a stage and one that needs \
                 its output, directly or through others; {MOST_DESCENDANTS} are allowed in a job"
            ))
        })?;
        Ok(())
    }
}

const TOO_DENSE: &str = "its stages, with those of the jobs before it, have too many edges";

/// How long a chain has at most so many pairs, in hundreds of stages.
fn chain(pairs: usize) -> usize {
    ((2.0 * pairs as f64).sqrt() / 100.0) as usize * 100
}

impl JobError {
    fn job(problem: impl Into<String>) -> Self {
        Self { stage: None, problem: problem.into() }
    }

    pub(crate) fn stage(stage: usize, problem: impl Into<String>) -> Self {
        Self { stage: Some(stage), problem: problem.into() }
    }
}

impl StageSpec {
    /// What is wrong with it, if something is.
    fn problem(self) -> Option<String> {
        match self.num_tasks {
            0 => Some("has 0 tasks; at least 1 is needed".to_owned()),
            tasks if tasks > MOST_TASKS => Some(format!("has {tasks} tasks; at most {MOST_TASKS} are allowed")),
            _ if !TIMES_MS.contains(&self.rough_ms) => {
                Some(format!("rough_ms must be a number in 0..=1e15 ms, got {:?}", self.rough_ms))
            }
            _ => None,
        }
    }
}

impl JobGraph {
    /// A job from its stages and its edges `[parent, child]`.
    ///
    /// # Errors
    ///
    /// No stages or more than 100,000, no tasks or more than a million, a rough duration that is no number in 0..=1e15 ms, an edge
    /// to a stage that is not there or to itself, an edge given twice, a cycle, chains of more than some 2,800 stages.
    pub fn new(name: impl Into<String>, stages: Vec<StageSpec>, edges: &[[u32; 2]]) -> Result<Self, JobError> {
        Self::within(name, stages, edges, &mut GraphBudget { pairs: MOST_DESCENDANTS, steps: usize::MAX })
    }

    /// The same for one of several graphs that together may come to no more than a budget, from which it takes its part.
    pub(crate) fn within(
        name: impl Into<String>,
        stages: Vec<StageSpec>,
        edges: &[[u32; 2]],
        budget: &mut GraphBudget,
    ) -> Result<Self, JobError> {
        let n = stages.len();
        if n == 0 {
            return Err(JobError::job("has no stages; at least one is needed"));
        }
        if n > MOST_STAGES {
            return Err(JobError::job(format!("has {n} stages; at most {MOST_STAGES} are allowed")));
        }
        if let Some((stage, problem)) = stages.iter().enumerate().find_map(|(i, s)| s.problem().map(|p| (i, p))) {
            return Err(JobError::stage(stage, problem));
        }
        let [parents, children] = neighbours(n, edges)?;
        let topological = topological(&parents, &children)?;
        let descendants = descendants(&children, &topological, budget)?;
        let mut depth = vec![0; n];
        for &stage in &topological {
            let above = parents[stage as usize].iter().map(|&p| depth[p as usize] + 1);
            depth[stage as usize] = above.max().unwrap_or(0);
        }
        Ok(Self { name: name.into(), stages, parents, children, topological, descendants, depth })
    }

    /// The same job with all rough durations `factor` times as long.
    #[must_use]
    pub fn stretched(&self, factor: f64) -> Self {
        let stretched = |stage: &StageSpec| StageSpec { rough_ms: factor * stage.rough_ms, ..*stage };
        Self { stages: self.stages.iter().map(stretched).collect(), ..self.clone() }
    }

    /// The same job with other rough durations.
    #[cfg(feature = "simulate")]
    pub(crate) fn declared(&self, of: &mut dyn FnMut(f64) -> f64) -> Self {
        let declared = |stage: &StageSpec| StageSpec { rough_ms: of(stage.rough_ms), ..*stage };
        Self { stages: self.stages.iter().map(declared).collect(), ..self.clone() }
    }

    /// Name for people, e.g. `q21-100g`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Stages by id.
    #[must_use]
    pub fn stages(&self) -> &[StageSpec] {
        &self.stages
    }

    /// Work, ms: tasks times their rough duration, over all stages.
    #[must_use]
    pub fn work_ms(&self) -> f64 {
        self.stages.iter().map(|stage| f64::from(stage.num_tasks) * stage.rough_ms).sum()
    }

    /// Stages that must finish before `stage` can start, ascending.
    #[must_use]
    pub fn parents(&self, stage: u32) -> &[u32] {
        &self.parents[stage as usize]
    }

    /// Stages that need the output of `stage`, ascending.
    #[must_use]
    pub fn children(&self, stage: u32) -> &[u32] {
        &self.children[stage as usize]
    }

    /// Stages that need the output of `stage`, directly or through others, ascending.
    #[must_use]
    pub fn descendants(&self, stage: u32) -> &[u32] {
        &self.descendants[stage as usize]
    }

    /// Number of pairs of a stage and one that needs its output, directly or through others.
    #[must_use]
    pub fn num_descendants(&self) -> usize {
        self.descendants.iter().map(Vec::len).sum()
    }

    /// Number of stages on the longest chain that leads to `stage`.
    #[must_use]
    pub fn depth(&self, stage: u32) -> u32 {
        self.depth[stage as usize]
    }

    /// All stages, parents before children.
    #[must_use]
    pub fn topological(&self) -> &[u32] {
        &self.topological
    }

    /// All edges `[parent, child]`, ascending.
    pub fn edges(&self) -> impl Iterator<Item = [u32; 2]> {
        let children = (0u32..).zip(&self.children);
        children.flat_map(|(parent, children)| children.iter().map(move |&child| [parent, child]))
    }
}

/// Parents and children by stage, ascending.
fn neighbours(n: usize, edges: &[[u32; 2]]) -> Result<[Vec<Vec<u32>>; 2], JobError> {
    let (mut parents, mut children) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for &[parent, child] in edges {
        if let Some(stage) = [parent, child].into_iter().find(|&stage| stage as usize >= n) {
            let problem = format!("edge [{parent}, {child}] names stage {stage}; stages are 0..={}", n - 1);
            return Err(JobError::job(problem));
        }
        parents[child as usize].push(parent);
        children[parent as usize].push(child);
    }
    for list in parents.iter_mut().chain(&mut children) {
        list.sort_unstable();
    }
    for (parent, children) in children.iter().enumerate() {
        if let Some(twice) = children.windows(2).find(|pair| pair[0] == pair[1]) {
            let child = twice[0];
            return Err(JobError::stage(child as usize, format!("edge [{parent}, {child}] is given twice")));
        }
    }
    Ok([parents, children])
}

/// All stages, parents before children (Kahn's algorithm); what is never freed lies on a cycle or behind one.
fn topological(parents: &[Vec<u32>], children: &[Vec<u32>]) -> Result<Vec<u32>, JobError> {
    let mut missing: Vec<usize> = parents.iter().map(Vec::len).collect();
    let mut topological: Vec<u32> = (0u32..).zip(&missing).filter(|&(_, &m)| m == 0).map(|(s, _)| s).collect();
    let mut next = 0;
    while next < topological.len() {
        for &child in &children[topological[next] as usize] {
            missing[child as usize] -= 1;
            if missing[child as usize] == 0 {
                topological.push(child);
            }
        }
        next += 1;
    }
    match missing.iter().position(|&m| m > 0) {
        Some(stage) => Err(JobError::stage(stage, "lies on a cycle of edges; the graph must be acyclic")),
        None => Ok(topological),
    }
}

/// By stage, all that need its output, ascending.
fn descendants(
    children: &[Vec<u32>],
    topological: &[u32],
    budget: &mut GraphBudget,
) -> Result<Vec<Vec<u32>>, JobError> {
    let mut descendants = vec![Vec::new(); children.len()];
    let GraphBudget { pairs: most, .. } = *budget;
    // Which stage has last been seen below which.
    let (mut seen_from, mut open) = (vec![u32::MAX; children.len()], Vec::new());
    for &stage in topological.iter().rev() {
        let mut below = Vec::new();
        open.push(stage);
        while let Some(next) = open.pop() {
            let steps = children[next as usize].len();
            budget.steps = budget.steps.checked_sub(steps).ok_or_else(|| JobError::job(TOO_DENSE))?;
            for &child in &children[next as usize] {
                if std::mem::replace(&mut seen_from[child as usize], stage) != stage {
                    below.push(child);
                    open.push(child);
                }
            }
        }
        budget.pairs = budget.pairs.checked_sub(below.len()).ok_or_else(|| {
            JobError::job(format!(
                "its {} stages form too long chains: more than {most} pairs of a stage and one that needs its output, directly \
                 or through others; a chain may have {} stages",
                children.len(),
                chain(most)
            ))
        })?;
        below.sort_unstable();
        descendants[stage as usize] = below;
    }
    Ok(descendants)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(n: usize, edges: &[[u32; 2]]) -> Result<JobGraph, JobError> {
        JobGraph::new("test", vec![StageSpec { num_tasks: 1, rough_ms: 1.0 }; n], edges)
    }

    #[test]
    fn impossible_graphs_are_refused_with_the_stage() {
        assert!(job(0, &[]).unwrap_err().problem.contains("no stages"));
        let cyclic = job(3, &[[0, 1], [1, 2], [2, 1]]).unwrap_err();
        assert_eq!(cyclic.stage, Some(1));
        assert_eq!(cyclic.to_string(), "stage 1 lies on a cycle of edges; the graph must be acyclic");
        assert!(job(2, &[[0, 2]]).unwrap_err().problem.contains("stages are 0..=1"));
        assert!(job(2, &[[0, 1], [0, 1]]).unwrap_err().problem.contains("twice"));
        assert!(job(1, &[[0, 0]]).unwrap_err().problem.contains("cycle"));
    }

    #[test]
    fn long_chains_are_refused_and_wide_jobs_are_not() {
        let chain = |n: usize| job(n, &(1..n as u32).map(|child| [child - 1, child]).collect::<Vec<_>>());
        assert_eq!(chain(2_800).unwrap().descendants(0).len(), 2_799);
        let problem = chain(100_000).unwrap_err().problem;
        assert!(problem.contains("100000 stages") && problem.contains("2800"), "{problem}");
        let star: Vec<[u32; 2]> = (1..100_000).map(|child| [0, child]).collect();
        assert_eq!(job(100_000, &star).unwrap().descendants(0).len(), 99_999);
        assert!(job(100_001, &[]).unwrap_err().problem.contains("at most 100000"));
    }

    #[test]
    fn no_stage_has_impossible_numbers() {
        let with = |num_tasks, rough_ms| {
            JobGraph::new("test", vec![StageSpec { num_tasks, rough_ms }], &[]).map_err(|e| e.problem)
        };
        assert!(with(1, 1.0).is_ok());
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(with(1, bad).unwrap_err().contains("rough_ms must be a number in 0..=1e15"));
        }
        assert!(with(0, 1.0).unwrap_err().contains("0 tasks"));
        assert!(with(2_000_000, 1.0).unwrap_err().contains("at most 1000000"));
    }

    #[test]
    fn the_topological_order_puts_parents_first() {
        let edges = [[0, 2], [1, 2], [2, 3], [4, 0]];
        let job = job(5, &edges).unwrap();
        assert!(job.edges().eq(edges));
        let position = |s: u32| job.topological().iter().position(|&t| t == s).unwrap();
        for [parent, child] in edges {
            assert!(position(parent) < position(child));
            assert!(job.parents(child).contains(&parent) && job.children(parent).contains(&child));
            assert!(job.descendants(parent).contains(&child) && job.depth(parent) < job.depth(child));
        }
    }
}
