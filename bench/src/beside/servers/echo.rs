//! A line typed into `cat` on a terminal, until the terminal's echo and cat's own copy have come back.

use super::dialect::{Io, Name, ServerKind};
use super::server::{Enough, Server};
use crate::beside::RowContext;
use crate::beside::contest::{Contender, Finding, hold};
use crate::comparison::Bar;
use anyhow::{Result, ensure};
use std::time::Instant;

pub(super) const APP: [&str; 1] = ["app-echo"];
pub(super) const EXEC: [&str; 1] = ["exec-echo"];

pub(super) fn measure(around: &RowContext, dialect: ServerKind) -> Result<Vec<Finding>> {
    let [name] = if dialect == ServerKind::App { APP } else { EXEC };
    let mut contenders = Vec::new();
    for who in around.sides(dialect.peer()) {
        let mut server = Server::warm(around, who, dialect)?;
        let cat = server.start(&["/bin/cat"], Io::Terminal)?;
        let mut number = 0;
        let once = move || {
            number += 1;
            once(&mut server, cat, number)
        };
        contenders.push(Contender { who, times: around.times(40), once: Box::new(once) });
    }
    Ok(vec![Finding {
        name,
        what: "a line typed into cat on a terminal, and back",
        unit: "us",
        figures: hold(contenders)?,
        bar: Bar::MostTimes(0.6),
        against: Some(dialect.peer()),
    }])
}

/// Microseconds.
fn once(server: &mut Server, cat: Name, number: usize) -> Result<f64> {
    let expected = format!("line {number}\r\nline {number}\r\n");
    let mut seen = Vec::new();
    let begun = Instant::now();
    server.write(cat, format!("line {number}\n").as_bytes())?;
    server.output(|bytes| {
        seen.extend_from_slice(bytes);
        Ok(if seen.len() >= expected.len() { Enough::Yes } else { Enough::No })
    })?;
    let took = begun.elapsed();
    ensure!(seen == expected.as_bytes(), "{:?} came back", String::from_utf8_lossy(&seen));
    Ok(took.as_secs_f64() * 1e6)
}
