//! Walks a tree: entries in order, from the first to the one behind the slice.
//!
//! Each directory is opened relative to its parent and never through a symbolic link, so the walk ends and stays below
//! its root.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use crate::bounds::{LONGEST_LINE, Text};
use crate::file_context::FileContext;
use crate::words::{escaped, reason};

/// The range of entries to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) offset: u64,
    pub(super) limit: u64,
    pub(super) depth: u64,
}

/// A walk in progress.
pub(super) struct Walk<'a> {
    slice: Slice,
    surroundings: &'a FileContext<'a>,
    text: &'a mut Text,
    walked: Walked,
    /// The directories below the root that the walk is in, and whether each has been named in the output.
    trail: Vec<(String, bool)>,
}

/// The result of a walk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walked {
    /// How many entries were counted.
    pub(super) seen: u64,
    pub(super) shown: u64,
    /// How many entries the policy hid.
    pub(super) denied: u64,
    /// The entry at which the next page begins.
    pub(super) next: Option<u64>,
}

/// Whether the walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Going {
    On,
    Over,
}

impl<'a> Walk<'a> {
    pub(super) fn new(slice: Slice, surroundings: &'a FileContext<'a>, text: &'a mut Text) -> Self {
        Self { slice, surroundings, text, walked: Walked::default(), trail: Vec::new() }
    }

    /// Walks this directory, whose real path is given.
    pub(super) fn directory(&mut self, directory: &File, real: &Path) -> io::Result<()> {
        self.entries_of(directory, real).map(drop)
    }

    pub(super) fn finish(self) -> Walked {
        self.walked
    }

    fn entries_of(&mut self, directory: &File, real: &Path) -> io::Result<Going> {
        let entries = self.first_entries(directory, real)?;
        for entry in entries {
            if self.entry(&entry) == Going::Over {
                return Ok(Going::Over);
            }
            let deeper = (self.trail.len() as u64) + 1 < self.slice.depth;
            if entry.kind == FileType::Directory
                && deeper
                && self.below(directory, &entry, real) == Going::Over
            {
                return Ok(Going::Over);
            }
        }
        Ok(Going::On)
    }

    /// Walks a directory inside a directory.
    fn below(&mut self, directory: &File, entry: &Entry, real: &Path) -> Going {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(directory, &entry.name, flags, Mode::empty());
        let is_shown = self.walked.seen >= self.slice.offset;
        self.trail.push((escaped(&entry.name), is_shown));
        let walked = opened.map_err(io::Error::from);
        let walked = walked.and_then(|child| self.entries_of(&File::from(child), &real.join(&entry.name)));
        let going = walked.unwrap_or_else(|error| self.unreadable(&error));
        self.trail.pop();
        going
    }

    /// Counts an entry, and shows it if it is in the slice.
    fn entry(&mut self, entry: &Entry) -> Going {
        if (self.surroundings.stop)() {
            return Going::Over;
        }
        self.walked.seen += 1;
        if self.walked.seen < self.slice.offset {
            return Going::On;
        }
        let behind = self.walked.shown == self.slice.limit;
        if behind || !self.name_the_trail() || !self.line(self.trail.len(), &entry.shown()) {
            self.walked.next = Some(self.walked.seen);
            return Going::Over;
        }
        self.walked.shown += 1;
        Going::On
    }

    /// Names the parent directories that were listed on an earlier page, so that it is clear where this one begins.
    fn name_the_trail(&mut self) -> bool {
        for depth in 0..self.trail.len() {
            if !self.trail[depth].1 {
                let line = format!("{}/ (continued)", self.trail[depth].0);
                if !self.line(depth, &line) {
                    return false;
                }
                self.trail[depth].1 = true;
            }
        }
        true
    }

    fn unreadable(&mut self, error: &io::Error) -> Going {
        if self.walked.seen >= self.slice.offset {
            let _ = self.line(self.trail.len(), &format!("(cannot be listed: {})", reason(error)));
        }
        Going::On
    }

    fn line(&mut self, depth: usize, text: &str) -> bool {
        self.text.push(&format!("{}{text}", "  ".repeat(depth)))
    }

    /// The first entries of a directory in order: as many as the slice can still need. All entries are read, but few
    /// are kept.
    fn first_entries(&mut self, directory: &File, real: &Path) -> io::Result<Vec<Entry>> {
        let needed = (self.slice.offset.saturating_add(self.slice.limit)).saturating_sub(self.walked.seen);
        let mut first = BinaryHeap::new();
        for entry in Dir::read_from(directory)? {
            if (self.surroundings.stop)() {
                break;
            }
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if !self.surroundings.allows(&real.join(name)) {
                self.walked.denied += 1;
                continue;
            }
            first.push(Entry { name: name.to_owned(), kind: kind(directory, name, entry.file_type()) });
            if first.len() as u64 > needed {
                first.pop();
            }
        }
        Ok(first.into_sorted_vec())
    }
}

/// The kind of an entry. Some file systems do not store it in the directory.
fn kind(directory: &File, name: &OsStr, told: FileType) -> FileType {
    if told != FileType::Unknown {
        return told;
    }
    let status = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    status.map_or(told, |status| FileType::from_raw_mode(status.st_mode))
}

/// One entry of a directory.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    name: OsString,
    kind: FileType,
}

impl Entry {
    fn shown(&self) -> String {
        let suffix = match self.kind {
            FileType::Directory => "/",
            FileType::Symlink => "@",
            FileType::RegularFile => "",
            _ => "?",
        };
        let name = escaped(&self.name);
        match name.char_indices().nth(LONGEST_LINE) {
            Some((end, _)) => format!("{}…{suffix}", &name[..end]),
            None => name + suffix,
        }
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
