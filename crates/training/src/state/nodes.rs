//! The nodes: what is in use on each, and which one is the head.

/// Use of the nodes. The head is the root of a tournament tree, so that a change costs the logarithm of the number of nodes.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    /// Slots of CPU and GPU in use.
    used: Vec<[u32; 2]>,
    /// Leaves from `used.len()` on, a parent at half the place of its children. An entry holds slots in use above bit 32 and
    /// the node below, so that the smallest entry is the head.
    tree: Vec<u64>,
}

/// A leaf of the tree.
fn entry(node: u32, used: u32) -> u64 {
    u64::from(used) << 32 | u64::from(node)
}

impl Nodes {
    /// `count` empty nodes, at least one.
    pub(super) fn new(count: u32) -> Self {
        let count = count.max(1) as usize;
        let mut nodes = Self { used: vec![[0; 2]; count], tree: vec![0; 2 * count] };
        nodes.clear();
        nodes
    }

    /// Releases everything.
    pub(super) fn clear(&mut self) {
        let count = self.used.len();
        self.used.fill([0; 2]);
        for (entry, node) in self.tree[count..].iter_mut().zip(0..) {
            *entry = node;
        }
        for place in (1..count).rev() {
            self.tree[place] = self.tree[2 * place].min(self.tree[2 * place + 1]);
        }
    }

    pub(super) fn used(&self, node: u32) -> [u32; 2] {
        self.used[node as usize]
    }

    /// The node with the fewest slots in use, the lowest among equals.
    #[inline]
    pub(super) fn head(&self) -> u32 {
        self.tree[1] as u32
    }

    /// The head once these slots of a node are taken.
    pub(super) fn head_after(&self, node: u32, slots: [u32; 2]) -> u32 {
        let mut least = entry(node, self.used[node as usize].iter().chain(&slots).sum());
        let mut place = self.used.len() + node as usize;
        while place > 1 {
            least = least.min(self.tree[place ^ 1]);
            place /= 2;
        }
        least as u32
    }

    /// Takes slots of a node.
    pub(super) fn take(&mut self, node: u32, slots: [u32; 2]) {
        let used = &mut self.used[node as usize];
        *used = [used[0] + slots[0], used[1] + slots[1]];
        let mut place = self.used.len() + node as usize;
        self.tree[place] = entry(node, self.used[node as usize].iter().sum());
        while place > 1 {
            place /= 2;
            self.tree[place] = self.tree[2 * place].min(self.tree[2 * place + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Stream;

    #[test]
    fn the_head_is_the_least_used_node() {
        let mut stream = Stream::new(1, "nodes");
        for count in 1..20 {
            let mut nodes = Nodes::new(count);
            for step in 0..200 {
                let least = (0..count).min_by_key(|&n| (nodes.used(n).iter().sum::<u32>(), n)).unwrap();
                assert_eq!(nodes.head(), least, "{count} nodes");
                let node = if stream.uniform() < 0.5 { least } else { stream.below(count as usize) as u32 };
                let slots = [stream.below(3) as u32, stream.below(5) as u32];
                let then = nodes.head_after(node, slots);
                nodes.take(node, slots);
                assert_eq!(then, nodes.head(), "{count} nodes");
                if step % 70 == 69 {
                    nodes.clear();
                }
            }
        }
    }
}
