//! Whether what an explanation says fits together: lists of the right lengths, finite numbers, places that exist.

use super::run_checks::{HUGE, estimate as check_estimate};
use sched_distill_core::model::{Model, Student};
use sched_distill_explain::{Decisions, EXPLANATION_FORMAT, Explanation, Extent, LevelStability, Tendency, WhatIf};

/// It must be of this version and about the run's student.
fn check_origin(format_version: u32, about: &str, student: &Student) -> Result<(), String> {
    if format_version != EXPLANATION_FORMAT {
        return Err(format!(
            "format version {format_version} is not supported (this build reads {EXPLANATION_FORMAT})"
        ));
    }
    match student.has_hash(about) {
        true => Ok(()),
        false => Err(format!(
            "it is about the student with SHA-256 {about}, but student.json has {}; explain that one with `distill explain`",
            student.file_hash()
        )),
    }
}

/// The lists of an explanation must fit each other and the student, and its numbers must be finite.
pub(super) fn explanation(e: &Explanation, student: &Student) -> Result<(), String> {
    check_origin(e.format_version, &e.student, student)?;
    for level in &e.levels {
        let place = format!("level `{}`", level.level);
        let Some(models) = student.level(&level.level) else {
            return Err(format!("{place} is not one of the student's"));
        };
        let fine = |v: &f64| v.abs() <= HUGE;
        for weight in level.families.iter().chain(&level.features) {
            for k in &weight.by_kind {
                if ![k.share, k.teacher, k.student].iter().all(fine) {
                    return Err(format!("{place}: a figure of `{}`, kind `{}`, is not finite", weight.name, k.kind));
                }
                let tendency = |t: Tendency| {
                    let estimate = t.teacher.map_or([0.0; 3], |e| [e.value, e.low, e.high]);
                    estimate.iter().chain([&t.one_way]).all(fine) && t.student.bend().is_none_or(|x| fine(&x))
                };
                if !k.tendency.is_none_or(tendency) {
                    return Err(format!(
                        "{place}: the direction of `{}`, kind `{}`, is not finite",
                        weight.name, k.kind
                    ));
                }
                k.drop.as_ref().map_or(Ok(()), |d| check_estimate(&place, &weight.name, d))?;
            }
        }
        let points = &level.points;
        let n = points.features.len();
        let lengths: Vec<usize> =
            points.values.iter().map(Vec::len).chain(points.shares.iter().map(Vec::len)).collect();
        if points.values.len() != n || points.shares.len() != n || lengths.windows(2).any(|w| w[0] != w[1]) {
            return Err(format!("{place}: the points' values and shares are not one list per feature of one length"));
        }
        if !points.shares.iter().flatten().all(fine) {
            return Err(format!("{place}: a share of the points is not finite"));
        }
        for effect in &level.effects {
            let n = effect.grid.len();
            let sound = effect.accumulated.len() == n && effect.partial.len() == n;
            if !sound || !effect.accumulated.iter().chain(&effect.partial).all(fine) {
                return Err(format!(
                    "{place}: the effect of `{}` is not one finite number per value of the grid",
                    effect.feature
                ));
            }
        }
        for l in &level.likeness {
            check_estimate(&place, &l.rule, &l.teacher)?;
            check_estimate(&place, &l.rule, &l.student)?;
            l.behind.as_ref().map_or(Ok(()), |e| check_estimate(&place, &l.rule, e))?;
        }
        for a in &level.abstentions {
            let share = |v: &f64| (0.0..=1.0 + 1e-9).contains(v);
            if ![a.teacher, a.student].iter().all(share) {
                return Err(format!("{place}: how often nobody is taken on kind `{}` is no share", a.kind));
            }
            if let Some(test) = &a.test {
                check_estimate(&place, &test.feature, &test.there)?;
                check_estimate(&place, &test.feature, &test.elsewhere)?;
                if !test.threshold.is_finite() {
                    return Err(format!(
                        "{place}: the threshold of `{}`, kind `{}`, is not finite",
                        test.feature, a.kind
                    ));
                }
            }
        }
        if let Some(found) = &level.exceptions {
            let steps = found.exceptions.iter().map(|e| &e.agreement);
            for k in steps.chain([&found.agreement]).flatten() {
                check_estimate(&place, &found.rule, &k.teacher)?;
            }
        }
        if let (Model::Tree(tree), n @ 1..) = (&models.scheduler().model, level.nodes.len())
            && tree.nodes() != n
        {
            return Err(format!("{place}: there are facts about {n} nodes, the tree has {}", tree.nodes()));
        }
    }
    e.stability.iter().try_for_each(|level| stability(level, student))
}

/// Shares of choices and of fits must be shares, and there is a size for every fit.
fn stability(level: &LevelStability, student: &Student) -> Result<(), String> {
    let place = format!("stability of level `{}`", level.level);
    if student.level(&level.level).is_none() {
        return Err(format!("{place}: the student has no such level"));
    }
    if level.sizes.len() < 2 {
        return Err(format!("{place}: it is of {} fits, expected two or more", level.sizes.len()));
    }
    let share = |v: &f64| (0.0..=1.0 + 1e-9).contains(v);
    let extent = |e: &Extent| [e.mean, e.least, e.largest].iter().all(share) && e.least <= e.largest;
    if let Some(k) = level.agreement.iter().find(|k| !extent(&k.student) || !extent(&k.pairs)) {
        return Err(format!("{place}: agreement on kind `{}` is not a share with least <= largest", k.kind));
    }
    match level.families.iter().find(|f| !share(&f.used) || !f.root.as_ref().is_none_or(share)) {
        Some(f) => Err(format!("{place}: the figures of `{}` are not shares of fits", f.name)),
        None => Ok(()),
    }
}

/// Places in the list of candidates must exist, and every candidate has one value and one share per feature.
pub(super) fn decisions(d: &Decisions, student: &Student) -> Result<(), String> {
    check_origin(d.format_version, &d.student, student)?;
    for choice in &d.choices {
        let place = format!("choice {} of level `{}`", choice.choice, choice.level);
        let Some(level) = d.levels.iter().find(|l| l.level == choice.level) else {
            return Err(format!("{place}: there is no such level in `levels`"));
        };
        let n = choice.candidates.len();
        let places = [choice.best, choice.taken, choice.rival].into_iter().chain(choice.executed);
        let asked = choice.why_not.iter().map(|w| w.candidate);
        let ruled_out = choice.guards.iter().flat_map(|g| g.1.iter().copied());
        if let Some(i) = places.chain(asked).chain(ruled_out).find(|&i| i >= n) {
            return Err(format!("{place}: it names candidate {i}, but lists {n}"));
        }
        let features = level.features.len();
        if choice.candidates.iter().any(|c| c.values.len() != features || c.shares.len() != features) {
            return Err(format!(
                "{place}: a candidate has not one value and one share for each of {features} features"
            ));
        }
    }
    Ok(())
}

/// Choices must have a column for each feature, and a value for each candidate in it.
pub(super) fn what_if(w: &WhatIf, student: &Student) -> Result<(), String> {
    check_origin(w.format_version, &w.student, student)?;
    for level in &w.levels {
        let place = format!("level `{}`", level.level);
        let spec = student.level(&level.level).and(student.feature_set.level(&level.level));
        let Some(spec) = spec else { return Err(format!("{place} is not one of the student's")) };
        if let Some(name) = level.features.iter().find(|name| spec.features.iter().all(|f| f.name != **name)) {
            return Err(format!("{place} has no feature `{name}`"));
        }
        for choice in &level.choices {
            let place = format!("choice {} of {place}", choice.choice);
            let n = choice.candidates;
            if choice.best >= n || choice.kind >= level.kinds.len() {
                return Err(format!("{place}: it names candidate {} of {n}, kind {}", choice.best, choice.kind));
            }
            let entities = [0, spec.entities.len()].contains(&choice.entities.len());
            let fits = choice.columns.iter().all(|c| c.fits(n)) && choice.entities.iter().all(|c| c.fits(n));
            if choice.columns.len() != level.features.len() || !entities || !fits {
                return Err(format!("{place}: it has not one value per candidate for each of its features"));
            }
        }
    }
    Ok(())
}
