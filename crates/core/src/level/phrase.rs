//! Parts of sentences about one level, in the words of its scenario. What has none is called by its name.

use super::{FLAG, FeatureSet, FeatureSpec, LevelSpec, LevelWords, QuantityWords, Scope, Words};

/// Comparatives and superlatives of the words that scenarios use.
const SUPERLATIVES: [(&str, &str); 14] = [
    ("less", "least"),
    ("more", "most"),
    ("fewer", "fewest"),
    ("smaller", "smallest"),
    ("larger", "largest"),
    ("shorter", "shortest"),
    ("longer", "longest"),
    ("lower", "lowest"),
    ("higher", "highest"),
    ("earlier", "earliest"),
    ("later", "latest"),
    ("nearer", "nearest"),
    ("older", "oldest"),
    ("newer", "newest"),
];

/// A level with its words, if it has any.
#[derive(Clone, Copy, Debug)]
pub struct Phrases<'a> {
    words: Option<&'a LevelWords>,
    spec: Option<&'a LevelSpec>,
}

impl Words {
    /// Words about a level of a feature set.
    #[must_use]
    pub fn phrases<'a>(&'a self, set: &'a FeatureSet, level: &str) -> Phrases<'a> {
        Phrases { words: self.level(level), spec: set.level(level) }
    }
}

impl<'a> Phrases<'a> {
    /// What a candidate is: `job`.
    #[must_use]
    pub fn candidate(&self) -> &'a str {
        self.words.map_or("candidate", |w| &w.candidate)
    }

    /// `prefers a job`
    #[must_use]
    pub fn prefers(&self) -> &'a str {
        self.words.map_or("prefers a candidate", |w| &w.prefers)
    }

    /// `picks the job`
    #[must_use]
    pub fn picks(&self) -> &'a str {
        self.words.map_or("picks the candidate", |w| &w.picks)
    }

    /// `picks`
    #[must_use]
    pub fn verb(&self) -> &'a str {
        self.picks().split(' ').next().unwrap_or("picks")
    }

    /// `a job`; `None` where relations say by themselves what is taken.
    #[must_use]
    pub fn object(&self) -> Option<&'a str> {
        let prefers = self.prefers();
        [" a ", " an "].iter().find_map(|article| prefers.find(article)).map(|at| &prefers[at + 1..])
    }

    /// What is done by who takes what these words are about: `picks the job with the least work left`; of words that say what is done, `to
    /// suspend nobody`, that: `suspends nobody`.
    #[must_use]
    pub fn takes(&self, words: &str) -> String {
        third_person(words).unwrap_or_else(|| format!("{} {words}", self.picks()))
    }

    /// `work left`
    #[must_use]
    pub fn noun(&self, family: &str) -> String {
        self.quantity(family).map_or_else(|| family.replace('_', " "), |w| w.noun.clone())
    }

    /// What a candidate with more of a quantity is, or with less: `with less work left`.
    #[must_use]
    pub fn relation(&self, family: &str, more: bool) -> String {
        let name = family.replace('_', " ");
        match self.quantity(family).map(|w| if more { &w.more } else { &w.less }) {
            Some(words) if !words.is_empty() => words.clone(),
            _ if self.is_flag(family) && name.starts_with("is ") => {
                format!("that {}{}", if more { "is " } else { "is not " }, &name["is ".len()..])
            }
            _ if self.is_flag(family) => {
                format!("for which \u{201c}{name}\u{201d} is {}", if more { "true" } else { "false" })
            }
            _ => format!("with {} {name}", if more { "larger" } else { "smaller" }),
        }
    }

    /// What a candidate with most of a quantity is, or with least: `with the least work left`.
    #[must_use]
    pub fn extreme(&self, family: &str, most: bool) -> String {
        let ends = self.quantity(family).and_then(|w| if most { w.most.clone() } else { w.least.clone() });
        ends.unwrap_or_else(|| superlative(&self.relation(family, most)))
    }

    /// Words of a quantity.
    #[must_use]
    pub fn quantity(&self, family: &str) -> Option<&'a QuantityWords> {
        self.words?.quantity(family)
    }

    /// A feature of the level.
    #[must_use]
    pub fn feature(&self, name: &str) -> Option<&'a FeatureSpec> {
        self.spec?.features.iter().find(|f| f.name == name)
    }

    /// Whether a quantity is so or not.
    #[must_use]
    pub fn is_flag(&self, family: &str) -> bool {
        self.feature(family).is_some_and(|f| f.unit == FLAG)
    }
}

impl FeatureSpec {
    /// Its name for readers: underscores become spaces, and the part that its scope already says is dropped.
    #[must_use]
    pub fn label(&self) -> String {
        let name = self.name.replace('_', " ");
        let suffix = match self.scope {
            Scope::Absolute | Scope::Share => "",
            Scope::Rank => " rank",
            Scope::Ratio => " ratio",
        };
        name.strip_suffix(suffix).filter(|short| !short.trim().is_empty()).unwrap_or(&name).to_owned()
    }
}

/// The quantity that a feature is the rank or the ratio of.
#[must_use]
pub fn base(feature: &str) -> &str {
    ["_rank", "_ratio"].iter().find_map(|ending| feature.strip_suffix(ending)).unwrap_or(feature)
}

/// The first letter as a sentence begins.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The largest unit that keeps a time at 2 or more, as (milliseconds per unit, name).
#[must_use]
pub fn time_unit(ms: f64) -> (f64, &'static str) {
    match ms.abs() {
        t if t < 1e3 => (1.0, "ms"),
        t if t < 120e3 => (1e3, "s"),
        t if t < 7200e3 => (60e3, "min"),
        _ => (3600e3, "h"),
    }
}

/// `to close the batch` becomes `closes the batch`; `None` of words that say nothing to do.
#[must_use]
pub fn third_person(words: &str) -> Option<String> {
    let action = words.strip_prefix("to ")?;
    let (verb, rest) = action.split_once(' ').map_or((action, ""), |(verb, _)| (verb, &action[verb.len()..]));
    let ending =
        if verb.ends_with(['o', 's', 'x']) || verb.ends_with("ch") || verb.ends_with("sh") { "es" } else { "s" };
    Some(format!("{verb}{ending}{rest}"))
}

/// `with less work left` becomes `with the least work left`; what compares nothing stays.
fn superlative(relation: &str) -> String {
    let ends = |word: &str| SUPERLATIVES.iter().find(|(more, _)| *more == word);
    let Some((more, most)) = relation.split(' ').find_map(ends) else { return relation.to_owned() };
    // "a smaller share" becomes "the smallest share".
    let relation = relation
        .replace(&format!(" a {more}"), &format!(" {more}"))
        .replace(&format!(" an {more}"), &format!(" {more}"));
    let words = relation.split(' ').map(|word| if word == *more { format!("the {most}") } else { word.to_owned() });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superlatives_follow_from_comparatives() {
        assert_eq!(superlative("with less work left"), "with the least work left");
        assert_eq!(superlative("that costs a smaller share"), "that costs the smallest share");
        assert_eq!(superlative("that freed the executors"), "that freed the executors");
    }

    #[test]
    fn what_is_to_be_done_is_done() {
        let done = ["to suspend nobody", "to go on as long as it can", "to wait", "with the least work left"]
            .map(third_person);
        assert_eq!(done.map(Option::unwrap_or_default), ["suspends nobody", "goes on as long as it can", "waits", ""]);
    }

    #[test]
    fn a_sentence_begins_with_a_capital() {
        assert_eq!(capital("when"), "When");
        assert_eq!(capital(""), "");
    }

    #[test]
    fn a_level_without_words_is_called_by_its_names() {
        let (words, set) = (Words::default(), FeatureSet { scenario: String::new(), levels: Vec::new() });
        let level = words.phrases(&set, "job");
        assert_eq!(level.extreme("remaining_work", false), "with the smallest remaining work");
        assert_eq!((level.noun("free_cpu"), level.object()), ("free cpu".to_owned(), Some("a candidate")));
    }
}
