//! A program's arguments, parsed by its table: the options in any spelling, and their values.

use super::{Coverage, OptionEntry, Program, Role, Style, Takes};
use crate::word::Word;

/// The arguments of a program, sorted into options and operands.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) options: Vec<FoundOption>,
    /// Words that are no options, by their places.
    pub(crate) operands: Vec<usize>,
    /// Options that are not in the table, as they are written.
    pub(crate) unknown: Vec<String>,
    /// Words that may turn out to be options, by their places.
    pub(crate) vague: Vec<usize>,
    /// Whether there are more than can be looked at.
    pub(crate) too_many: bool,
}

/// An option that occurs, or may occur.
#[derive(Debug)]
pub(crate) struct FoundOption {
    pub(crate) entry: OptionEntry,
    pub(crate) value: Option<Word>,
}

/// How many options are looked at, and how many letters of a bundle. More are not understood.
const MOST_OPTIONS: usize = 512;
const LONGEST_BUNDLE: usize = 32;

/// Reads the words from a place on.
pub(crate) fn read(program: &Program, words: &[Word], from: usize) -> Arguments {
    let mut reader = Reader { program, words, at: from, found: Arguments::default(), reads_value: false };
    reader.all(from);
    reader.found
}

struct Reader<'a> {
    program: &'a Program,
    words: &'a [Word],
    at: usize,
    found: Arguments,
    /// Whether this is a second look at the value of an option.
    reads_value: bool,
}

impl Reader<'_> {
    fn all(&mut self, from: usize) {
        while self.at < self.words.len() {
            if self.found.options.len() + self.found.unknown.len() > MOST_OPTIONS {
                self.found.too_many = true;
                return;
            }
            if self.words[self.at].is("--") && !self.program.style.has_one_dash() {
                self.found.operands.extend(self.at + 1..self.words.len());
                return;
            }
            self.one(from);
        }
    }

    /// Reads the next word, and the values of the options in it. `from`: where the first one stands.
    fn one(&mut self, from: usize) {
        let Some(word) = self.words.get(self.at).cloned() else { return };
        let place = self.at;
        self.at += 1;
        let beginning = word.beginning();
        let is_bundle = self.program.style == Style::Tar && place == from && word.text().is_some();
        if beginning.is_empty() && word.text().is_none() {
            self.found.vague.push(place);
            self.found.operands.push(place);
        } else if !beginning.starts_with('-') && is_bundle {
            self.old_bundle(beginning);
        } else if !beginning.starts_with('-') || word.is("-") {
            self.operand(place);
        } else if self.program.style.has_one_dash() {
            self.dash(&word);
        } else if beginning.starts_with("--") {
            self.long(&word);
        } else {
            self.bundle(&word.from(1));
        }
    }

    fn operand(&mut self, place: usize) {
        self.found.operands.push(place);
        if matches!(self.program.style, Style::Posix | Style::DashFirst) {
            self.found.operands.extend(self.at..self.words.len());
            self.at = self.words.len();
        }
    }

    /// Splits `name=value`; no name, if it is known only when it runs.
    fn split(&mut self, word: &Word, dashes: usize) -> Option<(String, Option<Word>)> {
        let option = word.from(dashes);
        if let Some((name, value)) = option.setting() {
            return Some((name.to_owned(), Some(value)));
        }
        match option.text() {
            Some(name) => Some((name.to_owned(), None)),
            None => {
                self.unknown(word.source());
                self.found.vague.push(self.at - 1);
                None
            }
        }
    }

    fn long(&mut self, word: &Word) {
        let Some((name, attached)) = self.split(word, 2) else { return };
        let entries = self.program.entries();
        let exact: Vec<OptionEntry> =
            entries.clone().filter(|entry| name.len() > 1 && entry.is_named(&name)).collect();
        let shortened = || {
            let may_be_shortened =
                !matches!(self.program.style, Style::Exact | Style::Spread) && !name.is_empty();
            entries.filter(|entry| may_be_shortened && entry.begins_with(&name)).collect()
        };
        // If a word may be several options, all of them count.
        let meant: Vec<OptionEntry> = if exact.is_empty() { shortened() } else { exact };
        if meant.is_empty() && self.takes_back(&name) {
            return;
        }
        if meant.is_empty() {
            self.unknown(&format!("--{name}"));
        }
        if meant.iter().any(|entry| entry.takes == Takes::Command) {
            self.skip_command();
        }
        let takes_next = attached.is_none() && meant.iter().any(|entry| entry.takes == Takes::Value);
        let value = if takes_next { self.next() } else { attached };
        self.found.options.extend(meant.into_iter().map(|entry| FoundOption { entry, value: value.clone() }));
    }

    /// Whether this is `no-x` and there is an option `x`.
    fn takes_back(&self, name: &str) -> bool {
        let option = name.strip_prefix("no-").filter(|option| !option.is_empty());
        let is_there = |option| self.program.entries().any(|entry| entry.begins_with(option));
        self.program.style == Style::Git && option.is_some_and(is_there)
    }

    fn dash(&mut self, word: &Word) {
        let dashes = word.beginning().len() - word.beginning().trim_start_matches('-').len();
        let whole = word.beginning()[dashes..].to_owned();
        let attached = whole.find('=').map(|at| word.from(dashes + at + 1));
        let name = whole.split('=').next().unwrap_or_default();
        let entries = self.program.entries();
        let exact = entries.clone().find(|entry| entry.names.split(',').any(|known| known == name));
        let longest = |entry: &OptionEntry| {
            entry
                .names
                .split(',')
                .filter(|it| whole.starts_with(it.trim_end_matches('*')))
                .map(str::len)
                .max()
        };
        let entry = exact.or_else(|| entries.filter(|entry| entry.is_named(&whole)).max_by_key(longest));
        let Some(entry) = entry else {
            return self.unknown(word.source());
        };
        let value = match (entry.takes, attached) {
            (Takes::Command, _) => {
                self.skip_command();
                None
            }
            (Takes::Value, None) => self.next(),
            (_, attached) => attached.or_else(|| Some(word.clone())),
        };
        self.found.options.push(FoundOption { entry, value });
    }

    /// `-abc`, of which the last may take the rest or the next word as its value.
    fn bundle(&mut self, letters: &Word) {
        let mut rest = letters.clone();
        for _ in 0..LONGEST_BUNDLE {
            if rest.is("") {
                return;
            }
            let Some(letter) = rest.beginning().chars().next() else {
                self.found.vague.push(self.at - 1);
                return self.unknown(letters.source());
            };
            let pair = rest.beginning().get(..2).unwrap_or_default();
            let is_pair = |entry: &OptionEntry| {
                self.program.style == Style::Exact && pair.len() == 2 && entry.names == pair
            };
            let length =
                if self.program.entries().any(|entry| is_pair(&entry)) { 2 } else { letter.len_utf8() };
            let name = rest.beginning()[..length].to_owned();
            rest = rest.from(length);
            let Some(entry) = self.program.entries().find(|entry| entry.is_named(&name)) else {
                self.unknown(&format!("-{name}"));
                if self.program.coverage == Coverage::Complete {
                    return;
                }
                continue;
            };
            let value = match entry.takes {
                Takes::Command => {
                    self.skip_command();
                    None
                }
                Takes::Nothing => None,
                Takes::Value if rest.is("") || self.program.style == Style::Spread => self.next(),
                Takes::Value | Takes::Attached => Some(rest.clone()).filter(|rest| !rest.is("")),
            };
            self.found.options.push(FoundOption { entry, value });
            if entry.takes != Takes::Nothing && self.program.style != Style::Spread {
                return;
            }
        }
        self.found.too_many |= !rest.is("");
    }

    /// `tar xzf`: values follow in the order of their letters.
    fn old_bundle(&mut self, letters: &str) {
        self.found.too_many |= letters.len() > LONGEST_BUNDLE;
        for letter in letters.chars().take(LONGEST_BUNDLE) {
            let name = letter.to_string();
            match self.program.entries().find(|entry| entry.is_named(&name)) {
                Some(entry) => {
                    let value = if entry.takes == Takes::Value { self.next() } else { None };
                    self.found.options.push(FoundOption { entry, value });
                }
                None => self.unknown(&name),
            }
        }
    }

    /// Passes over a command, which is looked at elsewhere.
    fn skip_command(&mut self) {
        let rest = self.words.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|word| word.is(";") || word.is("+"));
        self.at += end.map_or(rest.len(), |end| end + 1);
    }

    fn next(&mut self) -> Option<Word> {
        let value = self.words.get(self.at).cloned();
        self.also_as_option();
        self.at += 1;
        value
    }

    /// Versions and subcommands of a program differ in whether an option takes a value. A value that looks like an
    /// option which runs a command or writes a file counts as that option, too.
    fn also_as_option(&mut self) {
        let is_option = |word: &Word| word.beginning().len() > 1 && word.beginning().starts_with('-');
        if self.reads_value || !self.words.get(self.at).is_some_and(is_option) {
            return;
        }
        let found = Arguments::default();
        let mut second =
            Reader { program: self.program, words: self.words, at: self.at, found, reads_value: true };
        second.one(self.at);
        let matters = |found: &FoundOption| found.entry.role != Role::Plain;
        self.found.options.extend(second.found.options.into_iter().filter(matters));
    }

    fn unknown(&mut self, option: &str) {
        self.found.unknown.push(option.to_owned());
    }
}
