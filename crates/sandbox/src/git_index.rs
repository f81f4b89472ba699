//! The part of git's index that decides where git goes: entries that stand for another repository (*gitlinks*). `git
//! status` runs git in each of them, with the configuration that it finds there. And paths that git never writes into
//! an index, but trusts when it reads one: `git checkout -- .` writes a file `.git/hooks/pre-commit` or `../file` if
//! the index has such an entry. Pure; any bytes can be read.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The other repositories and files that an index names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// The paths of gitlinks, relative to the work tree.
    pub(crate) gitlinks: BTreeSet<PathBuf>,
    /// Whether more entries are in another file (a *split index*).
    pub(crate) is_split: bool,
    /// Directories that stand for all files in them (a *sparse index*), each with the name of its tree, which may
    /// contain gitlinks.
    pub(crate) trees: BTreeSet<(PathBuf, Vec<u8>)>,
    /// Whether an entry has a path that git never writes, such as `./sub`, `../file` or `.git/config`, but follows; or
    /// whether the table for threads that read the index leads them to other entries than those that follow one another
    /// in the file.
    pub(crate) has_odd_paths: bool,
}

/// Lengths of the object names that an index can have. The file does not say which.
const OBJECT_NAMES: [usize; 2] = [20, 32];
const HEADER: usize = 12;
/// Ten numbers of four bytes each: times, device, inode, mode, owner and size.
const STATUS: usize = 40;
const MODE_AT: usize = 24;
const GITLINK: u32 = 0o160_000;
const TREE: u32 = 0o040_000;
const KIND: u32 = 0o170_000;
const EXTENDED: u16 = 0x4000;
const LENGTH: u16 = 0x0fff;

impl Index {
    /// Reads an index with either length of object names, and returns everything that either finds. `None`: neither
    /// fits, and git may parse an index that this code cannot.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let found: Vec<Self> = OBJECT_NAMES.iter().filter_map(|name| read_with(bytes, *name)).collect();
        found.into_iter().reduce(|mut all, other| {
            all.gitlinks.extend(other.gitlinks);
            all.trees.extend(other.trees);
            all.is_split |= other.is_split;
            all.has_odd_paths |= other.has_odd_paths;
            all
        })
    }
}

fn read_with(bytes: &[u8], name_length: usize) -> Option<Index> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let version = number(&header[4..8]);
    if !header.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    // The checksum at the end, which may be left out as zeros, has the length of an object's name.
    let entries_end = rest.len().checked_sub(name_length)?;
    let mut rest = &rest[..entries_end];
    let whole = rest.len() + HEADER;
    let mut index = Index::default();
    let mut path = Vec::new();
    let mut starts = Vec::new();
    for _ in 0..number(&header[8..12]) {
        let offset = whole - rest.len();
        let entry = Entry::take(&mut rest, name_length)?;
        let is_whole = entry.take_path(&mut rest, &mut path, version)?;
        starts.push(Start { offset, is_whole });
        let place = || PathBuf::from(OsStr::from_bytes(&path));
        // The path of a directory ends with a slash.
        let names = if entry.mode & KIND == TREE { path.strip_suffix(b"/").unwrap_or(&path) } else { &path };
        // In a split index, an entry without a path stands for one of the other file.
        index.has_odd_paths |= !names.is_empty() && names.split(|byte| *byte == b'/').any(is_odd);
        match entry.mode & KIND {
            GITLINK => drop(index.gitlinks.insert(place())),
            TREE => drop(index.trees.insert((place(), entry.object.clone()))),
            _ => {}
        }
    }
    let entries_end = whole - rest.len();
    index.has_odd_paths |= leads_elsewhere(bytes, name_length, entries_end);
    while !rest.is_empty() {
        let (extension, after) = rest.split_at_checked(8)?;
        let length = usize::try_from(number(&extension[4..8])).ok()?;
        index.is_split |= extension.starts_with(b"link");
        let (content, after) = after.split_at_checked(length)?;
        index.has_odd_paths |= extension.starts_with(b"IEOT") && !are_blocks(content, &starts);
        rest = after;
    }
    Some(index)
}

/// The offset of an entry, and whether the entry contains its whole path: in version 4 most entries share a part of the
/// path before.
struct Start {
    offset: usize,
    is_whole: bool,
}

/// Whether the end of the file makes git look for extensions elsewhere than after the entries. Git takes the last bytes
/// for the extension `EOIE` if they look like it, even if they are a part of another extension.
fn leads_elsewhere(bytes: &[u8], name_length: usize, entries_end: usize) -> bool {
    let length = 8 + 4 + name_length;
    let place = bytes.len().checked_sub(name_length + length);
    let Some(last) = place.and_then(|place| bytes.get(place..place + length)) else { return false };
    last.starts_with(b"EOIE") && usize::try_from(number(&last[8..12])) != Ok(entries_end)
}

/// Whether a table of blocks (`IEOT`), from which threads of git read entries, has the entries of the index in their
/// order.
fn are_blocks(table: &[u8], starts: &[Start]) -> bool {
    let Some((version, blocks)) = table.split_at_checked(4) else { return false };
    let mut entries = 0;
    for block in blocks.chunks(8) {
        let [offset, count] = [block.get(..4), block.get(4..8)]
            .map(|part| part.and_then(|part| usize::try_from(number(part)).ok()));
        let (Some(offset), Some(count), Some(start)) = (offset, count, starts.get(entries)) else {
            return false;
        };
        if start.offset != offset || !start.is_whole {
            return false;
        }
        entries += count;
    }
    number(version) == 1 && entries == starts.len()
}

/// A name that leads nowhere, here, up, or into a repository. Git refuses the same when it adds an entry.
fn is_odd(name: &[u8]) -> bool {
    match name.first() {
        None => true,
        Some(b'.' | b'g' | b'G' | 0x80..) => matches!(name, b"." | b"..") || is_repository(name),
        Some(_) => false,
    }
}

/// Whether a file system could take a name for `.git`: some ignore case and invisible characters, and vfat ignores
/// certain characters at the end and shortens names.
fn is_repository(name: &[u8]) -> bool {
    let is_seen = |character: &char| {
        !matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
    };
    let seen: String = String::from_utf8_lossy(name).chars().filter(is_seen).collect();
    let stem = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    [".git", "git~1"].iter().any(|repository| stem.eq_ignore_ascii_case(repository))
}

/// The fixed part of an entry.
struct Entry {
    mode: u32,
    object: Vec<u8>,
    flags: u16,
    /// The number of bytes before the path.
    length: usize,
}

impl Entry {
    fn take(rest: &mut &[u8], name_length: usize) -> Option<Self> {
        let fixed = STATUS + name_length + 2;
        let (entry, after) = rest.split_at_checked(fixed)?;
        let flags = u16::from_be_bytes([entry[fixed - 2], entry[fixed - 1]]);
        let extra = if flags & EXTENDED == 0 { 0 } else { 2 };
        *rest = after.get(extra..)?;
        Some(Self {
            mode: number(&entry[MODE_AT..MODE_AT + 4]),
            object: entry[STATUS..STATUS + name_length].to_vec(),
            flags,
            length: fixed + extra,
        })
    }

    /// Versions 2 and 3 pad every entry with zeros to a multiple of eight; version 4 states how much of the path before
    /// is kept. Returns whether no part of it is.
    fn take_path(&self, rest: &mut &[u8], path: &mut Vec<u8>, version: u32) -> Option<bool> {
        if version == 4 {
            let removed = usize::try_from(variable_number(rest)?).ok()?;
            path.truncate(path.len().checked_sub(removed)?);
        } else {
            path.clear();
        }
        let is_whole = path.is_empty();
        let end = rest.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(&rest[..end]);
        let taken = if version == 4 { end + 1 } else { (self.length + end) / 8 * 8 + 8 - self.length };
        *rest = rest.get(taken..)?;
        let stated = usize::from(self.flags & LENGTH);
        (stated == usize::from(LENGTH) || stated == path.len()).then_some(is_whole)
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Git's encoding of offsets: seven bits a byte, and one is added for every further byte.
fn variable_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    loop {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number = number.checked_shl(7)?.checked_add(u64::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        number = number.checked_add(1).filter(|number| *number < 1 << 50)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;
    use std::process::Command;
    use windlass_testkit::Scratch;

    fn git(directory: &Path, words: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@example.invalid"])
            .args(words)
            .current_dir(directory)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", directory)
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{words:?}: {output:?}");
    }

    /// An index as git itself writes it, with two files of long names and a gitlink between them.
    fn written_by_git(format: &str, version: &str) -> Vec<u8> {
        let scratch = Scratch::new("git-index");
        let path = scratch.path();
        git(path, &["init", "-q", &format!("--object-format={format}")]);
        std::fs::write(path.join("a-file-with-a-name"), "1").unwrap();
        std::fs::write(path.join("a-file-with-another-name"), "2").unwrap();
        git(path, &["add", "a-file-with-a-name", "a-file-with-another-name"]);
        let name = "1".repeat(if format == "sha1" { 40 } else { 64 });
        git(path, &["update-index", "--add", "--cacheinfo", &format!("160000,{name},a-file-link/sub")]);
        git(path, &["update-index", "--index-version", version]);
        std::fs::read(path.join(".git/index")).unwrap()
    }

    #[test]
    fn gitlinks_are_found_in_every_version_that_git_writes() {
        for format in ["sha1", "sha256"] {
            for version in ["2", "3", "4"] {
                let bytes = written_by_git(format, version);
                let expected = Index { gitlinks: ["a-file-link/sub".into()].into(), ..Index::default() };
                assert_eq!(Index::read(&bytes), Some(expected), "{format} {version}");
            }
        }
    }

    #[test]
    fn a_path_that_git_never_writes_is_odd() {
        let bytes = written_by_git("sha1", "2");
        let place = bytes.windows(15).position(|window| window == b"a-file-link/sub").expect("it is there");
        for (path, expected) in
            [(b"./file-link/sub", true), (b"a-file-link//su", true), (b"a-file-link/sub", false)]
        {
            let mut changed = bytes.clone();
            changed[place..place + 15].copy_from_slice(path);
            assert_eq!(Index::read(&changed).map(|index| index.has_odd_paths), Some(expected), "{path:?}");
        }
    }

    #[test]
    fn a_name_that_leads_into_a_repository_is_odd() {
        let odd = [
            ".git",
            ".GIT",
            ".git.",
            ".git ",
            "git~1",
            ".g\u{200c}it",
            ".git::$INDEX_ALLOCATION",
            "..",
            ".",
            "",
        ];
        assert!(odd.iter().all(|name| is_odd(name.as_bytes())));
        let usual = [".gitignore", ".gitattributes", ".github", "git", "...", ".gitä", "..x", "GIT~2", ".g"];
        assert!(usual.iter().all(|name| !is_odd(name.as_bytes())));
    }

    #[test]
    fn an_index_that_is_split_is_known_as_one() {
        let scratch = Scratch::new("git-index-split");
        git(scratch.path(), &["init", "-q"]);
        std::fs::write(scratch.path().join("file"), "1").unwrap();
        git(scratch.path(), &["add", "file"]);
        git(scratch.path(), &["update-index", "--split-index"]);
        let bytes = std::fs::read(scratch.path().join(".git/index")).unwrap();
        assert!(Index::read(&bytes).is_some_and(|index| index.is_split));
        // The entry of a file that has changed since has no path.
        std::fs::write(scratch.path().join("file"), "2").unwrap();
        git(scratch.path(), &["add", "file"]);
        let bytes = std::fs::read(scratch.path().join(".git/index")).unwrap();
        assert!(Index::read(&bytes).is_some_and(|index| index.is_split && !index.has_odd_paths));
    }

    /// Appends extensions to an index that git wrote, before its checksum of 20 bytes.
    fn with_extension(index: &[u8], signature: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let (entries, checksum) = index.split_at(index.len() - 20);
        let length = u32::try_from(content.len()).expect("it is short").to_be_bytes();
        [entries, signature, &length, content, checksum].concat()
    }

    fn big_endian(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    #[test]
    fn a_table_for_threads_that_leads_to_other_entries_is_odd() {
        let index = written_by_git("sha1", "2");
        let is_odd = |bytes: &[u8]| Index::read(bytes).map(|index| index.has_odd_paths);
        for (table, expected) in [
            (vec![1, 12, 3], Some(false)),
            (vec![1, 12, 2], Some(true)),
            (vec![1, 20, 3], Some(true)),
            (vec![1, 12, 1, 300, 2], Some(true)),
            (vec![2, 12, 3], Some(true)),
            (vec![1, 12], Some(true)),
        ] {
            assert_eq!(is_odd(&with_extension(&index, b"IEOT", &big_endian(&table))), expected, "{table:?}");
        }
        // Git finds the end of the entries by the last bytes of the file, whichever extension they belong to.
        let end = |offset: u32| [b"EOIE", &big_endian(&[24, offset])[..], &[0; 20]].concat();
        let wrong = end(16);
        assert_eq!(is_odd(&with_extension(&index, b"XXXX", &wrong)), Some(true));
        assert_eq!(is_odd(&with_extension(&index, b"EOIE", &wrong[8..])), Some(true));
    }

    #[test]
    fn tables_that_git_writes_for_its_threads_are_not_odd() {
        for version in ["2", "4"] {
            let scratch = Scratch::new("git-index-threads");
            let path = scratch.path();
            git(path, &["init", "-q"]);
            let entries: String = (0..25_000)
                .map(|number| format!("100644 {} 0\tdirectory/file-{number}\n", "1".repeat(40)))
                .collect();
            std::fs::write(path.join("entries"), entries).unwrap();
            git(path, &["config", "index.threads", "4"]);
            git(path, &["config", "index.version", version]);
            let add = "git update-index --index-info < entries";
            assert!(Command::new("sh").args(["-c", add]).current_dir(path).status().unwrap().success());
            let bytes = std::fs::read(path.join(".git/index")).unwrap();
            assert!(bytes.windows(4).any(|window| window == b"IEOT"), "version {version}: git wrote a table");
            assert_eq!(
                Index::read(&bytes).map(|index| index.has_odd_paths),
                Some(false),
                "version {version}"
            );
        }
    }

    #[test]
    fn what_is_no_index_is_not_taken_for_an_empty_one() {
        let whole = written_by_git("sha1", "2");
        for bytes in [&b""[..], b"DIRC", b"not an index at all, but long enough", &whole[..whole.len() - 30]]
        {
            assert_eq!(Index::read(bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..256), entries in 0_u8..4, version in 0_u8..6) {
            let header = [b"DIRC", &[0, 0, 0, version][..], &[0, 0, 0, entries]].concat();
            let _ = Index::read(&[header, bytes].concat());
        }
    }
}
