//! Numbers and quantities for readers: how a value is written wherever it stands in a sentence or beside a picture.
//!
//! Numbers carry three significant digits: enough to read, few enough to compare. Between a number and its unit stands a no-break
//! space, which [`typed`] makes one that is easily searched for.

use super::{FLAG, FeatureSpec, Scope, time_unit};

/// A number with three significant digits, thousands separated, a real minus sign.
#[must_use]
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs();
    if !(1e-4..1e9).contains(&magnitude) {
        let text = format!("{value:.2e}");
        return text.replace('-', "\u{2212}");
    }
    let decimals = (2 - magnitude.log10().floor() as i32).max(0) as usize;
    let text = format!("{magnitude:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    let sign = if value < 0.0 { "\u{2212}" } else { "" };
    format!("{sign}{}{dot}{fraction}", grouped(whole))
}

/// A count with thousands separated.
#[must_use]
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// Digits with thousands separated.
#[must_use]
pub fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A value with its unit; units of time are scaled, shares become percentages.
#[must_use]
pub fn quantity(value: f64, feature: &FeatureSpec) -> String {
    if feature.scope == Scope::Share && matches!(feature.unit.as_str(), "1" | "") {
        return format!("{}\u{a0}%", number(value * 100.0));
    }
    match feature.unit.as_str() {
        "1" | "" => number(value),
        FLAG if value == 0.0 => "no".to_owned(),
        FLAG if value == 1.0 => "yes".to_owned(),
        FLAG => number(value),
        unit if unit == "ms" || unit.starts_with("ms·") => {
            let (scale, name) = time_unit(value);
            format!("{}\u{a0}{name}{}", number(value / scale), &unit[2..])
        }
        unit if value == 1.0 => format!("1\u{a0}{}", singular(unit)),
        unit => format!("{}\u{a0}{unit}", number(value)),
    }
}

/// A unit that is a plain word, of one: `executor`; others, such as `jobs/s`, stay.
#[must_use]
pub fn singular(unit: &str) -> &str {
    let is_word = unit.len() > 2 && unit.bytes().all(|b| b.is_ascii_alphabetic());
    unit.strip_suffix('s').filter(|_| is_word).unwrap_or(unit)
}

/// The same as one would type it, for terminals and text files.
#[must_use]
pub fn typed(text: &str) -> String {
    text.replace('\u{a0}', " ").replace('\u{2212}', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let cases = [
            (0.0, "0"),
            (0.98765, "0.988"),
            (12.0, "12"),
            (-3.456, "\u{2212}3.46"),
            (1234.5, "1,234"),
            (12_345_678.0, "12,345,678"),
            (2e-6, "2.00e\u{2212}6"),
            (999.96, "1,000"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text, "{value}");
        }
    }
}
