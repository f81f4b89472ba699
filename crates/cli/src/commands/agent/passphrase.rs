//! Reads the passphrase of a portable file: from a file or a variable for scripts, else typed by a person without echo.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use windlass_config::portable::Passphrase;
use windlass_sys::terminal::HiddenInput;
use zeroize::Zeroizing;

use crate::config::Config;
use crate::secret_file::{self, Secret};

/// The variable that scripts may set.
pub(super) const VARIABLE: &str = "WINDLASS_PASSPHRASE";
/// More characters than a person types.
const LONGEST: usize = 4096;
/// The byte that a terminal sends for Ctrl-C.
const CANCELLED: u8 = 3;

/// Whether the passphrase is typed once or twice. It is typed twice if a typing error would be costly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Once,
    Twice,
}

/// Reads the passphrase. Every buffer that held it is wiped.
pub(super) fn read(file: Option<&Path>, typed: Typed, config: &Config) -> Result<Passphrase> {
    let found = match (file, config.variable(VARIABLE)) {
        (Some(path), _) => from_file(path)?,
        (None, Some(value)) => {
            value.to_str().with_context(|| format!("the variable {VARIABLE} is not UTF-8"))?.into()
        }
        (None, None) => typed_by_a_person(typed)?,
    };
    if found.is_empty() {
        bail!("the passphrase is empty");
    }
    Ok(found)
}

/// Reads the first line of a file: an editor may have added a newline.
fn from_file(path: &Path) -> Result<Passphrase> {
    let bytes = secret_file::read(path, Secret::Passphrase)?;
    let text = std::str::from_utf8(&bytes);
    let text = text.with_context(|| format!("the passphrase in {} is not UTF-8", path.display()))?;
    Ok(text.lines().next().unwrap_or_default().into())
}

fn typed_by_a_person(typed: Typed) -> Result<Passphrase> {
    let terminal = File::options().read(true).write(true).open("/dev/tty").with_context(|| {
        format!("nobody can be asked for the passphrase: there is no terminal; give --passphrase-file, or set {VARIABLE}")
    })?;
    let first = ask(&terminal, "Passphrase: ")?;
    if typed == Typed::Twice && ask(&terminal, "The same again: ")? != first {
        bail!("the two passphrases differ");
    }
    Ok(std::str::from_utf8(&first).context("the passphrase is not UTF-8")?.into())
}

fn ask(mut terminal: &File, question: &str) -> Result<Zeroizing<Vec<u8>>> {
    let hidden = HiddenInput::begin(terminal).context("the terminal cannot hide what is typed")?;
    terminal.write_all(question.as_bytes())?;
    // The buffer has its full capacity from the start: a reallocation would leave a copy of the passphrase behind.
    let mut line = Zeroizing::new(Vec::with_capacity(LONGEST));
    let mut byte = Zeroizing::new([0_u8]);
    while line.len() < LONGEST && terminal.read(byte.as_mut_slice())? > 0 && byte[0] != b'\n' {
        if byte[0] == CANCELLED {
            break;
        }
        line.push(byte[0]);
    }
    drop(hidden);
    terminal.write_all(b"\n")?;
    if byte[0] == CANCELLED {
        bail!("no passphrase was given");
    }
    Ok(line)
}
