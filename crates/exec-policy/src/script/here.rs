//! Here-documents: the input of a command, on the lines below it.

use super::cursor::{Parse, Parser};
use crate::word::{Split, Word, WordBuilder};

/// A here-document whose text has not been read yet.
#[derive(Debug)]
pub(super) struct HereDocument {
    /// The line that ends it.
    end: String,
    /// Whether tabs at the beginnings of lines are removed.
    strips: bool,
    /// Whether its text is taken literally.
    verbatim: bool,
    /// The command that reads it.
    owner: Option<usize>,
    line: usize,
}

impl HereDocument {
    /// `None`: its end is not a plain word.
    pub(super) fn new(end: &Word, strips: bool, owner: Option<usize>) -> Option<Self> {
        let text = end.text()?;
        let odd = text.contains('\n') || end.source().contains(['$', '`']) || text.is_empty();
        let verbatim = end.plain().is_none();
        (!odd).then(|| Self { end: text.to_owned(), strips, verbatim, owner, line: 0 })
    }

    pub(super) fn at(self, line: usize) -> Self {
        Self { line, ..self }
    }
}

impl Parser<'_> {
    /// Reads the texts that begin here, after a newline.
    pub(super) fn here_documents(&mut self) -> Parse<()> {
        for document in std::mem::take(&mut self.pending) {
            self.here_document(&document)?;
        }
        Ok(())
    }

    fn here_document(&mut self, document: &HereDocument) -> Parse<()> {
        let start = self.at;
        let mut goes_on = false;
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                let mut wrong = self.wrong(&format!("no line `{}` ends the here-document", document.end));
                wrong.line = document.line;
                return Err(wrong);
            }
            let end = rest.find('\n').unwrap_or(rest.len());
            let raw = &rest[..end];
            let line = if document.strips { raw.trim_start_matches('\t') } else { raw };
            if line == document.end {
                if goes_on {
                    return Err(self.wrong("the line before the here-document's end goes on"));
                }
                let body = &self.text[start..self.at];
                self.at += end + usize::from(end < rest.len());
                return self.here_text(document, body);
            }
            let slashes = line.len() - line.trim_end_matches('\\').len();
            goes_on = !document.verbatim && slashes % 2 == 1;
            self.at += end + usize::from(end < rest.len());
        }
    }

    fn here_text(&mut self, document: &HereDocument, body: &str) -> Parse<()> {
        let stripped;
        let body = if document.strips {
            stripped =
                body.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect::<String>();
            &stripped
        } else {
            body
        };
        if document.verbatim {
            self.give_input(document.owner, Word::literal(body));
            return Ok(());
        }
        let mut builder = WordBuilder::default();
        let outcome = self.inside(body, |inner| inner.expanded_text(&mut builder));
        self.give_input(document.owner, builder.finish(body));
        outcome
    }

    /// Text in which expansions count and quotes do not.
    pub(super) fn expanded_text(&mut self, builder: &mut WordBuilder) -> Parse<()> {
        builder.quoted("");
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' if matches!(self.peek_at(1), Some(b'$' | b'`' | b'\\')) => {
                    self.at += 1;
                    builder.quoted(self.bump().unwrap_or_default());
                }
                b'\\' if self.peek_at(1) == Some(b'\n') => self.at += 2,
                b'$' => self.dollar(builder, Split::Never)?,
                b'`' => self.backquotes(builder, Split::Never)?,
                _ => builder.quoted(self.bump().unwrap_or_default()),
            }
        }
        Ok(())
    }
}
