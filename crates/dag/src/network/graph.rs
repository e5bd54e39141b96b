//! Which nodes exchange messages in which step.
//!
//! Decima's steps are not one pass from the leaves to the roots. Step `k` takes the nodes of generation `k` (longest path
//! from a root) and their children, and uses *every* edge between any two of these; so a child that has another child among
//! them is computed anew in this step, from only some of its children.

/// The observation's graph; buffers are kept between observations.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Children of node `v` are `child[first[v]..first[v + 1]]`.
    first: Vec<u32>,
    child: Vec<u32>,
    /// Nodes in order of generation, and where each generation begins; the last entry is the number of nodes.
    order: Vec<u32>,
    level: Vec<usize>,
    /// Nodes of the current step, those of its generation first.
    pub members: Vec<u32>,
    /// Number of members that belong to the step's generation.
    pub parents: usize,
    /// Position in `members[parents..]` of a node that is a child in the step `child_in`.
    position: Vec<u32>,
    child_in: Vec<u32>,
    step: u32,
}

impl Graph {
    /// Takes in the edges (parent, child) between `n` nodes, which must be sorted and without repetition. A node that lies on
    /// a cycle or below one is an error.
    pub fn build(&mut self, n: usize, edges: &[[u32; 2]]) -> Result<(), u32> {
        self.order.clear();
        self.level.clear();
        self.child.clear();
        self.child.extend(edges.iter().map(|edge| edge[1]));
        self.first.clear();
        let mut e = 0;
        for v in 0..=n {
            while edges.get(e).is_some_and(|edge| (edge[0] as usize) < v) {
                e += 1;
            }
            self.first.push(e as u32);
        }

        // Remove roots generation by generation; a node's last parent to go is one generation before it.
        let open_parents = &mut self.position;
        open_parents.clear();
        open_parents.resize(n, 0);
        for &c in &self.child {
            open_parents[c as usize] += 1;
        }
        self.order.extend((0..n as u32).filter(|&v| open_parents[v as usize] == 0));
        let mut from = 0;
        while from < self.order.len() {
            self.level.push(from);
            let to = self.order.len();
            for i in from..to {
                let v = self.order[i] as usize;
                for &c in &self.child[self.first[v] as usize..self.first[v + 1] as usize] {
                    open_parents[c as usize] -= 1;
                    if open_parents[c as usize] == 0 {
                        self.order.push(c);
                    }
                }
            }
            from = to;
        }
        self.level.push(n);
        if self.order.len() < n {
            return Err(open_parents.iter().position(|&open| open > 0).unwrap_or(0) as u32);
        }
        self.child_in.clear();
        self.child_in.resize(n, u32::MAX);
        Ok(())
    }

    /// Number of message-passing steps: the longest path, counted in edges.
    pub fn steps(&self) -> usize {
        self.level.len().saturating_sub(2)
    }

    /// Children of a node, ascending.
    pub fn children(&self, v: u32) -> &[u32] {
        &self.child[self.first[v as usize] as usize..self.first[v as usize + 1] as usize]
    }

    /// Collects the members of step `k < steps()`.
    pub fn enter(&mut self, k: usize) {
        self.step = k as u32;
        let generation = &self.order[self.level[k]..self.level[k + 1]];
        self.members.clear();
        self.members.extend(generation.iter().filter(|&&v| self.first[v as usize] < self.first[v as usize + 1]));
        self.parents = self.members.len();
        for i in 0..self.parents {
            let v = self.members[i] as usize;
            for &c in &self.child[self.first[v] as usize..self.first[v + 1] as usize] {
                if self.child_in[c as usize] != self.step {
                    self.child_in[c as usize] = self.step;
                    self.position[c as usize] = (self.members.len() - self.parents) as u32;
                    self.members.push(c);
                }
            }
        }
    }

    /// The children of a member that are members too, as indices into `members[parents..]`.
    pub fn inner_children(&self, v: u32) -> impl Iterator<Item = usize> {
        self.inner_edges(v).map(|(_, child)| child)
    }

    /// The same with the number of the edge that leads there, in the order in which the edges were given.
    pub fn inner_edges(&self, v: u32) -> impl Iterator<Item = (usize, usize)> {
        let first = self.first[v as usize] as usize;
        let inside = |c: u32| self.child_in[c as usize] == self.step;
        let edges = self.children(v).iter().enumerate().filter(move |&(_, &c)| inside(c));
        edges.map(move |(i, &c)| (first + i, self.position[c as usize] as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_count_the_longest_path_from_a_root() -> Result<(), u32> {
        let mut graph = Graph::default();
        graph.build(6, &[[0, 1], [0, 3], [1, 3], [3, 2], [4, 2]])?;
        assert_eq!(
            (graph.steps(), &graph.order[..], &graph.level[..]),
            (3, &[0, 4, 5, 1, 3, 2][..], &[0, 3, 4, 5, 6][..])
        );
        graph.enter(0);
        assert_eq!((&graph.members[..], graph.parents), (&[0, 4, 1, 3, 2][..], 2));
        // The edges 1 -> 3 and 3 -> 2 belong to step 0 as well.
        assert_eq!(graph.inner_children(1).collect::<Vec<_>>(), [1]);
        assert_eq!(graph.inner_children(3).collect::<Vec<_>>(), [2]);
        Ok(())
    }

    #[test]
    fn a_cycle_is_refused() {
        let mut graph = Graph::default();
        assert_eq!(graph.build(3, &[[1, 1]]), Err(1));
        assert_eq!(graph.build(3, &[[0, 1], [1, 2], [2, 1]]), Err(1));
    }
}
