//! GLOSSARY.md: few terms, each defined once.

use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::workspace::Workspace;

const GLOSSARY: &str = "GLOSSARY.md";

/// The most terms: a newcomer reads the whole page and cannot remember more.
const MOST: usize = 70;

/// Finds terms that are defined a second time, and those beyond the limit.
pub(crate) fn terms_are_defined_once(workspace: &Workspace) -> Vec<Finding> {
    let mut known = BTreeSet::new();
    let pages = workspace.files().filter(|file| file.path == GLOSSARY);
    let lines = pages.flat_map(|file| file.text.lines().enumerate());
    let terms =
        lines.filter_map(|(index, text)| Some((index + 1, text.strip_prefix("**")?.split_once("**: ")?.0)));
    terms
        .filter_map(|(line, term)| {
            let advice = match known.insert(term.to_lowercase()) {
                false => format!("`{term}` is defined above: keep one definition"),
                true if known.len() > MOST => {
                    format!("more than {MOST} terms: leave out what Linux, MCP or Rust define")
                }
                true => return None,
            };
            Some(Finding::fault("glossary", (GLOSSARY, line), advice))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::samples::check_workspace;

    fn check(text: &str, expected: &[&str]) {
        check_workspace(terms_are_defined_once, &[("GLOSSARY.md", text)], expected);
    }

    #[test]
    fn a_term_has_one_definition() {
        check("# Glossary\n\n**span**: bytes.\n\n**offset**: an address, of a **span**: no.\n", &[]);
        check("**span**: bytes.\n\n**Span**: a time.\n", &["GLOSSARY.md:3: glossary"]);
    }

    #[test]
    fn a_glossary_is_short() {
        let terms =
            |count: usize| (0..count).map(|number| format!("**t{number}**: a term.\n")).collect::<String>();
        check(&terms(70), &[]);
        check(&terms(71), &["GLOSSARY.md:71: glossary"]);
    }
}
