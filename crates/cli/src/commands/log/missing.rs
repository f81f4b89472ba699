//! Prints text with a marker where output is missing: a reader must not take the two sides of a gap for neighbours, nor
//! the last line before one for the end.

use anyhow::Result;
use windlass_engine::{Missing, OutputPart, ReaderDemand, Why};
use windlass_output::{Offset, View};

use super::choice::{Chooser, Chosen};
use crate::printing::print;
use crate::report;

/// A printer that inserts the markers of missing output at their places.
pub(super) struct Printed {
    chooser: Chooser,
    /// The offset up to which the output was examined.
    upto: Offset,
    /// Markers in the last lines: only the end of the output decides which lines those are.
    held: Vec<Missing>,
    /// Whether the last printed line has no newline yet.
    mid_line: bool,
    /// Whether nothing has been printed.
    is_blank: bool,
}

impl Printed {
    pub(super) fn new(chooser: Chooser, from: Offset) -> Self {
        Self { chooser, upto: from, held: Vec::new(), mid_line: false, is_blank: true }
    }

    /// The offset up to which the output was examined.
    pub(super) fn upto(&self) -> Offset {
        self.upto
    }

    /// Whether nothing has been printed so far.
    pub(super) fn is_blank(&self) -> bool {
        self.is_blank
    }

    pub(super) fn take(&mut self, part: &OutputPart<'_>) -> Result<ReaderDemand> {
        match part {
            OutputPart::Text(view) if matches!(self.chooser, Chooser::Everything) => {
                self.print(view.text())?;
            }
            OutputPart::Text(view) => {
                self.chooser.feed(view);
                self.upto = self.upto.max(view.raw_span(0..view.text().len()).to());
                let ready = self.chooser.ready();
                self.print(&ready)?;
            }
            OutputPart::Gone(missing) if matches!(self.chooser, Chooser::Tail(_)) => {
                self.held.push((*missing).clone());
            }
            OutputPart::Gone(missing) => {
                let end_of_line = if self.mid_line { "\n" } else { "" };
                self.print(&format!("{end_of_line}{}", marker(missing)))?;
            }
        }
        Ok(if self.chooser.is_complete() { ReaderDemand::NoMore } else { ReaderDemand::More })
    }

    fn print(&mut self, text: &str) -> Result<()> {
        if !text.is_empty() {
            self.is_blank = false;
            self.mid_line = !text.ends_with('\n');
        }
        print(text)
    }

    /// Called when a follower has reached the end of the output so far.
    pub(super) fn catch_up(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.chooser.catch_up().map(|view| with_markers(&view, &held)).unwrap_or_default()
    }

    pub(super) fn finish(self) -> String {
        match self.chooser.finish() {
            Chosen::Text(view) => with_markers(&view, &self.held),
            chosen => chosen.into_text(),
        }
    }
}

/// The last lines, with a marker for each gap between or after them.
fn with_markers(view: &View, missing: &[Missing]) -> String {
    if missing.is_empty() {
        return view.text().to_owned();
    }
    let mut text = String::new();
    let mut markers = missing.iter().peekable();
    for (index, line) in view.lines().enumerate() {
        while let Some(missing) = markers.next_if(|missing| missing.span.to() <= line.raw.from()) {
            // A gap before the first of these lines lies outside of the tail that the caller asked for.
            if index > 0 {
                text += &marker(missing);
            }
        }
        text += line.text;
        text += if line.ends { "\n" } else { "" };
    }
    if markers.peek().is_some() && !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    markers.for_each(|missing| text += &marker(missing));
    text
}

/// The marker in text for missing output.
pub(super) fn marker(missing: &Missing) -> String {
    let (span, bytes) = (missing.span, report::count(missing.span.len()));
    match &missing.why {
        Why::Dropped => format!("…{bytes} bytes at {span} are no longer kept…\n"),
        Why::Unsaved(_) => format!("…{bytes} bytes at {span} are not on disk…\n"),
        Why::Unreadable(_) => format!("…{bytes} bytes at {span} cannot be read…\n"),
    }
}

/// The same with the reason, for people.
pub(super) fn missing_line(missing: &Missing) -> String {
    format!("{} bytes at {} are missing: {}", report::count(missing.span.len()), missing.span, missing.why)
}
