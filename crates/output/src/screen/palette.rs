//! The colours and cell size that are reported to a program that asks: those of a plain dark xterm.

pub(super) const FOREGROUND: (u8, u8, u8) = (0xe5, 0xe5, 0xe5);
pub(super) const BACKGROUND: (u8, u8, u8) = (0, 0, 0);
pub(super) const CELL_WIDTH: u16 = 8;
pub(super) const CELL_HEIGHT: u16 = 16;

const BASE: [(u8, u8, u8); 16] = [
    (0x00, 0x00, 0x00),
    (0xcd, 0x00, 0x00),
    (0x00, 0xcd, 0x00),
    (0xcd, 0xcd, 0x00),
    (0x00, 0x00, 0xee),
    (0xcd, 0x00, 0xcd),
    (0x00, 0xcd, 0xcd),
    (0xe5, 0xe5, 0xe5),
    (0x7f, 0x7f, 0x7f),
    (0xff, 0x00, 0x00),
    (0x00, 0xff, 0x00),
    (0xff, 0xff, 0x00),
    (0x5c, 0x5c, 0xff),
    (0xff, 0x00, 0xff),
    (0x00, 0xff, 0xff),
    (0xff, 0xff, 0xff),
];

/// One of the 256 colours: sixteen named ones, a cube of 6 by 6 by 6, and a ramp of greys.
pub(super) fn indexed(index: u8) -> (u8, u8, u8) {
    match index {
        0..=15 => BASE[usize::from(index)],
        16..=231 => {
            let cube = index - 16;
            (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        232..=255 => {
            let grey = 8 + 10 * (index - 232);
            (grey, grey, grey)
        }
    }
}

fn level(step: u8) -> u8 {
    if step == 0 { 0 } else { 55 + 40 * step }
}
