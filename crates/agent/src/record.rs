//! Thread files: one line of JSON for everything that must survive, appended and never changed. A line that was cut off
//! by a crash is skipped when the file is read, and truncated before more is written.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_llm::{Item, Usage};

use crate::history::{HistoryEntry, ItemOrigin};
use crate::thread::ThreadId;

/// The version of the format. A file of a newer version is rejected with an error that names its version.
const VERSION: u32 = 1;

/// The facts about a thread, from the first line of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadFacts {
    /// Its id.
    pub id: String,
    /// When it began, in seconds since 1970.
    #[serde(default)]
    pub began: u64,
    /// Its working directory.
    #[serde(default)]
    pub directory: PathBuf,
    /// The model with which it began.
    #[serde(default)]
    pub model: String,
    /// The reasoning effort, if one was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The agent that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The thread it is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// Its nickname in its team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
    /// Its role in its team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The number of agents above it.
    #[serde(default)]
    pub depth: u32,
}

/// A line of a thread file, for writing. Items are written separately, in their own bytes.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Thread {
        version: u32,
        #[serde(flatten)]
        facts: &'a ThreadFacts,
    },
    /// The entries that follow replace the conversation.
    Compacted {
        items: usize,
    },
    Usage {
        input: u64,
        cached: u64,
        cache_written: u64,
        output: u64,
        reasoning: u64,
    },
    /// How a turn ended, for people who read the file.
    Turn {
        ended: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
    },
}

/// A line of a thread file, for reading: its type, and the fields of all types.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RecordLine<'a> {
    #[serde(rename = "type")]
    kind: String,
    version: u32,
    origin: String,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    items: usize,
    input: u64,
    cached: u64,
    cache_written: u64,
    output: u64,
    reasoning: u64,
}

/// A thread, as read from its file.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// The facts about it.
    pub facts: ThreadFacts,
    /// The conversation.
    pub entries: Vec<HistoryEntry>,
    /// The tokens it used so far.
    pub usage: Usage,
    /// How full the model's window was at the end, in tokens.
    pub filled: u64,
}

/// Why a thread cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no such thread in this directory.
    #[error("there is no thread {id} in {}", directory.display())]
    Unknown {
        /// The id.
        id: String,
        /// The directory that was searched.
        directory: PathBuf,
    },
    /// A newer version of the program wrote it.
    #[error("thread file {} has version {version}; this program reads up to {VERSION}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The file does not begin like a thread file.
    #[error("{} is no thread file", path.display())]
    NoThread {
        /// The file.
        path: PathBuf,
    },
    /// Another process has it open.
    #[error("thread {id} is being worked on by another program: {} is locked by {holder}", path.display())]
    Busy {
        /// The id.
        id: String,
        /// Its file.
        path: PathBuf,
        /// The process that holds the lock.
        holder: Holder,
    },
    /// The file system reported an error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// The directory of the thread files.
#[derive(Clone, Debug)]
pub struct Threads {
    directory: PathBuf,
}

impl Threads {
    /// The thread files of this directory, which is created when it is needed.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The path of a thread's file.
    pub fn path(&self, id: &ThreadId) -> PathBuf {
        self.directory.join(format!("{id}.jsonl"))
    }

    /// The ids of all threads, newest first.
    pub fn list(&self) -> Vec<ThreadId> {
        let Ok(found) = std::fs::read_dir(&self.directory) else { return Vec::new() };
        let name = |entry: io::Result<std::fs::DirEntry>| {
            ThreadId::parse(entry.ok()?.file_name().to_str()?.strip_suffix(".jsonl")?)
        };
        let mut names: Vec<ThreadId> = found.filter_map(name).collect();
        names.sort_by(|left, right| right.cmp(left));
        names
    }

    /// The facts about a thread, without reading its conversation.
    pub fn facts(&self, id: &ThreadId) -> Result<ThreadFacts, RecordError> {
        let path = self.path(id);
        let file = self.open(id)?;
        let mut line = String::new();
        // Limited, because the path may be some other huge file. The first line of a thread file is always short.
        let read = BufReader::new(io::Read::take(file, 1 << 20)).read_line(&mut line);
        read.map_err(|source| RecordError::Io { path: path.clone(), source })?;
        first(&path, &line)
    }

    /// Whether the user has said anything in a thread. One without is not offered: a program that was killed, or that still waits for the
    /// first message, leaves such a file.
    pub fn has_user_message(&self, id: &ThreadId) -> bool {
        let Ok(file) = self.open(id) else { return false };
        let is_user = |line: Vec<u8>| line.starts_with(item_beginning(ItemOrigin::User).as_bytes());
        BufReader::new(file).split(b'\n').map_while(Result::ok).any(is_user)
    }

    /// The newest thread that a person began in this directory, or anywhere.
    pub fn last(&self, directory: Option<&Path>) -> Option<ThreadId> {
        let fits = |id: &ThreadId| {
            let facts = self.facts(id).ok()?;
            let fits = facts.parent.is_none() && directory.is_none_or(|asked| facts.directory == asked);
            (fits && self.has_user_message(id)).then_some(())
        };
        self.list().into_iter().find(|id| fits(id).is_some())
    }

    /// Reads a thread from its file.
    pub fn load(&self, id: &ThreadId) -> Result<Thread, RecordError> {
        let path = self.path(id);
        let text = io::read_to_string(self.open(id)?);
        let text = text.map_err(|source| RecordError::Io { path: path.clone(), source })?;
        read(&path, &text)
    }

    /// Creates a thread's file.
    pub(crate) fn begin(&self, facts: &ThreadFacts) -> Result<Record, RecordError> {
        let id = ThreadId::parse(&facts.id).unwrap_or_else(|| ThreadId::new(std::time::UNIX_EPOCH));
        let path = self.path(&id);
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        let opened = made.and_then(|()| {
            OpenOptions::new().append(true).read(true).create_new(true).mode(0o600).open(&path)
        });
        let file = opened.map_err(|source| RecordError::Io { path: path.clone(), source })?;
        let mut record = Record::over(file, path, &facts.id)?;
        record.write(&Line::Thread { version: VERSION, facts })?;
        record.is_provisional = true;
        Ok(record)
    }

    /// Opens a thread's file for more lines.
    pub(crate) fn resume(&self, id: &ThreadId) -> Result<Record, RecordError> {
        let path = self.path(id);
        let failed = |source| RecordError::Io { path: path.clone(), source };
        let file = OpenOptions::new().append(true).read(true).open(&path).map_err(failed)?;
        let mut record = Record::over(file, path.clone(), id.as_str())?;
        record.cut_torn_tail().map_err(failed)?;
        Ok(record)
    }

    fn open(&self, id: &ThreadId) -> Result<File, RecordError> {
        let path = self.path(id);
        File::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => {
                RecordError::Unknown { id: id.to_string(), directory: self.directory.clone() }
            }
            _ => RecordError::Io { path, source },
        })
    }
}

/// The process that has locked a file, if the kernel shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder(Option<u32>);

impl Holder {
    /// Finds the holder of the file's lock. `/proc/locks` lists each lock with the process that took it and the inode
    /// that it is on:
    /// `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`.
    fn of(file: &File) -> Self {
        let listed = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        let inode = file.metadata().map(|about| format!(":{}", about.ino())).unwrap_or_default();
        let holder = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [_, "FLOCK", _, _, pid, on, ..] if on.ends_with(&inode) => pid.parse().ok(),
                _ => None,
            }
        };
        Self(listed.lines().find_map(holder))
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("a process that the kernel does not name"),
        }
    }
}

/// A thread's file, open for appending.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    path: PathBuf,
    /// It is new, and the user has said nothing yet: its file goes when it is dropped.
    is_provisional: bool,
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.is_provisional {
            // A leftover is not offered either.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Record {
    /// Locks the file for this process: two writers would mix their lines.
    fn over(file: File, path: PathBuf, id: &str) -> Result<Self, RecordError> {
        let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        match rustix::fs::flock(&file, lock) {
            Ok(()) => Ok(Self { file, path, is_provisional: false }),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let holder = Holder::of(&file);
                Err(RecordError::Busy { id: id.to_owned(), path, holder })
            }
            Err(errno) => Err(RecordError::Io { path, source: errno.into() }),
        }
    }

    pub(crate) fn item(&mut self, entry: &HistoryEntry) -> Result<(), RecordError> {
        let text = item_line(entry);
        self.append(&text)?;
        self.is_provisional &= entry.origin != ItemOrigin::User;
        Ok(())
    }

    pub(crate) fn compacted(&mut self, entries: &[HistoryEntry]) -> Result<(), RecordError> {
        // One write for all lines, so that a crash does not leave a conversation that is half replaced.
        let mut text = line_text(&Line::Compacted { items: entries.len() });
        entries.iter().for_each(|entry| text += &item_line(entry));
        self.append(&text)
    }

    pub(crate) fn usage(&mut self, usage: Usage) -> Result<(), RecordError> {
        let Usage { input, cached, cache_written, output, reasoning } = usage;
        self.write(&Line::Usage { input, cached, cache_written, output, reasoning })
    }

    pub(crate) fn turn(&mut self, ended: &str, message: Option<&str>) -> Result<(), RecordError> {
        self.write(&Line::Turn { ended, message })
    }

    fn write(&mut self, line: &Line<'_>) -> Result<(), RecordError> {
        let text = line_text(line);
        self.append(&text)
    }

    fn append(&mut self, text: &str) -> Result<(), RecordError> {
        self.file
            .write_all(text.as_bytes())
            .map_err(|source| RecordError::Io { path: self.path.clone(), source })
    }

    fn cut_torn_tail(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        io::Read::read_to_end(&mut self.file, &mut text)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |place| place + 1);
        if whole < text.len() { self.file.set_len(whole as u64) } else { Ok(()) }
    }
}

fn line_text(line: &Line<'_>) -> String {
    // Serialisation fails only for maps whose keys are not strings, and a line has none.
    serde_json::to_string(line).unwrap_or_default() + "\n"
}

/// Writes the item's own bytes into the line, so that a reader gets exactly the same bytes.
fn item_line(entry: &HistoryEntry) -> String {
    let one_line = entry.item.json().replace(['\n', '\r'], " ");
    format!("{}\"item\":{one_line}}}\n", item_beginning(entry.origin))
}

fn item_beginning(origin: ItemOrigin) -> String {
    format!("{{\"type\":\"item\",\"origin\":\"{}\",", origin.name())
}

fn first(path: &Path, line: &str) -> Result<ThreadFacts, RecordError> {
    let no_thread = || RecordError::NoThread { path: path.to_owned() };
    let found: RecordLine<'_> = serde_json::from_str(line).map_err(|_| no_thread())?;
    match found.version {
        _ if found.kind != "thread" => Err(no_thread()),
        version if version > VERSION => Err(RecordError::Newer { path: path.to_owned(), version }),
        _ => serde_json::from_str(line).map_err(|_| no_thread()),
    }
}

fn read(path: &Path, text: &str) -> Result<Thread, RecordError> {
    let mut lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let facts = first(path, lines.next().unwrap_or_default())?;
    let mut reading = ThreadReader { thread: Thread { facts, ..Thread::default() }, replacement: None };
    for line in lines {
        // A line that cannot be parsed, say of a later version, is skipped so that the others are not lost.
        if let Ok(found) = serde_json::from_str::<RecordLine<'_>>(line) {
            reading.take(&found);
        }
    }
    Ok(reading.thread)
}

/// A thread that is being read.
struct ThreadReader {
    thread: Thread,
    /// The replacement of the conversation, and how many entries it must have. The old one counts until the replacement
    /// is complete.
    replacement: Option<(usize, Vec<HistoryEntry>)>,
}

impl ThreadReader {
    fn take(&mut self, found: &RecordLine<'_>) {
        match found.kind.as_str() {
            "item" => self.item(found),
            "compacted" => self.replacement = Some((found.items, Vec::new())),
            "usage" => {
                let RecordLine { input, cached, cache_written, output, reasoning, .. } = *found;
                let usage = Usage { input, cached, cache_written, output, reasoning };
                self.thread.filled = usage.total();
                self.thread.usage = self.thread.usage.and(usage);
            }
            _ => {}
        }
    }

    fn item(&mut self, found: &RecordLine<'_>) {
        let Some(Ok(item)) = found.item.map(|item| Item::from_json(item.get())) else { return };
        let entry =
            HistoryEntry { origin: ItemOrigin::named(&found.origin).unwrap_or(ItemOrigin::Notice), item };
        let Some((wanted, entries)) = &mut self.replacement else {
            self.thread.filled += entry.estimate();
            return self.thread.entries.push(entry);
        };
        entries.push(entry);
        if entries.len() >= *wanted {
            self.thread.filled = entries.iter().map(HistoryEntry::estimate).sum();
            self.thread.entries = std::mem::take(entries);
            self.replacement = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use proptest::prelude::*;
    use windlass_llm::Role;
    use windlass_testkit::Scratch;

    use super::*;

    fn entry(text: &str) -> HistoryEntry {
        HistoryEntry::user(Item::user(text))
    }

    fn words(thread: &Thread) -> Vec<String> {
        thread.entries.iter().filter_map(|entry| entry.item.words_of(Role::User)).collect()
    }

    fn begun(scratch: &Scratch) -> (Threads, ThreadId, Record) {
        let threads = Threads::new(scratch.path().join("threads"));
        let id = ThreadId::new(SystemTime::now());
        let facts = ThreadFacts { id: id.to_string(), directory: "/w".into(), ..ThreadFacts::default() };
        let record = threads.begin(&facts).unwrap();
        (threads, id, record)
    }

    #[test]
    fn what_is_written_is_read_again_byte_for_byte() {
        let scratch = Scratch::new("record");
        let (threads, id, mut record) = begun(&scratch);
        let raw = r#"{"type":"reasoning", "encrypted_content":"é\u0001=","n":1.50,"summary":[]}"#;
        record.item(&entry("one")).unwrap();
        record
            .item(&HistoryEntry { origin: ItemOrigin::Model, item: Item::from_json(raw).unwrap() })
            .unwrap();
        record.usage(Usage { input: 10, output: 5, ..Usage::default() }).unwrap();
        record.turn("completed", None).unwrap();
        let thread = threads.load(&id).unwrap();
        assert_eq!(thread.entries[1].item.json(), raw);
        assert_eq!((thread.usage.total(), thread.filled, words(&thread)), (15, 15, vec!["one".to_owned()]));
        assert_eq!(threads.last(Some(Path::new("/w"))), Some(id.clone()));
        assert_eq!(threads.last(Some(Path::new("/elsewhere"))), None);
    }

    #[test]
    fn a_torn_tail_is_left_out_and_cut_away() {
        let scratch = Scratch::new("record");
        let (threads, id, mut record) = begun(&scratch);
        record.item(&entry("one")).unwrap();
        record.append(r#"{"type":"item","origin":"user","item":{"type":"mess"#).unwrap();
        drop(record);
        assert_eq!(words(&threads.load(&id).unwrap()), ["one"]);
        let mut record = threads.resume(&id).unwrap();
        record.item(&entry("two")).unwrap();
        assert_eq!(words(&threads.load(&id).unwrap()), ["one", "two"]);
    }

    #[test]
    fn a_replacement_counts_only_when_it_is_whole() {
        let scratch = Scratch::new("record");
        let (threads, id, mut record) = begun(&scratch);
        record.item(&entry("one")).unwrap();
        record.write(&Line::Compacted { items: 2 }).unwrap();
        record.item(&entry("short")).unwrap();
        assert_eq!(words(&threads.load(&id).unwrap()), ["one"]);
        record.compacted(&[entry("sum"), entry("rest")]).unwrap();
        record.item(&entry("two")).unwrap();
        assert_eq!(words(&threads.load(&id).unwrap()), ["sum", "rest", "two"]);
    }

    #[test]
    fn two_programs_do_not_write_one_thread() {
        let scratch = Scratch::new("record");
        let (threads, id, mut record) = begun(&scratch);
        record.item(&entry("one")).unwrap();
        let error = threads.resume(&id).unwrap_err().to_string();
        let file = threads.path(&id).display().to_string();
        let holder = format!("{file} is locked by process {}", std::process::id());
        assert!(error.ends_with(&holder), "{error}");
        drop(record);
        threads.resume(&id).unwrap();
        let other = ThreadId::new(SystemTime::now());
        assert!(matches!(threads.load(&other), Err(RecordError::Unknown { .. })));
    }

    #[test]
    fn a_thread_without_a_users_message_is_neither_offered_nor_kept() {
        let scratch = Scratch::new("record");
        let (threads, real, mut record) = begun(&scratch);
        record.item(&entry("one")).unwrap();
        drop(record);
        let empty = ThreadId::new(SystemTime::now() + std::time::Duration::from_secs(1));
        let facts = ThreadFacts { id: empty.to_string(), directory: "/w".into(), ..ThreadFacts::default() };
        let mut record = threads.begin(&facts).unwrap();
        record.item(&HistoryEntry { origin: ItemOrigin::Context, item: Item::user("rules") }).unwrap();
        assert_eq!(threads.last(None), Some(real.clone()), "it waits for the first message");
        drop(record);
        assert_eq!(threads.list(), [real]);
    }

    proptest! {
        #[test]
        fn no_bytes_of_a_file_are_too_much(text in ".{0,300}(\n.{0,80}){0,5}") {
            let _ = read(Path::new("f"), &text);
            let begun = format!("{{\"type\":\"thread\",\"version\":1,\"id\":\"x\"}}\n{text}");
            prop_assert!(read(Path::new("f"), &begun).is_ok());
        }
    }
}
