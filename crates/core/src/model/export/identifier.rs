//! Names of levels and features as identifiers of source code. Names come from files and may be anything; of an
//! identifier nothing but letters of ASCII, digits and single underscores is left.

use super::piece::{Form, Piece, Role};
use crate::{level::LevelSpec, model::Student};
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

/// Function names of the pieces: `score_LEVEL`, `classify_LEVEL` for several outputs, `beats_LEVEL` for pairs,
/// `regime_LEVEL` for a choice of models, which are numbered (`score0_LEVEL`). What stands before the first underscore
/// tells kinds and numbers apart, so no two levels of a student share a name, and files of single levels can be
/// compiled together.
pub(super) fn functions(student: &Student, pieces: &[Piece<'_>]) -> Vec<String> {
    let bases = levels(student);
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
        format!("{kind}{place}_{base}")
    };
    pieces.iter().map(name).collect()
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
}
