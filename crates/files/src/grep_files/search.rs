//! The search: two threads walk the tree and search files, each file until its first match.
//!
//! The policy judges a file by its real path once it is open, because a symbolic link may replace it during the walk.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fs::{Mode, OFlags};

use super::include::Include;
use super::newest::{Hit, Newest};
use super::pattern::Pattern;
use crate::file_context::FileContext;
use crate::opening;

/// How many threads walk and search.
const THREADS: usize = 2;
/// The longest line that is searched; a file with a longer one counts as unreadable.
const LONGEST_SEARCHED: usize = 32 << 20;

/// A search and its limits.
pub(super) struct Search<'a> {
    pub(super) pattern: &'a Pattern,
    include: &'a Include,
    surroundings: &'a FileContext<'a>,
    deadline: Instant,
}

/// The result of a search.
#[derive(Debug)]
pub(super) struct Searched {
    /// As many matching files as were wanted, newest first.
    pub(super) newest: Vec<Hit>,
    /// How many files match.
    pub(super) matching: u64,
    /// How many files were searched.
    pub(super) files: u64,
    pub(super) denied: u64,
    pub(super) unreadable: u64,
    pub(super) out_of_time: bool,
    /// Whether the search was for a single file, and that file is binary.
    pub(super) single_binary: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        pattern: &'a Pattern,
        include: &'a Include,
        surroundings: &'a FileContext<'a>,
        time: Duration,
    ) -> Self {
        Self { pattern, include, surroundings, deadline: Instant::now() + time }
    }

    /// The matching files below this real path, or the file itself if it matches.
    pub(super) fn files(&self, root: &Path, most: u64) -> Searched {
        let tally = SearchTotals::new(most);
        self.walk(root).build_parallel().run(|| {
            let mut searcher = searcher();
            let tally = &tally;
            Box::new(move |entry| match entry {
                Ok(entry) => self.visit(&entry, &mut searcher, tally),
                Err(error) => {
                    // A syntax error in a `.gitignore` arrives here too, but prevents nothing from being searched.
                    tally.unreadable.fetch_add(u64::from(error.is_io()), Ordering::Relaxed);
                    WalkState::Continue
                }
            })
        });
        tally.into_searched()
    }

    /// Whether there is time left and the caller still waits.
    pub(super) fn goes_on(&self) -> bool {
        !(self.surroundings.stop)() && Instant::now() < self.deadline
    }

    pub(super) fn out_of_time(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Opens a file that the walk found, if it may be read.
    pub(super) fn open(&self, path: &Path) -> Result<Opened<'_>, Unopened> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file =
            rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(|_| Unopened::Unreadable)?;
        let metadata = file.metadata().map_err(|_| Unopened::Unreadable)?;
        let real = opening::real_path(&file).map_err(|_| Unopened::Unreadable)?;
        // The walk began at a real path and follows no links, so another path or kind means that the file was just
        // replaced.
        if !metadata.is_file() || real != path {
            return Err(Unopened::Unreadable);
        }
        if !self.surroundings.allows(&real) {
            return Err(Unopened::Denied);
        }
        Ok(Opened { metadata, reader: SearchedFile { file, search: self } })
    }

    fn walk(&self, root: &Path) -> WalkBuilder {
        let mut builder = WalkBuilder::new(root);
        builder.threads(THREADS).current_dir(root).add_custom_ignore_filename(".rgignore");
        // The caller passes the user's global git excludes; the library would read the environment to find them.
        builder.git_global(GIT_GLOBAL);
        for excludes in self.surroundings.excludes {
            // After a fault in one of its patterns the others remain in force.
            let _ = builder.add_ignore(excludes);
        }
        builder
    }

    fn visit(&self, entry: &DirEntry, searcher: &mut Searcher, tally: &SearchTotals) -> WalkState {
        if !self.goes_on() {
            tally.ended(self);
            return WalkState::Quit;
        }
        let is_root = entry.depth() == 0;
        let kind = entry.file_type();
        if kind.is_some_and(|kind| kind.is_dir()) {
            return self.enter(entry.path(), tally, is_root);
        }
        if kind.is_some_and(|kind| kind.is_file()) && (is_root || self.include.takes_file(entry.path())) {
            self.look_into(entry, searcher, tally);
        }
        WalkState::Continue
    }

    fn enter(&self, directory: &Path, tally: &SearchTotals, is_root: bool) -> WalkState {
        if !self.surroundings.allows(directory) {
            tally.denied.fetch_add(1, Ordering::Relaxed);
            return WalkState::Skip;
        }
        if is_root || self.include.enters(directory) { WalkState::Continue } else { WalkState::Skip }
    }

    fn look_into(&self, entry: &DirEntry, searcher: &mut Searcher, tally: &SearchTotals) {
        let opened = match self.open(entry.path()) {
            Ok(opened) => opened,
            Err(Unopened::Denied) => return add_one(&tally.denied),
            Err(Unopened::Unreadable) => return add_one(&tally.unreadable),
        };
        let mut first = FirstMatch::default();
        match searcher.search_reader(&self.pattern.0, opened.reader, &mut first) {
            Ok(()) => add_one(&tally.files),
            Err(_) if !self.goes_on() => tally.ended(self),
            Err(_) => add_one(&tally.unreadable),
        }
        tally.single_binary.fetch_or(first.binary && entry.depth() == 0, Ordering::Relaxed);
        if first.matched {
            let modified = opened.metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            tally.hit(Hit::new(modified, entry.path().to_owned()));
        }
    }
}

/// Whether the library looks for the user's global git excludes by itself.
const GIT_GLOBAL: bool = false;

/// A searcher for files, with line numbers.
pub(super) fn searcher() -> Searcher {
    let mut builder = SearcherBuilder::new();
    builder.binary_detection(BinaryDetection::quit(0)).heap_limit(Some(LONGEST_SEARCHED));
    builder.line_terminator(grep_matcher::LineTerminator::crlf());
    builder.build()
}

/// An open file that may be searched.
pub(super) struct Opened<'a> {
    metadata: Metadata,
    pub(super) reader: SearchedFile<'a>,
}

/// The reason why a file is not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unopened {
    Denied,
    Unreadable,
}

/// A file that can be read while the search goes on: reading stops when the search does.
pub(super) struct SearchedFile<'a> {
    file: File,
    search: &'a Search<'a>,
}

impl Read for SearchedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.search.goes_on() { self.file.read(buffer) } else { Err(io::ErrorKind::TimedOut.into()) }
    }
}

/// Ends the search of a file at its first match.
#[derive(Debug, Default)]
struct FirstMatch {
    matched: bool,
    binary: bool,
}

impl Sink for FirstMatch {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.matched = true;
        Ok(!self.matched)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(!self.binary)
    }
}

/// The results of both threads so far.
#[derive(Debug)]
struct SearchTotals {
    newest: Mutex<Newest>,
    matching: AtomicU64,
    files: AtomicU64,
    denied: AtomicU64,
    unreadable: AtomicU64,
    out_of_time: AtomicBool,
    single_binary: AtomicBool,
}

impl SearchTotals {
    fn new(most: u64) -> Self {
        let [matching, files, denied, unreadable] = [(); 4].map(|()| AtomicU64::new(0));
        let [out_of_time, single_binary] = [(); 2].map(|()| AtomicBool::new(false));
        let newest = Mutex::new(Newest::new(most));
        Self { newest, matching, files, denied, unreadable, out_of_time, single_binary }
    }

    /// Records that the search stopped early, and whether its time was over.
    fn ended(&self, search: &Search<'_>) {
        self.out_of_time.fetch_or(search.out_of_time(), Ordering::Relaxed);
    }

    fn hit(&self, hit: Hit) {
        add_one(&self.matching);
        self.newest.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(hit);
    }

    fn into_searched(self) -> Searched {
        let newest = self.newest.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        Searched {
            newest: newest.into_list(),
            matching: self.matching.into_inner(),
            files: self.files.into_inner(),
            denied: self.denied.into_inner(),
            unreadable: self.unreadable.into_inner(),
            out_of_time: self.out_of_time.into_inner(),
            single_binary: self.single_binary.into_inner(),
        }
    }
}

fn add_one(number: &AtomicU64) {
    number.fetch_add(1, Ordering::Relaxed);
}
