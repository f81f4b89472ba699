//! Splits a file's text into lines that remember their line endings, so that lines which a patch does not mention stay
//! the same byte for byte.

/// The ending of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnding {
    Lf,
    CrLf,
    Cr,
    /// The last line of a file without a final newline.
    Missing,
}

impl LineEnding {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
            Self::Missing => "",
        }
    }
}

/// The byte order mark that some editors put before a text. It belongs to no line.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The lines of a text.
pub(crate) struct Lines<'a> {
    pub(crate) mark: &'static str,
    pub(crate) texts: Vec<&'a str>,
    pub(crate) endings: Vec<LineEnding>,
}

impl<'a> Lines<'a> {
    /// The lines of a text in which a lone carriage return does not end a line.
    pub(crate) fn of(text: &'a str) -> Self {
        Self::split(text, |line| vec![split_ending(line)])
    }

    /// The lines of a text in which a lone carriage return ends a line, as in files of old editors and in progress
    /// logs; `None` if the text has no such return.
    pub(crate) fn with_lone_returns(text: &'a str) -> Option<Self> {
        let lines = Self::split(text, at_lone_returns);
        lines.endings.contains(&LineEnding::Cr).then_some(lines)
    }

    fn split(text: &'a str, pieces: impl Fn(&'a str) -> Vec<(&'a str, LineEnding)>) -> Self {
        let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (BYTE_ORDER_MARK, rest),
            None => ("", text),
        };
        let (texts, endings) = text.split_inclusive('\n').flat_map(pieces).unzip();
        Self { mark, texts, endings }
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The ending for lines without a neighbour: that of the file's first line.
    pub(crate) fn usual_ending(&self) -> LineEnding {
        match self.endings.first() {
            Some(LineEnding::Missing) | None => LineEnding::Lf,
            Some(ending) => *ending,
        }
    }
}

/// Splits one line at its lone carriage returns. A carriage return before a line feed belongs to that.
fn at_lone_returns(line: &str) -> Vec<(&str, LineEnding)> {
    let (body, ending) = split_ending(line);
    let mut pieces: Vec<(&str, LineEnding)> = body.split('\r').map(|piece| (piece, LineEnding::Cr)).collect();
    match pieces.last_mut() {
        // The last carriage return ends the file, so the empty piece behind it is not a line.
        Some(("", _)) if ending == LineEnding::Missing => drop(pieces.pop()),
        Some(last) => last.1 = ending,
        None => {}
    }
    pieces
}

fn split_ending(line: &str) -> (&str, LineEnding) {
    if let Some(text) = line.strip_suffix("\r\n") {
        (text, LineEnding::CrLf)
    } else if let Some(text) = line.strip_suffix('\n') {
        (text, LineEnding::Lf)
    } else {
        (line, LineEnding::Missing)
    }
}
