//! Builtins that change nothing outside their shell, and then need no rule. Most can also be made to run a command: by
//! a variable's name with an index that is evaluated, by a number that is evaluated, or by an option. So each builtin
//! has a check here for the arguments with which it is harmless. Arguments that must be numbers for that are noted, and
//! compared with the values that the script assigns.

use super::options::{ArgumentStep, ArgumentWalk, Spec};
use super::{Given, Look};
use crate::script::ShellKind;
use crate::word::{Split, Word, variable_name};

/// Builtins that are harmless with any arguments.
const ALWAYS: &[&str] = &[
    ":", "true", "false", "cd", "pushd", "popd", "dirs", "pwd", "echo", "umask", "times", "type", "which",
    "disown", "sleep", "trap", "suspend", "fg", "bg", "help", "caller",
];

/// Builtins that declare variables.
const DECLARING: &[&str] = &["local", "declare", "typeset", "export", "readonly"];

/// Options of `set` and `shopt` that do not change what later commands mean.
const OPTIONS: &[&str] = &[
    "allexport",
    "braceexpand",
    "emacs",
    "errexit",
    "errtrace",
    "functrace",
    "hashall",
    "ignoreeof",
    "monitor",
    "noclobber",
    "noexec",
    "noglob",
    "nolog",
    "notify",
    "nounset",
    "onecmd",
    "physical",
    "pipefail",
    "verbose",
    "vi",
    "xtrace",
];
const SHOPT: &[&str] = &[
    "autocd",
    "cdspell",
    "checkhash",
    "checkjobs",
    "checkwinsize",
    "cmdhist",
    "direxpand",
    "dirspell",
    "dotglob",
    "execfail",
    "extglob",
    "failglob",
    "globasciiranges",
    "globskipdots",
    "globstar",
    "huponexit",
    "inherit_errexit",
    "lastpipe",
    "lithist",
    "nocaseglob",
    "nocasematch",
    "nullglob",
    "shift_verbose",
    "xpg_echo",
];
const SETOPT: &[&str] = &[
    "errexit",
    "extendedglob",
    "noclobber",
    "nomatch",
    "nonomatch",
    "noglob",
    "nounset",
    "nullglob",
    "pipefail",
    "unset",
    "verbose",
    "xtrace",
    "shwordsplit",
];

const UNARY: &[&str] = &[
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-p", "-r", "-s", "-t", "-u", "-w", "-x", "-G",
    "-L", "-N", "-O", "-S", "-n", "-z", "-o",
];
const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
const BINARY: &[&str] = &["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef"];

/// A builtin and its arguments.
struct Builtin<'a> {
    name: &'a str,
    given: &'a Given<'a>,
    arguments: &'a [Word],
    /// Words that must be numbers.
    evaluated: Vec<Word>,
}

/// The attributes that `declare` gives a variable.
#[derive(Clone, Copy)]
struct Attributes {
    integer: bool,
    array: bool,
}

/// Notes that a builtin is harmless, if its arguments make it so.
pub(super) fn look(name: &str, given: &Given<'_>, look: &mut Look) {
    let mut builtin = Builtin { name, given, arguments: &given.words[1..], evaluated: Vec::new() };
    let harmless = builtin.is_harmless();
    look.evaluated.append(&mut builtin.evaluated);
    if harmless && given.writes.is_none() {
        look.harmless = Some("it changes nothing outside the shell");
    }
}

impl Builtin<'_> {
    fn is_harmless(&mut self) -> bool {
        match self.name {
            name if ALWAYS.contains(&name) => true,
            name if DECLARING.contains(&name) => self.declare(),
            "exit" | "return" | "break" | "continue" | "shift" | "logout" => self.count(),
            "test" | "[" => self.test(),
            "printf" => self.printf(),
            "wait" => self.wait(),
            "set" => self.set(),
            "shopt" => self.shopt(),
            "setopt" | "unsetopt" => self.arguments.iter().all(is_option_of_zsh),
            "unset" => self.unset(),
            "read" => self.read(),
            "let" => self.evaluate_all(),
            "getopts" => self.reference_at(1),
            "jobs" => self.letters("lpnrs"),
            "hash" => {
                self.letters("rltd") && !self.arguments.iter().any(|word| word.beginning().contains('='))
            }
            "mapfile" | "readarray" => self.mapfile(),
            "ulimit" => self.arguments.iter().all(is_limit),
            "history" => self.arguments.iter().all(|word| word.is("-c") || is_digits(word)),
            _ => false,
        }
    }

    fn is_bash(&self) -> bool {
        self.given.shell == ShellKind::Bash
    }

    fn evaluate(&mut self, word: Option<&Word>) {
        self.evaluated.extend(word.cloned());
    }

    fn evaluate_all(&mut self) -> bool {
        self.evaluated.extend_from_slice(self.arguments);
        true
    }

    /// A word that names a variable. Array indices that are not plain numbers are evaluated.
    fn reference(&mut self, word: &Word) {
        if !word.is_reference() {
            self.evaluated.push(word.clone());
        }
    }

    fn reference_at(&mut self, place: usize) -> bool {
        let arguments = self.arguments;
        arguments.get(place).is_some_and(|word| {
            self.reference(word);
            true
        })
    }

    /// bash takes only digits here; others evaluate an expression.
    fn count(&mut self) -> bool {
        if !self.is_bash() {
            self.evaluate_all();
        }
        true
    }

    /// Whether the options are among these letters. A word that may expand to an option does not count as one of them.
    fn letters(&self, letters: &str) -> bool {
        self.arguments.iter().all(|word| match word.beginning().strip_prefix('-') {
            Some(_) => word.text().is_some_and(|text| text[1..].chars().all(|c| letters.contains(c))),
            None => word.text().is_some() || !word.beginning().is_empty(),
        })
    }

    fn wait(&mut self) -> bool {
        let mut arguments = self.arguments.iter();
        while let Some(word) = arguments.next() {
            match word.text() {
                Some("-n" | "-f" | "--") => {}
                Some("-p") => {
                    if let Some(name) = arguments.next() {
                        self.reference(name);
                    }
                }
                Some(text) if text.starts_with('%') => {}
                _ => self.evaluated.push(word.clone()),
            }
        }
        true
    }

    fn unset(&mut self) -> bool {
        let arguments = self.arguments;
        for word in arguments.iter().filter(|word| !matches!(word.text(), Some("-v" | "-f" | "-n"))) {
            self.reference(word);
        }
        true
    }

    fn set(&self) -> bool {
        let letters = if self.is_bash() { "abefhmnptuvxBCEPT" } else { "aefmnuvxC" };
        let mut arguments = self.arguments.iter();
        while let Some(word) = arguments.next() {
            let text = match word.text() {
                Some("-" | "--") => return true,
                Some(text) if text.starts_with(['-', '+']) => text,
                Some(_) => return true,
                None => return !word.beginning().is_empty() && !word.beginning().starts_with(['-', '+']),
            };
            if !text[1..].chars().all(|c| letters.contains(c) || c == 'o') {
                return false;
            }
            if text.contains('o') {
                let option = arguments.next().map(Word::text);
                if option.is_some_and(|option| option.is_none_or(|option| !OPTIONS.contains(&option))) {
                    return false;
                }
            }
        }
        true
    }

    fn shopt(&self) -> bool {
        self.arguments.iter().all(|word| {
            word.text().is_some_and(|text| match text.strip_prefix('-') {
                Some(letters) => letters.chars().all(|c| "pqsuo".contains(c)),
                None => SHOPT.contains(&text) || OPTIONS.contains(&text),
            })
        })
    }

    fn declare(&mut self) -> bool {
        let letters = if self.is_bash() { "aAfFgilprtuxc" } else { "aAgirxp" };
        let mut attributes = Attributes { integer: false, array: self.given.arrays };
        let arguments = self.arguments;
        for word in arguments {
            if word.beginning().starts_with(['-', '+']) {
                let Some(text) = word.text() else { return false };
                if text.contains('n') && self.name != "export" {
                    // It makes one variable another, and evaluates the key of an element.
                    self.evaluate_all();
                    return false;
                }
                let is_known =
                    |c: char| letters.contains(c) || self.name == "export" && c == 'n' || text == "--";
                if !text[1..].chars().all(is_known) {
                    return false;
                }
                attributes.integer |= text.contains('i');
                attributes.array |= text.contains(['a', 'A']);
                continue;
            }
            let Some(name) = variable_name(word.beginning()) else { return false };
            match &word.beginning()[name.len()..] {
                "" if word.text().is_some() => {}
                rest if rest.starts_with('=') || rest.starts_with("+=") => {
                    self.declared(word, attributes);
                }
                _ => self.reference(word),
            }
            if attributes.integer {
                // Values that are assigned to it later are evaluated too.
                self.evaluated.push(Word::variable(name));
            }
        }
        true
    }

    /// `name=value`. What looks like a list is evaluated again if the variable is an array.
    fn declared(&mut self, word: &Word, attributes: Attributes) {
        let Some((_, value)) = word.setting() else { return };
        let is_list = value.beginning().trim_start().starts_with('(');
        let may_be_list = is_list || value.text().is_none() && value.beginning().trim_start().is_empty();
        let splits = !self.given.direct && value.split() != Split::Never;
        if attributes.integer || is_list || attributes.array && may_be_list || splits {
            self.evaluated.push(value);
        }
    }

    fn read(&mut self) -> bool {
        let shorts = match self.given.shell {
            ShellKind::Zsh => "rspqAclneEzk?t?u?d:",
            ShellKind::Bash | ShellKind::Posix => "rsea:d:i:n:N:p:t:u:",
        };
        let mut walk = ArgumentWalk::new(self.given.words);
        while let Some(step) = walk.next(Spec { shorts, longs: "" }) {
            match step {
                ArgumentStep::Option(option, Some(value)) => match option.as_str() {
                    "a" => self.reference(&value),
                    "d" | "i" | "p" => {}
                    _ if self.is_bash() && value.split() == Split::Never => {}
                    _ => self.evaluated.push(value),
                },
                ArgumentStep::Option(_, None) => {}
                ArgumentStep::Operand(place) => {
                    let word = &self.given.words[place];
                    let name = word.text().and_then(|text| text.split_once('?')).map(|(name, _)| name);
                    let name = name.filter(|_| self.given.shell == ShellKind::Zsh).map(Word::literal);
                    self.reference(&name.unwrap_or_else(|| word.clone()));
                }
                ArgumentStep::Strange(_) => return false,
            }
        }
        !walk.doubtful
    }

    fn mapfile(&mut self) -> bool {
        let mut walk = ArgumentWalk::new(self.given.words);
        while let Some(step) = walk.next(Spec { shorts: "d:n:O:s:tu:C:c:", longs: "" }) {
            match step {
                ArgumentStep::Option(..) => {}
                ArgumentStep::Operand(place) => self.reference(&self.given.words[place]),
                ArgumentStep::Strange(_) => return false,
            }
        }
        !walk.doubtful
    }

    /// `-v` names a variable. zsh and ksh evaluate what they print as a number.
    fn printf(&mut self) -> bool {
        let arguments = self.arguments;
        let mut rest = arguments;
        let format = loop {
            let [first, more @ ..] = rest else { return true };
            match first.text() {
                Some("-v") => {
                    let [name, more @ ..] = more else { return true };
                    self.reference(name);
                    rest = more;
                }
                Some("--") => {
                    rest = more;
                    break more.first();
                }
                Some(text) if text.starts_with("-v") => {
                    self.reference(&first.from(2));
                    rest = more;
                }
                Some(text) => {
                    if text.starts_with('-') {
                        return false;
                    }
                    break Some(first);
                }
                None => {
                    if matches!(first.beginning().chars().next(), None | Some('-')) {
                        self.evaluate(Some(first));
                    }
                    break Some(first);
                }
            }
        };
        let prints_texts = format.and_then(Word::text).is_some_and(prints_only_texts);
        if !self.is_bash() && !prints_texts {
            self.evaluated.extend(rest.iter().skip(1).cloned());
        }
        true
    }

    /// A word that is known only when it runs must stand where it cannot be `-v`: beside an operator, or alone.
    fn test(&mut self) -> bool {
        let all = self.arguments;
        let closed = self.name == "[" && all.last().is_some_and(|word| word.is("]"));
        let words = &all[..all.len() - usize::from(closed)];
        let text = |place: Option<usize>| place.and_then(|place| words.get(place)).and_then(Word::text);
        for (place, word) in words.iter().enumerate() {
            let (before, after) = (text(place.checked_sub(1)), text(Some(place + 1)));
            let is_compared = |operator: Option<&str>| operator.is_some_and(|it| NUMERIC.contains(&it));
            if matches!(before, Some("-v" | "-R")) {
                self.reference(word);
            }
            if !self.is_bash() && (is_compared(before) || is_compared(after) || before == Some("-t")) {
                self.evaluated.push(word.clone());
            }
            if word.text().is_some() {
                continue;
            }
            let is_last = place + 1 == words.len();
            let begins =
                matches!(before, None | Some("!" | "(" | "-a" | "-o")) && (place == 0 || before.is_some());
            let ends = is_last || matches!(after, Some(")" | "-a" | "-o"));
            let is_binary = |operator: &str| BINARY.contains(&operator) || NUMERIC.contains(&operator);
            let is_operand =
                before.is_some_and(|before| is_binary(before) || UNARY.contains(&before) && !begins);
            let is_placed = is_operand || begins && (ends || after.is_some_and(is_binary));
            if !is_placed || word.split() != Split::Never {
                self.evaluated.push(word.clone());
            }
        }
        true
    }
}

fn is_digits(word: &Word) -> bool {
    word.text().is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_limit(word: &Word) -> bool {
    let is_option = |text: &str| text.strip_prefix('-').is_some_and(|it| it.chars().all(char::is_alphabetic));
    is_digits(word)
        || word.text().is_some_and(|it| is_option(it) || ["unlimited", "hard", "soft"].contains(&it))
}

fn is_option_of_zsh(word: &Word) -> bool {
    let name = word.text().map(|text| text.replace('_', "").to_ascii_lowercase());
    name.is_some_and(|name| SETOPT.contains(&name.as_str()))
}

/// Whether every directive of a format prints its argument as it is.
fn prints_only_texts(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, directive)) = rest.split_once('%') {
        let flags = directive.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #.".contains(c));
        if !flags.starts_with(['s', 'b', 'q', 'c', '%']) {
            return false;
        }
        rest = &flags[1..];
    }
    true
}
