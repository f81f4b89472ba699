//! Checks that the task is one argument of the command line. Unquoted words, and a duration without its `=`, are
//! rejected with the correct form in the message: a part of a task must not be sent to a model as the whole.

use crate::args::{AgentOptions, duration};
use crate::failure::Usage;

/// The task in these arguments. `command` is the command line in front of them.
pub(super) fn one_task(
    command: &str,
    words: &[&str],
    options: &AgentOptions,
) -> Result<Option<String>, Usage> {
    let Some((first, rest)) = words.split_first() else { return Ok(None) };
    if options.wait_background == Some(None) && duration(first).is_ok() {
        return Err(Usage(format!(
            "`--wait-background {first}` reads {first} as the task; the time stands behind `=`: --wait-background={first}"
        )));
    }
    if rest.is_empty() {
        return Ok(Some((*first).to_owned()));
    }
    Err(Usage(format!(
        "the task is one argument, and `{first}` is followed by more words; put the task in quotes: {command} {}",
        quoted(&words.join(" "))
    )))
}

/// A text quoted as one word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
