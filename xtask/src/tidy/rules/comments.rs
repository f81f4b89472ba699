//! The language of comments: they name the actor.

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// Pronouns that stand where the client, the runtime or the user could be named.
const VAGUE: &[&str] = &["nobody", "somebody", "whoever", "everybody"];

/// Doc comments there are output: they become schemas, types and help texts, and change together with those.
const OUTPUT: &[&str] = &["crates/protocol/", "crates/cli/src/args"];

/// Finds vague pronouns in comments. Text that is quoted there in code quotes is exempt.
pub(crate) fn name_the_actor(source: &Source<'_>) -> Vec<Finding> {
    if OUTPUT.iter().any(|output| source.file.path.starts_with(output)) {
        return Vec::new();
    }
    let lines = source.file.text.lines().enumerate();
    let comments = lines.filter_map(|(index, text)| Some((index + 1, text.trim_start().strip_prefix("//")?)));
    comments
        .filter_map(|(line, text)| {
            let word = vague_word(text)?;
            let advice =
                format!("`{word}`: name the one who acts, such as the client, the runtime or the user");
            Some(Finding::fault("comment-word", (&source.file.path, line), advice))
        })
        .collect()
}

fn vague_word(comment: &str) -> Option<&'static str> {
    let outside_code = comment.split('`').step_by(2);
    let mut words = outside_code.flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.find_map(|word| VAGUE.iter().copied().find(|vague| word.eq_ignore_ascii_case(vague)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::samples::check_source;

    fn check(text: &str, expected: &[&str]) {
        check_source(name_the_actor, ("bench/src/a.rs", text), expected);
    }

    #[test]
    fn a_vague_pronoun_in_a_comment_is_found() {
        check(
            "//! Nobody reads.\nfn f() {}\n    // Read by somebody.\n",
            &["bench/src/a.rs:1: comment-word", "bench/src/a.rs:3: comment-word"],
        );
        check("/// The user `nobody`, as `is_nobody` says.\nconst A: &str = \"// nobody\";\n", &[]);
    }
}
