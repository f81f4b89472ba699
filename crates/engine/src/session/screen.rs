//! The terminal's screen, made from the journal when a client looks or a program asks: a flood pays nothing for it.

use super::Shared;
use crate::journal::grid;
use std::fmt;
use std::sync::{MutexGuard, PoisonError};
use windlass_output::{CursorKeys, CursorPosition, Offset, Screen, Span};
use windlass_sys::pty::Size;

/// The visible state of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenView {
    /// The visible lines, without the blanks at their ends.
    pub text: String,
    /// The position of the cursor.
    pub cursor: CursorPosition,
    /// How the program wants its cursor keys.
    pub cursor_keys: CursorKeys,
    /// Whether a full-screen program has the alternate screen.
    pub alternate: bool,
    /// A screen that follows the journal on demand.
    pub end: Offset,
}

/// A screen that follows the journal on demand.
#[derive(Default)]
pub(crate) struct LiveScreen {
    screen: Option<Screen>,
    fed: Offset,
    size: Size,
}

/// The most output that is replayed: the newest part of this size contains every visible line.
const REPLAY: u64 = 1024 * 1024;
/// How much is taken from the journal at a time.
const STEP: usize = 64 * 1024;

impl LiveScreen {
    pub(crate) fn of_size(size: Size) -> Self {
        Self { screen: None, fed: Offset::ZERO, size }
    }
}

impl fmt::Debug for LiveScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveScreen").field("fed", &self.fed).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn screen_view(&self) -> ScreenView {
        let mut live = self.lock_screen();
        self.catch_up(&mut live);
        let end = live.fed;
        let size = live.size;
        let screen = live.screen.get_or_insert_with(|| Screen::new(grid(size)));
        ScreenView {
            text: screen.text(),
            cursor: screen.cursor(),
            cursor_keys: screen.cursor_keys(),
            alternate: screen.is_alternate(),
            end,
        }
    }

    /// The terminal's answers to the questions in the output so far.
    pub(crate) fn terminal_replies(&self) -> Vec<u8> {
        let mut live = self.lock_screen();
        self.catch_up(&mut live);
        live.screen.as_mut().map(Screen::take_replies).unwrap_or_default()
    }

    pub(crate) fn screen_resized(&self, size: Size) {
        let mut live = self.lock_screen();
        if live.screen.is_some() {
            self.catch_up(&mut live);
        }
        live.size = size;
        if let Some(screen) = &mut live.screen {
            screen.resize(grid(size));
        }
        // Recording the size writes to the disk: readers of the screen must not wait for that.
        drop(live);
        let at = self.journal.resized(size);
        self.record_size(at, size);
    }

    /// Records a size beside the journal, for readers in other processes. If it cannot be written they use the size
    /// before, which changes where lines break and loses none.
    pub(crate) fn record_size(&self, at: Offset, size: Size) {
        if let Some(store) = &self.store {
            let _ = store.resized(self.facts.id, at, size);
        }
    }

    fn catch_up(&self, live: &mut LiveScreen) {
        let end = self.journal.end();
        if end.get() - live.fed.get() > REPLAY {
            live.screen = None;
            live.fed = Offset::new(end.get() - REPLAY);
        }
        let size = live.size;
        let screen = live.screen.get_or_insert_with(|| Screen::new(grid(size)));
        let mut bytes = Vec::new();
        while live.fed < end {
            bytes.clear();
            let read = self.journal.read_into(Span::new(live.fed, end), STEP, &mut bytes);
            screen.feed(&bytes);
            if read.to() <= live.fed {
                break;
            }
            live.fed = read.to();
        }
    }

    fn lock_screen(&self) -> MutexGuard<'_, LiveScreen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
