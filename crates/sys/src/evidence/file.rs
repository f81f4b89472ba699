//! Files of `/proc`, read without allocating: a look may happen thousands of times a second.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fmt;
use std::io::Write;

/// The path of a small file below `/proc`.
pub(super) struct ProcPath {
    bytes: [u8; Self::LONGEST],
    length: usize,
}

impl ProcPath {
    /// `/proc/`, three numbers and two words fit several times.
    const LONGEST: usize = 96;

    /// Writes the path down; one that is too long becomes a path that does not exist.
    pub(super) fn new(path: fmt::Arguments<'_>) -> Self {
        let mut bytes = [0; Self::LONGEST];
        let mut rest = &mut bytes[..];
        let _ = rest.write_fmt(path);
        let length = Self::LONGEST - rest.len();
        Self { bytes, length }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A small file as it was at one moment.
pub(super) struct Small<const SIZE: usize> {
    bytes: [u8; SIZE],
    length: usize,
}

impl<const SIZE: usize> Small<SIZE> {
    /// Reads the first `SIZE` bytes in one call, which is how the kernel gives a consistent picture.
    pub(super) fn read(path: fmt::Arguments<'_>) -> Result<Self, Errno> {
        let file = open(ProcPath::new(path).bytes(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut bytes = [0; SIZE];
        let length = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut bytes))?;
        Ok(Self { bytes, length })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A number in decimal; `None` for anything else.
pub(super) fn decimal<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// A number in hexadecimal, with or without `0x`.
pub(super) fn hexadecimal(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"0x").unwrap_or(word);
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}
