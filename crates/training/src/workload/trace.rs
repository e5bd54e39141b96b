//! Arrivals as recorded somewhere: a CSV file with submission times.

use sched_distill_core::workload::{WorkloadError, read_text};
use std::path::Path;

/// Most slots of a trace.
const MOST_SLOTS: f64 = 1e6;

/// The slots of a trace in which jobs arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalTrace {
    /// Slot and number of arrivals, by slot, each positive. Never empty.
    counts: Vec<[u32; 2]>,
}

impl ArrivalTrace {
    /// Reads the column `submit_s` (seconds since the trace began) of a CSV file; other columns are of no concern.
    ///
    /// # Errors
    ///
    /// An unreadable file, a file without that column or without rows, a time that is no number at least 0, a time beyond a
    /// million slots, all with line and column.
    pub fn load(path: &Path, slot_s: f64) -> Result<Self, WorkloadError> {
        Self::parse(&read_text(path)?, slot_s)
            .map_err(|problem| WorkloadError::Format { path: path.to_owned(), problem })
    }

    fn parse(text: &str, slot_s: f64) -> Result<Self, String> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let (_, header) = lines.next().ok_or("the file is empty; expected a CSV file with a column `submit_s`")?;
        let names: Vec<&str> = header.split(',').map(str::trim).collect();
        let column = names
            .iter()
            .position(|name| *name == "submit_s")
            .ok_or_else(|| format!("line 1 names no column `submit_s`; it names {}", names.join(", ")))?;
        let mut slots = Vec::new();
        for (number, line) in lines {
            let at = |found: &str| {
                let place = column + 1;
                format!(
                    "line {number}, column {place} (`submit_s`): expected seconds, at least 0 and at most {MOST_SLOTS} slots of {slot_s} s, got {found}"
                )
            };
            let cell = line.split(',').nth(column).ok_or_else(|| at("nothing"))?.trim();
            let slot = cell.parse::<f64>().map_err(|_| at(&format!("`{cell}`")))? / slot_s;
            if !(0.0..MOST_SLOTS).contains(&slot) {
                return Err(at(&format!("`{cell}`")));
            }
            slots.push(slot as u32);
        }
        if slots.is_empty() {
            return Err("has no rows below its header; at least one submission is needed".to_owned());
        }
        slots.sort_unstable();
        let counts = slots.chunk_by(|a, b| a == b).map(|same| [same[0], same.len() as u32]).collect();
        Ok(Self { counts })
    }

    /// Slots up to the last arrival.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.counts.last().map_or(1, |[slot, _]| slot + 1)
    }

    /// Slots that `jobs` jobs take to arrive at most, if no more than `limit` arrive in one.
    pub(super) fn span(&self, limit: u32, jobs: u32) -> u64 {
        let each: u64 = self.counts.iter().map(|[_, count]| u64::from((*count).min(limit))).sum();
        (u64::from(jobs).div_ceil(each.max(1)) + 1) * u64::from(self.length())
    }

    /// Arrival slots of `jobs` jobs, counted from `offset`, which becomes slot 0; no more than `limit` in a slot.
    pub(super) fn slots(&self, limit: u32, jobs: u32, offset: u32) -> Vec<u32> {
        let mut slots = Vec::with_capacity(jobs as usize);
        let mut next = self.counts.partition_point(|[slot, _]| *slot < offset);
        let mut turn = 0;
        while slots.len() < jobs as usize {
            let Some(&[slot, count]) = self.counts.get(next) else {
                (next, turn) = (0, turn + self.length());
                continue;
            };
            let left = jobs as usize - slots.len();
            slots.extend(std::iter::repeat_n(turn + slot - offset, left.min(count.min(limit) as usize)));
            next += 1;
        }
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_clipped_and_the_trace_begins_again() {
        let trace = ArrivalTrace::parse("id,submit_s\n1,0\n2,25\n3,21\n4, 29\n\n5,40\n", 10.0).unwrap();
        assert_eq!(trace.counts, [[0, 1], [2, 3], [4, 1]]);
        assert_eq!(trace.slots(2, 4, 0), [0, 2, 2, 4]);
        assert_eq!(trace.slots(9, 6, 3), [1, 2, 4, 4, 4, 6]);
        assert!(trace.span(9, 6) > 6);
    }

    #[test]
    fn mistakes_name_line_and_column() {
        for (text, expected) in [
            ("", "the file is empty"),
            ("a,b\n1,2\n", "line 1 names no column `submit_s`; it names a, b"),
            ("a,submit_s\n", "has no rows"),
            ("a,submit_s\n1,5\n2\n", "line 3, column 2 (`submit_s`): expected seconds"),
            ("submit_s\n\nx\n", "line 3, column 1 (`submit_s`)"),
            ("submit_s\n-1\n", "got `-1`"),
            ("submit_s\nNaN\n", "got `NaN`"),
            ("submit_s\n1e30\n", "got `1e30`"),
        ] {
            let message = ArrivalTrace::parse(text, 10.0).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
