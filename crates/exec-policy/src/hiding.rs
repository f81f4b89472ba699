//! Texts that contain a quoted command substitution, or an assignment to a variable that changes which program runs:
//! harmless until something evaluates them.

use crate::numbers;
use crate::script::{Parsed, Simple};
use crate::variables;
use crate::word::Word;

/// Builtins that put their arguments or their input into variables.
const ASSIGNING: [&str; 15] = [
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "read",
    "printf",
    "let",
    "unset",
    "test",
    "[",
    "mapfile",
    "readarray",
    "getopts",
    "set",
];

/// Whether a script puts the text of a substitution where a variable may get it from.
pub(crate) fn hides_substitution(parsed: &Parsed) -> bool {
    let assigned = parsed.assigned.iter().filter_map(|(_, value)| value.as_ref()).flat_map(Word::texts);
    let hides = |simple: &Simple| simple_hides(simple, parsed);
    assigned.into_iter().any(holds_substitution) || parsed.simples.iter().any(hides)
}

fn simple_hides(simple: &Simple, parsed: &Parsed) -> bool {
    let name = simple.words.first().and_then(Word::text).unwrap_or_default();
    let is_function = parsed.functions.iter().any(|function| function.name == name);
    let arguments = || simple.words.iter().skip(1).chain(&simple.input);
    let mut assigned = simple.assignments.iter().flat_map(Word::texts);
    let values: Vec<Word> = simple.assignments.iter().filter_map(Word::assignment).map(|it| it.1).collect();
    let mut values = values.iter().flat_map(Word::texts);
    if assigned.any(|text| text.contains(['$', '`'])) || values.any(holds_substitution) {
        return true;
    }
    if ASSIGNING.contains(&name) {
        return arguments()
            .flat_map(Word::texts)
            .any(|text| text.contains(['$', '`']) || holds_substitution(text));
    }
    match name.rsplit('/').next().unwrap_or_default() {
        // A script may read their output into a variable. Below: a function may evaluate its arguments.
        "echo" | "cat" | ":" | "env" => arguments().flat_map(Word::texts).any(holds_substitution),
        // The words behind the script are its arguments.
        "sh" | "bash" | "zsh" | "dash" | "ksh" => {
            simple.words.iter().skip(3).flat_map(Word::texts).any(holds_substitution)
        }
        _ => is_function && arguments().flat_map(Word::texts).any(holds_substitution),
    }
}

/// Whether a text runs a command when it is expanded, alone or as a part of a larger text; or, when it is evaluated,
/// sets a variable that changes which program runs.
pub(crate) fn holds_substitution(text: &str) -> bool {
    ["$(", "${", "$[", "`"].iter().any(|opening| text.contains(opening))
        || numbers::assigned_in_expression(text).any(variables::changes_what_runs)
        || text.ends_with('$')
        || text.contains('\\') && ESCAPES.iter().any(|escape| text.contains(escape))
}

/// How `printf` and `echo -e` write a dollar sign or a backquote.
const ESCAPES: [&str; 12] = [
    "\\44",
    "\\044",
    "\\0044",
    "\\x24",
    "\\u24",
    "\\u0024",
    "\\U00000024",
    "\\140",
    "\\0140",
    "\\x60",
    "\\u60",
    "\\u0060",
];
