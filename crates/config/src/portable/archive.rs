//! The archive inside: a tar of plain files, in the minimal form that `tar` itself reads (ustar). The first entry
//! identifies the format, `windlass-portable` with the version; then follow files below `config/` (the user's
//! configuration directory) and `agents/` (`~/.agents`). Reading is strict: an entry of another type, or a name that
//! could lead elsewhere, rejects the whole archive.

use super::LARGEST;

const BLOCK: usize = 512;
const MARKER: &str = "windlass-portable";
const VERSION: &[u8] = b"1\n";
const MOST_FILES: usize = 5000;
const DEEPEST: usize = 12;
/// The first field of an entry holds names up to this length. Longer ones are split at a slash into two fields.
const NAME: usize = 100;
const PREFIX: usize = 155;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PackedFile {
    /// Its name, beginning with `config/` or `agents/`.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) executable: bool,
}

/// Why an archive cannot be made or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// A name is too long for the format.
    #[error("the name {0:?} is too long")]
    NameTooLong(String),
    /// A name could lead elsewhere, or is not importable.
    #[error("the name {0:?} is not one that is imported")]
    Name(String),
    /// An entry is a link, a device or anything else that is not a plain file.
    #[error("{name:?} is not a plain file but of kind {kind:?}")]
    Kind {
        /// Its name.
        name: String,
        /// The letter of its type.
        kind: char,
    },
    /// Two entries have the same name.
    #[error("{0:?} is there twice")]
    Twice(String),
    /// There are too many files, or too many bytes.
    #[error("there are more than {MOST_FILES} files or {} MiB", LARGEST >> 20)]
    TooLarge,
    /// It is an archive of another kind, or of a later version.
    #[error("it was not made by windlass, or by a later version of it")]
    Foreign,
    /// It is damaged.
    #[error("it is damaged at byte {at}")]
    Damaged {
        /// The offset.
        at: usize,
    },
}

/// Makes an archive.
pub(super) fn pack(files: &[PackedFile]) -> Result<Vec<u8>, ArchiveError> {
    let marker = PackedFile { name: MARKER.to_owned(), bytes: VERSION.to_vec(), executable: false };
    let mut tar = Vec::new();
    for file in std::iter::once(&marker).chain(files) {
        tar.extend(header(file)?);
        tar.extend_from_slice(&file.bytes);
        tar.resize(tar.len().next_multiple_of(BLOCK), 0);
    }
    tar.resize(tar.len() + 2 * BLOCK, 0);
    Ok(tar)
}

/// Reads a whole archive, or fails.
pub(super) fn unpack(tar: &[u8]) -> Result<Vec<PackedFile>, ArchiveError> {
    if tar.len() > LARGEST {
        return Err(ArchiveError::TooLarge);
    }
    let mut files: Vec<PackedFile> = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    let mut at = 0;
    while let Some(entry) = ArchiveEntry::parse(tar, at)? {
        at = entry.end;
        if files.is_empty() && names.is_empty() && entry.file.name != MARKER {
            return Err(ArchiveError::Foreign);
        }
        if !names.insert(entry.file.name.clone()) {
            return Err(ArchiveError::Twice(entry.file.name));
        }
        if entry.file.name == MARKER {
            (entry.file.bytes == VERSION).then_some(()).ok_or(ArchiveError::Foreign)?;
            continue;
        }
        check_name(&entry.file.name)?;
        files.push(entry.file);
        if files.len() > MOST_FILES {
            return Err(ArchiveError::TooLarge);
        }
    }
    if names.is_empty() { Err(ArchiveError::Foreign) } else { Ok(files) }
}

/// Whether a name is exported and imported: configuration files, instructions, roles and skills, without components by
/// which a path could escape. Rules files and all other files are not.
pub(super) fn is_portable(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let plain = |part: &&str| {
        !part.is_empty()
            && !matches!(*part, "." | "..")
            && !part.contains(|c: char| c == '\\' || c.is_control())
    };
    if parts.len() > DEEPEST || !parts.iter().all(plain) {
        return false;
    }
    match parts.as_slice() {
        ["config", "config.toml"] => true,
        ["config", file] => file.ends_with(".config.toml") || file.ends_with(".md"),
        ["config", super::instructions::FOLDER, _] => true,
        ["config", "agents", .., file] => file.ends_with(".toml") || file.ends_with(".md"),
        ["config", "skills", _, ..] | ["agents", "skills", _, ..] => true,
        _ => false,
    }
}

fn check_name(name: &str) -> Result<(), ArchiveError> {
    if is_portable(name) { Ok(()) } else { Err(ArchiveError::Name(name.to_owned())) }
}

fn header(file: &PackedFile) -> Result<[u8; BLOCK], ArchiveError> {
    let (prefix, name) =
        split_name(&file.name).ok_or_else(|| ArchiveError::NameTooLong(file.name.clone()))?;
    let mut block = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, if file.executable { b"0000755" } else { b"0000644" });
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{:011o}", file.bytes.len()).as_bytes());
    put(136, b"00000000000");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    put(345, prefix.as_bytes());
    let sum = checksum(&block);
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

/// Splits a name into two parts that fit the fields; the first one is often empty.
fn split_name(name: &str) -> Option<(&str, &str)> {
    if name.len() <= NAME {
        return Some(("", name));
    }
    let slashes = name.match_indices('/').map(|(at, _)| (&name[..at], &name[at + 1..]));
    slashes
        .into_iter()
        .find(|(prefix, rest)| prefix.len() <= PREFIX && rest.len() <= NAME && !rest.is_empty())
}

struct ArchiveEntry {
    file: PackedFile,
    /// The offset of the next entry.
    end: usize,
}

impl ArchiveEntry {
    /// Parses the entry at this offset; `None` at a valid end of the archive.
    fn parse(tar: &[u8], at: usize) -> Result<Option<Self>, ArchiveError> {
        let damaged = || ArchiveError::Damaged { at };
        let block = tar.get(at..at + BLOCK).ok_or_else(damaged)?;
        if block.iter().all(|byte| *byte == 0) {
            let ends = tar[at..].len() >= 2 * BLOCK && tar[at..].iter().all(|byte| *byte == 0);
            return if ends { Ok(None) } else { Err(damaged()) };
        }
        if octal(&block[148..156]) != Some(checksum(block)) || &block[257..262] != b"ustar" {
            return Err(damaged());
        }
        let name = [text(&block[345..500]), text(&block[..100])];
        let [Some(prefix), Some(name)] = name else { return Err(damaged()) };
        let name = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
        if block[156] != b'0' {
            return Err(ArchiveError::Kind { name, kind: char::from(block[156]) });
        }
        let length =
            octal(&block[124..136]).and_then(|length| usize::try_from(length).ok()).ok_or_else(damaged)?;
        let begin = at + BLOCK;
        let bytes =
            begin.checked_add(length).and_then(|end| tar.get(begin..end)).ok_or_else(damaged)?.to_vec();
        let executable = octal(&block[100..108]).is_some_and(|mode| mode & 0o111 != 0);
        let end = (begin + length).next_multiple_of(BLOCK);
        Ok(Some(Self { file: PackedFile { name, bytes, executable }, end }))
    }
}

/// The sum of all bytes, with spaces in place of the checksum's own field.
fn checksum(block: &[u8]) -> u64 {
    let own = block[148..156].iter().map(|byte| u64::from(*byte)).sum::<u64>();
    block.iter().map(|byte| u64::from(*byte)).sum::<u64>() - own + 8 * u64::from(b' ')
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    let digits = !text.is_empty() && text.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    digits.then(|| u64::from_str_radix(text, 8).ok()).flatten()
}

/// A text that ends at a zero byte or at the end of its field.
fn text(field: &[u8]) -> Option<&str> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    std::str::from_utf8(&field[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: &[u8]) -> PackedFile {
        PackedFile { name: name.to_owned(), bytes: bytes.to_vec(), executable: name.ends_with(".sh") }
    }

    #[test]
    fn files_come_out_as_they_went_in() {
        let long = format!("config/skills/{}/{}", "d".repeat(90), "f".repeat(90));
        let files = [
            file("config/config.toml", b""),
            file("agents/skills/a/run.sh", &[7; 512]),
            file(&long, &[1; 700]),
        ];
        assert_eq!(unpack(&pack(&files).unwrap()), Ok(files.to_vec()));
        let endless = file(&format!("config/skills/{}", "x".repeat(200)), b"");
        assert!(matches!(pack(&[endless]), Err(ArchiveError::NameTooLong(_))));
    }

    #[test]
    fn only_names_that_are_taken_along_come_in() {
        for (name, expected) in [
            ("config/config.toml", true),
            ("config/fast.config.toml", true),
            ("config/AGENTS.override.md", true),
            ("config/agents/explorer.toml", true),
            ("config/skills/a/SKILL.md", true),
            ("agents/skills/a/b/c.py", true),
            ("config/skills", false),
            ("config/rules.toml", false),
            ("config/skills/../../.bashrc", false),
            ("config/skills/a/..", false),
            ("config//skills/a", false),
            ("config/./config.toml", false),
            ("/config/config.toml", false),
            ("agents/config.toml", false),
            ("config/skills/a\\b", false),
            ("config/skills/a\nb", false),
            ("../config/config.toml", false),
            ("", false),
        ] {
            let found = unpack(&pack(&[file(name, b"x")]).unwrap());
            assert_eq!(found.is_ok(), expected, "{name:?} {found:?}");
        }
    }

    /// An entry with a modified header and a valid checksum.
    fn forged(change: impl Fn(&mut [u8])) -> Vec<u8> {
        let mut tar = pack(&[file("config/skills/a/x", b"text")]).unwrap();
        let block = &mut tar[2 * BLOCK..3 * BLOCK];
        change(block);
        let sum = checksum(block);
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar
    }

    #[test]
    fn links_devices_and_damage_refuse_everything() {
        for kind in [b'1', b'2', b'3', b'4', b'5', b'6', b'7', b'x', b'L', 0] {
            let tar = forged(|block| block[156] = kind);
            assert!(matches!(unpack(&tar), Err(ArchiveError::Kind { .. })), "{kind}");
        }
        let endless = forged(|block| block[124..135].copy_from_slice(b"77777777777"));
        assert_eq!(unpack(&endless), Err(ArchiveError::Damaged { at: 2 * BLOCK }));
        let mut wrong_sum = forged(|_| {});
        wrong_sum[2 * BLOCK] ^= 1;
        assert_eq!(unpack(&wrong_sum), Err(ArchiveError::Damaged { at: 2 * BLOCK }));
        let whole = forged(|_| {});
        assert!(unpack(&whole).is_ok());
        assert!(unpack(&whole[..whole.len() - 1]).is_err());
        assert_eq!(unpack(&[0; 1024]), Err(ArchiveError::Foreign));
        let twice = [file("config/config.toml", b"1"), file("config/config.toml", b"2")];
        assert_eq!(unpack(&pack(&twice).unwrap()), Err(ArchiveError::Twice("config/config.toml".to_owned())));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..3000),
            at in 0usize..2560,
            with: u8,
        ) {
            let _ = unpack(&bytes);
            let mut tar = forged(|_| {});
            tar[at] = with;
            let _ = unpack(&tar);
        }
    }
}
