//! Finds `$name` in a prompt.

/// The longest name that is considered.
const LONGEST: usize = 100;

/// The words after each dollar sign that begins a word. The caller decides whether such a skill exists; `$HOME` and
/// prices are among the results.
pub(super) fn names(prompt: &str) -> impl Iterator<Item = &str> {
    prompt.match_indices('$').filter_map(|(at, _)| {
        let before = prompt[..at].chars().next_back();
        if before.is_some_and(|before| before.is_alphanumeric() || matches!(before, '$' | '\\' | '_')) {
            return None;
        }
        let rest = &prompt[at + 1..];
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        Some(&rest[..end]).filter(|name| !name.is_empty() && name.len() <= LONGEST)
    })
}

pub(super) fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dollar_sign_at_the_beginning_of_a_word_names_something() {
        for (prompt, expected) in [
            ("use $deploy now", vec!["deploy"]),
            ("$a-b and ($c_d)", vec!["a-b", "c_d"]),
            ("costs 5$ or US$5", vec![]),
            ("\\$deploy $$deploy", vec![]),
            ("$", vec![]),
            ("run $team:lint.", vec!["team:lint."]),
        ] {
            assert_eq!(names(prompt).collect::<Vec<_>>(), expected, "{prompt}");
        }
    }
}
