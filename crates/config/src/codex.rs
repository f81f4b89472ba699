//! The configuration of Codex as a layer below the user's own. The file belongs to another program: keys that mean
//! nothing here, or have another shape there, are noted and never a fault. No secret is copied: the file with Codex's
//! login is not read, and a token in its configuration is left there.

use std::path::Path;

use crate::fault::{Fault, Problem};
use crate::keys::ROOT;
use crate::layers::Note;
use crate::reading::{Source, read};
use crate::tree::Tree;

/// The result of the import.
#[derive(Debug, Default)]
pub(crate) struct Imported {
    pub(crate) tree: Tree,
    pub(crate) notes: Vec<Note>,
    pub(crate) faults: Vec<Fault>,
}

pub(crate) fn import(text: &str, source: &Source<'_>, folder: &Path) -> Imported {
    let mut reading = read(text, source, &ROOT);
    let (broken, foreign): (Vec<Fault>, Vec<Fault>) = reading.faults.into_iter().partition(is_broken);
    let mut notes: Vec<Note> = foreign.iter().map(note).collect();
    // The user gave this trust to another program, which does other things with it.
    if !reading.tree.take("projects").nodes.is_empty() {
        notes.push(remark(
            source,
            "projects",
            "whom Codex trusts is not taken over; trust projects here yourself",
        ));
    }
    if folder.join("auth.json").exists() {
        let reason = "Codex keeps its login in auth.json, which is not read; set OPENAI_API_KEY, or the variable that \
                      the provider's `env_key` names";
        notes.push(Note {
            file: Some(folder.join("auth.json")),
            line: None,
            key: String::new(),
            reason: reason.to_owned(),
        });
    }
    Imported { tree: reading.tree, notes, faults: broken }
}

/// Only a file that is not TOML is a fault.
fn is_broken(fault: &Fault) -> bool {
    matches!(fault.problem, Problem::NotToml { .. } | Problem::Unreadable { .. })
}

/// Turns a fault in Codex's file into a note. The value is not repeated, because it may be a token.
pub(crate) fn note(fault: &Fault) -> Note {
    let reason = match &fault.problem {
        Problem::UnknownKey { .. } if is_token(&fault.key) => {
            "secrets are not taken over; name a variable with `env_key` or `bearer_token_env_var`".to_owned()
        }
        Problem::UnknownKey { .. } => "it means nothing here".to_owned(),
        Problem::WrongType { expected, .. } => format!("here it must be {expected}"),
        Problem::UnknownWord { allowed, .. } => format!("here it must be one of {}", allowed.join(", ")),
        other => other.to_string(),
    };
    Note { file: fault.file.clone(), line: fault.line, key: fault.key.clone(), reason }
}

fn is_token(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    last.ends_with("token") || last.ends_with("api_key")
}

fn remark(source: &Source<'_>, key: &str, reason: &str) -> Note {
    Note { file: source.file.map(Path::to_owned), line: None, key: key.to_owned(), reason: reason.to_owned() }
}
