//! From words on the command line to values; every error repeats the word that is wrong.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use windlass_output::{Offset, Pattern, Span};
use windlass_sys::pty::Size;

/// What `--env` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EnvironmentChange {
    /// `K=V`
    Set(OsString, OsString),
    /// `K`
    Remove(OsString),
}

/// `500ms`, `30s`, `2m`, `1h`; a plain number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let units: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let found = units.into_iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let (number, seconds) = found.unwrap_or((text, 1.0));
    let plain = number.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let amount = number.parse::<f64>().ok().filter(|_| plain);
    let time = amount.and_then(|amount| Duration::try_from_secs_f64(amount * seconds).ok());
    time.ok_or_else(|| format!("`{text}` is not a time: write 500ms, 30s, 2m, 1h or a number of seconds"))
}

/// `24x80`: rows, then columns.
pub(crate) fn size(text: &str) -> Result<Size, String> {
    let number = |digits: &str| digits.parse::<u16>().ok().filter(|number| *number > 0);
    let parts = text.split_once('x').and_then(|(rows, cols)| Some((number(rows)?, number(cols)?)));
    match parts {
        Some((rows, cols)) => Ok(Size { rows, cols }),
        None => Err(format!("`{text}` is not a size: write rows x columns, such as 24x80")),
    }
}

/// A regular expression.
pub(crate) fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::new(text).map_err(|error| error.to_string())
}

/// `100..200`, `100..` or `..200`.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    let number = |digits: &str, missing: u64| match digits.trim() {
        "" => Some(missing),
        digits => digits.parse().ok(),
    };
    let ends = text.split_once("..").and_then(|(from, to)| Some((number(from, 0)?, number(to, u64::MAX)?)));
    match ends.filter(|(from, to)| from <= to) {
        Some((from, to)) => Ok(Span::new(Offset::new(from), Offset::new(to))),
        None => Err(format!("`{text}` is not a span: write 100..200, 100.. or ..200")),
    }
}

/// A name that cannot be mistaken for a number or an option.
pub(crate) fn session_name(text: &str) -> Result<String, String> {
    let begins = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if begins && !text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is not a name: begin with a letter and use no spaces"))
}

/// `K=V`, `K=` or `K`. Values may be any bytes.
pub(crate) fn environment_change() -> impl TypedValueParser<Value = EnvironmentChange> {
    OsStringValueParser::new().try_map(|text| split_change(&text))
}

fn split_change(text: &OsStr) -> Result<EnvironmentChange, String> {
    let bytes = text.as_bytes();
    let owned = |part: &[u8]| OsString::from_vec(part.to_vec());
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(0) => Err(format!("`{}` has no name before the =", text.display())),
        None if bytes.is_empty() => Err("the name of the variable is empty".to_owned()),
        Some(at) => Ok(EnvironmentChange::Set(owned(&bytes[..at]), owned(&bytes[at + 1..]))),
        None => Ok(EnvironmentChange::Remove(owned(bytes))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        for (text, millis) in
            [("500ms", 500), ("30s", 30_000), ("2m", 120_000), ("1h", 3_600_000), ("0.5", 500), ("7", 7_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "1d", "five", "inf", "nan", "1e400s", "+1"] {
            assert!(duration(text).is_err_and(|error| error.contains(&format!("`{text}`"))), "{text}");
        }
    }

    #[test]
    fn sizes_are_rows_and_columns() {
        assert_eq!(size("50x132"), Ok(Size { rows: 50, cols: 132 }));
        for text in ["", "24", "0x80", "24x", "axb", "24x80x2", "70000x1"] {
            assert!(size(text).is_err_and(|error| error.contains(&format!("`{text}`"))), "{text}");
        }
    }

    #[test]
    fn spans_may_be_open_at_either_end() {
        let check = |text: &str, from: u64, to: u64| {
            assert_eq!(span(text), Ok(Span::new(Offset::new(from), Offset::new(to))), "{text}");
        };
        check("3..7", 3, 7);
        check("3..", 3, u64::MAX);
        check("..7", 0, 7);
        for text in ["", "3", "7..3", "a..b", "-1..2"] {
            assert!(span(text).is_err_and(|error| error.contains(&format!("`{text}`"))), "{text}");
        }
    }

    #[test]
    fn variables_are_set_emptied_or_removed() {
        let set = |name: &str, value: &str| Ok(EnvironmentChange::Set(name.into(), value.into()));
        assert_eq!(split_change(OsStr::new("A=b=c")), set("A", "b=c"));
        assert_eq!(split_change(OsStr::new("A=")), set("A", ""));
        assert_eq!(split_change(OsStr::new("A")), Ok(EnvironmentChange::Remove("A".into())));
        assert!(split_change(OsStr::new("=x")).is_err());
        assert!(split_change(OsStr::new("")).is_err());
    }

    #[test]
    fn a_name_is_no_number_and_no_option() {
        for name in ["web", "_x", "build-2", "élan"] {
            assert_eq!(session_name(name), Ok(name.to_owned()));
        }
        for name in ["", "1001", "-v", "a b", "a\n"] {
            assert!(session_name(name).is_err(), "{name:?}");
        }
    }
}
