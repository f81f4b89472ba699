//! Laws of spans.

use proptest::prelude::*;
use windlass_output::{Offset, Span};

fn span() -> impl Strategy<Value = Span> {
    (0..100u64, 0..100u64).prop_map(|(from, to)| Span::new(Offset::new(from), Offset::new(to)))
}

proptest! {
    #[test]
    fn a_byte_is_in_the_intersection_exactly_if_it_is_in_both(a in span(), b in span(), at in 0..100u64) {
        let at = Offset::new(at);
        prop_assert_eq!(a.intersect(b).contains(at), a.contains(at) && b.contains(at));
        prop_assert_eq!(a.intersect(b).len(), b.intersect(a).len());
    }

    #[test]
    fn a_cover_holds_both(a in span(), b in span(), at in 0..100u64) {
        let at = Offset::new(at);
        let cover = a.cover(b);
        prop_assert!(!(a.contains(at) || b.contains(at)) || cover.contains(at));
    }

    #[test]
    fn a_length_counts_what_is_inside(a in span()) {
        let inside = (0..100).filter(|at| a.contains(Offset::new(*at))).count();
        prop_assert_eq!(a.len(), inside as u64);
        prop_assert_eq!(a.is_empty(), inside == 0);
    }
}
