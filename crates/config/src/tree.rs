//! Settings as a tree of values with their origins, before they get their types. Each layer is a checked tree; putting
//! one over another replaces single values, never whole tables.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A value of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A list of texts.
    Texts(Vec<String>),
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueOrigin {
    /// The layer.
    pub layer: Layer,
    /// The file, if the layer is one.
    pub file: Option<PathBuf>,
    /// The line in it, counted from one.
    pub line: Option<usize>,
}

/// The layers, the lowest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The built-in defaults.
    BuiltIn,
    /// An environment variable of this name.
    Variable(&'static str),
    /// The administrator's file.
    System,
    /// The configuration of Codex, if it was asked for.
    Codex,
    /// The user's file.
    User,
    /// A profile of this name.
    Profile(String),
    /// A file of the project.
    Project,
    /// `-c key=value`.
    CommandLine,
    /// The configuration file of a sub-agent's role.
    Role(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TreeValue {
    pub(crate) value: Value,
    pub(crate) origin: ValueOrigin,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Leaf(TreeValue),
    Table(Tree),
}

/// A table of values and of further tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tree {
    pub(crate) nodes: BTreeMap<String, Node>,
    /// The place where the table begins; `None` for the root.
    pub(crate) origin: Option<ValueOrigin>,
}

/// The path to a value: the names of the tables, and its own.
pub(crate) type Path = Vec<String>;

impl Tree {
    /// Merges a higher layer into this tree.
    pub(crate) fn overlay(&mut self, above: Tree) {
        self.origin = above.origin.or(self.origin.take());
        for (name, node) in above.nodes {
            match (self.nodes.get_mut(&name), node) {
                (Some(Node::Table(here)), Node::Table(above)) => here.overlay(above),
                (_, node) => drop(self.nodes.insert(name, node)),
            }
        }
    }

    pub(crate) fn table(&self, name: &str) -> Option<&Tree> {
        match self.nodes.get(name) {
            Some(Node::Table(table)) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn leaf(&self, name: &str) -> Option<&TreeValue> {
        match self.nodes.get(name) {
            Some(Node::Leaf(leaf)) => Some(leaf),
            _ => None,
        }
    }

    /// The value at a path.
    pub(crate) fn find(&self, path: &[String]) -> Option<&TreeValue> {
        match path {
            [] => None,
            [name] => self.leaf(name),
            [name, rest @ ..] => self.table(name)?.find(rest),
        }
    }

    /// Removes a whole table and returns it.
    pub(crate) fn take(&mut self, name: &str) -> Tree {
        match self.nodes.remove(name) {
            Some(Node::Table(table)) => table,
            _ => Tree::default(),
        }
    }

    /// Sets a value at a path, and creates the tables on the way.
    pub(crate) fn put(&mut self, path: &[String], leaf: TreeValue) {
        match path {
            [] => {}
            [name] => drop(self.nodes.insert(name.clone(), Node::Leaf(leaf))),
            [name, rest @ ..] => {
                let table = || Tree { origin: Some(leaf.origin.clone()), ..Tree::default() };
                let node = self.nodes.entry(name.clone()).or_insert_with(|| Node::Table(table()));
                if let Node::Table(table) = node {
                    table.put(rest, leaf);
                }
            }
        }
    }

    /// Every value with its path, in the order of the names.
    pub(crate) fn leaves(&self) -> Vec<(Path, &TreeValue)> {
        let mut found = Vec::new();
        self.collect(&mut Vec::new(), &mut found);
        found
    }

    fn collect<'t>(&'t self, path: &mut Path, found: &mut Vec<(Path, &'t TreeValue)>) {
        for (name, node) in &self.nodes {
            path.push(name.clone());
            match node {
                Node::Leaf(leaf) => found.push((path.clone(), leaf)),
                Node::Table(table) => table.collect(path, found),
            }
            path.pop();
        }
    }

    /// Assigns all values to another layer.
    pub(crate) fn relabel(&mut self, layer: &Layer) {
        for node in self.nodes.values_mut() {
            match node {
                Node::Leaf(leaf) => leaf.origin.layer = layer.clone(),
                Node::Table(table) => table.relabel(layer),
            }
        }
    }
}

/// A path in the form of a file, with names quoted where necessary.
pub(crate) fn dotted(path: &[String]) -> String {
    let bare = |name: &String| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    let words = path.iter().map(|name| if bare(name) { name.clone() } else { format!("{name:?}") });
    words.collect::<Vec<_>>().join(".")
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Texts(texts) => write!(f, "{texts:?}"),
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::System => f.write_str("system"),
            Self::Codex => f.write_str("Codex"),
            Self::User => f.write_str("user"),
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::Project => f.write_str("project"),
            Self::CommandLine => f.write_str("command line"),
            Self::Role(name) => write!(f, "role {name}"),
        }
    }
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}, {}:{line}", self.layer, file.display()),
            (Some(file), None) => write!(f, "{}, {}", self.layer, file.display()),
            (None, _) => write!(f, "{}", self.layer),
        }
    }
}
