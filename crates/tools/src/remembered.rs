//! Sessions whose output can be read, whether they still run here or only their journals are left.

use std::sync::Arc;

use windlass_engine::{Journal, Size, screen_text};

use crate::held::{Held, Number};

/// A session whose output can be read.
pub(crate) enum Remembered {
    Held(Arc<Held>),
    Stored { number: Number, journal: Box<Journal>, terminal: bool },
}

impl Remembered {
    pub(crate) fn number(&self) -> Number {
        match self {
            Self::Held(held) => held.number,
            Self::Stored { number, .. } => *number,
        }
    }

    pub(crate) fn journal(&self) -> &Journal {
        match self {
            Self::Held(held) => held.session.journal(),
            Self::Stored { journal, .. } => journal,
        }
    }

    pub(crate) fn screen(&self) -> Option<String> {
        match self {
            Self::Held(held) => held.session.screen().map(|screen| screen.text),
            Self::Stored { journal, terminal, .. } => terminal.then(|| screen_text(journal, Size::default())),
        }
    }
}
