//! Words of the project in sentences for readers: what each is stands in the glossary, and is shown when one points at it.

use serde::Serialize;
use std::sync::LazyLock;

/// Words that sentences use, with other forms that they take.
const USED: [(&str, &[&str]); 13] = [
    ("student", &["student", "student's"]),
    ("teacher", &["teacher", "teacher's"]),
    ("choice", &["choice", "choices"]),
    ("candidate", &["candidate", "candidates", "candidate's"]),
    ("heuristic", &["heuristic", "heuristics"]),
    ("stalled", &["stalled"]),
    ("augmented", &["augmented"]),
    ("gate", &["gate", "gates"]),
    ("guard", &["guard", "guards"]),
    ("edit", &["edit", "edits"]),
    ("term", &["term", "terms"]),
    ("regret", &["regret"]),
    ("JCT", &["JCT"]),
];

/// What words are, from the glossary's table.
static MEANINGS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| **")?.split('|');
        let words = cells.next()?.trim().trim_end_matches("**").to_owned();
        Some((words, cells.next()?.replace('`', "").trim().to_owned()))
    };
    include_str!("glossary.md").lines().filter_map(row).collect()
});

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Part {
    pub(super) text: String,
    /// What it means, if it is a word of the project.
    pub(super) tip: Option<&'static str>,
}

fn meaning(word: &str) -> Option<&'static str> {
    let (name, _) = USED.iter().find(|(_, forms)| forms.contains(&word))?;
    MEANINGS.iter().find(|(known, _)| known == name).map(|(_, meaning)| meaning.as_str())
}

/// A sentence in pieces, each word of the project by itself where it first comes.
pub(super) fn explained(sentence: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let (mut plain, mut rest) = (String::new(), sentence);
    while !rest.is_empty() {
        let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '-' | '_');
        let end = rest.find(|c: char| !is_letter(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        match meaning(word).filter(|tip| !seen.contains(tip)) {
            Some(tip) => {
                seen.push(tip);
                if !plain.is_empty() {
                    parts.push(Part { text: std::mem::take(&mut plain), tip: None });
                }
                parts.push(Part { text: word.to_owned(), tip: Some(tip) });
            }
            None => plain += word,
        }
        let between = after.find(is_letter).unwrap_or(after.len());
        plain += &after[..between];
        rest = &after[between..];
    }
    if !plain.is_empty() {
        parts.push(Part { text: plain, tip: None });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_that_sentences_use_stands_in_the_glossary() {
        for (name, forms) in USED {
            assert!(forms.iter().all(|form| meaning(form).is_some_and(|m| m.len() > 20)), "{name}");
        }
    }

    #[test]
    fn a_word_is_explained_where_it_first_comes_and_no_letter_is_lost() {
        let sentence = "The student's choice: in 3 of 4 choices (the student) – ok.";
        let parts = explained(sentence);
        assert_eq!(parts.iter().map(|p| p.text.as_str()).collect::<String>(), sentence);
        let tips: Vec<&str> = parts.iter().filter(|p| p.tip.is_some()).map(|p| p.text.as_str()).collect();
        assert_eq!(tips, ["student's", "choice"]);
    }
}
