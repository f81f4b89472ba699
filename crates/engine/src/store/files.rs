//! Recognises Windlass's own files in the state directory by their names. Files with other names are never touched.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use crate::SessionId;
use crate::journal::SegmentFile;

/// A file that belongs to sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnFile {
    /// A ledger, by the first number it may hold.
    Record(SessionId),
    Segment(SegmentFile),
    /// A request of another process to end this session.
    StopRequest(SessionId),
}

impl OwnFile {
    pub(super) fn id(self) -> SessionId {
        match self {
            Self::Record(id) | Self::StopRequest(id) => id,
            Self::Segment(segment) => segment.id,
        }
    }

    /// The first number, if this is a ledger.
    pub(super) fn recorded(self) -> Option<SessionId> {
        match self {
            Self::Record(id) => Some(id),
            Self::Segment(_) | Self::StopRequest(_) => None,
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        let numbered = |stem: &str| stem.parse().ok().map(SessionId::new);
        let own = match name.rsplit_once('.')? {
            (stem, "rec") => Self::Record(numbered(stem)?),
            (stem, "stop") => Self::StopRequest(numbered(stem)?),
            _ => return SegmentFile::parse(name).map(Self::Segment),
        };
        (own.to_string() == name).then_some(own)
    }
}

impl fmt::Display for OwnFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(id) => write!(f, "{id}.rec"),
            Self::StopRequest(id) => write!(f, "{id}.stop"),
            Self::Segment(segment) => segment.fmt(f),
        }
    }
}

/// Windlass's own files in the directory, in no order.
pub(super) fn own_files(root: &Path) -> io::Result<Vec<OwnFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root)? {
        files.extend(entry?.file_name().to_str().and_then(OwnFile::parse));
    }
    Ok(files)
}
