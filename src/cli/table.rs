//! Aligned tables for the terminal.

use crate::{
    evaluator::Estimate,
    figure::{Compared, Figure},
    spec::{short_names, workload_names},
    text::one_line,
};
use std::fmt;

/// Columns that a table takes at most if it can.
const WIDTH: usize = 100;

/// Characters of a policy or workload in a table at most, unless its name alone has more.
const NAME: usize = 20;

/// Columns of a figure with its interval, or of a short name above it.
const FIGURE: usize = 23;

/// Rows of cells; the first column and those of words are flush left, the others flush right.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    /// How many of the last columns hold words.
    words: usize,
    /// Titles of columns that may go where the table is too wide, the first one first.
    optional: Vec<String>,
}

impl Table {
    pub(super) fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(|&h| h.to_owned()).collect()], words: 0, optional: Vec::new() }
    }

    /// The same with words in the last `columns` columns.
    pub(super) fn with_words(self, columns: usize) -> Self {
        Self { words: columns, ..self }
    }

    /// The same that leaves these columns out, one after the other, until it fits the terminal.
    pub(super) fn without_if_wide(self, titles: &[&str]) -> Self {
        Self { optional: titles.iter().map(|&title| title.to_owned()).collect(), ..self }
    }

    /// Adds a row; names in it stay in their cells.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| one_line(&cell).into_owned()).collect());
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
        (0..columns).map(width).collect()
    }

    /// The places of the columns that are shown, and the titles of the others.
    fn shown(&self) -> (Vec<usize>, Vec<&str>) {
        let widths = self.widths();
        let mut shown: Vec<usize> = (0..widths.len()).collect();
        let mut gone = Vec::new();
        for title in &self.optional {
            let wide = shown.iter().map(|&c| widths[c] + 2).sum::<usize>() > WIDTH + 2;
            let place = shown.iter().position(|&c| self.rows[0].get(c) == Some(title));
            if let (true, Some(place)) = (wide, place) {
                shown.remove(place);
                gone.push(title.as_str());
            }
        }
        (shown, gone)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (widths, (shown, gone)) = (self.widths(), self.shown());
        for (i, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for &c in &shown {
                let cell = row.get(c).map_or("", String::as_str);
                let pad = " ".repeat(widths[c] - cell.chars().count());
                let gap = if c == 0 { "" } else { "  " };
                line += gap;
                let left = c == 0 || c + self.words >= widths.len();
                line += &if left { format!("{cell}{pad}") } else { format!("{pad}{cell}") };
            }
            let end = if i + 1 < self.rows.len() { "\n" } else { "" };
            write!(f, "{}{end}", line.trim_end())?;
        }
        match gone.is_empty() {
            true => Ok(()),
            false => write!(f, "\n(--json also has: {})", gone.join(", ")),
        }
    }
}

/// Text behind a heading, broken between words so that no line is longer than a screen is wide.
pub(super) fn paragraph(heading: &str, text: &str) -> String {
    let indent = heading.chars().count();
    let (mut lines, mut line) = (Vec::new(), heading.to_owned());
    let mut length = indent;
    for word in text.split(' ') {
        let letters = word.chars().count();
        if length > indent && length + 1 + letters > WIDTH {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            length = indent;
        } else if length > indent {
            line.push(' ');
            length += 1;
        }
        line += word;
        length += letters;
    }
    lines.push(line);
    lines.join("\n")
}

/// Short names of policies or workloads in a table, and what they stand for.
pub(super) struct Names(Vec<(String, String)>);

impl Names {
    /// Names of policies.
    pub(super) fn new<'a>(ids: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of_distinct(ids, |all| short_names(all, NAME))
    }

    /// Names of workloads in rows that have so many figures.
    pub(super) fn of_workloads<'a>(figures: usize, ids: impl IntoIterator<Item = &'a str>) -> Self {
        let most = WIDTH.saturating_sub(figures * FIGURE).max(NAME);
        Self::of_distinct(ids, |all| {
            let names = workload_names(all);
            let counted = short_names(all, most);
            let short = |(name, counted): (String, String)| if name.chars().count() > most { counted } else { name };
            names.into_iter().zip(counted).map(short).collect()
        })
    }

    fn of_distinct<'a>(ids: impl IntoIterator<Item = &'a str>, names: impl Fn(&[&str]) -> Vec<String>) -> Self {
        let mut all: Vec<&str> = Vec::new();
        ids.into_iter().for_each(|id| {
            if !all.contains(&id) {
                all.push(id);
            }
        });
        Self(all.iter().map(|&id| id.to_owned()).zip(names(&all)).collect())
    }

    /// The short name of one of them.
    pub(super) fn of<'a>(&'a self, id: &'a str) -> &'a str {
        self.0.iter().find(|(known, _)| known == id).map_or(id, |(_, short)| short)
    }

    /// What the names stand for that are not the ids themselves, a line each.
    pub(super) fn legend(&self) -> Vec<String> {
        self.0.iter().filter(|(id, short)| id != short).map(|(id, short)| format!("  {short} = {id}")).collect()
    }
}

/// `0.532 [0.510, 0.555]`; where the interval has no width it is none.
pub(super) fn interval(e: &Estimate, digits: usize) -> String {
    match e.is_exact() {
        true => format!("{:.digits$}", e.value),
        false => format!("{:.digits$} [{:.digits$}, {:.digits$}]", e.value, e.low, e.high),
    }
}

/// A comparison of a figure with no more digits than its interval supports: `1.028 [1.007, 1.052]`, `-0.2 points [-0.5, +0.1]`.
pub(super) fn compared(figure: &Figure, e: &Estimate) -> String {
    let bare = |end: f64| compared_value(figure, e, end).split(' ').next().unwrap_or_default().to_owned();
    match e.is_exact() {
        true => compared_value(figure, e, e.value),
        false => format!("{} [{}, {}]", compared_value(figure, e, e.value), bare(e.low), bare(e.high)),
    }
}

/// A number of a comparison with the digits that the comparison's interval supports.
pub(super) fn compared_value(figure: &Figure, e: &Estimate, value: f64) -> String {
    let (factor, unit) = figure.comparison_unit();
    let digits = e.decimals(factor, if unit.is_some() { 1 } else { 3 });
    let unit = unit.map_or(String::new(), |unit| format!(" {unit}"));
    match figure.compared {
        Compared::Ratio => format!("{:.digits$}{unit}", factor * value),
        Compared::Difference => format!("{:+.digits$}{unit}", factor * value),
    }
}

/// A comparison of one episode, which has no interval.
pub(super) fn exactly(figure: &Figure, value: f64) -> String {
    compared_value(figure, &Estimate { value, low: value, high: value }, value)
}

/// A figure by its unit; times with their interval if that is asked for.
pub(super) fn figure(figure: &Figure, e: &Estimate, with_interval: bool) -> String {
    match (&*figure.unit, with_interval) {
        ("ms", true) => time(e),
        ("ms", false) => time(&Estimate { low: e.value, high: e.value, ..*e }),
        ("share", _) => format!("{:.0} %", 100.0 * e.value),
        _ => format!("{:.1}", e.value),
    }
}

/// A time in ms, with its interval, in the unit that suits it: `503 s [480, 531]`, `0.52 s`, `4.21 ms`.
pub(super) fn time(e: &Estimate) -> String {
    let (unit, ms, digits) = match e.value {
        100_000.0.. => ("s", 1e3, 0),
        1000.0.. => ("s", 1e3, 1),
        100.0.. => ("s", 1e3, 2),
        10.0.. => ("ms", 1.0, 1),
        1.0.. => ("ms", 1.0, 2),
        // Also what is no time at all.
        _ => ("ms", 1.0, 3),
    };
    match e.is_exact() {
        true => format!("{:.digits$} {unit}", e.value / ms),
        false => format!("{:.digits$} {unit} [{:.digits$}, {:.digits$}]", e.value / ms, e.low / ms, e.high / ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_and_the_digits_that_suit_them() {
        let said = |value: f64, low: f64, high: f64| time(&Estimate { value, low, high });
        assert_eq!(said(503_200.0, 480_100.0, 530_900.0), "503 s [480, 531]");
        assert_eq!(said(1340.0, 1340.0, 1340.0), "1.3 s");
        assert_eq!(said(523.0, 480.0, 1200.0), "0.52 s [0.48, 1.20]");
        assert_eq!(said(52.34, 52.34, 52.34), "52.3 ms");
        assert_eq!(said(4.212, 4.1, 4.3), "4.21 ms [4.10, 4.30]");
        assert_eq!(said(0.4127, 0.4127, 0.4127), "0.413 ms");
    }

    #[test]
    fn a_paragraph_is_broken_between_words() {
        let text = ["word"; 40].join(" ");
        let broken = paragraph("verdict    ", &text);
        assert!(broken.lines().count() == 3 && broken.lines().all(|line| line.len() <= 100), "{broken}");
        assert_eq!(broken.split_whitespace().skip(1).collect::<Vec<_>>().join(" "), text);
    }

    #[test]
    fn a_table_that_is_too_wide_leaves_out_what_it_may() {
        let table = |width: usize| {
            let mut table = Table::new(&["a", "b", "c"]).without_if_wide(&["b", "c"]);
            table.row(["x".to_owned(), "y".repeat(width), "z".to_owned()]);
            table.to_string()
        };
        assert!(table(93).starts_with("a ") && !table(93).contains("--json"));
        let narrow = table(96);
        assert_eq!(narrow, "a  c\nx  z\n(--json also has: b)");
    }

    #[test]
    fn an_interval_of_no_width_is_none() {
        let of = |low, high| interval(&Estimate { value: 0.5, low, high }, 2);
        assert_eq!((of(0.4, 0.6), of(0.5, 0.5)), ("0.50 [0.40, 0.60]".to_owned(), "0.50".to_owned()));
        assert_eq!(of(0.5 - 1e-14, 0.5), "0.50", "up to rounding");
        assert_eq!(time(&Estimate { value: 144_891.0, low: 144_891.0, high: 144_891.0 }), "145 s");
    }

    #[test]
    fn names_are_short_and_the_legend_has_the_ids() {
        let names = Names::new(["fair", "student:a/b/student.json", "net:model.pt,mode=sample,cap=2", "fair"]);
        assert_eq!((names.of("fair"), names.of("student:a/b/student.json")), ("fair", "student:student.json"));
        assert_eq!(names.of("net:model.pt,mode=sample,cap=2"), "net");
        let legend = ["  student:student.json = student:a/b/student.json", "  net = net:model.pt,mode=sample,cap=2"];
        assert_eq!(names.legend(), legend);
    }

    #[test]
    fn workloads_are_named_by_what_tells_them_apart() {
        let (usual, wide) =
            ("tpch:a/p.json.gz,executors=10,jobs=50", "tpch:a/p.json.gz,edge=wide,executors=10,jobs=50");
        let names = Names::of_workloads(2, [usual, wide]);
        assert_eq!((names.of(usual), names.of(wide)), ("tpch", "edge=wide"));
        assert_eq!(names.legend(), [format!("  tpch = {usual}"), format!("  edge=wide = {wide}")]);
        let long = format!("tpch:a/p.json.gz,{}", ["a=1", "b=2", "c=3", "d=4", "e=5", "f=6", "g=7", "h=8"].join(","));
        assert_eq!(Names::of_workloads(4, [usual, &long]).of(&long), "tpch#2", "a name that is no shorter");
    }
}
