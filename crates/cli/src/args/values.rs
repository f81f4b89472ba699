//! From words on the command line to values; every error repeats the word that is wrong.

use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use windlass_engine::{Amount, Resource, UnknownResource};
use windlass_output::{Offset, Pattern, Span};
use windlass_sys::pty::Size;

use super::limits::Total;

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

/// `512M`, `2G`, `64KiB`: powers of two; a plain number is bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size: write 512K, 100M, 2G or a number of bytes");
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.strip_suffix("iB").unwrap_or(unit).to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" => 10,
        "M" | "MB" => 20,
        "G" | "GB" => 30,
        "T" | "TB" => 40,
        _ => return Err(wrong()),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    // A part of a byte is none.
    let tenths = if part.is_empty() { 0 } else { part.parse::<u64>().map_err(|_| wrong())? };
    let scale =
        u32::try_from(part.len()).ok().and_then(|digits| 10_u64.checked_pow(digits)).ok_or_else(wrong)?;
    let whole = whole.checked_mul(1 << shift).ok_or_else(wrong)?;
    let part = u128::from(tenths) * (1_u128 << shift) / u128::from(scale);
    let sum = whole.checked_add(u64::try_from(part).map_err(|_| wrong())?).ok_or_else(wrong)?;
    if sum == 0 { Err(format!("`{text}` allows nothing at all")) } else { Ok(sum) }
}

/// Below this no program starts: the kernel counts the pages of the program itself, and of what confines it.
const LEAST_MEMORY: u64 = 1 << 20;

/// A size of memory in which a program can run.
pub(crate) fn memory(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        ..LEAST_MEMORY => Err(format!("`{text}` of memory is too little for any program: the least is 1M")),
        bytes => Ok(bytes),
    }
}

/// An address to serve on: `127.0.0.1:8787`, `[::1]:8787`, `localhost:8787`, or a port of the loopback address.
pub(crate) fn http_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    match (text.parse(), port.parse()) {
        (Ok(address), _) => Ok(address),
        (Err(_), Ok(port)) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        (Err(_), Err(_)) => Err(format!(
            "`{text}` is not an address: write 127.0.0.1:8787, [::1]:8787, localhost:8787 or a port"
        )),
    }
}

/// A number that allows something.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err(format!("`{text}` allows nothing at all")),
        Ok(count) => Ok(count),
        Err(_) => Err(format!("`{text}` is not a number")),
    }
}

/// `memory=8G`, `processes=500`, `cpu-time=10m`, or `none`.
pub(crate) fn total(text: &str) -> Result<Total, String> {
    if text == "none" {
        return Ok(Total::None);
    }
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("`{text}` is not a limit: write NAME=VALUE, such as memory=8G, or none"));
    };
    let resource: Resource = name.parse().map_err(|error: UnknownResource| error.to_string())?;
    let amount = match resource {
        Resource::Processes | Resource::OpenFiles => Amount(count(value)?),
        Resource::CpuTime => duration(value)?.into(),
        Resource::Memory => Amount(memory(value)?),
        Resource::Output | Resource::OutputRate | Resource::Disk => Amount(bytes(value)?),
    };
    Ok(Total::Of(resource, amount))
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
    fn sizes_have_units_of_powers_of_two_or_are_bytes() {
        for (text, expected) in [
            ("1", 1),
            ("100B", 100),
            ("512K", 512 << 10),
            ("512MiB", 512 << 20),
            ("2g", 2 << 30),
            ("1.5G", 3 << 29),
            ("0.25M", 1 << 18),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in
            ["", "M", "-1", "1X", "0", "0.0M", "1..5M", "99999999999T", "1e3", "1.99999999999999999999M"]
        {
            assert!(bytes(text).is_err_and(|error| error.contains(&format!("`{text}`"))), "{text}");
        }
    }

    #[test]
    fn limits_of_all_together_have_a_name_and_a_value() {
        let memory = Total::Of(Resource::Memory, Amount(8 << 30));
        let time = Total::Of(Resource::CpuTime, Amount(60_000_000_000));
        for (text, expected) in [("memory=8G", memory), ("cpu-time=1m", time), ("none", Total::None)] {
            assert_eq!(total(text), Ok(expected));
        }
        for text in ["memory", "ram=1G", "memory=lots", "processes=0", "=", ""] {
            assert!(total(text).is_err(), "{text}");
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
