//! Output that was printed and cannot be shown. "Dropped", "never reached the disk" and "cannot be read now" are
//! different states: the first is intended, the second is final, the third may pass.

use std::fmt;
use std::io;

use rustix::io::Errno;
use windlass_output::{Offset, Span};

/// A part of the output that a reader does not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its span in the output.
    pub span: Span,
    /// Why it is missing.
    pub why: Why,
}

/// Why output is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Retention dropped it.
    Dropped,
    /// It is in no file: the operation or finding, and the error of the system.
    Unsaved(String),
    /// It should be on disk, but could not be read: the file, the error of the system, and a remedy.
    Unreadable(String),
}

impl Why {
    /// The reason without the kind.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Dropped => self.to_string(),
            Self::Unsaved(reason) | Self::Unreadable(reason) => reason.clone(),
        }
    }
}

impl Missing {
    /// Whether it was kept for as long as retention intended.
    pub fn is_expected(&self) -> bool {
        self.why == Why::Dropped
    }

    /// The part of it within another span, if any.
    fn within(&self, span: Span) -> Option<Self> {
        let span = self.span.intersect(span);
        (!span.is_empty()).then(|| Self { span, why: self.why.clone() })
    }
}

/// The parts of these that lie within a span, in order.
pub(super) fn within(all: &[Missing], span: Span) -> Vec<Missing> {
    let mut found: Vec<Missing> = all.iter().filter_map(|missing| missing.within(span)).collect();
    found.sort_by_key(|missing| missing.span.from());
    found
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped => f.write_str("dropped: retention limit reached"),
            Self::Unsaved(reason) => write!(f, "not on disk: {reason}"),
            Self::Unreadable(reason) => write!(f, "cannot be read: {reason}"),
        }
    }
}

/// Advice for a reader of a file that cannot be read; empty for errors without a remedy.
pub(super) fn advice(error: &io::Error) -> &'static str {
    match (error.kind(), Errno::from_io_error(error)) {
        (io::ErrorKind::NotFound, _) => "; the file was removed: only a copy of it brings this output back",
        (io::ErrorKind::PermissionDenied, _) => "; make it readable for this user, then read again",
        (_, Some(Errno::MFILE | Errno::NFILE)) => "; raise the limit with `ulimit -n`, then read again",
        (io::ErrorKind::InvalidData, None) => "; remove it, or move it away",
        _ => "",
    }
}

/// The holes between kept spans.
#[derive(Default)]
pub(super) struct Gaps {
    pub(super) found: Vec<Span>,
    upto: Offset,
}

impl Gaps {
    pub(super) fn keep(&mut self, span: Span) {
        if span.from() > self.upto {
            self.found.push(Span::new(self.upto, span.from()));
        }
        self.upto = self.upto.max(span.to());
    }
}
