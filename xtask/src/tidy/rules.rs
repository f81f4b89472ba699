//! The rules, grouped by subject. Each is a pure function with its tests beside it.

pub(crate) mod attributes;
pub(crate) mod banned;
pub(crate) mod comments;
pub(crate) mod dependencies;
pub(crate) mod documents;
pub(crate) mod glossary;
pub(crate) mod layout;
pub(crate) mod names;
pub(crate) mod rooms;
pub(crate) mod timers;

#[cfg(test)]
mod samples {
    //! Tries a rule on made-up files: the findings are given as `path:line: rule`.

    use crate::tidy::finding::Finding;
    use crate::tidy::source::Source;
    use crate::tidy::workspace::Workspace;

    pub(super) fn check_source(
        rule: impl Fn(&Source<'_>) -> Vec<Finding>,
        (path, text): (&str, &str),
        expected: &[&str],
    ) {
        let workspace = Workspace::of(&[(path, text)]);
        assert_places(&rule(&Source::all(&workspace)[0]), expected, text);
    }

    pub(super) fn check_workspace(
        rule: impl Fn(&Workspace) -> Vec<Finding>,
        files: &[(&str, &str)],
        expected: &[&str],
    ) {
        assert_places(&rule(&Workspace::of(files)), expected, &format!("{files:?}"));
    }

    fn assert_places(findings: &[Finding], expected: &[&str], sample: &str) {
        let places: Vec<String> = findings.iter().map(Finding::place).collect();
        assert_eq!(places, expected, "{sample}");
    }
}
