//! When is nobody taken?

use super::preference::{MOSTLY, NEARLY};
use crate::{
    plain::Plain,
    words::{interval, percent},
};
use sched_distill_core::level::{NONE_FLAG, third_person};
use sched_distill_explain::{Abstention, AbstentionTest, LevelExplanation};
use sched_distill_judge::evaluator::Estimate;

/// The least share of its side that what is seldom done must have to be said without a figure.
const OFTEN: f64 = 0.5;

/// What is done on one side of a test, and what on the other.
struct Sides {
    /// Where the rarer of the two is done more often.
    place: String,
    /// What that is: `serves somebody`.
    rare: String,
    /// The other: `serves nobody`.
    usual: String,
    /// How often the rarer one is done there, and elsewhere.
    there: Estimate,
    elsewhere: Estimate,
}

/// When nobody is taken on a kind of choice, with figures: needs a test that tells such choices apart beyond doubt.
pub(super) fn with_figures(level: &LevelExplanation, kind: &str, plain: Plain<'_>) -> Option<String> {
    let sides = sides(level, of_kind(level, kind)?, plain)?;
    Some(format!(
        "where {}, it {} in {} of the choices, elsewhere in {}.",
        sides.place,
        sides.rare,
        interval(&sides.there, percent),
        interval(&sides.elsewhere, percent)
    ))
}

/// The same without, where that is so in most of the choices on either side.
pub(super) fn habit(level: &LevelExplanation, kind: &str, plain: Plain<'_>) -> Option<String> {
    let found = of_kind(level, kind)?;
    let sides = sides(level, found, plain)?;
    let how = |share: f64| match share {
        s if s >= NEARLY => Some("nearly always"),
        s if s >= MOSTLY => Some("mostly"),
        s if s >= OFTEN => Some("often"),
        _ => None,
    };
    // The student must do so too, or it is no sentence about what is explained.
    let alike = (found.student - found.teacher).abs() <= 0.1 * found.teacher.min(1.0 - found.teacher).max(0.05) + 0.02;
    let (rare, usual) = (how(sides.there.low)?, how(1.0 - sides.elsewhere.high).filter(|how| *how != "often")?);
    alike.then(|| format!("where {}, it {rare} {}; else it {usual} {}.", sides.place, sides.rare, sides.usual))
}

fn of_kind<'a>(level: &'a LevelExplanation, kind: &str) -> Option<&'a Abstention> {
    level.abstentions.iter().find(|a| a.kind == kind)
}

fn sides(level: &LevelExplanation, found: &Abstention, plain: Plain<'_>) -> Option<Sides> {
    let test = found.test.as_ref()?;
    let words = plain.level(&level.level);
    let [somebody, nobody] = [false, true].map(|most| third_person(&words.extreme(NONE_FLAG, most)));
    let (somebody, nobody) = (somebody?, nobody?);
    let is_rare = found.teacher < 0.5;
    let (rare, usual) = if is_rare { (nobody, somebody) } else { (somebody, nobody) };
    let flipped = |e: &Estimate| Estimate { value: 1.0 - e.value, low: 1.0 - e.high, high: 1.0 - e.low };
    let [there, elsewhere] = [&test.there, &test.elsewhere].map(|e| if is_rare { *e } else { flipped(e) });
    let holds = there.value > elsewhere.value;
    let (there, elsewhere) = if holds { (there, elsewhere) } else { (elsewhere, there) };
    Some(Sides { place: place(&level.level, test, holds, plain)?, rare, usual, there, elsewhere })
}

/// `there is a job with more than ...`, `no job ...`: where a test holds, or does not.
fn place(level: &str, test: &AbstentionTest, holds: bool, plain: Plain<'_>) -> Option<String> {
    let words = plain.level(level);
    let (is_flag, noun) = (words.is_flag(&test.feature), words.noun(&test.feature));
    // Below 1 a flag is not set.
    let bound = |above: bool| {
        let value = plain.threshold(level, &test.feature, test.threshold);
        if above { format!("above {value}") } else { format!("of at most {value}") }
    };
    if test.shared {
        let above = test.above == holds;
        return Some(match is_flag {
            true => words.relation(&test.feature, above),
            false => format!(
                "{noun} {}",
                bound(above).replacen("of at most", "is at most", 1).replacen("above", "is above", 1)
            ),
        });
    }
    let candidate = words.candidate();
    let article = if candidate.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let who = if holds { format!("{article} {candidate}") } else { format!("no {candidate}") };
    let so =
        if is_flag { words.relation(&test.feature, test.above) } else { format!("with {noun} {}", bound(test.above)) };
    Some(format!("there is {who} {so}"))
}
