//! The slash commands: input for windlass itself instead of the model.

use super::lines::{Line, Paint};

/// A slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Status,
    /// Shows the model, or changes to another one.
    Model(Option<String>),
    Compact,
    Plan,
    Agents,
    Diff,
    New,
    /// Resumes a conversation, or lists the newest ones if none is named.
    Resume(Option<String>),
    Quit,
    Unknown(String),
}

/// Name, optional argument, and description.
const COMMANDS: [(&str, &str, &str); 10] = [
    ("help", "", "this list"),
    ("status", "", "the conversation, its model, what it may touch and what it cost"),
    ("model", "[NAME]", "which model answers, or another one from now on"),
    ("compact", "", "replace the conversation so far by a summary, now or once this turn is over"),
    ("plan", "", "the plan as it stands"),
    ("agents", "", "the sub-agents and how they are"),
    ("diff", "", "what git says has changed"),
    ("new", "", "begin a new conversation"),
    ("resume", "[ID]", "list earlier conversations, or go on with one"),
    ("quit", "", "leave; Ctrl-C twice and Ctrl-D do too"),
];

const KEYS: [(&str, &str); 5] = [
    ("Enter", "sends; while it works, what you say is heard at the next step"),
    ("Alt-Enter", "a new line"),
    ("Esc, Ctrl-C", "interrupts"),
    ("Up, Down", "what you said before"),
    ("Ctrl-W, Ctrl-U, Ctrl-K", "delete a word, to the start, to the end"),
];

impl Command {
    /// The command in a text; `None` if the text is for the model, as a path is.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let words = text.trim().strip_prefix('/')?;
        let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        if name.contains('/') || text.trim().contains('\n') {
            return None;
        }
        let rest = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
        Some(match name {
            "help" | "?" => Self::Help,
            "status" => Self::Status,
            "model" => Self::Model(rest),
            "compact" => Self::Compact,
            "plan" => Self::Plan,
            "agents" => Self::Agents,
            "diff" => Self::Diff,
            "new" | "clear" => Self::New,
            "resume" => Self::Resume(rest),
            "quit" | "exit" => Self::Quit,
            _ => Self::Unknown(name.to_owned()),
        })
    }
}

/// The list of commands.
pub(super) fn help() -> Vec<Line> {
    let command = |(name, rest, about)| row(&format!("/{name} {rest}"), about);
    let key = |(name, about): (&str, &str)| row(name, about);
    COMMANDS.map(command).into_iter().chain([Line::blank()]).chain(KEYS.map(key)).collect()
}

fn row(name: &str, about: &str) -> Line {
    Line::of(Paint::Bold, &format!("{name:<24}")).and(Paint::Plain, about).hanging(24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_a_slash_are_commands_and_paths_are_not() {
        for (text, expected) in [
            ("/help", Some(Command::Help)),
            ("  /model  fast ", Some(Command::Model(Some("fast".into())))),
            ("/resume", Some(Command::Resume(None))),
            ("/exit", Some(Command::Quit)),
            ("/hepl me", Some(Command::Unknown("hepl".into()))),
            ("/etc/passwd is readable", None),
            ("/compact\nand go on", None),
            ("help", None),
        ] {
            assert_eq!(Command::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn every_command_of_the_list_is_one() {
        for (name, _, _) in COMMANDS {
            let parsed = Command::parse(&format!("/{name}"));
            assert!(!matches!(parsed, Some(Command::Unknown(_)) | None), "{name}");
        }
    }
}
