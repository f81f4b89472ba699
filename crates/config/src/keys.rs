//! The keys of a configuration file: their shapes, what a project's file may set, and a line about each. Data only:
//! `reading.rs` checks files against it, and `guard.rs` checks projects against it.

mod tables;

use tables::PROFILES;
pub(crate) use tables::{PROFILE, ROOT};

/// A key, or a family of keys.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// Other accepted names.
    pub(crate) also: &'static [&'static str],
    pub(crate) shape: Shape,
    pub(crate) reach: ProjectReach,
    pub(crate) about: &'static str,
}

/// The type of a key's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Text,
    /// The URL of a server: `http://` or `https://`.
    Address,
    /// A path. Relative ones are relative to the file's directory; `~/` is the home.
    Place,
    Flag,
    /// Network access: a flag, a word or a list of hosts. `"off"` and `"on"` are read as the flags.
    Network,
    Whole {
        least: i64,
        most: i64,
    },
    /// Zero or more, with or without a fraction.
    Number,
    /// One of these words, each with the canonical word that it stands for.
    Word(&'static [(&'static str, &'static str)]),
    Texts,
    /// File names without a directory.
    FileNames,
    Places,
    Table(&'static Table),
}

/// A table of known keys, and perhaps of entries whose names the user chooses.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) keys: &'static [&'static [Key]],
    pub(crate) others: Option<Others>,
}

/// The entries of a table whose names the user chooses.
#[derive(Debug)]
pub(crate) struct Others {
    /// The placeholder for such a name in documents.
    pub(crate) placeholder: &'static str,
    pub(crate) shape: Shape,
    pub(crate) reach: ProjectReach,
}

/// The values that a project's file may set for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProjectReach {
    /// Anything.
    Free,
    /// Nothing: only the user may set it.
    Users,
    /// Words nearer to the front of this list than the user's, or the same.
    Stricter(&'static [&'static str]),
    /// An approval policy: `untrusted` always, `never` if the user's is `on-request`.
    Approval,
    /// `true`, or the user's value.
    OnlyTrue,
    /// `false`, or the user's value.
    OnlyFalse,
    /// Numbers up to the user's.
    AtMost,
    /// Lists whose entries are all on the user's list; any list if the user has none.
    Fewer,
    /// Lists that contain all entries of the user's.
    More,
    /// Paths inside the project.
    Within,
    /// Anything for a server that the user has not configured.
    Unclaimed,
}

/// The documentation of a key: its name, its type, and its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAccount {
    /// The key with the names of its tables. Names that the user chooses are in capitals.
    pub key: String,
    /// The expected value.
    pub expected: String,
    /// The values that a project's file may set.
    pub project: &'static str,
    /// Its purpose.
    pub about: &'static str,
}

/// Every key, in the order of the tables.
pub fn reference() -> Vec<KeyAccount> {
    let mut found = Vec::new();
    list(&ROOT, "", "", &mut found);
    found
}

/// `about` is the purpose of the whole table, which also documents the entries whose names the user chooses.
fn list(table: &Table, prefix: &str, about: &'static str, found: &mut Vec<KeyAccount>) {
    for key in table.all() {
        match key.shape {
            // A profile repeats all keys.
            Shape::Table(below) if !std::ptr::eq(below, &PROFILES) => {
                list(below, &format!("{prefix}{}.", key.name), key.about, found);
            }
            shape => found.push(KeyAccount {
                key: format!("{prefix}{}", key.name),
                expected: shape.expected(),
                project: key.reach.words(),
                about: key.about,
            }),
        }
    }
    if let Some(others) = &table.others {
        let prefix = format!("{prefix}{}", others.placeholder);
        match others.shape {
            Shape::Table(below) => list(below, &format!("{prefix}."), about, found),
            shape => found.push(KeyAccount {
                key: prefix,
                expected: shape.expected(),
                project: others.reach.words(),
                about,
            }),
        }
    }
}

impl Table {
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|keys| keys.iter())
    }

    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.all().find(|key| key.name == name || key.also.contains(&name))
    }
}

impl Shape {
    /// The expected value, in words.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Address => "an address that begins with `http://` or `https://`".to_owned(),
            Self::Place => "a path".to_owned(),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Network => "`true` or `false`, `off`, `loopback`, `on`, or a list of hosts".to_owned(),
            Self::Whole { least, most: i64::MAX } => format!("a whole number from {least}"),
            Self::Whole { least, most } => format!("a whole number from {least} to {most}"),
            Self::Number => "a number from 0".to_owned(),
            Self::Word(words) => {
                let own = words.iter().filter(|(written, word)| written == word);
                own.map(|(_, word)| format!("`{word}`")).collect::<Vec<_>>().join(", ")
            }
            Self::Texts => "a list of texts".to_owned(),
            Self::FileNames => "a list of names of files, without folders".to_owned(),
            Self::Places => "a list of paths".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

impl ProjectReach {
    /// The values that a project's file may set, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Free => "anything",
            Self::Users => "nothing",
            Self::Stricter(_) | Self::Approval => "something stricter",
            Self::OnlyTrue => "only `true`",
            Self::OnlyFalse => "only `false`",
            Self::AtMost => "at most what you say",
            Self::Fewer => "only what is on your list",
            Self::More => "your list and more",
            Self::Within => "a path inside of the project",
            Self::Unclaimed => "only of servers you have not configured",
        }
    }
}
