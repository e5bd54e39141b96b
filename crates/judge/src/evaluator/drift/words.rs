//! Drift in sentences: which quantities that the policy reads have changed, which way and how far.
//!
//! A quantity and what is derived from it, its rank and its ratio, are one sentence. It is the quantity's own if that drifts, for a
//! larger ratio says little to who has not seen that all jobs became small.

use super::{Drift, FeatureDrift, Stability};
use sched_distill_core::level::{
    FLAG, FeatureSet, FeatureSpec, Phrases, Scope, Words, base, capital, count, number, quantity, typed,
};
use serde::Serialize;

/// Sentences at most.
const SAID: usize = 3;
/// Medians that differ by less than this share of what they were, or of shares by less than half a point, have not moved.
const SAME: f64 = 0.01;
/// The least share of values beyond all of training that is worth a sentence.
const TAIL: f64 = 0.005;
/// What says of candidates that they have less or more of a quantity: before it stands how many times.
const LESS: [&str; 5] = ["less", "fewer", "smaller", "shorter", "lower"];
const MORE: [&str; 4] = ["more", "larger", "longer", "higher"];

/// A feature that a policy reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Level.
    pub level: String,
    /// Feature.
    pub feature: String,
    /// Its share of what the level's model goes by; 0 where only guards read it.
    pub share: f64,
}

/// What one reads of drift before any table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DriftWords {
    /// One to three.
    pub sentences: Vec<String>,
    /// Quantities that drift as well and stand in no sentence; of those that are read, if it is known which are.
    pub others: usize,
    /// Features of other quantities that drift and are not read; `None` if it is not known which are read.
    pub unread: Option<usize>,
}

/// A quantity of a level that drifts.
struct Family<'a> {
    /// Itself; where only its rank or ratio drifts, that.
    drift: &'a FeatureDrift,
    feature: &'a FeatureSpec,
    /// How much of what the level's model goes by it is, its rank and ratio included.
    share: f64,
}

impl Family<'_> {
    fn has(&self, level: &str, feature: &str) -> bool {
        self.drift.level == level && base(&self.drift.feature) == base(feature)
    }
}

impl Drift {
    /// The drift in the words of a scenario. `reads` are the features that the policy reads, if that is known: only what is among them
    /// is said, what weighs most in its decisions first. Else it is what is furthest beyond chance.
    #[must_use]
    pub fn in_words(&self, set: &FeatureSet, words: &Words, reads: Option<&[Read]>) -> DriftWords {
        let alone = |sentence: String, unread| DriftWords { sentences: vec![sentence], others: 0, unread };
        if let Some(why) = &self.unknown {
            return alone(format!("Nothing is known of drift: {why}."), None);
        }
        let drifting: Vec<&FeatureDrift> = self.features.iter().filter(|f| f.stability > Stability::Stable).collect();
        let families = families(&drifting, set, reads);
        let told = |f: &FeatureDrift| families.iter().any(|family| family.has(&f.level, &f.feature));
        let unread = reads.map(|_| drifting.iter().filter(|f| !told(f)).count());
        // What levels have in common, such as the number of jobs, is said once.
        let mut once: Vec<&Family<'_>> = Vec::new();
        for family in &families {
            let same = |f: &&Family<'_>| {
                (&f.feature.name, &f.feature.meaning) == (&family.feature.name, &family.feature.meaning)
            };
            if family.feature.meaning.is_empty() || !once.iter().any(same) {
                once.push(family);
            }
        }
        if once.is_empty() {
            let what = if reads.is_some() { "Nothing that the student reads drifts" } else { "Nothing drifts" };
            let [episodes, decisions] =
                [(self.episodes[1], "episode"), (self.decisions, "decision")].map(|(n, noun)| some(n, noun));
            return alone(format!("{what} in {episodes} with {decisions}."), unread);
        }
        let said = once.iter().take(SAID).map(|f| sentence(f.drift, f.feature, &words.phrases(set, &f.drift.level)));
        let sentences: Vec<String> = said.map(|text| typed(&capital(&text))).collect();
        DriftWords { others: once.len() - sentences.len(), sentences, unread }
    }
}

/// The quantities of features that drift and, if that is known, are read: those that weigh more first, else in the order of the features.
fn families<'a>(drifting: &[&'a FeatureDrift], set: &'a FeatureSet, reads: Option<&[Read]>) -> Vec<Family<'a>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    let is_read =
        |f: &FeatureDrift| reads.is_none_or(|reads| reads.iter().any(|r| r.level == f.level && r.feature == f.feature));
    for &one in drifting.iter().filter(|f| is_read(f)) {
        if families.iter().any(|family| family.has(&one.level, &one.feature)) {
            continue;
        }
        let own = |f: &&FeatureDrift| f.level == one.level && f.feature == base(&one.feature);
        let drift = drifting.iter().copied().find(own).unwrap_or(one);
        let spec = set.level(&drift.level).and_then(|l| l.features.iter().find(|f| f.name == drift.feature));
        let mut family = spec.map(|feature| Family { drift, feature, share: 0.0 });
        if let Some(family) = &mut family {
            let of_it = reads.unwrap_or_default().iter().filter(|read| family.has(&read.level, &read.feature));
            family.share = of_it.map(|read| read.share).sum();
        }
        families.extend(family);
    }
    families.sort_by(|a, b| b.share.total_cmp(&a.share));
    families
}

/// `1 episode`, `2 episodes`
fn some(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(n as u64), if n == 1 { "" } else { "s" })
}

/// `Jobs have 29 times less work left than in training (median 12 s, was 350 s).`
fn sentence(drift: &FeatureDrift, feature: &FeatureSpec, level: &Phrases<'_>) -> String {
    let called = Called::new(feature, level);
    if feature.unit == FLAG {
        let [was, now] = drift.means.map(percent);
        return format!("{}: {now} of cases, {was} in training.", called.noun);
    }
    let [was, now] = drift.medians.map(f64::from);
    let [said_was, said_now] = [was, now].map(|value| quantity(value, feature));
    let least = if feature.scope == Scope::Share { SAME / 2.0 } else { SAME * was.abs() };
    if said_was == said_now || (now - was).abs() < least {
        return called.spread(drift, &said_was);
    }
    // Of pure numbers nobody knows whether twice as much means anything.
    let has_unit = feature.scope == Scope::Ratio || !matches!(feature.unit.as_str(), "1" | "");
    let factor = (has_unit && feature.scope != Scope::Share && was > 0.0 && now > 0.0).then(|| factor(now / was));
    let by = if feature.scope == Scope::Share { format!(" by {}", points((now - was).abs())) } else { String::new() };
    format!("{} than in training{by} (median {said_now}, was {said_was}).", called.changed(now > was, factor, feature))
}

/// What a quantity is called, and who has it.
struct Called<'a> {
    /// `work left, of a job`; of what is so or not `a job that freed the executors itself`.
    noun: String,
    /// Candidates, and what those with less and with more of it have, where words for that compare amounts: `jobs`, `less work left`,
    /// `more work left`.
    have: Option<(String, [&'a str; 2])>,
}

impl<'a> Called<'a> {
    fn new(feature: &FeatureSpec, level: &Phrases<'a>) -> Self {
        let family = base(&feature.name);
        let words = level.quantity(family).filter(|w| !w.shared);
        let noun = level.noun(family);
        let is_own = |less: &str| ["with ", "that ", "whose "].iter().any(|begin| less.starts_with(begin));
        let object = level.object().filter(|_| words.is_some_and(|w| is_own(&w.less) || is_own(&w.more)));
        let noun = match (feature.scope, object) {
            (_, Some(object)) if feature.unit == FLAG => format!("{object} {}", level.relation(family, true)),
            (_, None) if feature.unit == FLAG => noun,
            (scope, object) => {
                let noun = match scope {
                    Scope::Rank if noun.starts_with("place ") => format!("{noun} (0 has the least)"),
                    Scope::Rank => format!("place by {noun} (0 has the least)"),
                    Scope::Ratio => format!("{noun}, against the least in the choice"),
                    Scope::Absolute | Scope::Share => noun,
                };
                noun + &object.map_or_else(String::new, |object| format!(", of {object}"))
            }
        };
        let has = |text: &'a str, one_of: &[&str]| {
            let text = text.strip_prefix("with ")?;
            text.split(' ').any(|word| one_of.contains(&word)).then_some(text)
        };
        let own_unit = matches!(feature.scope, Scope::Absolute | Scope::Share);
        let less_more = words.filter(|_| own_unit).and_then(|w| Some([has(&w.less, &LESS)?, has(&w.more, &MORE)?]));
        Self { noun, have: less_more.map(|both| (plural(level.candidate()), both)) }
    }

    /// The median has moved: `jobs have 29 times less work left`, `time since it arrived, of a job: 29 times smaller`.
    fn changed(&self, more: bool, factor: Option<String>, feature: &FeatureSpec) -> String {
        let factor = factor.map_or_else(String::new, |factor| factor + " ");
        match &self.have {
            Some((who, less_more)) => {
                let relation = less_more[usize::from(more)];
                let compares = |word: &&str| LESS.contains(word) || MORE.contains(word);
                let at = relation.split(' ').take_while(|word| !compares(word)).map(|word| word.len() + 1).sum();
                let (before, after) = relation.split_at(at);
                of_several(&format!("{who} have {before}{factor}{after}"))
            }
            None => {
                let way = match (feature.whole && feature.unit != "1", more) {
                    (true, true) => "more",
                    (true, false) => "fewer",
                    (false, true) => "larger",
                    (false, false) => "smaller",
                };
                format!("{}: {factor}{way}", self.noun)
            }
        }
    }

    /// The median has not moved, and what is around it has.
    fn spread(&self, drift: &FeatureDrift, median: &str) -> String {
        let below = drift.outside - drift.above;
        let (share, more) = (drift.above.max(below), drift.above >= below);
        match &self.have {
            _ if share < TAIL => {
                format!("{}: spread otherwise than in training, around the same median ({median}).", self.noun)
            }
            Some((who, less_more)) => {
                let more = of_several(less_more[usize::from(more)]);
                format!("{} of {who} have {more} than any in training.", percent(share))
            }
            None => {
                let side = if more { "above" } else { "below" };
                format!("{}: {side} all of training in {} of cases.", self.noun, percent(share))
            }
        }
    }
}

/// `29 times`, `30 %`: before a comparative. What is not half or twice as much is said in per cent.
fn factor(ratio: f64) -> String {
    match ratio.max(1.0 / ratio) {
        times if times < 2.0 => percent((ratio - 1.0).abs()),
        times if times < 9.5 => format!("{} times", number((times * 10.0).round() / 10.0)),
        times => format!("{} times", number(times.round())),
    }
}

/// Words about one candidate as they are of several: `work in its smallest stage` becomes `work in their smallest stage`.
fn of_several(words: &str) -> String {
    let words = words.split(' ').map(|word| match word {
        "its" => "their",
        "it" => "them",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Several of what a candidate is: `jobs to suspend`.
fn plural(candidate: &str) -> String {
    let (noun, rest) = candidate.split_at(candidate.find(' ').unwrap_or(candidate.len()));
    let ending = if noun.ends_with(['s', 'x']) || noun.ends_with("ch") || noun.ends_with("sh") { "es" } else { "s" };
    format!("{noun}{ending}{rest}")
}

/// A share without more digits than one reads.
fn percent(share: f64) -> String {
    match 100.0 * share {
        part if part > 0.0 && part < 1.0 => "less than 1 %".to_owned(),
        part => format!("{part:.0} %"),
    }
}

/// A difference of shares.
fn points(difference: f64) -> String {
    let part = 100.0 * difference;
    let said = number(if part < 10.0 { (part * 10.0).round() / 10.0 } else { part.round() });
    format!("{said} {}", if said == "1" { "point" } else { "points" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_dag::feature::{feature_set, words};

    /// A feature that drifts, with its medians.
    fn moved(level: &str, feature: &str, medians: [f32; 2]) -> FeatureDrift {
        let spec = feature_set().level(level).unwrap().features.iter().find(|f| f.name == feature).unwrap();
        FeatureDrift {
            level: level.to_owned(),
            feature: feature.to_owned(),
            unit: spec.unit.clone(),
            psi: 1.0,
            chance: Some(0.2),
            stability: Stability::Large,
            medians,
            means: [0.1, 0.3],
            outside: 0.0,
            above: 0.0,
        }
    }

    fn drift(features: Vec<FeatureDrift>) -> Drift {
        Drift { episodes: [40, 6], decisions: 312, outside: 0.0, unknown: None, features }
    }

    fn read(level: &str, feature: &str, share: f64) -> Read {
        Read { level: level.to_owned(), feature: feature.to_owned(), share }
    }

    fn said(feature: FeatureDrift) -> String {
        let words = drift(vec![feature]).in_words(feature_set(), &words(), None);
        assert_eq!((words.sentences.len(), words.others, words.unread), (1, 0, None));
        words.sentences[0].clone()
    }

    #[test]
    fn a_shift_is_said_by_its_direction_and_how_far_it_goes() {
        for (level, feature, medians, sentence) in [
            (
                "job",
                "remaining_work",
                [350e3, 12e3],
                "Jobs have 29 times less work left than in training (median 12 s, was 5.83 min).",
            ),
            (
                "job",
                "remaining_work",
                [12e3, 30e3],
                "Jobs have 2.5 times more work left than in training (median 30 s, was 12 s).",
            ),
            (
                "job",
                "remaining_tasks",
                [10.0, 7.0],
                "Jobs have 30 % fewer tasks left than in training (median 7 tasks, was 10 tasks).",
            ),
            (
                "stage",
                "remaining_tasks",
                [1.0, 4.0],
                "Stages have 4 times more tasks left than in training (median 4 tasks, was 1 task).",
            ),
            (
                "job",
                "critical_path",
                [4e3, 20e3],
                "Jobs have 5 times more work on their longest chain of stages than in training (median 20 s, was 4 s).",
            ),
            // What is 0 is no part of anything.
            (
                "job",
                "ready_work",
                [0.0, 5e3],
                "Jobs have more work that can run now than in training (median 5 s, was 0 ms).",
            ),
            // Words that compare no amounts say nothing of how many times.
            (
                "job",
                "age",
                [10e3, 30e3],
                "Time since it arrived, of a job: 3 times larger than in training (median 30 s, was 10 s).",
            ),
            (
                "job",
                "executors_held",
                [6.0, 2.0],
                "Executors held, of a job: 3 times fewer than in training (median 2 executors, was 6 executors).",
            ),
            // Shares are compared in points.
            (
                "job",
                "work_share",
                [0.17, 0.05],
                "Jobs have less of all the work left than in training by 12 points (median 5 %, was 17 %).",
            ),
            (
                "job",
                "held_of_cluster",
                [0.2, 0.5],
                "Share of the cluster held, of a job: larger than in training by 30 points (median 50 %, was 20 %).",
            ),
            ("job", "is_source", [0.0, 0.0], "A job that freed the executors itself: 30 % of cases, 10 % in training."),
            // What all candidates have in common is of none of them.
            (
                "amount",
                "arrival_rate",
                [0.1, 0.4],
                "Rate at which jobs arrive: 4 times larger than in training (median 0.4 jobs/s, was 0.1 jobs/s).",
            ),
            (
                "amount",
                "jobs_in_system",
                [8.0, 2.0],
                "Jobs in the cluster: 4 times fewer than in training (median 2 jobs, was 8 jobs).",
            ),
            (
                "job",
                "remaining_work_rank",
                [1.0, 3.0],
                "Place by work left (0 has the least), of a job: larger than in training (median 3, was 1).",
            ),
            (
                "job",
                "remaining_work_ratio",
                [2.0, 6.0],
                "Work left, against the least in the choice, of a job: 3 times larger than in training (median 6, was 2).",
            ),
        ] {
            assert_eq!(said(moved(level, feature, medians)), sentence);
        }
    }

    #[test]
    fn where_medians_are_equal_the_tails_speak() {
        let tail = |feature: &str, outside: f64, above: f64| {
            said(FeatureDrift { outside, above, ..moved("job", feature, [350e3, 350e3]) })
        };
        assert_eq!(tail("remaining_work", 0.08, 0.07), "7 % of jobs have more work left than any in training.");
        assert_eq!(tail("remaining_work", 0.08, 0.01), "7 % of jobs have less work left than any in training.");
        assert_eq!(tail("age", 0.07, 0.07), "Time since it arrived, of a job: above all of training in 7 % of cases.");
        let around = "Work left, of a job: spread otherwise than in training, around the same median (5.83 min).";
        assert_eq!(tail("remaining_work", 0.001, 0.001), around);
    }

    #[test]
    fn what_weighs_most_comes_first_and_what_is_not_read_not_at_all() {
        let drift = drift(vec![
            moved("job", "ready_tasks", [10.0, 1.0]),
            moved("job", "remaining_work_ratio", [2.0, 6.0]),
            moved("job", "age", [10e3, 30e3]),
            moved("job", "remaining_work", [350e3, 12e3]),
            moved("stage", "remaining_tasks", [1.0, 4.0]),
            moved("amount", "jobs_in_system", [2.0, 8.0]),
        ]);
        let reads = [
            read("job", "age", 0.3),
            read("job", "remaining_work_ratio", 0.4),
            read("job", "remaining_stages", 0.3),
            read("stage", "remaining_tasks", 0.0),
        ];
        let told = drift.in_words(feature_set(), &words(), Some(&reads));
        // Its ratio is read, and it is the quantity that says what has happened.
        assert_eq!(
            told.sentences.iter().map(|s| &s[..13]).collect::<Vec<_>>(),
            ["Jobs have 29 ", "Time since it", "Stages have 4"]
        );
        assert!(told.sentences[0].contains("less work left"), "{told:?}");
        assert_eq!((told.others, told.unread), (0, Some(2)));
        // Nobody knows what a network reads.
        let told = drift.in_words(feature_set(), &words(), None);
        assert_eq!(
            told.sentences[0],
            "Jobs have 10 times fewer tasks that can run now than in training (median 1 task, was 10 tasks)."
        );
        assert_eq!((told.sentences.len(), told.others, told.unread), (3, 2, None));
    }

    #[test]
    fn what_levels_have_in_common_is_said_once() {
        let both = ["job", "amount"].map(|level| moved(level, "jobs_in_system", [2.0, 8.0]));
        let told = drift(both.to_vec()).in_words(feature_set(), &words(), None);
        assert_eq!((told.sentences.len(), told.others), (1, 0));
        let both = ["job", "stage"].map(|level| moved(level, "remaining_tasks", [2.0, 8.0]));
        let told = drift(both.to_vec()).in_words(feature_set(), &words(), None);
        assert_eq!(told.sentences.len(), 2, "those of a job are others than those of a stage");
    }

    #[test]
    fn that_nothing_drifts_is_a_sentence_and_so_is_that_nothing_is_known() {
        let stable = FeatureDrift { stability: Stability::Stable, ..moved("job", "age", [1.0, 9.0]) };
        let told = drift(vec![stable.clone()]).in_words(feature_set(), &words(), None);
        assert_eq!(told.sentences, ["Nothing drifts in 6 episodes with 312 decisions."]);
        let reads = [read("job", "age", 1.0)];
        let unread = drift(vec![stable.clone(), moved("job", "remaining_work", [350e3, 12e3])]);
        let told = unread.in_words(feature_set(), &words(), Some(&reads));
        assert_eq!(told.sentences, ["Nothing that the student reads drifts in 6 episodes with 312 decisions."]);
        assert_eq!(told.unread, Some(1));
        let unknown = Drift { unknown: Some("the log is short".to_owned()), ..drift(vec![stable]) };
        let told = unknown.in_words(feature_set(), &words(), Some(&reads));
        assert_eq!(told.sentences, ["Nothing is known of drift: the log is short."]);
    }
}
