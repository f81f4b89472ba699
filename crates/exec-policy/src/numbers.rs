//! Which texts a shell may evaluate as expressions without running anything: numbers, operators, and variables that
//! hold nothing else.
//!
//! Evaluating `x` evaluates the value of `x` in turn, and `a[$(…)]` in that value runs a command. So a variable counts
//! as a number only if the parser sees every way in which the script can set it, and each sets it to such an
//! expression. In doubt, it does not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::script::{Parsed, ShellKind, Simple};
use crate::word::{ExpansionOrigin, Word, WordPiece, variable_name};

/// The variables of a script that are numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    names: BTreeSet<String>,
    /// Whether the shell itself keeps numbers in `RANDOM` and its like.
    has_counters: bool,
}

/// Words that set variables to values which the parser does not see: scripts that run in the same shell, and references
/// to variables.
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

/// How often variables are compared with each other: the longest chain of variables that are not numbers.
const MOST_ROUNDS: usize = 64;

/// Stand for expansions in an expression: one that is a number, and one that is some harmless expression.
const NUMBER: char = '\u{1}';
const VARIABLE: char = '\u{2}';

impl Numbers {
    /// Nothing is known of any variable.
    pub(crate) fn unknown(shell: ShellKind) -> Self {
        Self { names: BTreeSet::new(), has_counters: shell != ShellKind::Posix }
    }

    /// The numbers of a script whose variables were not modified before it starts.
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
                WordPiece::Text(part) => text.push_str(part),
                WordPiece::Unknown(_, ExpansionOrigin::Number) => text.push(NUMBER),
                WordPiece::Unknown(_, ExpansionOrigin::Variable(name)) if self.holds(name) => {
                    text.push(VARIABLE);
                }
                WordPiece::Unknown(..) => return false,
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

/// Variables to which an expression assigns, as in `i = 0`, `i += 2`, `i++`, `--i` or `a[0] = 1`. What it assigns are
/// numbers.
pub(crate) fn assigned_in_expression(expression: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + expression[at..].find(is_part)?;
            let end = expression[start..].find(|c| !is_part(c)).map_or(expression.len(), |it| start + it);
            at = end;
            let token = &expression[start..end];
            let before = expression[..start].trim_end();
            let counts_before = before.ends_with("++") || before.ends_with("--");
            if (counts_before || is_assigned(&expression[end..])) && variable_name(token) == Some(token) {
                return Some(token);
            }
        }
    })
}

/// Whether an expression assigns to the variable behind whose name this stands.
fn is_assigned(rest: &str) -> bool {
    let rest = rest.trim_start();
    match rest.strip_prefix('[') {
        Some(key) => behind_key(key).is_none_or(begins_with_assignment),
        None => begins_with_assignment(rest),
    }
}

/// The text behind the bracket that closes a key. `None`: it is too far to look for, which keeps nested keys from
/// costing the square of their length.
fn behind_key(key: &str) -> Option<&str> {
    const FARTHEST: usize = 256;
    let mut open = 1_usize;
    for (at, byte) in key.bytes().enumerate().take(FARTHEST) {
        open = match byte {
            b'[' => open + 1,
            b']' => open - 1,
            _ => open,
        };
        if open == 0 {
            return Some(&key[at + 1..]);
        }
    }
    None
}

fn begins_with_assignment(rest: &str) -> bool {
    let operator = rest.trim_start();
    let plain = operator.trim_start_matches(['+', '-', '*', '/', '%', '<', '>', '&', '|', '^']);
    let counts = operator.starts_with("++") || operator.starts_with("--");
    let compares = operator.len() - plain.len() == 1 && operator.starts_with(['<', '>']);
    counts || plain.starts_with('=') && !plain.starts_with("==") && !compares
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

    #[test]
    fn every_way_to_assign_in_an_expression_is_found() {
        for (expression, expected) in [
            ("x = 1", &["x"][..]),
            ("x += y", &["x"]),
            ("x <<= 1, y |= 2", &["x", "y"]),
            ("x++ + --y", &["x", "y"]),
            ("++ x", &["x"]),
            ("a[b[0]] = c = 1", &["a", "c"]),
            ("a[i = 0]", &["i"]),
            ("x == 1 && y <= 2 && z >= 3 && w != 4", &[]),
            ("x + 1", &[]),
        ] {
            let found: Vec<&str> = assigned_in_expression(expression).collect();
            assert_eq!(found, expected, "{expression}");
        }
    }
}
