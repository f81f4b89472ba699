//! The body of the fuzz target, which ordinary tests run too. It panics when an invariant of the crate is broken. Not
//! part of the interface.

use crate::patch::{Chunk, Patch, Section};
use crate::rewrite::rewrite;
use crate::{Heredoc, Misfit};

/// Reads any bytes as a patch, as a script and, up to the first zero byte, as a file to which the rest is applied.
pub fn patch_any(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (file, patch) = text.split_once('\0').unwrap_or(("", &text));
    if let Some(found) = Heredoc::find(patch) {
        assert!(patch.len() >= found.patch.len());
    }
    match Patch::parse(patch) {
        Ok(patch) => patch.sections.iter().for_each(|section| apply_section(section, file)),
        Err(error) => assert!(error.to_string().len() < 6000, "an error is bounded"),
    }
}

fn apply_section(section: &Section, file: &str) {
    let Section::Update(update) = section else { return };
    match rewrite(file, &update.chunks) {
        Ok(rewritten) if !update.chunks.iter().any(Chunk::changes) => assert_eq!(rewritten.text, file),
        Ok(rewritten) => assert!(rewritten.text.is_empty() || rewritten.text.ends_with('\n')),
        Err(misfit) => check_bounded(&misfit),
    }
}

fn check_bounded(misfit: &Misfit) {
    assert!(misfit.describe("path").chars().count() < 8000, "an error is bounded");
}

/// The text after the first section of a patch, for tests without a disk.
pub fn apply_to_text(patch: &str, file: &str) -> Result<String, String> {
    let patch = Patch::parse(patch).map_err(|error| error.to_string())?;
    match patch.sections.first() {
        Some(Section::Update(update)) => rewrite(file, &update.chunks)
            .map(|rewritten| rewritten.text)
            .map_err(|misfit| misfit.describe(&update.path)),
        Some(Section::Add { text, .. }) => Ok(text.clone()),
        _ => Err("nothing to apply".to_owned()),
    }
}
