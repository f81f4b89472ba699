//! The restrictions on a project's file. A trusted project may configure itself and may be stricter than its user.
//! Values that go further are left out and noted, and the rest of the file counts. A user's own file for a role may set
//! more, but a sub-agent is never less confined than the agent that started it.

use std::path::Path;

use crate::keys::{ProjectReach, ROOT, Shape, Table};
use crate::layers::Note;
use crate::tree::{Layer, Tree, TreeValue, Value, dotted};

/// The author of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigAuthor {
    /// A project, in a directory that the user trusts by name.
    Project,
    /// A directory of a trusted project that the user did not name. It may set what a project may set, except programs.
    Folder,
    /// The user, for a role of sub-agents.
    Role,
}

/// The values of the lower layers, and the root of the project.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'b> {
    pub(crate) base: &'b Tree,
    pub(crate) root: &'b Path,
}

/// Splits a tree into the part that its author may set, and notes on the rest.
pub(crate) fn confine(said: &Tree, speaker: ConfigAuthor, bounds: Bounds<'_>) -> (Tree, Vec<Note>) {
    let (mut kept, mut notes) = (Tree::default(), Vec::new());
    for (path, leaf) in said.leaves() {
        let judge = Judge { speaker, base: bounds.base, root: bounds.root, path: &path, leaf };
        if judge.allows() {
            kept.put(&path, leaf.clone());
        } else {
            notes.push(judge.note());
        }
    }
    (kept, notes)
}

struct Judge<'j> {
    speaker: ConfigAuthor,
    base: &'j Tree,
    root: &'j Path,
    path: &'j [String],
    leaf: &'j TreeValue,
}

impl Judge<'_> {
    fn reach(&self) -> ProjectReach {
        reach(&ROOT, self.path).unwrap_or(ProjectReach::Users)
    }

    fn allows(&self) -> bool {
        let users = self.base.find(self.path).map(|leaf| &leaf.value);
        match (self.reach(), &self.leaf.value, users) {
            (ProjectReach::Free, ..) => true,
            (ProjectReach::Users | ProjectReach::Unclaimed | ProjectReach::Within, ..)
                if self.speaker == ConfigAuthor::Role =>
            {
                true
            }
            (ProjectReach::Users, ..) => false,
            _ if self.speaker == ConfigAuthor::Folder && self.is_about_a_new_server() => false,
            (ProjectReach::Unclaimed, ..) if self.speaker == ConfigAuthor::Folder => false,
            (ProjectReach::Unclaimed, ..) => !self.is_claimed(),
            (_, value, Some(users)) if value == users => true,
            (ProjectReach::Stricter(words), Value::Text(new), Some(Value::Text(old))) => {
                let place = |word: &str| words.iter().position(|known| *known == word);
                place(new) <= place(old)
            }
            (ProjectReach::Approval, Value::Text(new), Some(Value::Text(old))) => {
                new == "untrusted" || (new == "never" && old == "on-request")
            }
            (ProjectReach::OnlyTrue, Value::Flag(flag), _) => *flag,
            (ProjectReach::OnlyFalse, Value::Flag(flag), users) => {
                !*flag || (users.is_none() && self.is_own_server())
            }
            (ProjectReach::AtMost, Value::Whole(new), Some(Value::Whole(old))) => new <= old,
            (ProjectReach::Fewer, Value::Texts(new), users) => is_fewer(new, users),
            (ProjectReach::More, Value::Texts(new), Some(Value::Texts(old))) => {
                old.iter().all(|one| new.contains(one))
            }
            (ProjectReach::More, _, None) => true,
            (ProjectReach::Within, Value::Text(place), _) => is_within(Path::new(place), self.root),
            _ => false,
        }
    }

    /// Whether the user has configured the server to which the value belongs.
    fn is_claimed(&self) -> bool {
        match self.path {
            [servers, name, ..] => {
                let server = self.base.table(servers).and_then(|servers| servers.table(name));
                let leaves = server.map(Tree::leaves).unwrap_or_default();
                leaves.iter().any(|(_, leaf)| leaf.origin.layer != Layer::Project)
            }
            _ => true,
        }
    }

    /// Whether the value belongs to a server that no lower layer names. Half of a server would be a fault in the
    /// settings.
    fn is_about_a_new_server(&self) -> bool {
        match self.path {
            [servers, name, ..] if servers == "mcp_servers" => {
                self.base.table(servers).is_none_or(|servers| servers.table(name).is_none())
            }
            _ => false,
        }
    }

    fn is_own_server(&self) -> bool {
        self.path.first().is_some_and(|table| table == "mcp_servers") && !self.is_claimed()
    }

    fn note(&self) -> Note {
        let origin = &self.leaf.origin;
        let is_server = self.path.first().is_some_and(|table| table == "mcp_servers");
        let reason = match self.reach() {
            ProjectReach::Users => "only you can set it, in your own file or with -c".to_owned(),
            _ if self.speaker == ConfigAuthor::Folder && is_server => {
                "you trust the project, but not this folder of it, so it cannot bring programs".to_owned()
            }
            ProjectReach::Unclaimed => "you have configured this server yourself".to_owned(),
            ProjectReach::Within => "it leads out of the project".to_owned(),
            reach if self.speaker == ConfigAuthor::Role => {
                format!("a sub-agent is confined as its parent is, or more: here {}", reach.words())
            }
            reach => format!("a project's file may say {}", reach.words()),
        };
        Note { file: origin.file.clone(), line: origin.line, key: dotted(self.path), reason }
    }
}

/// Whether a list is at most the user's. Lists that narrow something down, `include_only` and `enabled_tools`, mean
/// "anything" when they are absent. `writable_roots`, which adds directories, has a built-in value and is never absent.
fn is_fewer(fewer: &[String], users: Option<&Value>) -> bool {
    match users {
        Some(Value::Texts(users)) => fewer.iter().all(|one| users.contains(one)),
        _ => true,
    }
}

/// Whether a path lies in the project, both literally and with links resolved.
fn is_within(place: &Path, root: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    place.starts_with(root) && real(place).starts_with(real(root))
}

/// The values that a project may set at a path. The restriction of the last name applies, not those of the tables above
/// it.
fn reach(table: &Table, path: &[String]) -> Option<ProjectReach> {
    let (name, rest) = path.split_first()?;
    let (shape, own) = match table.key(name) {
        Some(key) => (key.shape, key.reach),
        None => table.others.as_ref().map(|others| (others.shape, others.reach))?,
    };
    match (shape, rest) {
        (Shape::Table(below), [_, ..]) => reach(below, rest),
        (_, []) => Some(own),
        _ => None,
    }
}
