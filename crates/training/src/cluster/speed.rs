//! How many epochs a job does in a slot with so many workers and parameter servers.

#[cfg(feature = "simulate")]
use super::SpeedGrid;
use super::{AnalyticFacts, JobType, NodeShare};
use sched_distill_core::rng::{hash, unit};
use serde::{Deserialize, Serialize};

/// Tells the dips of speeds from other draws.
const DIPS: u64 = 0x6469_7073;

/// The formula of Optimus (Peng et al., EuroSys 2018) for a type: with `w` workers and `p` parameter servers, a sample takes
/// `a/w + b + c·w/p + d·w + e·p` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "RawFormula", into = "RawFormula")]
pub struct SpeedFormula {
    /// Samples per batch, over all workers.
    pub batch: f64,
    /// `a` to `e`, s.
    pub coefficients: [f64; 5],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFormula {
    batch: f64,
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    e: f64,
}

impl From<RawFormula> for SpeedFormula {
    fn from(RawFormula { batch, a, b, c, d, e }: RawFormula) -> Self {
        Self { batch, coefficients: [a, b, c, d, e] }
    }
}

impl From<SpeedFormula> for RawFormula {
    fn from(SpeedFormula { batch, coefficients: [a, b, c, d, e] }: SpeedFormula) -> Self {
        Self { batch, a, b, c, d, e }
    }
}

impl SpeedFormula {
    /// Samples per second of all workers together. Both counts must be positive.
    #[must_use]
    pub fn samples_per_s(&self, workers: u32, servers: u32) -> f64 {
        let ([a, b, c, d, e], w, p) = (self.coefficients, f64::from(workers), f64::from(servers));
        1.0 / (a / w + b + c * w / p + d * w + e * p)
    }
}

/// Where speeds come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedLaw {
    /// [`SpeedFormula`]: epochs per slot = samples/s · slot / (epoch size · batch).
    Formula,
    /// Measured, from a grid file or a table. Of a grid file: epochs per slot = samples/s · slot / epoch size. As in the reference, this takes an epoch for so many
    /// samples rather than batches, so jobs need a great many epochs.
    Grid,
    /// [`AnalyticFacts`]: epochs per slot = steps/s of all workers · slot / epoch size, by placement.
    Analytic,
}

/// Epochs per slot, by type and counts or placement.
#[derive(Clone, Debug)]
pub struct Speed {
    law: SpeedLaw,
    /// Epochs per slot by type, parameter servers, workers, each from 0 to one beyond the maximum. Empty if placement counts.
    table: Vec<f64>,
    /// For each entry of the table the most of it and of all with as many workers and servers or more, within the limits.
    reach: Vec<f64>,
    /// Workers and parameter servers in the tables: the maxima + 2.
    sides: [usize; 2],
    /// By type: facts, and the factor from steps/s to epochs per slot. Empty if placement does not count.
    facts: Vec<(AnalyticFacts, f64)>,
    /// By type.
    best: Vec<f64>,
}

impl Speed {
    /// Speeds by [`SpeedLaw::Formula`]. `limits` are the most workers and parameter servers of a job. Measured speeds are uneven:
    /// one task more can slow a job down until it gets the next one. So each pair of counts takes a share of its speed away that
    /// is always the same for it, drawn evenly from 0 to `dips`.
    ///
    /// # Errors
    ///
    /// A type without a formula, named.
    pub fn formula(types: &[JobType], slot_s: f64, limits: [u32; 2], dips: f64) -> Result<Self, String> {
        Self::tabulate(SpeedLaw::Formula, types, limits, |kind| {
            let job_type = &types[kind];
            let formula = job_type.formula.ok_or_else(|| missing(job_type, "formula"))?;
            let factor = slot_s / (job_type.epoch_size * formula.batch);
            Ok(move |workers, servers| {
                formula.samples_per_s(workers, servers) * factor * left_by(dips, kind, workers, servers)
            })
        })
    }

    /// Speeds by [`SpeedLaw::Grid`], with dips beyond those that were measured as [`Speed::formula`] has them.
    ///
    /// # Errors
    ///
    /// A type that the grid does not have, or limits not below the grid's sides.
    #[cfg(feature = "simulate")]
    pub fn grid(grid: &SpeedGrid, types: &[JobType], slot_s: f64, limits: [u32; 2], dips: f64) -> Result<Self, String> {
        Self::tabulate(SpeedLaw::Grid, types, limits, |kind| {
            let job_type = &types[kind];
            let rows = grid.rows(&job_type.name, limits)?;
            let epoch_size = job_type.epoch_size;
            Ok(move |workers: u32, servers: u32| {
                let measured = rows[servers as usize - 1][workers as usize - 1] * slot_s / epoch_size;
                measured * left_by(dips, kind, workers, servers)
            })
        })
    }

    /// Speeds by [`SpeedLaw::Analytic`]. `nodes` counts for [`Speed::best`] only.
    ///
    /// # Errors
    ///
    /// A type without the facts needed, named.
    pub fn analytic(types: &[JobType], slot_s: f64, limits: [u32; 2], nodes: u32) -> Result<Self, String> {
        let facts: Vec<(AnalyticFacts, f64)> = types
            .iter()
            .map(|t| Ok((t.analytic.ok_or_else(|| missing(t, "analytic"))?, slot_s / t.epoch_size)))
            .collect::<Result<_, String>>()?;
        let bundles = limits[0].min(limits[1]);
        let best = facts.iter().map(|(facts, factor)| facts.best_steps_per_s(bundles, nodes) * factor).collect();
        Ok(Self { law: SpeedLaw::Analytic, table: Vec::new(), reach: Vec::new(), sides: [0; 2], facts, best })
    }

    /// Measured speeds: epochs per slot by type, parameter servers and workers. Row `p − 1` of a type holds `p` parameter servers,
    /// column `w − 1` `w` workers, both up to one beyond the limits.
    ///
    /// # Errors
    ///
    /// A type without a table, one of another size, or a speed that is negative or no finite number.
    pub fn table(rows: &[Vec<Vec<f64>>], types: &[JobType], limits: [u32; 2]) -> Result<Self, String> {
        if rows.len() != types.len() {
            return Err(format!(
                "a table of speeds is needed for each of the {} types, got {}",
                types.len(),
                rows.len()
            ));
        }
        let [workers, servers] = limits.map(|limit| limit as usize + 1);
        for (job_type, rows) in types.iter().zip(rows) {
            if rows.len() != servers || rows.iter().any(|row| row.len() != workers) {
                return Err(format!(
                    "type `{}`: the table of speeds needs {servers} rows (parameter servers) of {workers} columns (workers), \
                     one more than the maxima",
                    job_type.name
                ));
            }
            if let Some(bad) = rows.iter().flatten().find(|speed| !(0.0..=1e12).contains(*speed)) {
                return Err(format!("type `{}`: speeds must be numbers in 0..=1e12, got {bad}", job_type.name));
            }
        }
        Self::tabulate(SpeedLaw::Grid, types, limits, |kind| {
            let rows = &rows[kind];
            Ok(move |workers: u32, servers: u32| rows[servers as usize - 1][workers as usize - 1])
        })
    }

    /// What [`Speed::table`] takes; `None` if placement counts.
    #[must_use]
    pub fn rows(&self) -> Option<Vec<Vec<Vec<f64>>>> {
        let [workers, servers] = self.sides;
        let row = |row: &[f64]| row[1..].to_vec();
        let table = |table: &[f64]| table.chunks(workers).skip(1).map(row).collect();
        (!self.by_placement()).then(|| self.table.chunks(workers * servers).map(table).collect())
    }

    /// `speed_of` gives the speed by counts of the type at a place.
    fn tabulate<F: Fn(u32, u32) -> f64>(
        law: SpeedLaw,
        types: &[JobType],
        limits: [u32; 2],
        speed_of: impl Fn(usize) -> Result<F, String>,
    ) -> Result<Self, String> {
        let sides = limits.map(|limit| limit as usize + 2);
        let (mut table, mut best) = (Vec::with_capacity(types.len() * sides[0] * sides[1]), Vec::new());
        let mut reach = Vec::with_capacity(table.capacity());
        for kind in 0..types.len() {
            let (speed, first) = (speed_of(kind)?, table.len());
            for servers in 0..=limits[1] + 1 {
                for workers in 0..=limits[0] + 1 {
                    table.push(if workers == 0 || servers == 0 { 0.0 } else { speed(workers, servers) });
                }
            }
            reach.resize(table.len(), 0.0);
            for (servers, workers) in
                (0..=limits[1] as usize).rev().flat_map(|s| (0..=limits[0] as usize).rev().map(move |w| (s, w)))
            {
                let at = first + servers * sides[0] + workers;
                reach[at] = f64::max(table[at], f64::max(reach[at + 1], reach[at + sides[0]]));
            }
            best.push(reach[first]);
        }
        Ok(Self { law, table, reach, sides, facts: Vec::new(), best })
    }

    /// Where the speeds come from.
    #[must_use]
    pub fn law(&self) -> SpeedLaw {
        self.law
    }

    /// Whether it matters on which nodes tasks are.
    #[inline]
    #[must_use]
    pub fn by_placement(&self) -> bool {
        self.law == SpeedLaw::Analytic
    }

    /// Epochs per slot by counts, of which each may be one beyond its limit; 0 if either count is 0.
    ///
    /// # Panics
    ///
    /// If a count is further beyond, if there is no such type, or if placement counts ([`Speed::by_placement`]).
    #[inline]
    #[must_use]
    pub fn by_count(&self, kind: u8, workers: u32, servers: u32) -> f64 {
        debug_assert!((workers as usize) < self.sides[0] && (servers as usize) < self.sides[1]);
        self.table[(kind as usize * self.sides[1] + servers as usize) * self.sides[0] + workers as usize]
    }

    /// The most epochs per slot with at least so many workers and parameter servers, within the limits; 0 beyond them. Where
    /// placement counts, [`Speed::best`].
    ///
    /// # Panics
    ///
    /// As [`Speed::by_count`], but for placement.
    #[inline]
    #[must_use]
    pub fn in_reach(&self, kind: u8, workers: u32, servers: u32) -> f64 {
        if self.by_placement() {
            return self.best(kind);
        }
        debug_assert!((workers as usize) < self.sides[0] && (servers as usize) < self.sides[1]);
        self.reach[(kind as usize * self.sides[1] + servers as usize) * self.sides[0] + workers as usize]
    }

    /// Epochs per slot by nodes, each with at least one task and named once.
    ///
    /// # Panics
    ///
    /// If there is no such type, or if placement does not count.
    #[must_use]
    pub fn by_nodes(&self, kind: u8, shares: impl Iterator<Item = NodeShare> + Clone) -> f64 {
        let (facts, factor) = &self.facts[kind as usize];
        facts.steps_per_s(shares) * factor
    }

    /// The most epochs per slot that a job of this type can do: with the best counts within the limits or, where placement
    /// counts, the best number of bundles of worker and parameter server, spread evenly over all nodes.
    ///
    /// # Panics
    ///
    /// If there is no such type.
    #[inline]
    #[must_use]
    pub fn best(&self, kind: u8) -> f64 {
        self.best[kind as usize]
    }
}

/// The share of its speed that a pair of counts of a type has left, always the same for it.
fn left_by(dips: f64, kind: usize, workers: u32, servers: u32) -> f64 {
    1.0 - dips * unit(hash(&[DIPS, kind as u64, u64::from(workers), u64::from(servers)]))
}

fn missing(job_type: &JobType, what: &str) -> String {
    format!("type `{}` has no `{what}`, which this way to find speeds needs", job_type.name)
}

#[cfg(test)]
mod tests {
    use super::{super::JOB_TYPES, *};

    #[test]
    fn the_table_holds_what_the_formula_gives() {
        let speed = Speed::formula(&JOB_TYPES, 1200.0, [5, 7], 0.0).unwrap();
        for (kind, job_type) in (0..).zip(&JOB_TYPES) {
            let formula = job_type.formula.unwrap();
            let mut best = 0.0_f64;
            for (workers, servers) in (0..=6).flat_map(|w| (0..=8).map(move |s| (w, s))) {
                let found = speed.by_count(kind, workers, servers);
                if workers == 0 || servers == 0 {
                    assert_eq!(found, 0.0);
                    continue;
                }
                let expected = formula.samples_per_s(workers, servers) * 1200.0 / (job_type.epoch_size * formula.batch);
                assert!((found / expected - 1.0).abs() < 1e-12, "{} {workers} {servers}", job_type.name);
                if workers <= 5 && servers <= 7 {
                    best = best.max(found);
                }
            }
            assert_eq!(speed.best(kind), best);
            for (workers, servers) in (0..=6).flat_map(|w| (0..=8).map(move |s| (w, s))) {
                let more = (workers..=5).flat_map(|w| (servers..=7).map(move |s| (w, s)));
                let most = more.map(|(w, s)| speed.by_count(kind, w, s)).fold(0.0, f64::max);
                assert_eq!(speed.in_reach(kind, workers, servers), most);
            }
        }
    }

    #[test]
    fn dips_take_a_share_of_each_speed() {
        let speed = |dips: f64, limits| Speed::formula(&JOB_TYPES, 1200.0, limits, dips).unwrap();
        let (even, uneven, wider) = (speed(0.0, [6, 6]), speed(0.3, [6, 6]), speed(0.3, [9, 7]));
        let cells = || (0..8).flat_map(|kind| (1..=6).flat_map(move |w| (1..=6).map(move |s| (kind, w, s))));
        let left: Vec<f64> = cells().map(|(k, w, s)| uneven.by_count(k, w, s) / even.by_count(k, w, s)).collect();
        assert!(left.iter().all(|share| (0.7..=1.0).contains(share)));
        let mean = left.iter().sum::<f64>() / left.len() as f64;
        assert!((mean - 0.85).abs() < 0.02, "{mean}");
        // The limits change nothing of it.
        assert!(cells().all(|(k, w, s)| uneven.by_count(k, w, s) == wider.by_count(k, w, s)));
        // Some job is slower with a worker more, and there is more in reach all the same.
        assert!(cells().any(|(k, w, s)| w < 6
            && uneven.by_count(k, w + 1, s) < uneven.by_count(k, w, s)
            && uneven.in_reach(k, w + 1, s) > uneven.by_count(k, w, s)));
    }

    #[test]
    fn a_type_without_the_facts_is_named() {
        let mut job_type = JOB_TYPES[1].clone();
        (job_type.formula, job_type.analytic) = (None, None);
        let types = [JOB_TYPES[0].clone(), job_type];
        assert!(Speed::formula(&types, 1.0, [2, 2], 0.0).unwrap_err().contains("`vgg-16` has no `formula`"));
        assert!(Speed::analytic(&types, 1.0, [2, 2], 3).unwrap_err().contains("`vgg-16` has no `analytic`"));
    }
}
