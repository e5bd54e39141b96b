//! Cells as they travel: which of them have any rows, a bit for each, and these alone, as they are in memory. There may be millions of
//! them from every task.

use anyhow::{Result, ensure};
use sched_distill_learn::Cell;

/// Bytes of a cell.
const CELL: usize = size_of::<Cell>();

/// What travels.
pub(super) fn packed(cells: &[Cell]) -> Vec<u8> {
    let full = |cell: &Cell| *cell != Cell::default();
    let count = cells.iter().filter(|&cell| full(cell)).count();
    let mut bytes = Vec::with_capacity(8 + cells.len().div_ceil(8) + count * CELL);
    bytes.extend((cells.len() as u64).to_le_bytes());
    bytes.extend(
        cells.chunks(8).map(|eight| (0..).zip(eight).fold(0, |byte, (bit, cell)| byte | u8::from(full(cell)) << bit)),
    );
    cells
        .iter()
        .filter(|&cell| full(cell))
        .for_each(|cell| bytes.extend(cell.iter().flat_map(|lane| lane.to_le_bytes())));
    bytes
}

/// Adds to cells those that came.
///
/// # Errors
///
/// Bytes of something else, or of another number of cells.
pub(super) fn add_packed(cells: &mut [Cell], bytes: &[u8]) -> Result<()> {
    let (marks, full) = parts(bytes, cells.len())?;
    let mut full = full.chunks_exact(CELL);
    for (mark, eight) in marks.iter().zip(cells.chunks_mut(8)) {
        for (bit, cell) in (0..).zip(eight) {
            if mark >> bit & 1 == 1
                && let Some(bytes) = full.next()
            {
                for (lane, bytes) in cell.iter_mut().zip(bytes.chunks_exact(8)) {
                    *lane += i64::from_le_bytes(bytes.try_into()?);
                }
            }
        }
    }
    Ok(())
}

/// The cells that came.
///
/// # Errors
///
/// Bytes of something else, or of another number of cells.
pub fn unpacked(bytes: &[u8], count: usize) -> Result<Vec<Cell>> {
    let mut cells = vec![Cell::default(); count];
    add_packed(&mut cells, bytes)?;
    Ok(cells)
}

/// The marks, and the cells that they mark.
fn parts(bytes: &[u8], count: usize) -> Result<(&[u8], &[u8])> {
    let marks = count.div_ceil(8);
    ensure!(
        bytes.len() >= 8 + marks && bytes[..8] == (count as u64).to_le_bytes(),
        "the answer is not one to this question: expected {count} cells"
    );
    let (marks, full) = bytes[8..].split_at(marks);
    let marked: usize = marks.iter().map(|byte| byte.count_ones() as usize).sum();
    ensure!(full.len() == marked * CELL, "the answer has {} bytes of cells, expected {}", full.len(), marked * CELL);
    Ok((marks, full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_as_they_left_and_are_added() -> Result<()> {
        let cells: Vec<Cell> =
            (0..21).map(|i| if i % 3 == 0 { [i, -i, i << 55, 0] } else { Cell::default() }).collect();
        let bytes = packed(&cells);
        assert_eq!(unpacked(&bytes, 21)?, cells);
        let mut twice = cells.clone();
        add_packed(&mut twice, &bytes)?;
        assert!(twice.iter().zip(&cells).all(|(twice, cell)| (0..4).all(|lane| twice[lane] == 2 * cell[lane])));
        assert!(unpacked(&packed(&[]), 0)?.is_empty());
        // 0 of 21 has no rows.
        assert_eq!(bytes.len(), 8 + 3 + 6 * CELL);
        Ok(())
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = packed(&[[1, 2, 3, 4], Cell::default()]);
        for (bytes, count) in [(&bytes[..], 3), (&bytes[..bytes.len() - 1], 2), (&bytes[..5], 2), (&[][..], 2)] {
            assert!(unpacked(bytes, count).is_err(), "{bytes:?}");
        }
    }
}
