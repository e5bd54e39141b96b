//! In which order can stages come?

use std::{cmp::Reverse, collections::BinaryHeap};

/// The place of each of `n` stages in an order in which edges lead forward, and that is the given one where it can be; `None` if there is
/// none. Edges are sorted and lead from one stage to another.
pub(super) fn places(n: usize, edges: &[[u32; 2]]) -> Option<Vec<u32>> {
    let mut waits = vec![0_u32; n];
    for &[_, child] in edges {
        *waits.get_mut(child as usize)? += 1;
    }
    let free = waits.iter().enumerate().filter(|&(_, waits)| *waits == 0);
    let mut free: BinaryHeap<_> = free.map(|(stage, _)| Reverse(stage as u32)).collect();
    let mut places = vec![0; n];
    let mut next = 0;
    while let Some(Reverse(stage)) = free.pop() {
        *places.get_mut(stage as usize)? = next;
        next += 1;
        let from = edges.partition_point(|&[parent, _]| parent < stage);
        for &[_, child] in edges.get(from..)?.iter().take_while(|&&[parent, _]| parent == stage) {
            let waits = waits.get_mut(child as usize)?;
            *waits -= 1;
            if *waits == 0 {
                free.push(Reverse(child));
            }
        }
    }
    (next as usize == n).then_some(places)
}

/// Brings stages and edges into such an order; `None` if there is none.
pub(super) fn ordered<T>(stages: Vec<T>, mut edges: Vec<[u32; 2]>) -> Option<(Vec<T>, Vec<[u32; 2]>)> {
    edges.sort_unstable();
    edges.dedup();
    let places = places(stages.len(), &edges)?;
    let mut placed: Vec<(u32, T)> = places.iter().copied().zip(stages).collect();
    placed.sort_by_key(|&(place, _)| place);
    for edge in &mut edges {
        for end in edge {
            *end = *places.get(*end as usize)?;
        }
    }
    edges.sort_unstable();
    Some((placed.into_iter().map(|(_, stage)| stage).collect(), edges))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_come_in_the_order_of_their_edges() {
        assert_eq!(ordered(vec!['a', 'b', 'c'], vec![[2, 0], [2, 0]]), Some((vec!['b', 'c', 'a'], vec![[1, 2]])));
        assert_eq!(ordered(vec!['a', 'b'], vec![]), Some((vec!['a', 'b'], vec![])));
        assert_eq!(ordered(vec!['a', 'b', 'c'], vec![[0, 1], [1, 2], [2, 1]]), None);
        assert_eq!(ordered(vec!['a'], vec![[0, 0]]), None);
        assert_eq!(ordered(vec!['a'], vec![[0, 7]]), None);
    }
}
