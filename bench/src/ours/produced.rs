//! The expected output of the producer, so that it can be compared byte by byte: see `produce` in the bare program.

use anyhow::{Result, ensure};
use std::ops::Range;
use windlass_engine::{Journal, JournalPiece};
use windlass_output::{Offset, Span};

/// The producer's output as it arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Produced {
    /// The number of bytes that the producer prints.
    pub(super) bytes: u64,
    pub(super) newline: Newline,
}

/// How the end of a line arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newline {
    /// As it was written.
    AsIs,
    /// As a terminal makes it: carriage return and newline.
    Returned,
}

const LINE: usize = 64;
const BLOCK: usize = 4096;
const STAMP: Range<usize> = 0..16;

impl Produced {
    /// How many bytes arrive.
    pub(super) fn arriving(self) -> u64 {
        match self.newline {
            Newline::AsIs => self.bytes,
            Newline::Returned => self.bytes + self.bytes / LINE as u64,
        }
    }

    /// Every byte is in the journal or, beyond retention, in its account; those in the journal are the right ones.
    pub(super) fn ensure_kept_by(self, journal: &Journal) -> Result<()> {
        let account = journal.account();
        ensure!(account.end.get() == self.arriving(), "{} of {} bytes", account.end, self.arriving());
        ensure!(account.degraded.is_none(), "the disk refused: {:?}", account.degraded);
        let mut next = Offset::ZERO;
        let mut dropped = 0;
        while next < account.end {
            let reading = journal.read(Span::new(next, account.end), 1 << 20);
            for piece in reading.pieces {
                match piece {
                    JournalPiece::Bytes { span, bytes, .. } => self.ensure_right(span.from(), &bytes)?,
                    JournalPiece::Dropped { span } => dropped += span.len(),
                    other => anyhow::bail!("unexpected in the journal: {other:?}"),
                }
            }
            next = reading.next;
        }
        ensure!(dropped == account.dropped, "{dropped} bytes dropped, {} accounted for", account.dropped);
        Ok(())
    }

    fn ensure_right(self, from: Offset, bytes: &[u8]) -> Result<()> {
        let template = self.block();
        let size = template.len() as u64;
        let mut position = from.get();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (number, within) = (position / size, (position % size) as usize);
            let mut block = template.clone();
            block[STAMP].copy_from_slice(format!("{number:016x}").as_bytes());
            let count = rest.len().min(block.len() - within);
            ensure!(rest[..count] == block[within..within + count], "wrong bytes at {position}");
            position += count as u64;
            rest = &rest[count..];
        }
        Ok(())
    }

    /// One block as it arrives, before its number is written into it.
    fn block(self) -> Vec<u8> {
        let mut block = Vec::new();
        for at in 0..BLOCK {
            match (at % LINE, self.newline) {
                (place, Newline::Returned) if place == LINE - 1 => block.extend(b"\r\n"),
                (place, Newline::AsIs) if place == LINE - 1 => block.push(b'\n'),
                (place, _) => block.push(b"abcdefghijklmnopqrstuvwxyz"[place % 26]),
            }
        }
        block
    }
}
