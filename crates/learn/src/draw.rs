//! Which choices of a level a fit takes, and with what weight: told from their kinds and weights alone, so that it can be
//! known before their rows are kept.

use sched_distill_core::rng::Stream;
use sched_distill_trace::{Choice, LevelTable, Outline};

/// Choices of less weight than this are left out. Below the first level a choice weighs as much as its parent is probable,
/// and what lies behind improbable parents is much in number but little in weight.
const LEAST_WEIGHT: f32 = 1e-3;

/// Whether a fit can learn from a choice at all.
#[must_use]
pub fn is_usable(choice: &Choice<'_>) -> bool {
    usable(choice.len(), choice.header.weight)
}

fn usable(candidates: usize, weight: f32) -> bool {
    candidates > 1 && weight >= LEAST_WEIGHT
}

/// What is to be known of the choices of a level, in order: some bytes of each.
///
/// ```
/// use sched_distill_learn::Draw;
/// use sched_distill_trace::Outline;
/// let mut draw = Draw::of_rows(30);
/// assert_eq!(draw.weights(1.0, None), None); // there is nothing to learn from
/// for (kind, candidates) in [(0, 3), (0, 1), (1, 2), (0, 5)] {
///     draw.add(&Outline { episode: 0, kind, weight: 1.0, candidates });
/// }
/// // Both kinds weigh the same; a choice with one candidate teaches nothing.
/// assert_eq!(draw.weights(1.0, None), Some(vec![0.75, 0.0, 1.5, 0.75]));
/// ```
#[derive(Clone, Debug)]
pub struct Draw {
    /// Kind, weight and candidates of each choice; the weight of one that is not usable is 0.
    choices: Vec<(u8, f32, u32)>,
    /// Numbers of a row.
    width: usize,
}

impl Draw {
    /// Numbers in the rows of the choices that are drawn at most: the time and the memory of a fit go by these more than by choices, of
    /// which some have hundreds of candidates.
    pub const MOST_NUMBERS: f64 = 13e6;

    /// Of choices whose candidates have so many features each.
    #[must_use]
    pub fn of_rows(width: usize) -> Self {
        Self { choices: Vec::new(), width }
    }

    /// Offers the next choice.
    pub fn add(&mut self, choice: &Outline) {
        let usable = usable(choice.candidates as usize, choice.weight);
        self.choices.push((choice.kind, if usable { choice.weight } else { 0.0 }, choice.candidates));
    }

    /// The weights with which a fit takes the choices, 0 for those that it does not take; `None` if it would take none.
    /// `balance` is how far kinds are balanced ([`super::FitParams`]). Where there are more than `most` choices, so many are
    /// drawn in proportion to their weights and at even distances, which keeps the total weight and, on average, that of
    /// every choice; and fewer where so many had more than 13 million numbers in their rows.
    #[must_use]
    pub fn weights(&self, balance: f64, most: Option<usize>) -> Option<Vec<f64>> {
        let mut of_kind = [0.0; 256];
        self.choices.iter().for_each(|&(kind, weight, _)| of_kind[usize::from(kind)] += f64::from(weight));
        let lift = lifts(&of_kind, balance)?;
        let balanced = |&(kind, weight, _): &(u8, f32, u32)| match weight > 0.0 {
            true => f64::from(weight) * lift[usize::from(kind)],
            false => 0.0,
        };
        let mut weights: Vec<f64> = self.choices.iter().map(balanced).collect();
        let Some(most) = most else { return Some(weights) };
        let usable = self.choices.iter().filter(|(_, weight, _)| *weight > 0.0).count();
        let mut drawn = weights.clone();
        if most < usable {
            thin(&mut drawn, most);
        }
        let numbers = self.numbers(&drawn);
        if numbers <= Self::MOST_NUMBERS {
            return Some(drawn);
        }
        // As large a share of so many choices as their numbers allow: others are drawn, which are as large on average.
        let few = most.min(usable) as f64 * Self::MOST_NUMBERS / numbers;
        thin(&mut weights, (few as usize).max(1));
        Some(weights)
    }

    /// In the rows of choices with a weight.
    fn numbers(&self, weights: &[f64]) -> f64 {
        let of = self.choices.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        of.map(|(&(.., candidates), _)| f64::from(candidates)).sum::<f64>() * self.width as f64
    }
}

/// By kind, what the weights of its choices are multiplied with to balance kinds, given what they weigh; `None` where nothing
/// weighs anything.
pub(super) fn lifts(of_kind: &[f64], balance: f64) -> Option<Vec<f64>> {
    let total: f64 = of_kind.iter().sum();
    let present = of_kind.iter().filter(|&&w| w > 0.0).count() as f64;
    let lift = |&weight: &f64| if weight > 0.0 { (total / (present * weight)).powf(balance) } else { 0.0 };
    (total > 0.0).then(|| of_kind.iter().map(lift).collect())
}

/// Leaves so many weights above 0.
fn thin(weights: &mut [f64], most: usize) {
    let each = weights.iter().sum::<f64>() / most as f64;
    let start = Stream::new(0, "thinned choices").uniform();
    let (mut upto, mut drawn) = (0.0, 0.0);
    for weight in weights.iter_mut().filter(|weight| **weight > 0.0) {
        upto += *weight / each;
        let before: f64 = drawn;
        drawn = (upto - start).ceil().clamp(before, most as f64);
        *weight = (drawn - before) * each;
    }
}

/// The choices of a table that a fit takes, with their weights; `None` if there are none. The weights of a table whose
/// choices were drawn before are taken as they are.
pub(super) fn weighted<'a>(
    table: &'a LevelTable,
    balance: f64,
    most: Option<usize>,
    count: impl Fn(&Choice<'_>) -> bool,
) -> Option<Vec<(Choice<'a>, f64)>> {
    let weights = match &table.drawn {
        Some(drawn) => table.iter().zip(drawn).map(|(c, &w)| if count(&c) { w } else { 0.0 }).collect(),
        None => {
            let weight = |c: &Choice<'_>| if is_usable(c) && count(c) { c.header.weight } else { 0.0 };
            let choices = table.iter().map(|c| (c.header.kind, weight(&c), c.len() as u32)).collect();
            Draw { choices, width: table.width() }.weights(balance, most)?
        }
    };
    let taken: Vec<(Choice<'a>, f64)> = table.iter().zip(weights).filter(|(_, weight)| *weight > 0.0).collect();
    (!taken.is_empty()).then_some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny;

    #[test]
    fn choices_drawn_before_their_rows_are_kept_are_those_drawn_afterwards() {
        let mut stream = Stream::new(4, "draw");
        let choices: Vec<_> = (0..600)
            .map(|i| {
                let candidates = 1 + stream.below(4);
                let rows: Vec<[f32; 2]> = (0..candidates).map(|_| [stream.uniform() as f32, 1.0]).collect();
                (i / 10, stream.below(2) as u8, rows, stream.below(candidates))
            })
            .collect();
        let mut table = tiny::table("job", &choices);
        for choice in &mut table.choices {
            choice.weight = (stream.uniform() * stream.uniform()).powi(4) as f32 + 1e-4;
        }
        for most in [None, Some(1), Some(40), Some(10_000)] {
            let afterwards = weighted(&table, 0.7, most, |_| true).expect("choices to learn from");
            let mut draw = Draw::of_rows(table.width());
            for choice in table.iter() {
                let header = choice.header;
                let (episode, kind, weight) = (header.episode, header.kind, header.weight);
                draw.add(&Outline { episode, kind, weight, candidates: choice.len() as u32 });
            }
            let weights = draw.weights(0.7, most).expect("choices to learn from");
            let mut kept = table.filter(|choice| weights[choice.header.id as usize] > 0.0);
            kept.drawn = Some(weights.iter().copied().filter(|&w| w > 0.0).collect());
            // Whatever is asked for then, they are taken as they were drawn.
            let before = weighted(&kept, 0.0, Some(3), |_| true).expect("choices to learn from");
            let ids = |taken: &[(Choice<'_>, f64)]| -> Vec<(u64, u64)> {
                taken.iter().map(|(choice, weight)| (choice.header.id, weight.to_bits())).collect()
            };
            assert_eq!(ids(&before), ids(&afterwards));
            // A heavy one may stand for several.
            assert!((1..=most.unwrap_or(600)).contains(&afterwards.len()));
        }
    }

    #[test]
    fn of_choices_with_many_numbers_fewer_are_drawn() {
        let mut stream = Stream::new(5, "draw");
        let mut draw = Draw::of_rows(40);
        for episode in 0..9_000 {
            draw.add(&Outline { episode, kind: 0, weight: 1.0, candidates: 1 + stream.below(400) as u32 });
        }
        let drawn = |most| draw.weights(0.0, most).expect("choices to learn from");
        let count = |weights: &[f64]| weights.iter().filter(|&&weight| weight > 0.0).count();
        let all = drawn(None);
        assert!(draw.numbers(&all) > 5.0 * Draw::MOST_NUMBERS);
        for most in [2_000, 30_000] {
            let few = drawn(Some(most));
            assert!((draw.numbers(&few) / Draw::MOST_NUMBERS - 1.0).abs() < 0.05, "{}", draw.numbers(&few));
            // They stand for all.
            assert!((few.iter().sum::<f64>() / all.iter().sum::<f64>() - 1.0).abs() < 1e-3);
        }
        assert_eq!(count(&drawn(Some(500))), 500);
    }
}
