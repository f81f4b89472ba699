//! Reports the result of a patch, in wordings that models know.

use std::fmt::{self, Write};
use std::time::Duration;

use crate::plan::{Change, Kind};
use crate::warning::Warning;

/// A patch that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Files that were created or replaced, as written in the patch.
    pub added: Vec<String>,
    /// Files that were changed; their current paths.
    pub modified: Vec<String>,
    /// Files that were removed.
    pub deleted: Vec<String>,
    /// Ambiguities, and files that could not be removed.
    pub warnings: Vec<Warning>,
}

impl Report {
    pub(crate) fn of(changes: &[Change], warnings: Vec<Warning>) -> Self {
        let paths = |kind: Kind| {
            let changes = changes.iter().filter(|change| change.kind == kind);
            changes
                .map(|change| change.moved_to_written.as_ref().unwrap_or(&change.written).clone())
                .collect()
        };
        Self {
            added: paths(Kind::Add),
            modified: paths(Kind::Update),
            deleted: paths(Kind::Delete),
            warnings,
        }
    }

    /// The text for a model. `wall`: the duration of the call.
    pub fn render(&self, wall: Duration) -> String {
        render_success(self, wall)
    }
}

/// The text for a model about a patch that was applied: a report, perhaps one of another process.
pub fn render_success(report: &dyn fmt::Display, wall: Duration) -> String {
    format!("{}{report}", heading(0, wall))
}

/// The text that a shell would show, without the exit code and the time.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Success. Updated the following files:\n")?;
        for (letter, paths) in [('A', &self.added), ('M', &self.modified), ('D', &self.deleted)] {
            paths.iter().try_for_each(|path| writeln!(f, "{letter} {path}"))?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "Warning: {warning}"))
    }
}

/// The text for a model about a patch that was not applied: any of this crate's errors.
pub fn render_failure(error: &dyn fmt::Display, wall: Duration) -> String {
    let mut text = heading(1, wall);
    let _infallible = writeln!(text, "{error}");
    text
}

fn heading(code: i32, wall: Duration) -> String {
    let tenths = (wall.as_secs_f64() * 10.0).round() / 10.0;
    format!("Exit code: {code}\nWall time: {tenths} seconds\nOutput:\n")
}
