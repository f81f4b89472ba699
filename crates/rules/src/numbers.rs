//! Which texts a shell may evaluate as expressions without running anything: numbers, operators, and variables that hold
//! nothing else.
//!
//! Evaluating `x` evaluates the value of `x` in turn, and `a[$(…)]` in that value runs a command. So a variable counts as a
//! number only if every way in which the script can set it is in sight and sets it to such an expression. In doubt, it does
//! not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::script::{Parsed, ShellKind, Simple};
use crate::word::{Origin, Piece, Word, variable_name};

/// The variables of a script that are numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    names: BTreeSet<String>,
    /// Whether the shell itself keeps numbers in `RANDOM` and its like.
    has_counters: bool,
}

/// Words by which variables get values out of sight: scripts that run in the same shell, and references to variables.
const OUT_OF_SIGHT: &[&str] = &[
    "eval",
    "trap",
    ".",
    "source",
    "alias",
    "bind",
    "complete",
    "fc",
    "emulate",
    "vared",
    "autoload",
    "zparseopts",
];

/// Builtins that assign `name=value` as it stands.
const DECLARING: &[&str] = &["declare", "typeset", "local", "export", "readonly"];

/// Builtins that set no variable which their arguments name.
const SETS_NOTHING: &[&str] =
    &["echo", "test", "[", "let", ":", "true", "false", "exit", "return", "break", "continue", "shift", "cd"];

/// Variables that the shell sets to texts of its own accord.
const SET_BY_SHELL: &[&str] = &[
    "_",
    "REPLY",
    "OPTARG",
    "PWD",
    "OLDPWD",
    "MAPFILE",
    "COPROC",
    "FUNCNAME",
    "DIRSTACK",
    "GROUPS",
    "HOSTNAME",
    "MATCH",
    "match",
    "reply",
    "argv",
    "dirstack",
    "funcstack",
];

/// Variables that hold numbers whatever is assigned to them.
const COUNTERS: &[&str] =
    &["RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "BASHPID", "PPID", "UID", "EUID"];

/// How often variables are compared with each other: as long as a chain of variables may be that are not numbers.
const MOST_ROUNDS: usize = 64;

/// Stand for expansions in an expression: one that is a number, and one that is some harmless expression.
const NUMBER: char = '\u{1}';
const VARIABLE: char = '\u{2}';

impl Numbers {
    /// Nothing is known of any variable.
    pub(crate) fn unknown(shell: ShellKind) -> Self {
        Self { names: BTreeSet::new(), has_counters: shell != ShellKind::Posix }
    }

    /// The numbers of a script that runs with variables which no one tampered with.
    pub(crate) fn of(parsed: &Parsed, shell: ShellKind) -> Self {
        let mut numbers = Self::unknown(shell);
        if parsed.simples.iter().any(sets_out_of_sight) {
            return numbers;
        }
        let (mut values, spoilt) = assigned(parsed);
        values.retain(|name, _| !spoilt.contains(name) && !is_set_by_shell(name));
        numbers.names.extend(values.keys().cloned());
        for _ in 0..MOST_ROUNDS {
            let wrong: Vec<String> = values
                .iter()
                .filter(|(_, values)| !values.iter().all(|value| numbers.is_number(value)))
                .map(|(name, _)| name.clone())
                .collect();
            if wrong.is_empty() {
                return numbers;
            }
            for name in wrong {
                values.remove(&name);
                numbers.names.remove(&name);
            }
        }
        Self::unknown(shell)
    }

    /// Whether evaluating this word runs nothing.
    pub(crate) fn is_number(&self, word: &Word) -> bool {
        let mut text = String::new();
        for piece in word.pieces() {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Unknown(_, Origin::Number) => text.push(NUMBER),
                Piece::Unknown(_, Origin::Variable(name)) if self.holds(name) => text.push(VARIABLE),
                Piece::Unknown(..) => return false,
            }
        }
        let is_operator = |c: char| c.is_ascii_whitespace() || "+-*/%<>=!&|^~?:;,().".contains(c);
        text.split(is_operator).all(|token| token.is_empty() || self.is_operand(token))
    }

    fn is_operand(&self, token: &str) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_#@".contains(c) || c == NUMBER;
        if token.chars().eq([VARIABLE]) {
            return true;
        }
        match token.chars().next() {
            Some(first) if first.is_ascii_digit() || first == NUMBER => token.chars().all(is_part),
            _ => variable_name(token) == Some(token) && self.holds(token),
        }
    }

    fn holds(&self, name: &str) -> bool {
        self.names.contains(name) || self.has_counters && COUNTERS.contains(&name)
    }
}

/// Whether a script sets variables that a shell it starts may find.
pub(crate) fn sets_variables(parsed: &Parsed) -> bool {
    let sets = |simple: &Simple| {
        let name = simple.words.first().and_then(Word::text);
        !simple.assignments.is_empty()
            || name.is_none_or(|name| !SETS_NOTHING.contains(&name) && is_setting(name))
    };
    !parsed.assigned.is_empty() || parsed.simples.iter().any(sets)
}

fn is_setting(name: &str) -> bool {
    const MORE: [&str; 10] =
        ["read", "printf", "mapfile", "readarray", "getopts", "set", "wait", "command", "builtin", "print"];
    DECLARING.contains(&name) || MORE.contains(&name) || OUT_OF_SIGHT.contains(&name)
}

fn sets_out_of_sight(simple: &Simple) -> bool {
    let is = |word: &Word| word.text().is_some_and(|text| OUT_OF_SIGHT.contains(&text));
    let declares = simple.words.iter().any(|word| word.text().is_some_and(|text| DECLARING.contains(&text)));
    // `declare -n` makes one variable another.
    let refers = |word: &Word| {
        let option = word.beginning();
        option.starts_with(['-', '+']) && (word.text().is_none() || option.contains('n'))
    };
    let has_name = simple.words.first().is_none_or(|word| word.text().is_some());
    !has_name || simple.words.iter().any(is) || declares && simple.words.iter().any(refers)
}

fn is_set_by_shell(name: &str) -> bool {
    SET_BY_SHELL.contains(&name) || name.starts_with("BASH")
}

/// The values that variables are given in sight, and the variables that are set in some other way.
fn assigned(parsed: &Parsed) -> (BTreeMap<String, Vec<Word>>, BTreeSet<String>) {
    let (mut values, mut spoilt) = (BTreeMap::<String, Vec<Word>>::new(), BTreeSet::new());
    let mut assign = |word: &Word| {
        let Some((name, value)) = word.assignment() else { return false };
        let is_plain = word.beginning()[name.len()..].starts_with('=');
        if is_plain {
            values.entry(name.to_owned()).or_default().push(value);
        }
        is_plain
    };
    for simple in &parsed.simples {
        for word in &simple.assignments {
            if !assign(word) {
                spoilt.extend(variable_name(word.beginning()).map(str::to_owned));
            }
        }
        let Some(name) = simple.words.first().and_then(Word::text) else { continue };
        let declares = DECLARING.contains(&name);
        for word in simple.words.iter().skip(1).filter(|_| !SETS_NOTHING.contains(&name)) {
            let is_bare = word.is_reference() && !word.beginning().contains('[');
            if !(declares && (is_bare || assign(word))) {
                spoilt.extend(variable_name(word.beginning()).map(str::to_owned));
            }
        }
    }
    for name in parsed.evaluated.iter().flat_map(Word::texts).flat_map(assigned_in_expression) {
        values.entry(name.to_owned()).or_default().push(Word::literal("0"));
    }
    for (name, value) in &parsed.assigned {
        match value {
            Some(value) => values.entry(name.clone()).or_default().push(value.clone()),
            None => drop(spoilt.insert(name.clone())),
        }
    }
    (values, spoilt)
}

/// Variables to which an expression assigns, as in `i = 0`, `i += 2` or `i++`. What it assigns are numbers.
fn assigned_in_expression(expression: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = expression;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(is_part)?;
            let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |length| start + length);
            let token = &rest[start..end];
            rest = &rest[end..];
            let operator = rest.trim_start();
            let plain = operator.trim_start_matches(['+', '-', '*', '/', '%', '<', '>', '&', '|', '^']);
            let counts = operator.starts_with("++") || operator.starts_with("--");
            let assigns = plain.starts_with('=') && !plain.starts_with("==");
            if (counts || assigns) && variable_name(token) == Some(token) {
                return Some(token);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script;

    #[track_caller]
    fn check(script: &str, expression: &str, expected: bool) {
        let numbers = Numbers::of(&script::parse(script, ShellKind::Bash, 16), ShellKind::Bash);
        assert_eq!(numbers.is_number(&Word::literal(expression)), expected, "{script}: {expression}");
    }

    #[test]
    fn a_variable_is_a_number_if_every_value_in_sight_is_one() {
        check("", "1 + 2 * (3 - 0x1f) ? 16#ff : 4", true);
        check("", "x", false);
        check("x=1", "x + 1", true);
        check("x=1; x=y", "x", false);
        check("x=1; y=x; z=y+x", "z", true);
        check("x=$(cat f)", "x", false);
        check("x=1; read x", "x", false);
        check("x=1; x+=y", "x", false);
        check("x=1; eval \"$y\"", "x", false);
        check("x=1; declare -n r=x", "x", false);
        check("for x in 1 2; do :; done", "x", true);
        check("for x in 1 a[0]; do :; done", "x", false);
        check("local x=$?; x=$((x + 1))", "x", true);
        check("x=1", "a[x]", false);
        check("x=1", "x$(ls)", false);
        check("_=1", "_", false);
    }
}
