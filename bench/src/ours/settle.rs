//! How fast printed bytes become settled text. No peer: the bar is a speed that no terminal reaches.

use super::figure;
use crate::order::WorkSpec;
use anyhow::{Result, bail, ensure};
use std::fmt::Write;
use std::time::Instant;
use windlass_output::{Offset, Settler, View};

/// The most that a session reads at a time.
const CHUNK: usize = 64 * 1024;

pub(super) fn measure(order: &WorkSpec) -> Result<()> {
    let style = match order.text("text")? {
        "plain" => Style::Plain,
        "colour" => Style::Colour,
        other => bail!("`text={other}` is neither plain nor colour"),
    };
    let log = Log::new(style, order.number("bytes")?);
    let mut settler = Settler::new(Offset::ZERO);
    let mut view = View::new(Offset::ZERO);
    let mut settled = Comparing { expected: &log.shown };
    let begun = Instant::now();
    for chunk in log.printed.as_bytes().chunks(CHUNK) {
        settler.feed(chunk, &mut view);
        settled.take(view.text())?;
        view.clear();
    }
    settler.finish(&mut view);
    settled.take(view.text())?;
    let took = begun.elapsed();
    ensure!(settled.expected.is_empty(), "{} bytes of text are missing", settled.expected.len());
    figure("mb_per_s", log.printed.len() as f64 / 1e6 / took.as_secs_f64());
    Ok(())
}

#[derive(Clone, Copy)]
enum Style {
    Plain,
    Colour,
}

/// A log as it was printed, and as it is to be shown.
struct Log {
    printed: String,
    shown: String,
}

impl Log {
    fn new(style: Style, bytes: usize) -> Self {
        let mut log = Self { printed: String::with_capacity(bytes + 256), shown: String::new() };
        for number in 0.. {
            if log.printed.len() >= bytes {
                break;
            }
            // Writing to a string cannot fail.
            let _ = log.line(style, number);
        }
        log
    }

    fn line(&mut self, style: Style, number: u32) -> std::fmt::Result {
        let (second, took) = (number % 60, number % 977);
        writeln!(
            self.shown,
            "2026-01-01T00:00:{second:02} INFO worker request {number} served in {took} us"
        )?;
        match style {
            Style::Plain => writeln!(
                self.printed,
                "2026-01-01T00:00:{second:02} INFO worker request {number} served in {took} us"
            ),
            Style::Colour => write!(
                self.printed,
                "\x1b[2m2026-01-01T00:00:{second:02}\x1b[0m \x1b[32mINFO\x1b[0m \x1b[1mworker\x1b[0m request \
                 \x1b[36m{number}\x1b[0m served in {took} us\r\n"
            ),
        }
    }
}

/// Compares the text with the expected one, as it comes.
struct Comparing<'a> {
    expected: &'a str,
}

impl Comparing<'_> {
    fn take(&mut self, text: &str) -> Result<()> {
        match self.expected.strip_prefix(text) {
            Some(rest) => self.expected = rest,
            None => bail!("the text differs, {} bytes before its end", self.expected.len()),
        }
        Ok(())
    }
}
