//! Figures in words: how a scenario's figure is written, and what a comparison of it says.

use crate::words::{number, percent, tenths, time, time_unit};
use sched_distill_core::figure::{Better, Compared, Figure};
use sched_distill_judge::evaluator::Estimate;

/// Writes a value of a figure, e.g. `62.3 s`.
pub(crate) fn amount(figure: &Figure) -> fn(f64) -> String {
    match &*figure.unit {
        "ms" => time,
        "share" => percent,
        _ => tenths,
    }
}

/// The unit in which values of a figure are written side by side, after how many of its own make one of it. Times are in the
/// unit of one that is named.
pub(crate) fn side_by_side(figure: &Figure, one_ms: f64) -> (f64, String) {
    match &*figure.unit {
        "ms" => {
            let (scale, unit) = time_unit(one_ms);
            (scale, unit.to_owned())
        }
        "share" => (0.01, "%".to_owned()),
        unit => (1.0, unit.to_owned()),
    }
}

/// Writes a comparison: with three decimals, since policies may differ by little, and of shares in points with one.
pub(crate) fn versus(figure: &Figure) -> fn(f64) -> String {
    match (figure.compared, figure.comparison_unit().1) {
        (Compared::Ratio, _) => |ratio| format!("{ratio:.3}"),
        (Compared::Difference, Some(_)) => {
            |share| format!("{:+.1}\u{a0}points", 100.0 * share).replace('-', "\u{2212}")
        }
        (Compared::Difference, None) => |difference| format!("{difference:+.3}").replace('-', "\u{2212}"),
    }
}

/// The same in a chart, whose axis has the unit.
pub(crate) fn at_dot(figure: &Figure) -> fn(f64) -> String {
    match figure.comparison_unit().1 {
        Some(_) => |share| format!("{:+.1}", 100.0 * share).replace('-', "\u{2212}"),
        None => versus(figure),
    }
}

/// Writes a comparison at an axis.
pub(crate) fn tick(figure: &Figure) -> fn(f64) -> String {
    // What sums of steps leave of 0 is 0.
    match figure.comparison_unit().1 {
        Some(_) => |share| number((1e4 * share).round() / 100.0),
        None => |value| number((1e9 * value).round() / 1e9),
    }
}

/// What an axis of comparisons adds to say in which unit they are: `, points`.
pub(crate) fn axis_unit(figure: &Figure) -> String {
    figure.comparison_unit().1.map_or(String::new(), |unit| format!(", {unit}"))
}

/// Writes a comparison with its interval, with no more digits than that supports: `1.028 [1.007, 1.052]`, `−0.2 points [−0.5, +0.1]`.
pub(crate) fn measured(figure: &Figure, e: &Estimate) -> String {
    let value = measured_value(figure, e, e.value);
    if e.is_exact() {
        return value;
    }
    let bare = |end: f64| measured_value(figure, e, end).split('\u{a0}').next().unwrap_or_default().to_owned();
    format!("{value} [{}, {}]", bare(e.low), bare(e.high))
}

/// Its interval alone: `[1.007, 1.052]`; empty for one of no width.
pub(crate) fn whiskers(figure: &Figure, e: &Estimate) -> String {
    let text = measured(figure, e);
    text.find('[').map_or(String::new(), |at| text[at..].to_owned())
}

/// A number of a comparison with the digits that the comparison's interval supports.
pub(crate) fn measured_value(figure: &Figure, e: &Estimate, value: f64) -> String {
    let (factor, unit) = figure.comparison_unit();
    let decimals = e.decimals(factor, if unit.is_some() { 1 } else { 3 });
    let (value, unit) = (factor * value, unit.map_or(String::new(), |unit| format!("\u{a0}{unit}")));
    let number = match figure.compared {
        Compared::Ratio => format!("{value:.decimals$}"),
        Compared::Difference => format!("{value:+.decimals$}").replace('-', "\u{2212}"),
    };
    number + &unit
}

/// What a comparison is: `ratio` or `difference`.
pub(crate) fn comparison(figure: &Figure) -> &'static str {
    match figure.compared {
        Compared::Ratio => "ratio",
        Compared::Difference => "difference",
    }
}

/// How comparisons of episodes are put together.
pub(crate) fn put_together(figure: &Figure) -> &'static str {
    match figure.compared {
        Compared::Ratio => "geometric mean",
        Compared::Difference => "mean",
    }
}

/// What a comparison must be to speak for the policy, e.g. `below 1 is better`.
pub(crate) fn hint(figure: &Figure) -> String {
    let side = match figure.better {
        Better::Less => "below",
        Better::More => "above",
    };
    format!("{side} {} is better", figure.neutral())
}

/// What comes before a limit: `at most`.
pub(crate) fn bound(figure: &Figure) -> &'static str {
    match figure.better {
        Better::Less => "at most",
        Better::More => "at least",
    }
}

/// Which direction of the figure itself is better.
pub(crate) fn direction(figure: &Figure) -> &'static str {
    match figure.better {
        Better::Less => "less is better",
        Better::More => "more is better",
    }
}

/// What a gain is, e.g. `share of the mean JCT`.
pub(crate) fn gained(figure: &Figure) -> String {
    match figure.compared {
        Compared::Ratio => format!("share of the {}", figure.label),
        Compared::Difference => format!("difference of the {}", figure.label),
    }
}

/// Writes a gain with its sign.
pub(crate) fn gain(figure: &Figure) -> fn(f64) -> String {
    match (figure.compared, &*figure.unit) {
        (Compared::Ratio, _) => |gain| format!("{:+.2}\u{a0}%", 100.0 * gain).replace('-', "\u{2212}"),
        (_, "share") => |gain| format!("{:+.2}\u{a0}points", 100.0 * gain).replace('-', "\u{2212}"),
        _ => |gain| format!("{gain:+.2}").replace('-', "\u{2212}"),
    }
}

/// Writes a gain at an axis.
pub(crate) fn gain_tick(figure: &Figure) -> fn(f64) -> String {
    match (figure.compared, &*figure.unit) {
        (Compared::Ratio, _) => |gain| format!("{}\u{a0}%", number(100.0 * gain)),
        (_, "share") => |gain| format!("{}\u{a0}points", number(100.0 * gain)),
        _ => number,
    }
}

/// Borders of an axis of comparisons on which small differences look small.
pub(crate) fn around(figure: &Figure, by: f64) -> (f64, f64) {
    (figure.neutral() - by, figure.neutral() + by)
}
