//! One rule: the beginning of a command, and the verdict on commands that begin so.
//!
//! A rule that allows must be matched exactly. A rule that asks or forbids is matched by everything that *may* be such
//! a command: unknown words are anything, options may stand before a word that the rule names, and options that the
//! rule names may stand anywhere, in any spelling.

use crate::spelling::Options;
use crate::verdict::{RuleSource, Verdict};
use crate::word::{Split, Word, shown};

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// For each word, its alternatives. The first is the program.
    pub(crate) command: Vec<Vec<String>>,
    pub(crate) verdict: Verdict,
    /// Whether it also allows to write files, by an option or a redirection.
    pub(crate) writes: bool,
    pub(crate) why: Option<String>,
    /// Commands it must match.
    pub(crate) matches: Vec<String>,
    /// Commands it must not match.
    pub(crate) except: Vec<String>,
    pub(crate) line: usize,
}

/// The most words that a rule names.
pub(crate) const MOST_ELEMENTS: usize = 16;
/// The most words of a command that are compared with a rule. A command that still fits the rule after them counts as
/// matching.
const MOST_WORDS: usize = 256;

/// The directories in which a program is what its name says.
const SYSTEM_DIRECTORIES: [&str; 6] =
    ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

/// A command's words as a rule sees them.
#[derive(Clone, Debug)]
pub(crate) struct CommandWords {
    pub(crate) words: Vec<Word>,
    /// Options before the word that names the subcommand, and their values: skipped.
    pub(crate) hidden: Vec<bool>,
}

impl CommandWords {
    pub(crate) fn plain(words: &[Word]) -> Self {
        // One more than is looked at says that there are more.
        let words = &words[..words.len().min(MOST_WORDS + 1)];
        Self { words: words.to_vec(), hidden: vec![false; words.len()] }
    }

    /// Whether the command has more words than are looked at.
    pub(crate) fn is_cut(&self) -> bool {
        self.words.len() > MOST_WORDS
    }
}

impl Rule {
    /// The verdict on commands that match.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The line it begins at.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The beginning that it matches, as it would be typed.
    pub fn command(&self) -> String {
        let word = |choices: &Vec<String>| match &choices[..] {
            [one] => shown(one),
            several => format!("({})", several.iter().map(|one| shown(one)).collect::<Vec<_>>().join("|")),
        };
        format!("`{}`", self.command.iter().map(word).collect::<Vec<_>>().join(" "))
    }

    pub(crate) fn speaker(&self, file: &str) -> RuleSource {
        RuleSource { file: file.to_owned(), line: self.line, command: self.command(), why: self.why.clone() }
    }

    /// Whether it matches this command.
    pub(crate) fn speaks_of(&self, reading: &CommandWords) -> bool {
        match self.verdict {
            Verdict::Allow => self.is_met_by(reading),
            Verdict::Ask | Verdict::Forbid => self.may_be_met_by(reading),
        }
    }

    /// Whether one of its words is an option.
    pub(crate) fn names_option(&self) -> bool {
        self.command.iter().skip(1).flatten().any(|choice| choice.starts_with('-'))
    }

    /// How many words it names.
    pub(crate) fn length(&self) -> usize {
        self.command.len()
    }

    fn is_met_by(&self, reading: &CommandWords) -> bool {
        let seen = reading.words.iter().zip(&reading.hidden).filter(|(_, hidden)| !**hidden);
        let mut words = seen.map(|(word, _)| word);
        self.command.iter().enumerate().all(|(place, choices)| {
            let Some(text) = words.next().and_then(Word::text) else { return false };
            let is = |choice: &String| choice == text || place == 0 && is_system_program(text, choice);
            choices.iter().any(is)
        })
    }

    /// Follows every way to read the words at once: `met` holds how many of the rule's words may have been met so far.
    fn may_be_met_by(&self, reading: &CommandWords) -> bool {
        let all = self.command.len();
        let Some((name, _)) = reading.words.split_first() else { return false };
        if !self.may_be_program(name) {
            return false;
        }
        let options = self.names_option().then(|| Options::of(reading));
        let mut met = vec![false; all + 1];
        met[1] = true;
        self.meet_options(&mut met, options.as_ref());
        let mut after_option = false;
        for place in 1..reading.words.len().min(MOST_WORDS) {
            if met[all] || !met.contains(&true) {
                break;
            }
            let word = &reading.words[place];
            if reading.hidden[place] {
                continue;
            }
            met = self.after(word, &met, after_option);
            self.meet_options(&mut met, options.as_ref());
            after_option = is_option(word);
        }
        met[all] || reading.is_cut() && met.contains(&true)
    }

    /// Options that the rule names are met wherever they stand, so that no word is used up.
    fn meet_options(&self, met: &mut [bool], options: Option<&Options>) {
        let Some(options) = options else { return };
        for count in 1..self.command.len() {
            let is_there = || self.command[count].iter().any(|choice| options.may_have(choice));
            met[count + 1] |= met[count] && is_there();
        }
    }

    fn after(&self, word: &Word, met: &[bool], after_option: bool) -> Vec<bool> {
        let all = self.command.len();
        let vanishes = word.split() != Split::Never && word.beginning().is_empty();
        let may_be_passed_over = is_option(word) || after_option || vanishes;
        let mut after = vec![false; all + 1];
        for count in (0..all).filter(|count| met[*count]) {
            after[count] |= may_be_passed_over;
            if self.command[count].iter().any(|choice| word.may_be(choice)) {
                let most = if word.split() == Split::Never { count + 1 } else { all };
                after[count + 1..=most].iter_mut().for_each(|it| *it = true);
            }
        }
        after
    }

    fn may_be_program(&self, name: &Word) -> bool {
        let Some(program) = name.file_name() else { return false };
        self.command[0].iter().any(|choice| choice.rsplit('/').next() == Some(program))
    }
}

fn is_option(word: &Word) -> bool {
    word.beginning().len() > 1 && word.beginning().starts_with(['-', '+'])
}

/// Whether this path is that program where programs usually are.
fn is_system_program(path: &str, name: &str) -> bool {
    path.rsplit_once('/')
        .is_some_and(|(directory, file)| file == name && SYSTEM_DIRECTORIES.contains(&directory))
}

/// Whether a program is what its name says: it is looked up on the path, or comes from where programs usually are.
pub(crate) fn is_usual_program(name: &str) -> bool {
    name.rsplit_once('/').is_none_or(|(directory, _)| SYSTEM_DIRECTORIES.contains(&directory))
}
