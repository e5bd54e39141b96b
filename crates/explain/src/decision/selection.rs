//! Which choices are put before the reader: of every kind some where the student agrees, some where it departs, and those where
//! that costs most.

use sched_distill_core::rng::hash;
use sched_distill_judge::evaluator::Scorer;
use sched_distill_trace::{LevelTable, Sample};
use serde::{Deserialize, Serialize};

/// Why a choice is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// The student takes what the teacher finds best.
    Agrees,
    /// It takes another candidate.
    Departs,
    /// It takes another candidate, and few departures lose more of the teacher's probability.
    Costly,
    /// It was asked for.
    Asked,
}

/// Choices of a sample to be shown, at most `most`, as (place in the table, why), in the table's order. Each kind gets the same
/// number, a third of it each for agreements, departures at random and the costliest departures; what one group cannot fill
/// goes to the next.
#[must_use]
pub fn select(sample: &Sample, scorer: &Scorer, most: usize, seed: u64) -> Vec<(usize, Selection)> {
    let table = &sample.table;
    let judged: Vec<(usize, bool, f64)> = judge(table, scorer);
    let mut chosen = Vec::new();
    let kinds: Vec<u8> = (0..table.kinds.len() as u8).filter(|&k| table.choices.iter().any(|c| c.kind == k)).collect();
    for (i, &kind) in kinds.iter().enumerate() {
        let share = (most - chosen.len()) / (kinds.len() - i);
        let of_kind = |&&(place, ..): &&(usize, bool, f64)| table.choices[place].kind == kind;
        let order = |place: usize| hash(&[seed, table.choices[place].id]);
        let mut departs: Vec<&(usize, bool, f64)> = judged.iter().filter(of_kind).filter(|j| !j.1).collect();
        departs.sort_by(|a, b| b.2.total_cmp(&a.2).then(order(a.0).cmp(&order(b.0))));
        let mut agrees: Vec<&(usize, bool, f64)> = judged.iter().filter(of_kind).filter(|j| j.1).collect();
        agrees.sort_by_key(|j| order(j.0));
        // Without probabilities no departure is costlier than another.
        let costly = if departs.first().is_some_and(|j| j.2 > 0.0) { share / 3 } else { 0 }.min(departs.len());
        let mut rest: Vec<&(usize, bool, f64)> = departs.split_off(costly);
        rest.sort_by_key(|j| order(j.0));
        let at_random = rest.len().min((share - costly) / 2);
        chosen.extend(departs.iter().map(|j| (j.0, Selection::Costly)));
        chosen.extend(rest[..at_random].iter().map(|j| (j.0, Selection::Departs)));
        chosen.extend(agrees.iter().take(share - costly - at_random).map(|j| (j.0, Selection::Agrees)));
    }
    chosen.sort_unstable();
    chosen
}

/// Place, agreement and regret of every choice.
fn judge(table: &LevelTable, scorer: &Scorer) -> Vec<(usize, bool, f64)> {
    let mut scores = Vec::new();
    let mut judged = Vec::with_capacity(table.choices.len());
    for (place, choice) in table.iter().enumerate() {
        let (best, taken) = (choice.target(), scorer.choose(&choice, &mut scores));
        let p = |i: usize| f64::from(choice.log_prob[i]).exp();
        let regret = if choice.has_probabilities() { p(best) - p(taken) } else { 0.0 };
        judged.push((place, best == taken, regret));
    }
    judged
}
