//! Text in CP1250 and its like on the screen: its letters are bytes that are control codes in other texts.

use windlass_output::{Screen, ScreenSize};

/// In CP1250 the bytes of `š`, `ž` and `ť` are those of control codes with 8 bits, some of which begin a string.
#[test]
fn letters_of_an_old_code_page_hide_no_text() {
    for letter in 0x80_u8..=0x9f {
        let mut screen = Screen::new(ScreenSize::new(4, 40));
        screen.feed(&[b"before ", &[letter][..], b" after\r\nnext"].concat());
        let text = screen.text();
        let mut lines = text.lines();
        let line = lines.next().unwrap_or_default();
        assert!(line.starts_with("before ") && line.ends_with(" after"), "{letter:#x}: {text:?}");
        assert_eq!(lines.next(), Some("next"), "{letter:#x}: {text:?}");
    }
}
