//! The control functions of a terminal of a known size: which code does what on the [`Grid`].

use super::escape::{ControlSequence, EscapeSequence};
use super::grid::{Erase, Grid, Mode};
use super::steps;
use crate::offset::Offset;
use crate::view::View;

const SHIFT_OUT: u8 = 0x0e;
const SHIFT_IN: u8 = 0x0f;

impl Grid {
    /// Does what a control byte says; what follows begins at `after`.
    #[inline]
    pub(super) fn obey(&mut self, byte: u8, after: Offset, out: &mut View) {
        match byte {
            b'\n' | 0x0b | 0x0c => self.line_feed(after, out),
            b'\r' => self.carriage_return(),
            0x08 => self.backspace(),
            b'\t' => self.print("\t", after.back(1), out),
            SHIFT_OUT => self.shift(true),
            SHIFT_IN => self.shift(false),
            _ => {}
        }
    }

    pub(super) fn escape(&mut self, sequence: EscapeSequence, after: Offset, out: &mut View) {
        match (sequence.intermediate, sequence.last) {
            (None, b'7') => self.save_cursor(),
            (None, b'8') => self.restore_cursor(),
            (None, b'D') => self.line_feed(after, out),
            (None, b'E') => {
                self.line_feed(after, out);
                self.carriage_return();
            }
            (None, b'H') => self.set_tab(true),
            (None, b'M') => self.reverse_line_feed(after),
            (None, b'c') => self.reset(after, out),
            (Some(b'('), last) => self.set_line_drawing(0, last == b'0'),
            (Some(b')'), last) => self.set_line_drawing(1, last == b'0'),
            _ => {}
        }
    }

    pub(super) fn control_sequence(&mut self, sequence: &ControlSequence, after: Offset, out: &mut View) {
        if sequence.is_private() {
            return self.switch_private_modes(sequence);
        }
        if !sequence.is_plain() {
            return;
        }
        let count = sequence.number(0, 1);
        match sequence.last() {
            b'A' => self.move_rows(-steps(count)),
            b'B' | b'e' => self.move_rows(steps(count)),
            b'C' | b'a' => self.move_columns(steps(count)),
            b'D' => self.move_columns(-steps(count)),
            b'E' => {
                self.move_rows(steps(count));
                self.carriage_return();
            }
            b'F' => {
                self.move_rows(-steps(count));
                self.carriage_return();
            }
            b'G' | b'`' => self.go_to_column(count - 1),
            b'd' => self.go_to_row(count - 1),
            b'H' | b'f' => self.go_to(count - 1, sequence.number(1, 1) - 1),
            b'I' => self.move_tabs(steps(count)),
            b'Z' => self.move_tabs(-steps(count)),
            b'g' => self.remove_tabs(sequence),
            b'r' => self.set_region(count, sequence.number(1, 0)),
            b's' => self.save_cursor(),
            b'u' => self.restore_cursor(),
            b'h' | b'l' => self.switch_modes(sequence),
            _ => self.edit(sequence, after, out),
        }
    }

    /// Codes that change text.
    fn edit(&mut self, sequence: &ControlSequence, after: Offset, out: &mut View) {
        let count = sequence.number(0, 1);
        match sequence.last() {
            b'J' => {
                if let Some(erase) = Erase::of(sequence) {
                    self.erase_in_page(erase, after, out);
                }
            }
            b'K' => {
                if let Some(erase) = Erase::of(sequence) {
                    self.erase_in_line(erase);
                }
            }
            b'L' => self.insert_lines(count, after),
            b'M' => self.delete_lines(count, after, out),
            b'S' => self.scroll_region_up(count, after, out),
            b'T' => self.scroll_region_down(count, after),
            b'@' => self.insert_columns(count),
            b'P' => self.delete_columns(count),
            b'X' => self.erase_columns(count),
            b'b' => self.repeat(count, after, out),
            _ => {}
        }
    }

    fn remove_tabs(&mut self, sequence: &ControlSequence) {
        match sequence.number(0, 0) {
            0 => self.set_tab(false),
            3 => self.clear_tabs(),
            _ => {}
        }
    }

    fn switch_modes(&mut self, sequence: &ControlSequence) {
        if sequence.numbers().any(|mode| mode == 4) {
            self.set_mode(Mode::Insert, sequence.last() == b'h');
        }
    }

    fn switch_private_modes(&mut self, sequence: &ControlSequence) {
        let on = match sequence.last() {
            b'h' => true,
            b'l' => false,
            _ => return,
        };
        for mode in sequence.numbers() {
            match mode {
                6 => self.set_mode(Mode::Origin, on),
                7 => self.set_mode(Mode::Autowrap, on),
                47 | 1047 | 1049 => self.set_mode(Mode::AlternateScreen, on),
                _ => {}
            }
        }
    }
}
