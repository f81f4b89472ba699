//! Known output: programs print a file that the client knows, several times over, so that a gigabyte can be compared
//! byte by byte and needs neither a hash nor the gigabyte.

use super::dialect::Io;
use crate::beside::RowContext;
use anyhow::{Result, ensure};
use std::path::PathBuf;
use windlass_testkit::bytes::Noise;

/// A file of known bytes, and how often it is printed.
#[derive(Debug)]
pub(super) struct Known {
    path: PathBuf,
    /// As it arrives; a terminal has carriage returns before its newlines.
    bytes: Vec<u8>,
    times: usize,
    printer: Printer,
}

/// The program that prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Printer {
    /// A program that writes as much as it can at a time.
    AtOnce,
    /// One that writes a line at a time, as most do on a terminal.
    ByLine,
}

/// How much of it has arrived.
#[derive(Debug)]
pub(super) struct Check<'a> {
    known: &'a Known,
    /// In the current copy.
    place: usize,
    total: usize,
}

impl Known {
    /// Any bytes for pipes, lines of text for terminals, which would act upon some bytes.
    pub(super) fn write(around: &RowContext, io: Io, (length, times): (usize, usize)) -> Result<Self> {
        let mut bytes = match io {
            Io::Terminal => text(length),
            Io::Output | Io::Pipes => noise(length),
        };
        let path = around.folder()?.join("known");
        std::fs::write(&path, &bytes)?;
        if io == Io::Terminal {
            bytes = bytes.split_inclusive(|byte| *byte == b'\n').flat_map(as_shown).copied().collect();
        }
        Ok(Self { path, bytes, times, printer: Printer::AtOnce })
    }

    pub(super) fn printed_by(self, printer: Printer) -> Self {
        Self { printer, ..self }
    }

    /// The program that prints it.
    pub(super) fn argv(&self) -> Vec<&str> {
        let path = self.path.to_str().unwrap_or_default();
        let printer: &[&str] = match self.printer {
            Printer::AtOnce => &["/bin/cat"],
            Printer::ByLine => &["/usr/bin/awk", "{ print; fflush() }"],
        };
        printer.iter().copied().chain(std::iter::repeat_n(path, self.times)).collect()
    }

    pub(super) fn check(&self) -> Check<'_> {
        Check { known: self, place: 0, total: 0 }
    }
}

impl Check<'_> {
    /// Fails if these are not the bytes that come next.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.total += bytes.len();
        while !bytes.is_empty() {
            let left = &self.known.bytes[self.place..];
            let count = left.len().min(bytes.len());
            ensure!(left[..count] == bytes[..count], "other bytes came before {}", self.total);
            bytes = &bytes[count..];
            self.place = (self.place + count) % self.known.bytes.len();
        }
        Ok(())
    }

    /// How many bytes it was; fails if it was not all.
    pub(super) fn end(self) -> Result<usize> {
        let expected = self.known.bytes.len() * self.known.times;
        ensure!(self.total == expected, "{} of {expected} bytes came", self.total);
        Ok(self.total)
    }
}

fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Noise::new(length as u64).fill(&mut bytes);
    bytes
}

/// Lines of 64 bytes, all different.
fn text(length: usize) -> Vec<u8> {
    (0..length / 64).flat_map(|number| format!("{number:-<63}\n").into_bytes()).collect()
}

fn as_shown(line: &[u8]) -> impl Iterator<Item = &u8> {
    let (newline, text) = line.split_last().unwrap_or((&b'\n', &[]));
    text.iter().chain([&b'\r', newline])
}
