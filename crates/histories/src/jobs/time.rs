//! When is that?

/// Times and lengths of time beyond this are taken for damage, ms: some 31,000 years.
const MOST_MS: i64 = 1_000_000_000_000_000;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds, `ms`.
    Milliseconds,
    /// Seconds, `s`.
    Seconds,
    /// Minutes, `min`.
    Minutes,
    /// Hours, `h`.
    Hours,
}

impl Unit {
    const fn ms(self) -> f64 {
        match self {
            Self::Milliseconds => 1.0,
            Self::Seconds => 1e3,
            Self::Minutes => 6e4,
            Self::Hours => 3.6e6,
        }
    }
}

/// A unit by its sign: `ms`, `s`, `min` or `h`.
impl std::str::FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ms" => Ok(Self::Milliseconds),
            "s" => Ok(Self::Seconds),
            "min" => Ok(Self::Minutes),
            "h" => Ok(Self::Hours),
            _ => Err(format!("{text:?} is no unit of time; there are ms, s, min and h")),
        }
    }
}

/// How points of time are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Numbers since a time that is not known.
    Since(Unit),
    /// Numbers since 1970.
    SinceEpoch(Unit),
    /// `YYYY-MM-DD HH:MM:SS`, or ISO 8601 as `YYYY-MM-DDTHH:MM:SS.sss+01:00`. Without a zone it is taken for UTC.
    Calendar,
}

impl Times {
    /// A point of time, ms.
    pub(super) fn parse(self, text: &str) -> Option<i64> {
        match self {
            Self::Since(unit) | Self::SinceEpoch(unit) => number_ms(text, unit),
            Self::Calendar => calendar_ms(text),
        }
    }
}

/// Does this stand for something that is not known?
pub(super) fn is_none(text: &str) -> bool {
    let text = text.trim();
    text.is_empty()
        || text == "-"
        || ["none", "null", "nan", "unknown", "n/a"].iter().any(|none| text.eq_ignore_ascii_case(none))
}

/// So many of a unit, ms.
pub(crate) fn number_ms(text: &str, unit: Unit) -> Option<i64> {
    let ms = (text.trim().parse::<f64>().ok()? * unit.ms()).round();
    // Finite numbers within the limit are whole numbers of an i64.
    (ms.abs() <= MOST_MS as f64).then_some(ms as i64)
}

/// Digits as a number; nothing else, and at most nine.
fn digits(text: &str) -> Option<i64> {
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// A point of time by the calendar, ms since 1970.
pub(super) fn calendar_ms(text: &str) -> Option<i64> {
    let text = text.trim();
    let (date, clock) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut parts = date.split('-');
    let [year, month, day] = [digits(parts.next()?)?, digits(parts.next()?)?, digits(parts.next()?)?];
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_date = (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=last).contains(&day);
    if !is_date || parts.next().is_some() {
        return None;
    }
    let (clock, zone_ms) = match clock.find(['Z', '+', '-']) {
        Some(at) => {
            let (clock, zone) = clock.split_at(at);
            (clock, zone_ms(zone)?)
        }
        None => (clock, 0),
    };
    Some(86_400_000 * days(year, month, day) + clock_ms(clock.trim_end())? - zone_ms)
}

/// Days from 1970 to a day: years are counted from March on, so that leap days come last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day
        - 719_469
}

/// `hh:mm`, `hh:mm:ss` or `hh:mm:ss.sss` of a day, ms.
fn clock_ms(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hours, minutes) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let seconds_ms = parts.next().map_or(Some(0), seconds_ms)?;
    // 60 is a leap second.
    let is_clock = hours < 24 && minutes < 60 && seconds_ms < 61_000 && parts.next().is_none();
    is_clock.then_some(3_600_000 * hours + 60_000 * minutes + seconds_ms)
}

/// `ss` or `ss.sss`, ms.
fn seconds_ms(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part: i64 = format!("{:0<3}", part.get(..3).unwrap_or(part)).parse().ok()?;
    Some(1000 * digits(whole)? + part)
}

/// `Z`, `+hh`, `+hh:mm` or `+hhmm`, ms.
fn zone_ms(text: &str) -> Option<i64> {
    let (sign, text) = match text.split_at_checked(1)? {
        ("Z", "") => return Some(0),
        ("+", text) => (1, text),
        ("-", text) => (-1, text),
        _ => return None,
    };
    let (hours, minutes) = match text.split_once(':') {
        Some(parts) => parts,
        None if text.len() == 4 => text.split_at_checked(2)?,
        None => (text, "0"),
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (3_600_000 * hours + 60_000 * minutes))
}

/// `[days-]hh:mm:ss`, `mm:ss` or `mm:ss.sss`, ms.
pub(super) fn elapsed_ms(text: &str) -> Option<i64> {
    let (days, clock) = match text.trim().split_once('-') {
        Some((days, clock)) => (digits(days)?, clock),
        None => (0, text.trim()),
    };
    let parts: Vec<&str> = clock.split(':').collect();
    let (hours, minutes, seconds) = match *parts.as_slice() {
        [hours, minutes, seconds] => (digits(hours)?, minutes, seconds),
        [minutes, seconds] => (0, minutes, seconds),
        _ => return None,
    };
    let ms = 86_400_000 * days + 3_600_000 * hours + 60_000 * digits(minutes)? + seconds_ms(seconds)?;
    (ms <= MOST_MS).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendars_are_read() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2017-10-07 01:11:28", Some(1_507_338_688_000)),
            ("2024-02-29T12:00", Some(1_709_208_000_000)),
            ("2024-02-29 12:00:00.25+01:30", Some(1_709_202_600_250)),
            ("2024-02-29T12:00:00.123456-0100", Some(1_709_211_600_123)),
            ("2000-03-01", Some(951_868_800_000)),
            ("1969-12-31 23:59:59", Some(-1000)),
            ("2023-02-29 00:00:00", None),
            ("2023-00-10 00:00:00", None),
            ("2023-01-10 24:00:00", None),
            ("2023-01-10 1:2:3:4", None),
            ("2023-01-10 1:2:é", None),
            ("2023-01-10 1:2:3.é", None),
            ("2023-01-10 1:2:3+é", None),
            ("Unknown", None),
            ("", None),
        ] {
            assert_eq!(calendar_ms(text), ms, "{text}");
        }
    }

    #[test]
    fn lengths_of_time_are_read() {
        for (text, ms) in [
            ("00:00:01", Some(1000)),
            ("2-03:04:05", Some(183_845_000)),
            ("05:07.250", Some(307_250)),
            ("1-2", None),
            ("x", None),
            ("-1:00:00", None),
        ] {
            assert_eq!(elapsed_ms(text), ms, "{text}");
        }
        assert_eq!(number_ms("1.5", Unit::Hours), Some(5_400_000));
        assert_eq!(number_ms("inf", Unit::Hours), None);
        assert_eq!(number_ms("NaN", Unit::Seconds), None);
        assert_eq!("min".parse(), Ok(Unit::Minutes));
        assert!("m".parse::<Unit>().is_err());
    }
}
