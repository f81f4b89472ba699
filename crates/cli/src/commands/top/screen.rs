//! The screen of `windlass top`: the alternate screen, so that the terminal's earlier content comes back, and keys
//! without Enter.

use anyhow::Result;
use tokio::sync::mpsc;
use windlass_sys::terminal::{RawMode, is_terminal};

use crate::printing::print;

/// Switches to the alternate screen, clears it, and hides the cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// The terminal; restored on drop.
pub(super) struct OwnScreen {
    /// Raw mode, only if standard input is a terminal. Undone after leaving the screen.
    raw: Option<RawMode>,
}

impl OwnScreen {
    pub(super) fn enter() -> Result<Self> {
        let stdin = rustix::stdio::stdin();
        // Without raw mode keys need Enter, and Ctrl-C is a signal, which is caught too.
        let raw = is_terminal(stdin).then(|| RawMode::enter(stdin).ok()).flatten();
        let screen = Self { raw };
        print(ENTER)?;
        Ok(screen)
    }

    /// Shows a text with plain newlines: a raw terminal also needs carriage returns.
    pub(super) fn show(&self, text: &str) -> Result<()> {
        match self.raw {
            Some(_) => print(text.replace('\n', "\r\n")),
            None => print(text),
        }
    }
}

impl Drop for OwnScreen {
    fn drop(&mut self) {
        // The terminal may have gone.
        let _ = print(LEAVE);
    }
}

/// Keys that are pressed.
pub(super) struct Keys(mpsc::Receiver<Vec<u8>>);

impl Keys {
    /// Starts a thread that blocks in reads; the process does not wait for it at exit.
    pub(super) fn read() -> Self {
        let (sender, keys) = mpsc::channel(1);
        if is_terminal(rustix::stdio::stdin()) {
            std::thread::spawn(move || {
                let mut bytes = [0; 64];
                while let Ok(count @ 1..) = rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
                    if sender.blocking_send(bytes[..count].to_vec()).is_err() {
                        return;
                    }
                }
            });
        }
        Self(keys)
    }

    /// Waits for `q`, Ctrl-C or Ctrl-D; never completes if no keys can come.
    pub(super) async fn ending(&mut self) {
        while let Some(bytes) = self.0.recv().await {
            if bytes.iter().any(|byte| matches!(byte, b'q' | b'Q' | 0x03 | 0x04)) {
                return;
            }
        }
        std::future::pending::<()>().await;
    }
}
