//! What can be wrong with configuration. A fault names the file, the line and the key; all faults of all files are told at
//! once, so that nobody has to repair them one start at a time.

use std::fmt;
use std::path::PathBuf;

/// Something wrong in a configuration file or in a `-c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, or "the environment"; nothing for the command line.
    pub file: Option<PathBuf>,
    /// The line, counted from one, where it is known.
    pub line: Option<usize>,
    /// The key with the names of its tables, empty if the fault is not about a key.
    pub key: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file could not be read.
    Unreadable {
        /// What the system said.
        reason: String,
    },
    /// It is no TOML.
    NotToml {
        /// What the parser said.
        reason: String,
    },
    /// No such key is known.
    UnknownKey {
        /// The key that was probably meant.
        meant: Option<String>,
        /// The keys there are.
        known: Vec<String>,
    },
    /// The value is of the wrong kind, or out of bounds.
    WrongType {
        /// What may stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The value is none of the words that may stand there.
    UnknownWord {
        /// The words that may.
        allowed: Vec<&'static str>,
        /// What stands there.
        found: String,
        /// The word that was probably meant.
        meant: Option<&'static str>,
    },
    /// Something else must be said too.
    Missing {
        /// What is missing.
        what: String,
    },
    /// Two values exclude each other.
    Conflict {
        /// In which way.
        reason: String,
    },
    /// A name leads nowhere: a profile, a provider, a role.
    NoSuch {
        /// What was looked for, such as "profile".
        what: &'static str,
        /// Its name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
}

/// All faults of a load; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl std::error::Error for Faults {}
impl std::error::Error for Fault {}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if number == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}:{line}: ", file.display())?,
            (Some(file), None) => write!(f, "{}: ", file.display())?,
            (None, _) => f.write_str("command line: ")?,
        }
        if !self.key.is_empty() {
            write!(f, "`{}` ", self.key)?;
        }
        write!(f, "{}", self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { reason } => write!(f, "cannot be read: {reason}"),
            Self::NotToml { reason } => write!(f, "is not TOML: {reason}"),
            Self::UnknownKey { meant: Some(meant), .. } => {
                write!(f, "is not known; did you mean `{meant}`?")
            }
            Self::UnknownKey { meant: None, known } => {
                write!(f, "is not known; there are {}", list(known.iter().map(String::as_str)))
            }
            Self::WrongType { expected, found } => write!(f, "must be {expected}, not {found}"),
            Self::UnknownWord { allowed, found, meant } => {
                write!(f, "must be one of {}, not {found}", list(allowed.iter().copied()))?;
                meant.map_or(Ok(()), |meant| write!(f, "; did you mean `{meant}`?"))
            }
            Self::Missing { what } => write!(f, "needs {what}"),
            Self::Conflict { reason } => f.write_str(reason),
            Self::NoSuch { what, name, known } if known.is_empty() => {
                write!(f, "names the {what} {name:?}, but there is none")
            }
            Self::NoSuch { what, name, known } => {
                let known = list(known.iter().map(String::as_str));
                write!(f, "names the {what} {name:?}, which is not there; there are {known}")
            }
        }
    }
}

fn list<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
