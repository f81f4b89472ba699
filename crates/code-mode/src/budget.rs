//! Cuts output to a budget of tokens: the beginning and the end are kept, and the part that is left out is counted.
//!
//! A token counts as four bytes of text. Images are kept whole: they are not text, and a part of one is useless.

use crate::outcome::OutputItem;

const BYTES_IN_TOKEN: u64 = 4;

/// The items, or their beginning and end if all of them would exceed the budget.
pub(crate) fn fit(items: Vec<OutputItem>, most_tokens: u64) -> Vec<OutputItem> {
    let most_bytes = usize::try_from(most_tokens.saturating_mul(BYTES_IN_TOKEN)).unwrap_or(usize::MAX);
    let bytes: usize = items.iter().map(text_bytes).sum();
    if bytes <= most_bytes { items } else { cut(items, bytes, most_bytes) }
}

/// Leaves out the middle of the text: the first half of the budget holds the beginning, the second half the end.
fn cut(items: Vec<OutputItem>, bytes: usize, most_bytes: usize) -> Vec<OutputItem> {
    let head_end = most_bytes / 2;
    let tail_start = bytes - (most_bytes - head_end);
    let mut kept = KeptItems { items: Vec::new(), left_out: 0, marker: None };
    let mut position = 0;
    for item in items {
        let length = text_bytes(&item);
        kept.add(item, head_end.saturating_sub(position), tail_start.saturating_sub(position));
        position += length;
    }
    kept.finish()
}

struct KeptItems {
    items: Vec<OutputItem>,
    left_out: usize,
    /// The position of the note that something is left out.
    marker: Option<usize>,
}

impl KeptItems {
    /// Keeps the part of an item before `head` and from `tail` on, both counted from the item's beginning.
    fn add(&mut self, item: OutputItem, head: usize, tail: usize) {
        let OutputItem::Text(text) = item else { return self.items.push(item) };
        if head >= text.len() || tail == 0 {
            return self.items.push(OutputItem::Text(text));
        }
        let head = text.floor_char_boundary(head);
        let tail = text.ceil_char_boundary(tail.min(text.len()));
        self.left_out += tail - head;
        self.keep(&text[..head]);
        if self.marker.is_none() {
            self.marker = Some(self.items.len());
            self.items.push(OutputItem::Text(String::new()));
        }
        self.keep(&text[tail..]);
    }

    fn keep(&mut self, text: &str) {
        if !text.is_empty() {
            self.items.push(OutputItem::Text(text.to_string()));
        }
    }

    fn finish(mut self) -> Vec<OutputItem> {
        if let Some(marker) = self.marker {
            let tokens = self.left_out.div_ceil(BYTES_IN_TOKEN as usize);
            self.items[marker] = OutputItem::Text(format!("…{tokens} tokens truncated…"));
        }
        self.items
    }
}

fn text_bytes(item: &OutputItem) -> usize {
    match item {
        OutputItem::Text(text) => text.len(),
        OutputItem::Image(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(texts: &[&str], most_tokens: u64, expected: &[&str]) {
        let fitted = fit(texts.iter().map(|text| OutputItem::Text((*text).into())).collect(), most_tokens);
        assert_eq!(fitted, expected.iter().map(|text| OutputItem::Text((*text).into())).collect::<Vec<_>>());
    }

    #[test]
    fn what_fits_stays() {
        check(&[], 0, &[]);
        check(&["abcd", "efgh"], 2, &["abcd", "efgh"]);
    }

    #[test]
    fn the_middle_is_left_out_and_counted() {
        check(&["0123456789abcdef"], 2, &["0123", "…2 tokens truncated…", "cdef"]);
        check(&["abcd", "efgh", "ijkl"], 2, &["abcd", "…1 tokens truncated…", "ijkl"]);
        check(&["abcdef", "x", "ghijkl"], 2, &["abcd", "…2 tokens truncated…", "ijkl"]);
        check(&["ab"], 0, &["…1 tokens truncated…"]);
    }

    #[test]
    fn no_character_is_broken() {
        check(&["ééééé"], 1, &["é", "…2 tokens truncated…", "é"]);
    }

    #[test]
    fn images_are_kept() {
        let image = OutputItem::Image("data:".into());
        let items = vec![OutputItem::Text("0123456789".into()), image.clone(), OutputItem::Text("x".into())];
        assert!(fit(items, 1).contains(&image));
    }

    proptest! {
        #[test]
        fn never_more_text_than_the_budget_and_a_remark(texts in prop::collection::vec(".{0,40}", 0..8), tokens in 0u64..60) {
            let items: Vec<_> = texts.iter().cloned().map(OutputItem::Text).collect();
            let fitted = fit(items.clone(), tokens);
            let bytes: usize = fitted.iter().map(text_bytes).sum();
            prop_assert!(fitted == items || bytes <= tokens as usize * 4 + "…18446744073709551615 tokens truncated…".len());
        }
    }
}
