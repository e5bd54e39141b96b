//! How the columns that compare a candidate with the others of its choice are worked out: the one place that says so in words, for
//! exports, lists and files.

use super::{LevelSpec, Scope, base};

/// How a quantity's ratio to the least of the choice is formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatioKind {
    /// `(x + 1) / (min + 1)`
    Count,
    /// `x / max(min, 1 ms)`
    Time,
}

impl RatioKind {
    /// That of a quantity in this unit: times are in ms, and all that has a ratio and is no time is counted.
    #[must_use]
    pub fn of_unit(unit: &str) -> Self {
        if unit == "ms" || unit.starts_with("ms·") { Self::Time } else { Self::Count }
    }
}

/// What the formulas of [`LevelSpec::meaning`] mean, for who works the columns out elsewhere: sentences, to be set in lines.
pub const HOW_COLUMNS_ARE_FORMED: [&str; 5] = [
    "In formulas min(q) is the smallest value of the quantity q among the candidates of the choice, and count(q < own) the number of \
     candidates whose q is smaller than the candidate's own: equals share the lowest place, and the order of the others does not matter.",
    "A candidate that gives nothing (is_none is 1) is none of these: it is in no min and no count, and its own ranks and ratios are 0.",
    "A single candidate is compared with itself.",
    "Quantities in ms enter as ms; the 1 in a max() is 1 ms.",
    "Formulas are worked out in 64-bit floats from quantities that were not rounded before; what comes out is rounded to 32 bits. No \
     column of a scenario is ever missing (NaN) or infinite.",
];

impl LevelSpec {
    /// How a rank or a ratio comes from the quantity that it is of, as a formula of names, numbers, `+`, `/`, `max(a, b)`, `min(q)`
    /// and `count(q < own)`, as [`HOW_COLUMNS_ARE_FORMED`] explains them: `remaining_work / max(min(remaining_work), 1)`. `None` of
    /// other columns, and where the level lacks the quantity.
    #[must_use]
    pub fn formula(&self, column: usize) -> Option<String> {
        let feature = self.features.get(column)?;
        let name = base(&feature.name);
        let of = self.features.iter().find(|f| f.name == name && !matches!(f.scope, Scope::Rank | Scope::Ratio))?;
        match (feature.scope, RatioKind::of_unit(&of.unit)) {
            (Scope::Rank, _) => Some(format!("count({name} < own)")),
            (Scope::Ratio, RatioKind::Count) => Some(format!("({name} + 1) / (min({name}) + 1)")),
            (Scope::Ratio, RatioKind::Time) => Some(format!("{name} / max(min({name}), 1)")),
            (Scope::Absolute | Scope::Share, _) => None,
        }
    }

    /// What a column means, with the formula of a rank or ratio. Those of files say it in words of their own, which were wrong in
    /// earlier versions.
    #[must_use]
    pub fn meaning(&self, column: usize) -> String {
        let feature = &self.features[column];
        let Some(formula) = self.formula(column) else { return feature.meaning.clone() };
        let name = base(&feature.name);
        let of = self.features.iter().find(|f| f.name == name).map_or("", |f| f.meaning.trim_end_matches('.'));
        let against = match feature.scope {
            Scope::Rank => "place among the candidates, 0 is the smallest",
            _ => "against the smallest among the candidates",
        };
        format!("{of}: {against}: {formula}.")
    }
}

#[cfg(test)]
mod tests {
    use crate::feature::{Described, Level, Measured, Quantity};

    type Q = Described<Job>;

    struct Job;

    impl Level for Job {
        type Question<'a> = ();
        type Candidate<'a> = [f64; 2];

        const NAME: &'static str = "job";
        const QUANTITIES: &'static [Quantity<Self>] = &[
            Q::count(Measured, "tasks", "tasks", "Tasks.").compared(&|(), job| job[0]),
            Q::absolute(Measured, "work", "ms·tasks", "Work.").ratio(&|(), job| job[1]),
        ];
    }

    #[test]
    fn derived_columns_say_how_they_are_formed_and_old_files_are_put_right() {
        let mut level = Job::spec("Which?", &["job"]);
        let meanings = [
            "Tasks.",
            "Tasks: place among the candidates, 0 is the smallest: count(tasks < own).",
            "Tasks: against the smallest among the candidates: (tasks + 1) / (min(tasks) + 1).",
            "Work.",
            "Work: against the smallest among the candidates: work / max(min(work), 1).",
        ];
        assert_eq!((0..5).map(|column| level.meaning(column)).collect::<Vec<_>>(), meanings);
        assert_eq!(level.features.iter().map(|f| f.meaning.as_str()).collect::<Vec<_>>(), meanings);
        level.features[2].meaning = "Tasks: how many times the smallest among the candidates.".to_owned();
        assert_eq!(level.meaning(2), meanings[2]);
        // Without the quantity nobody knows its unit.
        level.features.remove(0);
        assert_eq!((level.formula(0), level.meaning(0)), (None, meanings[1].to_owned()));
    }
}
