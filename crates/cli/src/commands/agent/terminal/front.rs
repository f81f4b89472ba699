//! The terminal itself: its keys come in, frames go out, and it is given back as it was on every way out. Where it cannot
//! move its cursor it is left in line mode, and only lines are written to it.

use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;
use windlass_sys::terminal::RawMode;

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

/// The terminal, as long as this lives.
pub(super) struct Front {
    source: Source,
    decoder: Decoder,
    /// When a lone Escape becomes a key.
    escape: Option<Instant>,
    pub(super) screen: Screen,
    mode: Option<Mode>,
}

/// Whether the terminal shows what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typing {
    Seen,
    Hidden,
}

/// Every key for itself; undone when this is dropped, whatever the reason.
struct Mode {
    _raw: RawMode,
    pastes: bool,
}

impl Drop for Mode {
    fn drop(&mut self) {
        if self.pastes {
            // A terminal that went away needs nothing back.
            let _ = printing::print(NO_BRACKETED_PASTE);
        }
    }
}

impl Front {
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
            screen: Screen::new(manner, colour, own_size()),
            mode: None,
        }
    }

    /// Takes the keyboard.
    pub(super) fn take(&mut self) -> Result<()> {
        if self.screen.manner() == Manner::Live && self.mode.is_none() {
            self.mode = Some(Mode { _raw: RawMode::enter(rustix::stdio::stdin())?, pastes: true });
            printing::print(BRACKETED_PASTE)?;
        }
        Ok(())
    }

    /// Gives the terminal back, with nothing left of the area.
    pub(super) fn give_back(&mut self) -> Result<()> {
        let left = printing::print(self.screen.leave());
        self.mode = None;
        left
    }

    /// Where the terminal echoes what is typed, it stops doing so for a secret.
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

    /// The next keys; none at the end of the input. May be dropped and called again without losing any.
    pub(super) async fn keys(&mut self) -> Option<Vec<Key>> {
        loop {
            let read = self.source.read();
            let bytes = match self.escape {
                // timer: a lone Escape and the first byte of an arrow key look alike until time has passed.
                Some(moment) => match tokio::time::timeout_at(moment, read).await {
                    Ok(bytes) => bytes,
                    Err(_) => {
                        self.escape = None;
                        return Some(self.decoder.give_up_waiting());
                    }
                },
                None => read.await,
            };
            let bytes = bytes.ok().filter(|bytes| !bytes.is_empty())?;
            let keys = self.decoder.feed(&bytes);
            self.escape = self.decoder.is_waiting().then(|| Instant::now() + ESCAPE);
            if !keys.is_empty() {
                return Some(self.in_this_manner(keys));
            }
        }
    }

    /// Shows lines that stay, and the area below them.
    pub(super) fn draw(&mut self, lines: &[Line], area: Area) -> Result<()> {
        let frame = self.screen.frame(lines, area);
        if frame.is_empty() { Ok(()) } else { printing::print(frame) }
    }

    /// The window has another size.
    pub(super) fn resized(&mut self) {
        self.screen.resize(own_size());
    }

    /// A terminal in line mode ends a line where others send Enter.
    fn in_this_manner(&self, keys: Vec<Key>) -> Vec<Key> {
        if self.screen.manner() == Manner::Live {
            return keys;
        }
        keys.into_iter().map(|key| if key == Key::LineFeed { Key::Enter } else { key }).collect()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        // A terminal that went away needs nothing back.
        let _ = self.give_back();
    }
}
