//! From TOML to a checked tree: every key known, every value of the right type, each with its line. Faults are
//! collected and reading goes on, so that all faults of a file are reported together.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use toml_edit::{Document, Item, Key as WrittenKey, TableLike, Value as Written};

use crate::closest::closest;
use crate::fault::{Fault, Problem};
use crate::keys::{Shape, Table};
use crate::tree::{Layer, Node, Tree, TreeValue, Value, ValueOrigin, dotted};

/// The largest configuration file.
pub(crate) const LARGEST: usize = 1 << 20;
/// The most faults that are reported for one file.
const MOST_FAULTS: usize = 100;

/// The origin of a text, and the directory to which its relative paths are relative.
#[derive(Clone, Debug)]
pub(crate) struct Source<'s> {
    pub(crate) layer: Layer,
    pub(crate) file: Option<&'s Path>,
    pub(crate) folder: &'s Path,
    pub(crate) home: Option<&'s Path>,
}

/// The values of a text, and its faults.
#[derive(Debug, Default)]
pub(crate) struct ParsedConfig {
    pub(crate) tree: Tree,
    pub(crate) faults: Vec<Fault>,
}

/// Checks a text against a table of keys.
pub(crate) fn read(text: &str, source: &Source<'_>, table: &Table) -> ParsedConfig {
    let mut reader = Reader { text, source, path: Vec::new(), faults: Vec::new() };
    if text.len() > LARGEST {
        reader.fault(None, Problem::Unreadable { reason: format!("it has more than {LARGEST} bytes") });
        return ParsedConfig { tree: Tree::default(), faults: reader.faults };
    }
    let tree = match Document::parse(text) {
        Ok(document) => reader.table(document.as_table(), table),
        Err(error) => {
            let reason = error.message().trim().replace('\n', "; ");
            reader.fault(error.span(), Problem::NotToml { reason });
            Tree::default()
        }
    };
    reader.faults.truncate(MOST_FAULTS);
    ParsedConfig { tree, faults: reader.faults }
}

struct Reader<'t> {
    text: &'t str,
    source: &'t Source<'t>,
    path: Vec<String>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn table(&mut self, written: &dyn TableLike, table: &Table) -> Tree {
        let mut tree = Tree::default();
        for (name, item) in written.iter() {
            let span = written.key(name).and_then(WrittenKey::span).or_else(|| item.span());
            let (own_name, shape) = match (table.key(name), &table.others) {
                (Some(key), _) => (key.name, key.shape),
                (None, Some(others)) if allows(others.shape, item) => (name, others.shape),
                (None, _) => {
                    self.unknown(name, span, table);
                    continue;
                }
            };
            self.path.push(name.to_owned());
            if let Some(node) = self.node(item, shape, span.clone()) {
                if tree.nodes.contains_key(own_name) {
                    self.said_twice(written, name, table);
                }
                tree.nodes.insert(own_name.to_owned(), node);
            }
            self.path.pop();
        }
        tree
    }

    /// Reports a key that was set under two of its names.
    fn said_twice(&mut self, written: &dyn TableLike, name: &str, table: &Table) {
        let own_name = |name: &str| table.key(name).map(|key| key.name);
        let other = written.iter().map(|(other, _)| other);
        let other = other.into_iter().find(|other| *other != name && own_name(other) == own_name(name));
        let reason = format!("says the same as `{}`, which is there too", other.unwrap_or(name));
        self.fault(written.key(name).and_then(WrittenKey::span), Problem::Conflict { reason });
    }

    fn node(&mut self, item: &Item, shape: Shape, span: Option<Range<usize>>) -> Option<Node> {
        if let Shape::Table(below) = shape {
            let Some(written) = item.as_table_like() else {
                self.wrong_type(item, shape, span);
                return None;
            };
            let origin = Some(self.origin(span));
            return Some(Node::Table(Tree { origin, ..self.table(written, below) }));
        }
        let value = self.value(item, shape, span.clone())?;
        Some(Node::Leaf(TreeValue { value, origin: self.origin(span) }))
    }

    fn origin(&self, span: Option<Range<usize>>) -> ValueOrigin {
        let file = self.source.file.map(Path::to_owned);
        ValueOrigin { layer: self.source.layer.clone(), file, line: self.line(span) }
    }

    fn value(&mut self, item: &Item, shape: Shape, span: Option<Range<usize>>) -> Option<Value> {
        if let (Shape::Word(words), Some(text)) = (shape, item.as_str()) {
            return self.word(text, words, span);
        }
        let value = match shape {
            Shape::Text => item.as_str().map(|text| Value::Text(text.to_owned())),
            Shape::Address => {
                item.as_str().filter(|text| is_address(text)).map(|text| Value::Text(text.to_owned()))
            }
            Shape::Place => item.as_str().and_then(|text| self.place(text)).map(Value::Text),
            Shape::Flag => item.as_bool().map(Value::Flag),
            Shape::Network => network(item),
            Shape::Whole { least, most } => {
                item.as_integer().filter(|number| (least..=most).contains(number)).map(Value::Whole)
            }
            Shape::Number => number(item).map(Value::Number),
            Shape::Texts => texts(item).map(Value::Texts),
            Shape::FileNames => {
                texts(item).filter(|names| names.iter().all(|name| is_file_name(name))).map(Value::Texts)
            }
            Shape::Places => texts(item)
                .and_then(|texts| texts.iter().map(|text| self.place(text)).collect())
                .map(Value::Texts),
            Shape::Word(_) | Shape::Table(_) => None,
        };
        if value.is_none() {
            self.wrong_type(item, shape, span);
        }
        value
    }

    fn word(
        &mut self,
        text: &str,
        words: &[(&'static str, &'static str)],
        span: Option<Range<usize>>,
    ) -> Option<Value> {
        if let Some((_, word)) = words.iter().find(|(written, _)| *written == text) {
            return Some(Value::Text((*word).to_owned()));
        }
        let allowed = words.iter().filter(|(written, word)| written == word).map(|(_, word)| *word).collect();
        let meant = closest(text, words.iter().map(|(written, _)| *written));
        let meant = words.iter().find(|(written, _)| Some(*written) == meant).map(|(_, word)| *word);
        self.fault(span, Problem::UnknownWord { allowed, found: quoted(text), meant });
        None
    }

    /// An absolute path, without `.` and `..`. Paths that begin with `~/` need a home.
    fn place(&self, text: &str) -> Option<String> {
        let path = match text.strip_prefix('~') {
            Some("") => self.source.home?.to_owned(),
            Some(rest) if rest.starts_with('/') => self.source.home?.join(rest.trim_start_matches('/')),
            _ if text.is_empty() => return None,
            _ => self.source.folder.join(text),
        };
        straight(&path).to_str().map(str::to_owned)
    }

    fn unknown(&mut self, name: &str, span: Option<Range<usize>>, table: &Table) {
        let known: Vec<String> = table.all().map(|key| key.name.to_owned()).collect();
        let names = table.all().flat_map(|key| std::iter::once(key.name).chain(key.also.iter().copied()));
        let meant = closest(name, names).map(str::to_owned);
        self.path.push(name.to_owned());
        self.fault(span, Problem::UnknownKey { meant, known });
        self.path.pop();
    }

    fn wrong_type(&mut self, item: &Item, shape: Shape, span: Option<Range<usize>>) {
        self.fault(span, Problem::WrongType { expected: shape.expected(), found: describe(item) });
    }

    fn fault(&mut self, span: Option<Range<usize>>, problem: Problem) {
        let line = self.line(span);
        let file = self.source.file.map(Path::to_owned);
        self.faults.push(Fault { file, line, key: dotted(&self.path), problem });
    }

    fn line(&self, span: Option<Range<usize>>) -> Option<usize> {
        self.source.file?;
        let until = &self.text.as_bytes()[..span?.start.min(self.text.len())];
        Some(until.iter().filter(|byte| **byte == b'\n').count() + 1)
    }
}

fn network(item: &Item) -> Option<Value> {
    if let Some(flag) = item.as_bool() {
        return Some(Value::Flag(flag));
    }
    match item.as_str() {
        Some("off") => Some(Value::Flag(false)),
        Some("on") => Some(Value::Flag(true)),
        Some("loopback") => Some(Value::Text("loopback".to_owned())),
        Some(_) => None,
        None => texts(item).filter(|hosts| !hosts.is_empty()).map(Value::Texts),
    }
}

/// Whether an entry can be one whose name the user chose, in a table that also has known keys: only if it has the shape
/// of such entries, so that a misspelt key is not taken for a name.
fn allows(shape: Shape, item: &Item) -> bool {
    !matches!(shape, Shape::Table(_)) || item.is_table_like()
}

fn texts(item: &Item) -> Option<Vec<String>> {
    item.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

fn number(item: &Item) -> Option<f64> {
    let whole = item.as_integer().and_then(|number| i32::try_from(number).ok()).map(f64::from);
    whole.or_else(|| item.as_float()).filter(|number| number.is_finite() && *number >= 0.0)
}

pub(crate) fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c.is_control()))
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

/// A path without `.` and `..`, computed lexically, because a path that does not exist cannot be resolved.
pub(crate) fn straight(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(straight.pop()),
            other => straight.push(other),
        }
    }
    straight
}

fn describe(item: &Item) -> String {
    match item {
        Item::None => "nothing".to_owned(),
        Item::Table(_) | Item::Value(Written::InlineTable(_)) => "a table".to_owned(),
        Item::ArrayOfTables(_) => "a list of tables".to_owned(),
        Item::Value(Written::String(text)) => format!("the text {}", quoted(text.value())),
        Item::Value(Written::Integer(number)) => format!("the whole number {}", number.value()),
        Item::Value(Written::Float(number)) => format!("the number {}", number.value()),
        Item::Value(Written::Boolean(flag)) => format!("`{}`", flag.value()),
        Item::Value(Written::Datetime(date)) => format!("the date {}", date.value()),
        Item::Value(Written::Array(list)) if list.iter().all(Written::is_str) => "a list of texts".to_owned(),
        Item::Value(Written::Array(_)) => "a list".to_owned(),
    }
}

/// A text for a message: quoted, and shortened to fit a line.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}
