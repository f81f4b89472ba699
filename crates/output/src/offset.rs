//! Addresses of printed bytes: an [`Offset`] counts from the first byte a session printed, a [`Span`] is a
//! half-open range of offsets. Arithmetic saturates, so no input can make an address overflow.

use std::fmt;
use std::ops::{Add, AddAssign};

/// How many bytes a session had printed before this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(u64);

impl Offset {
    /// Where every session begins.
    pub const ZERO: Self = Self(0);

    /// The address after `bytes` printed bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The plain number, for the wire and for files.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// How far this lies after `earlier`; nothing when it lies before it.
    #[must_use]
    pub const fn checked_since(self, earlier: Self) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }

    /// How far this lies after `earlier`; zero when it lies before it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The address `bytes` before this one, at least [`Offset::ZERO`].
    #[must_use]
    pub const fn back(self, bytes: u64) -> Self {
        Self(self.0.saturating_sub(bytes))
    }
}

impl Add<u64> for Offset {
    type Output = Self;

    fn add(self, bytes: u64) -> Self {
        Self(self.0.saturating_add(bytes))
    }
}

impl AddAssign<u64> for Offset {
    fn add_assign(&mut self, bytes: u64) {
        *self = *self + bytes;
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The bytes from `from` up to, not including, `to`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    from: Offset,
    to: Offset,
}

impl Span {
    /// A span; one that would end before it begins is empty at `from`.
    #[must_use]
    pub fn new(from: Offset, to: Offset) -> Self {
        Self { from, to: to.max(from) }
    }

    /// The span of `len` bytes at `from`.
    #[must_use]
    pub fn of_len(from: Offset, len: u64) -> Self {
        Self { from, to: from + len }
    }

    /// An empty span at `at`.
    #[must_use]
    pub const fn empty(at: Offset) -> Self {
        Self { from: at, to: at }
    }

    /// The first byte.
    #[must_use]
    pub const fn from(self) -> Offset {
        self.from
    }

    /// The first byte that is no longer inside.
    #[must_use]
    pub const fn to(self) -> Offset {
        self.to
    }

    /// How many bytes are inside.
    #[must_use]
    pub const fn len(self) -> u64 {
        self.to.since(self.from)
    }

    /// Whether nothing is inside.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether the byte at `offset` is inside.
    #[must_use]
    pub fn contains(self, offset: Offset) -> bool {
        self.from <= offset && offset < self.to
    }

    /// The bytes inside both; empty (at a place inside neither, possibly) when they do not meet.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        Self::new(self.from.max(other.from), self.to.min(other.to))
    }

    /// The smallest span around both.
    #[must_use]
    pub fn cover(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, to: u64) -> Span {
        Span::new(Offset::new(from), Offset::new(to))
    }

    #[test]
    fn a_reversed_span_is_empty_where_it_begins() {
        assert!(span(9, 3).is_empty());
        assert_eq!(span(9, 3).from(), Offset::new(9));
    }

    #[test]
    fn the_end_is_outside() {
        assert!(span(3, 5).contains(Offset::new(3)));
        assert!(!span(3, 5).contains(Offset::new(5)));
        assert_eq!(span(3, 5).len(), 2);
    }

    #[test]
    fn spans_that_do_not_meet_share_nothing() {
        assert!(span(0, 3).intersect(span(5, 9)).is_empty());
        assert_eq!(span(0, 6).intersect(span(5, 9)), span(5, 6));
        assert_eq!(span(0, 3).cover(span(5, 9)), span(0, 9));
    }

    #[test]
    fn addresses_saturate_instead_of_overflowing() {
        assert_eq!(Offset::new(u64::MAX) + 9, Offset::new(u64::MAX));
        assert_eq!(Offset::new(3).since(Offset::new(5)), 0);
        assert_eq!(Offset::new(3).checked_since(Offset::new(5)), None);
        assert_eq!(Offset::new(3).back(5), Offset::ZERO);
    }
}
