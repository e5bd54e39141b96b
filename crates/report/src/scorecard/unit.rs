//! The unit in which a row writes the values of its feature.

use crate::words::{number, singular, time_unit};
use sched_distill_core::level::{FLAG, FeatureSpec, Scope};

/// How values are written on an axis and in a phrase.
pub(super) struct Unit<'a> {
    /// Value of one unit.
    pub(super) scale: f64,
    /// At the axis: `min`, `%`, `stages`.
    pub(super) name: String,
    /// One of them in a sentence: `minute`, `stage`, `place`.
    one: String,
    whole: bool,
    is_rank: bool,
    /// What stands behind the unit of a time; `None` of other units.
    time: Option<&'a str>,
}

impl<'a> Unit<'a> {
    /// For values up to `high`; `noun` is what the feature is called.
    pub(super) fn new(feature: &'a FeatureSpec, noun: &str, high: f64) -> Self {
        let unit = feature.unit.as_str();
        let mut time = None;
        let (scale, name, one) = match feature.scope {
            Scope::Share if matches!(unit, "1" | "") => (0.01, "%".to_owned(), "1\u{a0}%".to_owned()),
            Scope::Rank => (1.0, String::new(), "place".to_owned()),
            Scope::Ratio => (1.0, "times the least".to_owned(), "time the least".to_owned()),
            _ if unit == "ms" || unit.starts_with("ms·") => {
                let (scale, name) = time_unit(high);
                // What is called work is known to be the tasks' time.
                let rest = if noun.contains("work") { "" } else { &unit[2..] };
                time = Some(rest);
                let one = match name {
                    "s" => "second",
                    "min" => "minute",
                    "h" => "hour",
                    other => other,
                };
                (scale, format!("{name}{rest}"), format!("{one}{rest}"))
            }
            _ if matches!(unit, "1" | "" | FLAG) => (1.0, String::new(), "1 more".to_owned()),
            _ => (1.0, unit.to_owned(), singular(unit).to_owned()),
        };
        Self { scale, name, one, whole: feature.whole, is_rank: feature.scope == Scope::Rank, time }
    }

    /// A value with its unit; times in the unit that suits the value.
    pub(super) fn value(&self, value: f64) -> String {
        let (scale, name) = match self.time {
            Some(rest) => {
                let (scale, name) = time_unit(value);
                (scale, format!("{name}{rest}"))
            }
            None => (self.scale, self.name.clone()),
        };
        let shown = number(value / scale);
        match name.as_str() {
            "" => shown,
            "%" => format!("{shown}\u{a0}%"),
            _ if shown == "1" && self.time.is_none() => format!("1\u{a0}{}", self.one),
            name => format!("{shown}\u{a0}{name}"),
        }
    }

    /// A value without a unit that `noun` says: `2` of `executors held`.
    pub(super) fn value_of(&self, noun: &str, value: f64) -> String {
        match noun.split(' ').any(|word| word == self.name) {
            true => number(value / self.scale),
            false => self.value(value),
        }
    }

    /// A value that the feature can have near this one.
    pub(super) fn near(&self, value: f64) -> f64 {
        if self.whole || self.is_rank { value.round() } else { value }
    }

    /// `minute`, `10 min`, `10 places`: a step of so many units.
    fn step(&self, step: f64) -> String {
        match (step, self.name.as_str()) {
            (1.0, _) => self.one.clone(),
            (_, "") if self.is_rank => format!("{} places", number(step)),
            (_, "") => format!("{} more", number(step)),
            (_, name) => format!("{}\u{a0}{name}", number(step)),
        }
    }

    /// `−3.1 points per minute`: a slope, in points per unit of the feature, over so wide a stretch.
    pub(super) fn slope(&self, slope: f64, width: f64) -> String {
        let (slope, width) = (slope * self.scale, width / self.scale);
        let mut step = 1.0;
        while width < step && !self.whole && step > 1e-6 {
            step /= 10.0;
        }
        while (slope * step).abs() < 0.5 && step * 10.0 <= width {
            step *= 10.0;
        }
        format!("{} per {}", points(slope * step), self.step(step))
    }

    /// `above 40 s`, `from 3 stages on`.
    pub(super) fn above(&self, threshold: f64) -> String {
        match self.whole && threshold.fract() != 0.0 {
            true => format!("from {} on", self.value(threshold.ceil())),
            false => format!("above {}", self.value(threshold)),
        }
    }

    /// `up to 40 s`
    pub(super) fn up_to(&self, threshold: f64) -> String {
        let last = if self.whole { threshold.floor() } else { threshold };
        format!("up to {}", self.value(last))
    }
}

/// `+4.2 points`
pub(super) fn points(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    let shown = three(value);
    format!("{sign}{shown} {}", if shown.trim_start_matches('\u{2212}') == "1" { "point" } else { "points" })
}

/// A number of points: no more than two decimals.
pub(super) fn three(value: f64) -> String {
    number((value * 100.0).round() / 100.0)
}
