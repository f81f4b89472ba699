//! Finds the block around an anchor line by indentation alone, so that it works for every language.
//!
//! A block is a head, the lines below it that are indented deeper, and the lines that close it. Heads of several lines
//! (`fn f(` ... `) {`) and brackets on lines of their own are followed to their beginning; blank lines and comments
//! neither begin nor end a block, however they are indented.

use std::ops::Range;

use super::Indentation;
use super::outline::{LineFacts, Outline, Role};

/// The block around the outline's anchor.
pub(super) fn around(outline: &Outline, wanted: &Indentation) -> Range<usize> {
    let code = Code(&outline.lines);
    let mut head = code.settled(code.head_at(outline.anchor));
    let levels = if wanted.max_levels == 0 { u64::MAX } else { wanted.max_levels };
    for _ in 0..levels {
        let Some(outer) = code.enclosing(head) else { break };
        head = code.settled(outer);
    }
    let mut block = code.block(head);
    if wanted.include_siblings {
        block = code.siblings(head);
    }
    if wanted.include_header {
        block.start = code.header(block.start);
    }
    // The anchor may be a comment or a blank line outside of the block: include it anyway.
    block.start.min(outline.anchor)..block.end.max(outline.anchor + 1)
}

/// The lines, and their relations.
struct Code<'a>(&'a [LineFacts]);

impl Code<'_> {
    /// The first line of the statement that this line belongs to.
    fn head_at(&self, line: usize) -> usize {
        match self.0[line].role {
            Role::Header => self.described(line),
            Role::Blank => self.0[..line].iter().rposition(|facts| facts.role != Role::Blank).unwrap_or(line),
            _ => self.beginning(line),
        }
    }

    /// A head, or the line that it precedes if it is only a decorator of several lines.
    fn settled(&self, head: usize) -> usize {
        if self.0[head].role == Role::Decorator { self.described(head) } else { head }
    }

    /// The line that a comment or decorator precedes, if any.
    fn described(&self, line: usize) -> usize {
        let indent = self.0[line].indent;
        let mut below = line;
        while let Some(facts) = self.0.get(below) {
            match facts.role {
                Role::Header => below += 1,
                Role::Decorator => match self.closing(below) {
                    Some(closing) => below = closing + 1,
                    None => return line,
                },
                Role::Other if facts.indent <= indent => return below,
                _ => return line,
            }
        }
        line
    }

    /// The line that ends what this one opens.
    fn closing(&self, opening: usize) -> Option<usize> {
        let mut below = opening + 1..self.0.len();
        below.find(|&line| is_code(&self.0[line]) && self.0[line].indent <= self.0[opening].indent)
    }

    /// The beginning of a statement that continues at this line: above a bracket on a line of its own, or above a line
    /// that closes one.
    fn beginning(&self, line: usize) -> usize {
        let mut line = line;
        loop {
            let above = match self.0[line].role {
                Role::Opening => self.beside_above(line, |facts, opening| facts.indent == opening.indent),
                Role::Closing => self.beside_above(line, |facts, closing| facts.indent <= closing.indent),
                _ => None,
            };
            match above.filter(|&above| self.0[above].indent == self.0[line].indent) {
                Some(above) => line = above,
                None => return line,
            }
        }
    }

    /// The nearest line above that is code and for which this holds.
    fn beside_above(&self, line: usize, fits: impl Fn(&LineFacts, &LineFacts) -> bool) -> Option<usize> {
        let below = &self.0[line];
        (0..line).rev().find(|&above| is_code(&self.0[above]) && fits(&self.0[above], below))
    }

    /// The head of the block that this line is in.
    fn enclosing(&self, line: usize) -> Option<usize> {
        let above = self.beside_above(line, |facts, inner| facts.indent < inner.indent)?;
        Some(self.beginning(above))
    }

    /// A head with everything that belongs to it.
    fn block(&self, head: usize) -> Range<usize> {
        let outer = self.0[head].indent;
        let mut end = head + 1;
        for (line, facts) in self.0.iter().enumerate().skip(head + 1) {
            let deeper = facts.indent > outer;
            match facts.role {
                Role::Blank => {}
                Role::Header if deeper => end = line + 1,
                Role::Header => {}
                Role::Opening | Role::Closing if facts.indent == outer => end = line + 1,
                _ if deeper => end = line + 1,
                _ => break,
            }
        }
        head..end
    }

    /// Everything around a head that is indented as far or farther.
    fn siblings(&self, head: usize) -> Range<usize> {
        let outside = |line: &usize| is_code(&self.0[*line]) && self.0[*line].indent < self.0[head].indent;
        let mut start = (0..head).rev().find(outside).map_or(0, |above| above + 1);
        let mut end = (head..self.0.len()).find(outside).unwrap_or(self.0.len());
        let is_blank = |line: usize| self.0[line].role == Role::Blank;
        while start < head && is_blank(start) {
            start += 1;
        }
        while end > head + 1 && is_blank(end - 1) {
            end -= 1;
        }
        start..end
    }

    /// Where the comments and decorators right above this line begin.
    fn header(&self, line: usize) -> usize {
        let indent = self.0[line].indent;
        let mut start = line;
        while let Some(above) = start.checked_sub(1) {
            let facts = &self.0[above];
            // The second and later lines of `/** ... */` stand one column to the right.
            let beside = (indent..=indent + 1).contains(&facts.indent);
            match facts.role {
                Role::Header if beside => start = above,
                Role::Closing if facts.indent == indent => match self.decorator(above) {
                    Some(opening) => start = opening,
                    None => break,
                },
                _ => break,
            }
        }
        start
    }

    /// Where a decorator of several lines begins that this line closes.
    fn decorator(&self, closing: usize) -> Option<usize> {
        let opening = self.beside_above(closing, |facts, closing| facts.indent <= closing.indent);
        opening.filter(|&opening| self.0[opening].role == Role::Decorator)
    }
}

fn is_code(facts: &LineFacts) -> bool {
    !matches!(facts.role, Role::Blank | Role::Header)
}
