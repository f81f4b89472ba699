//! The outcome of a cell so far, and its text for a model.

use std::fmt;
use std::time::Duration;

/// A cell's number. Never used twice by the same [`Cells`](crate::Cells).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellId(pub(crate) u64);

/// The reply to `exec` and `wait`.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The cell's status.
    pub status: Status,
    /// The duration of this call.
    pub wall: Duration,
    /// The cell's output since the last reply, oldest first; the reason of a failure is the last item.
    pub items: Vec<OutputItem>,
}

/// The status of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The script ran to its end, or called `exit()`.
    Completed,
    /// The script threw, exceeded a limit, or could not be started.
    Failed,
    /// A caller ended the cell.
    Terminated,
    /// The cell is still running: wait for it with this number.
    Running(CellId),
}

/// A piece of a cell's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputItem {
    /// A text, one for each `text()`.
    Text(String),
    /// An image as a `data:` URL.
    Image(String),
}

impl Outcome {
    /// The header and then the items, for a model: the header contains the cell's status and the duration of the call.
    pub fn render(&self) -> Vec<OutputItem> {
        let head = OutputItem::Text(self.head());
        std::iter::once(head).chain(self.items.iter().cloned()).collect()
    }

    /// All of it in one text, for models and users that take only texts: an image is mentioned, not shown.
    pub fn to_text(&self) -> String {
        let items = self.items.iter().map(|item| match item {
            OutputItem::Text(text) => text.clone(),
            OutputItem::Image(url) => format!("[image, {} bytes as a data URL]", url.len()),
        });
        std::iter::once(self.head()).chain(items).collect::<Vec<_>>().join("\n")
    }

    fn head(&self) -> String {
        format!("{}\nWall time {:.1} seconds\nOutput:", self.status, self.wall.as_secs_f64())
    }

    /// The outcome of a script that never became a cell.
    pub(crate) fn refused(reason: impl fmt::Display) -> Self {
        let items = vec![OutputItem::Text(reason.to_string())];
        Self { status: Status::Failed, wall: Duration::ZERO, items }
    }
}

impl OutputItem {
    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(content) | Self::Image(content) => content.len(),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("Script completed"),
            Self::Failed => f.write_str("Script failed"),
            Self::Terminated => f.write_str("Script terminated"),
            Self::Running(id) => write!(f, "Script running with cell ID {id}"),
        }
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: Status, items: &[&str], expected: &str) {
        let items = items.iter().map(|text| OutputItem::Text((*text).to_string())).collect();
        let outcome = Outcome { status, wall: Duration::from_millis(1250), items };
        assert_eq!(outcome.to_text(), expected);
    }

    #[test]
    fn the_head_says_how_the_cell_stands_and_each_text_follows() {
        check(Status::Completed, &[], "Script completed\nWall time 1.2 seconds\nOutput:");
        check(Status::Failed, &["a", "b"], "Script failed\nWall time 1.2 seconds\nOutput:\na\nb");
        check(Status::Terminated, &[], "Script terminated\nWall time 1.2 seconds\nOutput:");
        let running = "Script running with cell ID 7\nWall time 1.2 seconds\nOutput:\na";
        check(Status::Running(CellId(7)), &["a"], running);
    }
}
