//! Output that was written and is missing although retention did not drop it: another process truncated or removed its
//! file, or the disk refused it for a while.

use windlass_output::{Offset, Span};

use super::missing::{Missing, Why};

/// The most parts with a reason of their own: later ones share the reason of the first that is not listed.
const MOST: usize = 64;

/// The lost parts, with the reasons. They do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Lost {
    parts: Vec<Missing>,
    unlisted: Option<Why>,
}

impl Lost {
    pub(super) fn add(&mut self, span: Span, reason: String) {
        if span.is_empty() {
            return;
        }
        let why = Why::Unsaved(reason);
        if self.parts.len() == MOST {
            self.unlisted.get_or_insert(why);
            return;
        }
        self.parts.push(Missing { span, why });
        self.parts.sort_by_key(|part| part.span.from());
    }

    /// Retention dropped this span, and the lost parts within it.
    pub(super) fn forget(&mut self, dropped: Span) {
        self.parts.retain(|part| part.span.intersect(dropped) != part.span);
    }

    pub(super) fn first(&self) -> Option<&Missing> {
        self.parts.first()
    }

    /// Cuts a hole into its parts, each with its reason; `None` for a part that is not known to be lost.
    pub(super) fn split(&self, hole: Span) -> Vec<(Span, Option<Why>)> {
        let mut cut = Vec::new();
        let mut at = hole.from();
        let unknown = |from: Offset, to: Offset| (Span::new(from, to), self.unlisted.clone());
        for part in &self.parts {
            let span = part.span.intersect(hole);
            if span.is_empty() {
                continue;
            }
            if span.from() > at {
                cut.push(unknown(at, span.from()));
            }
            cut.push((span, Some(part.why.clone())));
            at = span.to();
        }
        if at < hole.to() {
            cut.push(unknown(at, hole.to()));
        }
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, to: u64) -> Span {
        Span::new(Offset::new(from), Offset::new(to))
    }

    #[test]
    fn a_hole_is_cut_where_the_reasons_change() {
        let mut lost = Lost::default();
        lost.add(span(40, 50), "second".to_owned());
        lost.add(span(10, 20), "first".to_owned());
        let reason = |why: &str| Some(Why::Unsaved(why.to_owned()));
        let expected = [
            (span(0, 10), None),
            (span(10, 20), reason("first")),
            (span(20, 40), None),
            (span(40, 45), reason("second")),
        ];
        assert_eq!(lost.split(span(0, 45)), expected);
        lost.forget(span(5, 20));
        assert_eq!(lost.split(span(0, 40)), [(span(0, 40), None)]);
    }

    #[test]
    fn however_much_is_lost_the_list_is_bounded_and_no_loss_is_without_a_reason() {
        let mut lost = Lost::default();
        for number in 0..1000 {
            lost.add(span(10 * number, 10 * number + 5), "cut".to_owned());
        }
        assert_eq!(lost.parts.len(), MOST);
        assert_eq!(lost.split(span(5000, 5005)), [(span(5000, 5005), Some(Why::Unsaved("cut".to_owned())))]);
    }
}
