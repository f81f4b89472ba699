//! The classes of characters by which text is split, as a table of blocks: 64 characters to a block, as many as differ
//! in the last byte of their UTF-8 alone.

use std::collections::BTreeMap;
use std::io;

use regex_syntax::hir::{Class, HirKind};

use crate::Folder;

const BLOCK: usize = 64;
const CHARACTERS: usize = 0x11_0000;

/// The numbers are those of `Class` in `src/tokens/classes.rs`; characters that no pattern matches are of class 0.
const CLASSES: [(&str, u8); 7] = [
    (r"[\p{Lu}\p{Lt}]", 1),
    (r"\p{Ll}", 2),
    (r"[\p{Lm}\p{Lo}]", 3),
    (r"\p{M}", 4),
    (r"\p{N}", 5),
    (r"[\s--[\r\n]]", 6),
    (r"[\r\n]", 7),
];

/// Writes which block describes each 64 characters, and the blocks.
pub(crate) fn write(folder: &Folder) -> io::Result<()> {
    let classes = classes();
    let mut known = BTreeMap::new();
    let (mut places, mut blocks) = (Vec::new(), Vec::new());
    for block in classes.chunks(BLOCK) {
        let number = known.len();
        let number = *known.entry(block).or_insert_with(|| {
            blocks.extend_from_slice(block);
            number
        });
        places.extend(u16::try_from(number).unwrap_or(u16::MAX).to_le_bytes());
    }
    folder.write("classes.places", &places)?;
    folder.write("classes.blocks", &blocks)
}

fn classes() -> Vec<u8> {
    let mut classes = vec![0; CHARACTERS];
    for (pattern, class) in CLASSES {
        for (first, last) in ranges(pattern) {
            for known in &mut classes[first as usize..=last as usize] {
                assert_eq!(*known, 0, "`{pattern}` shares characters with another class");
                *known = class;
            }
        }
    }
    classes
}

fn ranges(pattern: &str) -> Vec<(char, char)> {
    match regex_syntax::parse(pattern).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.iter().map(|range| (range.start(), range.end())).collect()
        }
        other => panic!("`{pattern}` is no class of characters: {other:?}"),
    }
}
