//! Which models to take for a total size where nobody says by which figure: the least regret among those that agree with the
//! teacher as often as the best, up to noise.
//!
//! Agreement decides what is good; but validation choices tell agreement only up to its standard error, and within that the
//! student is better whose departures cost less (the rule of one standard error: Breiman et al., Classification and regression
//! trees, 1984, §3.4.3). Of a teacher without probabilities nobody knows the cost: there agreement alone decides.

use super::{By, FrontModel, Gate};

/// One model per level.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// Each level's model, by its place in the level's list.
    pub places: Vec<usize>,
    /// Their total size.
    pub size: usize,
    /// Sum over the levels of top-1 agreement, each the mean over the kinds of choice.
    pub top1: f64,
    /// The same of the regret; 0 at levels where the teacher has no probabilities.
    pub regret: f64,
}

/// The combinations of at most `most` in total that pass all gates and whose agreement lies within so many standard errors of the
/// best, the least regret first, and of equals the one that agrees most. Of every total size only those are among them that no other one
/// beats in agreement and regret. Empty if no combination is so small or passes.
///
/// At a level where a model is always right, the smallest such model is the only one.
#[must_use]
pub fn within_noise(
    levels: &[(&str, &[FrontModel])],
    most: usize,
    gates: &[Gate],
    standard_errors: f64,
) -> Vec<Combination> {
    let none = Combination { places: Vec::new(), size: 0, top1: 0.0, regret: 0.0 };
    // By total size: those that no other one of the size beats.
    let mut by_size: Vec<Vec<Combination>> = vec![Vec::new(); most + 1];
    by_size[0].push(none);
    for (level, models) in levels {
        let mut next: Vec<Vec<Combination>> = vec![Vec::new(); most + 1];
        let asked: Vec<&Gate> = gates.iter().filter(|g| g.level == *level).collect();
        let passes = |place: &usize| asked.iter().all(|g| g.holds(&models[*place]));
        let passing: Vec<usize> = (0..models.len()).filter(passes).collect();
        for place in worth_a_look(models, &passing) {
            let model = &models[place];
            let Some(top1) = model.value(By::Top1) else { continue };
            let regret = model.value(By::Regret).map_or(0.0, |v| -v);
            for before in by_size[..=most.saturating_sub(model.size)].iter().flatten() {
                let size = before.size + model.size;
                if size <= most {
                    let places = before.places.iter().copied().chain([place]).collect();
                    let (top1, regret) = (before.top1 + top1, before.regret + regret);
                    enter(&mut next[size], Combination { places, size, top1, regret });
                }
            }
        }
        by_size = next;
    }
    let mut all: Vec<Combination> = by_size.into_iter().flatten().collect();
    let Some(best) = all.iter().max_by(|a, b| a.top1.total_cmp(&b.top1).then(b.size.cmp(&a.size))) else {
        return all;
    };
    let squares = levels.iter().zip(&best.places).map(|((_, models), &place)| models[place].top1_error().powi(2));
    let least = best.top1 - standard_errors * squares.sum::<f64>().sqrt();
    all.retain(|c| c.top1 >= least);
    all.sort_by(|a, b| a.regret.total_cmp(&b.regret).then(b.top1.total_cmp(&a.top1)).then(a.size.cmp(&b.size)));
    all
}

/// All of these models, or the smallest one that is always right.
fn worth_a_look(models: &[FrontModel], passing: &[usize]) -> Vec<usize> {
    let right = passing.iter().copied().filter(|&i| models[i].is_always_right());
    right.min_by_key(|&i| models[i].size).map_or_else(|| passing.to_vec(), |i| vec![i])
}

/// Puts a combination among those of its size unless one of them is as good in both, and takes out those that it beats.
fn enter(those: &mut Vec<Combination>, new: Combination) {
    let beats = |a: &Combination, b: &Combination| a.top1 >= b.top1 && a.regret <= b.regret;
    if !those.iter().any(|there| beats(there, &new)) {
        those.retain(|there| !beats(&new, there));
        those.push(new);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::front::tests::model_with, *};
    use sched_distill_core::rng::Stream;

    fn model(size: usize, top1: f64, regret: Option<f64>) -> FrontModel {
        model_with(size, &[("x", top1)], regret, 0.02)
    }

    #[test]
    fn within_noise_the_least_regret_is_taken_and_beyond_it_agreement_decides() {
        let models = [model(8, 0.80, Some(0.05)), model(6, 0.79, Some(0.03)), model(4, 0.60, Some(0.01))];
        let found = within_noise(&[("job", &models)], 8, &[], 1.0);
        assert_eq!(found.iter().map(|c| c.places[0]).collect::<Vec<_>>(), [1, 0]);
        let wider = within_noise(&[("job", &models)], 8, &[], 12.0);
        assert_eq!(wider.iter().map(|c| c.places[0]).collect::<Vec<_>>(), [2, 1, 0]);
        assert_eq!(within_noise(&[("job", &models)], 4, &[], 1.0)[0].places, [2], "nothing else is so small");
        assert_eq!(within_noise(&[("job", &models)], 3, &[], 1.0), []);
    }

    #[test]
    fn without_probabilities_agreement_decides_and_of_equals_the_smallest_is_taken() {
        let models = [model(4, 0.79, None), model(8, 0.80, None), model(6, 0.80, None), model(2, 0.70, None)];
        assert_eq!(within_noise(&[("job", &models)], 8, &[], 1.0)[0].places, [2]);
    }

    #[test]
    fn a_rule_that_is_always_right_leaves_its_room_to_the_others() {
        let amount = [model(2, 1.0, Some(0.0)), model(1, 1.0, Some(1e-4)), model(9, 1.0, Some(0.0))];
        let job = [model(7, 0.8, Some(0.1)), model(6, 0.7, Some(0.1))];
        assert_eq!(within_noise(&[("job", &job), ("amount", &amount)], 8, &[], 1.0)[0].places, [0, 1]);
    }

    #[test]
    fn those_of_brute_force_are_found() {
        let mut s = Stream::new(5, "within noise");
        for _ in 0..100 {
            let level = |s: &mut Stream| -> Vec<FrontModel> {
                let one = |s: &mut Stream| model(1 + s.below(9), 0.9 * s.uniform(), Some(s.uniform()));
                (0..1 + s.below(6)).map(|_| one(s)).collect()
            };
            let (a, b, most) = (level(&mut s), level(&mut s), 2 + s.below(16));
            let gate = Gate { level: "b".to_owned(), kind: "x".to_owned(), by: By::Top1, bound: s.uniform() / 2.0 };
            let value = |m: &FrontModel, by| m.value(by).unwrap();
            let mut all = Vec::new();
            for (i, x) in a.iter().enumerate() {
                for (j, y) in b.iter().enumerate().filter(|(_, y)| value(y, By::Top1) >= gate.bound) {
                    if x.size + y.size <= most {
                        let sum = |by| value(x, by) + value(y, by);
                        all.push((sum(By::Top1), -sum(By::Regret), vec![i, j]));
                    }
                }
            }
            let best = all.iter().map(|c| c.0).fold(f64::NEG_INFINITY, f64::max);
            let error = 2f64.sqrt() * a[0].top1_error();
            let near = all.into_iter().filter(|c| c.0 >= best - error);
            let expected = near.min_by(|a, b| a.1.total_cmp(&b.1)).map(|c| c.2);
            let found = within_noise(&[("a", &a), ("b", &b)], most, &[gate], 1.0);
            assert_eq!(found.first().map(|c| c.places.clone()), expected);
        }
    }
}
