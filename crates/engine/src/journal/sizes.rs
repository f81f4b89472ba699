//! The sizes that a session's terminal has had. The same output means different text at another size, so each is stored
//! with the offset from which it held.

use windlass_output::{Offset, ScreenSize};
use windlass_sys::pty::Size;

/// The most changes that are stored: beyond it the oldest but the first are dropped.
const MOST: usize = 1024;

/// The sizes of a terminal, oldest first. There is always one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalSizes {
    first: Size,
    changes: Vec<(Offset, Size)>,
}

impl TerminalSizes {
    /// A terminal that begins with this size.
    pub fn new(first: Size) -> Self {
        Self { first, changes: Vec::new() }
    }

    /// Notes that the terminal has another size for output from `at` on.
    pub fn change(&mut self, at: Offset, size: Size) {
        if at == Offset::ZERO {
            self.first = size;
            self.changes.clear();
            return;
        }
        // No byte was printed at the sizes that a window had while it was dragged.
        self.changes.retain(|(from, _)| *from < at);
        if self.changes.len() == MOST {
            self.changes.remove(0);
        }
        self.changes.push((at, size));
    }

    /// The size at which the byte at `at` was printed.
    pub fn at(&self, at: Offset) -> Size {
        let before = self.changes.iter().rev().find(|(from, _)| *from <= at);
        before.map_or(self.first, |(_, size)| *size)
    }

    /// The first change behind `after`.
    pub fn next_after(&self, after: Offset) -> Option<(Offset, Size)> {
        self.changes.iter().find(|(from, _)| *from > after).copied()
    }
}

impl Default for TerminalSizes {
    fn default() -> Self {
        Self::new(Size::default())
    }
}

/// The largest grid that is drawn: a terminal may claim any size, and every cell takes memory.
const LARGEST: Size = Size { rows: 500, cols: 1000 };

/// The grid that is drawn for a terminal of this size.
pub(crate) fn grid(size: Size) -> ScreenSize {
    ScreenSize::new(size.rows.min(LARGEST.rows), size.cols.min(LARGEST.cols))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(rows: u16) -> Size {
        Size { rows, cols: 80 }
    }

    #[test]
    fn each_byte_has_the_size_it_was_printed_at() {
        let mut sizes = TerminalSizes::new(size(24));
        sizes.change(Offset::new(10), size(30));
        sizes.change(Offset::new(20), size(40));
        sizes.change(Offset::new(20), size(50));
        let at = |at| sizes.at(Offset::new(at)).rows;
        assert_eq!([at(0), at(9), at(10), at(19), at(20), at(99)], [24, 24, 30, 30, 50, 50]);
        assert_eq!(sizes.next_after(Offset::ZERO), Some((Offset::new(10), size(30))));
        assert_eq!(sizes.next_after(Offset::new(10)), Some((Offset::new(20), size(50))));
        assert_eq!(sizes.next_after(Offset::new(20)), None);
        sizes.change(Offset::ZERO, size(5));
        assert_eq!(sizes, TerminalSizes::new(size(5)));
    }

    #[test]
    fn changes_without_end_are_bounded() {
        let mut sizes = TerminalSizes::default();
        (1..5000).for_each(|at| sizes.change(Offset::new(at), size(30)));
        assert_eq!(sizes.changes.len(), MOST);
        assert_eq!(sizes.at(Offset::ZERO), Size::default());
    }
}
