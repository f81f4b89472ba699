//! The control functions of output that has no terminal: which code does what on the [`Page`].

use super::escape::{ControlSequence, EscapeSequence};
use super::page::{Erase, Page};
use super::steps;
use crate::offset::Offset;
use crate::view::View;

impl Page {
    /// Carries out a control byte; the text after it begins at `after`.
    #[inline]
    pub(super) fn obey(&mut self, byte: u8, after: Offset, out: &mut View) {
        match byte {
            _ if self.is_hidden() => {}
            b'\n' | 0x0b | 0x0c => self.newline(after, out),
            b'\r' => self.carriage_return(),
            0x08 => self.move_columns(-1),
            b'\t' => self.print("\t", after.back(1), out),
            _ => {}
        }
    }

    pub(super) fn escape(&mut self, sequence: EscapeSequence, after: Offset, out: &mut View) {
        if sequence.intermediate.is_some() || self.is_hidden() {
            return;
        }
        match sequence.last {
            b'7' => self.save_cursor(),
            b'8' => self.restore_cursor(),
            b'D' => self.move_rows(1, after, out),
            b'E' => self.newline(after, out),
            b'M' => self.move_rows(-1, after, out),
            b'c' => self.turn(after, out),
            _ => {}
        }
    }

    pub(super) fn control_sequence(&mut self, sequence: &ControlSequence, after: Offset, out: &mut View) {
        if sequence.is_private() {
            return self.private_mode(sequence);
        }
        if !sequence.is_plain() || self.is_hidden() {
            return;
        }
        let count = sequence.number(0, 1);
        match sequence.last() {
            b'A' => self.move_rows(-steps(count), after, out),
            b'B' | b'e' => self.move_rows(steps(count), after, out),
            b'C' | b'a' => self.move_columns(steps(count)),
            b'D' => self.move_columns(-steps(count)),
            b'E' => {
                self.move_rows(steps(count), after, out);
                self.carriage_return();
            }
            b'F' => {
                self.move_rows(-steps(count), after, out);
                self.carriage_return();
            }
            b'G' | b'`' => self.go_to_column(count - 1),
            b'd' => self.go_to_row(count - 1),
            b'H' | b'f' => self.go_to(count - 1, sequence.number(1, 1) - 1),
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
            b'L' => self.insert_lines(count, after, out),
            b'M' => self.delete_lines(count),
            b'@' => self.insert_columns(count),
            b'P' => self.delete_columns(count),
            b'X' => self.erase_columns(count),
            b'b' => self.repeat(count, after, out),
            b's' => self.save_cursor(),
            b'u' => self.restore_cursor(),
            _ => {}
        }
    }

    fn private_mode(&mut self, sequence: &ControlSequence) {
        let is_switch = matches!(sequence.last(), b'h' | b'l');
        if is_switch && sequence.numbers().any(|mode| matches!(mode, 47 | 1047 | 1049)) {
            self.switch_screen(sequence.last() == b'h');
        }
    }
}
