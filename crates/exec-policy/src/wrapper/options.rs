//! Options of wrappers: where they end, and which of them take a value. An unknown option could hide where the command
//! begins, so it is reported, not guessed.

use crate::word::{Split, Word};

/// Which options a program has. Short ones as in `ab:c?`, long ones separated by blanks; `:` takes a value, `?` takes
/// one only if it is attached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spec {
    pub(super) shorts: &'static str,
    pub(super) longs: &'static str,
}

/// How much may stand behind an option in the same word, if it takes no value.
const LONGEST_BUNDLE: usize = 256;

/// The next item of the arguments.
#[derive(Debug)]
pub(super) enum ArgumentStep {
    /// An option, with its value if it takes one.
    Option(String, Option<Word>),
    /// An operand, at this place.
    Operand(usize),
    /// Something that is not understood.
    Strange(String),
}

/// A walk over a command's arguments.
#[derive(Debug)]
pub(super) struct ArgumentWalk<'a> {
    words: &'a [Word],
    at: usize,
    /// The rest of a word with several short options.
    cluster: Option<Word>,
    ended: bool,
    /// Whether a word was met that may expand to several.
    pub(super) doubtful: bool,
}

enum Takes {
    Nothing,
    Value,
    Attached,
}

impl<'a> ArgumentWalk<'a> {
    /// Over everything but the program's name.
    pub(super) fn new(words: &'a [Word]) -> Self {
        Self { words, at: 1, cluster: None, ended: false, doubtful: false }
    }

    /// The place of the next word.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// Takes all remaining words as operands.
    pub(super) fn end_options(&mut self) {
        self.ended = true;
    }

    pub(super) fn next(&mut self, spec: Spec) -> Option<ArgumentStep> {
        if let Some(cluster) = self.cluster.take() {
            return Some(self.short(&cluster, spec));
        }
        let word = self.words.get(self.at)?;
        self.at += 1;
        self.doubtful |= word.split() == Split::Words;
        let beginning = word.beginning();
        if self.ended || !beginning.starts_with('-') || word.is("-") {
            return Some(ArgumentStep::Operand(self.at - 1));
        }
        if word.is("--") {
            self.ended = true;
            return self.next(spec);
        }
        if beginning.starts_with("--") {
            return Some(self.long(word, spec));
        }
        Some(self.short(&word.from(1), spec))
    }

    fn short(&mut self, letters: &Word, spec: Spec) -> ArgumentStep {
        let Some(letter) = letters.beginning().chars().next() else {
            return ArgumentStep::Strange("an option that is known only when it runs".to_owned());
        };
        let Some(takes) = short_takes(letter, spec.shorts) else {
            return ArgumentStep::Strange(format!("its option `-{letter}`"));
        };
        let rest = letters.from(letter.len_utf8());
        let rest = (!rest.is("")).then_some(rest);
        let name = letter.to_string();
        match (takes, rest) {
            (Takes::Nothing, Some(rest)) if rest.beginning().len() > LONGEST_BUNDLE => {
                ArgumentStep::Strange("a long bundle of options".to_owned())
            }
            (Takes::Nothing, rest) => {
                self.cluster = rest;
                ArgumentStep::Option(name, None)
            }
            (Takes::Value, None) => ArgumentStep::Option(name, self.value()),
            (Takes::Value | Takes::Attached, rest) => ArgumentStep::Option(name, rest),
        }
    }

    fn long(&mut self, word: &Word, spec: Spec) -> ArgumentStep {
        let option = word.from(2);
        let (asked, attached) = match option.setting() {
            Some((name, value)) => (name.to_owned(), Some(value)),
            None => match option.text() {
                Some(name) => (name.to_owned(), None),
                None => return ArgumentStep::Strange("an option that is known only when it runs".to_owned()),
            },
        };
        // A long option may be shortened to whatever begins no other one.
        let known = spec.longs.split(' ').map(|entry| (entry.trim_end_matches([':', '?']), entry));
        let exact = known.clone().find(|(name, _)| *name == asked);
        let mut longer = known.filter(|(name, _)| name.starts_with(&asked));
        let found = exact.or_else(|| longer.next());
        let Some((name, entry)) = found.filter(|_| !asked.is_empty()) else {
            return ArgumentStep::Strange(format!("its option `--{asked}`"));
        };
        if exact.is_none()
            && longer.next().is_some_and(|(_, other)| other.ends_with(':') != entry.ends_with(':'))
        {
            return ArgumentStep::Strange(format!("its option `--{asked}`"));
        }
        let value = if attached.is_none() && entry.ends_with(':') { self.value() } else { attached };
        ArgumentStep::Option(name.to_owned(), value)
    }

    fn value(&mut self) -> Option<Word> {
        let value = self.words.get(self.at)?;
        self.at += 1;
        self.doubtful |= value.split() == Split::Words;
        Some(value.clone())
    }
}

fn short_takes(letter: char, shorts: &str) -> Option<Takes> {
    let at = shorts.find(letter).filter(|_| letter != ':' && letter != '?')?;
    Some(match shorts[at + letter.len_utf8()..].chars().next() {
        Some(':') => Takes::Value,
        Some('?') => Takes::Attached,
        _ => Takes::Nothing,
    })
}
