//! One turn of work, as a pure machine: what happened goes in, orders come out. It touches nothing, so every order of
//! events can be tried in a test.
//!
//! An item is kept for good when nothing can take it back: a call at once, with all that was said before it, because it
//! is about to be run; other items when their answer is complete. So a broken stream never runs a call twice and never
//! shows a message twice, and what it finished is not lost.

use windlass_llm::{Call, CallId, Content, ContentPart, Failure, Item, Remedy, Usage};

use crate::history::{HistoryEntry, ItemOrigin};

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum Happened {
    /// The model finished an item.
    Item(Item),
    /// The model's answer is complete.
    Completed(Usage),
    /// There is no more of this answer.
    Broke(Failure),
    /// A tool answered.
    Answered(CallId, Vec<ContentPart>),
    /// What others had to say at a boundary; nothing, if nobody will say anything more.
    Heard(Vec<HistoryEntry>),
    /// The pause before the next try is over.
    Rested,
    /// The conversation was made shorter, or could not be.
    Compacted(Result<(), Failure>),
    /// Whoever gave the task takes it back.
    Interrupted,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TurnAction {
    /// Append this to the conversation.
    Keep(HistoryEntry),
    /// Run this call.
    Start(Call),
    /// Send the conversation to the model.
    Ask,
    /// Wait a little, then say `Rested`. Counts from one.
    Rest { attempt: u32, failure: Failure },
    /// Make the conversation shorter, then say `Compacted`.
    Compact(Why),
    /// A boundary: say `Heard` with what others had to say meanwhile. Where nothing was called the model has nothing left to
    /// do, so that may wait until something happens.
    Listen { called: bool },
    /// Let go of the stream, and of every call that still runs; say `Answered` for each of those.
    Abandon,
    /// The turn is over.
    End(TurnEnd),
}

/// Why a conversation is to become shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It has reached the limit that is set for it.
    Limit,
    /// The model could not take it.
    Overflow,
    /// Somebody asked for it.
    Wish,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TurnEnd {
    /// The model has nothing left to do.
    Completed,
    /// There is no way on.
    Failed(String),
    /// It was taken back.
    Interrupted,
}

/// How patient a turn is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryLimits {
    /// Failed tries in a row before the turn fails.
    pub(crate) most_tries: u32,
    /// Tokens in the conversation from which on it is made shorter.
    pub(crate) compact_at: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    /// The model is writing.
    Asking,
    /// A try failed; the next one waits.
    Resting,
    /// The answer is over, one way or another; calls still run.
    Working(After),
    /// Others have their say.
    Listening,
    /// The conversation is being made shorter.
    Compacting,
    /// Interrupted; calls that were let go are accounted for.
    Stopping,
    Over,
}

/// What comes when all calls are answered.
#[derive(Clone, Debug, PartialEq)]
enum After {
    /// Others have their say, then the next question, if there is anything to answer.
    Boundary,
    /// The next question, after a pause: the answer broke.
    Rest(Failure),
    /// Shortening, then the next question.
    Shorten,
    /// The end.
    Fail(String),
}

/// A call of the present answer.
#[derive(Clone, Debug)]
struct Slot {
    call: Call,
    answer: Option<Vec<ContentPart>>,
}

/// A turn on its way.
#[derive(Debug)]
pub(crate) struct Turn {
    patience: RetryLimits,
    phase: Phase,
    /// Items of the present answer that are not kept yet.
    loose: Vec<Item>,
    /// Calls whose answers are not kept yet, in order.
    slots: Vec<Slot>,
    /// Calls that were run since the last complete answer: a repeated stream may name them again.
    run: Vec<Call>,
    /// Whether the present answer had calls.
    called: bool,
    tries: u32,
    overflowed: bool,
    /// Whether it ends when the conversation has become shorter.
    only_compacts: bool,
    filled: u64,
}

impl Turn {
    /// A turn that begins with these words. The first order asks the model, or shortens the conversation first.
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

    /// A turn that makes the conversation shorter, and nothing else.
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

    /// Whether anything can still happen.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// What has to be done now.
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
            // A stream or a pause that was let go may still have had its say.
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
        // Its answer is in the conversation already, which the model is shown again.
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
            // The next answer says it anew.
            self.loose.clear();
        }
        // Thoughts that lead to nothing are of no use to anybody.
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
            // Something was done, so the next try is not the same again.
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

    /// The answer is over. Once its calls are answered, what is to come comes.
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

    /// Answers are kept in the order of their calls, each as soon as all before it are.
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
