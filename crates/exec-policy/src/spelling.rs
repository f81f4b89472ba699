//! Options that a rule names, and the ways to write them in a command: bundled, shortened, with a value attached, as
//! the long or the short name of the same option, anywhere among the arguments.

use crate::programs::{self, Arguments, Program};
use crate::rule::CommandWords;
use crate::word::Word;

/// A command's options, for rules that ask or forbid.
pub(crate) struct Options {
    words: Vec<Word>,
    /// The program's table, and the arguments as parsed by it.
    known: Option<(&'static Program, Arguments)>,
    /// Whether more words follow than are looked at.
    has_more: bool,
}

/// Longer words with one dash are rather one long option than a bundle of short ones.
const LONGEST_BUNDLE: usize = 6;

impl Options {
    pub(crate) fn of(reading: &CommandWords) -> Self {
        let seen = reading.words.iter().zip(&reading.hidden).filter(|(_, hidden)| !**hidden);
        let words: Vec<Word> = seen.map(|(word, _)| word.clone()).collect();
        let name = words.first().and_then(Word::file_name).unwrap_or_default();
        let subcommand = words.get(1).and_then(Word::text).unwrap_or_default();
        let known = Program::named(name)
            .map(|program| (program, 1))
            .or_else(|| Program::named(&format!("{name} {subcommand}")).map(|program| (program, 2)))
            .map(|(program, from)| (program, programs::read(program, &words, from)));
        Self { words, known, has_more: reading.is_cut() }
    }

    /// Whether the command has, or may have, the options of this word of a rule.
    pub(crate) fn may_have(&self, choice: &str) -> bool {
        if choice.len() < 2 || !choice.starts_with('-') || choice == "--" {
            return false;
        }
        let is_vague = |word: &&Word| word.text().is_none() && word.may_be(choice);
        if self.before_operands_only().filter(is_vague).any(|word| !self.is_value(word)) {
            return true;
        }
        let has_more = self.known.as_ref().is_some_and(|(_, arguments)| arguments.too_many);
        has_more || self.has_more || self.by_table(choice).unwrap_or_else(|| self.by_letters(choice))
    }

    /// The answer of the table; none if the option is not in it.
    fn by_table(&self, choice: &str) -> Option<bool> {
        let (program, arguments) = self.known.as_ref()?;
        let wanted = programs::read(program, &[Word::literal(""), Word::literal(choice)], 1);
        let is_there = |wanted: &programs::FoundOption| {
            let same = arguments.options.iter().filter(|found| found.entry == wanted.entry);
            let asks_value = wanted.value.as_ref().and_then(Word::text).filter(|_| choice.contains('='));
            same.into_iter().any(|found| {
                asks_value.is_none_or(|value| found.value.as_ref().is_some_and(|found| found.may_be(value)))
            })
        };
        (wanted.unknown.is_empty() && !wanted.options.is_empty()).then(|| wanted.options.iter().all(is_there))
    }

    /// For an unknown program, every bundle and every shortened option that may be the option counts.
    fn by_letters(&self, choice: &str) -> bool {
        let mut written =
            self.before_operands_only().map(|word| word.beginning().split('=').next().unwrap_or_default());
        if choice.starts_with("--") {
            return written.any(|option| option == choice || option.len() > 3 && choice.starts_with(option));
        }
        let is_bundle = |option: &&str| {
            let letters = option.strip_prefix('-').filter(|_| option.len() <= LONGEST_BUNDLE);
            letters.is_some_and(|letters| letters.chars().all(char::is_alphanumeric))
        };
        let bundles: Vec<&str> = written.clone().filter(is_bundle).collect();
        let in_bundles = |letter: char| bundles.iter().any(|bundle| bundle.contains(letter));
        written.any(|option| option == choice) || choice[1..].chars().all(in_bundles)
    }

    /// The arguments up to `--`, behind which there are no options.
    fn before_operands_only(&self) -> impl Iterator<Item = &Word> + Clone {
        self.words.iter().skip(1).take_while(|word| !word.is("--"))
    }

    /// Whether a word is the value of an option, by the program's table.
    fn is_value(&self, word: &Word) -> bool {
        let Some((_, arguments)) = &self.known else { return false };
        let is_word = |place: &usize| std::ptr::eq(&raw const self.words[*place], word);
        let is_option = word.beginning().starts_with('-');
        !is_option && !arguments.operands.iter().chain(&arguments.vague).any(is_word)
    }
}
