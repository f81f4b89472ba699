//! The terminal: reads keys and writes frames, and restores its mode however the program ends. If the terminal cannot
//! move its cursor, it is left in line mode, and only lines are written to it.

use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;
use windlass_sys::terminal::{RawMode, discard_input};

use super::hold::{Dropped, Hold};
use super::keys::{Decoder, Key};
use super::lines::Line;
use super::screen::{Area, Manner, Screen};
use crate::args::{AgentOptions, ColorName};
use crate::commands::run::input::Source;
use crate::config::{Colour, Config, own_size};
use crate::printing;

/// How long an Escape may be the beginning of another key's sequence.
const ESCAPE: Duration = Duration::from_millis(50);

const BRACKETED_PASTE: &str = "\x1b[?2004h";
const NO_BRACKETED_PASTE: &str = "\x1b[?2004l";

/// The terminal; its mode is restored on drop.
pub(super) struct TerminalIo {
    source: Source,
    decoder: Decoder,
    /// When a lone Escape becomes a key.
    escape: Option<Instant>,
    /// Set while keys are dropped, before a question receives them.
    hold: Option<Hold>,
    /// Keys that were typed after those that ended a conversation, until the next one begins.
    ahead: Option<Vec<Key>>,
    pub(super) screen: Screen,
    mode: Option<Mode>,
}

/// Input from the keyboard.
#[derive(Debug)]
pub(super) enum Heard {
    Keys(Vec<Key>),
    /// The keyboard has rested: keys count from now on. Earlier ones were dropped.
    Rested(Dropped),
}

/// Whether the terminal echoes typed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typing {
    Seen,
    Hidden,
}

/// Raw mode with bracketed paste, undone on drop.
struct Mode {
    _raw: RawMode,
    pastes: bool,
}

impl Drop for Mode {
    fn drop(&mut self) {
        if self.pastes {
            // An error means that the terminal has gone.
            let _ = printing::print(NO_BRACKETED_PASTE);
        }
    }
}

impl TerminalIo {
    pub(super) fn open(options: &AgentOptions, config: &Config) -> Self {
        let dumb = config.variable("TERM").is_none_or(|term| term == "dumb");
        let manner = if dumb { Manner::Plain } else { Manner::Live };
        let colour = match options.color {
            ColorName::Always => true,
            ColorName::Never => false,
            ColorName::Auto => config.colour == Colour::On,
        };
        Self {
            source: Source::new(rustix::stdio::stdin()),
            decoder: Decoder::default(),
            escape: None,
            hold: None,
            ahead: None,
            screen: Screen::new(manner, colour, own_size()),
            mode: None,
        }
    }

    /// Takes control of the keyboard.
    pub(super) fn take(&mut self) -> Result<()> {
        if self.screen.manner() == Manner::Live && self.mode.is_none() {
            self.mode = Some(Mode { _raw: RawMode::enter(rustix::stdio::stdin())?, pastes: true });
            printing::print(BRACKETED_PASTE)?;
        }
        Ok(())
    }

    /// Restores the terminal and erases the area.
    pub(super) fn give_back(&mut self) -> Result<()> {
        let left = printing::print(self.screen.leave());
        self.mode = None;
        left
    }

    /// Turns the echo off for a secret, if the terminal echoes typed text.
    pub(super) fn set_typing(&mut self, typing: Typing) {
        if self.screen.manner() == Manner::Live {
            return;
        }
        self.mode = match typing {
            Typing::Seen => None,
            Typing::Hidden => {
                RawMode::enter(rustix::stdio::stdin()).ok().map(|raw| Mode { _raw: raw, pastes: false })
            }
        };
    }

    /// From now on keys are dropped until the keyboard has rested. Keys that refuse pass.
    pub(super) fn hold_keys(&mut self) {
        self.hold = Some(Hold::begin(Instant::now()));
    }

    /// Ends the hold because no question is open any more; returns the dropped keys if keys were held.
    pub(super) fn stop_holding(&mut self) -> Option<Dropped> {
        self.hold.take().map(Hold::end)
    }

    /// The keys that may be used now.
    pub(super) fn passed(&mut self, keys: Vec<Key>) -> Vec<Key> {
        match &mut self.hold {
            Some(hold) => hold.take(keys, Instant::now()),
            None => keys,
        }
    }

    /// The next input; `None` at its end. Cancel-safe: no key is lost.
    pub(super) async fn heard(&mut self) -> Option<Heard> {
        loop {
            let moment = self.escape.into_iter().chain(self.hold.as_ref().map(Hold::until)).min();
            let read = self.source.read();
            let bytes = match moment {
                // timer: a lone Escape and the first byte of an arrow key look alike until time has passed, and a
                // question waits until the keyboard has rested.
                Some(moment) => match tokio::time::timeout_at(moment, read).await {
                    Ok(bytes) => bytes,
                    Err(_) => match self.time_has_passed() {
                        Some(heard) => return Some(heard),
                        None => continue,
                    },
                },
                None => read.await,
            };
            let bytes = bytes.ok().filter(|bytes| !bytes.is_empty())?;
            let keys = self.decoded(&bytes);
            if !keys.is_empty() {
                return Some(Heard::Keys(keys));
            }
        }
    }

    /// The keys in these bytes that may be used now.
    fn decoded(&mut self, bytes: &[u8]) -> Vec<Key> {
        let keys = self.decoder.feed(bytes);
        self.escape = self.decoder.is_waiting().then(|| Instant::now() + ESCAPE);
        let keys = self.in_this_manner(keys);
        self.passed(keys)
    }

    /// Called at a deadline: a lone Escape becomes a key, or the keyboard has rested.
    fn time_has_passed(&mut self) -> Option<Heard> {
        if self.escape.take_if(|escape| *escape <= Instant::now()).is_some() {
            let keys = self.decoder.give_up_waiting();
            return Some(Heard::Keys(self.passed(keys)));
        }
        // Keys that were typed in time may not have been read in time.
        let late = self.source.read_now();
        if !late.is_empty() {
            return Some(Heard::Keys(self.decoded(&late)));
        }
        if self.decoder.is_in_paste() {
            self.hold.iter_mut().for_each(|hold| hold.extend(Instant::now()));
            return None;
        }
        Some(Heard::Rested(self.rested()))
    }

    /// Ends the hold: an incomplete key belongs to the dropped ones.
    fn rested(&mut self) -> Dropped {
        self.decoder.forget();
        self.escape = None;
        if self.screen.manner() == Manner::Plain {
            // An error means that the terminal has gone, with its input.
            let _ = discard_input(rustix::stdio::stdin());
        }
        self.stop_holding().unwrap_or_default()
    }

    /// Stores keys for the next conversation.
    pub(super) fn keep_ahead(&mut self, keys: Vec<Key>) {
        self.ahead.get_or_insert_default().extend(keys);
    }

    /// Stores the keys that are typed while a conversation is being prepared; returns when the person does not want to
    /// wait for it. A terminal in line mode buffers its lines itself, and turns such keys into signals.
    pub(super) async fn until_left(&mut self) {
        if self.mode.is_none() {
            return std::future::pending().await;
        }
        loop {
            match self.heard().await {
                Some(Heard::Keys(keys)) if keys.contains(&Key::Interrupt) => return,
                Some(Heard::Keys(keys)) => self.keep_ahead(keys),
                Some(Heard::Rested(_)) => {}
                None => return,
            }
        }
    }

    /// The stored keys, and those that can be read without waiting; none before the first conversation.
    pub(super) fn typed_ahead(&mut self) -> Vec<Key> {
        let Some(mut keys) = self.ahead.take() else { return Vec::new() };
        loop {
            let bytes = self.source.read_now();
            if bytes.is_empty() {
                return keys;
            }
            keys.extend(self.decoded(&bytes));
        }
    }

    /// Shows permanent lines, and the area below them.
    pub(super) fn draw(&mut self, lines: &[Line], area: Area) -> Result<()> {
        let frame = self.screen.frame(lines, area);
        if frame.is_empty() { Ok(()) } else { printing::print(frame) }
    }

    /// Shows permanent lines without an area below.
    pub(super) fn say(&mut self, lines: &[Line]) -> Result<()> {
        if self.mode.is_some() {
            return self.draw(lines, Area::default());
        }
        printing::print(lines.iter().map(|line| line.rendered(false) + "\n").collect::<String>())
    }

    /// Takes over the new size of the window.
    pub(super) fn resized(&mut self) {
        self.screen.resize(own_size());
    }

    /// Replaces line feeds by Enter for a terminal in line mode, which ends lines with them.
    fn in_this_manner(&self, keys: Vec<Key>) -> Vec<Key> {
        if self.screen.manner() == Manner::Live {
            return keys;
        }
        keys.into_iter().map(|key| if key == Key::LineFeed { Key::Enter } else { key }).collect()
    }
}

impl Drop for TerminalIo {
    fn drop(&mut self) {
        // An error means that the terminal has gone.
        let _ = self.give_back();
    }
}
