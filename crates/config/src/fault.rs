//! The faults of configuration files. A fault names the file, the line and the key. All faults of all files are
//! reported at once, so that a user need not repair one at each start.

use std::fmt;
use std::path::PathBuf;

/// A fault in a configuration file or in a `-c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, or "the environment"; `None` for the command line.
    pub file: Option<PathBuf>,
    /// The line, counted from one, if it is known.
    pub line: Option<usize>,
    /// The key with the names of its tables; empty if the fault is not about a key.
    pub key: String,
    /// The problem.
    pub problem: Problem,
}

/// The kinds of problems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file could not be read.
    Unreadable {
        /// The system's error.
        reason: String,
    },
    /// The file is not TOML.
    NotToml {
        /// The parser's error.
        reason: String,
    },
    /// No such key is known.
    UnknownKey {
        /// The known key that is closest.
        meant: Option<String>,
        /// The known keys.
        known: Vec<String>,
    },
    /// The value has the wrong type, or is out of bounds.
    WrongType {
        /// The type that is expected.
        expected: String,
        /// The value that was found.
        found: String,
    },
    /// The value is not one of the accepted words.
    UnknownWord {
        /// The accepted words.
        allowed: Vec<&'static str>,
        /// The word that was found.
        found: String,
        /// The accepted word that is closest.
        meant: Option<&'static str>,
    },
    /// Another value is required.
    Missing {
        /// The value that is missing.
        what: String,
    },
    /// Two values are incompatible.
    Conflict {
        /// The reason.
        reason: String,
    },
    /// A name of a profile, a provider or a role refers to nothing.
    NoSuch {
        /// The kind of thing, such as "profile".
        what: &'static str,
        /// Its name.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
}

/// All faults of one load; never empty.
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
