//! The files of one journal that its runtime has open. They show how much was written to each, also after another
//! process truncated it, and they lead to files that were removed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use windlass_output::Offset;
use windlass_sys::held_files::{HeldFile, held_in};
use windlass_sys::process::Pid;

use super::file::Unlinked;
use super::format::{SegmentFile, SegmentPart};
use super::segments::SegmentPaths;
use crate::{Presence, ProcessKey, regular_file};

/// The open files that were found at a runtime.
#[derive(Default)]
pub(super) struct RuntimeFiles {
    /// How many bytes were written to each segment that is open.
    written: Vec<(Offset, u64)>,
    /// The segments without a name, open.
    pub(super) unlinked: Vec<Unlinked>,
    /// Whether the look failed: a runtime hides its descriptors from ordinary users.
    pub(super) is_refused: bool,
}

impl RuntimeFiles {
    /// Looks at the files of a journal. A runtime that is dead, or in another pid namespace, shows none.
    pub(super) fn look(runtime: ProcessKey, place: &SegmentPaths) -> Self {
        if !matches!(runtime.presence(), Presence::Alive(_)) {
            return Self::default();
        }
        match held_in(Pid::new(runtime.pid), &place.dir) {
            Ok(files) => Self::of(files, place),
            Err(_) => Self { is_refused: true, ..Self::default() },
        }
    }

    fn of(files: Vec<HeldFile>, place: &SegmentPaths) -> Self {
        let named = files.into_iter().filter_map(|file| Some((segment_of(&file.path, place)?, file)));
        let (data, index): (Vec<_>, Vec<_>) =
            named.partition(|(segment, _)| segment.part == SegmentPart::Data);
        let mut found = Self::default();
        for (segment, file) in data {
            found.written.push((segment.start, file.position));
            if file.is_removed
                && let Ok(data) = file.open()
            {
                let index = index.iter().find(|(other, _)| other.start == segment.start);
                let index = open_index(index.map(|(_, file)| file), place, segment.start);
                found.unlinked.extend(index.map(|index| Unlinked::new(segment.start, Arc::new(data), index)));
            }
        }
        found
    }

    /// How many bytes the runtime wrote to a segment, as far as is known.
    pub(super) fn written(&self, start: Offset) -> u64 {
        let found = self.written.iter().find(|(segment, _)| *segment == start);
        found.map_or(0, |(_, written)| *written)
    }

    /// How many bytes a segment without a name has.
    pub(super) fn len(&self, start: Offset) -> Option<u64> {
        self.unlinked.iter().find(|unlinked| unlinked.start() == start)?.len().ok()
    }
}

/// Without an index the bytes are still there.
fn open_index(held: Option<&HeldFile>, place: &SegmentPaths, start: Offset) -> io::Result<Arc<File>> {
    let by_name = || regular_file::read(&place.path(start, SegmentPart::Index));
    let held = held.map_or_else(by_name, HeldFile::open);
    held.or_else(|_| File::open("/dev/null")).map(Arc::new)
}

fn segment_of(path: &Path, place: &SegmentPaths) -> Option<SegmentFile> {
    SegmentFile::parse(path.file_name()?.to_str()?).filter(|segment| segment.id == place.id)
}
