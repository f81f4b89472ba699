//! `windlass top`: shows the resource usage of running sessions, live. It asks no runtime: the records name the
//! sessions and the process table has their usage, so it works across runtimes, and for a runtime that hangs.

mod look;
mod screen;
mod table;

use std::time::Duration;

use anyhow::Result;
use rustix::event::{Timespec, poll};
use serde_json::Value;

use self::look::{Look, Row};
use self::screen::{Keys, OwnScreen};
use crate::args::Top;
use crate::commands::run::signals::{OutsideSignal, Signals};
use crate::config::{Config, own_size};
use crate::failure::Exit;
use crate::printing::print;

/// The time between two samples on a terminal.
const REFRESH: Duration = Duration::from_secs(1);
/// The time between the two samples of a single reply: a rate is a difference.
const MOMENT: Duration = Duration::from_millis(200);

/// Moves the cursor to the top left. Text is overwritten in place, so nothing flickers.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// Shows the resource usage of sessions.
pub(crate) async fn run(order: Top, config: Config) -> Result<Exit> {
    let live = config.terminals.stdout.is_some() && !order.once && !order.json;
    if live { watch(&config).await } else { tell(&order, &config) }
}

/// Takes two samples and prints one table.
fn tell(order: &Top, config: &Config) -> Result<Exit> {
    let store = config.reading_store()?;
    let before = Look::take(&store)?;
    pass(MOMENT);
    let rows = Look::take(&store)?.rows(&before);
    if order.json {
        let array: Value = rows.iter().map(Row::json).collect();
        print(format!("{array:#}\n"))?;
    } else {
        print(table::render(&rows, width(config), config.colour))?;
    }
    Ok(Exit::SUCCESS)
}

/// Refreshes the screen until a key or a signal ends it. The terminal is then as it was before.
async fn watch(config: &Config) -> Result<Exit> {
    let store = config.reading_store()?;
    let mut before = Look::take(&store)?;
    let mut signals = Signals::catch()?;
    let screen_of_top = OwnScreen::enter()?;
    let mut keys = Keys::read();
    let mut pause = MOMENT;
    loop {
        // timer: usage has no events, it is a difference between two samples.
        if let Ok(Some(exit)) = tokio::time::timeout(pause, ended(&mut signals, &mut keys)).await {
            return Ok(exit);
        }
        pause = REFRESH;
        let now = Look::take(&store)?;
        screen_of_top.show(&screen(&now.rows(&before), config))?;
        before = now;
    }
}

/// Waits for a key or a signal. `None`: the window has a new size, which the next sample takes over.
async fn ended(signals: &mut Signals, keys: &mut Keys) -> Option<Exit> {
    tokio::select! {
        told = signals.next() => match told {
            OutsideSignal::Interrupt(signal) | OutsideSignal::End(signal) => Some(Exit::of_command(128 + signal.number())),
            OutsideSignal::Resized => None,
        },
        () = keys.ending() => Some(Exit::SUCCESS),
    }
}

/// One screenful; rows that do not fit are counted in the last line.
fn screen(rows: &[Row], config: &Config) -> String {
    let size = own_size();
    let room = usize::from(size.rows).saturating_sub(3).max(1);
    let shown = &rows[..rows.len().min(room)];
    let mut text = format!("{HOME}{}", table::summary(rows));
    text += &table::render(shown, Some(usize::from(size.cols)), config.colour);
    if shown.len() < rows.len() {
        text += &format!("and {} more", rows.len() - shown.len());
    }
    text.replace('\n', &format!("{CLEAR_LINE}\n")) + CLEAR_BELOW
}

fn width(config: &Config) -> Option<usize> {
    config.terminals.stdout.map(|size| usize::from(size.cols))
}

/// Sleeps: usage is only known over a period.
fn pass(time: Duration) {
    let timeout = Timespec::try_from(time).unwrap_or_default();
    // A signal that does not end this process only shortens the period, which is measured.
    let _ = poll(&mut [], Some(&timeout));
}
