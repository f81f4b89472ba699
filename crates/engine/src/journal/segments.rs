//! The spans of a session's output that have files, and the paths of those files. Metadata only: it opens nothing.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_output::{Offset, Span};

use super::format::{SegmentFile, SegmentPart};
use crate::SessionId;

/// One segment: where it starts and how many bytes of output it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start: Offset,
    pub(crate) len: u64,
    /// Disk space it takes, its index included; known to the writer only.
    pub(crate) cost: u64,
}

impl Segment {
    pub(crate) fn end(&self) -> Offset {
        self.start + self.len
    }

    pub(crate) fn span(&self) -> Span {
        Span::new(self.start, self.end())
    }
}

/// A directory, identified independently of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryId {
    device: u64,
    inode: u64,
}

impl DirectoryId {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// The directory and the session: all that is needed to name a segment's files.
#[derive(Clone, Debug)]
pub(crate) struct SegmentPaths {
    pub(crate) dir: Arc<Path>,
    pub(crate) id: SessionId,
    /// The directory in which the session's number is this session's.
    pub(crate) home: Option<DirectoryId>,
}

impl SegmentPaths {
    pub(crate) fn path(&self, start: Offset, part: SegmentPart) -> PathBuf {
        self.dir.join(SegmentFile { id: self.id, start, part }.to_string())
    }

    /// Whether files can be created in the directory, as far as a look at it shows.
    pub(crate) fn is_there(&self) -> bool {
        self.check_home().is_ok() && self.dir.is_dir()
    }

    /// Checks that the directory is still the same. In one that was made anew, another session may have this number.
    pub(crate) fn check_home(&self) -> Result<(), String> {
        let Some(home) = self.home else { return Ok(()) };
        match DirectoryId::of(&self.dir) {
            Ok(found) if found == home => Ok(()),
            Ok(_) => {
                Err(format!("the state directory {} was replaced while the session ran", self.dir.display()))
            }
            Err(error) => Err(format!("the state directory {}: {error}", self.dir.display())),
        }
    }
}

/// The result of looking up an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentLookup {
    In(Segment),
    /// Nothing until the next segment, or at all.
    Gap {
        next: Option<Offset>,
    },
}

/// The kept segments, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    list: VecDeque<Segment>,
}

impl Segments {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Segment> {
        self.list.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn start_of(&self, index: usize) -> Option<Offset> {
        self.list.get(index).map(|segment| segment.start)
    }

    pub(crate) fn last(&self) -> Option<&Segment> {
        self.list.back()
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut Segment> {
        self.list.back_mut()
    }

    /// Shortens a segment to so many bytes. Returns the span of the others; `None` if there are none.
    pub(crate) fn shorten(&mut self, start: Offset, len: u64) -> Option<Span> {
        let index = self.list.binary_search_by_key(&start, |segment| segment.start).ok()?;
        let segment = self.list.get_mut(index).filter(|segment| len < segment.len)?;
        let lost = Span::new(start + len, segment.end());
        segment.len = len;
        Some(lost)
    }

    pub(crate) fn push(&mut self, segment: Segment) {
        self.list.push_back(segment);
    }

    pub(crate) fn forget(&mut self, start: Offset) {
        self.list.retain(|segment| segment.start != start);
    }

    pub(crate) fn contains(&self, start: Offset) -> bool {
        self.list.binary_search_by_key(&start, |segment| segment.start).is_ok()
    }

    /// Disk space taken by all of them.
    pub(crate) fn cost(&self) -> u64 {
        self.list.iter().map(|segment| segment.cost).sum()
    }

    pub(crate) fn find(&self, at: Offset) -> SegmentLookup {
        let after = self.list.partition_point(|segment| segment.start <= at);
        match after.checked_sub(1).map(|index| self.list[index]) {
            Some(segment) if at < segment.end() => SegmentLookup::In(segment),
            _ => SegmentLookup::Gap { next: self.list.get(after).map(|segment| segment.start) },
        }
    }
}

impl FromIterator<Segment> for Segments {
    fn from_iter<I: IntoIterator<Item = Segment>>(segments: I) -> Self {
        Self { list: segments.into_iter().collect() }
    }
}
