//! Sums of nodes by feature and bin.

use super::{Cell, CodedRows, FeatureBins, Sketch};
use serde::{Deserialize, Serialize};

/// Where the cells of each feature's bins stand in the list of a node's cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Where each feature's bins begin, and the end.
    first: Vec<u32>,
}

impl Layout {
    /// Of features in these bins.
    #[must_use]
    pub fn of(bins: &[FeatureBins]) -> Self {
        let mut first = vec![0];
        let ends = bins.iter().scan(0, |end, bins| {
            *end += bins.edges.len().max(1) as u32;
            Some(*end)
        });
        first.extend(ends);
        Self { first }
    }

    /// Number of features.
    #[must_use]
    pub fn features(&self) -> usize {
        self.first.len() - 1
    }

    /// Cells of a node.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.first[self.features()] as usize
    }

    /// The cells of a feature among those of a node.
    #[must_use]
    pub fn of_feature<'a>(&self, cells: &'a [Cell], feature: usize) -> &'a [Cell] {
        &cells[self.first[feature] as usize..self.first[feature + 1] as usize]
    }
}

/// The sums of some nodes over some rows, which others can be added to.
#[derive(Clone, Debug)]
pub struct NodeSums {
    layout: Layout,
    sketch: Sketch,
    /// By node of the sketch, which of the wanted it is; `u32::MAX` for others.
    place: Vec<u32>,
    /// The cells of the wanted nodes, one behind the other.
    cells: Vec<Cell>,
    /// Room to sort a batch's rows by node.
    rows: Vec<(u32, u32)>,
    sorted: Vec<u32>,
}

impl NodeSums {
    /// Of no rows yet.
    #[must_use]
    pub fn new(layout: Layout, sketch: Sketch, wanted: &[u32]) -> Self {
        let mut place = vec![u32::MAX; sketch.test.len()];
        wanted.iter().zip(0..).for_each(|(&node, at)| place[node as usize] = at);
        let cells = vec![[0; 4]; wanted.len() * layout.cells()];
        Self { layout, sketch, place, cells, rows: Vec::new(), sorted: Vec::new() }
    }

    /// Adds rows.
    pub fn add(&mut self, rows: &CodedRows<'_>) {
        let width = self.layout.features();
        let of_row = |row: usize| &rows.codes[row * width..(row + 1) * width];
        // Node by node, so that the cells of one are in the cache together.
        let wanted = self.cells.len() / self.layout.cells().max(1);
        let mut begin = vec![0u32; wanted + 1];
        self.rows.clear();
        for row in 0..rows.weight.len() {
            let at = self.place[self.sketch.leaf(of_row(row)) as usize];
            if at != u32::MAX {
                begin[at as usize + 1] += 1;
                self.rows.push((at, row as u32));
            }
        }
        (0..wanted).for_each(|node| begin[node + 1] += begin[node]);
        self.sorted.clear();
        self.sorted.resize(self.rows.len(), 0);
        let mut next = begin.clone();
        for &(at, row) in &self.rows {
            self.sorted[next[at as usize] as usize] = row;
            next[at as usize] += 1;
        }
        let cells = self.layout.cells();
        for (node, cells) in self.cells.chunks_exact_mut(cells.max(1)).enumerate() {
            let of_node = &self.sorted[begin[node] as usize..begin[node + 1] as usize];
            add_rows(cells, &self.layout.first, rows, of_node);
        }
    }

    /// All cells, those of one wanted node behind those of the one before.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The same, so that the sums over other rows can be added to them.
    pub fn cells_mut(&mut self) -> &mut [Cell] {
        &mut self.cells
    }
}

/// Adds some rows of a batch to the cells of a node.
fn add_rows(cells: &mut [Cell], first: &[u32], rows: &CodedRows<'_>, some: &[u32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { add_rows_avx2(cells, first, rows, some) };
    }
    add_rows_portable(cells, first, rows, some);
}

/// The same sums in half the time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_rows_avx2(cells: &mut [Cell], first: &[u32], rows: &CodedRows<'_>, some: &[u32]) {
    add_rows_portable(cells, first, rows, some);
}

#[inline(always)]
fn add_rows_portable(cells: &mut [Cell], first: &[u32], rows: &CodedRows<'_>, some: &[u32]) {
    let width = first.len() - 1;
    for &row in some {
        let row = row as usize;
        let summands = [1, rows.weight[row], rows.first_moment[row], rows.second_moment[row]];
        for (&code, &first) in rows.codes[row * width..(row + 1) * width].iter().zip(first) {
            let cell = &mut cells[first as usize + usize::from(code)];
            for lane in 0..4 {
                cell[lane] += summands[lane];
            }
        }
    }
}
