//! A file's text as lines that remember how each of them ended, so that what a patch does not speak of stays as it is,
//! byte for byte.

/// How a line ends. A carriage return alone ends no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Lf,
    CrLf,
    /// The last line of a file without a final newline.
    Missing,
}

impl Ending {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Missing => "",
        }
    }
}

/// The mark that some editors put before a text. It belongs to no line.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The lines of a text.
pub(crate) struct Lines<'a> {
    pub(crate) mark: &'static str,
    pub(crate) texts: Vec<&'a str>,
    pub(crate) endings: Vec<Ending>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (BYTE_ORDER_MARK, rest),
            None => ("", text),
        };
        let (texts, endings) = text.split_inclusive('\n').map(split_ending).unzip();
        Self { mark, texts, endings }
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// How lines that are added end: like the file's first.
    pub(crate) fn usual_ending(&self) -> Ending {
        match self.endings.first() {
            Some(Ending::CrLf) => Ending::CrLf,
            _ => Ending::Lf,
        }
    }
}

fn split_ending(line: &str) -> (&str, Ending) {
    if let Some(text) = line.strip_suffix("\r\n") {
        (text, Ending::CrLf)
    } else if let Some(text) = line.strip_suffix('\n') {
        (text, Ending::Lf)
    } else {
        (line, Ending::Missing)
    }
}
