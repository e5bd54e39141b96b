//! Jobs as directed acyclic graphs of stages.

use super::DurationTable;
use std::sync::Arc;

/// One stage of a job: identical tasks that can run side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct StageTemplate {
    /// Number of tasks, at least 1.
    pub num_tasks: u32,
    /// Estimated task duration before any task has run, ms.
    pub rough_ms: f64,
    /// What the tasks really take.
    pub durations: DurationTable,
}

/// A job without its arrival time. Stages are numbered from 0; the graph has no cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct JobTemplate {
    name: String,
    stages: Vec<StageTemplate>,
    parents: Vec<Vec<u32>>,
    children: Vec<Vec<u32>>,
    topological: Vec<u32>,
    descendants: Vec<Vec<u32>>,
    depth: Vec<u32>,
}

/// A job and when it arrives.
#[derive(Clone, Debug, PartialEq)]
pub struct JobArrival {
    /// Arrival time, ms.
    pub arrival_ms: f64,
    /// The job; shared between arrivals of the same query.
    pub template: Arc<JobTemplate>,
}

/// Times that a workload may hold, ms: sums of them stay exact to the microsecond.
pub(super) const TIMES_MS: std::ops::RangeInclusive<f64> = 0.0..=1e15;

/// Most tasks of a stage.
const MOST_TASKS: u32 = 1_000_000;

/// Most stages of a job, and most pairs of a stage and one that needs its output, directly or through others: what a chain of
/// 2,800 stages has. Both are kept in memory, and features look at them at every decision.
const MOST_STAGES: usize = 100_000;
const MOST_DESCENDANTS: usize = 4_000_000;

/// Most such pairs of all jobs of a file: 256 MB.
const MOST_IN_FILE: usize = 64_000_000;

/// Counts the pairs of a stage and one that needs its output over the jobs of a file.
#[derive(Default)]
pub(super) struct Pairs(usize);

impl Pairs {
    /// Takes in a job; what is wrong if that is too many.
    pub(super) fn add(&mut self, job: &JobTemplate) -> Result<(), (Option<usize>, String)> {
        self.0 += job.descendants.iter().map(Vec::len).sum::<usize>();
        match self.0 > MOST_IN_FILE {
            false => Ok(()),
            true => Err((
                None,
                format!(
                    "the jobs up to this one have {} pairs of a stage and one that needs its output, directly or through \
                     others; at most {MOST_IN_FILE} are allowed in a file: shorten the chains, or give fewer jobs",
                    self.0
                ),
            )),
        }
    }
}

impl StageTemplate {
    /// What is wrong with the stage, wherever it comes from.
    fn check(&self) -> Result<(), String> {
        let outside = |time: f64| !TIMES_MS.contains(&time);
        match (self.num_tasks, self.durations.find(outside)) {
            (0, _) => Err("has 0 tasks; at least 1 is needed".to_owned()),
            (tasks @ MOST_TASKS.., _) if tasks > MOST_TASKS => {
                Err(format!("has {tasks} tasks; at most {MOST_TASKS} are allowed"))
            }
            (_, Some(found)) => Err(format!("durations must be numbers in 0..=1e15 ms, got {found:?}")),
            _ if outside(self.rough_ms) => {
                Err(format!("rough_ms must be a number in 0..=1e15 ms, got {:?}", self.rough_ms))
            }
            _ => Ok(()),
        }
    }
}

/// By stage, all that need its output, ascending.
fn descendants(children: &[Vec<u32>], topological: &[u32]) -> Result<Vec<Vec<u32>>, (Option<usize>, String)> {
    let mut descendants = vec![Vec::new(); children.len()];
    // Which stage has last been seen below which.
    let (mut seen_from, mut open, mut all) = (vec![u32::MAX; children.len()], Vec::new(), 0);
    for &stage in topological.iter().rev() {
        let mut below = Vec::new();
        open.push(stage);
        while let Some(next) = open.pop() {
            for &child in &children[next as usize] {
                if std::mem::replace(&mut seen_from[child as usize], stage) != stage {
                    below.push(child);
                    open.push(child);
                }
            }
        }
        all += below.len();
        if all > MOST_DESCENDANTS {
            let problem = format!(
                "its {} stages form too long chains: more than {MOST_DESCENDANTS} pairs of a stage and one that needs its \
                 output, directly or through others; a chain may have 2800 stages",
                children.len()
            );
            return Err((None, problem));
        }
        below.sort_unstable();
        descendants[stage as usize] = below;
    }
    Ok(descendants)
}

impl JobTemplate {
    /// A job from its stages and its edges `[parent, child]`.
    ///
    /// # Errors
    ///
    /// The stage and a sentence about it: no stages or too many, no tasks or more than a million, a duration that is no
    /// number in 0..=1e15 ms, an edge to a stage that is not there or to itself, an edge given twice, a cycle, chains of
    /// more than some 2,800 stages.
    pub fn new(name: String, stages: Vec<StageTemplate>, edges: &[[u32; 2]]) -> Result<Self, (Option<usize>, String)> {
        let n = stages.len();
        if n == 0 {
            return Err((None, "has no stages; at least one is needed".to_owned()));
        }
        if n > MOST_STAGES {
            return Err((None, format!("has {n} stages; at most {MOST_STAGES} are allowed")));
        }
        for (i, stage) in stages.iter().enumerate() {
            stage.check().map_err(|problem| (Some(i), problem))?;
        }
        let (mut parents, mut children) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for &[parent, child] in edges {
            for stage in [parent, child] {
                if stage as usize >= n {
                    let problem = format!("edge [{parent}, {child}] names stage {stage}; stages are 0..={}", n - 1);
                    return Err((None, problem));
                }
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
                return Err((Some(child as usize), format!("edge [{parent}, {child}] is given twice")));
            }
        }
        // Kahn's algorithm; what is never freed lies on a cycle or behind one.
        let mut missing: Vec<usize> = parents.iter().map(Vec::len).collect();
        let mut topological: Vec<u32> = (0..n as u32).filter(|&s| missing[s as usize] == 0).collect();
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
        if topological.len() < n {
            let stage = missing.iter().position(|&m| m > 0);
            return Err((stage, "lies on a cycle of edges; the graph must be acyclic".to_owned()));
        }
        let descendants = descendants(&children, &topological)?;
        let mut depth = vec![0; n];
        for &stage in &topological {
            let above = parents[stage as usize].iter().map(|&p| depth[p as usize] + 1);
            depth[stage as usize] = above.max().unwrap_or(0);
        }
        Ok(Self { name, stages, parents, children, topological, descendants, depth })
    }

    /// The same job with all durations `factor` times as long.
    #[must_use]
    pub fn stretched(&self, factor: f64) -> Self {
        let stretched = |stage: &StageTemplate| StageTemplate {
            num_tasks: stage.num_tasks,
            rough_ms: factor * stage.rough_ms,
            durations: stage.durations.scaled(factor),
        };
        Self { stages: self.stages.iter().map(stretched).collect(), ..self.clone() }
    }

    /// Name for people, e.g. `q21-100g`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Stages by id.
    #[must_use]
    pub fn stages(&self) -> &[StageTemplate] {
        &self.stages
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(n: usize, edges: &[[u32; 2]]) -> Result<JobTemplate, (Option<usize>, String)> {
        let durations = DurationTable::uniform(vec![1.0], 0.0).unwrap();
        let stage = StageTemplate { num_tasks: 1, rough_ms: 1.0, durations };
        JobTemplate::new("test".to_owned(), vec![stage; n], edges)
    }

    #[test]
    fn impossible_graphs_are_refused_with_the_stage() {
        assert!(job(0, &[]).unwrap_err().1.contains("no stages"));
        assert_eq!(job(3, &[[0, 1], [1, 2], [2, 1]]).unwrap_err().0, Some(1));
        assert!(job(2, &[[0, 2]]).unwrap_err().1.contains("stages are 0..=1"));
        assert!(job(2, &[[0, 1], [0, 1]]).unwrap_err().1.contains("twice"));
        assert!(job(1, &[[0, 0]]).unwrap_err().1.contains("cycle"));
    }

    #[test]
    fn long_chains_are_refused_and_wide_jobs_are_not() {
        let chain = |n: usize| job(n, &(1..n as u32).map(|child| [child - 1, child]).collect::<Vec<_>>());
        assert_eq!(chain(2_800).unwrap().descendants(0).len(), 2_799);
        let (_, problem) = chain(100_000).unwrap_err();
        assert!(problem.contains("100000 stages") && problem.contains("2800"), "{problem}");
        let star: Vec<[u32; 2]> = (1..100_000).map(|child| [0, child]).collect();
        assert_eq!(job(100_000, &star).unwrap().descendants(0).len(), 99_999);
        assert!(job(100_001, &[]).unwrap_err().1.contains("at most 100000"));
    }

    #[test]
    fn no_stage_has_impossible_numbers() {
        let with = |num_tasks, rough_ms, duration| {
            let durations = DurationTable::uniform(vec![1.0, duration], 0.0).unwrap();
            let stage = StageTemplate { num_tasks, rough_ms, durations };
            JobTemplate::new("test".to_owned(), vec![stage], &[]).map_err(|(_, problem)| problem)
        };
        assert!(with(1, 1.0, 0.0).is_ok());
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(with(1, 1.0, bad).unwrap_err().contains("durations must be numbers in 0..=1e15"));
            assert!(with(1, bad, 1.0).unwrap_err().contains("rough_ms must be a number in 0..=1e15"));
        }
        assert!(with(0, 1.0, 1.0).unwrap_err().contains("0 tasks"));
        assert!(with(2_000_000, 1.0, 1.0).unwrap_err().contains("at most 1000000"));
    }

    #[test]
    fn the_topological_order_puts_parents_first() {
        let job = job(5, &[[4, 0], [0, 2], [1, 2], [2, 3]]).unwrap();
        let position = |s: u32| job.topological().iter().position(|&t| t == s).unwrap();
        for child in 0..5 {
            for &parent in job.parents(child) {
                assert!(position(parent) < position(child));
                assert!(job.children(parent).contains(&child));
                assert!(job.descendants(parent).contains(&child) && job.depth(parent) < job.depth(child));
            }
        }
    }
}
