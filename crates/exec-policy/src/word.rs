//! A word of a command as far as it is known before the shell expands it: text, and places where anything may stand.
//!
//! Everything here errs on the side of "may be": a word that could turn out to be `push` says so.

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pieces: Vec<WordPiece>,
    /// As it stands in the script, for people.
    source: String,
    /// How much of the first text stands there without quotes: where keywords and assignments are looked for.
    bare: usize,
    /// Whether quotes or expansions are anywhere in it.
    plain: bool,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WordPiece {
    /// This text, with its quotes taken off.
    Text(String),
    /// Whatever an expansion leaves.
    Unknown(Split, ExpansionOrigin),
}

/// Where the text of an expansion comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExpansionOrigin {
    /// Anywhere: it may be any text.
    Anywhere,
    /// The shell computes it, and it is a number: `$?`, `$#`, `$((…))`.
    Number,
    /// The value of this variable.
    Variable(String),
}

/// The number and kind of words that an expansion may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// Part of one word.
    Never,
    /// Any number of words, none included, that are the names of files.
    Files,
    /// Any number of words, none included.
    Words,
}

impl Word {
    /// A word that is exactly this.
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        let source = shown(&text);
        Self { bare: text.len(), plain: true, source, pieces: vec![WordPiece::Text(text)] }
    }

    /// A word, or words, of which nothing is known.
    pub(crate) fn unknown(source: &str, split: Split) -> Self {
        Self {
            pieces: vec![WordPiece::Unknown(split, ExpansionOrigin::Anywhere)],
            source: source.to_owned(),
            bare: 0,
            plain: false,
        }
    }

    /// The value of a variable.
    pub(crate) fn variable(name: &str) -> Self {
        let pieces = vec![WordPiece::Unknown(Split::Never, ExpansionOrigin::Variable(name.to_owned()))];
        Self { pieces, source: name.to_owned(), bare: 0, plain: false }
    }

    /// Its pieces, in order.
    pub(crate) fn pieces(&self) -> &[WordPiece] {
        &self.pieces
    }

    /// Whether it names a variable, or an element of an array by a plain number. Such a name is looked up, not
    /// evaluated.
    pub(crate) fn is_reference(&self) -> bool {
        let Some(text) = self.text() else { return false };
        let name = variable_name(text).unwrap_or_default();
        let key = text[name.len()..].strip_prefix('[').and_then(|key| key.strip_suffix(']'));
        let is_plain = |key: &str| {
            key == "@" || key == "*" || !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit())
        };
        !name.is_empty() && (name.len() == text.len() || key.is_some_and(is_plain))
    }

    /// The whole word, if it is known.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.pieces[..] {
            [] => Some(""),
            [WordPiece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it is exactly this.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text() == Some(text)
    }

    /// The word, if it stands there without any quoting.
    pub(crate) fn plain(&self) -> Option<&str> {
        self.text().filter(|_| self.plain)
    }

    /// The beginning of the word, as far as it is known.
    pub(crate) fn beginning(&self) -> &str {
        match self.pieces.first() {
            Some(WordPiece::Text(text)) => text,
            _ => "",
        }
    }

    /// Every piece of text in it.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            WordPiece::Text(text) => Some(text.as_str()),
            WordPiece::Unknown(..) => None,
        })
    }

    /// The name in `name=value`, `name+=value` or `name[key]=value`, and the value; only without quotes before the `=`.
    pub(crate) fn assignment(&self) -> Option<(&str, Self)> {
        let bare = &self.beginning()[..self.bare.min(self.beginning().len())];
        let name = variable_name(bare)?;
        let mut rest = &bare[name.len()..];
        if rest.starts_with('[') {
            rest = &rest[rest.find("]=").or_else(|| rest.find("]+="))? + 1..];
        }
        let value = rest.strip_prefix("+=").or_else(|| rest.strip_prefix('='))?;
        Some((name, self.from(bare.len() - value.len())))
    }

    /// The name in `name=value` and the value, whatever is quoted: what `export` and `env` make of a word.
    pub(crate) fn setting(&self) -> Option<(&str, Self)> {
        let (name, _) = self.beginning().split_once('=')?;
        Some((name.strip_suffix('+').unwrap_or(name), self.from(name.len() + 1)))
    }

    /// The word without its first bytes of text.
    pub(crate) fn from(&self, start: usize) -> Self {
        let mut pieces = self.pieces.clone();
        if let Some(WordPiece::Text(text)) = pieces.first_mut() {
            text.drain(..start);
        }
        Self { pieces, source: self.source.clone(), bare: self.bare.saturating_sub(start), plain: self.plain }
    }

    /// The same with every occurrence of a text replaced by something unknown.
    pub(crate) fn with_unknown(&self, text: &str) -> Self {
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            match piece {
                WordPiece::Text(whole) if !text.is_empty() && whole.contains(text) => {
                    for (place, part) in whole.split(text).enumerate() {
                        if place > 0 {
                            pieces.push(WordPiece::Unknown(Split::Never, ExpansionOrigin::Anywhere));
                        }
                        if !part.is_empty() {
                            pieces.push(WordPiece::Text(part.to_owned()));
                        }
                    }
                }
                other => pieces.push(other.clone()),
            }
        }
        Self { pieces, ..self.clone() }
    }

    /// Its text, with something in the place of what is unknown.
    pub(crate) fn filled_with(&self, filling: &str) -> String {
        let text = |piece: &WordPiece| match piece {
            WordPiece::Text(text) => text.clone(),
            WordPiece::Unknown(..) => filling.to_owned(),
        };
        self.pieces.iter().map(text).collect()
    }

    /// As it stands in the script.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Whether it may become no word or several, and of which kind then.
    pub(crate) fn split(&self) -> Split {
        let kinds = self.pieces.iter().filter_map(|piece| match piece {
            WordPiece::Unknown(split, _) => Some(*split),
            WordPiece::Text(_) => None,
        });
        kinds.fold(Split::Never, |most, split| match (most, split) {
            (Split::Words, _) | (_, Split::Words) => Split::Words,
            (Split::Files, _) | (_, Split::Files) => Split::Files,
            _ => Split::Never,
        })
    }

    /// Whether the word may turn out to be this text. A word that splits may be anything that begins as it does.
    pub(crate) fn may_be(&self, text: &str) -> bool {
        if self.split() != Split::Never {
            return text.starts_with(self.beginning());
        }
        let mut rest = text;
        let last = self.pieces.len().saturating_sub(1);
        for (place, piece) in self.pieces.iter().enumerate() {
            let WordPiece::Text(part) = piece else { continue };
            let found = match (place == 0, place == last) {
                (true, true) => return rest == part,
                (true, false) => rest.starts_with(part.as_str()).then_some(0),
                (false, true) => return rest.ends_with(part.as_str()),
                (false, false) => rest.find(part.as_str()),
            };
            let Some(at) = found else { return false };
            rest = &rest[at + part.len()..];
        }
        last > 0 || rest.is_empty() || matches!(self.pieces.first(), Some(WordPiece::Unknown(..)))
    }

    /// The program's file name, if that much is known: what follows the last slash.
    pub(crate) fn file_name(&self) -> Option<&str> {
        if let Some(text) = self.text() {
            return Some(text.rsplit('/').next().unwrap_or(text));
        }
        match self.pieces.last() {
            Some(WordPiece::Text(text)) if self.split() == Split::Never => {
                text.rsplit_once('/').map(|(_, name)| name)
            }
            _ => None,
        }
    }
}

/// Builds a word from its pieces.
#[derive(Debug, Default)]
pub(crate) struct WordBuilder {
    pieces: Vec<WordPiece>,
    bare: Option<usize>,
    anything: Option<Split>,
}

impl WordBuilder {
    /// Text that stands there without quotes.
    pub(crate) fn bare(&mut self, text: &str) {
        self.push_text(text);
    }

    /// Text that was quoted in some way. It may be empty, and then there is a word all the same.
    pub(crate) fn quoted(&mut self, text: &str) {
        self.end_bare();
        self.push_text(text);
    }

    /// An expansion that may leave any text.
    pub(crate) fn unknown(&mut self, split: Split) {
        self.expansion(split, ExpansionOrigin::Anywhere);
    }

    /// An expansion.
    pub(crate) fn expansion(&mut self, split: Split, origin: ExpansionOrigin) {
        self.end_bare();
        self.pieces.push(WordPiece::Unknown(split, origin));
    }

    /// The whole word may be anything.
    pub(crate) fn anything(&mut self, split: Split) {
        self.end_bare();
        self.anything = Some(split);
    }

    pub(crate) fn finish(mut self, source: &str) -> Word {
        let plain = self.bare.is_none();
        self.end_bare();
        let bare = self.bare.unwrap_or_default();
        let source = source.trim().to_owned();
        let pieces = match self.anything {
            Some(split) => vec![WordPiece::Unknown(split, ExpansionOrigin::Anywhere)],
            None => self.pieces,
        };
        Word { pieces, source, bare, plain }
    }

    fn push_text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(WordPiece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(WordPiece::Text(text.to_owned())),
        }
    }

    fn end_bare(&mut self) {
        if self.bare.is_none() {
            self.bare = Some(match self.pieces.first() {
                Some(WordPiece::Text(text)) => text.len(),
                _ => 0,
            });
        }
    }
}

/// The variable's name that a text begins with.
pub(crate) fn variable_name(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let name = &text[..end];
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

/// A text as it would be typed: quoted where a shell would split or expand it.
pub(crate) fn shown(text: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_./=:,@%+^{}".contains(c);
    if !text.is_empty() && text.chars().all(safe) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Words as they would be typed.
pub(crate) fn line(words: &[Word]) -> String {
    let words: Vec<&str> = words.iter().map(Word::source).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(pieces: &[WordPiece]) -> Word {
        Word { pieces: pieces.to_vec(), source: String::new(), bare: 0, plain: false }
    }

    fn text(text: &str) -> WordPiece {
        WordPiece::Text(text.to_owned())
    }

    #[test]
    fn an_unknown_word_may_be_whatever_fits_around_its_text() {
        let any = WordPiece::Unknown(Split::Never, ExpansionOrigin::Anywhere);
        for (pieces, candidate, expected) in [
            (vec![text("push")], "push", true),
            (vec![text("pull")], "push", false),
            (vec![any.clone()], "push", true),
            (vec![text("pu"), any.clone()], "push", true),
            (vec![text("pu"), any.clone(), text("h")], "push", true),
            (vec![text("pu"), any.clone(), text("x")], "push", false),
            (vec![any.clone(), text("us"), any.clone()], "push", true),
            (vec![any.clone(), text("xx"), any.clone()], "push", false),
            (
                vec![text("pu"), WordPiece::Unknown(Split::Words, ExpansionOrigin::Anywhere), text("x")],
                "push",
                true,
            ),
            (vec![text("a"), WordPiece::Unknown(Split::Words, ExpansionOrigin::Anywhere)], "push", false),
        ] {
            assert_eq!(word(&pieces).may_be(candidate), expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_file_name_is_known_behind_an_unknown_directory() {
        let home = word(&[WordPiece::Unknown(Split::Never, ExpansionOrigin::Anywhere), text("/bin/git")]);
        assert_eq!(home.file_name(), Some("git"));
        assert_eq!(word(&[text("/usr/bin/git")]).file_name(), Some("git"));
        assert_eq!(
            word(&[text("/bin/g"), WordPiece::Unknown(Split::Never, ExpansionOrigin::Anywhere)]).file_name(),
            None
        );
    }
}
