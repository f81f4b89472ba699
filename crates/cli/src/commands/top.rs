//! `windlass top`: what running sessions use, live. It asks no runtime: the records say who runs, the process table says
//! what they use, and so it works across runtimes, and for one that hangs.

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

/// Between two looks on a terminal.
const REFRESH: Duration = Duration::from_secs(1);
/// Between the two looks that one answer needs: a rate is a difference.
const MOMENT: Duration = Duration::from_millis(200);

/// The cursor to the first place. What is there is overwritten, so nothing flickers.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// Shows what sessions use.
pub(crate) async fn run(order: Top, config: Config) -> Result<Exit> {
    let live = config.terminals.stdout.is_some() && !order.once && !order.json;
    if live { watch(&config).await } else { tell(&order, &config) }
}

/// Two looks, one answer.
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

/// Until a key or a signal ends it. The terminal is then as it was before.
async fn watch(config: &Config) -> Result<Exit> {
    let store = config.reading_store()?;
    let mut before = Look::take(&store)?;
    let mut signals = Signals::catch()?;
    let screen_of_top = OwnScreen::enter()?;
    let mut keys = Keys::read();
    let mut pause = MOMENT;
    loop {
        // timer: usage has no events, it is a difference between two looks.
        if let Ok(Some(exit)) = tokio::time::timeout(pause, ended(&mut signals, &mut keys)).await {
            return Ok(exit);
        }
        pause = REFRESH;
        let now = Look::take(&store)?;
        screen_of_top.show(&screen(&now.rows(&before), config))?;
        before = now;
    }
}

/// Waits for a key or a signal. `None`: the window has another size, which the next look takes over.
async fn ended(signals: &mut Signals, keys: &mut Keys) -> Option<Exit> {
    tokio::select! {
        told = signals.next() => match told {
            OutsideSignal::Interrupt(signal) | OutsideSignal::End(signal) => Some(Exit::of_command(128 + signal.number())),
            OutsideSignal::Resized => None,
        },
        () = keys.ending() => Some(Exit::SUCCESS),
    }
}

/// One screenful: what does not fit is counted in the last line.
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

/// Lets time pass: what is used in a while is only known after it.
fn pass(time: Duration) {
    let timeout = Timespec::try_from(time).unwrap_or_default();
    // A signal that does not end us only makes the while shorter, and it is measured.
    let _ = poll(&mut [], Some(&timeout));
}
