//! Names of levels and features as identifiers of source code. Names come from files and may be anything; of an
//! identifier nothing but letters of ASCII, digits and single underscores is left.

use super::piece::{Form, Piece, Role};
use crate::{
    level::{FeatureSpec, LevelSpec},
    model::Student,
};
use std::collections::BTreeSet;

/// What Rust does not take as the name of a module, or would take it for.
const RESERVED: &str = " \
    abstract alloc as async await become bool box break char const continue core crate do dyn else enum extern f128 \
    f16 f32 f64 false final fn for gen i128 i16 i32 i64 i8 if impl in isize let loop macro match mod move mut \
    override priv pub ref return self static std str struct super trait true try type typeof u128 u16 u32 u64 u8 \
    union unsafe unsized use usize virtual where while yield ";

/// Small letters and digits, words apart by one underscore.
fn snake(name: &str) -> String {
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "unnamed".to_owned() } else { words.join("_").to_ascii_lowercase() }
}

/// The name, or the first of its kind with a number that nothing is called yet, which is then taken.
fn unique(name: String, taken: &mut BTreeSet<String>) -> String {
    let mut numbered = (2..).map(|n| format!("{name}_n{n}"));
    let mut free = name.clone();
    while !taken.insert(free.clone()) {
        // There is a number for every name.
        free = numbered.next().unwrap_or_default();
    }
    free
}

/// One identifier per level of a student, in order; no two are the same.
pub(super) fn levels(student: &Student) -> Vec<String> {
    let mut taken = BTreeSet::new();
    student.feature_set.levels.iter().map(|level| unique(snake(&level.name), &mut taken)).collect()
}

/// The same as one word of capitals, `TwoWords`: no two are the same, whatever the case, and none begins with a digit.
pub(super) fn words(student: &Student) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let word = |level: &LevelSpec| {
        let word = joined(&level.name);
        let digit = word.starts_with(|c: char| c.is_ascii_digit());
        free(&if digit { format!("Level{word}") } else { word }, "N", &mut taken)
    };
    student.feature_set.levels.iter().map(word).collect()
}

/// A name's words as one, each with a capital.
pub(super) fn joined(name: &str) -> String {
    snake(name).split('_').map(capital).collect()
}

/// The word with a capital.
pub(super) fn capital(word: &str) -> String {
    word.get(..1).map(str::to_ascii_uppercase).unwrap_or_default() + word.get(1..).unwrap_or_default()
}

/// The name, or the first with a number that nothing is called yet in whatever case; it is then taken.
fn free(name: &str, mark: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|n| format!("{name}{mark}{n}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    // There is a number for every name.
    names.find(|name| taken.insert(name.to_ascii_lowercase())).unwrap_or_default()
}

/// Function names of the pieces: `score_LEVEL`, `classify_LEVEL` for several outputs, `beats_LEVEL` for pairs,
/// `regime_LEVEL` for a choice of models, which are numbered (`score0_LEVEL`). What stands before the first underscore
/// tells kinds and numbers apart, so no two levels of a student share a name, and files of single levels can be
/// compiled together.
pub(super) fn functions(student: &Student, pieces: &[Piece<'_>]) -> Vec<String> {
    of_pieces(student, pieces, &levels(student), "_")
}

/// The same as single words: `scoreLevel`, `score0Level`. The capital tells kinds and numbers apart from the level.
pub(super) fn methods(student: &Student, pieces: &[Piece<'_>]) -> Vec<String> {
    of_pieces(student, pieces, &words(student), "")
}

fn of_pieces(student: &Student, pieces: &[Piece<'_>], bases: &[String], between: &str) -> Vec<String> {
    let name = |piece: &Piece<'_>| {
        let kind = match (piece.role, &piece.form) {
            (Role::Regime, _) => "regime",
            (Role::Pair, _) => "beats",
            (Role::Score, Form::Tree(tree)) if tree.outputs > 1 => "classify",
            (Role::Score, _) => "score",
        };
        let level = student.feature_set.levels.iter().position(|level| level.name == piece.spec.name);
        let base = level.map_or("", |level| &bases[level]);
        let place = piece.place.map(|place| place.to_string()).unwrap_or_default();
        format!("{kind}{place}{between}{base}")
    };
    pieces.iter().map(name).collect()
}

/// A level's constants where all constants of a file share one space of names.
pub(super) struct Constants {
    /// That of a row's length.
    pub(super) width: String,
    /// Those of the columns.
    pub(super) columns: Vec<String>,
}

/// Names of constants of the levels; `join` makes one of a level's identifier and the name of what it is about. No two are
/// the same, nor called as those in `taken`, whatever the case.
pub(super) fn constants<'a>(
    levels: impl Iterator<Item = (&'a LevelSpec, String)>,
    taken: &[&str],
    join: fn(&str, &str) -> String,
    mark: &str,
) -> Vec<Constants> {
    let mut taken = taken.iter().map(|name| name.to_ascii_lowercase()).collect();
    let levels: Vec<_> = levels.collect();
    // Lengths first, so that they have the names that one expects.
    let widths: Vec<String> =
        levels.iter().map(|(_, level)| free(&join(level, "features"), mark, &mut taken)).collect();
    let constants = |((spec, level), width): (&(&LevelSpec, String), String)| {
        let column = |f: &FeatureSpec| free(&join(level, &snake(&f.name)), mark, &mut taken);
        Constants { width, columns: spec.features.iter().map(column).collect() }
    };
    levels.iter().zip(widths).map(constants).collect()
}

/// Names of constants for the columns of a level, in capitals; none is called as those in `taken`, nor begins with a
/// digit.
pub(super) fn columns(spec: &LevelSpec, taken: &[&str]) -> Vec<String> {
    let mut taken = taken.iter().map(|name| name.to_ascii_lowercase()).collect();
    let name = |name: &str| {
        let name = snake(name);
        let digit = name.starts_with(|c: char| c.is_ascii_digit());
        unique(if digit { format!("f_{name}") } else { name }, &mut taken).to_ascii_uppercase()
    };
    spec.features.iter().map(|f| f.name.as_str()).map(name).collect()
}

/// Names of Rust modules for the levels, called as `levels` where that may be.
pub(super) fn modules(levels: &[String]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let fits = |name: &str| !RESERVED.contains(&format!(" {name} ")) && !name.starts_with(|c: char| c.is_ascii_digit());
    let mut module = |name: &String| {
        let name = if fits(name) { name.clone() } else { format!("level_{name}") };
        unique(name, &mut taken)
    };
    levels.iter().map(&mut module).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::feature_set;

    #[test]
    fn whatever_a_name_holds_an_identifier_is_left_that_nothing_else_has() {
        let mut spec = feature_set().levels[0].clone();
        let names = ["age", "AGE", "a--ge", "age*/ n2", "größe", "3rd", "", "Δ", "\"; f(1); //", "features", "self"];
        spec.features.truncate(names.len());
        spec.features.iter_mut().zip(names).for_each(|(f, name)| f.name = name.to_owned());
        let found = columns(&spec, &["FEATURES"]);
        let expected = [
            "AGE",
            "AGE_N2",
            "A_GE",
            "AGE_N2_N2",
            "GR_E",
            "F_3RD",
            "UNNAMED",
            "UNNAMED_N2",
            "F_1",
            "FEATURES_N2",
            "SELF",
        ];
        assert_eq!(found, expected);
        let levels = ["fn", "level_fn", "f64", "2nd", "job", "union"].map(str::to_owned);
        assert_eq!(modules(&levels), ["level_fn", "level_fn_n2", "level_f64", "level_2nd", "job", "level_union"]);
    }

    #[test]
    fn words_and_constants_differ_in_more_than_case_and_do_not_begin_with_a_digit() {
        let mut student = Student::new(feature_set().clone(), false, Vec::new(), crate::model::Provenance::default());
        let names = ["two words", "twoWords", "TWO-WORDS", "2nd", "0job", "job"];
        let level = &student.feature_set.levels[0];
        let spec = |name: &str| LevelSpec { name: name.to_owned(), ..level.clone() };
        student.feature_set.levels = names.map(spec).to_vec();
        assert_eq!(words(&student), ["TwoWords", "TwowordsN2", "TwoWordsN3", "Level2nd", "Level0job", "Job"]);
        let mut spec = student.feature_set.levels[0].clone();
        let features = ["features", "age", "Age", "job"];
        spec.features.truncate(features.len());
        spec.features.iter_mut().zip(features).for_each(|(f, name)| f.name = name.to_owned());
        let of = |levels: [&str; 2], taken: &[&str], join, mark| -> Vec<String> {
            let levels = levels.into_iter().map(|level| (&spec, level.to_owned()));
            constants(levels, taken, join, mark).into_iter().flat_map(|c| [vec![c.width], c.columns].concat()).collect()
        };
        let go = of(["Score", "Job"], &["ScoreJob"], |level, what| level.to_owned() + &joined(what), "N");
        let expected = [
            ["ScoreFeatures", "ScoreFeaturesN2", "ScoreAge", "ScoreAgeN2", "ScoreJobN2"],
            ["JobFeatures", "JobFeaturesN2", "JobAge", "JobAgeN2", "JobJob"],
        ];
        assert_eq!(go, expected.concat());
    }
}
