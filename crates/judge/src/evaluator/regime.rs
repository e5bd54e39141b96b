//! Regimes: decisions told apart by the state of the cluster, cut at the terciles of one feature.

use sched_distill_core::level::NONE_FLAG;
use sched_distill_trace::LevelTable;
use std::collections::BTreeMap;

/// Regimes of decisions.
#[derive(Clone, Debug, PartialEq)]
pub struct Regimes {
    /// What each regime is, e.g. `jobs_in_system <= 4`.
    pub names: Vec<String>,
    /// The regime of each decision, by episode and step.
    of: BTreeMap<(u32, u32), u8>,
}

impl Regimes {
    /// Cuts the decisions of a table into three parts of about the same number by one feature; two or one where its values
    /// do not allow more. `None` if the table lacks the feature or candidates of one choice differ in it. The last candidate
    /// does not count where its flag says that it stands for giving nothing.
    #[must_use]
    pub fn terciles(table: &LevelTable, feature: &str) -> Option<Self> {
        let at = |name: &str| table.spec.features.iter().position(|f| f.name == name);
        let (column, flag) = (at(feature)?, at(NONE_FLAG));
        let mut values = Vec::with_capacity(table.choices.len());
        for choice in table.iter() {
            let last_is_none = flag.is_some_and(|flag| choice.row(choice.len() - 1)[flag] > 0.0);
            let counted = choice.len() - usize::from(last_is_none);
            if counted == 0 {
                continue;
            }
            let first = choice.row(0)[column];
            if (1..counted).any(|i| choice.row(i)[column] != first) {
                return None;
            }
            values.push(((choice.header.episode, choice.header.step), first));
        }
        let mut sorted: Vec<f32> = values.iter().map(|v| v.1).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        let most = *sorted.last()?;
        let mut cuts: Vec<f32> = [1, 2].map(|third| sorted[(sorted.len() * third / 3).max(1) - 1]).to_vec();
        cuts.dedup();
        cuts.retain(|&c| c < most);
        let names = match cuts[..] {
            [] => vec![format!("{feature} <= {most}")],
            [a] => vec![format!("{feature} <= {a}"), format!("{feature} > {a}")],
            [a, b, ..] => {
                vec![format!("{feature} <= {a}"), format!("{a} < {feature} <= {b}"), format!("{feature} > {b}")]
            }
        };
        let of = values.into_iter().map(|(at, v)| (at, cuts.iter().filter(|&&c| v > c).count() as u8)).collect();
        Some(Self { names, of })
    }

    /// Divides the kinds of a table by regime, `KIND, REGIME`; kinds are in order, and a kind's regimes too. Choices of decisions
    /// that are not known count for the first regime.
    pub fn divide(&self, table: &mut LevelTable) {
        let regimes = self.names.len() as u8;
        for choice in &mut table.choices {
            let regime = self.of.get(&(choice.episode, choice.step)).copied().unwrap_or(0);
            choice.kind = choice.kind * regimes + regime;
        }
        let of_kind = |kind: &String| self.names.iter().map(|name| format!("{kind}, {name}")).collect::<Vec<_>>();
        table.kinds = table.kinds.iter().flat_map(of_kind).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::tiny;

    #[test]
    fn decisions_are_cut_at_terciles() {
        // Feature `b` is 0, 1, ..., 8 in nine decisions of two candidates each.
        let choices: Vec<_> = (0..9).map(|i| (0, 0, vec![[0.0, i as f32], [1.0, i as f32]], 0)).collect();
        let mut table = tiny::table("job", &choices);
        let regimes = Regimes::terciles(&table, "b").unwrap();
        assert_eq!(regimes.names, ["b <= 2", "2 < b <= 5", "b > 5"]);
        assert_eq!(Regimes::terciles(&table, "a"), None, "it differs within choices");
        assert_eq!(Regimes::terciles(&table, "c"), None, "there is no such feature");
        regimes.divide(&mut table);
        assert_eq!(table.choices.iter().map(|c| c.kind).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
        assert_eq!((table.kinds.len(), table.kinds[1].as_str()), (6, "x, 2 < b <= 5"));
    }

    #[test]
    fn a_candidate_that_gives_nothing_does_not_count() {
        let choices: Vec<_> = (0..9).map(|i| (0, 0, vec![[0.0, i as f32], [1.0, 0.0]], 0)).collect();
        let mut table = tiny::table("job", &choices);
        assert_eq!(Regimes::terciles(&table, "b"), None);
        table.spec.features[0].name = NONE_FLAG.to_owned();
        assert_eq!(Regimes::terciles(&table, "b").map(|r| r.names.len()), Some(3));
    }

    #[test]
    fn equal_values_are_not_cut() {
        let choices: Vec<_> = (0..6).map(|i| (0, 0, vec![[0.0, f32::from(u8::from(i == 5))]; 2], 0)).collect();
        let regimes = Regimes::terciles(&tiny::table("job", &choices), "b").unwrap();
        assert_eq!(regimes.names, ["b <= 0", "b > 0"]);
    }
}
