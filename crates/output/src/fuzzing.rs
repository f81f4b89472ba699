//! The invariants of the crate, checked with arbitrary bytes. The fuzz targets and the ordinary tests run these same
//! bodies; each panics when an invariant is broken. Not part of the interface.

use crate::{
    Budget, Context, CursorKeys, ExcerptOptions, ExcerptSource, Grep, Marker, Offset, Pattern, QueryScanner,
    RawMatcher, Screen, ScreenSize, SettledMatcher, Settler, TailLines, TokenCounter, Tokenizer, Tokens,
    Utf8, View, excerpt, key, settle,
};

/// A body: arbitrary bytes in, a panic if a promise is broken.
pub type Body = fn(&[u8]);

/// All bodies by the name of their target.
pub const BODIES: &[(&str, Body)] = &[
    ("settle", settle_any),
    ("settle_on_terminal", settle_on_terminal_any),
    ("utf8", decode_any),
    ("screen", show_any),
    ("query", scan_any),
    ("excerpt", excerpt_any),
    ("keys", name_any),
    ("pattern", match_any),
    ("tokens", count_any),
];

/// Settles the same in one piece as in chunks.
pub fn settle_any(data: &[u8]) {
    let Some((&seed, bytes)) = data.split_first() else { return };
    let rows = usize::from(seed % 70) + 1;
    let mut whole = View::new(Offset::ZERO);
    let mut settler = Settler::with_rows(Offset::ZERO, rows);
    settler.feed(bytes, &mut whole);
    settler.finish(&mut whole);
    let mut cut = View::new(Offset::ZERO);
    let mut tail = TailLines::new(rows);
    let mut settler = Settler::with_rows(Offset::ZERO, rows);
    for chunk in bytes.chunks(usize::from(seed % 7) + 1) {
        settler.feed(chunk, &mut cut);
    }
    settler.finish(&mut cut);
    assert_eq!(whole, cut);
    assert_eq!(whole.end(), Offset::new(bytes.len() as u64));
    assert!(whole.lines().all(|line| line.raw.to() <= whole.end()));
    tail.feed(&whole);
    assert!(whole.text().ends_with(tail.finish().text()));
}

/// Settles the output of a terminal of any size, which changes, the same in one piece as in chunks.
pub fn settle_on_terminal_any(data: &[u8]) {
    let [rows, columns, bytes @ ..] = data else { return };
    let settled = |chunk: usize| {
        let size = ScreenSize::new(u16::from(rows % 40), u16::from(columns % 120));
        let mut settler = Settler::on_terminal(Offset::ZERO, size);
        let mut view = View::new(Offset::ZERO);
        let (before, after) = bytes.split_at(bytes.len() / 2);
        before.chunks(chunk).for_each(|chunk| settler.feed(chunk, &mut view));
        settler.resize(ScreenSize::new(u16::from(columns % 40), u16::from(rows % 120)), &mut view);
        after.chunks(chunk).for_each(|chunk| settler.feed(chunk, &mut view));
        settler.finish(&mut view);
        view
    };
    let whole = settled(bytes.len().max(1));
    assert_eq!(whole, settled(usize::from(rows % 7) + 1));
    assert_eq!(whole.end(), Offset::new(bytes.len() as u64));
    assert!(whole.lines().all(|line| line.raw.to() <= whole.end()));
}

/// Decodes as the standard library does.
pub fn decode_any(data: &[u8]) {
    let mut view = View::new(Offset::ZERO);
    let mut decoder = Utf8::new(Offset::ZERO);
    for chunk in data.chunks(data.len() % 5 + 1) {
        decoder.feed(chunk, &mut view);
    }
    decoder.finish(&mut view);
    assert_eq!(view.text(), String::from_utf8_lossy(data));
}

/// Shows anything on a screen of any size.
pub fn show_any(data: &[u8]) {
    let [rows, columns, bytes @ ..] = data else { return };
    let mut screen = Screen::new(ScreenSize::new(u16::from(rows % 40), u16::from(columns % 120)));
    let (first, second) = bytes.split_at(bytes.len() / 2);
    screen.feed(first);
    screen.resize(ScreenSize::new(u16::from(columns % 40), u16::from(rows % 120)));
    screen.feed(second);
    assert!(screen.text().lines().count() <= usize::from(screen.size().rows()));
    assert!(screen.cursor().row < screen.size().rows());
    let _ = (screen.take_replies(), screen.title(), screen.is_alternate());
}

/// No question is overlooked: whatever makes a screen answer was found.
pub fn scan_any(data: &[u8]) {
    let mut scanner = QueryScanner::new();
    let mut screen = Screen::new(ScreenSize::new(3, 9));
    let mut asked = false;
    for chunk in data.chunks(data.len() % 5 + 1) {
        asked |= scanner.feed(chunk);
        screen.feed(chunk);
        let replies = screen.take_replies();
        let replies = String::from_utf8_lossy(&replies);
        assert!(
            asked || replies.is_empty(),
            "unasked {replies:?} after {:?}",
            chunk.escape_ascii().to_string()
        );
    }
}

/// Fits anything into any budget, and loses nothing it does not name.
pub fn excerpt_any(data: &[u8]) {
    let [kind, size, bytes @ ..] = data else { return };
    let limit = u64::from(*size);
    let budget = match kind % 3 {
        0 => Budget::Bytes(limit),
        1 => Budget::Lines(limit),
        2 => Budget::Characters(limit),
        _ => Budget::Tokens(Tokens::new(limit)),
    };
    let tokenizer = if kind & 4 == 0 { Tokenizer::Bytes4 } else { Tokenizer::O200k };
    let marker = if kind & 8 == 0 { Marker::Count } else { Marker::Address { session: &7 } };
    check_excerpt(&settle(bytes, Offset::new(9)), ExcerptOptions { budget, tokenizer, marker });
}

/// Checks the laws of excerpts for one view.
pub fn check_excerpt(view: &View, options: ExcerptOptions<'_>) {
    let text = view.text();
    let result = excerpt(ExcerptSource::Whole(view), options);
    assert_eq!(result.original, options.tokenizer.count(text));
    let cost = |text: &str| match options.budget {
        Budget::Bytes(limit) => (text.len() as u64, limit),
        Budget::Characters(limit) => (text.chars().count() as u64, limit),
        Budget::Lines(limit) => (text.lines().count() as u64, limit),
        Budget::Tokens(limit) => (options.tokenizer.count(text).get(), limit.get()),
    };
    let Some(omitted) = result.omitted else {
        assert_eq!(result.text, text);
        return;
    };
    let head = &text[..omitted.head];
    let tail = &text[text.len() - omitted.tail..];
    let middle = &text[omitted.head..text.len() - omitted.tail];
    assert!(!middle.is_empty());
    assert!(result.text.starts_with(head) && result.text.ends_with(tail));
    assert_eq!(omitted.tokens, options.tokenizer.count(middle));
    assert_eq!(omitted.span, view.raw_span(omitted.head..text.len() - omitted.tail));
    let marker = result.text[head.len()..result.text.len() - tail.len()].trim_matches('\n');
    assert!(marker.starts_with('…') && marker.ends_with('…') && !marker.contains('\n'));
    let (used, limit) = cost(&result.text);
    assert!(used <= limit || result.text == marker, "{used} of {limit}");
}

/// Names anything.
pub fn name_any(data: &[u8]) {
    let name = String::from_utf8_lossy(data);
    for mode in [CursorKeys::Normal, CursorKeys::Application] {
        match key(&name, mode) {
            Ok(bytes) => assert!(!bytes.is_empty()),
            Err(error) => assert!(error.to_string().contains(&format!("{name:?}"))),
        }
    }
}

/// Searches anything for anything; matches come in order and never twice.
pub fn match_any(data: &[u8]) {
    let Some((&len, rest)) = data.split_first() else { return };
    let (expression, bytes) = rest.split_at(usize::from(len % 32).min(rest.len()));
    let Ok(pattern) = Pattern::new(&String::from_utf8_lossy(expression)) else { return };
    let mut raw = RawMatcher::new(pattern.clone(), Offset::ZERO);
    let mut settled = SettledMatcher::new(pattern.clone(), Settler::with_rows(Offset::ZERO, 4));
    let mut last = None;
    for chunk in bytes.chunks(bytes.len() % 7 + 1) {
        let mut next = raw.feed(chunk);
        while let Some(found) = next {
            let place = (found.raw.from(), found.raw.to());
            assert!(last.is_none_or(|before| before < place));
            last = Some(place);
            next = raw.next_match();
        }
        let mut next = settled.feed(chunk);
        while next.is_some() {
            next = settled.next_match();
        }
    }
    let mut grep = Grep::new(pattern, Context { before: 1, after: 1 });
    let mut found = Vec::new();
    grep.feed(&settle(bytes, Offset::ZERO), &mut found);
    grep.finish(&mut found);
    assert!(found.is_sorted_by(|a, b| a.number < b.number));
}

/// Counts anything: at least one token, at most one a byte, and in parts as in one.
pub fn count_any(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Bytes4] {
        let count = tokenizer.count(&text);
        assert!(count.get() <= text.len() as u64);
        assert_eq!(count == Tokens::ZERO, text.is_empty());
        let mut counter = TokenCounter::new(tokenizer);
        text.split_inclusive('\n').for_each(|part| counter.feed(part));
        // Only a stretch too long to be carried may make a difference.
        assert!(text.len() > 32 << 10 || counter.finish() == count);
    }
}
