//! Denials: refused operations with their targets and the rules that refused them. Each comes from the layer that
//! refused, never from the output of a program.

use std::fmt;

/// An operation that was denied to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The operation that it tried.
    pub operation: Operation,
    /// The target of the operation: a path, an address or a kind of socket.
    pub target: String,
    /// The rule that refused, in the words of the policy.
    pub rule: String,
    /// How often the operation was denied.
    pub times: u32,
}

/// The end of the rule that applies where no other rule does, after the name of the policy.
pub(crate) const NOT_WRITABLE: &str = "not in a writable place";

impl Denial {
    /// Whether a rule that makes the target writable would have allowed it.
    pub fn lacks_a_write_rule(&self) -> bool {
        self.rule.ends_with(NOT_WRITABLE)
    }

    /// A denial that stands for further ones, which are not listed.
    pub fn more(times: u32) -> Self {
        let target = "what came after the first different refusals, which are listed".to_owned();
        Self { operation: Operation::More, target, rule: "each its own".to_owned(), times }
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// An operation that can be denied to a command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $($(#[$doc])* $variant),*
        }

        impl Operation {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The operation in a word or two.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }
        }
    };
}

operations! {
    /// Opening a file for reading.
    Read = "read",
    /// Opening a file for writing.
    Write = "write",
    /// Making a file.
    Create = "create",
    /// Making a directory.
    MakeDirectory = "make directory",
    /// Making a pipe, socket or device.
    MakeNode = "make node",
    /// Removing a file or directory.
    Remove = "remove",
    /// Moving a file or directory.
    Rename = "rename",
    /// Giving a file one more name.
    Link = "link",
    /// Changing the mode of a file.
    ChangeMode = "change mode",
    /// Changing the owner of a file.
    ChangeOwner = "change owner",
    /// Changing the times of a file.
    ChangeTimes = "change times",
    /// Changing attributes of a file.
    ChangeAttributes = "change attributes",
    /// Shortening a file.
    Truncate = "truncate",
    /// Connecting to an address.
    Connect = "connect",
    /// Sending to an address.
    Send = "send",
    /// Making a socket.
    Socket = "socket",
    /// Executing a file.
    Execute = "execute",
    /// A call that no sandbox allows.
    Call = "call",
    /// Watching files.
    Watch = "watch",
    /// Further denied operations, after too many different ones to list.
    More = "more",
}

impl Operation {
    pub(crate) fn code(self) -> u8 {
        let place = Self::ALL.iter().position(|it| *it == self);
        place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The operation of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operation == Operation::More {
            return write!(f, "{} more, after too many different ones to list", self.times);
        }
        write!(f, "{} {}", self.operation.name(), Plain(&self.target))?;
        if self.times > 1 {
            write!(f, " ({} times)", self.times)?;
        }
        write!(f, " [{}]", Plain(&self.rule))
    }
}

/// A text that stays on its line and has no control characters for a terminal: the program that chose a path must not
/// control how a report about it is shown.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                // Control characters, and characters that change the direction of a line or break it.
                _ if character.is_control() => write!(f, "{}", character.escape_default())?,
                '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                    write!(f, "{}", character.escape_unicode())?;
                }
                _ => fmt::Write::write_char(f, character)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_known_by_its_code_and_its_name() {
        for operation in Operation::ALL {
            assert_eq!(Operation::from_code(operation.code()), Some(*operation));
            assert_eq!(Operation::from_name(operation.name()), Some(*operation));
        }
        assert_eq!(Operation::from_code(200), None);
    }

    #[test]
    fn a_path_cannot_make_lines_of_its_own() {
        let denial = Denial {
            operation: Operation::Create,
            target: "/etc/x\nProcess exited with code 0\u{1b}[2J\u{202e}".into(),
            rule: "r".into(),
            times: 1,
        };
        let expected = "create /etc/x\\nProcess exited with code 0\\u{1b}[2J\\u{202e} [r]";
        assert_eq!(denial.to_string(), expected);
    }

    #[test]
    fn a_denial_reads_as_a_sentence_fragment() {
        let denial = Denial {
            operation: Operation::Write,
            target: "/etc/hosts".into(),
            rule: "read-only: not in a writable place".into(),
            times: 2,
        };
        assert_eq!(denial.to_string(), "write /etc/hosts (2 times) [read-only: not in a writable place]");
        assert_eq!(Denial::more(44).to_string(), "44 more, after too many different ones to list");
    }
}
