//! The conversation so far: an append-only list of entries, which only compaction replaces.

use std::collections::VecDeque;

use windlass_llm::{Call, CallId, Content, ContentPart, Item, Role};

/// An item and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// Its origin.
    pub origin: ItemOrigin,
    /// The item itself.
    pub item: Item,
}

/// The origin of an item. The user's own messages survive compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemOrigin {
    /// Instructions and surroundings, at the beginning of the conversation.
    Context,
    /// The user's own message.
    User,
    /// A message of the program itself to the model.
    Notice,
    /// The model.
    Model,
    /// The result of a tool.
    Tool,
    /// The summary of a compacted conversation.
    Summary,
}

impl ItemOrigin {
    const NAMES: [(Self, &'static str); 6] = [
        (Self::Context, "context"),
        (Self::User, "user"),
        (Self::Notice, "notice"),
        (Self::Model, "model"),
        (Self::Tool, "tool"),
        (Self::Summary, "summary"),
    ];

    /// The origin's name in thread files.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(origin, _)| *origin == self).map_or("notice", |(_, name)| name)
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(origin, _)| *origin)
    }
}

impl HistoryEntry {
    /// A message of the user.
    pub fn user(item: Item) -> Self {
        Self { origin: ItemOrigin::User, item }
    }

    /// A notice of the program.
    pub fn notice(text: impl Into<String>) -> Self {
        Self { origin: ItemOrigin::Notice, item: Item::user(text) }
    }

    /// The estimated tokens of the item: one for each four bytes.
    pub(crate) fn estimate(&self) -> u64 {
        self.item.json().len() as u64 / 4
    }
}

/// A conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    entries: Vec<HistoryEntry>,
}

impl History {
    /// A conversation that was read from a file: calls without a result get one, and results without a call are
    /// dropped.
    pub(crate) fn restored(entries: Vec<HistoryEntry>) -> Self {
        Self { entries: paired(entries) }
    }

    pub(crate) fn push(&mut self, entry: HistoryEntry) {
        self.entries.push(entry);
    }

    pub(crate) fn replace(&mut self, entries: Vec<HistoryEntry>) {
        self.entries = entries;
    }

    pub(crate) fn entries(&self) -> &[HistoryEntry] {
        &self.entries
    }

    pub(crate) fn items(&self) -> Vec<Item> {
        self.entries.iter().map(|entry| entry.item.clone()).collect()
    }

    /// The part of this conversation that a sub-agent gets: messages, without instructions, tools and reasoning.
    pub(crate) fn words(&self) -> Vec<HistoryEntry> {
        let told = |entry: &&HistoryEntry| {
            let is_message = matches!(entry.item.content(), Content::Message { .. });
            is_message && entry.origin != ItemOrigin::Context
        };
        self.entries.iter().filter(told).cloned().collect()
    }
}

/// The result of a call whose real result was never stored.
const ABORTED: &str = "aborted";

/// Makes every call have exactly one result: drops results without a call, and adds an aborted one for each call that
/// is still open when a message to the model, or the end, follows.
fn paired(entries: Vec<HistoryEntry>) -> Vec<HistoryEntry> {
    let mut kept = Vec::with_capacity(entries.len());
    let mut open: VecDeque<Call> = VecDeque::new();
    for entry in entries {
        match entry.item.content() {
            Content::Call(call) => open.push_back(call.clone()),
            Content::Output { call, .. } if !close(&mut open, call) => continue,
            Content::Output { .. } | Content::Reasoning { .. } | Content::Other { .. } => {}
            // The model may speak between a call and its result.
            Content::Message { role: Role::Assistant, .. } => {}
            Content::Message { .. } => kept.extend(open.drain(..).map(|call| aborted(&call))),
        }
        kept.push(entry);
    }
    kept.extend(open.drain(..).map(|call| aborted(&call)));
    kept
}

/// Removes the call with this id from the open ones. Returns whether there was one.
fn close(open: &mut VecDeque<Call>, id: &CallId) -> bool {
    let place = open.iter().position(|call| call.id == *id);
    place.map(|place| open.remove(place)).is_some()
}

fn aborted(call: &Call) -> HistoryEntry {
    HistoryEntry {
        origin: ItemOrigin::Tool,
        item: Item::output(call, vec![ContentPart::Text(ABORTED.into())]),
    }
}

#[cfg(test)]
mod tests {
    use windlass_llm::Input;

    use super::*;

    fn call(id: &str) -> Call {
        let input = Input::Arguments("{}".into());
        Call { id: CallId(id.into()), name: "f".into(), namespace: None, input }
    }

    /// `c1` is a call, `o1` its answer, `u` the user, `a` the model.
    fn check(given: &str, expected: &str) {
        let entry = |word: &str| {
            let item = match word.split_at(1) {
                ("c", id) => Item::call(call(id)),
                ("o", id) => Item::output(&call(id), vec![ContentPart::Text("out".into())]),
                ("u", _) => Item::user("words"),
                _ => Item::message(Role::Assistant, vec![ContentPart::Text("words".into())]),
            };
            HistoryEntry { origin: ItemOrigin::Model, item }
        };
        let restored = History::restored(given.split_whitespace().map(entry).collect());
        let word = |entry: &HistoryEntry| match entry.item.content() {
            Content::Call(call) => format!("c{}", call.id),
            Content::Output { call, parts } if parts == &[ContentPart::Text(ABORTED.into())] => {
                format!("x{call}")
            }
            Content::Output { call, .. } => format!("o{call}"),
            Content::Message { role: Role::User, .. } => "u".into(),
            _ => "a".into(),
        };
        assert_eq!(restored.entries().iter().map(word).collect::<Vec<_>>().join(" "), expected, "{given}");
    }

    #[test]
    fn calls_and_answers_are_paired_when_a_conversation_is_restored() {
        check("u c1 c2 o1 o2 a", "u c1 c2 o1 o2 a");
        check("u c1 c2 o1", "u c1 c2 o1 x2");
        check("u c1 u", "u c1 x1 u");
        check("u o9 a", "u a");
        check("u c1 o1 o1 c1 o1", "u c1 o1 c1 o1");
    }

    #[test]
    fn every_origin_has_a_name_of_its_own() {
        for (origin, name) in ItemOrigin::NAMES {
            assert_eq!((origin.name(), ItemOrigin::named(name)), (name, Some(origin)));
        }
    }
}
