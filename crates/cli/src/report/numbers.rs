//! Numbers for people: times, ages, sizes, dates.

use std::time::{Duration, SystemTime};

/// `0.42 s`, `12.3 s`, `2m03s`, `1h05m`.
pub(crate) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.2} s", time.as_secs_f64()),
        10..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// How long ago, in the largest unit that fits.
pub(crate) fn age(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s ago"),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

/// `512 B`, `1.5 kB`, `23 MB`.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if number < 1000 {
        return format!("{number} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut scaled = number as f64 / 1000.0;
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    if scaled < 9.95 {
        format!("{scaled:.1} {}", UNITS[unit])
    } else {
        format!("{scaled:.0} {}", UNITS[unit])
    }
}

/// With thousands separators: `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in UTC, as in RFC 3339.
pub(crate) fn timestamp(moment: SystemTime) -> String {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (days, of_day) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3600, of_day % 3600 / 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// Year, month and day of a day counted from 1970, by counting eras of 400 years that begin on the first of March:
/// there the leap day comes last, and the beginnings of the months follow a linear formula.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_get_coarser_as_they_get_longer() {
        for (millis, expected) in
            [(0, "0.00 s"), (420, "0.42 s"), (12_340, "12.3 s"), (123_000, "2m03s"), (3_900_000, "1h05m")]
        {
            assert_eq!(seconds(Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn sizes_have_two_digits_or_three() {
        for (number, expected) in
            [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (23_000_000, "23 MB"), (999_999, "1.0 MB")]
        {
            assert_eq!(bytes(number), expected);
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), expected);
        }
    }

    #[test]
    fn dates_are_right_around_leap_days_and_new_years() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
