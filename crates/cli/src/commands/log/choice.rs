//! Selects lines of a log: all, some by number, the last ones, or those that match.

use windlass_output::{
    Context, Grep, GrepKind, GrepLine, LONGEST_FOUND_LINE, LineRange, Pattern, RangeLines, TailLines, View,
};

/// A selection of lines, fed with text as it is read.
pub(crate) enum Chooser {
    Everything,
    Lines(Box<RangeLines>),
    Tail(Box<TailLines>),
    Grep { grep: Box<Grep>, found: Vec<GrepLine> },
}

/// The result of a selection.
pub(crate) enum Chosen {
    /// All of the text.
    Everything,
    Text(Box<View>),
    Matches(Vec<GrepLine>),
}

impl Chooser {
    pub(crate) fn lines(range: LineRange) -> Self {
        Self::Lines(Box::new(RangeLines::new(range)))
    }

    pub(crate) fn tail(count: usize) -> Self {
        Self::Tail(Box::new(TailLines::new(count)))
    }

    pub(crate) fn grep(pattern: Pattern, context: Context) -> Self {
        Self::Grep { grep: Box::new(Grep::new(pattern, context)), found: Vec::new() }
    }

    /// Takes the next piece.
    pub(crate) fn feed(&mut self, view: &View) {
        match self {
            Self::Everything => {}
            Self::Lines(lines) => lines.feed(view),
            Self::Tail(tail) => tail.feed(view),
            Self::Grep { grep, found } => grep.feed(view, found),
        }
    }

    /// Whether no later line can be selected.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, Self::Lines(lines) if lines.is_complete())
    }

    /// The text that can be shown already, for a reader that does not collect.
    pub(crate) fn ready(&mut self) -> String {
        match self {
            Self::Everything | Self::Tail(_) => String::new(),
            Self::Lines(lines) => lines.take().into_text(),
            Self::Grep { found, .. } => found.drain(..).map(|line| numbered(&line)).collect(),
        }
    }

    /// The lines that matched since the last call.
    pub(crate) fn take_matches(&mut self) -> Vec<GrepLine> {
        match self {
            Self::Grep { found, .. } => std::mem::take(found),
            Self::Everything | Self::Lines(_) | Self::Tail(_) => Vec::new(),
        }
    }

    /// Called when a follower has reached the end of the output so far: the last lines are known, and every later line
    /// is selected.
    pub(crate) fn catch_up(&mut self) -> Option<View> {
        match std::mem::replace(self, Self::Everything) {
            Self::Tail(tail) => Some(tail.finish()),
            other => {
                *self = other;
                None
            }
        }
    }

    /// The result at the end of the output.
    pub(crate) fn finish(self) -> Chosen {
        match self {
            Self::Everything => Chosen::Everything,
            Self::Lines(mut lines) => Chosen::Text(Box::new(lines.take())),
            Self::Tail(tail) => Chosen::Text(Box::new(tail.finish())),
            Self::Grep { grep, mut found } => {
                grep.finish(&mut found);
                Chosen::Matches(found)
            }
        }
    }
}

impl Chosen {
    /// The text as it is printed; empty if everything was printed before.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Everything => String::new(),
            Self::Text(view) => view.into_text(),
            Self::Matches(lines) => lines.iter().map(numbered).collect(),
        }
    }
}

/// A match as `grep -n` prints it: a colon after the number of a matching line, a dash after that of a context line.
pub(crate) fn numbered(line: &GrepLine) -> String {
    let mark = if line.kind == GrepKind::Match { ':' } else { '-' };
    format!("{}{mark}{}\n", line.number, line.shown(LONGEST_FOUND_LINE))
}
