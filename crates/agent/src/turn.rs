//! One turn of work, as a pure state machine: events go in, actions come out. It has no side effects, so a test can try
//! every order of events.
//!
//! An item is kept for good once nothing can take it back. A call is kept at once, with all items before it, because it
//! is about to run; other items are kept when their response is complete. So a broken stream never runs a call twice
//! and never shows a message twice, and what it finished is not lost.

use windlass_llm::{Call, CallId, Content, ContentPart, Failure, Item, Remedy, Usage};

use crate::history::{HistoryEntry, ItemOrigin};

/// An event that the turn reacts to.
#[derive(Clone, Debug)]
pub(crate) enum Happened {
    /// The model finished an item.
    Item(Item),
    /// The model's response is complete.
    Completed(Usage),
    /// The response broke off.
    Broke(Failure),
    /// A tool returned a result.
    Answered(CallId, Vec<ContentPart>),
    /// The input that arrived up to a boundary. Empty if no more can come.
    Heard(Vec<HistoryEntry>),
    /// The pause before the next attempt is over.
    Rested,
    /// The conversation was compacted, or could not be.
    Compacted(Result<(), Failure>),
    /// The user or the parent interrupted the turn.
    Interrupted,
}

/// An action that the worker carries out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TurnAction {
    /// Append this to the conversation.
    Keep(HistoryEntry),
    /// Run this call.
    Start(Call),
    /// Send the conversation to the model.
    Ask,
    /// Wait a little, then report `Rested`. Attempts count from one.
    Rest { attempt: u32, failure: Failure },
    /// Compact the conversation, then report `Compacted`.
    Compact(Why),
    /// A boundary: report `Heard` with the input that arrived meanwhile. Where the model made no calls it has nothing
    /// left to do, so the report may wait until something happens.
    Listen { called: bool },
    /// Drop the stream and every call that still runs; report `Answered` for each of those calls.
    Abandon,
    /// The turn is over.
    End(TurnEnd),
}

/// Why a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It has reached the configured limit.
    Limit,
    /// The model rejected it as too long.
    Overflow,
    /// A person or a program asked for it.
    Wish,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TurnEnd {
    /// The model has nothing left to do.
    Completed,
    /// It cannot go on, for this reason.
    Failed(String),
    /// It was interrupted.
    Interrupted,
}

/// The limits on the attempts and on the size of the conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryLimits {
    /// Failed attempts in a row before the turn fails.
    pub(crate) most_tries: u32,
    /// The size of the conversation, in tokens, from which it is compacted.
    pub(crate) compact_at: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    /// The model is writing.
    Asking,
    /// An attempt failed; the turn waits before the next one.
    Resting,
    /// The response is complete or broken; calls still run.
    Working(After),
    /// The turn waits for input at a boundary.
    Listening,
    /// The conversation is being compacted.
    Compacting,
    /// Interrupted; the turn waits for the results of the calls that were dropped.
    Stopping,
    Over,
}

/// The next step when all calls have results.
#[derive(Clone, Debug, PartialEq)]
enum After {
    /// A boundary, then the next request if there is anything to answer.
    Boundary,
    /// The next request, after a pause, because the response broke.
    Rest(Failure),
    /// Compaction, then the next request.
    Shorten,
    /// The end of the turn.
    Fail(String),
}

/// A call of the present response.
#[derive(Clone, Debug)]
struct Slot {
    call: Call,
    answer: Option<Vec<ContentPart>>,
}

/// A turn in progress.
#[derive(Debug)]
pub(crate) struct Turn {
    patience: RetryLimits,
    phase: Phase,
    /// Items of the present response that are not kept yet.
    loose: Vec<Item>,
    /// Calls whose results are not kept yet, in order.
    slots: Vec<Slot>,
    /// Calls that were run since the last complete response: a repeated stream may name them again.
    run: Vec<Call>,
    /// Whether the present response had calls.
    called: bool,
    tries: u32,
    overflowed: bool,
    /// Whether the turn ends after compaction.
    only_compacts: bool,
    filled: u64,
}

impl Turn {
    /// A turn that begins with this input. The first action asks the model, or compacts the conversation first.
    pub(crate) fn begin(
        patience: RetryLimits,
        words: Vec<HistoryEntry>,
        filled: u64,
    ) -> (Self, Vec<TurnAction>) {
        let mut turn = Self::new(patience, filled);
        let mut orders = Vec::new();
        turn.keep_all(words, &mut orders);
        turn.ask(&mut orders);
        (turn, orders)
    }

    /// A turn that only compacts the conversation.
    pub(crate) fn summing_up(patience: RetryLimits) -> (Self, Vec<TurnAction>) {
        let mut turn = Self { only_compacts: true, ..Self::new(patience, 0) };
        let mut orders = Vec::new();
        turn.compact(Why::Wish, &mut orders);
        (turn, orders)
    }

    fn new(patience: RetryLimits, filled: u64) -> Self {
        Self {
            patience,
            phase: Phase::Asking,
            loose: Vec::new(),
            slots: Vec::new(),
            run: Vec::new(),
            called: false,
            tries: 0,
            overflowed: false,
            only_compacts: false,
            filled,
        }
    }

    /// Whether the turn has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Advances the turn by one event. Returns the actions to carry out.
    pub(crate) fn on(&mut self, happened: Happened) -> Vec<TurnAction> {
        let mut orders = Vec::new();
        match happened {
            _ if self.is_over() => {}
            Happened::Interrupted => self.interrupt(&mut orders),
            Happened::Answered(id, parts) => self.answered(&id, parts, &mut orders),
            Happened::Item(item) if self.phase == Phase::Asking => self.item(item, &mut orders),
            Happened::Completed(usage) if self.phase == Phase::Asking => self.completed(usage, &mut orders),
            Happened::Broke(failure) if self.phase == Phase::Asking => self.broke(failure, &mut orders),
            Happened::Rested if self.phase == Phase::Resting => self.ask(&mut orders),
            Happened::Heard(entries) if self.phase == Phase::Listening => self.heard(entries, &mut orders),
            Happened::Compacted(result) if self.phase == Phase::Compacting => {
                self.compacted(result, &mut orders);
            }
            // A stream or a pause that was dropped may have sent this event before.
            Happened::Item(_)
            | Happened::Completed(_)
            | Happened::Broke(_)
            | Happened::Rested
            | Happened::Heard(_)
            | Happened::Compacted(_) => {}
        }
        orders
    }

    fn item(&mut self, item: Item, orders: &mut Vec<TurnAction>) {
        let Some(call) = item.as_call().cloned() else { return self.loose.push(item) };
        // Set even for a call that was run already, which is not run again: its result is in the conversation, and the
        // next request shows it to the model.
        self.called = true;
        if self.run.contains(&call) {
            return;
        }
        self.keep_loose(orders);
        self.keep(HistoryEntry { origin: ItemOrigin::Model, item }, orders);
        orders.push(TurnAction::Start(call.clone()));
        self.run.push(call.clone());
        self.slots.push(Slot { call, answer: None });
    }

    fn completed(&mut self, usage: Usage, orders: &mut Vec<TurnAction>) {
        self.keep_loose(orders);
        self.filled = usage.total();
        (self.tries, self.overflowed) = (0, false);
        self.run.clear();
        self.work(After::Boundary, orders);
    }

    fn broke(&mut self, failure: Failure, orders: &mut Vec<TurnAction>) {
        let asks_again = match failure.remedy {
            Remedy::Retry { .. } => true,
            Remedy::Shorten => !self.overflowed,
            Remedy::GiveUp => false,
        };
        if asks_again {
            // The next response says it again.
            self.loose.clear();
        }
        // Reasoning that is not followed by a message or a call is useless in the conversation.
        while self.loose.last().is_some_and(is_thought) {
            self.loose.pop();
        }
        self.keep_loose(orders);
        let after = match failure.remedy {
            Remedy::Retry { .. } => After::Rest(failure),
            Remedy::Shorten if !self.overflowed => After::Shorten,
            Remedy::Shorten | Remedy::GiveUp => After::Fail(failure.message),
        };
        if self.called {
            // A call ran since, so the next attempt is not a repetition.
            self.tries = 0;
        }
        self.work(after, orders);
    }

    fn answered(&mut self, id: &CallId, parts: Vec<ContentPart>, orders: &mut Vec<TurnAction>) {
        let slot = self.slots.iter_mut().find(|slot| slot.call.id == *id && slot.answer.is_none());
        let Some(slot) = slot else { return };
        slot.answer = Some(parts);
        match self.phase.clone() {
            Phase::Working(after) => self.work(after, orders),
            Phase::Stopping => self.stop(orders),
            _ => {}
        }
    }

    fn compacted(&mut self, result: Result<(), Failure>, orders: &mut Vec<TurnAction>) {
        self.filled = 0;
        match result {
            Ok(()) if self.only_compacts => self.end(TurnEnd::Completed, orders),
            Ok(()) => self.ask(orders),
            Err(failure) => self.end(TurnEnd::Failed(failure.message), orders),
        }
    }

    fn interrupt(&mut self, orders: &mut Vec<TurnAction>) {
        if self.phase == Phase::Stopping {
            return;
        }
        self.loose.clear();
        orders.push(TurnAction::Abandon);
        self.phase = Phase::Stopping;
        self.stop(orders);
    }

    fn stop(&mut self, orders: &mut Vec<TurnAction>) {
        self.keep_answers(orders);
        if self.slots.is_empty() {
            self.end(TurnEnd::Interrupted, orders);
        }
    }

    /// Ends the response. The next step follows once all its calls have results.
    fn work(&mut self, after: After, orders: &mut Vec<TurnAction>) {
        self.keep_answers(orders);
        if !self.slots.is_empty() {
            self.phase = Phase::Working(after);
            return;
        }
        match after {
            After::Boundary => {
                self.phase = Phase::Listening;
                orders.push(TurnAction::Listen { called: self.called });
            }
            After::Rest(failure) => self.rest(failure, orders),
            After::Shorten => {
                self.overflowed = true;
                self.compact(Why::Overflow, orders);
            }
            After::Fail(message) => self.end(TurnEnd::Failed(message), orders),
        }
    }

    fn heard(&mut self, entries: Vec<HistoryEntry>, orders: &mut Vec<TurnAction>) {
        if !self.called && entries.is_empty() {
            return self.end(TurnEnd::Completed, orders);
        }
        self.keep_all(entries, orders);
        self.ask(orders);
    }

    fn rest(&mut self, failure: Failure, orders: &mut Vec<TurnAction>) {
        self.tries += 1;
        if self.tries > self.patience.most_tries {
            return self.end(TurnEnd::Failed(failure.message), orders);
        }
        self.phase = Phase::Resting;
        orders.push(TurnAction::Rest { attempt: self.tries, failure });
    }

    fn ask(&mut self, orders: &mut Vec<TurnAction>) {
        if self.patience.compact_at.is_some_and(|limit| self.filled >= limit) {
            return self.compact(Why::Limit, orders);
        }
        self.called = false;
        self.phase = Phase::Asking;
        orders.push(TurnAction::Ask);
    }

    fn compact(&mut self, why: Why, orders: &mut Vec<TurnAction>) {
        self.phase = Phase::Compacting;
        orders.push(TurnAction::Compact(why));
    }

    fn end(&mut self, ending: TurnEnd, orders: &mut Vec<TurnAction>) {
        self.phase = Phase::Over;
        orders.push(TurnAction::End(ending));
    }

    fn keep_loose(&mut self, orders: &mut Vec<TurnAction>) {
        let loose = std::mem::take(&mut self.loose);
        self.keep_all(loose.into_iter().map(|item| HistoryEntry { origin: ItemOrigin::Model, item }), orders);
    }

    /// Keeps results in the order of their calls, each as soon as all before it are kept.
    fn keep_answers(&mut self, orders: &mut Vec<TurnAction>) {
        let ready = self.slots.iter().take_while(|slot| slot.answer.is_some()).count();
        let slots: Vec<Slot> = self.slots.drain(..ready).collect();
        for slot in slots {
            let item = Item::output(&slot.call, slot.answer.unwrap_or_default());
            self.keep(HistoryEntry { origin: ItemOrigin::Tool, item }, orders);
        }
    }

    fn keep_all(&mut self, entries: impl IntoIterator<Item = HistoryEntry>, orders: &mut Vec<TurnAction>) {
        entries.into_iter().for_each(|entry| self.keep(entry, orders));
    }

    fn keep(&mut self, entry: HistoryEntry, orders: &mut Vec<TurnAction>) {
        self.filled += entry.estimate();
        orders.push(TurnAction::Keep(entry));
    }
}

fn is_thought(item: &Item) -> bool {
    matches!(item.content(), Content::Reasoning { .. })
}

#[cfg(test)]
mod tests;
