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

impl JobTemplate {
    /// A job from its stages and its edges `[parent, child]`.
    ///
    /// # Errors
    ///
    /// The stage and a sentence about it: no stages, no tasks, an edge to a stage that is not there or to itself, an edge
    /// given twice, a cycle.
    pub fn new(name: String, stages: Vec<StageTemplate>, edges: &[[u32; 2]]) -> Result<Self, (Option<usize>, String)> {
        let n = stages.len();
        if n == 0 {
            return Err((None, "has no stages; at least one is needed".to_owned()));
        }
        if let Some(i) = stages.iter().position(|s| s.num_tasks == 0) {
            return Err((Some(i), "has 0 tasks; at least 1 is needed".to_owned()));
        }
        let (mut parents, mut children) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for &[parent, child] in edges {
            for stage in [parent, child] {
                if stage as usize >= n {
                    let problem = format!("edge [{parent}, {child}] names stage {stage}; stages are 0..={}", n - 1);
                    return Err((None, problem));
                }
            }
            if children[parent as usize].contains(&child) {
                return Err((Some(child as usize), format!("edge [{parent}, {child}] is given twice")));
            }
            parents[child as usize].push(parent);
            children[parent as usize].push(child);
        }
        for list in parents.iter_mut().chain(&mut children) {
            list.sort_unstable();
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
        let mut descendants = vec![Vec::new(); n];
        let mut depth = vec![0; n];
        for &stage in topological.iter().rev() {
            let mut below: Vec<u32> = children[stage as usize].clone();
            below.extend(children[stage as usize].iter().flat_map(|&c| &descendants[c as usize]));
            below.sort_unstable();
            below.dedup();
            descendants[stage as usize] = below;
        }
        for &stage in &topological {
            let above = parents[stage as usize].iter().map(|&p| depth[p as usize] + 1);
            depth[stage as usize] = above.max().unwrap_or(0);
        }
        Ok(Self { name, stages, parents, children, topological, descendants, depth })
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
