//! Ids of threads.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::rand::{GetRandomFlags, getrandom};

/// The id of a thread: a UUID of version 7, so ids sort by the time at which they were made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(String);

impl ThreadId {
    /// A new id.
    pub fn new(now: SystemTime) -> Self {
        let mut random = [0_u8; 10];
        // `getrandom` cannot fail once the machine has booted. Before that, the time alone must make the id unique.
        let _ = getrandom(&mut random, GetRandomFlags::empty());
        let milliseconds = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_millis() as u64;
        Self(format_uuid(milliseconds, random))
    }

    /// Parses an id.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let well_formed = text.len() == 36
            && text.bytes().enumerate().all(|(place, byte)| match place {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            });
        well_formed.then_some(Self(text))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn format_uuid(milliseconds: u64, random: [u8; 10]) -> String {
    let mut bytes = [0_u8; 16];
    bytes[..6].copy_from_slice(&milliseconds.to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&random);
    bytes[6] = bytes[6] & 0x0f | 0x70;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_their_version_and_sort_by_time() {
        let early = format_uuid(1_700_000_000_000, [0xff; 10]);
        assert_eq!(early, "018bcfe5-6800-7fff-bfff-ffffffffffff");
        assert!(early < format_uuid(1_700_000_000_001, [0; 10]));
        assert_eq!(ThreadId::parse(&early.to_uppercase()).unwrap().as_str(), early);
        for bad in
            ["", "018bcfe5", "018bcfe5-6800-7fff-bfff-fffffffffffg", "018bcfe5+6800-7fff-bfff-ffffffffffff"]
        {
            assert_eq!(ThreadId::parse(bad), None, "{bad}");
        }
    }
}
