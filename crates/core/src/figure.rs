//! Figures of an episode: what a scenario measures, and which of them is its objective.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Something that is measured of every episode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What files and JSON call it, e.g. `mean_jct_ms`.
    pub name: Cow<'static, str>,
    /// What people call it, e.g. `mean JCT`.
    pub label: Cow<'static, str>,
    /// Its unit: `ms`, `share` (of 1), or what is counted.
    pub unit: Cow<'static, str>,
    /// What it is, as a sentence.
    pub meaning: Cow<'static, str>,
    /// Which direction is better.
    pub better: Better,
    /// How two policies are compared on the same episodes.
    pub compared: Compared,
}

/// Which direction of a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Smaller values.
    Less,
    /// Larger values.
    More,
}

/// How figures of paired episodes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// By the geometric mean of ratios; for positive figures.
    Ratio,
    /// By the mean of differences; for shares and figures that may be 0.
    Difference,
}

/// A figure by name, label and unit, of which it is still to be said which direction is better.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    names: [&'static str; 3],
    compared: Compared,
}

impl Named {
    /// Smaller values are better; what it is, as a sentence.
    #[must_use]
    pub const fn less(self, meaning: &'static str) -> Figure {
        self.figure(Better::Less, meaning)
    }

    /// Larger values are better; what it is, as a sentence.
    #[must_use]
    pub const fn more(self, meaning: &'static str) -> Figure {
        self.figure(Better::More, meaning)
    }

    const fn figure(self, better: Better, meaning: &'static str) -> Figure {
        let [name, label, unit] = self.names;
        Figure {
            name: Cow::Borrowed(name),
            label: Cow::Borrowed(label),
            unit: Cow::Borrowed(unit),
            meaning: Cow::Borrowed(meaning),
            better,
            compared: self.compared,
        }
    }
}

impl Figure {
    /// A figure that is compared by ratios: what files and what people call it, and its unit.
    ///
    /// ```
    /// use sched_distill_core::figure::{Better, Figure};
    /// let jct = Figure::ratio("mean_jct_ms", "mean JCT", "ms").less("Mean time from arrival to completion.");
    /// assert_eq!((&*jct.label, jct.better), ("mean JCT", Better::Less));
    /// ```
    #[must_use]
    pub const fn ratio(name: &'static str, label: &'static str, unit: &'static str) -> Named {
        Named { names: [name, label, unit], compared: Compared::Ratio }
    }

    /// A figure that is compared by differences: what files and what people call it, and its unit.
    #[must_use]
    pub const fn difference(name: &'static str, label: &'static str, unit: &'static str) -> Named {
        Named { names: [name, label, unit], compared: Compared::Difference }
    }

    /// What a comparison says of two equal policies.
    #[must_use]
    pub fn neutral(&self) -> f64 {
        match self.compared {
            Compared::Ratio => 1.0,
            Compared::Difference => 0.0,
        }
    }

    /// What a comparison says of a policy that is worse than its baseline by a share, of a figure compared by differences by
    /// so much of its unit.
    ///
    /// ```
    /// use sched_distill_core::figure::COMPLETION_FIGURES;
    /// let [jct, .., busy, _] = COMPLETION_FIGURES else { unreachable!() };
    /// assert_eq!((jct.worse_by(0.02), busy.worse_by(0.02)), (1.02, -0.02));
    /// ```
    #[must_use]
    pub fn worse_by(&self, share: f64) -> f64 {
        match self.better {
            Better::Less => self.neutral() + share,
            Better::More => self.neutral() - share,
        }
    }

    /// One episode under two policies, compared; `None` if that is no number, as of a ratio to 0.
    ///
    /// ```
    /// use sched_distill_core::figure::COMPLETION_FIGURES;
    /// let [jct, .., busy, _] = COMPLETION_FIGURES else { unreachable!() };
    /// assert_eq!((jct.pair(3.0, 4.0), jct.pair(3.0, 0.0), busy.pair(0.75, 0.5)), (Some(0.75), None, Some(0.25)));
    /// ```
    #[must_use]
    pub fn pair(&self, value: f64, baseline: f64) -> Option<f64> {
        match self.compared {
            Compared::Ratio => (value > 0.0 && baseline > 0.0).then(|| value / baseline),
            Compared::Difference => Some(value - baseline),
        }
        .filter(|compared| compared.is_finite())
    }

    /// Whether a comparison speaks for the policy against its baseline.
    #[must_use]
    pub fn favours(&self, compared: f64) -> bool {
        match self.better {
            Better::Less => compared < self.neutral(),
            Better::More => compared > self.neutral(),
        }
    }

    /// Whether a comparison is at least as good as a limit.
    ///
    /// ```
    /// use sched_distill_core::figure::COMPLETION_FIGURES;
    /// let [jct, .., busy, _] = COMPLETION_FIGURES else { unreachable!() };
    /// assert!(jct.passes(1.02, 1.05) && !jct.passes(1.06, 1.05), "a ratio of times, less is better");
    /// assert!(busy.passes(0.01, -0.02) && !busy.passes(-0.03, -0.02), "a difference of shares, more is better");
    /// ```
    #[must_use]
    pub fn passes(&self, compared: f64, limit: f64) -> bool {
        match self.better {
            Better::Less => compared <= limit,
            Better::More => compared >= limit,
        }
    }

    /// The figure of an episode as a cost: less is better, and differences of costs are what is compared. A figure that is missing,
    /// as of an episode that stalled, costs more than all others.
    #[must_use]
    pub fn cost(&self, value: Option<f64>) -> f64 {
        let scaled = value.map(|value| match self.compared {
            Compared::Ratio => value.ln(),
            Compared::Difference => value,
        });
        match (scaled, self.better) {
            (None, _) => f64::INFINITY,
            (Some(cost), Better::Less) => cost,
            (Some(cost), Better::More) => -cost,
        }
    }

    /// How much better the figure gets where the mean cost changes by so much: as a share of it where figures are compared by
    /// ratios, otherwise in its unit.
    ///
    /// ```
    /// use sched_distill_core::figure::COMPLETION_FIGURES;
    /// let [jct, .., busy, _] = COMPLETION_FIGURES else { unreachable!() };
    /// let change = jct.cost(Some(90.0)) - jct.cost(Some(100.0));
    /// assert!((jct.gain(change) - 0.1).abs() < 1e-12, "a tenth of the time is taken away");
    /// assert!((busy.gain(busy.cost(Some(0.7)) - busy.cost(Some(0.5))) - 0.2).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn gain(&self, cost: f64) -> f64 {
        match (self.compared, self.better) {
            (Compared::Ratio, Better::Less) => 1.0 - cost.exp(),
            (Compared::Ratio, Better::More) => (-cost).exp() - 1.0,
            (Compared::Difference, _) => -cost,
        }
    }

    /// Two gains, one after the other, as one.
    ///
    /// ```
    /// use sched_distill_core::figure::COMPLETION_FIGURES;
    /// let [jct, .., busy, _] = COMPLETION_FIGURES else { unreachable!() };
    /// assert_eq!((jct.both_gains(0.5, 0.2), busy.both_gains(0.5, 0.25)), (0.6, 0.75));
    /// ```
    #[must_use]
    pub fn both_gains(&self, first: f64, second: f64) -> f64 {
        match (self.compared, self.better) {
            (Compared::Ratio, Better::Less) => 1.0 - (1.0 - first) * (1.0 - second),
            (Compared::Ratio, Better::More) => (1.0 + first) * (1.0 + second) - 1.0,
            (Compared::Difference, _) => first + second,
        }
    }

    /// How comparisons are written for people: after what factor, and in which unit. Shares differ by points.
    #[must_use]
    pub fn comparison_unit(&self) -> (f64, Option<&'static str>) {
        match (self.compared, &*self.unit) {
            (Compared::Difference, "share") => (100.0, Some("points")),
            _ => (1.0, None),
        }
    }

    /// What a comparison is called, e.g. `mean JCT ÷ fair`.
    #[must_use]
    pub fn against(&self, baseline: &str) -> String {
        self.between(&self.label, baseline)
    }

    /// What a comparison of two is called: `student ÷ fair`.
    #[must_use]
    pub fn between(&self, policy: &str, baseline: &str) -> String {
        let sign = match self.compared {
            Compared::Ratio => '÷',
            Compared::Difference => '−',
        };
        format!("{policy} {sign} {baseline}")
    }
}

/// The figures of scenarios whose goal is that jobs complete early: mean completion time, makespan, share of the cluster in use,
/// jobs in the system. Files that name no figures mean these.
pub const COMPLETION_FIGURES: &[Figure] = &[
    Figure::ratio("mean_jct_ms", "mean JCT", "ms")
        .less("Mean of the jobs' completion times, each from its arrival on."),
    Figure::ratio("makespan_ms", "makespan", "ms").less("Time from the first arrival to the last completion."),
    Figure::difference("utilisation", "busy", "share")
        .more("Mean share of the cluster that is in use, up to the makespan."),
    Figure::ratio("jobs_in_system", "jobs in system", "jobs")
        .less("Mean number of jobs in the system, up to the makespan."),
];

/// Why an episode ended although jobs were unfinished, so that it has no figures of all its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Nothing happened any more: the policy let jobs wait for ever.
    Stranded,
    /// More happened than the jobs need, by far ([`Bound`](crate::simulation::Bound)): it would have gone on for ever, or nearly so.
    Endless,
}

impl Stall {
    /// What files and JSON call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stranded => "stranded",
            Self::Endless => "endless",
        }
    }

    /// What it means, as it is said of an episode.
    #[must_use]
    pub fn meaning(name: &str) -> &str {
        match name {
            "stranded" => "nothing happened any more, and jobs still waited",
            "endless" => "more than a hundred times what the jobs need had happened",
            other => other,
        }
    }
}
