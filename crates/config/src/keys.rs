//! The keys of a configuration file: their shapes, what a project's file may say about them, and a line about each.
//! Data only; `reading.rs` holds files against it and `guard.rs` holds projects to it.

mod tables;

use tables::PROFILES;
pub(crate) use tables::{PROFILE, ROOT};

/// A key, or a family of keys.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// Other names that it is known under.
    pub(crate) also: &'static [&'static str],
    pub(crate) shape: Shape,
    pub(crate) reach: ProjectReach,
    pub(crate) about: &'static str,
}

/// What may stand behind a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Text,
    /// The address of a server: `http://` or `https://`.
    Address,
    /// A path; made absolute from the folder of the file, `~/` is the home.
    Place,
    Flag,
    /// What of the network may be reached: a flag, a word or a list of hosts. `"off"` and `"on"` are read as the flags.
    Network,
    Whole {
        least: i64,
        most: i64,
    },
    /// Zero or more, with a fraction or without.
    Number,
    /// What may be written, and the word that it stands for.
    Word(&'static [(&'static str, &'static str)]),
    Texts,
    /// Names of files without a path.
    FileNames,
    Places,
    Table(&'static Table),
}

/// A table of known keys, and perhaps of names that people choose.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) keys: &'static [&'static [Key]],
    pub(crate) others: Option<Others>,
}

/// What stands behind a name that people choose.
#[derive(Debug)]
pub(crate) struct Others {
    /// How such a name is written in documents.
    pub(crate) placeholder: &'static str,
    pub(crate) shape: Shape,
    pub(crate) reach: ProjectReach,
}

/// What a project's file may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProjectReach {
    /// Anything.
    Free,
    /// Nothing: it is for the user to say.
    Users,
    /// Words further to the front of this list than the user's.
    Stricter(&'static [&'static str]),
    /// When to ask: `untrusted` always, `never` where the user is asked on request.
    Approval,
    /// `true`, or what the user says.
    OnlyTrue,
    /// `false`, or what the user says.
    OnlyFalse,
    /// Numbers up to the user's.
    AtMost,
    /// Lists whose entries are all on the user's list; no list of the user's means any.
    Fewer,
    /// Lists that hold all entries of the user's.
    More,
    /// Paths inside of the project.
    Within,
    /// Anything about a server that the user has not configured.
    Unclaimed,
}

/// A key for people: how it is written, what may stand there, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAccount {
    /// The key with the names of its tables; what people choose is in capitals.
    pub key: String,
    /// What may stand there.
    pub expected: String,
    /// What a project's file may say.
    pub project: &'static str,
    /// What it is for.
    pub about: &'static str,
}

/// Every key, in the order of the tables.
pub fn reference() -> Vec<KeyAccount> {
    let mut found = Vec::new();
    list(&ROOT, "", "", &mut found);
    found
}

/// `about` is what the whole table is for, which also says what its entries are for where people choose their names.
fn list(table: &Table, prefix: &str, about: &'static str, found: &mut Vec<KeyAccount>) {
    for key in table.all() {
        match key.shape {
            // A profile repeats everything.
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
    /// What may stand there, for people.
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
    /// What a project's file may say, for people.
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
