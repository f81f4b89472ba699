//! The journal's files, byte by byte. Pure: nothing here opens a file.
//!
//! A segment is two files in the state directory, named after the session and the offset of the segment's first byte:
//!
//! ```text
//! 1001-0000000000000000.out   the bytes as they were printed and nothing else: `cat 1001-*.out` is the output
//! 1001-0000000000000000.idx   their streams and times: one header, then records; all numbers little-endian
//!
//! header, 48 bytes             record, 24 bytes
//!   0  magic "windlass"          0  offset of the first byte it describes, u64
//!   8  version, u32              8  nanoseconds since the session began, u64
//!  12  check of the rest, u32   16  stream: 1 stdout, 2 stderr, 3 terminal, u8
//!  16  start offset, u64        17  zero
//!  24  stdout bytes before, u64 20  check of bytes 0..20, u32
//!  32  stderr bytes before, u64
//!  40  terminal bytes before, u64
//! ```
//!
//! A record describes every byte up to the next record. It is written *before* its first byte, so that a reader that
//! sees a byte always finds its stream; readers ignore a record without bytes. A closed segment ends with such a
//! record: data that ends before the offset in it was truncated. A record that is torn, fails its check or does not
//! move forward ends the index: the bytes after it belong to the last good record, and bytes before any good record
//! read as standard output at time zero.

use std::fmt;
use std::time::Duration;

use windlass_output::Offset;

use super::Stream;
use crate::{SessionId, StreamBytes};

pub(crate) const VERSION: u32 = 1;
pub(crate) const HEADER_LEN: usize = 48;
pub(crate) const RECORD_LEN: usize = 24;

const MAGIC: [u8; 8] = *b"windlass";
const CHECKED_RECORD_LEN: usize = 20;
const CHECKED_HEADER_FROM: usize = 16;

/// The header of an index: where its segment starts, and how much was printed before it, even if long deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) start: Offset,
    pub(crate) before: StreamBytes,
}

/// The result of parsing the first bytes of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFound {
    Good(Header),
    /// Torn, damaged or not an index; the data beside it is still readable.
    Damaged,
    /// Written by a later Windlass.
    Unknown {
        version: u32,
    },
}

impl Header {
    pub(crate) fn encode(self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[16..24].copy_from_slice(&self.start.get().to_le_bytes());
        out[24..32].copy_from_slice(&self.before.stdout.to_le_bytes());
        out[32..40].copy_from_slice(&self.before.stderr.to_le_bytes());
        out[40..48].copy_from_slice(&self.before.terminal.to_le_bytes());
        let check = check(&out[CHECKED_HEADER_FROM..]);
        out[12..16].copy_from_slice(&check.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> HeaderFound {
        let Some(bytes) = bytes.first_chunk::<HEADER_LEN>() else {
            return HeaderFound::Damaged;
        };
        if bytes[..8] != MAGIC {
            return HeaderFound::Damaged;
        }
        let version = u32_at(bytes, 8);
        if version > VERSION {
            return HeaderFound::Unknown { version };
        }
        if version == 0 || u32_at(bytes, 12) != check(&bytes[CHECKED_HEADER_FROM..]) {
            return HeaderFound::Damaged;
        }
        HeaderFound::Good(Self {
            start: Offset::new(u64_at(bytes, 16)),
            before: StreamBytes {
                stdout: u64_at(bytes, 24),
                stderr: u64_at(bytes, 32),
                terminal: u64_at(bytes, 40),
            },
        })
    }
}

/// The stream that printed the bytes from `offset` on, and the time when the first of them arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) offset: Offset,
    pub(crate) at: Duration,
    pub(crate) stream: Stream,
}

impl Record {
    /// The stream and time that are assumed of bytes without a record.
    pub(crate) const UNKNOWN: Self =
        Self { offset: Offset::ZERO, at: Duration::ZERO, stream: Stream::Stdout };

    pub(crate) fn encode(self) -> [u8; RECORD_LEN] {
        let nanos = u64::try_from(self.at.as_nanos()).unwrap_or(u64::MAX);
        let mut out = [0; RECORD_LEN];
        out[..8].copy_from_slice(&self.offset.get().to_le_bytes());
        out[8..16].copy_from_slice(&nanos.to_le_bytes());
        out[16] = code(self.stream);
        let check = check(&out[..CHECKED_RECORD_LEN]);
        out[20..].copy_from_slice(&check.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.first_chunk::<RECORD_LEN>()?;
        if u32_at(bytes, 20) != check(&bytes[..CHECKED_RECORD_LEN]) {
            return None;
        }
        Some(Self {
            offset: Offset::new(u64_at(bytes, 0)),
            at: Duration::from_nanos(u64_at(bytes, 8)),
            stream: stream(bytes[16])?,
        })
    }
}

/// One of a segment's two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentPart {
    Data,
    Index,
}

/// The name of one file of one segment. Padded, so that the shell's `*` lists a session's files in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentFile {
    pub(crate) id: SessionId,
    pub(crate) start: Offset,
    pub(crate) part: SegmentPart,
}

impl fmt::Display for SegmentFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extension = match self.part {
            SegmentPart::Data => "out",
            SegmentPart::Index => "idx",
        };
        write!(f, "{}-{:016}.{extension}", self.id, self.start.get())
    }
}

impl SegmentFile {
    /// Parses a file name. Only names that `Display` would write count: all others are not journal files.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (stem, extension) = name.rsplit_once('.')?;
        let part = match extension {
            "out" => SegmentPart::Data,
            "idx" => SegmentPart::Index,
            _ => return None,
        };
        let (id, start) = stem.split_once('-')?;
        let file =
            Self { id: SessionId::new(id.parse().ok()?), start: Offset::new(start.parse().ok()?), part };
        (file.to_string() == name).then_some(file)
    }
}

fn code(stream: Stream) -> u8 {
    match stream {
        Stream::Stdout => 1,
        Stream::Stderr => 2,
        Stream::Terminal => 3,
    }
}

fn stream(code: u8) -> Option<Stream> {
    match code {
        1 => Some(Stream::Stdout),
        2 => Some(Stream::Stderr),
        3 => Some(Stream::Terminal),
        _ => None,
    }
}

/// FNV-1a. It only has to notice a torn write and the zeros a file system leaves after a power cut.
fn check(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record { offset: Offset::new(77), at: Duration::from_nanos(1_234_567), stream: Stream::Stderr }
    }

    #[test]
    fn a_record_reads_back_as_written() {
        assert_eq!(Record::decode(&record().encode()), Some(record()));
    }

    #[test]
    fn a_record_with_any_byte_changed_is_refused() {
        for at in 0..RECORD_LEN {
            let mut bytes = record().encode();
            bytes[at] ^= 0x40;
            assert_eq!(Record::decode(&bytes), None, "byte {at}");
        }
        assert_eq!(Record::decode(&[0; RECORD_LEN]), None);
    }

    #[test]
    fn a_header_reads_back_as_written_and_a_later_version_is_named() {
        let header =
            Header { start: Offset::new(9), before: StreamBytes { stdout: 4, stderr: 3, terminal: 2 } };
        let mut bytes = header.encode();
        assert_eq!(Header::decode(&bytes), HeaderFound::Good(header));
        bytes[8] = 9;
        assert_eq!(Header::decode(&bytes), HeaderFound::Unknown { version: 9 });
        assert_eq!(Header::decode(&bytes[..HEADER_LEN - 1]), HeaderFound::Damaged);
    }

    #[test]
    fn only_names_we_would_write_are_ours() {
        let file =
            SegmentFile { id: SessionId::new(1001), start: Offset::new(65536), part: SegmentPart::Data };
        assert_eq!(file.to_string(), "1001-0000000000065536.out");
        assert_eq!(SegmentFile::parse(&file.to_string()), Some(file));
        for foreign in
            ["1001-65536.out", "+1001-0000000000065536.out", "1001-0000000000065536.txt", "a.out", ".out"]
        {
            assert_eq!(SegmentFile::parse(foreign), None, "{foreign}");
        }
    }
}
